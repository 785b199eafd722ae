"""Two systems on the same samples: by how much one is better, how sure that is, and what could be seen at all.

The difference's interval is the delete-one-cluster jackknife with t of the effective number of clusters less one;
both systems stay together in a cluster, so what they share cancels. The p-value is that of the same t, so the
interval leaves 0 out exactly where the p-value is below 5%. Of comparisons that are shown together, the p-values are
adjusted by Bonferroni and the intervals made at the level that belongs to it: all of them hold together.

In the simulations of benchmarks/coverage.py the interval held the truth in 94.1% to 95.8% of cases: for systems that
are exchangeable, and for two that reach one F1 in different ways (one precise, one with high recall). One system on
two parts of the samples: the parts are disjoint, but a group may have samples in both, so the difference is made anew
without each group in turn, and its t has the smaller part's effective number of clusters less one. Sources: Cameron
and Miller, Journal of Human Resources 50 (2015), 317-372 (jackknife and t by clusters); Dunn, Journal of the American
Statistical Association 56 (1961), 52-64.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.clusters import LEVEL, effective_clusters
from hellofresh.stats.intervals import (
    Interval,
    Method,
    cluster_wilson_limits,
    jackknife_variance,
    t_quantile,
    t_two_sided,
)
from hellofresh.stats.metrics import Metric

SAME = 1e-12
"""Differences that differ by less (of a metric's span) are equal: quotients of whole numbers, in two orders."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first system against the second on the same samples.

    Attributes:
        metric: what is compared.
        first, second: the two systems' values.
        interval: of the difference; it holds at its level for all comparisons that are shown together.
        standard_error: of the difference, never 0; infinite with one cluster.
        p_value: of no difference, for this comparison alone.
        adjusted: the same, adjusted for all that are shown together.
    """

    metric: Metric
    first: float
    second: float
    interval: Interval
    standard_error: float
    p_value: float
    adjusted: float

    @property
    def difference(self) -> float:
        """By how much the first system's value is higher."""
        return self.first - self.second


def compare(
    one: NDArray[np.float64],
    two: NDArray[np.float64],
    metric: Metric,
    *,
    together: int = 1,
    n: int | None = None,
) -> Comparison:
    """Compare two systems that were asked the same samples.

    Args:
        one, two: shape (g, k), the systems' sums by cluster, from `cluster_tables`.
        metric: which metric.
        together: how many comparisons are shown together.
        n: samples, where the statistics' size is not their number.
    """
    values = [float(metric.value(tables.sum(axis=0))) for tables in (one, two)]
    made, error = difference_interval(one, two, metric, n)
    df = max(made.effective_clusters - 1, 1.0)
    value = values[0] - values[1]
    p_value = float(t_two_sided(value / error, df))
    adjusted = min(1.0, together * p_value)
    reach = t_quantile(1 - (1 - LEVEL) / (2 * together), df) * error
    low, high = max(-metric.span, value - reach), min(metric.span, value + reach)
    if adjusted >= 1 - LEVEL:  # where a limit is 0 but for rounding, the p-value decides
        low, high = min(low, 0.0), max(high, 0.0)
    return Comparison(metric, values[0], values[1], replace(made, low=low, high=high), error, p_value, adjusted)


def minimum_detectable_difference(standard_error: float, effective_clusters: float, *, power: float = 0.8) -> float:
    """The smallest true difference that would be found with this power at this level.

    The quantiles of t at (1 + level) / 2 and at the power, added, times the standard error.
    Source: Bloom, Evaluation Review 19 (1995), 547-556.

    Args:
        standard_error: of the difference, such as `Comparison.standard_error`.
        effective_clusters: such as `Interval.effective_clusters`; the degrees of freedom are one less.
    """
    df = max(effective_clusters - 1, 1.0)
    return standard_error * (t_quantile((1 + LEVEL) / 2, df) + t_quantile(power, df))


def difference_interval(
    one: NDArray[np.float64], two: NDArray[np.float64], metric: Metric, n: int | None = None
) -> tuple[Interval, float]:
    """The jackknife interval of the difference, and its standard error, never 0: infinite with one cluster; where
    clusters show no spread, the error that belongs to the longer side of the interval that is given then.

    Where clusters show no spread although the systems differ, the distances of the two systems' own limits are added in
    squares (Newcombe, Statistics in Medicine 17 (1998), 873-890, method 10), as if they were independent. Where the two
    agree everywhere, they may still differ in samples like those that were not drawn: in a share of them up to
    Wilson's upper limit of none in so many effective clusters (Tango, Statistics in Medicine 17 (1998), 891-908, has
    the same for independent samples); the interval reaches as far as that could move the metric.
    """
    sizes, span = pair_sizes(np.stack([one, two]), metric), metric.span
    clusters, effective = len(one), float(effective_clusters(sizes))
    n = round(float(sizes.sum())) if n is None else n
    if clusters == 1:
        return Interval(-span, span, Method.NONE, n, 1, 1.0), float("inf")
    first, second = one.sum(axis=0), two.sum(axis=0)
    value = float(metric.value(first) - metric.value(second))
    without = metric.value(first - one) - metric.value(second - two)
    error = float(np.sqrt(jackknife_variance(without)))
    quantile = t_quantile((1 + LEVEL) / 2, max(effective - 1, 1.0))
    low, high, method = value - quantile * error, value + quantile * error, Method.JACKKNIFE
    if error < SAME * span:
        method = Method.CLUSTER_WILSON
        if (one != two).any():
            limits = [tuple(map(float, cluster_wilson_limits(tables, metric))) for tables in (one, two)]
            (low_1, high_1), (low_2, high_2) = limits
            a, b = (float(metric.value(total)) for total in (first, second))
            low = value - float(np.hypot(a - low_1, high_2 - b))
            high = value + float(np.hypot(high_1 - a, b - low_2))
        else:
            high = _unseen(first, metric, effective)
            low = -high
    low, high = max(-span, low), min(span, high)
    if error < SAME * span:
        error = max(high - value, value - low, SAME * span) / quantile
    return Interval(low, high, method, n, clusters, effective), error


def pair_sizes(tables: NDArray[np.float64], metric: Metric) -> NDArray[np.float64]:
    """The size of each cluster, shape (g,): in the mean of the systems, where systems weigh samples differently.

    Args:
        tables: shape (systems, g, k).
        metric: which metric.
    """
    sizes: NDArray[np.float64] = metric.statistics.size(tables).mean(axis=0)
    return sizes


def _unseen(total: NDArray[np.float64], metric: Metric, effective: float) -> float:
    """How far a metric could move if one of two systems that agree everywhere changed its mind where nobody looked."""
    square = t_quantile((1 + LEVEL) / 2, max(effective - 1, 1.0)) ** 2
    unseen = square / (effective + square) * float(metric.statistics.size(total))
    moved = metric.value(metric.statistics.moved(total, unseen))
    return float(np.abs(moved - metric.value(total)).max())


def compare_parts(
    part: NDArray[np.float64], rest: NDArray[np.float64], metric: Metric, *, n: int | None = None
) -> tuple[float, Interval]:
    """By how much a system's value on some samples is higher than on the others, with its interval: all that is
    possible where a part has samples of one group only. Of two systems, by how much the first one's lead is larger.

    Args:
        part, rest: shape (g, k), sums over the samples of either part, by cluster of the whole; 0 where a cluster has
            none there. Of two systems (2, g, k).
        metric: which metric.
        n: samples of both, where the statistics' size is not their number.

    Raises:
        ValueError: if shapes differ, or one of the parts is empty.
    """
    if part.ndim == 2:
        part, rest = part[None], rest[None]
    sizes = [metric.statistics.size(side[0]) for side in (part, rest)]
    if part.shape != rest.shape or not all(size.any() for size in sizes):
        raise ValueError("some samples must be in the part, and some not")
    signs, span = np.array([1.0, -1.0])[: len(part)], len(part) * metric.span
    first, second = part.sum(axis=1), rest.sum(axis=1)
    apart = float(signs @ (metric.value(first) - metric.value(second)))
    effective = min(float(effective_clusters(size)) for size in sizes)
    counted = (round(float(sum(size.sum() for size in sizes))) if n is None else n, part.shape[1], effective)
    if min(np.count_nonzero(size) for size in sizes) < 2:
        return apart, Interval(-span, span, Method.NONE, *counted)
    without = signs @ (metric.value(first[:, None] - part) - metric.value(second[:, None] - rest))
    error = float(np.sqrt(jackknife_variance(without)))
    half = t_quantile((1 + LEVEL) / 2, max(effective - 1, 1.0)) * error
    low, high = max(-span, apart - half), min(span, apart + half)
    return apart, Interval(low, high, Method.JACKKNIFE, *counted)
