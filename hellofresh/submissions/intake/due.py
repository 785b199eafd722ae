"""What is due in a quarter: the ids of its public samples, and until when predictions on them are taken.

It can be made from a release (`hellofresh.submissions.intake.released`) or from the board's tables.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from hellofresh.core.calendar import Calendar
from hellofresh.core.editions import Edition
from hellofresh.core.errors import SubmissionError
from hellofresh.core.quarters import utc_text
from hellofresh.submissions.intake.splits import MAIN, SubmissionSplit

__all__ = ["Due", "check_time"]


@dataclass(frozen=True, slots=True)
class Due:
    """What is due in a quarter.

    Attributes:
        edition: the edition.
        ids: ids of the released samples, by task.
        calendars: when it opens, closes and is revealed, by task; empty for a frozen edition, which never closes.
        taken_down: ids of samples that were taken down since: they may be there or not, and are not scored.
        split: the split that these are the samples of.
        revealed: tasks whose labels are public; that they are is recorded, whatever the clock says.
    """

    edition: Edition
    ids: Mapping[str, tuple[str, ...]]
    calendars: Mapping[str, Calendar]
    taken_down: frozenset[str] = frozenset()
    split: SubmissionSplit = MAIN
    revealed: frozenset[str] = frozenset()

    def tasks_of(self, labels: Mapping[str, object]) -> tuple[str, ...]:
        """The tasks that predictions with these ids take part in."""
        return tuple(name for name, ids in self.ids.items() if any(key in labels for key in ids))

    @property
    def deadline(self) -> datetime | None:
        """The first moment at which not all tasks take predictions any more; None if there is none."""
        return min((calendar.deadline for calendar in self.calendars.values()), default=None)

    def takes(self, moment: datetime) -> bool:
        """Whether some task takes predictions at the moment; a frozen edition always does."""
        if not self.edition.is_living:
            return True
        return any(calendar.opens <= moment < calendar.deadline for calendar in self.calendars.values())


def check_time(due: Due, tasks: Collection[str], moment: datetime) -> None:
    """Refuse what comes before a task opens, after its deadline, or once its labels are public.

    Nothing is refused on a frozen edition, which has no calendar.

    Raises:
        SubmissionError: if one of the tasks takes no predictions at the moment (`not-open`, `closed`, `revealed`).
    """
    edition = str(due.edition) if due.split is MAIN else f"{due.edition}, {due.split.name},"
    for task in sorted(set(tasks) & due.calendars.keys()):
        calendar = due.calendars[task]
        if task in due.revealed:
            what = f"{task} {edition} is revealed: its labels are public, and predictions are no longer accepted"
            raise SubmissionError(what, fix="Submit to the next quarter.", code="revealed")
        if moment < calendar.opens:
            what = f"{task} {edition} accepts predictions from {utc_text(calendar.opens)} on"
            raise SubmissionError(what, fix="Submit it then.", code="not-open")
        if moment >= calendar.deadline:
            raise SubmissionError(
                f"{task} {edition} accepted predictions until {utc_text(calendar.deadline)}; now: {utc_text(moment)}",
                fix="Submissions already received are unchanged; submit to the next quarter.",
                code="closed",
            )
