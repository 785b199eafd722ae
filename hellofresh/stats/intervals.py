"""Two-sided intervals of the metrics, for samples in groups as for independent ones.

The method is Wilson's interval of the share that determines the metric, with an effective number of samples and t
quantiles. The delete-one-cluster jackknife gives the share's variance v, and p (1 - p) / v is the effective number of
samples. Of counts it is the variance of the logit, with one hit and one miss added so that it always has a value; to a
number, such as a rating, nothing is added: a hit would be a rating of ten. The degrees of freedom are the
effective number of clusters (Kish) among the samples of that share, less one. The method is not
random. With groups of one sample each it is the method for independent samples.

If all clusters agree to the last digit, the effective number of samples is the effective number of clusters: the most
cautious reading, in which a cluster is one sample. A single cluster does not show how much clusters differ, so its
interval is the whole range from 0 to 1; so is that of a metric that is a share of samples of one cluster only,
or of no samples, such as the precision of a system that never says yes.

Coverage of the nominal 95% interval of F1 in benchmarks/coverage.py, beside the other methods that were
tried (4,000 repeats of each of 20 worlds, 12 clusters to 3,000 independent samples, n 60 to 3,000, F1 0.20 to 0.95):

                                     clusters of like size    heavy-tailed clusters
    cluster Wilson                   94.5% to 96.5%           92.4% to 94.5%
    jackknife on the logit           94.6% to 97.7%           92.3% to 93.4%
    percentile bootstrap             89.8% to 95.6%           90.1% to 92.8%
    BCa bootstrap                    93.4% to 96.1%           89.3% to 90.0%
    as if samples were independent   81.5% to 96.3%           63.4% to 71.9%

A metric that is not a function of one share (macro F1, balanced accuracy, Matthews' correlation) is scaled to the range
from 0 to 1 and used as the share. Its degrees of freedom are the smaller of the clusters' and
Satterthwaite's, from the kurtosis of the changes by leaving out each cluster: if a rare class lies in few clusters,
these decide. The interval of macro F1 held the truth in 94.3% to 95.4% of 4,000 repeats in 11 of 12 worlds (2, 3 and 6
classes of 5% to 50%, 40 to 1,000 clusters, n 120 to 3,000), and in 93.2% in the twelfth: 20 clusters of 5, classes of
70%, 20% and 10%. There balanced accuracy has 92.6%; elsewhere it, weighted F1 and Matthews' correlation have 94.5% to
95.8%. What decides is in how many clusters each class lies: with 15 clusters of 5 it is 95.3% to 95.9% for 2 and 3
equal classes, 93.0% for 80:20, and 90.2% for 70:20:10, in 2,000 repeats each. Where a class lies in fewer than 12
effective clusters, `Interval.few` is true: so it is in 99% and more of repeats of the worlds below 93%, and in 94% of
those of 80:20; of the repeats where it is not, 94.4% and more held the truth in each of 17 worlds.

The log score is skewed: if by chance no sample is far off, its interval is too short. Its degrees of freedom are
Satterthwaite's too, and it is `few` below 96 effective clusters: there it held the truth in 88.4% (20 samples) to 93.8%
(60 clusters of 3) of 2,500 repeats, with 100 samples in 93.9%.

Of a rank correlation the jackknife is that of Fisher's z: it held the truth in 92.8% to 97.5% of 600 repeats in each of
48 worlds of 20 to 300 clusters, correlations of .1 to .95 (`--only correlation`). Cluster Wilson, which adds a hit and
a miss, is short near 1: 84% at .95 and 72% at .98, with 20 clusters of one.

Of the mean of a number that is not a count the degrees of freedom are Satterthwaite's, too, since the spread of skewed
numbers depends on few of them; where all numbers are the lowest or the highest, the interval is Agresti and Coull's,
which is Wilson's, longer where few are of one kind. Where a number has no scale, see `unbounded_limits`. Too skewed for
its clusters (`times_too_few`), a mean is `few`. Where all values are equal, samples not drawn may still differ, in a
share of up to Wilson's upper limit for 0 hits in the effective clusters: the interval reaches as far as that share
could move the mean on its scale. So it depends on its own scale and values only. How often it holds the mean, and is
marked, is shown by `python benchmarks/coverage.py --only means` and in docs/compare.md.
Where cells are missing, or people's labels correct a judge, a mean has the same rules (`share_interval` and
`bent_limits`). A count some of whose hits were estimated tells no more than n samples that were seen. There plain t
held a share of .99 of 100 items in 59% to 64% of 10,000 draws, this in 98.3% and more (`--only gaps`).

So it is usable from 12 clusters of similar size on. With very few errors (three or four samples
wrong) it is a little wide: up to 97.1% for precision, recall and accuracy. Where a few clusters hold most of the
samples, so that the effective number is below a quarter of the number, coverage is up to 3 points short. `Interval.few`
is true in these cases. Sources: Wilson, JASA 22 (1927), 209-212; Dean and Pagano, Survey Research Methods 9 (2015),
117-127 (effective sample sizes in Wilson's interval); Satterthwaite, Biometrics Bulletin 2 (1946), 110-114; Efron and
Tibshirani, An Introduction to the Bootstrap (1993), chapters 11, 13 and 14.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from hellofresh.stats.arrays import Bools, Floats, Ints
from hellofresh.stats.clusters import LEVEL, effective_clusters, from_share, shares
from hellofresh.stats.metrics import ClassCounts, Metric, RankPairs, WeightedValues, ratio

FEW_CLUSTERS = 12
"""Minimum effective clusters of a reliable interval."""
LEAST_OF_CLASS = FEW_CLUSTERS
"""For a mean over classes: minimum effective clusters of every class."""
LEAST_OF_LOGS = 96
"""Minimum effective clusters for the log score, whose spread depends on few; below, they count as an eighth."""
_COCHRAN = 25  # times the square of the skewness of numbers: the clusters that a mean of them needs
LOPSIDED = 0.25
"""Minimum ratio of effective clusters to clusters of a reliable interval."""
Limits = tuple[Floats, Floats]
"""Low and high."""


class Method(StrEnum):
    """The method of an interval."""

    CLUSTER_WILSON = "cluster Wilson"
    FISHER = "cluster jackknife of Fisher's z"
    JACKKNIFE = "cluster jackknife"
    PERCENTILE = "cluster percentile bootstrap"
    MIRRORED = "cluster bootstrap, mirrored about the estimate"
    NONE = "none: one group only"


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval with its method.

    Attributes:
        low, high: the limits.
        method: its method, which may differ from the requested one (see the module).
        n: samples.
        clusters: groups of samples.
        effective_clusters: equivalent number of groups of equal size (Kish), see `clusters_worth`.
    """

    low: float
    high: float
    method: Method
    n: int
    clusters: int
    effective_clusters: float

    @property
    def few(self) -> bool:
        """Whether it has too few clusters to be reliable."""
        return few_clusters(self.clusters, self.effective_clusters)


