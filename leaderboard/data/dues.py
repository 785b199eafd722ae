"""What is due in each quarter, by the board's tables: the site checks what is handed in against it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from hellofresh.core.calendar import Calendar
from hellofresh.core.editions import parse_edition
from hellofresh.results.board.read import BoardFiles
from hellofresh.submissions.check import Due
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import Split

_KEY = ["edition", "split"]


def load_dues(folder: Path) -> list[Due]:
    """What is due in each quarter and split of a board, by deadline; samples are there from its opening on.

    Raises:
        DataError: as `leaderboard.data.board.load_board`.
    """
    files = BoardFiles.at(folder)
    days, ids, states = (files.read(name) for name in ("quarters", "due_ids", "releases"))
    states = states.filter("revealed")
    asked = dict(ids.group_by(_KEY, maintain_order=True))
    revealed = dict(states.group_by(_KEY, maintain_order=True))
    found = []
    stated = dict(days.group_by(_KEY, maintain_order=True))
    for key in sorted({*stated, *asked}, key=str):
        over = frozenset(revealed.get(key, states.clear())["task"].to_list())
        due = _due(str(key[0]), str(key[1]), stated.get(key, days.clear()), asked.get(key, ids.clear()), over)
        found += [due] if due is not None else []
    never = datetime.max.replace(tzinfo=UTC)
    return sorted(found, key=lambda due: (due.deadline or never, due.edition, due.split))


def _due(edition: str, split: str, days: pl.DataFrame, ids: pl.DataFrame, revealed: frozenset[str]) -> Due | None:
    """None for a split that this version does not know."""
    known = next((item for item in Split if item == split), None)
    stated = {row["task"]: row for row in days.to_dicts()}
    calendars = {task: Calendar.from_json(stated[task]) for task in TASKS if task in stated}
    asked = ids.filter(~pl.col("taken_down"))
    tasks = calendars if parse_edition(edition).is_living else [task for task in TASKS if task in set(asked["task"])]
    if known is None or not tasks:
        return None
    by_task = {task: tuple(asked.filter(pl.col("task") == task)["id"].to_list()) for task in tasks}
    gone = frozenset(ids.filter("taken_down")["id"].to_list())
    return Due(parse_edition(edition), by_task, calendars, gone, known, revealed & by_task.keys())
