"""How long a server asks to wait: the header Retry-After (RFC 9110, section 10.2.3)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"[0-9]{1,4000}(?:\.[0-9]{1,12})?")
_LONGEST_S = 1e9


def retry_after_s(value: str | None, date: str | None = None) -> float | None:
    """Seconds to wait, 0 where the time is over; None where the header is missing or says neither seconds nor a date.

    More than thirty years count as thirty.

    Args:
        value: the header, None if absent.
        date: the reply's own header `Date`, from which a date counts; without it, this machine's clock is taken.
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), _LONGEST_S)
    until = _http_date(text)
    if until is None:
        return None
    return max(0.0, (until - (_http_date(date or "") or datetime.now(UTC))).total_seconds())


def _http_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    # A date that names no zone is meant as UTC, like all dates of HTTP.
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