def few_clusters(clusters: int, effective: float) -> bool:
    """Whether clusters are too few, or too different in size, for nominal coverage of intervals."""
    return effective < FEW_CLUSTERS or effective < LOPSIDED * clusters


def metric_interval(tables: Floats, metric: Metric, *, n: int | None = None) -> Interval:
    """The interval of a metric of one system.

    >>> from hellofresh.stats.metrics import accuracy
    >>> labels, answers = np.ones(100, dtype=int), np.repeat([1, 0], [90, 10])
    >>> found = metric_interval(accuracy(2).statistics(labels, answers), accuracy(2))
    >>> round(found.low, 3), round(found.high, 3)
    (0.826, 0.945)

    Args:
        tables: shape (g, k), sums by cluster, from `cluster_tables`.
        metric: the metric.
        n: number of samples, if it differs from the statistics' size.
    """
    sizes = metric.statistics.size(tables)
    clusters, effective = len(tables), clusters_worth(tables, metric)
    counted = round(float(sizes.sum())) if n is None else n
    if clusters == 1:
        return Interval(*metric.limits, Method.NONE, counted, 1, 1.0)
    is_rank = isinstance(metric.statistics, RankPairs)
    limits, method = (fisher_limits, Method.FISHER) if is_rank else (cluster_wilson_limits, Method.CLUSTER_WILSON)
    low, high = (float(limit) for limit in limits(tables, metric))
    return Interval(low, high, method, counted, clusters, effective)


