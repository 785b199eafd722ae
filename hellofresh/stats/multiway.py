"""Means, metrics and paired differences of ratings and answers, with errors clustered by post and rater.

Two-way clustered variances are those by post and by rater added, less that by post and rater together. With few
raters, t of the smaller number of clusters less one reflects the uncertainty. Where the difference of the three is
not positive, the larger of the two one-way variances is taken.

Two raters do not show how raters differ: then posts are the only clusters, `second_clusters` is 0, and the interval
is for these raters on other posts (`over`). As an interval over raters it would cover the truth in 55% to
87% of cases; with 3 or 4 raters it covers 97% to 99%, from 5 on 94% to 98% (40 posts, 400 repeats each).
With fewer than `LEAST_CLUSTERS` posts, or raters where these count, `few` is true: show "too few" instead of limits.

Rank tests assume independent rows. For dependent rows (several ratings of one post), their p-values are
too small: pass one row per cluster, or use a clustered mean. They use the normal approximation with a correction
for ties, as statistics programs do; the exact distributions assume no ties, but ratings have many.
Sources: Cameron, Gelbach and Miller, Journal of Business & Economic Statistics 29 (2011), 238-249; Mann and Whitney,
Annals of Mathematical Statistics 18 (1947), 50-60; Wilcoxon, Biometrics Bulletin 1 (1945), 80-83; Holm, Scandinavian
Journal of Statistics 6 (1979), 65-70.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hellofresh.stats.arrays import Floats, Ints
from hellofresh.stats.clusters import LEVEL, cluster_sums, cluster_tables, effective_clusters, members
from hellofresh.stats.intervals import t_limits, t_quantile, t_two_sided
from hellofresh.stats.metrics import Metric

LEAST_CLUSTERS = 5
"""Minimum clusters of either kind for an interval."""
_ROUNDING = 1e-20  # variances below this are 0 but for rounding


@dataclass(frozen=True, slots=True)
class ClusteredMean:
    """A weighted mean.

    Attributes:
        value, standard_error: the mean and its error; nan with one cluster.
        low, high: limits by t, within the scale; with one cluster the scale's ends, or nan without a scale.
        p_value: of the hypothesis that the mean is 0.
        df: of the t.
        spread: standard deviation of the values, with weights.
        n: values.
        clusters, second_clusters: number of each kind; 0 without a second kind, or with too few of them to count.
    """

    value: float
    standard_error: float
    low: float
    high: float
    p_value: float
    df: float
    spread: float
    n: int
    clusters: int
    second_clusters: int = 0

    @property
    def few(self) -> bool:
        """Whether there are too few clusters of either kind for an interval."""
        return min(self.clusters, self.second_clusters or self.clusters) < LEAST_CLUSTERS

    @property
    def over(self) -> str:
        """The population of the interval: other posts, or other posts and raters."""
        return "posts and raters" if self.second_clusters else "posts"


def clustered_mean(
    values: Floats,
    groups: Ints | None = None,
    second: Ints | None = None,
    *,
    weights: Floats | None = None,
    limits: tuple[float, float] | None = None,
) -> ClusteredMean:
    """A weighted mean with its standard error.

    Args:
        values: shape (n,), such as ratings, or differences of two systems' ratings by one rater of one post.
        groups: shape (n,), equal numbers for values of one post; None if all are independent.
        second: shape (n,), equal numbers for values by one rater; None to ignore raters.
        weights: shape (n,), above 0; all 1 if left out.
        limits: the lowest and the highest possible value; None without limits.

    Raises:
        ValueError: if there are no values or shapes differ.
    """
    weight = np.ones(values.size) if weights is None else weights
    if weight.shape != values.shape or values.ndim != 1 or not (weight > 0).all():
        raise ValueError("values and weights must be vectors of one length, and weights above 0")
    member, clusters = members(groups, values.size)
    total = float(weight.sum())
    mean = float(weight @ values) / total
    scores = weight * (values - mean) / total
    spread = float(np.sqrt(weight @ (values - mean) ** 2 / total))
    if clusters == 1:
        return ClusteredMean(mean, np.nan, *(limits or (np.nan, np.nan)), 1.0, 0.0, spread, values.size, 1)
    one, effective = _variance(scores, member, clusters), float(effective_clusters(_sums(weight, member, clusters)))
    variance, df, others = one, max(effective - 1, 1.0), 0
    if second is not None:
        rater, others = members(second, values.size)
        others = others if others > 2 else 0
        if others:
            both, cells = members(member * others + rater, values.size)
            two = _variance(scores, rater, others)
            variance = one + two - _variance(scores, both, cells)
            variance = variance if variance > 0 else max(one, two)  # a difference of estimates may be negative
            df = min(df, max(float(effective_clusters(_sums(weight, rater, others))) - 1, 1.0))
    error = float(np.sqrt(variance))
    p_value = float(t_two_sided(mean / error, df)) if error > 0 else float(mean == 0)
    low, high = t_limits(mean, error, df, limits)
    return ClusteredMean(mean, error, low, high, p_value, df, spread, values.size, clusters, others)


def clustered_metric(statistics: Floats, metric: Metric, groups: Ints, second: Ints) -> tuple[float, float, float]:
    """A metric of answers by several people, with an interval over other samples and other people.

    The delete-one-cluster jackknife gives the variance of the metric's logit by group, by person, and by both, which
    are put together as for a mean; the degrees of freedom of the sum are Satterthwaite's. benchmarks/people.py: 60
    samples, 5 to 40 people, 2 and 4 classes.

    Args:
        statistics: shape (n, k), `metric.statistics` of each answer, times the answer's weight.
        metric: the metric.
        groups: shape (n,), equal numbers for answers about samples of one group.
        second: shape (n,), equal numbers for answers of one person.

    Returns:
        Value and limits; the metric's own limits if all clusters of a kind agree, so that the variance is unknown.

    Raises:
        ValueError: if there are no answers or shapes differ.
    """
    total = statistics.sum(axis=0)
    size = float(metric.statistics.size(total))

    def logit(sums: Floats) -> Floats:
        # a quarter of an answer from the ends, where the logit is infinite
        share = np.clip((metric.value(sums) - metric.limits[0]) / metric.span, 0.25 / size, 1 - 0.25 / size)
        return np.log(share / (1 - share))

    (one, few), (two, fewer), (both, _) = (
        _jackknife(cluster_tables(statistics, kind), metric, logit)
        for kind in (groups, second, members(groups, len(groups))[0] * (int(second.max()) + 1) + second)
    )
    value, variance = float(metric.value(total)), one + two - both
    variance = variance if variance > 0 else max(one, two)
    if min(one, two) <= _ROUNDING or min(few, fewer) <= 1:
        return value, *metric.limits
    df = variance**2 / (one**2 / (few - 1) + two**2 / (fewer - 1))
    half = t_quantile((1 + LEVEL) / 2, max(df, 1.0)) * float(np.sqrt(variance))
    low, high = (1 / (1 + np.exp(-(float(logit(total)) + side * half))) for side in (-1, 1))
    return (
        value,
        min(metric.limits[0] + metric.span * float(low), value),
        max(metric.limits[0] + metric.span * float(high), value),
    )


def _jackknife(tables: Floats, metric: Metric, of_sums: Callable[[Floats], Floats]) -> tuple[float, float]:
    """The delete-one-cluster variance, and the equivalent number of clusters of equal size."""
    without = of_sums(tables.sum(axis=0) - tables)
    return float((len(tables) - 1) * without.var()), float(effective_clusters(metric.statistics.size(tables)))


def _variance(scores: Floats, member: Ints, clusters: int) -> float:
    """The sandwich of a mean: squares of the clusters' sums, times g / (g - 1)."""
    return float(clusters / (clusters - 1) * (_sums(scores, member, clusters) ** 2).sum())


def _sums(values: Floats, member: Ints, clusters: int) -> Floats:
    return cluster_sums(values[:, None], member, clusters)[:, 0]


@dataclass(frozen=True, slots=True)
class RankTest:
    """The result of a rank test.

    Attributes:
        statistic: U of the first sample, or the sum of the ranks of positive differences.
        p_value: two-sided; 1 where all values are equal.
        effect: chance that a value of the first is higher, ties counting half; for a paired test, the share of
            rank sums that favours the first.
        n: number of values used.
    """

    statistic: float
    p_value: float
    effect: float
    n: int


def mann_whitney(first: Floats, second: Floats, *, ties: bool = True, continuity: bool = True) -> RankTest:
    """Mann and Whitney's U: whether values of one sample tend to be higher.

    Args:
        first, second: shape (n,) and (m,).
        ties: whether to correct the variance for ties; if not, there is no continuity correction either.
        continuity: whether to correct for the step between two values of U.

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


def wilcoxon(differences: Floats) -> RankTest:
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


def holm(p_values: Floats) -> Floats:
    """p-values adjusted by Holm's method, which controls the family-wise error rate.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(p_values[order] * np.arange(p_values.size, 0, -1))
    adjusted = np.empty(p_values.shape)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
