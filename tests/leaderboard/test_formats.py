"""Files to take away hold what the table holds, and nothing that acts."""

from __future__ import annotations

import csv
import io
import json

from hypothesis import given
from hypothesis import strategies as st

from leaderboard.components.tables import as_csv, as_json, as_latex

ROWS = [{"system": "a", "f1": 0.5, "rank": 1, "cost": None}, {"system": "b|c", "f1": 0.25, "rank": None, "cost": 2.0}]


def test_csv_and_json_hold_the_same_rows() -> None:
    assert json.loads(as_json(ROWS)) == ROWS
    read = list(csv.DictReader(io.StringIO(as_csv(ROWS))))
    assert [row["system"] for row in read] == ["a", "b|c"]
    assert (float(read[0]["f1"]), read[0]["cost"]) == (0.5, "")


@given(st.sampled_from("=+-@"), st.text(max_size=20))
def test_no_cell_of_a_csv_is_a_formula(first: str, rest: str) -> None:
    row = next(csv.DictReader(io.StringIO(as_csv([{"system": first + rest, "f1": -0.5}]))))
    assert row["system"].startswith("'")
    assert float(row["f1"]) == -0.5


@given(st.text(alphabet='ab\\{}$&#%_^~|"', max_size=30))
def test_no_text_acts_in_latex(text: str) -> None:
    body = as_latex([{"x": text}]).split("\\midrule\n")[1]
    cell = body.split(" \\\\\n")[0]
    for command in ("textbackslash", "textasciicircum", "textasciitilde", "textbar", "textquotedbl"):
        cell = cell.replace(f"\\{command}{{}}", "")
    for char in "{}$&#%_":
        cell = cell.replace(f"\\{char}", "")
    assert not set(cell) & set('\\{}$&#%_^~|"')


def test_latex_shows_the_unknown_as_a_dash_and_numbers_alike() -> None:
    assert "a & 0.500 & 1 & -- \\\\" in as_latex(ROWS)
    assert "b\\textbar{}c & 0.250 & -- & 2.000 \\\\" in as_latex(ROWS)


def test_without_rows_the_files_are_empty_tables() -> None:
    assert json.loads(as_json([])) == []
    assert as_csv([]).strip() == ""
    assert "tabular" in as_latex([])