def clusters_worth(tables: Floats, metric: Metric) -> float:
    """The effective number of clusters for a metric.

    It is that of the samples; for a mean over classes, that of the class with the fewest, if this is
    below `LEAST_OF_CLASS`; for the log score, an eighth of it, if that eighth is below `FEW_CLUSTERS`; for a mean of
    numbers that are too skewed for their clusters (`times_too_few`), less than `FEW_CLUSTERS`.

    Args:
        tables: shape (g, k), sums by cluster.
        metric: the metric.
    """
    effective = float(effective_clusters(metric.statistics.size(tables)))
    if metric.of_forecasts and metric.share is not None and effective < LEAST_OF_LOGS:
        return effective * FEW_CLUSTERS / LEAST_OF_LOGS
    if isinstance(metric.statistics, WeightedValues) and not metric.statistics.at_ends(tables.sum(axis=0)):
        lacking = float(times_too_few(tables[:, 0], tables[:, 1]))
        return effective if lacking <= 1 else min(effective, FEW_CLUSTERS / lacking)
    if metric.share is None and isinstance(metric.statistics, ClassCounts):
        true, _, missed = metric.statistics.by_class(tables)
        by_class = effective_clusters((true + missed).T)
        fewest = float(by_class.min())  # 0 if a class has no samples: the mean over classes then lacks a part
        return min(effective, fewest) if fewest < LEAST_OF_CLASS else effective
    return effective


def wilson_limits(share: Floats, n: Floats, quantile: Floats) -> Limits:
    """Wilson's interval of a share of n independent samples.

    >>> low, high = wilson_limits(np.array([0.7]), np.array([100.0]), np.array([1.96]))
    >>> low.round(3).item(), high.round(3).item()
    (0.604, 0.781)

    Args:
        share: shape (...), between 0 and 1.
        n: shape (...), above 0; may be fractional.
        quantile: shape (...), of the normal or t distribution.
    """
    square = quantile**2 / n
    centre, half = share + square / 2, np.sqrt(square) * np.sqrt(share * (1 - share) + square / 4)
    low, high = (centre - half) / (1 + square), (centre + half) / (1 + square)
    return np.clip(low, 0, share), np.clip(high, share, 1)


def counted_limits(share: Floats, n: Floats, quantile: Floats) -> Limits:
    """Agresti and Coull's interval of a share that is a count: as Wilson's, and longer where hits or misses are few, so
    that it covers the true value in 94% of cases or more for any share (The American Statistician 52 (1998), 119-126).

    Args:
        share, n, quantile: as for `wilson_limits`.
    """
    more = n + quantile**2
    centre = (share * n + quantile**2 / 2) / more
    half = quantile * np.sqrt(centre * (1 - centre) / more)
    return np.maximum(centre - half, 0), np.minimum(centre + half, 1)


