"""The mean of a metric over repetitions of a run, and how far it may be off: by Student's t over repetitions.

This interval says how much a run would differ if it were repeated on the same samples. It says nothing of other
samples; the intervals of `hellofresh.stats.intervals` do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats._tails import t_quantile

__all__ = ["RepetitionInterval", "repetition_interval"]


@dataclass(frozen=True, slots=True)
class RepetitionInterval:
    """A mean over repetitions.

    Attributes:
        mean: the mean.
        low, high: limits of its interval; None with fewer than two repetitions, which say nothing of how they differ.
        repetitions: how many there were.
    """

    mean: float
    low: float | None
    high: float | None
    repetitions: int


def repetition_interval(
    values: NDArray[np.float64], *, limits: tuple[float, float] = (0.0, 1.0), level: float = 0.95
) -> RepetitionInterval:
    """The mean of repetitions with its interval: mean +- t * s / sqrt(n), n - 1 degrees of freedom.

    Args:
        values: shape (n,), the metric in each repetition.
        limits: the lowest and the highest value that the metric can have.
        level: nominal coverage.

    Raises:
        ValueError: if there is no value.
    """
    n = values.size
    if n == 0:
        raise ValueError("there must be a value")
    mean = float(values.mean())
    if n == 1:
        return RepetitionInterval(mean, None, None, 1)
    half = t_quantile((1 + level) / 2, n - 1) * float(values.std(ddof=1)) / n**0.5
    low, high = max(limits[0], mean - half), min(limits[1], mean + half)
    return RepetitionInterval(mean, low, high, n)
