"""What the pages say, without a browser, also of a board of 500 systems."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest
from visiting import html, opened, paths, text

from hellofresh.core.clock import now
from hellofresh.core.editions import Frozen
from hellofresh.core.quarters import Quarter
from hellofresh.results.board.build import build_board
from hellofresh.results.board.sample_rows import SampleRow, TranscriptStep
from hellofresh.results.split.tables import AnswerRow
from hellofresh.submissions.check import Due
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import Split
from leaderboard.components.markup import DASH
from leaderboard.components.scale import plain_scale
from leaderboard.components.standings import columns_of
from leaderboard.data.board import SplitKey, load_board
from leaderboard.export import export_board
from leaderboard.export.copy import framed
from leaderboard.views import home_of
from leaderboard.views.submit import what_is_due
from leaderboard.views.visit import Visit
from tests.fakes import refused

REAL = {"task": "x-notes", "edition": "2023Q2"}


@pytest.fixture
def use_board(make_board: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Makes a board, and makes it the one that the site shows."""

    def use(**how: Any) -> Path:
        workspace = make_board(**how)
        monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
        return workspace.board

    return use


def test_the_site_opens_on_a_living_task_though_names_of_data_sets_sort_behind_quarters() -> None:
    splits = [SplitKey("scifact-retrieval@dev-9", "scifact-retrieval"), SplitKey("2023Q2", "x-notes")]
    full = SimpleNamespace(splits=splits, entries=bool, standings=bool, is_bundled=lambda _: False)
    assert home_of(cast(Any, full)).task == "x-notes"


@pytest.mark.parametrize(
    ("task", "split", "asked"),
    [
        ("x-notes", "main", "id and label (1 or 0, or null for no answer) for each"),
        (
            "x-notes",
            "prospective",
            "id and label (1 or 0, or null for no answer) and probabilities (one for each class)",
        ),
        ("corrections", "main", "id and text (the response, or null"),
        ("scifact-retrieval", "main", "id and documents (a list of their ids, the best first, or null"),
    ],
)
def test_what_is_due_is_the_field_of_the_tasks_answers(task: str, split: str, asked: str) -> None:
    said = what_is_due(Due(Frozen("anything", "9"), {task: ("a", "b")}, {}, split=Split(split)), now())
    assert asked in text(said.source)


def test_pages_with_nothing_to_show_are_in_no_menu_and_have_no_file(use_board: Callable[..., Path]) -> None:
    use_board()
    empty = ("Compare", "Samples", "Responses", "Judges", "Retrieval", "Forecasts", "Analyses", "Guess")
    assert paths().isdisjoint(map(str.lower, empty))
    menu = re.findall(r">([^<>]+)</a></li>", framed(opened("leaderboard", **REAL), "").partition("</nav>")[0])
    assert set(menu).isdisjoint(empty) and {"Home", "Ranking", "Data", "Submit", "About"} <= set(menu)


def table_rows(test: Visit) -> list[tuple[str, str]]:
    table = html(test).partition("</table>")[0]
    return re.findall(r'<td class="hf-rank" role="cell">(.*?)</td>.*?<bdi>(.*?)</bdi>', table)


def test_without_standings_systems_stand_by_f1_and_nobody_has_a_rank(use_board: Callable[..., Path]) -> None:
    use_board()
    assert table_rows(opened("leaderboard", **REAL)) == [
        (DASH, "best"), (DASH, "second-best"), (DASH, "level-a"), (DASH, "level-b"), ("", "always-yes"),
        ("", "tiny-model"),
    ]  # fmt: skip


def test_a_row_shows_all_its_figures(use_board: Callable[..., Path]) -> None:
    use_board()
    first = html(opened("leaderboard", **REAL)).split('<td class="hf-rank"')[1].partition("</tr>")[0]
    for shown in (
        "0.900",
        "0.85\N{EN DASH}0.95",
        "3.3%",
        "1 none, 1 blocked",
        "of 60",
        "web-search",
        "run here",
        "2022-12-31",
    ):
        assert shown in first