def cluster_wilson_limits(tables: Floats, metric: Metric) -> Limits:
    """Wilson's interval with an effective number of samples and t (see the module).

    Args:
        tables: shape (..., g, k), sums of at least two clusters.
        metric: the metric.

    Returns:
        Low and high, each of shape (...).
    """
    part = shares(tables, metric)
    effective = effective_clusters(part.weights)
    spread = jackknife_variance(part.without, part.defined)
    known = (spread > 1e-20) & (part.value > 0) & (part.value < 1)
    if metric.of_numbers or metric.of_forecasts:
        moved, information = part.without, ratio(spread, part.value * (1 - part.value))
    else:
        total = part.weights.sum(axis=-1)
        whole, moved = _smoothed(part.value, total), _logit(_smoothed(part.without, total[..., None] - part.weights))
        information = jackknife_variance(moved) * whole * (1 - whole)
    known &= information > 1e-20  # leaving out a group can change the share but not the smoothed one
    samples = np.where(known, ratio(np.ones(known.shape), information), np.maximum(effective, 1))
    freedom = effective - 1
    numbers, sums = metric.statistics if isinstance(metric.statistics, WeightedValues) else None, tables.sum(axis=-2)
    counts = np.zeros(known.shape, dtype=np.bool_) if numbers is None else numbers.at_ends(sums)
    if metric.share is None or metric.of_forecasts or numbers is not None:
        freedom = np.where(known & ~counts, np.minimum(freedom, _freedom(moved)), freedom)
    quantile = t_quantiles((1 + LEVEL) / 2, np.maximum(freedom, 1))
    low, high = wilson_limits(part.value, samples, quantile)
    if numbers is not None:
        wider = counted_limits(part.value, samples, quantile)
        low, high = (np.where(counts & known, of, limit) for of, limit in zip(wider, (low, high), strict=True))
        unseen = quantile**2 / (np.maximum(effective, 1) + quantile**2)
        constant = numbers.constant(sums)
        low = np.where(constant, part.value * (1 - unseen), low)
        high = np.where(constant, part.value + (1 - part.value) * unseen, high)
    # A share with all samples in one cluster has no known spread; one without samples has no value.
    blind = part.defined.sum(axis=-1) < part.defined.shape[-1]
    low, high = (from_share(limit, metric) for limit in (low, high))
    return np.where(blind, metric.limits[0], low), np.where(blind, metric.limits[1], high)


def fisher_limits(tables: Floats, metric: Metric) -> Limits:
    """The delete-one-cluster jackknife of a correlation's Fisher z, with t of the smaller degrees of freedom: of the
    clusters, or Satterthwaite's.

    If the correlation is 1, -1 or undefined, with or without some cluster, or constant, this falls back to
    `cluster_wilson_limits`, which has the same arguments and result.
    """
    part = shares(tables, metric)
    inside = (part.value > 0) & (part.value < 1)
    inside &= (part.defined & (part.without > 0) & (part.without < 1)).all(axis=-1)
    value, without = np.where(inside, part.value, 0.5), np.where(inside[..., None], part.without, 0.5)
    freedom = np.minimum(effective_clusters(part.weights) - 1, _freedom(_logit(without)))
    quantile, spread = t_quantiles((1 + LEVEL) / 2, np.maximum(freedom, 1)), jackknife_variance(_logit(without))
    # Fisher's z is half a logit of (1 + r) / 2, hence the halves
    known, z, half = inside & (spread > 1e-20), _logit(value) / 2, quantile * np.sqrt(spread) / 2
    low, high = cluster_wilson_limits(tables, metric)
    return np.where(known, np.tanh(z - half), low), np.where(known, np.tanh(z + half), high)


def jackknife_variance(without: Floats, defined: Bools | None = None) -> Floats:
    """The delete-one-cluster jackknife's variance: (g - 1) / g times the sum of squares about the mean.

    Args:
        without: shape (..., g), the estimate without each cluster.
        defined: shape (..., g), whether it has a value; True if left out.
    """
    g = without.shape[-1]
    if defined is not None:
        without = np.where(defined, without, 0.0)
    apart = without - without.mean(axis=-1, keepdims=True)
    variance: Floats = (g - 1) / g * (apart**2).sum(axis=-1)
    return variance


def jackknife_interval(
    value: float, without: Floats, n: int, weights: Floats, *, limits: tuple[float, float]
) -> Interval:
    """The jackknife's interval of any estimate, within limits; equal to these if no cluster can be left out.

    Args:
        value: the estimate.
        without: shape (g,), the same without each cluster.
        n: samples.
        weights: shape (g,), number of samples in each cluster.
        limits: the lowest and the highest possible value.
    """
    effective, clusters = float(effective_clusters(weights)), int((weights > 0).sum())
    if clusters < 2 or not np.isfinite(value) or not np.isfinite(without).all():
        return Interval(*limits, Method.NONE, n, clusters, effective)
    error = float(np.sqrt(jackknife_variance(without)))
    return Interval(*t_limits(value, error, effective - 1, limits), Method.JACKKNIFE, n, clusters, effective)


