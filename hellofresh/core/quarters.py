"""Quarters of the year, and the periods (months or ISO weeks) into which a task divides them. All times are UTC.

Also reads the times in ids of posts and notes of X.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import total_ordering
from typing import ClassVar, Protocol, Self

from hellofresh.core.errors import UsageError

_QUARTER = re.compile(r"([12][0-9]{3})Q([1-4])")
EditionKey = tuple[int, str, tuple[tuple[int, int, str], ...]]
"""Kind of the edition (0 for a quarter), its name, and the parts of its version."""
FIRST_SNOWFLAKE = 29_700_859_247
"""The smallest id of a post on X that contains the time of writing."""
_SNOWFLAKES_FROM = datetime(2010, 11, 4, 1, 42, 54, 657_000, UTC)


class PeriodKind(StrEnum):
    """How a task divides its quarters."""

    MONTH = "month"
    WEEK = "week"

    def of(self, moment: datetime) -> str:
        """The period that contains the moment: `2023-04` (month) or `2023-W14` (ISO week)."""
        moment = moment.astimezone(UTC)
        if self is PeriodKind.MONTH:
            return f"{moment.year:04d}-{moment.month:02d}"
        year, week, _ = moment.isocalendar()
        return f"{year:04d}-W{week:02d}"


class SortedEdition(Protocol):
    """Base of quarters and frozen data sets that sorts them together, see `hellofresh.core.editions`."""

    @property
    def sort_key(self) -> EditionKey: ...


@total_ordering
@dataclass(frozen=True, slots=True)
class Quarter:
    """A quarter of a calendar year, written `2023Q2`: the living kind of edition (`hellofresh.core.editions`)."""

    is_living: ClassVar[bool] = True
    has_public_labels: ClassVar[bool] = False

    year: int
    number: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `2023Q2`.

        Raises:
            UsageError: if the text has another form.
        """
        match = _QUARTER.fullmatch(text)
        if match is None:
            raise UsageError(
                f"not a quarter: {text!r}",
                expected="a year and a quarter such as 2023Q2",
                code="bad-quarter",
            )
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def containing(cls, moment: datetime) -> Self:
        """The quarter that contains the moment."""
        moment = moment.astimezone(UTC)
        return cls(moment.year, (moment.month - 1) // 3 + 1)

    @property
    def start(self) -> datetime:
        """The first instant of the quarter."""
        return datetime(self.year, 3 * self.number - 2, 1, tzinfo=UTC)

    @property
    def end(self) -> datetime:
        """The first instant after the quarter."""
        return self.next().start

    @property
    def title(self) -> str:
        """As pages name it."""
        return str(self)

    @property
    def sort_key(self) -> EditionKey:
        """By time, before all data sets."""
        return 0, str(self), ()

    def next(self) -> Self:
        """The quarter after this one."""
        return type(self)(self.year + self.number // 4, self.number % 4 + 1)

    def previous(self) -> Self:
        """The quarter before this one."""
        return type(self)(self.year - (self.number == 1), (self.number - 2) % 4 + 1)

    def __contains__(self, moment: datetime) -> bool:
        return self.start <= moment < self.end

    def periods(self, kind: PeriodKind) -> list[str]:
        """All periods that touch the quarter, in order of time."""
        days = (self.start + timedelta(days=number) for number in range((self.end - self.start).days))
        return list(dict.fromkeys(map(kind.of, days)))

    def __str__(self) -> str:
        return f"{self.year:04d}Q{self.number}"

    def __lt__(self, other: SortedEdition) -> bool:
        return self.sort_key < other.sort_key


def utc_text(moment: datetime | date) -> str:
    """ISO 8601 in UTC to the second, such as `2023-04-01T12:00:00Z`."""
    if not isinstance(moment, datetime):
        return moment.isoformat()
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_utc(text: str) -> datetime:
    """Read an ISO 8601 time that names its zone.

    Raises:
        ValueError: if the text is not such a time or has no zone.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"no time zone in {text!r}")
    return moment.astimezone(UTC)


def snowflake_time(post_id: int) -> datetime:
    """The time in the id of a post or note of X, UTC, to the millisecond.

    >>> snowflake_time(1790000000000000000).date().isoformat()
    '2024-05-13'

    Raises:
        ValueError: for ids from before November 2010, which contain no time.
    """
    if post_id < FIRST_SNOWFLAKE:
        raise ValueError(f"{post_id} contains no time")
    return _SNOWFLAKES_FROM + timedelta(milliseconds=post_id >> 22)


def first_snowflake(moment: datetime) -> int:
    """The smallest id of X for a moment, to the millisecond."""
    return (moment - _SNOWFLAKES_FROM) // timedelta(milliseconds=1) << 22
