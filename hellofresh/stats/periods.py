"""Whether an order of systems holds from one period to another.

Kendall's tau-b of two sets of scores with an interval from resamples of both, Spearman's coefficient, and which
neighbours in the overall order keep it in every period. A resample adds luck to the luck that is in the
scores already, so resamples agree less than the data do. The lower limit is their percentile all the same, and the
upper one lies as far above the estimate, or at 1: cautious on both sides.
Sources: Kendall, Biometrika 33 (1945), 239-251 (ties); Spearman, American Journal of Psychology 15 (1904), 72-101.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.intervals import Interval, Method
from hellofresh.stats.metrics import Metric, ratio
from hellofresh.stats.ranking import Draws


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two periods agree on the order of the systems; from -1 to 1, 0 where a period ranks all alike."""

    kendall: float
    kendall_interval: Interval
    spearman: float


def kendall_tau_b(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kendall's tau-b along the last axis.

    Args:
        first, second: shape (..., systems).

    Returns:
        Shape (...); 0 where all of one side are equal.
    """
    rows, columns = np.triu_indices(first.shape[-1], 1)
    signs = [np.sign(side[..., rows] - side[..., columns]).astype(np.float32) for side in (first, second)]
    agree = (signs[0] * signs[1]).sum(axis=-1, dtype=np.float64)
    untied = [np.abs(sign).sum(axis=-1, dtype=np.float64) for sign in signs]
    return ratio(agree, np.sqrt(untied[0] * untied[1]))


def spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spearman's rank correlation along the last axis, equal values with their average rank.

    Args:
        first, second: shape (..., systems).

    Returns:
        Shape (...); 0 where all of one side are equal.
    """
    from scipy.stats import rankdata

    one, two = (rankdata(side, axis=-1) for side in (first, second))
    one, two = (side - side.mean(axis=-1, keepdims=True) for side in (one, two))
    return ratio((one * two).sum(axis=-1), np.sqrt((one**2).sum(axis=-1) * (two**2).sum(axis=-1)))


def compare_periods(first: Draws, second: Draws, metric: Metric, *, level: float = 0.95) -> Agreement:
    """How far two periods agree on the order of the same systems.

    Args:
        first, second: the same systems in the same order, drawn apart in the two periods with different seeds.
        metric: what they are ranked by.
        level: nominal coverage.

    Returns:
        Both coefficients; the interval counts the samples and clusters of both periods.

    Raises:
        ValueError: if the periods have different numbers of systems or resamples, or one seed.
    """
    if first.resampled.shape[1:] != second.resampled.shape[1:]:
        raise ValueError("both periods must have the same systems and number of resamples")
    if first.seed == second.seed:
        raise ValueError("the two periods must be drawn with different seeds, else their resamples are not independent")
    both = Draws(
        (metric,), first.value(metric)[None], first.of(metric)[None], first.n + second.n,
        first.clusters + second.clusters, first.effective_clusters + second.effective_clusters, first.seed,
    )  # fmt: skip
    kendall, rho = (float(of(first.value(metric), second.value(metric))) for of in (kendall_tau_b, spearman))
    made = both.interval(kendall_tau_b(first.of(metric).T, second.of(metric).T), level)
    low, high = min(made.low, kendall), min(1.0, max(made.high, 2 * kendall - made.low))
    return Agreement(kendall, replace(made, low=low, high=high, method=Method.MIRRORED), rho)


def order_held(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Of each two neighbours in the order by mean score, whether the better is strictly better in every period.

    Args:
        scores: shape (systems, periods), no gap, higher is better.

    Returns:
        Shape (systems - 1,).
    """
    ordered = scores[np.argsort(-scores.mean(axis=1), kind="stable")]
    holds: NDArray[np.bool_] = np.all(ordered[:-1] > ordered[1:], axis=1)
    return holds