def share_interval(value: float, moved: Floats, n: int, effective: float, *, counts: bool = False) -> Interval:
    """Wilson's interval of a share, such as AUC, from what each cluster adds to its error; if none adds anything, with
    as many samples as there are effective clusters.

    Args:
        value: the share.
        moved: shape (g,), the clusters' parts, which add up to 0.
        n, effective: samples, and effective clusters.
        counts: whether each sample is a hit or a miss, some of them estimated: Agresti and Coull's, and n samples
            tell no more than n.
    """
    clusters, samples, freedom, limits = moved.size, effective, effective - 1, wilson_limits
    variance = clusters / (clusters - 1) * float(moved @ moved)
    if variance > 1e-20 and 0 < value < 1:
        samples = value * (1 - value) / variance
        if counts:
            samples, limits = min(samples, n), counted_limits
        else:
            freedom = min(freedom, float(_freedom(moved)))
    quantile = t_quantiles((1 + LEVEL) / 2, np.array(max(freedom, 1.0)))
    low, high = (float(end) for end in limits(np.array(value), np.array(samples), quantile))
    return Interval(low, high, Method.CLUSTER_WILSON, n, clusters, effective)


def unbounded_limits(sums: Floats, sizes: Floats) -> Limits:
    """Limits of means of numbers without a scale, such as seconds; see `bent_limits`.

    Args:
        sums, sizes: shape (systems, g), sum of the numbers in each cluster, and how many they are.
    """
    total = sizes.sum(axis=1)
    means = sums.sum(axis=1) / total
    parts = (sums - means[:, None] * sizes) / total[:, None]
    return bent_limits(means, parts, np.count_nonzero(sizes, axis=1), effective_clusters(sizes))


def bent_limits(means: Floats, parts: Floats, g: Ints, effective: Floats) -> Limits:
    """Limits of means without a scale, from what each cluster adds to their errors.

    The longer, on each side, of t and of Hall's transformation of t, which takes skewness out (JRSS B 54 (1992),
    221-228), with Satterthwaite's degrees of freedom. Without variation there is no interval: both limits are nan.

    Args:
        means: shape (systems,).
        parts: shape (systems, clusters), the clusters' parts in the errors.
        g, effective: shape (systems,), clusters, and effective clusters.
    """
    skew, error = _skewness(parts, g), np.sqrt(g / np.maximum(g - 1, 1) * (parts**2).sum(axis=1))
    error[(g < 2) | (error <= 1e-12 * np.abs(means))] = np.nan  # equal scores differ by rounding
    most = np.maximum(effective - 1, 1)
    plain = t_quantiles((1 + LEVEL) / 2, most)
    surer = t_quantiles((1 + LEVEL) / 2, np.clip(_freedom(parts), 1, most))
    # the transformation divides by the skewness, and is the identity without it
    bent = np.where(np.abs(skew) < 1e-6, 1e-6, skew)
    ends = [3 / bent * (np.cbrt(1 + bent * (side * surer - bent / 6)) - 1) for side in (1, -1)]
    return means - np.maximum(plain, ends[0]) * error, means + np.maximum(plain, -ends[1]) * error


def times_too_few(sums: Floats, sizes: Floats) -> Floats:
    """How many times as many clusters a mean needs: above 1 it is too skewed for nominal coverage. Cochran, Sampling
    Techniques (1977), section 2.15, asks for 25 times the square of the skewness of the numbers.

    Args:
        sums, sizes: shape (..., g), sum of the numbers in each cluster, and how many they are.
    """
    moved = sums - ratio(sums.sum(axis=-1), sizes.sum(axis=-1))[..., None] * sizes
    return np.asarray(_COCHRAN * _skewness(moved, np.count_nonzero(sizes, axis=-1)) ** 2)


