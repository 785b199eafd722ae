"""A board of 500 systems is shown whole, with a few columns until others are chosen."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from visiting import html, opened

from hellofresh.core.quarters import Quarter
from hellofresh.results.board.build import build_board
from hellofresh.results.board.sample_rows import SampleRow, TranscriptStep
from hellofresh.results.split.tables import AnswerRow
from hellofresh.tasks import TASKS
from leaderboard.components.scale import plain_scale
from leaderboard.components.standings import columns_of
from leaderboard.data.board import SplitKey, load_board
from leaderboard.export import export_board
from leaderboard.views.visit import Visit
from tests.fakes import refused

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
