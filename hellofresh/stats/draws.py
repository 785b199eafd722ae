"""Statistics from joint resamples of many systems, or of one system's prompts.

All share the same draws of clusters, so that resamples are joint and differences paired. The chance of first place is
the share of resamples in which a system is first.

*Bootstrap intervals.* The bias-corrected and accelerated bootstrap (BCa) of each metric: quantiles of the resamples,
moved by the share of them below the value and by the skewness of the jackknife. Of percentile, BCa and bootstrap-t, it
has the best coverage (benchmarks/coverage.py --only intervals). It uses observed samples only: if resampling does not
change a metric it has no width, and with few errors it is too short, so charts show another interval
(`hellofresh.stats.intervals`).

*Periods.* Kendall's tau-b of two sets of scores with an interval from resamples of both, Spearman's coefficient, and
which neighbours in the overall order keep it in every period. A resample adds noise to the noise that is in the scores
already, so resamples agree less than the data do. The lower limit is their percentile all the same, and the upper one
lies as far above the estimate, or at 1, which is cautious on both sides.

*Prompts.* The share of the wording is the part of a score's spread between prompts that is due to the wording and not
to the draw of samples. Prompts share the same samples, so part of the sampling error is common to all and moves no two
of them apart. The joint resamples of the samples give each prompt's sampling variance and the covariance of the
prompts' errors:

- `sampling`: the mean over prompts of a score's sampling variance;
- expected spread by sampling alone: that mean less the mean covariance of two prompts;
- `wording`: the variance of the scores over the prompts (divisor: prompts - 1) less that, at least 0;
- `share`: wording / (wording + sampling): the part due to the choice of the prompt in the variance of the score of
  a random prompt on one draw of samples.

The prompts count as a draw from all possible prompts; the interval is over the samples alone. A resample
has the sampling error of the data and its own, so the expected spread by sampling is subtracted twice from its spread.

*Two metrics together.* The covariance of the two metrics over joint resamples, stretched to an ellipse so that a normal
distribution would have the nominal share of its mass inside: by the square root of the quantile of chi-squared with
two degrees of freedom, which is -2 log(1 - level). Near the edges of the unit square a normal distribution is a rough
picture.

Sources: Kendall, Biometrika 33 (1945), 239-251 (ties); Spearman, American Journal of Psychology 15 (1904), 72-101;
Searle, Casella and McCulloch, Variance Components (1992), section 3.6 (the estimator by mean squares); Efron, JASA 82
(1987), 171-185 (BCa).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import atan2, degrees, log, sqrt

import numpy as np

from hellofresh.stats.arrays import Bools, Floats
from hellofresh.stats.clusters import LEVEL, cluster_weights, effective_clusters, percentile_limits
from hellofresh.stats.intervals import Interval, Limits, Method, normal_below, normal_quantile
from hellofresh.stats.metrics import Metric, ratio
from hellofresh.stats.paired import SAME, pair_sizes

BOOTSTRAP_RESAMPLES = 2_000
"""For the bootstrap's interval."""
_WHOLE = 2.0**24  # sums of whole numbers below this are exact in single precision
_AT_ONCE = 2_000_000  # maximum resampled values at once, which bounds memory to a few tens of megabytes


@dataclass(frozen=True, slots=True)
class Draws:
    """Metrics of many systems in the data and in joint resamples of its clusters.

    Attributes:
        metrics: the metrics.
        values: shape (metrics, systems).
        resampled: shape (metrics, systems, resamples).
        n, clusters: samples and groups of samples.
        effective_clusters: equivalent number of groups of equal size.
        seed: of the resamples.
    """

    metrics: tuple[Metric, ...]
    values: Floats
    resampled: Floats
    n: int
    clusters: int
    effective_clusters: float
    seed: int

    def value(self, metric: Metric) -> Floats:
        """The values of a metric, shape (systems,)."""
        found: Floats = self.values[self._place(metric)]
        return found

    def of(self, metric: Metric) -> Floats:
        """The resampled values of a metric, shape (systems, resamples)."""
        found: Floats = self.resampled[self._place(metric)]
        return found

    def _place(self, metric: Metric) -> int:
        return [known.name for known in self.metrics].index(metric.name)

    def interval(self, draws: Floats) -> Interval:
        """The percentile interval of a statistic of each resample, shape (resamples,)."""
        low, high = percentile_limits(draws)
        return Interval(float(low), float(high), Method.PERCENTILE, self.n, self.clusters, self.effective_clusters)


