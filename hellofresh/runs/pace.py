"""Rate control of requests to a model: its limits, and common waiting after a rate-limit error.

All waiting uses the event loop's clock, which is independent of the system clock.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from hellofresh.core.net.retry import RateLimit, RetryPolicy
from hellofresh.models import Limits, Request

_CHARACTERS_A_TOKEN = 4  # of English, with usual tokenizers
_TOKENS_A_MESSAGE = 4  # its role and the marks around it
_REGAIN = 0.1  # slower than the window shrinks, so that a limit is not hit again at once
_SHORTEST_S = 0.001  # a timer of 0 s would run again and again where the clock is coarse
_ENOUGH = 8  # fewest recent answers and refusals by which the pace is judged


class PaceClosed(Exception):  # noqa: N818 - says how things stand, nothing is wrong
    """Raised when no more questions may be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience(RetryPolicy):
    """Limits of retries in a run.

    Attributes:
        alike: number of identical errors after which a question is given up.
        drain_s: seconds to wait for answers in flight when a run is stopped.
        deadline_s: limit for all attempts at one question, without the waits between them; the first attempt may
            always take its provider's `timeout_s`.
        unreachable: number of consecutive questions given up without any reply that ends the run.
    """

    deadline_s: float = 180.0
    alike: int = 3
    drain_s: float = 10.0
    unreachable: int = 10


@dataclass(frozen=True, slots=True)
class TokenEstimate:
    """Tokens that a question and its answer may take."""

    tokens_in: int
    tokens_out: int

    @property
    def total(self) -> int:
        return self.tokens_in + self.tokens_out


def estimate_tokens(request: Request) -> TokenEstimate:
    """A rough estimate without pictures: four characters per token, and an answer of maximal length."""
    characters = sum(len(part) for message in request.messages for part in message.parts)
    tokens_in = characters // _CHARACTERS_A_TOKEN + 1 + _TOKENS_A_MESSAGE * len(request.messages)
    return TokenEstimate(tokens_in, request.max_tokens)


def _per_minute(limit: int | None) -> RateLimit | None:
    """A rate limit with a burst of one second; None for no limit."""
    return RateLimit.per_minute(limit, max(1.0, limit / 60)) if limit else None


@dataclass(slots=True)
class Pace:
    """Admits questions within the limits, lowest order first.

    One that the server refuses for now waits alone. If refusals pile up, all wait, and then concurrency is halved and
    slowly increased again.
    """

    limits: Limits
    patience: Patience
    _waiting: list[tuple[int, int, int, asyncio.Future[int]]] = field(default_factory=list)
    _sleeping: set[asyncio.Future[None]] = field(default_factory=set)
    _window: float = field(init=False)
    _under_way: int = 0
    _number: int = 0
    _round: int = 0
    _in_a_row: int = 0
    _not_before: float = 0.0
    _timer: asyncio.TimerHandle | None = None
    _closed: bool = False
    _recent: deque[bool] = field(init=False)
    _requests: RateLimit | None = field(init=False)
    _tokens: RateLimit | None = field(init=False)

    def __post_init__(self) -> None:
        limits = self.limits
        self._window = float(limits.in_flight)
        self._recent = deque(maxlen=max(_ENOUGH, 2 * limits.in_flight))
        self._requests = _per_minute(limits.requests_per_minute)
        self._tokens = _per_minute(limits.tokens_per_minute)

    async def enter(self, order: int, tokens: int) -> int:
        """Wait for admission; returns the round number for `slow_down`.

        Raises:
            PaceClosed: if no more questions may be asked.
        """
        if self._closed:
            raise PaceClosed
        if not self._waiting and self._delay_s(tokens) == 0 and self._under_way < int(self._window):
            return self._take(tokens)
        turn: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._number += 1
        heapq.heappush(self._waiting, (order, self._number, tokens, turn))
        self._pump()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.leave(answered=False)
            raise

    def leave(self, *, answered: bool, more_tokens: int = 0) -> None:
        """Release a place; `more_tokens` is the usage minus the estimate."""
        self._under_way -= 1
        if answered:
            self._recent.append(False)
            self._in_a_row = 0
            self._window = min(self._window + _REGAIN, self.limits.in_flight)
        if self._tokens is not None:
            self._tokens.level -= more_tokens
        if self._waiting:
            # Lets the task that has just left ask its next question before others.
            asyncio.get_running_loop().call_soon(self._pump)

    def refused(self, number: int, wait_s: float | None) -> None:
        """React to a rate-limit error of one question: all slow down if half of the recent ones were refused."""
        self._recent.append(True)
        if number == self._round and (len(self._recent) >= _ENOUGH and 2 * sum(self._recent) >= len(self._recent)):
            self.slow_down(number, wait_s)
            self._recent.clear()

    def slow_down(self, number: int, wait_s: float | None) -> None:
        """React to a rate-limit error: all wait for the provider's time, or longer each time in a row."""
        now = asyncio.get_running_loop().time()
        if number == self._round:  # errors of other questions in the same round are the same event
            self._round += 1
            self._in_a_row += 1
            self._window = max(1.0, self._window / 2)
            if wait_s is None:
                self._not_before = max(self._not_before, now + self.patience.wait_s(self._in_a_row, "all"))
        if wait_s is not None:
            self._not_before = max(self._not_before, now + min(wait_s, self.patience.retry_after_s))

    async def sleep(self, seconds: float) -> None:
        """Sleep until the time is over or the pace is closed."""
        if self._closed:
            raise PaceClosed
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()
        self._sleeping.add(over)
        timer = loop.call_later(seconds, lambda: None if over.done() else over.set_result(None))
        try:
            await over
        finally:
            timer.cancel()
            self._sleeping.discard(over)

    def close(self) -> None:
        """Admit no more questions: callers of `enter` get `PaceClosed`. Questions in flight continue."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        turns: list[asyncio.Future[Any]] = [item[3] for item in self._waiting]
        for waiting in (*turns, *self._sleeping):
            if not waiting.done():
                waiting.set_exception(PaceClosed())
        self._waiting.clear()

    def _pump(self) -> None:
        while self._waiting and self._under_way < int(self._window):
            _, _, tokens, turn = self._waiting[0]
            delay_s = 0.0 if turn.done() else self._delay_s(tokens)
            if delay_s > 0:
                if self._timer is not None:
                    self._timer.cancel()
                self._timer = asyncio.get_running_loop().call_later(max(delay_s, _SHORTEST_S), self._pump)
                return
            heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(self._take(tokens))

    def _delay_s(self, tokens: int) -> float:
        if self._requests is None and self._tokens is None and not self._not_before:
            return 0.0
        now = asyncio.get_running_loop().time()
        delay_s = max(0.0, self._not_before - now)
        if self._requests is not None:
            delay_s = max(delay_s, self._requests.delay_s(now))
        if self._tokens is not None:
            delay_s = max(delay_s, self._tokens.delay_s(now, tokens))
        return delay_s

    def _take(self, tokens: int) -> int:
        self._under_way += 1
        if self._requests is not None:
            self._requests.level -= 1
        if self._tokens is not None:
            self._tokens.level -= tokens
        return self._round
