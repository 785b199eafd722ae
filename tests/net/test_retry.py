"""Waits grow, stay within their limits, and end with the attempts, the deadline or a wait that is too long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.net.retry import RetryPolicy

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