def draw_jointly(
    tables: Floats, metrics: Sequence[Metric], *, resamples: int = 10_000, seed: int = 0, n: int | None = None
) -> Draws:
    """Resample the clusters once for all systems.

    Args:
        tables: shape (systems, g, k), the systems' sums by cluster.
        metrics: metrics of the statistics in `tables`.
        resamples: number of resamples.
        seed: the same seed and clusters give the same resamples.
        n: number of samples, if it differs from the statistics' size.
    """
    systems, clusters, k = tables.shape
    values = np.stack([metric.value(tables.sum(axis=1)) for metric in metrics])
    drawn = np.empty((len(metrics), systems, resamples))
    columns, start = tables.transpose(1, 0, 2).reshape(clusters, systems * k), 0
    if (columns == np.rint(columns)).all() and np.abs(columns).sum(axis=0).max(initial=0.0) * clusters < _WHOLE:
        columns = columns.astype(np.float32)
    for weights in cluster_weights(clusters, resamples, np.random.default_rng(seed)):
        sums = (weights @ columns).astype(np.float64).reshape(len(weights), systems, k).transpose(1, 0, 2)
        for row, metric in enumerate(metrics):
            drawn[row, :, start : start + len(weights)] = metric.value(sums)
        start += len(weights)
    sizes = pair_sizes(tables, metrics[0])
    n = round(float(sizes.sum())) if n is None else n
    return Draws(tuple(metrics), values, drawn, n, clusters, float(effective_clusters(sizes)), seed)


def bootstrap_limits(tables: Floats, metrics: Sequence[Metric]) -> Floats:
    """Limits of the bootstrap's interval (BCa) of each system's metrics; the metric's whole range with one cluster.

    Args:
        tables: shape (systems, g, k), the systems' sums by cluster.
        metrics: metrics of the statistics in `tables`.

    Returns:
        Shape (metrics, systems, 2). The limits of a system do not depend on the other systems.
    """
    systems, clusters, _ = tables.shape
    found = np.empty((len(metrics), systems, 2))
    if clusters == 1:
        found[:] = np.array([metric.limits for metric in metrics])[:, None]
        return found
    step = max(1, _AT_ONCE // (BOOTSTRAP_RESAMPLES * len(metrics)))
    for start in range(0, systems, step):
        part = tables[start : start + step]
        draws = draw_jointly(part, metrics, resamples=BOOTSTRAP_RESAMPLES)
        for row, metric in enumerate(metrics):
            without = metric.value(part.sum(axis=1)[:, None] - part)
            limits = bca_limits(draws.resampled[row], draws.values[row], without, SAME * metric.span)
            found[row, start : start + step] = np.stack(limits, axis=-1)
    return found


def bca_limits(draws: Floats, value: Floats, without: Floats, same: float = 0.0) -> Limits:
    """Limits of the bias-corrected and accelerated bootstrap.

    Half of the draws that equal the value count as below it. If all draws lie on one side, or the jackknife has no
    spread, no correction is possible, and the limits are those of the percentile interval.

    Args:
        draws: shape (..., resamples), the metric in resamples.
        value: shape (...), the metric itself.
        without: shape (..., g), the metric without each cluster.
        same: tolerance for equal values.

    Returns:
        Low and high, each of shape (...).
    """
    resamples, near = draws.shape[-1], value[..., None]
    below = ((draws < near - same).sum(axis=-1) + (draws <= near + same).sum(axis=-1)) / (2 * resamples)
    apart = without.mean(axis=-1, keepdims=True) - without
    spread = (apart**2).sum(axis=-1)
    moved = (below > 0) & (below < 1) & (spread > same**2)
    bias = normal_quantile(np.where(moved, below, 0.5))
    acceleration = ratio((apart**3).sum(axis=-1), 6 * np.where(moved, spread, 0.0) ** 1.5)
    ordered, limits = np.sort(draws, axis=-1), []
    for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2):
        shifted = bias + normal_quantile(np.array(tail))
        place = normal_below(bias + shifted / (1 - acceleration * shifted)) * (resamples - 1)
        # the next draw must exist, between which and this one the limit lies
        before = np.clip(np.floor(place), 0, resamples - 2).astype(np.int64)[..., None]
        low, high = (np.take_along_axis(ordered, before + step, axis=-1)[..., 0] for step in (0, 1))
        limits.append(low + (place - before[..., 0]) * (high - low))
    return limits[0], limits[1]


