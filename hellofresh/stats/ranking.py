"""Many systems on the same samples: which differ, and the rank interval of each.

All pairs are compared alike. The difference's standard error is the delete-one-cluster jackknife's, its p-value
that of t with one degree of freedom less than there are effective clusters. Pairs that are considered together form a
family. Within it, p-values are adjusted by step-down max-t: the differences of a family are correlated, and since this
is known from the jackknife, the adjustment is smaller than Bonferroni's.

The draws: each cluster gets a standard normal weight; a system's weighted sum of the changes without each cluster
is a draw of its error, and the difference of two such sums over its standard error is a draw z of the pair's error.
Observed p-values are transformed to
the same scale, z = the normal quantile of 1 - p / 2. From the smallest p-value on, a pair's adjusted p-value is the
share of draws in which any pair from this one on has an |z| at least as large, one draw being the data; it is never
above Holm's, below its own p-value, or below that of a pair before it. Pairs whose error the jackknife cannot estimate,
because no cluster moves their difference, are not drawn: each remaining one adds the pair's own p-value, as in
Bonferroni's method. A family of one pair is not adjusted.

`low` and `high` are simultaneous for all pairs of the family: the standard error times the quantile of t that
corresponds to the draws' quantile of the largest |z| (single-step). They exclude 0 exactly if the adjusted p-value is
below 0.05: the later steps find a few more pairs, and the intervals of these end at 0 (`AT_ZERO` from it), as do the
limits that are compatible with a step-down test (Strassburger and Bretz, Statistics in Medicine 27 (2008), 4914-4927;
Guilbaud, Biometrical Journal 50 (2008), 678-692).

A system's rank interval counts the systems that are significantly better and significantly worse than it. It uses
the same comparisons as the tie groups, so neither can contradict a p-value, and all rank intervals hold together.
In benchmarks/coverage.py (150 unequal clusters, 10, 20 and 30 systems, 300 repeats) any pair of equal systems was found
apart in 3.7% to 5.0% of cases; of systems that differ, the intervals of all pairs held together in 93.7% to 96.0%, and
all rank intervals in every case. Of 10 systems 18.8% of pairs were found apart (Bonferroni: 16.1%); the mean rank
interval of 30 was 27.4 ranks (27.8). With normal scores, 10 systems and 20 to 200 clusters (1,000 repeats), also where
systems are equal within groups, the step-down tests err in 4.2% to 6.2% of cases, and the intervals of all pairs hold
together in 93.8% to 95.4%.

Sources: Romano and Wolf, Econometrica 73 (2005), 1237-1282 (step-down); Westfall and Young, Resampling-Based Multiple
Testing (1993), section 2.6 (p-values on one scale); Hothorn, Bretz and Westfall, Biometrical Journal 50 (2008), 346-363
(simultaneous intervals); Mogstad, Romano, Shaikh and Wilhelm, Review of Economic Studies 91 (2024), 476-518 (ranks).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hellofresh.stats.arrays import Bools, Floats, Ints
from hellofresh.stats.clusters import LEVEL, effective_clusters
from hellofresh.stats.intervals import jackknife_variance, normal_below, normal_quantile, t_quantiles, t_two_sided
from hellofresh.stats.metrics import Metric
from hellofresh.stats.paired import SAME, difference_interval, pair_sizes

AT_ZERO = 1e-9
"""Distance from 0, as a share of a metric's span, of a limit that a later step moves there."""
SIGNIFICANCE = round(1 - LEVEL, 12)
"""The significance level, rounded to remove the error of the subtraction."""
_DRAWS, _HALVES = 9_999, 1_000  # with the data, which count as a draw, 10,000
_MANY, _FEWER_DRAWS = 100, 1_999  # number of systems from which fewer errors are drawn, and their number
# With more clusters errors are drawn by their covariance: the same distribution, whatever the number of clusters.
_MANY_CLUSTERS = 20_000
_CHUNK = 1_000_000  # maximum numbers drawn at once, which bounds memory to a few tens of megabytes


@dataclass(frozen=True, slots=True)
class RankIntervals:
    """Ranks, 1 the best; equal systems share the better rank.

    Attributes:
        rank: shape (systems,).
        low, high: shape (systems,), the best and the worst plausible rank of each system.
        tie_group: shape (systems,), see `tie_groups`.
    """

    rank: Ints
    low: Ints
    high: Ints
    tie_group: Ints


