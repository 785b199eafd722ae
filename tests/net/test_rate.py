"""No minute has more requests than the limit, and the limit is nearly used up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.net.retry import RateLimit


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
