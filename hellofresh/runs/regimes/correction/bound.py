"""Up to when a page may be from."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from hellofresh.core.errors import RunError
from hellofresh.evidence.web import WebPage, end_of
from hellofresh.runs.regimes._base import Case
from hellofresh.runs.regimes.correction.settings import CorrectionSettings

__all__ = ["bound_of", "lateness"]

_NOTES = {"note-high": ("note_high", "high_note_at"), "note-average": ("note_average", "second_note_at")}
"""The field of a sample with the time of each note, and the fact of its label."""


def bound_of(case: Case, settings: CorrectionSettings) -> datetime:
    """The last moment that a page may be from.

    Raises:
        RunError: if it hangs on a note whose time is not known: the time of the helpful note tells which one that is,
            so that nobody has it before labels are public.
    """
    sample = case.sample
    if settings.bound == "post":
        return sample.date
    field, fact = _NOTES[settings.bound]
    written = getattr(sample, field, None) or _moment(case.facts.get(fact))
    if not isinstance(written, datetime):
        raise RunError(
            f"the sample has no time of a note for bound={settings.bound}",
            where=sample.id,
            fix="Leave out --set bound, or choose an edition whose labels are public.",
            code="no-note-time",
        )
    return written - timedelta(minutes=settings.note_minutes)


def _moment(fact: object) -> datetime | None:
    """A time in a fact; None where there is none."""
    return end_of(fact) if isinstance(fact, str) and len(fact) > len("2023-04-01") else None


def lateness(page: WebPage, found: str | None, bound: datetime) -> str:
    """Why a page's date forbids its use: `after` or `undated`; empty if it does not.

    A page is of the latest date that it names; a day counts as its last moment. A day that the search gave only counts
    against a page: one that is later than the bound shows that the page's own date is wrong.

    Args:
        page: the page.
        found: the day (ISO) that the search gave, None where it gave none.
        bound: the last moment that is allowed.
    """
    if found and _day(found) > bound.date():
        return "after"
    end = end_of(page.date)
    if end is None:
        return "undated"
    return "" if end <= bound else "after"


def _day(text: str) -> date:
    """The day of a result, the first of all where it is none."""
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return date.min