def first_place(draws: Draws, metric: Metric) -> Floats:
    """Share of resamples in which each system is first, shape (systems,); ties share a resample equally."""
    resampled = metric.sign * draws.of(metric)
    best = resampled >= resampled.max(axis=0)
    found: Floats = (best / best.sum(axis=0)).mean(axis=1)
    return found


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of two periods on the order of systems, from -1 to 1; 0 if a period ranks all equally."""

    kendall: float
    kendall_interval: Interval
    spearman: float


def kendall_tau_b(first: Floats, second: Floats) -> Floats:
    """Kendall's tau-b along the last axis.

    >>> kendall_tau_b(np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.3, 0.2])).round(3).item()
    0.333

    Args:
        first, second: shape (..., systems).

    Returns:
        Shape (...); 0 if all values of one side are equal.
    """
    rows, columns = np.triu_indices(first.shape[-1], 1)
    # single precision halves the memory, and signs are exact in it
    signs = [np.sign(side[..., rows] - side[..., columns]).astype(np.float32) for side in (first, second)]
    agree = (signs[0] * signs[1]).sum(axis=-1, dtype=np.float64)
    untied = [np.abs(sign).sum(axis=-1, dtype=np.float64) for sign in signs]
    return ratio(agree, np.sqrt(untied[0] * untied[1]))


def spearman(first: Floats, second: Floats) -> Floats:
    """Spearman's rank correlation along the last axis, equal values with their average rank.

    Args:
        first, second: shape (..., systems).

    Returns:
        Shape (...); 0 if all values of one side are equal.
    """
    from scipy.stats import rankdata

    one, two = (rankdata(side, axis=-1) for side in (first, second))
    one, two = (side - side.mean(axis=-1, keepdims=True) for side in (one, two))
    return ratio((one * two).sum(axis=-1), np.sqrt((one**2).sum(axis=-1) * (two**2).sum(axis=-1)))


def compare_periods(first: Draws, second: Draws, metric: Metric) -> Agreement:
    """Compute the agreement of two periods on the order of the same systems.

    Args:
        first, second: the same systems in the same order, drawn separately in the two periods with different seeds.
        metric: the metric of the ranking.

    Returns:
        Both coefficients; the interval counts the samples and clusters of both periods.

    Raises:
        ValueError: if the periods have different numbers of systems or resamples, or the same seed.
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
    made = both.interval(kendall_tau_b(first.of(metric).T, second.of(metric).T))
    low, high = min(made.low, kendall), min(1.0, max(made.high, 2 * kendall - made.low))
    return Agreement(kendall, replace(made, low=low, high=high, method=Method.MIRRORED), rho)


def order_held(scores: Floats) -> Bools:
    """For neighbours in the order by mean score, whether the better one is strictly better in every period.

    Args:
        scores: shape (systems, periods), without gaps, higher is better.

    Returns:
        Shape (systems - 1,).
    """
    ordered = scores[np.argsort(-scores.mean(axis=1), kind="stable")]
    holds: Bools = np.all(ordered[:-1] > ordered[1:], axis=1)
    return holds


@dataclass(frozen=True, slots=True)
class WordingShare:
    """Variance components of a score.

    Attributes:
        metric: the score.
        spread: variance of the scores over the prompts, including sampling error.
        wording: its part due to the wording.
        sampling: mean sampling variance of one prompt's score.
        share: wording / (wording + sampling), 0 where both are 0.
        interval: of the share, over the samples.
    """

    metric: Metric
    spread: float
    wording: float
    sampling: float
    share: float
    interval: Interval


def wording_share(draws: Draws, metric: Metric) -> WordingShare:
    """The share of a score's variance that is due to the wording.

    Args:
        draws: the prompts of one system as its "systems", from `draw_jointly`.
        metric: the score.

    Raises:
        ValueError: if there are fewer than two prompts.
    """
    values, resampled = draws.value(metric), draws.of(metric)
    prompts = len(values)
    if prompts < 2:
        raise ValueError("two prompts or more are needed to separate the wording from the samples")
    covariance = np.cov(resampled)
    sampling = float(np.trace(covariance)) / prompts
    luck = sampling - float(covariance.sum() - np.trace(covariance)) / (prompts * (prompts - 1))
    spread = float(values.var(ddof=1))
    wording = max(0.0, spread - luck)
    drawn = np.maximum(0.0, resampled.var(axis=0, ddof=1) - 2 * luck)
    shares: Floats = ratio(drawn, drawn + sampling)
    share = wording / (wording + sampling) if wording + sampling > 0 else 0.0
    return WordingShare(metric, spread, wording, sampling, share, draws.interval(shares))


@dataclass(frozen=True, slots=True)
class Ellipse:
    """An ellipse in the plane of two metrics.

    Attributes:
        x, y: its centre, the values of the metrics.
        width, height: full lengths of its axes, the longer first.
        angle: from the first metric's direction to the longer axis, in degrees.
    """

    x: float
    y: float
    width: float
    height: float
    angle: float


def joint_region(draws: Draws, system: int, x: Metric, y: Metric) -> Ellipse:
    """The ellipse of one system.

    Args:
        draws: from `draw_jointly`, with both metrics.
        system: its number in the draws.
        x, y: the metrics.
    """
    covariance = np.cov(draws.of(x)[system], draws.of(y)[system])
    sizes, directions = np.linalg.eigh(covariance)
    reach = 2 * sqrt(-2 * log(1 - LEVEL))
    height, width = (reach * sqrt(max(float(size), 0.0)) for size in sizes)
    angle = degrees(atan2(float(directions[1, 1]), float(directions[0, 1]))) % 180
    return Ellipse(float(draws.value(x)[system]), float(draws.value(y)[system]), width, height, angle)
