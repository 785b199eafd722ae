"""How often a request is sent again, and after how long; how long a server asks to wait (RFC 9110, section 10.2.3).

And how many requests may be sent in a time.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Self, TypeVar

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses of replies that may well be others when the same request is sent again."""

_SECONDS = re.compile(r"[0-9]{1,4000}(?:\.[0-9]{1,12})?")
_LONGEST_S = 1e9
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class TryAgain:
    """What an attempt came to that is worth another one: why, and how long to wait if the server said so."""

    why: str
    wait_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a request is sent again, and after how long.

    Attributes:
        attempts: most times that a request is sent.
        first_s, most_s: wait before the second attempt, doubled before each further one, up to the most.
        retry_after_s: longest wait that a server may ask for.
        timeout_s: for one attempt.
        deadline_s: for all attempts with the waits between them.
    """

    attempts: int = 6
    first_s: float = 1.0
    most_s: float = 60.0
    retry_after_s: float = 600.0
    timeout_s: float = 60.0
    deadline_s: float = math.inf

    def step_s(self, attempt: int) -> float:
        """Seconds to wait after so many attempts, where the server does not say."""
        return min(self.most_s, self.first_s * 2.0 ** (attempt - 1))

    def wait_s(self, attempt: int, seed: str) -> float:
        """The same, spread so that many requests do not come back at once: between half and all of the step."""
        return self.step_s(attempt) * (0.5 + random.Random(f"{seed} {attempt}").random() / 2)  # noqa: S311 - no secret

    def next_wait_s(self, attempt: int, asked_s: float | None = None, *, left_s: float = math.inf) -> float | None:
        """Seconds to wait after so many attempts, None where there is to be no further one.

        Args:
            attempt: how many there were.
            asked_s: what the server asked for, None where it did not.
            left_s: what is left of `deadline_s`.
        """
        wait_s = self.step_s(attempt) if asked_s is None else asked_s
        if attempt >= self.attempts or wait_s > left_s or (asked_s is not None and asked_s > self.retry_after_s):
            return None
        return wait_s

    async def persist(self, ask: Callable[[], Awaitable[_T | TryAgain]]) -> _T | TryAgain:
        """Ask until something else than a reason to try again comes, or no further attempt is due; gives the last."""
        now = asyncio.get_running_loop().time
        attempt, deadline = 1, now() + self.deadline_s
        while isinstance(outcome := await ask(), TryAgain):
            wait_s = self.next_wait_s(attempt, outcome.wait_s, left_s=deadline - now())
            if wait_s is None:
                break
            await asyncio.sleep(wait_s)
            attempt += 1
        return outcome


def retry_after_s(value: str | None, date: str | None = None) -> float | None:
    """Seconds to wait, 0 where the time is over; None where the header is missing or says neither seconds nor a date.

    More than thirty years count as thirty.

    Args:
        value: the header, None if absent.
        date: the reply's own header `Date`, from which a date counts; without it, this machine's clock is taken.
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), _LONGEST_S)
    until = _http_date(text)
    if until is None:
        return None
    return max(0.0, (until - (_http_date(date or "") or datetime.now(UTC))).total_seconds())


def _http_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    # A date that names no zone is meant as UTC, like all dates of HTTP.
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(slots=True)
class RateLimit:
    """A token bucket; it keeps no clock, so that whoever waits may wait in any way.

    Attributes:
        per_s: tokens that come in a second.
        burst: most tokens that the bucket holds.
        level: tokens in it, below 0 where tokens of the future were taken.
    """

    per_s: float
    burst: float = 1.0
    level: float = field(init=False)
    _filled: float = field(init=False, default=-math.inf)
    _not_before: float = field(init=False, default=-math.inf)

    def __post_init__(self) -> None:
        self.level = self.burst

    @classmethod
    def per_minute(cls, limit: float, burst: float) -> Self:
        """A bucket of which a burst and the refill of a minute stay together within the limit, in any minute."""
        return cls(max(limit - burst + 1, 1.0) / 60, burst)

    def delay_s(self, now: float, amount: float = 1.0) -> float:
        """Seconds until so much may be taken; what is larger than the bucket waits for a full one."""
        self.level = min(self.burst, self.level + (now - self._filled) * self.per_s)
        self._filled = now
        return max(0.0, (min(amount, self.burst) - self.level) / self.per_s, self._not_before - now)

    def take(self, now: float, amount: float = 1.0) -> float:
        """Take so much, which may be of the future; returns the seconds to wait for it."""
        delay_s = self.delay_s(now, amount)
        self.level -= amount
        return delay_s

    def held_s(self, now: float) -> float:
        """Seconds until a hold is over."""
        return max(0.0, self._not_before - now)

    def hold(self, now: float, seconds: float) -> None:
        """Let nothing through for so long."""
        self._not_before = max(self._not_before, now + seconds)
