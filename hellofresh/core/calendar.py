"""When a quarter opens, closes and is revealed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Self

from hellofresh.core.errors import ReleaseError
from hellofresh.core.quarters import Quarter, parse_utc, utc_text

_READ_BEFORE_DAYS = 5  # time to read sources again if something failed on the day


@dataclass(frozen=True, slots=True)
class CalendarRule:
    """The rule that derives a quarter's days.

    Attributes:
        opens_after_days: days from the end of the quarter to its opening; notes lock two weeks after they were written,
            and edits need their later revisions.
        deadline_before_reveal_days: days from the deadline for predictions to the reveal, to check submissions.
    """

    opens_after_days: int = 21
    deadline_before_reveal_days: int = 7

    def settles(self, quarter: Quarter) -> date:
        """The last day to read sources before the opening: all labels are decided, and dumps had time to arrive."""
        return (quarter.end + timedelta(days=self.opens_after_days)).date() - timedelta(
            days=min(_READ_BEFORE_DAYS, self.opens_after_days - 1)
        )

    def of(self, quarter: Quarter, deadline: datetime | None = None) -> Calendar:
        """The days of a quarter, which is revealed when the next one opens, a quarter after its own opening.

        Args:
            quarter: the quarter.
            deadline: replaces the deadline of the rule.

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
        opens: samples and commitments become public and predictions are accepted.
        deadline: the first moment at which predictions are no longer accepted.
        reveals: labels and salts become public.
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
        return {name: utc_text(getattr(self, name)) for name in ("opens", "deadline", "reveals")}
