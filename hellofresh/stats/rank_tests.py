"""Tests by ranks, and adjusting several p-values together.

p-values are those of the normal approximation with a correction for ties, as in every statistics program; the exact
distributions know no ties, and ratings are full of them.
Both tests take rows for independent. Where rows belong together (several ratings of one post), their p-values are too
small: give one row a cluster, or use `hellofresh.stats.multiway`.
Sources: Mann and Whitney, Annals of Mathematical Statistics 18 (1947), 50-60; Wilcoxon, Biometrics Bulletin 1 (1945),
80-83; Holm, Scandinavian Journal of Statistics 6 (1979), 65-70.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np
from numpy.typing import NDArray

__all__ = ["RankTest", "average_ranks_of", "holm", "mann_whitney", "wilcoxon"]


@dataclass(frozen=True, slots=True)
class RankTest:
    """A test by ranks.

    Attributes:
        statistic: U of the first sample, or the sum of the ranks of positive differences.
        p_value: two-sided; 1 where all values are equal.
        effect: chance that a value of the first is the higher one, ties counting half; of a paired test the share of
            rank sums that favours the first.
        n: values that took part.
    """

    statistic: float
    p_value: float
    effect: float
    n: int


def mann_whitney(
    first: NDArray[np.float64], second: NDArray[np.float64], *, ties: bool = True, continuity: bool = True
) -> RankTest:
    """Mann and Whitney's U: whether values of one sample tend to be higher.

    Args:
        first, second: shape (n,) and (m,).
        ties: correct the variance for ties.
        continuity: correct for the step between two values of U.

    Raises:
        ValueError: if a sample is empty.
    """
    if not first.size or not second.size:
        raise ValueError("both samples must have a value")
    ranks, tied = _ranks(np.concatenate([first, second]))
    n, m = float(first.size), float(second.size)
    total = n + m
    statistic = float(ranks[: first.size].sum()) - n * (n + 1) / 2
    correction = tied / (total * (total - 1)) if ties else 0.0
    variance = n * m / 12 * (total + 1 - correction)
    p_value = _two_sided(statistic - n * m / 2, variance, 0.5 if continuity else 0.0)
    return RankTest(statistic, p_value, statistic / (n * m), int(total))


def wilcoxon(differences: NDArray[np.float64]) -> RankTest:
    """Wilcoxon's signed ranks: whether paired differences tend to one side; differences of 0 are left out."""
    kept = differences[differences != 0]
    n = float(kept.size)
    if not kept.size:
        return RankTest(0.0, 1.0, 0.5, 0)
    ranks, tied = _ranks(np.abs(kept))
    statistic, most = float(ranks[kept > 0].sum()), n * (n + 1) / 2
    variance = n * (n + 1) * (2 * n + 1) / 24 - tied / 48
    return RankTest(statistic, _two_sided(statistic - most / 2, variance, 0.0), statistic / most, int(n))


def holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """p-values adjusted so that a family of tests errs at all with at most the level's chance."""
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(p_values[order] * np.arange(p_values.size, 0, -1))
    adjusted = np.empty(p_values.shape)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def average_ranks_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1, the lowest value; equal values have the average of their ranks."""
    return _ranks(values)[0]


def _ranks(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Ranks from 1, ties with their average, and the sum of t**3 - t over ties of t values."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    average = np.cumsum(counts) - (counts - 1) / 2
    sizes = counts.astype(np.float64)
    return average[where], float((sizes**3 - sizes).sum())


def _two_sided(apart: float, variance: float, step: float) -> float:
    if variance <= 0:
        return 1.0
    return min(1.0, erfc(max(abs(apart) - step, 0.0) / sqrt(2 * variance)))
