"""Plain texts without markup: names of tasks, quarters and entries, days and sums of money."""

from __future__ import annotations

import math
from datetime import date
from functools import lru_cache

from hellofresh.tasks import TASKS
from leaderboard.components.markup import visible
from leaderboard.data.tables import Board, BoardEntry, SplitKey

__all__ = ["EVERY", "day", "duration", "entry_label", "money", "quarter_title", "task_order", "task_title"]

_UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))
EVERY = "all"
"""Where no choice narrows what is shown, and the quarter that stands for all of them."""


def task_title(task: str) -> str:
    """The task's title, or its bare name where this version does not know it."""
    return TASKS[task].title if task in TASKS else visible(task)


def task_order(task: str) -> tuple[int, str]:
    """Sorts known tasks first, in their own order."""
    known = list(TASKS)
    return (known.index(task) if task in known else len(known), task)


def quarter_title(board: Board, split: SplitKey) -> str:
    """The quarter, marked where it is open or of the bundled sample."""
    if split.edition == EVERY:
        return "All quarters"
    marks = ["open"] if board.is_open(split) else []
    marks += ["bundled sample"] if board.is_bundled(split) else []
    return f"{split.edition} ({', '.join(marks)})" if marks else split.edition


@lru_cache(maxsize=4096)
def entry_label(entry: BoardEntry) -> str:
    """One plain line: system, team, regime, and a number where several are alike."""
    parts = [visible(entry.name, 48), visible(entry.team, 32)]
    parts += [visible(entry.regime, 20)] if entry.regime != "none" else []
    return " · ".join(parts) + (f" ({entry.number + 1})" if entry.number else "")


def day(moment: date) -> str:
    """Such as `15 January 2027`."""
    return f"{moment.day} {moment:%B %Y}"


def duration(seconds: float) -> str:
    """A length of time in its largest unit of which it has two or more, rounded down: "36 hours", "5 days"."""
    unit, size = next((named for named in _UNITS if seconds >= 2 * named[1]), _UNITS[-1])
    number = int(seconds // size)
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def money(dollars: float) -> str:
    """US dollars; of small sums the first two digits that say something, so that only what is free costs $0.00."""
    if dollars == 0 or dollars >= 1:
        return f"${dollars:,.2f}"
    return f"${dollars:.{1 - math.floor(math.log10(dollars))}f}"
