"""Many systems on the same samples: which differ, between which ranks each lies, and who may be first.

Every pair is compared in one way. The difference's standard error is the delete-one-cluster jackknife's, its p-value
that of t with one degree of freedom less than there are effective clusters. Pairs that are looked at together form a
family; within it p-values are adjusted by Bonferroni, and the interval beside a p-value holds at the level that leaves
all intervals of the family true together. So an interval leaves 0 out exactly where the adjusted p-value is below 5%.
Holm's adjustment finds a little more, but the intervals that belong to it end at 0 for every difference found.

A system's rank interval counts the systems that are significantly better and significantly worse than it. It is made of
the same comparisons as the tie groups, so neither can contradict a p-value, and all rank intervals hold together.
In the simulations of benchmarks/coverage.py any pair of 20 equal systems was found apart in 2.1% to 3.6% of cases; the
rank intervals of 20 unequal ones held all ranks together in 99.9% or more.
The probability of being first comes from resamples of the clusters, drawn once for all systems.
Sources: Dunn, Journal of the American Statistical Association 56 (1961), 52-64 (simultaneous intervals); Mogstad,
Romano, Shaikh and Wilhelm, Review of Economic Studies 91 (2024), 476-518 (ranks from simultaneous differences).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats._tails import t_quantile, t_two_sided_each
from hellofresh.stats.clusters import effective_clusters
from hellofresh.stats.intervals import Interval, Method, jackknife_variance
from hellofresh.stats.metrics import Metric
from hellofresh.stats.paired import SAME, difference_error, minimum_detectable_difference, pair_sizes
from hellofresh.stats.resampling import cluster_weights, percentile_limits

__all__ = [
    "Differences",
    "Draws",
    "RankIntervals",
    "all_differences",
    "draw_jointly",
    "first_place",
    "rank_systems",
    "ranks",
    "tie_groups",
]


@dataclass(frozen=True, slots=True)
class Draws:
    """Metrics of many systems in the data and in joint resamples of its clusters.

    Attributes:
        metrics: which.
        values: shape (metrics, systems).
        resampled: shape (metrics, systems, resamples).
        n, clusters: samples and groups of samples.
        effective_clusters: as many groups of one size would weigh as much.
        seed: of the resamples.
    """

    metrics: tuple[Metric, ...]
    values: NDArray[np.float64]
    resampled: NDArray[np.float64]
    n: int
    clusters: int
    effective_clusters: float
    seed: int

    def value(self, metric: Metric) -> NDArray[np.float64]:
        """Shape (systems,)."""
        found: NDArray[np.float64] = self.values[self._place(metric)]
        return found

    def of(self, metric: Metric) -> NDArray[np.float64]:
        """Shape (systems, resamples)."""
        found: NDArray[np.float64] = self.resampled[self._place(metric)]
        return found

    def _place(self, metric: Metric) -> int:
        return [known.name for known in self.metrics].index(metric.name)

    def interval(self, draws: NDArray[np.float64], level: float = 0.95) -> Interval:
        """The percentile interval of whatever was computed from each resample, shape (resamples,)."""
        low, high = percentile_limits(draws, level)
        counted = (self.seed, draws.size, self.n, self.clusters, self.effective_clusters)
        return Interval(float(low), float(high), level, Method.PERCENTILE, *counted)


@dataclass(frozen=True, slots=True)
class RankIntervals:
    """Ranks, 1 the best; equal systems share the better rank.

    Attributes:
        rank: shape (systems,).
        low, high: shape (systems,), the best and the worst rank that the data allow each system.
        tie_group: shape (systems,), see `tie_groups`.
    """

    rank: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    tie_group: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Differences:
    """All differences between systems, row minus column; each array but `values` has shape (systems, systems).

    Attributes:
        metric: what is compared.
        values: shape (systems,), each system's metric.
        difference: row minus column.
        standard_error: of the difference; infinite where there is one cluster only.
        low, high: limits that hold at the level for all pairs of a family together.
        p_value: of each difference for itself, 1 on the diagonal.
        adjusted: the p-values adjusted for all pairs of the family; below 1 - level exactly where 0 is left out.
        effective_clusters: as many groups of one size would weigh as much.
        level: nominal coverage.
    """

    metric: Metric
    values: NDArray[np.float64]
    difference: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p_value: NDArray[np.float64]
    adjusted: NDArray[np.float64]
    effective_clusters: float
    level: float

    @property
    def ahead(self) -> NDArray[np.bool_]:
        """Which systems (rows) are better than which (columns), significantly or not."""
        found: NDArray[np.bool_] = self.metric.sign * self.difference > 0
        return found

    def detectable(self, power: float = 0.8) -> NDArray[np.float64]:
        """The true difference of each pair that would be found, alone, with this power; 0 on the diagonal."""
        factor = minimum_detectable_difference(1.0, self.effective_clusters, level=self.level, power=power)
        return factor * self.standard_error

    @property
    def separable(self) -> NDArray[np.bool_]:
        """Which pairs differ even after adjustment for all pairs of their family."""
        return self.adjusted < 1 - self.level


def draw_jointly(
    tables: NDArray[np.float64],
    metrics: Sequence[Metric],
    *,
    resamples: int = 10_000,
    seed: int = 0,
    n: int | None = None,
) -> Draws:
    """Resample the clusters once for all systems.

    Args:
        tables: shape (systems, g, k), the systems' sums by cluster.
        metrics: which metrics, all of the statistics in `tables`.
        resamples: how many to draw.
        seed: the same seed and clusters give the same resamples.
        n: samples, where the statistics' size is not their number.
    """
    systems, clusters, k = tables.shape
    values = np.stack([metric.value(tables.sum(axis=1)) for metric in metrics])
    drawn = np.empty((len(metrics), systems, resamples))
    columns, start = tables.transpose(1, 0, 2).reshape(clusters, systems * k).astype(np.float32), 0
    for weights in cluster_weights(clusters, resamples, np.random.default_rng(seed)):
        sums = (weights @ columns).astype(np.float64).reshape(len(weights), systems, k).transpose(1, 0, 2)
        for row, metric in enumerate(metrics):
            drawn[row, :, start : start + len(weights)] = metric.value(sums)
        start += len(weights)
    sizes = pair_sizes(tables, metrics[0])
    n = round(float(sizes.sum())) if n is None else n
    return Draws(tuple(metrics), values, drawn, n, clusters, float(effective_clusters(sizes)), seed)


def first_place(draws: Draws, metric: Metric) -> NDArray[np.float64]:
    """Share of resamples in which each system is first, shape (systems,); those that share it count in part."""
    resampled = metric.sign * draws.of(metric)
    best = resampled >= resampled.max(axis=0)
    found: NDArray[np.float64] = (best / best.sum(axis=0)).mean(axis=1)
    return found


def rank_systems(found: Differences) -> RankIntervals:
    """Ranks, and between which ranks each system lies by what differs significantly."""
    apart, ahead, values = found.separable, found.ahead, found.metric.sign * found.values
    better, worse = (apart & ahead).sum(axis=0), (apart & ahead).sum(axis=1)
    return RankIntervals(ranks(values), 1 + better, len(values) - worse, tie_groups(values, apart))


def all_differences(
    tables: NDArray[np.float64],
    metric: Metric,
    *,
    families: NDArray[np.int64] | None = None,
    level: float = 0.95,
) -> Differences:
    """Every pair's difference with its simultaneous interval and p-values.

    Args:
        tables: shape (systems, g, k), the systems' sums by cluster.
        metric: which metric.
        families: shape (systems, systems), symmetric, the number of each pair's family; all are one if left out.
        level: nominal coverage.
    """
    values = metric.value(tables.sum(axis=1))
    error = _errors(tables, metric, level)
    effective = float(effective_clusters(pair_sizes(tables, metric)))
    df = max(effective - 1, 1.0)
    upper = np.triu_indices(len(tables), 1)
    family = np.zeros(len(upper[0]), dtype=np.int64) if families is None else families[upper]
    _, member, sizes = np.unique(family, return_inverse=True, return_counts=True)
    quantile = np.array([t_quantile(1 - (1 - level) / (2 * size), df) for size in sizes.tolist()])
    difference = values[upper[0]] - values[upper[1]]
    p_value = t_two_sided_each(difference / error[upper], df)
    adjusted = np.minimum(1.0, p_value * sizes[member])
    low, high = (difference + side * quantile[member] * error[upper] for side in (-1, 1))
    # Where a limit is 0 but for rounding, the p-value decides on which side of it.
    unclear = adjusted >= 1 - level
    low, high = np.where(unclear, np.minimum(low, 0.0), low), np.where(unclear, np.maximum(high, 0.0), high)
    low, high = np.maximum(-metric.span, low), np.minimum(metric.span, high)
    return Differences(
        metric,
        values,
        values[:, None] - values[None, :],
        error,
        _both(low, -high, 0.0),
        _both(high, -low, 0.0),
        _both(p_value, p_value, 1.0),
        _both(adjusted, adjusted, 1.0),
        effective,
        level,
    )


def _errors(tables: NDArray[np.float64], metric: Metric, level: float) -> NDArray[np.float64]:
    """The standard error of every difference, shape (systems, systems), see `difference_error`."""
    total = tables.sum(axis=1)
    without = metric.value(total[:, None] - tables)
    error = np.zeros((len(tables), len(tables)))
    for row in range(len(tables) - 1):
        found = np.sqrt(jackknife_variance(without[row] - without[row + 1 :]))
        for blind in (row + 1 + np.flatnonzero(found < SAME * metric.span)).tolist():
            found[blind - row - 1] = difference_error(tables[row], tables[blind], metric, level)
        error[row, row + 1 :] = error[row + 1 :, row] = found
    return error


def _both(above: NDArray[np.float64], below: NDArray[np.float64], diagonal: float) -> NDArray[np.float64]:
    """A matrix of the values of pairs above and below its diagonal, by rows above and by columns below."""
    systems = int((1 + np.sqrt(1 + 8 * above.size)) / 2)
    upper = np.triu_indices(systems, 1)
    found = np.full((systems, systems), diagonal)
    found[upper], found.T[upper] = above, below
    return found


def tie_groups(values: NDArray[np.float64], separable: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The tie group of each system, 1 the best.

    From the best system down: a system belongs to the group that is open unless it is separable from the system that
    opened it; then it opens the next. So all of a group are not separable from its best system.

    Args:
        values: shape (systems,), what they are ranked by, higher is better.
        separable: shape (systems, systems), symmetric, such as `Differences.separable`.

    Returns:
        Shape (systems,).
    """
    group = np.zeros(len(values), dtype=np.int64)
    opener, number = -1, 0
    for system in np.argsort(-values, kind="stable").tolist():
        if opener < 0 or separable[opener, system]:
            opener, number = system, number + 1
        group[system] = number
    return group


def ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Ranks along the last axis, 1 the highest value; equal values share the better rank."""
    ordered = np.sort(values)
    return values.size - np.searchsorted(ordered, values, side="right") + 1
