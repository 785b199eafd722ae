"""When a quarter opens, closes and is revealed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Self

from hellofresh.core.errors import ReleaseError
from hellofresh.core.quarters import Quarter, parse_utc, utc_text

_READ_BEFORE_DAYS = 5


@dataclass(frozen=True, slots=True)
class CalendarRule:
    """How a quarter's days follow from the quarter.

    Attributes:
        opens_after_days: days from the end of the quarter to its opening; notes lock two weeks after they were written,
            and edits need their later revisions.
        deadline_before_reveal_days: days from the last prediction taken to the reveal, to look at what came in.
    """

    opens_after_days: int = 21
    deadline_before_reveal_days: int = 7

    def settles(self, quarter: Quarter) -> date:
        """The last day on which sources are read before the opening: all is decided, and a dump may still be late."""
        return (quarter.end + timedelta(days=self.opens_after_days)).date() - timedelta(
            days=min(_READ_BEFORE_DAYS, self.opens_after_days - 1)
        )

    def of(self, quarter: Quarter, deadline: datetime | None = None) -> Calendar:
        """The days of a quarter: it is revealed when the next one opens, a quarter after its own opening.

        Args:
            quarter: the quarter.
            deadline: another deadline than the rule gives.

        Raises:
            ReleaseError: if the deadline is not between opening and reveal.
        """
        wait = timedelta(days=self.opens_after_days)
        opens, reveals = quarter.end + wait, quarter.next().end + wait
        last = deadline or reveals - timedelta(days=self.deadline_before_reveal_days)
        if not opens < last <= reveals:
            raise ReleaseError(
                f"a deadline at {utc_text(last)}",
                where=f"calendar of {quarter}",
                expected=f"a time after {utc_text(opens)} and not after {utc_text(reveals)}",
                code="bad-deadline",
            )
        return Calendar(opens, last, reveals)


@dataclass(frozen=True, slots=True)
class Calendar:
    """The days of one quarter, in UTC.

    Attributes:
        opens: from then on samples and commitments are public and predictions are taken.
        deadline: the first moment at which none is taken any more.
        reveals: from then on labels and salts are public.
    """

    opens: datetime
    deadline: datetime
    reveals: datetime

    @classmethod
    def from_json(cls, value: Mapping[str, str]) -> Self:
        """Read what `to_json` wrote.

        Raises:
            ValueError: if it is something else, or its times are not in order.
        """
        try:
            days = cls(parse_utc(value["opens"]), parse_utc(value["deadline"]), parse_utc(value["reveals"]))
        except (KeyError, TypeError) as error:
            raise ValueError("no calendar of opens, deadline and reveals") from error
        if not days.opens < days.deadline <= days.reveals:
            raise ValueError("the deadline must be after the opening, and the reveal not before the deadline")
        return days

    def to_json(self) -> dict[str, str]:
        """The three times as text, for a manifest."""
        return {
            "opens": utc_text(self.opens),
            "deadline": utc_text(self.deadline),
            "reveals": utc_text(self.reveals),
        }
