"""Retry-After is read as seconds or as a date, and as nothing where it is neither."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from hellofresh.core.net.retry import retry_after_s

NOW = "Sat, 21 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(("value", "seconds"), [("0", 0.0), (" 30 ", 30.0), ("1.5", 1.5)])
def test_seconds_are_taken_as_they_are(value: str, seconds: float) -> None:
    assert retry_after_s(value) == seconds


def test_a_date_counts_from_the_replys_own_clock_and_never_backwards() -> None:
    assert retry_after_s("Sat, 21 Nov 2026 12:01:30 GMT", NOW) == 90
    assert retry_after_s("Sat, 21 Nov 2026 12:01:30", NOW) == 90
    assert retry_after_s("Sat, 21 Nov 2026 11:00:00 GMT", NOW) == 0


def test_without_the_replys_clock_this_machines_is_taken() -> None:
    later = datetime.now(UTC) + timedelta(seconds=60)
    found = retry_after_s(format_datetime(later, usegmt=True))
    assert found is not None and 50 < found <= 60


@pytest.mark.parametrize("value", [None, "", "soon", "-5", "1_0", "nan", "inf", "1e3", "9" * 5000, "\u0663", "32 Nov"])
def test_what_is_neither_is_nothing(value: str | None) -> None:
    assert retry_after_s(value) is None


def test_a_wait_longer_than_a_life_is_cut_and_not_ignored() -> None:
    assert retry_after_s("9" * 400) == 1e9
