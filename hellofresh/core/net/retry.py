"""How often and when a request is sent again; how long a server asks to wait (RFC 9110, section 10.2.3).

Also limits how many requests are sent per time.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Self, TypeVar

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses of replies that are worth a retry."""

_SECONDS = re.compile(r"[0-9]{1,4000}(?:\.[0-9]{1,12})?")
_LONGEST_S, _YEARS_S = 1e9, 5e8  # servers send numbers of seconds that no date can hold
_T = TypeVar("_T")
_PART_OF_TIME = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(ms|mill|h|m|s|)", re.IGNORECASE)
_UNITS = {"ms": 0.001, "mill": 0.001, "h": 3600.0, "m": 60.0, "s": 1.0, "": 1.0}


@dataclass(frozen=True, slots=True)
class TryAgain:
    """A failed attempt worth a retry: the reason, and the wait if the server gave one."""

    why: str
    wait_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and when a request is sent again.

    Attributes:
        attempts: maximum times to send a request.
        first_s, most_s: wait before the second attempt, doubled before each further one, and its maximum.
        retry_after_s: longest wait that a server may ask for.
        timeout_s: for one attempt.
        deadline_s: for all attempts and waits together.
    """

    attempts: int = 6
    first_s: float = 1.0
    most_s: float = 60.0
    retry_after_s: float = 600.0
    timeout_s: float = 60.0
    deadline_s: float = math.inf

    def step_s(self, attempt: int) -> float:
        """Seconds to wait after attempt number `attempt` if the server gives none."""
        return min(self.most_s, self.first_s * 2.0 ** (attempt - 1))

    def wait_s(self, attempt: int, seed: str) -> float:
        """The wait with jitter, from half the step to all of it, so that many requests do not return at once."""
        return self.step_s(attempt) * (0.5 + random.Random(f"{seed} {attempt}").random() / 2)  # noqa: S311 - not secret

    def next_wait_s(self, attempt: int, asked_s: float | None = None, *, left_s: float = math.inf) -> float | None:
        """Seconds to wait after attempt number `attempt`, or None to stop.

        Args:
            attempt: number of attempts so far.
            asked_s: the wait that the server asked for, or None.
            left_s: remaining seconds of `deadline_s`.
        """
        wait_s = self.step_s(attempt) if asked_s is None else asked_s
        if attempt >= self.attempts or wait_s > left_s or (asked_s is not None and asked_s > self.retry_after_s):
            return None
        return wait_s

    async def persist(self, ask: Callable[[], Awaitable[_T | TryAgain]]) -> _T | TryAgain:
        """Call `ask` until it succeeds or the attempts are used up; returns its last result."""
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
    """Seconds to wait, 0 if the time is over; None if the header is missing or neither seconds nor a date.

    More than thirty years count as thirty.

    Args:
        value: the header, None if absent.
        date: the reply's header `Date`, from which a date counts; without it, this machine's clock counts.
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), _LONGEST_S)
    until = _http_date(text)
    if until is None:
        return None
    return max(0.0, (until - (_http_date(date or "") or datetime.now(UTC))).total_seconds())


def duration_s(text: str) -> float | None:
    """Seconds of a duration such as `1m3s`, `250ms`, `34.5s` or `3 seconds`; None without a number."""
    parts = _PART_OF_TIME.findall(text)
    return sum(float(number) * _UNITS[unit.lower()] for number, unit in parts) if parts else None


def asked_wait_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that a reply's headers ask to wait, None if they do not.

    Beside `Retry-After`: `retry-after-ms`, and the times at which limits are full again (`x-ratelimit-reset-requests`,
    `anthropic-ratelimit-tokens-reset` and the like) of those limits of which nothing remains.
    """
    if _SECONDS.fullmatch(milliseconds := headers.get("retry-after-ms", "").strip()):
        return min(float(milliseconds) / 1000, _LONGEST_S)
    asked = retry_after_s(headers.get("Retry-After"), headers.get("Date"))
    if asked is not None:
        return asked
    now = _http_date(headers.get("Date", "")) or datetime.now(UTC)
    waits = []
    for name, value in headers.items():
        lower = name.lower()
        if "ratelimit" in lower and "reset" in lower:
            remaining = headers.get(lower.replace("reset", "remaining"), "0").strip()
            waits += [_until_s(value.strip(), now)] if remaining == "0" else []
    return max((wait for wait in waits if wait is not None), default=None)


def _until_s(text: str, now: datetime) -> float | None:
    """Seconds of a duration, or until a time in RFC 3339 or in (milli)seconds since 1970."""
    number = float(text) if _SECONDS.fullmatch(text) else 0.0
    if number > _YEARS_S:
        moment: datetime | None = datetime.fromtimestamp(
            min(number / (1000 if number > 1000 * _YEARS_S else 1), 4e9), UTC
        )
    else:
        try:
            moment = datetime.fromisoformat(text) if not number and "T" in text else None
        except ValueError:
            moment = None
    if moment is None:
        return duration_s(text)
    return max(0.0, ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds())


def _http_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    # A date without a zone is in UTC, like all dates of HTTP.
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(slots=True)
class RateLimit:
    """A token bucket without a clock of its own: callers pass the time and do the waiting.

    Attributes:
        per_s: tokens added per second.
        burst: maximum tokens in the bucket.
        level: tokens in it, below 0 if future tokens were taken.
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
        """A bucket whose burst plus one minute's refill stay within the limit per minute."""
        return cls(max(limit - burst + 1, 1.0) / 60, burst)

    def delay_s(self, now: float, amount: float = 1.0) -> float:
        """Seconds until `amount` may be taken; an amount larger than the bucket waits for a full one."""
        self.level = min(self.burst, self.level + (now - self._filled) * self.per_s)
        self._filled = now
        return max(0.0, (min(amount, self.burst) - self.level) / self.per_s, self._not_before - now)

    def take(self, now: float, amount: float = 1.0) -> float:
        """Take `amount`, if need be from the future; returns the seconds to wait for it."""
        delay_s = self.delay_s(now, amount)
        self.level -= amount
        return delay_s

    def held_s(self, now: float) -> float:
        """Seconds until a hold is over."""
        return max(0.0, self._not_before - now)

    def hold(self, now: float, seconds: float) -> None:
        """Let nothing through for `seconds`."""
        self._not_before = max(self._not_before, now + seconds)
