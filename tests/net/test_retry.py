"""Waits grow and stay within their limits; Retry-After is read as seconds or as a date, else as nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.net.retry import RetryPolicy, retry_after_s

NOW = "Sat, 21 Nov 2026 12:00:00 GMT"
POLICIES = st.builds(
    RetryPolicy,
    attempts=st.integers(1, 20),
    first_s=st.floats(0.01, 10),
    most_s=st.floats(10, 600),
    retry_after_s=st.floats(0, 1000),
)


@given(POLICIES, st.text())
def test_waits_never_shrink_and_are_spread_below_their_step(policy: RetryPolicy, seed: str) -> None:
    steps = [policy.step_s(attempt) for attempt in range(1, 30)]
    assert steps == sorted(steps) and steps[0] == policy.first_s and steps[-1] <= policy.most_s
    for attempt, step in enumerate(steps, start=1):
        assert step / 2 <= policy.wait_s(attempt, seed) <= step
        assert policy.wait_s(attempt, seed) == policy.wait_s(attempt, seed)


@given(POLICIES, st.integers(1, 30), st.none() | st.floats(0, 2000), st.floats(0, 2000))
def test_there_is_a_further_attempt_exactly_within_all_limits(
    policy: RetryPolicy, attempt: int, asked_s: float | None, left_s: float
) -> None:
    wait_s = policy.next_wait_s(attempt, asked_s, left_s=left_s)
    wanted = policy.step_s(attempt) if asked_s is None else asked_s
    allowed = attempt < policy.attempts and wanted <= left_s and (asked_s is None or asked_s <= policy.retry_after_s)
    assert wait_s == (wanted if allowed else None)


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
