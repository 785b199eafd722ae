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

import numpy as np
from numpy.typing import NDArray


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
        ties: correct the variance for ties; without, there is no correction for continuity either.
        continuity: correct for the step between two values of U.

    Raises:
        ValueError: if a sample is empty.
    """
    from scipy.stats import mannwhitneyu, ranksums

    if not first.size or not second.size:
        raise ValueError("both samples must have a value")
    pairs, total = first.size * second.size, first.size + second.size
    if np.ptp(np.concatenate([first, second])) == 0:
        return RankTest(pairs / 2, 1.0, 0.5, total)
    found = mannwhitneyu(first, second, method="asymptotic", use_continuity=continuity)
    p_value = found.pvalue if ties else ranksums(first, second).pvalue
    return RankTest(float(found.statistic), float(p_value), float(found.statistic) / pairs, total)


def wilcoxon(differences: NDArray[np.float64]) -> RankTest:
    """Wilcoxon's signed ranks: whether paired differences tend to one side; differences of 0 are left out."""
    from scipy.stats import rankdata
    from scipy.stats import wilcoxon as signed_ranks

    kept = differences[differences != 0]
    if not kept.size:
        return RankTest(0.0, 1.0, 0.5, 0)
    ranks = rankdata(np.abs(kept))
    statistic = float(ranks[kept > 0].sum())
    p_value = signed_ranks(kept, method="asymptotic", correction=False).pvalue
    return RankTest(statistic, float(p_value), statistic / float(ranks.sum()), kept.size)


def holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """p-values adjusted so that a family of tests errs at all with at most the level's chance."""
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(p_values[order] * np.arange(p_values.size, 0, -1))
    adjusted = np.empty(p_values.shape)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
