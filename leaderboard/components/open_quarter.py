"""What the site shows of a quarter whose labels are not revealed: nothing that follows from a label."""

from __future__ import annotations

from leaderboard.components.labels import day
from leaderboard.components.markup import Html, el
from leaderboard.data.records import Records
from leaderboard.data.tables import Split

__all__ = ["not_revealed"]


def not_revealed(records: Records, split: Split) -> Html:
    """A sentence in place of figures."""
    days = records.days(split)
    when = f", on {day(days.reveals)}" if days else ""
    return el("p", f"Scores of {split.quarter} are shown when its labels are revealed{when}.")
