"""Quarters that are not revealed, and forecasts: what is known and due is shown, and no label, id or figure early."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from visiting import html, opened, text

from hellofresh.core.clock import now
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.prospective import build_prospective
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.releases.life.takedown import take_down
from hellofresh.results.board.build import build_board
from hellofresh.results.board.sample_rows import SampleRow
from hellofresh.results.board.system_rows import AgreementRow, AnswerShare, Participant
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.results.split.tables import AnswerRow
from hellofresh.submissions.check import Due
from hellofresh.submissions.released import due_in
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import PROSPECTIVE
from leaderboard.components.charts import calendar_bar
from leaderboard.components.labels import Links, dated
from leaderboard.components.open_quarter import open_quarter, plain_participant
from leaderboard.data.board import Board, SplitKey, load_board
from leaderboard.data.uploads import load_dues
from leaderboard.export import export_board
from tests.fakes import collect, refused

OPEN, FINISHED = SplitKey("2026Q3", "x-notes"), SplitKey("2026Q2", "x-notes")


@pytest.fixture
def shown(open_board: Any, monkeypatch: pytest.MonkeyPatch) -> Board:
    """A board with a revealed and an open quarter, the one that the site shows."""
    monkeypatch.setenv("HELLOFRESH_DATA", str(open_board.root))
    return load_board(open_board.board)


def test_the_site_opens_on_the_newest_revealed_quarter_with_the_open_one_beside_it(
    shown: Board,
) -> None:
    board = shown
    assert board.splits[0].edition == OPEN.edition > board.newest("x-notes").edition == FINISHED.edition
    page = html(opened("leaderboard", edition="2026Q2"))
    assert opened("leaderboard").chosen == FINISHED
    assert "has the highest F1" in page
    assert "2026Q3 (open, bundled sample)" in page


@pytest.mark.parametrize("page", ["leaderboard", "samples", "data"])
def test_no_page_of_an_open_quarter_has_a_figure_of_it(shown: Board, page: str) -> None:
    drawn = opened(page, task="x-notes", edition="2026Q3")
    said = html(drawn).partition("Last quarter")[0]
    beside = b"".join(drawn.files.values()).decode()
    assert not re.search(r'"(f1|precision|recall|accuracy|rank|label)": ?[0-9]|"right":\["', beside)
    own = re.sub(r'data-label="F1 in 2026Q2".*?</td>', "", said)
    assert "hf-interval" not in own
    assert not re.search(r"highest F1|\bF1 0\.|precision|Brier", text(own))


def test_the_open_page_says_who_takes_part_what_they_answered_and_when_it_ends(shown: Board) -> None:
    page = text(opened("leaderboard", task="x-notes", edition="2026Q3"))
    said = (
        "Predictions are accepted from 22 October 2026 until 15 January 2027 ; labels are revealed on 22 January 2027 ."
    )
    assert said in page
    for part in ("24 samples", "Systems", "coin", "of 24", "Last quarter's standing: 2026Q2", "Samples"):
        assert part in page
    board = shown
    (coin,) = board.rows(Participant, OPEN)
    shares = board.rows(AnswerShare, OPEN)
    assert (coin.judged, coin.samples) == (24, 24) == (sum(share.samples for share in shares), 24)
    assert not board.rows(Participant, FINISHED) and not board.rows(AnswerShare, FINISHED)
    row = plain_participant(coin, shares, OPEN)
    said = {share.said: share.samples for share in shares}
    assert (row["helpful"], row["not helpful"], row["none"], row["blocked"]) == (said[1], said[0], 0, 0)
    assert not row.keys() & {"f1", "precision", "recall", "accuracy", "rank"}


def test_the_copy_opens_on_the_revealed_quarter_too_and_does_not_depend_on_the_day(
    open_board: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = []
    for name, moment in (("one", "2026-11-21T12:00:00Z"), ("two", "2027-01-20T12:00:00Z")):
        monkeypatch.setenv("HELLOFRESH_NOW", moment)
        export_board(open_board.board, tmp_path / name)
        copies.append({path.relative_to(tmp_path / name): path.read_bytes() for path in files(tmp_path / name)})
    assert copies[0] == copies[1]
    first = (tmp_path / "one/index.html").read_text()
    assert "x-notes/2026Q2/index.html" in first and "2026Q3 accepts predictions from 22 October 2026 until" in first
    page = (tmp_path / "one/x-notes/2026Q3/index.html").read_text()
    assert 'Predictions are accepted from 22 October 2026 until <time datetime="2027-01-15T00:00:00Z"' in page
    assert not list((tmp_path / "one/x-notes/2026Q3").glob("leaderboard.*"))


def files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def test_answers_agreement_and_shares_are_what_the_judgements_say(shown: Board, open_board: Any) -> None:
    said = pl.read_parquet(open_board.root / "private/judgements/2026Q3.parquet").filter(pl.col("task") == "x-notes")
    shares = {share.said: share.samples for share in shown.rows(AnswerShare, OPEN)}
    assert shares == {label: said.filter(pl.col("label") == label).height for label in (0, 1)}
    assert shown.rows(AgreementRow, OPEN) == []  # one participant agrees with nobody


def test_the_maintainers_board_is_shown_with_a_warning_and_never_exported_for_others(
    open_board: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "data"
    shutil.copytree(open_board.root, root)
    private = build_board(Workspace(root), private=True).folder
    assert private == root / "private" / "board"
    monkeypatch.setenv("HELLOFRESH_DATA", str(root))
    assert "The maintainers' own board." not in text(opened("leaderboard", task="x-notes", edition="2026Q3"))
    monkeypatch.setenv("HELLOFRESH_BOARD", str(private))
    page = text(opened("leaderboard", task="x-notes", edition="2026Q3"))
    assert "The maintainers' own board." in page and "has the highest F1" in page
    refused("private-board", export_board, private, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    export_board(private, tmp_path / "own", private=True)
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700


def test_the_bar_of_an_open_quarter_shows_today_and_no_more_than_is_over() -> None:
    moments = [datetime(2026, 10, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 2, 1, tzinfo=UTC)]
    bar = str(calendar_bar(*moments))
    for moment, width in ((moments[0], "0.0"), (datetime(2026, 12, 1, 12, tzinfo=UTC), "50.0"), (moments[2], "100.0")):
        assert f'style="width:{width}%' in dated(bar, moment)


def test_a_submission_in_time_is_said_to_be_received_and_counted_after_the_deadline(shown: Board) -> None:
    waiting = replace(shown.rows(Participant, OPEN)[0], origin="team/late", judged=0, provenance="uploaded")
    table = pl.DataFrame([{"edition": OPEN.edition, "task": OPEN.task, "split": OPEN.kind, **asdict(waiting)}])
    board = replace(shown, _tables={**shown._tables, "participants": table}, known={})
    assert "received, counted after 15 January" in str(open_quarter(board, OPEN, Links({}, "index.html")))


# --- What the board says is due is what the releases say, for every quarter and split, without a label or an early id.


QUARTER, NEXT = Quarter(2026, 3), Quarter(2026, 4)


@pytest.fixture
def workspace(open_board: Workspace, tmp_path: Path) -> Workspace:
    """A copy of the workspace with an open quarter."""
    shutil.copytree(open_board.root, tmp_path / "data")
    return Workspace(tmp_path / "data")


def alike(due: Due) -> tuple[Any, ...]:
    """All that it says, whatever the order of ids."""
    ids = {task: frozenset(found) for task, found in due.ids.items()}
    return due.edition, due.split, ids, dict(due.calendars), due.taken_down, due.revealed


def test_a_prospective_split_is_due_before_its_quarter_has_a_release(workspace: Workspace, make: Any) -> None:
    task = TASKS["x-notes"]
    pending = [make.note(900 + k, date=now() - timedelta(days=3)) for k in range(5)]
    collect(workspace, NEXT, task.name, [], pending, source=BUNDLED)
    build_prospective(workspace, NEXT, task, seed="s", cap=9, days=5, moment=now())
    assert not build_board(workspace).skipped
    due = next(due for due in load_dues(workspace.board) if due.edition == NEXT)
    assert due.split is PROSPECTIVE
    assert alike(due) == alike(due_in(workspace, NEXT, PROSPECTIVE))
    assert set(due.ids["x-notes"]) == {note.id for note in pending}


def test_samples_that_were_taken_down_may_still_be_predicted(workspace: Workspace) -> None:
    gone = sorted(due_in(workspace, QUARTER).ids["x-notes"])[0]
    take_down(workspace, QUARTER, TASKS["x-notes"], {gone: "asked for"}, now())
    score_quarter(workspace, QUARTER, workspace.root / "none")
    build_board(workspace)
    due = load_dues(workspace.board)[-1]
    assert due.taken_down == {gone}
    assert gone not in due.ids["x-notes"]
    assert alike(due) == alike(due_in(workspace, QUARTER))


def test_a_board_is_built_anew_only_when_a_quarter_opens(workspace: Workspace, monkeypatch) -> None:
    assert build_board(workspace).skipped
    monkeypatch.setenv("HELLOFRESH_NOW", "2026-12-24T00:00:00Z")
    assert build_board(workspace).skipped


# --- The page Forecasts, live and copied: who foresees best, calibration, the hardest samples, what comes next.


SPLIT = SplitKey("2026Q4", "x-notes", "prospective")


def test_the_page_ranks_by_the_index_and_names_the_hardest_samples(
    prospective_board: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(prospective_board.root))
    board = load_board(prospective_board.board)
    labels = {row.id: row.label for row in board.rows(SampleRow, SPLIT) if row.label is not None}
    said = {row.id: row.probabilities for row in board.rows(AnswerRow, SPLIT, origin="team-seer/seer")}
    errors = [(said[key][1] - label) ** 2 for key, label in labels.items()]
    base = np.mean(list(labels.values())) * (1 - np.mean(list(labels.values())))
    index = 100 * (1 - np.sqrt(np.mean(errors) / base) / 2)
    export_board(prospective_board.board, tmp_path / "copy")
    (page,) = (tmp_path / "copy").glob("x-notes/2026Q4-prospective/forecasts.html")
    for shown in (text(opened("forecasts")), text(page.read_text(encoding="utf-8"))):
        assert shown.index("seer") < shown.index("guesser")
        for part in ("Resolved", f"{index:.1f}", "Log score", "Resolution", "The hardest samples", "16 decided"):
            assert part in shown
    # Both teams are wrong about the last two samples, and sure of it.
    hardest = text(page.read_text(encoding="utf-8")).partition("The hardest samples")[2]
    assert 0 < hardest.index("xn-15") < hardest.index("xn-1 ") if "xn-1 " in hardest else "xn-15" in hardest


def test_where_no_forecast_is_resolved_there_is_no_page_and_no_way_to_one(
    revealed_board: Workspace, tmp_path: Path
) -> None:
    export_board(revealed_board.board, tmp_path / "copy")
    pages = list((tmp_path / "copy").rglob("*.html"))
    assert pages and not any("forecasts" in page.name for page in pages)
    assert not any("forecasts.html" in page.read_text(encoding="utf-8") for page in pages)