@dataclass(frozen=True, slots=True)
class Differences:
    """All differences between systems, row minus column; each array but `values` has shape (systems, systems).

    Attributes:
        metric: the compared metric.
        values: shape (systems,), each system's metric.
        difference: row minus column.
        standard_error: of the difference; infinite with one cluster.
        low, high: simultaneous limits for all pairs of a family.
        p_value: unadjusted, 1 on the diagonal.
        adjusted: p-values adjusted for all pairs of the family; below 1 - level exactly where the limits exclude 0.
        effective_clusters: equivalent number of groups of equal size.
        worth: shape (systems, systems), the same of each pair; fewer where cells are missing.
    """

    metric: Metric
    values: Floats
    difference: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    p_value: Floats
    adjusted: Floats
    effective_clusters: float
    worth: Floats

    @property
    def ahead(self) -> Bools:
        """Whether each system (row) is better than each other (column), significantly or not."""
        return self.metric.sign * self.difference > 0

    def detectable(self, power: float = 0.8) -> Floats:
        """The smallest true difference of each pair that is found with this power, not adjusted; 0 on the diagonal.

        The quantiles of t at (1 + level) / 2 and at the power, added, times the standard error.
        Source: Bloom, Evaluation Review 19 (1995), 547-556.
        """
        df = np.maximum(self.worth - 1, 1.0)
        return (t_quantiles((1 + LEVEL) / 2, df) + t_quantiles(power, df)) * self.standard_error

    @property
    def separable(self) -> Bools:
        """Whether each pair differs after adjustment for all pairs of its family."""
        return self.adjusted < SIGNIFICANCE


def samples_to_overtake(first: Floats, second: Floats, metric: Metric) -> int | None:
    """The number of samples whose removal ends the first system's lead over the second; None if no number does.

    Samples are removed in the order of their effect on the lead. This gives the smallest number if a metric
    is a mean over samples; for other metrics fewer may suffice.

    Args:
        first, second: shape (n, k), the two systems' statistics by sample.
        metric: the metric.
    """

    def lead(one: Floats, two: Floats) -> Floats:
        return metric.sign * (metric.value(one) - metric.value(two))

    totals = first.sum(axis=0), second.sum(axis=0)
    order = np.argsort(lead(totals[0] - first, totals[1] - second), kind="stable")
    left = [
        np.vstack([total, total - side[order].cumsum(axis=0)])
        for total, side in zip(totals, (first, second), strict=True)
    ]
    behind = np.flatnonzero(lead(*left)[:-1] <= SAME * metric.span)  # without samples there is no lead
    return int(behind[0]) if behind.size else None


