"""A board of 500 systems is shown whole, and nothing is prepared that nobody asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest
from visiting import html, opened

from hellofresh.core.errors import DataError
from hellofresh.results.board.schema import SampleRow, TranscriptStep
from hellofresh.results.tables import AnswerRow
from leaderboard.components.labels import EVERY
from leaderboard.components.scale import plain_scale
from leaderboard.components.standings import Line, View, columns_of, lines_of, standings_table
from leaderboard.data.board import SplitKey, load_board
from leaderboard.live import PAGES

NOTES = {"task": "x-notes", "edition": "2023Q2"}
SPLIT = SplitKey("2023Q2", "x-notes")
SCALE = plain_scale(SPLIT.task)


def standings(test: AppTest) -> str:
    """The page's ranked table."""
    return html(test).partition('<table class="hf-table hf-standings')[2].partition("</table>")[0]


def shown_systems(test: AppTest) -> list[str]:
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
    assert standings(test).startswith(" hf-opens hf-long")


def test_every_page_opens_with_that_many(crowd: Path) -> None:
    for page in PAGES:
        assert not opened(page.path, **NOTES).exception
    assert not opened("leaderboard", task="x-notes", edition=EVERY).exception


@pytest.fixture(scope="module")
def lines(crowded_board: Any) -> list[Line]:
    """Enough rows for a long table."""
    board = load_board(crowded_board.board)
    return lines_of(board.headlines(SPLIT), board.standings(SPLIT), board.systems(SPLIT))[:60]


@settings(max_examples=20)
@given(columns=st.lists(st.sampled_from(list(columns_of(SCALE))), unique=True))
def test_long_tables_have_a_width_for_every_column(lines: list[Line], columns: list[str]) -> None:
    table = str(standings_table(lines, View(SPLIT, bundled=False, scale=SCALE, columns=tuple(columns), ties=False)))
    widths = re.search(r'style="--tracks:([^"]*)"', table)
    assert widths
    tracks = re.sub(r"\((?:[^()]|\([^()]*\))*\)", "", widths[1]).split()
    assert len(tracks) == table.partition("</thead>")[0].count("<th ")


def test_a_board_that_was_built_anew_shows_at_the_next_visit(
    make_board: Callable[..., Any], system: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = []
    for right in (18, 4):
        workspace = make_board(systems=[system("first", right=10), system("second", right=right)], bundled=None)
        monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
        names.append(shown_systems(opened("leaderboard", **NOTES)))
    assert names == [["second", "first"], ["first", "second"]]


def _offering() -> None:
    from leaderboard.components.labels import SiteLinks
    from leaderboard.data.board import Board
    from leaderboard.live.session import LiveVisit

    LiveVisit(Board(), SiteLinks()).offer(lambda: 1 / 0, "never")  # type: ignore[arg-type, return-value]


def test_nothing_is_written_before_a_download_is_pressed() -> None:
    test = AppTest.from_function(_offering, default_timeout=300).run()
    assert not test.exception
    assert len(test.get("download_button")) == 3


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
        with pytest.raises(DataError) as caught:
            ask()
        assert caught.value.code == "damaged-board"
    finally:
        (crowd / f"{name}.parquet").write_bytes(kept)
