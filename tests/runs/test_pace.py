"""Limits are kept in every minute, whoever came first goes first, and all wait together when told to."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.models import Answer, Finish, Limits, ModelSpec, Price
from hellofresh.runs.ledger import Ledger
from hellofresh.runs.pace import Pace, PaceClosed, Patience, TokenEstimate


class Clock(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next thing to do instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 1000.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        scheduled = [timer.when() for timer in self._scheduled if not timer.cancelled()]
        if not self._ready and scheduled:
            self._now = max(self._now, min(scheduled))
        super()._run_once()


def at_once(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*given: Any, **named: Any) -> None:
        with asyncio.Runner(loop_factory=Clock) as runner:
            runner.run(test(*given, **named))

    return run


def sent(limits: Limits, calls: int, tokens: int = 100, latency_s: float = 0.5, more: int = 0) -> list[float]:
    """When so many questions are let through."""
    times: list[float] = []

    @at_once
    async def main() -> None:
        pace = Pace(limits, Patience())
        loop = asyncio.get_running_loop()

        async def ask(order: int) -> None:
            await pace.enter(order, tokens)
            times.append(loop.time())
            await asyncio.sleep(latency_s)
            pace.leave(answered=True, more_tokens=more)

        await asyncio.gather(*(ask(order) for order in range(calls)))

    main()
    return times


def most_in_a_minute(times: list[float]) -> int:
    return max(sum(start <= time < start + 60 - 1e-6 for time in times) for start in times)


@pytest.mark.parametrize("per_minute", [1, 7, 60, 100, 1000])
def test_no_minute_has_more_requests_than_allowed_and_full_minutes_have_nearly_as_many(per_minute: int) -> None:
    times = sent(Limits(1000, requests_per_minute=per_minute), 3 * per_minute)
    assert most_in_a_minute(times) <= per_minute
    assert times[-1] - times[0] <= 1.02 * 3 * 60 + 1


@pytest.mark.parametrize(
    ("per_minute", "tokens", "more"),
    [(1000, 100, 0), (60_000, 1500, 0), (100, 250, 0), (1000, 100, 200), (1000, 300, -200)],
)
def test_each_minute_has_the_tokens_that_questions_took_up_to_the_limit(
    per_minute: int, tokens: int, more: int
) -> None:
    times, taken = sent(Limits(1000, tokens_per_minute=per_minute), 60, tokens, more=more), tokens + more
    assert most_in_a_minute(times) * taken <= per_minute + max(tokens, taken)
    assert times[-1] - times[0] <= 1.1 * 60 * (60 * taken + max(tokens, taken)) / per_minute


@given(st.integers(1, 20), st.integers(1, 60))
def test_at_most_so_many_are_under_way(in_flight: int, calls: int) -> None:
    times = sent(Limits(in_flight), calls, latency_s=1.0)
    assert times == sorted(times)
    assert times[-1] - times[0] == pytest.approx(math.ceil(calls / in_flight) - 1)


@at_once
async def test_whoever_has_the_lowest_order_goes_first() -> None:
    went: list[int] = []
    pace = Pace(Limits(1), Patience())

    async def ask(order: int) -> None:
        await pace.enter(order, 1)
        went.append(order)
        await asyncio.sleep(1)
        pace.leave(answered=True)

    await asyncio.gather(*(ask(order) for order in (5, 3, 9, 1)))
    assert went == [5, 1, 3, 9]


@at_once
async def test_after_a_slow_down_nobody_goes_for_as_long_as_asked_and_then_half_as_many() -> None:
    times: list[float] = []
    pace = Pace(Limits(8), Patience())
    loop = asyncio.get_running_loop()
    rounds = [await pace.enter(order, 1) for order in range(8)]
    for number in rounds:  # all of them are told so, which counts once
        pace.slow_down(number, 30.0)
        pace.leave(answered=False)

    async def ask(order: int) -> None:
        await pace.enter(order, 1)
        times.append(loop.time() - 1000)
        await asyncio.sleep(1)
        pace.leave(answered=False)

    await asyncio.gather(*(ask(order) for order in range(8)))
    assert times == [30.0] * 4 + [31.0] * 4


@at_once
async def test_waits_grow_while_it_goes_on_and_are_bounded() -> None:
    waits: list[float] = []
    pace = Pace(Limits(1), Patience(first_s=1, most_s=20))
    loop = asyncio.get_running_loop()
    for _ in range(8):
        before = loop.time()
        number = await pace.enter(0, 1)
        waits.append(loop.time() - before)
        pace.slow_down(number, None)
        pace.leave(answered=False)
    assert waits[0] == 0
    for n, wait in enumerate(waits[1:]):
        assert min(20, 2**n) / 2 <= wait <= min(20, 2**n)


@at_once
async def test_a_provider_cannot_have_a_run_wait_for_ever() -> None:
    pace = Pace(Limits(1), Patience(retry_after_s=600))
    pace.slow_down(await pace.enter(0, 1), 1e9)
    pace.leave(answered=False)
    before = asyncio.get_running_loop().time()
    await pace.enter(0, 1)
    assert asyncio.get_running_loop().time() - before == 600


@at_once
async def test_who_is_cancelled_while_waiting_takes_no_place() -> None:
    pace = Pace(Limits(1), Patience())
    await pace.enter(0, 1)
    first, second = (asyncio.create_task(pace.enter(order, 1)) for order in (1, 2))
    await asyncio.sleep(0)
    first.cancel()
    pace.leave(answered=True)
    await second
    assert first.cancelled() or first.done()


@at_once
async def test_closing_sends_everybody_away_who_waits_or_comes() -> None:
    pace = Pace(Limits(1), Patience())
    await pace.enter(0, 1)
    waiting = [asyncio.create_task(pace.enter(1, 1)), asyncio.create_task(pace.sleep(1000))]
    await asyncio.sleep(0)
    pace.close()
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(item) for item in found] == [PaceClosed, PaceClosed]
    with pytest.raises(PaceClosed):
        await pace.enter(2, 1)


@given(st.integers(1, 12), st.text(max_size=20))
def test_the_wait_before_another_attempt_is_the_same_each_time_and_within_its_step(attempt: int, seed: str) -> None:
    patience = Patience()
    wait_s = patience.wait_s(attempt, seed)
    step = min(60.0, 2.0 ** (attempt - 1))
    assert wait_s == patience.wait_s(attempt, seed)
    assert step / 2 <= wait_s <= step


PRICED = ModelSpec("m", "language-model", "A model.", {}, price=Price(2.0, 8.0, "2026-01-01", "a list"))


def test_a_cost_is_known_only_if_all_of_it_is() -> None:
    ledger = Ledger(PRICED)
    assert ledger.cost_usd == 0
    ledger.add(Answer("a", Finish.STOP, 1_000_000, 500_000))
    assert (ledger.cost_usd, ledger.at_most_usd) == (6.0, 6.0)
    ledger.reserve(TokenEstimate(500_000, 0))
    assert ledger.at_most_usd == 7.0
    ledger.reserve(TokenEstimate(500_000, 0), -1)
    ledger.add(Answer("a", Finish.STOP), TokenEstimate(1_000_000, 0))
    assert (ledger.cost_usd, ledger.unreported, ledger.at_most_usd) == (None, 1, 8.0)
