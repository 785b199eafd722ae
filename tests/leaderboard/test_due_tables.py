"""What the board says is due is what the releases say, for every quarter and split, without a label or an early id."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hellofresh.core.clock import now
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.prospective import build_prospective
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.releases.life.takedown import take_down
from hellofresh.results.board.build import build_board
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.submissions.check import Due
from hellofresh.submissions.released import due_in
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import PROSPECTIVE
from leaderboard.data.uploads import load_dues
from tests.fakes import collect

OPEN, NEXT = Quarter(2026, 3), Quarter(2026, 4)


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
    gone = sorted(due_in(workspace, OPEN).ids["x-notes"])[0]
    take_down(workspace, OPEN, TASKS["x-notes"], {gone: "asked for"}, now())
    score_quarter(workspace, OPEN, workspace.root / "none")
    build_board(workspace)
    due = load_dues(workspace.board)[-1]
    assert due.taken_down == {gone}
    assert gone not in due.ids["x-notes"]
    assert alike(due) == alike(due_in(workspace, OPEN))


def test_a_board_is_built_anew_only_when_a_quarter_opens(workspace: Workspace, monkeypatch) -> None:
    assert build_board(workspace).skipped
    monkeypatch.setenv("HELLOFRESH_NOW", "2026-12-24T00:00:00Z")
    assert build_board(workspace).skipped
