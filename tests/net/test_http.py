"""Requests to services: keys go to their own service alone, answers are bounded, and waits stay within limits."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.errors import ConfigError
from hellofresh.core.net import may_carry_key
from hellofresh.core.net.http import HttpClient, HttpReply, LongReplyError, UnusableReplyError
from hellofresh.core.net.retry import RateLimit, RetryPolicy, retry_after_s

KEY = "sk-secret-0123456789"


def sent(chat: Any, **how: Any) -> HttpReply:
    async def run() -> HttpReply:
        client = HttpClient("a service", {"Authorization": f"Bearer {KEY}"}, timeout_s=10, key=KEY)
        try:
            return await client.send("POST", f"{chat.base_url}/x", b"{}", **how)
        finally:
            await client.close()

    return asyncio.run(run())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_reply_and_nobody_else_gets_the_key(chat: Any, loopback: Any, status: int) -> None:
    other = loopback.Chat()
    chat.behave = lambda *_: loopback.Reply(b"", status, {"Location": f"{other.base_url}/y"})
    assert sent(chat).status == status
    assert (len(chat.bodies), other.connections) == (1, 0)
    other.close()


def test_nothing_packed_is_asked_for_and_nothing_packed_is_taken(chat: Any, loopback: Any) -> None:
    chat.behave = lambda *_: loopback.Reply(b"\x1f\x8b", 200, {"Content-Encoding": "gzip"})
    with pytest.raises(UnusableReplyError, match="compressed"):
        sent(chat)
    assert chat.headers[0]["accept-encoding"] == "identity"


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 100_000])
def test_a_body_is_taken_up_to_the_limit_and_not_a_byte_beyond(chat: Any, loopback: Any, size: int) -> None:
    chat.behave = lambda *_: loopback.Reply(b"x" * size)
    if size <= 1000:
        assert sent(chat, most_bytes=1000).body == b"x" * size
    else:
        with pytest.raises(LongReplyError, match="1,000"):
            sent(chat, most_bytes=1000)


def test_a_key_that_comes_back_is_taken_out(chat: Any, loopback: Any) -> None:
    chat.behave = lambda *_: loopback.Reply(f"you sent {KEY}, {KEY}".encode(), 401)
    assert sent(chat).body == b"you sent [key], [key]"


def test_the_wait_that_a_service_asks_for_comes_with_the_reply(chat: Any, loopback: Any) -> None:
    chat.behave = lambda *_: loopback.Reply(b"", 429, {"Retry-After": "7"})
    assert sent(chat).wait_s == 7
    chat.behave = lambda *_: loopback.Reply(b"", 429)
    assert sent(chat).wait_s is None


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "\x00", "\x7f"])
def test_a_header_with_a_control_character_is_refused_before_anything_is_sent(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HttpClient("a service", {"Authorization": value}, timeout_s=1)
    assert caught.value.code == "bad-header" and value not in str(caught.value)


SAFE = (
    "https://api.example/v1",
    "HTTPS://API.example",
    "http://127.0.0.1:8000/v1",
    "http://localhost",
    "http://[::1]:9/",
)
OPEN = (
    "http://api.example/v1", "ftp://api.example", "", "http://", "http://127.0.0.1.example", "http://localhost.example",
    "http://localhost@api.example", "http://api.example/https://", "http://api.example#@localhost", "http://127.0.0.2",
    "http://0.0.0.0", "http://[::ffff:127.0.0.1]",
)  # fmt: skip


@pytest.mark.parametrize("url", [*SAFE, *OPEN])
def test_a_key_may_go_exactly_where_nobody_on_the_way_reads_it(url: str) -> None:
    assert may_carry_key(url) == (url in SAFE)


# --- Waits grow and stay within limits; Retry-After is seconds, a date or nothing; no minute has too many requests.


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
