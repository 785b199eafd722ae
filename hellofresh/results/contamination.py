"""Whether a system may have seen outcomes while it was trained, by the knowledge cutoff that it states."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from hellofresh.tasks.samples import PROSPECTIVE

__all__ = ["Exposure", "cutoff_end", "exposure"]


class Exposure(StrEnum):
    """Whether outcomes may be in a system's training data."""

    POSSIBLE = "possible"
    UNLIKELY = "unlikely"
    UNKNOWN = "unknown"
    IMPOSSIBLE = "impossible"


def cutoff_end(text: str) -> datetime | None:
    """The first moment after a cutoff given as a day, a month or a year; None where it is none of these."""
    parts = text.split("-")
    try:
        year, *rest = (int(part) for part in parts)
        month = rest[0] if rest else 12
        day = rest[1] if len(rest) > 1 else monthrange(year, month)[1]
        last = date(year, month, day)
        return datetime(last.year, last.month, last.day, tzinfo=UTC) + timedelta(days=1) if len(parts) <= 3 else None
    except (ValueError, OverflowError):
        return None


def exposure(cutoff: str, since: datetime, split: str) -> Exposure:
    """What the cutoff says about a split: knowledge from after `since` may hold its outcomes.

    Of a prospective split nobody could know any outcome; `none` is the cutoff of what knows nothing.
    """
    if split == PROSPECTIVE:
        return Exposure.IMPOSSIBLE
    end = cutoff_end(cutoff)
    if end is None:
        return Exposure.UNLIKELY if cutoff == "none" else Exposure.UNKNOWN
    return Exposure.POSSIBLE if end > since else Exposure.UNLIKELY
