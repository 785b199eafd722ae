"""The page Analyses, without a browser."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from visiting import html, opened, text

from hellofresh.core.errors import DataError
from hellofresh.core.files import sha256_file
from hellofresh.core.workspace import Workspace
from hellofresh.leaderboard.data.analyses import load_analyses
from hellofresh.leaderboard.data.board import SplitKey
from hellofresh.leaderboard.views.analyses import analysis_section, findings
from hellofresh.results.figures.charts import ORDER

NOTES = {"task": "x-notes", "edition": "2023Q2"}
SPLIT = SplitKey("2023Q2", "x-notes")


def section(name: str) -> str:
    """What the page has on one question."""
    page = html(opened("analyses", **NOTES))
    return page.partition(f'id="{name}">')[2].partition("</section>")[0]


@pytest.fixture
def board(analysed_board: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that a test may damage, shown by the site."""
    shutil.copytree(analysed_board.board, tmp_path / "data/board")
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    return tmp_path / "data/board"


def change(board: Path, name: str, change: Callable[[Path], object]) -> None:
    """Change a file of the analyses and let the manifest name it as it is now."""
    path = board / "analyses" / SPLIT.edition / SPLIT.task / name
    change(path)
    manifest = json.loads((board / "manifest.json").read_text())
    for entry in manifest["analyses"]:
        entry["sha256"] = sha256_file(board / entry["path"])
    (board / "manifest.json").write_text(json.dumps(manifest))


def change_described(board: Path, name: str, **values: Any) -> None:
    def write(path: Path) -> None:
        index = json.loads(path.read_text())
        next(one for one in index["analyses"] if one["name"] == name).update(values)
        path.write_text(json.dumps(index))

    change(board, "index.json", write)


@pytest.mark.parametrize("name", ORDER)
def test_every_analysis_is_shown_whole(board: Path, name: str) -> None:
    analysis = next(one for one in load_analyses(board)[SPLIT[:2]] if one.text.name == name)
    shown = section(name)
    for part in (analysis.text.question, "How to read it", " ".join(analysis.text.how_to_read.split())):
        assert part in text(shown)
    assert f"./{name}.svg" in shown and f"{name}.csv" in shown


def test_an_analysis_without_figure_or_table_says_why(board: Path) -> None:
    change_described(board, "search-gain", missing="Nobody searched.", figure=None, row_count=0, files=[])
    shown = section("search-gain")
    assert "No figure. Nobody searched." in text(shown)
    assert "<table" not in shown and "href=" not in shown


def test_a_quarter_without_analyses_has_no_page_of_them(board: Path) -> None:
    with pytest.raises(AssertionError, match="no such page"):
        opened("analyses", task="x-notes", edition="2026Q3")


def test_a_damaged_file_is_named(board: Path) -> None:
    (board / "analyses/2023Q2/x-notes/silence.parquet").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"silence\.parquet"):
        section("silence")


def test_an_analysis_that_the_page_does_not_know_is_shown_as_well(board: Path) -> None:
    def rename(path: Path) -> None:
        path.write_text(path.read_text().replace('"cost"', '"novelty"').replace('"cost.', '"novelty.'))
        for ending in ("parquet", "points.parquet", "svg"):
            path.with_name(f"cost.{ending}").rename(path.with_name(f"novelty.{ending}"))
        manifest = board / "manifest.json"
        manifest.write_text(manifest.read_text().replace("2023Q2/x-notes/cost.", "2023Q2/x-notes/novelty."))

    change(board, "index.json", rename)
    assert "<img " in section("novelty") and "<table" in section("novelty")


def test_the_static_section_has_everything_in_one_piece(board: Path, hostile: tuple[str, ...]) -> None:
    for analysis in load_analyses(board)[SPLIT[:2]]:
        source = str(analysis_section(analysis, "./a.svg"))
        assert source.count("<img ") == source.count("<h2>") == source.count("<table ") == 1
        assert not re.search(r"<(script|a|b)\b|\u202e|\u0301{4}", source)
    assert "&lt;script&gt;window.pwned=1&lt;/script&gt;" in source


def test_what_is_the_same_in_every_row_is_said_once() -> None:
    rows = pl.DataFrame({"system": ["a", "b"], "metric": ["f1", "f1"], "value": [0.5, 0.5], "none": [None, None]})
    said = text(str(findings(rows)))
    assert said == "Findings System F1 a 0.500 b 0.500 The same in every row. Metric: f1"
    assert findings(rows.clear()) is None


def test_limits_stand_under_the_value_that_they_are_of() -> None:
    row = {"system": "a", "value": 0.5, "value_against": 0.25, "difference": 0.25, "low": -0.125, "high": 1.0}
    source = str(findings(pl.DataFrame([row])))
    assert "<small>\N{MINUS SIGN}0.12\N{EN DASH}1.00</small>" in source.partition('data-label="Difference"')[2]
    assert source.count("<small>") == 1


def test_long_tables_are_cut_and_say_so() -> None:
    source = str(findings(pl.DataFrame({"system": [f"s{k}" for k in range(300)]})))
    assert source.count("<tr") == 101
    assert "The first 100 of 300 rows; the files hold all of them." in source