def _skewness(moved: Floats, g: Ints) -> Floats:
    """The skewness of a mean, from the parts of g clusters in its error, shape (..., clusters)."""
    raw = ratio((moved**3).sum(axis=-1), (moved**2).sum(axis=-1) ** 1.5)
    return np.asarray(raw * np.sqrt(g * np.maximum(g - 1.0, 0)) / np.maximum(g - 2.0, 1))


def _freedom(without: Floats) -> Floats:
    """Satterthwaite's degrees of freedom of the jackknife's variance, from the kurtosis of the changes by cluster.

    Args:
        without: shape (..., g), the estimate without each cluster.
    """
    squares = (without - without.mean(axis=-1, keepdims=True)) ** 2
    g = without.shape[-1]
    kurtosis = g * ratio((squares**2).sum(axis=-1), squares.sum(axis=-1) ** 2)
    freedom: Floats = 2 * g / np.maximum(kurtosis - 1, 1e-9)
    return freedom


def _smoothed(share: Floats, samples: Floats) -> Floats:
    """A share after adding one hit and one miss, so that its logit is always finite."""
    return (share * samples + 1) / (samples + 2)


def _logit(share: Floats) -> Floats:
    return np.log(share) - np.log1p(-share)


@dataclass(frozen=True, slots=True)
class RepetitionInterval:
    """A mean over repetitions.

    Attributes:
        mean: the mean.
        low, high: limits of its interval; None with fewer than two repetitions.
        repetitions: their number.
    """

    mean: float
    low: float | None
    high: float | None
    repetitions: int


def repetition_interval(values: Floats, *, limits: tuple[float, float] = (0.0, 1.0)) -> RepetitionInterval:
    """The mean of repetitions with its interval: mean +- t * s / sqrt(n), n - 1 degrees of freedom.

    It shows the variation of a run over repetitions on the same samples, not over other samples.

    Args:
        values: shape (n,), the metric in each repetition.
        limits: the lowest and the highest value that the metric can have.

    Raises:
        ValueError: if there are no values.
    """
    n = values.size
    if n == 0:
        raise ValueError("there must be a value")
    mean = float(values.mean())
    if n == 1:
        return RepetitionInterval(mean, None, None, 1)
    return RepetitionInterval(mean, *t_limits(mean, float(values.std(ddof=1)) / n**0.5, n - 1, limits), n)


def t_limits(value: float, error: float, df: float, limits: tuple[float, float] | None = None) -> tuple[float, float]:
    """The interval of Student's t about a value with this standard error, within the limits that it can have."""
    # At least one degree of freedom: clusters of very unequal size can be worth less than two.
    half = t_quantile((1 + LEVEL) / 2, max(df, 1.0)) * error
    least, most = limits or (-np.inf, np.inf)
    return max(least, value - half), min(most, value + half)


def t_quantile(probability: float, df: float) -> float:
    """The quantile of Student's t; df may be a fraction."""
    return float(t_quantiles(probability, np.array(df)))


def t_quantiles(probability: float, df: Floats) -> Floats:
    """Quantiles of Student's t, one for each number of degrees of freedom."""
    from scipy.special import stdtrit

    found: Floats = stdtrit(np.asarray(df, dtype=np.float64), probability)
    return found


def t_two_sided(values: Floats | float, df: Floats | float) -> Floats:
    """P(|T| > |value|) with df degrees of freedom, by F, which is precise for small tails."""
    from scipy.special import fdtrc

    with np.errstate(over="ignore"):
        found: Floats = fdtrc(1.0, df, np.square(np.asarray(values, dtype=np.float64)))
    return found


def normal_quantile(probability: Floats) -> Floats:
    """Quantiles of the normal distribution, precise for the smallest tails below 0."""
    from scipy.special import ndtri

    found: Floats = ndtri(probability)
    return found


def normal_below(values: Floats | float) -> Floats:
    """The normal distribution function."""
    from scipy.special import ndtr

    found: Floats = ndtr(np.asarray(values, dtype=np.float64))
    return found
