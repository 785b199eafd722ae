"""The current time for quarters, deadlines and receipts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import parse_utc, utc_text

VARIABLE = "HELLOFRESH_NOW"
"""Environment variable that fixes the clock, to rehearse a quarter's day."""


def now() -> datetime:
    """The current time in UTC, or the time in HELLOFRESH_NOW.

    Raises:
        UsageError: if HELLOFRESH_NOW is not an ISO 8601 time with a zone.
    """
    text = os.environ.get(VARIABLE)
    if not text:
        return datetime.now(UTC)
    try:
        return parse_utc(text)
    except ValueError:
        raise UsageError(
            f"not a time: {text[:80]!r}",
            where=VARIABLE,
            expected="a time with its zone, such as 2027-01-15T12:00:00Z",
            code="bad-time",
        ) from None


@dataclass(frozen=True, slots=True)
class Event:
    """A recorded event with its time; `what` is a phrase such as `the receipt of acme/one`."""

    at: datetime
    what: str
    where: str


def check_clock(moment: datetime, events: Iterable[Event]) -> None:
    """Refuse a clock that is behind recorded events, since closed quarters would open again.

    Raises:
        UsageError: naming the clock's time and that of the newest event.
    """
    newest = max(events, key=lambda event: event.at, default=None)
    if newest is not None and moment < newest.at:
        raise UsageError(
            f"the clock says {utc_text(moment)}, and {newest.what} is of {utc_text(newest.at)}",
            where=newest.where,
            expected="a clock that is not behind the newest event on record",
            fix=f"Set the clock right, or {VARIABLE}; to rehearse an earlier day, use another workspace.",
            code="clock-behind",
        )
