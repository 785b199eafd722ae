"""A column of the ranked table is one record: head, meaning, width, cell and plain text follow from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hellofresh.core.systems import ModelFacts
from leaderboard.components import standings
from leaderboard.components.labels import Links
from leaderboard.components.markup import DASH
from leaderboard.components.scale import Scale, plain_scale
from leaderboard.components.standings import Line, View, columns_of, plain_row, score_table, standings_table
from leaderboard.components.tables import table as plain_table
from leaderboard.data.board import BoardEntry, MetricValue, ScoreCell, SplitKey
from leaderboard.export.export import columns_css

SPLIT = SplitKey("2024Q1", "x-notes")
SCALE = plain_scale("x-notes")


def line(low: float | None = 0.31, high: float | None = 0.72) -> Line:
    entry = BoardEntry("m", "t", "run", "language-model", "zero-shot", "o", 1, "m")
    metrics = tuple(MetricValue(name, 0.5, 0.4, 0.6, low, high) for name in ("f1", "precision", "recall", "accuracy"))
    cell = ScoreCell(entry, "p", "all", False, "2023-01-01", "", 10, 12, 7, 1, 0, metrics, "cluster Wilson")
    return Line(cell, 1, None, None)


def table(*lines: Line, scale: Scale = SCALE) -> str:
    return str(standings_table(lines, View(SPLIT, scale, Links({}, "i"))))


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The example of docs/extending.md, as an installed package would bring it."""
    text = (Path(standings.__file__).parents[2] / "docs/extending.md").read_text(encoding="utf-8")
    section = text[text.index("## A column from another package") :]
    names: dict[str, Any] = {}
    exec(re.search(r"```python\n(.*?)```", section, re.DOTALL)[1], names)  # type: ignore[index]
    monkeypatch.setattr(standings, "added_columns", lambda: (names["groups"],))
    return names


def test_a_column_of_another_package_is_everywhere(added: dict[str, Any]) -> None:
    shown, title = table(line()), added["groups"].title
    assert list(columns_of(SCALE))[-1] == title
    assert f">{title}</th>" in shown
    assert f"<dt>{title}</dt><dd>{added['groups'].meaning}" in shown
    assert f'data-label="{title}"' in shown and ">7<" in shown
    assert plain_row(line(), SPLIT)["groups"] == 7
    assert f'content: "{title}"' in columns_css(SCALE)


def test_installed_packages_are_searched_once_however_many_tables_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(standings, "plugins", lambda group, of: asked.append(group) or {})
    standings.added_columns.cache_clear()
    table(line()), table(line())
    standings.added_columns.cache_clear()
    assert asked == ["hellofresh.columns"]


def test_every_column_says_what_it_means_and_stands_in_downloads() -> None:
    shown = table(line())
    plain = plain_row(line(), SPLIT)
    for title, column in columns_of(SCALE).items():
        assert f"<dt>{title}</dt>" in shown
        assert column.plain(line()).items() <= plain.items()
    assert (plain["f1_bootstrap_low"], plain["recall_bootstrap_high"]) == (0.31, 0.72)
    assert plain["first"] is None


@pytest.mark.parametrize(("rows", "above", "heads"), [
    ([("a", "1", "x"), ("b", "1", "y"), ("c", "1", "z")], "In all rows: N: 1.", "SRT"),
    ([("a", ("1", "of 2"), "x"), ("b", ("1", "of 2"), "x"), ("c", ("1", "of 2"), "x")],
     "In all rows: N: 1, of 2; T: x.", "SR"),
    ([(("a", "us"), "1", "x"), (("b", "us"), "2", "y"), (("c", "us"), "1", "x")], "In all rows: us.", "SRNT"),
    ([("a", DASH, None), ("b", DASH, None), ("c", DASH, None)], "", "SR"),
    ([("a", "1", "x"), ("b", "1", "x")], "", "SRNT"),
    ([("a", "1", "x"), ("b", "1", "y"), ("c", "2", "z")], "", "SRNT"),
    ([], "", "SRNT"),
])  # fmt: skip
def test_what_is_equal_in_all_rows_stands_above_a_table(rows: Sequence[Any], above: str, heads: str) -> None:
    columns = [("rank", "R"), ("name", "S"), ("number", "N"), ("text", "T")]
    shown = str(plain_table("c", columns, [("1", *row) for row in rows], "k"))
    assert re.findall(r'<p class="hf-same"><small>(.*?)</small>', shown) == ([above] if above else [])
    assert sorted(re.findall(r"<th[^>]*>([A-Z])</th>", shown)) == sorted(heads)
    assert shown.count("<td") == len(rows) * len(heads) and (not above or " us<" not in shown.partition("<table")[2])
    whole = str(plain_table("c", columns, [("1", *row) for row in rows], "k", whole=True))
    assert "hf-same" not in whole and whole.count("<td") == len(rows) * 4


def test_a_column_of_the_ranking_that_is_equal_for_all_stands_above_it() -> None:
    facts = ModelFacts(maker="Acme", size_billions=7)
    same = table(*[replace(line(), result=replace(line().result, facts=facts))] * 3)
    assert (
        "In all rows: Cutoff: <bdi>2023-01-01</bdi>; Provenance: run here; Maker: <bdi>Acme</bdi>."
        in same.partition("<table")[0]
    )
    numbers = {title: number for number, title in enumerate(columns_of(SCALE), start=5)}
    assert all(f"hf-hide-{numbers[title]} " in same for title in ("Cutoff", "Provenance", "Maker"))
    assert "hf-same" not in table(line(), line())


def test_the_bootstrap_is_a_column_and_drawn_by_one_control() -> None:
    shown, without = table(line()), table(line(None, None))
    assert re.search(r'data-label="Bootstrap"[^>]*>0.310\W+0.720<', shown)
    assert "--from:" in shown and "--wide:" in shown
    assert "--from:" not in without
    assert "hf-hide" in shown.partition(">")[0]
    style = (Path(standings.__file__).parents[1] / "style.css").read_text(encoding="utf-8")
    assert "#bootstrap:checked" in style and "var(--from)" in style


def test_scores_by_prompt_have_the_cells_of_the_ranked_table() -> None:
    shown = str(score_table("Prompt", [line().result], SCALE))
    assert shown.count('data-label="No answer"') == shown.count('data-label="Scored"') == 1
    assert "10.0%" in shown and "of 12" in shown
