"""Waits grow and stay within limits; Retry-After is seconds, a date or nothing; no minute has too many requests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.net.retry import RateLimit, RetryPolicy, retry_after_s

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


def test_a_date_counts_from_the_replys_own_clock_and_never_backwards() -> None:
    assert retry_after_s("Sat, 21 Nov 2026 12:01:30 GMT", NOW) == 90
    assert retry_after_s("Sat, 21 Nov 2026 12:01:30", NOW) == 90
    assert retry_after_s("Sat, 21 Nov 2026 11:00:00 GMT", NOW) == 0


def test_without_the_replys_clock_this_machines_is_taken() -> None:
    later = datetime.now(UTC) + timedelta(seconds=60)
    found = retry_after_s(format_datetime(later, usegmt=True))
    assert found is not None and 50 < found <= 60


def test_a_wait_longer_than_a_life_is_cut_and_not_ignored() -> None:
    assert retry_after_s("9" * 400) == 1e9


@given(st.integers(1, 600), st.integers(1, 30), st.lists(st.floats(0, 20), max_size=300))
def test_no_minute_has_more_requests_than_allowed(per_minute: int, burst: int, pauses: list[float]) -> None:
    now, moments = 0.0, []
    limit = RateLimit.per_minute(per_minute, min(burst, per_minute))
    for pause in [0.0] * 150 + pauses:
        now += pause
        now += limit.take(now)
        moments.append(now)
    for first, last in zip(moments, moments[per_minute:], strict=False):
        assert last - first > 60 - 1e-6


def test_the_limit_is_nearly_used_up() -> None:
    now, limit = 0.0, RateLimit.per_minute(200, 10)
    for _ in range(2000):
        now += limit.take(now)
    assert now < 2000 / 200 * 60 * 1.1


@given(st.floats(0, 1e6), st.floats(0.001, 1000), st.floats(0, 2000))
def test_nothing_passes_during_a_hold_and_a_shorter_hold_shortens_none(now: float, held: float, later: float) -> None:
    limit = RateLimit(1000.0)
    limit.hold(now, held)
    limit.hold(now, held / 2)
    assert limit.held_s(now) == limit.delay_s(now) == (now + held) - now
    assert limit.delay_s(now + held + later) == 0


@given(st.integers(2, 100), st.floats(0.1, 100))
def test_taking_ahead_and_waiting_for_it_is_the_same_as_waiting_and_then_taking(number: int, per_s: float) -> None:
    ahead, patient, now = RateLimit(per_s), RateLimit(per_s), 0.0
    waits = [ahead.take(0.0) for _ in range(number)]
    for wait_s in waits:
        now += patient.delay_s(now)
        patient.take(now)
        assert abs(now - wait_s) < 1e-6 * max(1.0, now)
