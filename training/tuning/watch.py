"""Watching a tuning: a reward that rises while a judge that nothing is trained on falls is being exploited.

The reward models stand for what people would say, and a policy that is tuned by them finds where they do not. Both
trends are least-squares lines over the steps, with 95% intervals by the t distribution; a tuning is flagged where the
reward's lies above zero and the judge's below. Steps follow from one another, so the intervals are somewhat too short:
the flag is a reason to read responses, not a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hellofresh.stats._tails import t_quantile
from training.tuning.curves import LogRow, known_values

_LEAST = 5


@dataclass(frozen=True, slots=True)
class Trend:
    """A line through values over steps.

    Attributes:
        change: from the first step to the last, along the line.
        low, high: 95% interval of the change.
        first, last: means of the first and the last fifth of the values.
    """

    change: float
    low: float
    high: float
    first: float
    last: float

    @property
    def rises(self) -> bool:
        """Whether the whole interval is above zero."""
        return self.low > 0

    @property
    def falls(self) -> bool:
        """Whether the whole interval is below zero."""
        return self.high < 0


def trend_of(rows: Sequence[LogRow], name: str) -> Trend | None:
    """The trend of a column of the log; None where it has fewer than five values."""
    values = known_values(rows, name)
    if len(values) < _LEAST:
        return None
    x, y = np.array(values, dtype=np.float64).T
    x = (x - x.mean()) / max(float(x.max() - x.min()), 1.0)
    spread = float(x @ x)
    slope = float(x @ y) / spread
    residuals = y - y.mean() - slope * x
    freedom = len(y) - 2
    quantile = t_quantile(0.975, freedom)
    half = quantile * float(np.sqrt(residuals @ residuals / freedom / spread))
    fifth = max(1, len(y) // 5)
    return Trend(slope, slope - half, slope + half, float(y[:fifth].mean()), float(y[-fifth:].mean()))


def is_over_optimised(rows: Sequence[LogRow]) -> bool:
    """Whether the reward rises while the untrained judge falls."""
    reward, judge = trend_of(rows, "reward"), trend_of(rows, "judge")
    return reward is not None and judge is not None and reward.rises and judge.falls