def test_baselines_and_smoke_tests_stand_apart_and_are_explained(use_board: Callable[..., Path]) -> None:
    use_board()
    said = text(opened("leaderboard", **REAL))
    said = said[said.index("Find a system or team") :]
    places = [said.index(part) for part in ("ranked by F1", "rules without a language model", "no better than chance")]
    assert places == sorted(places)
    assert places[1] < said.index("always-yes") < places[2] < said.index("tiny-model")


def test_the_bundled_sample_says_that_it_is_a_demonstration(use_board: Callable[..., Path]) -> None:
    use_board()
    test = opened("leaderboard", task="x-notes", edition="2026Q3")
    assert "to try it out. Its scores are for demonstration only" in text(test)
    assert "for demonstration only" not in text(opened("leaderboard", **REAL))


# --- A board of 500 systems is shown whole, with a few columns until others are chosen.


NOTES = {"task": "x-notes", "edition": "2023Q2"}
SPLIT = SplitKey("2023Q2", "x-notes")
SCALE = plain_scale(SPLIT.task)


def standings(test: Visit) -> str:
    """The page's ranked table."""
    return html(test).partition('<table class="hf-table hf-standings')[2].partition("</table>")[0]


def shown_systems(test: Visit) -> list[str]:
    return re.findall(r'data-label="System" role="cell">(?:<a [^>]*>)?<bdi>(.*?)</bdi>', standings(test))


@pytest.fixture
def crowd(crowded_board: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The board of 500 systems, as the one that the site shows."""
    monkeypatch.setenv("HELLOFRESH_DATA", str(crowded_board.root))
    folder: Path = crowded_board.board
    return folder


def test_all_systems_stand_in_one_table(crowd: Path) -> None:
    test = opened("leaderboard", **NOTES)
    assert len(shown_systems(test)) == 500
    hidden = re.findall(r"hf-hide-(\d+)", standings(test).partition('"')[0])
    assert len(hidden) == len(columns_of(SCALE))  # what is the same for all stands above the table


@pytest.mark.parametrize("name", ["answers", "pairs", "samples", "transcripts"])
def test_a_large_table_that_goes_away_while_it_is_read_is_explained(crowd: Path, name: str) -> None:
    board = load_board(crowd)
    kept = (crowd / f"{name}.parquet").read_bytes()
    ask = {
        "answers": lambda: board.frame(AnswerRow, SPLIT, id="x"), "pairs": lambda: board.pairs(SPLIT, "a", "b"),
        "samples": lambda: board.frame(SampleRow, SPLIT),
        "transcripts": lambda: board.rows(TranscriptStep, SPLIT, id="x"),
    }[name]  # fmt: skip
    try:
        (crowd / f"{name}.parquet").unlink()
        refused("damaged-board", ask)
    finally:
        (crowd / f"{name}.parquet").write_bytes(kept)


def test_a_table_with_metrics_of_facts_and_comparisons_of_forecasts_have_their_style_and_names(
    make_board: Callable[..., Any], prospective_board: Any, tmp_path: Path
) -> None:
    workspace = make_board(bundled=None)
    path = workspace.scores(Quarter(2023, 2))
    rows = pl.read_parquet(path)
    fact = rows.filter(pl.col("task") == "x-notes", pl.col("metric") == "f1")
    (metric,) = TASKS["x-notes"].fact_metrics
    pl.concat([rows, fact.with_columns(metric=pl.lit(metric.name))]).write_parquet(path)
    build_board(workspace)
    export_board(workspace.board, tmp_path / "facts")
    style = (tmp_path / "facts" / "style.css").read_text()
    page = (tmp_path / "facts" / "x-notes" / "2023Q2" / "index.html").read_text()
    assert metric.title in page
    assert all(f".{kind} td" in style for kind in re.findall(r"hf-ranked-\w+", page))
    export_board(prospective_board.board, tmp_path / "forecasts")
    (listed,) = (tmp_path / "forecasts").glob("x-notes/*-prospective/compare/list.js")
    assert '"metric":"Relative Brier index"' in listed.read_text() and '"span":100.0' in listed.read_text()
