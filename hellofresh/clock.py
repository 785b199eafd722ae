"""What time it is, for all that depends on it: the state of a quarter, deadlines and receipts."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from hellofresh.errors import UsageError
from hellofresh.quarters import parse_utc

__all__ = ["VARIABLE", "now"]

VARIABLE = "HELLOFRESH_NOW"
"""Environment variable that stops the clock at a moment, to rehearse a quarter's day."""


def now() -> datetime:
    """The present moment in UTC, or the one that HELLOFRESH_NOW names.

    Raises:
        UsageError: if HELLOFRESH_NOW is no ISO 8601 time with a zone.
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
