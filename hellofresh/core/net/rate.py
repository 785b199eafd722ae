"""How many requests may be sent in a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Self

__all__ = ["RateLimit"]


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