def halves_agree(tables: Floats, metric: Metric) -> float | None:
    """How often the first system on a random half of the clusters is first on the other half, too; if
    several share first place, one in common suffices. None with one cluster.

    Args:
        tables: shape (systems, g, k), sums by cluster.
        metric: the metric.
    """
    clusters = tables.shape[1]
    if clusters < 2:
        return None
    ranks = np.argsort(np.random.default_rng(0).random((_HALVES, clusters)), axis=1)
    chosen = (ranks < clusters // 2).astype(np.float64)
    sums = np.tensordot(tables, chosen, axes=(1, 1)).transpose(0, 2, 1)
    both = [metric.sign * metric.value(part) for part in (sums, tables.sum(axis=1)[:, None] - sums)]
    leads = [part >= part.max(axis=0) - SAME * metric.span for part in both]
    return float((leads[0] & leads[1]).any(axis=0).mean())


def rank_systems(found: Differences) -> RankIntervals:
    """Ranks and rank intervals from the significant differences."""
    apart, ahead, values = found.separable, found.ahead, found.metric.sign * found.values
    better, worse = (apart & ahead).sum(axis=0), (apart & ahead).sum(axis=1)
    return RankIntervals(ranks(values), 1 + better, len(values) - worse, tie_groups(values, apart))


def all_differences(tables: Floats, metric: Metric, *, families: Ints | None = None) -> Differences:
    """Every pair's difference with its simultaneous interval and p-values.

    Args:
        tables: shape (systems, g, k), the systems' sums by cluster.
        metric: the metric.
        families: shape (systems, systems), symmetric, the number of each pair's family; one family if left out. Pairs
            with a negative number are not adjusted.
    """
    values = metric.value(tables.sum(axis=1))
    error, influence, blind = _errors(tables, metric)
    effective = float(effective_clusters(pair_sizes(tables, metric)))
    return differences(metric, values, error, influence, effective, families=families, blind=blind)


def differences(
    metric: Metric,
    values: Floats,
    error: Floats,
    influence: Floats,
    effective: float,
    *,
    families: Ints | None = None,
    blind: Bools | None = None,
    worth: Floats | None = None,
    drawn: Floats | None = None,
) -> Differences:
    """Every pair's difference, from known standard errors.

    Args:
        metric: the metric.
        values: shape (systems,).
        error: shape (systems, systems), standard errors of differences, symmetric.
        influence: shape (systems, m), independent parts of each system's error; squares of the differences between two
            rows add up to about the squared error.
        effective: equivalent number of clusters of equal size; degrees of freedom are one fewer.
        families: as in `all_differences`.
        blind: shape (systems, systems), pairs whose error `influence` does not determine; none if left out.
        worth: shape (systems, systems), the effective clusters of each pair, if these differ from `effective`.
        drawn: shape (systems, systems), the root of that sum of squares, if it is not about the error.
    """
    worth = np.full(error.shape, effective) if worth is None else worth
    blind = np.zeros(error.shape, dtype=np.bool_) if blind is None else blind
    spread = error if drawn is None else drawn
    upper = np.triu_indices(len(values), 1)
    family = np.zeros_like(upper[0]) if families is None else families[upper]
    difference, df = values[upper[0]] - values[upper[1]], np.maximum(worth[upper] - 1, 1.0)
    p_value = t_two_sided(difference / error[upper], df)
    adjusted, quantile = p_value.copy(), t_quantiles((1 + LEVEL) / 2, df)
    adjusting = np.unique(family[family >= 0]).tolist()
    if adjusting:
        draws = _draw_errors(influence)
    for number in adjusting:
        member = np.flatnonzero(family == number)
        pairs = upper[0][member], upper[1][member]
        adjusted[member], largest = _step_down(p_value[member], np.where(blind, np.inf, spread)[pairs], draws, pairs)
        # draws have an error: the limit is never wider than the safe one, nor narrower than a single pair's
        bonferroni = t_quantiles(1 - (1 - LEVEL) / (2 * member.size), df[member])
        reach = t_quantiles(float(normal_below(largest)), df[member])
        quantile[member] = np.clip(reach, quantile[member], bonferroni)
    low, high = agreeing_limits(difference, quantile * error[upper], adjusted >= SIGNIFICANCE, metric.span)
    return Differences(
        metric,
        values,
        values[:, None] - values[None, :],
        error,
        _both(len(values), low, -high, 0.0),
        _both(len(values), high, -low, 0.0),
        _both(len(values), p_value, p_value, 1.0),
        _both(len(values), adjusted, adjusted, 1.0),
        effective,
        worth,
    )


def agreeing_limits(difference: Floats, reach: Floats, unclear: Bools, span: float) -> tuple[Floats, Floats]:
    """Limits of differences within the metric's span, which hold 0 exactly where a difference is unclear."""
    low, high = difference - reach, difference + reach
    # If a limit is 0 but for rounding, the p-value decides its sign.
    low, high = np.where(unclear, np.minimum(low, 0.0), low), np.where(unclear, np.maximum(high, 0.0), high)
    least = AT_ZERO * span
    low = np.where(~unclear & (difference > 0), np.maximum(low, least), low)
    high = np.where(~unclear & (difference < 0), np.minimum(high, -least), high)
    # A fitted difference may be beyond the span: its interval holds it all the same.
    return np.minimum(difference, np.maximum(-span, low)), np.maximum(difference, np.minimum(span, high))


def _errors(tables: Floats, metric: Metric) -> tuple[Floats, Floats, Bools]:
    """The standard error of every difference, shape (systems, systems), see `difference_interval`; the changes without
    each cluster, shape (systems, g), whose squared differences add up to the squared errors; and the pairs that no
    cluster moves, whose errors are computed otherwise.
    """
    without = metric.value(tables.sum(axis=1)[:, None] - tables)
    clusters = without.shape[1]
    influence = np.sqrt((clusters - 1) / clusters) * (without - without.mean(axis=1, keepdims=True))
    error, blind = np.zeros((len(tables), len(tables))), np.zeros((len(tables), len(tables)), dtype=np.bool_)
    for row in range(len(tables) - 1):
        found = np.sqrt(jackknife_variance(without[row] - without[row + 1 :]))
        blind[row, row + 1 :] = found < SAME * metric.span
        # two systems that differ nowhere still have an interval, by their shares
        for other in np.flatnonzero(blind[row]).tolist():
            found[other - row - 1] = difference_interval(tables[row], tables[other], metric)[1]
        error[row, row + 1 :] = error[row + 1 :, row] = found
    return error, influence, blind


def _draw_errors(influence: Floats) -> Floats:
    """Draws of the systems' errors, shape (systems, draws)."""
    if influence.shape[1] > max(_MANY_CLUSTERS, len(influence)):
        sizes, axes = np.linalg.eigh(influence @ influence.T)
        influence = axes * np.sqrt(np.maximum(sizes, 0.0))
    systems, clusters = influence.shape
    random, draws = np.random.default_rng(0), _FEWER_DRAWS if systems >= _MANY else _DRAWS
    step = max(1, _CHUNK // clusters)
    weighted = [
        random.standard_normal((min(step, draws - start), clusters)) @ influence.T for start in range(0, draws, step)
    ]
    return np.ascontiguousarray(np.concatenate(weighted).T)


def _step_down(p_value: Floats, error: Floats, draws: Floats, pairs: tuple[Ints, Ints]) -> tuple[Floats, float]:
    """Adjusted p-values of a family, and the quantile of the largest |z| in the draws (see the module).

    Args:
        p_value, error: shape (pairs,); the error is infinite if no cluster moves the difference.
        draws: shape (systems, draws), of the systems' errors.
        pairs: the two systems of each.
    """
    order = np.argsort(p_value, kind="stable")
    one, two, error, p_value = pairs[0][order], pairs[1][order], error[order], p_value[order]
    observed, left = -normal_quantile(p_value / 2), np.arange(p_value.size, 0, -1)
    number = draws.shape[1]
    larger, greatest, z = np.empty(p_value.size, dtype=np.int64), np.zeros(number), np.empty(number)
    for pair in range(p_value.size - 1, -1, -1):  # one row at a time fits the processor's cache: three times as fast
        np.abs(np.subtract(draws[one[pair]], draws[two[pair]], out=z), out=z)
        np.maximum(greatest, np.divide(z, error[pair], out=z), out=greatest)
        larger[pair] = np.count_nonzero(greatest >= observed[pair])
    alone = (np.isinf(error) & (p_value < 1))[::-1].cumsum()[::-1]
    found = np.minimum((1 + larger) / (number + 1) + alone * p_value, left * p_value)
    adjusted = np.empty(p_value.shape)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(np.maximum(found, p_value)))
    descending = np.sort(greatest)[::-1]
    chance = np.arange(1, number + 1) / (number + 1) + 2 * alone[0] * normal_below(-descending)
    held = int((chance < SIGNIFICANCE).sum())
    return adjusted, float(descending[held - 1]) if held else np.inf


def _both(systems: int, above: Floats, below: Floats, diagonal: float) -> Floats:
    """A matrix of the values of pairs above and below its diagonal, by rows above and by columns below."""
    upper = np.triu_indices(systems, 1)
    found = np.full((systems, systems), diagonal)
    found[upper], found.T[upper] = above, below
    return found


def tie_groups(values: Floats, separable: Bools) -> Ints:
    """The tie group of each system, 1 the best.

    From the best system down: a system joins the current group unless it is separable from the system that
    opened it; then it opens the next. So no system of a group is separable from its best one.

    >>> separable = np.array([[False, False, True], [False, False, False], [True, False, False]])
    >>> tie_groups(np.array([0.9, 0.8, 0.7]), separable).tolist()
    [1, 1, 2]

    Args:
        values: shape (systems,), the values to rank by, higher is better.
        separable: shape (systems, systems), symmetric, such as `Differences.separable`.

    Returns:
        Shape (systems,).
    """
    group = np.zeros(len(values), dtype=np.int64)
    opener: int | None = None
    number = 0
    for system in np.argsort(-values, kind="stable").tolist():
        if opener is None or separable[opener, system]:
            opener, number = system, number + 1
        group[system] = number
    return group


def ranks(values: Floats) -> Ints:
    """Ranks along the last axis, 1 the highest value; equal values share the better rank.

    >>> ranks(np.array([0.7, 0.9, 0.7])).tolist()
    [2, 1, 2]
    """
    ordered = np.sort(values)
    return values.size - np.searchsorted(ordered, values, side="right") + 1
