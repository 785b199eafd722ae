"""Two-sided intervals of the metrics, for samples in groups as for independent ones.

Wilson's interval of the share that the metric is a function of, with an effective number of samples and a quantile of
t. The delete-one-cluster jackknife gives the variance v of the share's logit (one hit and one miss added, so that it
always has a value), and 1 / (v p (1 - p)) independent samples would tell as much. The degrees of freedom are the
effective number of clusters (Kish) among the samples that the metric is a share of, less one. Nothing about it is
random. With groups of one sample each it is the method for independent samples.

If all clusters agree to the last digit, the effective number of samples is the effective number of clusters: the most
cautious reading, in which a cluster is one sample. One cluster alone says nothing of how much clusters differ, so its
interval is all that is possible, from 0 to 1; so is that of a metric that is a share of samples of one cluster only,
or of no sample at all, such as the precision of a system that never says yes.

How often the nominal 95% interval of F1 held the truth in benchmarks/coverage.py, beside the other methods that were
tried (4,000 repeats of each of 20 worlds, 12 clusters to 3,000 independent samples, n 60 to 3,000, F1 0.20 to 0.95):

                                     clusters of like size    heavy-tailed clusters
    cluster Wilson                   94.5% to 96.5%           92.4% to 94.5%
    jackknife on the logit           94.6% to 97.7%           92.3% to 93.4%
    percentile bootstrap             89.8% to 95.6%           90.1% to 92.8%
    BCa bootstrap                    93.4% to 96.1%           89.3% to 90.0%
    as if samples were independent   81.5% to 96.3%           63.4% to 71.9%

A metric that no one share gives (macro F1, balanced accuracy, Matthews' correlation) is brought to the range
from 0 to 1 and stands for the share itself. Its degrees of freedom are the smaller of the clusters' and
Satterthwaite's, from the kurtosis of what leaving out each cluster moves: where a rare class lies in few clusters,
these decide. The interval of macro F1 held the truth in 94.3% to 95.4% of 4,000 repeats in 11 of 12 worlds (2, 3 and 6
classes of 5% to 50%, 40 to 1,000 clusters, n 120 to 3,000), and in 93.2% in the twelfth: 20 clusters of 5, classes of
70%, 20% and 10%. There balanced accuracy has 92.6%; elsewhere it, weighted F1 and Matthews' correlation have 94.5% to
95.8%. What decides is in how many clusters each class lies: with 15 clusters of 5 it is 95.3% to 95.9% for 2 and 3
equal classes, 93.0% for 80:20, and 90.2% for 70:20:10, in 2,000 repeats each. Where a class lies in fewer than 12
effective clusters, `Interval.few` is true: so it is in 99% and more of repeats of the worlds below 93%, and in 94% of
those of 80:20; of the repeats where it is not, 94.4% and more held the truth in each of 17 worlds.

The log score is skewed: where no sample is far off by chance, its interval is short. Its degrees of freedom are
Satterthwaite's too, and it is `few` below 96 effective clusters: there it held the truth in 88.4% (20 samples) to 93.8%
(60 clusters of 3) of 2,500 repeats, with 100 samples in 93.9%.

Of a rank correlation the jackknife is that of Fisher's z: it held the truth in 92.8% to 97.5% of 600 repeats in each of
48 worlds of 20 to 300 clusters, correlations of .1 to .95 (`--only correlation`). Cluster Wilson, which adds a hit and
a miss, is short near 1: 84% at .95 and 72% at .98, with 20 clusters of one.

Where all values of a number are one, the interval is that value; at the ends of a scale from 0 to 1, where values are
shares, it is Wilson's.

So it may be used from 12 clusters on, where clusters are of like size. With very few errors (three or four samples
wrong) it is a little wide: up to 97.1% for precision, recall and accuracy. Where a few clusters hold most of the
samples, so that the effective number is below a quarter of the number, it is up to three points short. `Interval.few`
is true in these cases. Sources: Wilson, JASA 22 (1927), 209-212; Dean and Pagano, Survey Research Methods 9 (2015),
117-127 (effective sample sizes in Wilson's interval); Satterthwaite, Biometrics Bulletin 2 (1946), 110-114; Efron and
Tibshirani, An Introduction to the Bootstrap (1993), chapters 11, 13 and 14.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.clusters import LEVEL, effective_clusters, from_share, shares
from hellofresh.stats.metrics import ClassCounts, Metric, RankPairs, WeightedValues, ratio

FEW_CLUSTERS = 12
"""Below so many effective clusters an interval is to be read with care."""
LEAST_OF_CLASS = FEW_CLUSTERS
"""A mean over classes is, too, where a class lies in fewer effective clusters."""
LEAST_OF_LOGS = 96
"""So is the log score below so many effective clusters, which then count as an eighth: few decide its spread."""
LOPSIDED = 0.25
"""So is it where there are fewer effective clusters than this share of the clusters."""


class Method(StrEnum):
    """How an interval was made."""

    CLUSTER_WILSON = "cluster Wilson"
    FISHER = "cluster jackknife of Fisher's z"
    JACKKNIFE = "cluster jackknife"
    PERCENTILE = "cluster percentile bootstrap"
    MIRRORED = "cluster bootstrap, mirrored about the estimate"
    NONE = "none: one group only"


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval and how it was made.

    Attributes:
        low, high: the limits.
        method: how it was made, which need not be what was asked for (see the module).
        n: samples.
        clusters: groups of samples.
        effective_clusters: as many groups of one size would weigh as much (Kish), see `clusters_worth`.
    """

    low: float
    high: float
    method: Method
    n: int
    clusters: int
    effective_clusters: float

    @property
    def few(self) -> bool:
        """Whether it rests on too few clusters to be trusted as it stands."""
        return few_clusters(self.clusters, self.effective_clusters)


Limits = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Low and high."""


def few_clusters(clusters: int, effective: float) -> bool:
    """Whether clusters are too few, or of too different size, for intervals to cover what they promise."""
    return effective < FEW_CLUSTERS or effective < LOPSIDED * clusters


def metric_interval(tables: NDArray[np.float64], metric: Metric, *, n: int | None = None) -> Interval:
    """The interval of a metric of one system.

    Args:
        tables: shape (g, k), sums by cluster, from `cluster_tables`.
        metric: which metric.
        n: samples, where the statistics' size is not their number.
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


def clusters_worth(tables: NDArray[np.float64], metric: Metric) -> float:
    """The effective number of clusters that a metric rests on.

    That of the samples; for a mean over classes that of the samples of the class that lies in fewest, where this is
    below `LEAST_OF_CLASS`; for the log score an eighth, where this is below `FEW_CLUSTERS`.

    Args:
        tables: shape (g, k), sums by cluster.
        metric: which metric.
    """
    effective = float(effective_clusters(metric.statistics.size(tables)))
    if metric.of_forecasts and metric.share is not None and effective < LEAST_OF_LOGS:
        return effective * FEW_CLUSTERS / LEAST_OF_LOGS
    if metric.share is None and isinstance(metric.statistics, ClassCounts):
        true, _, missed = metric.statistics.by_class(tables)
        by_class = effective_clusters((true + missed).T)
        fewest = float(by_class.min())  # 0 where a class is in no sample: the mean over classes then lacks a part
        return min(effective, fewest) if fewest < LEAST_OF_CLASS else effective
    return effective


def wilson_limits(share: NDArray[np.float64], n: NDArray[np.float64], quantile: NDArray[np.float64]) -> Limits:
    """Wilson's interval of a share of n independent samples.

    Args:
        share: shape (...), between 0 and 1.
        n: shape (...), above 0; need not be whole.
        quantile: shape (...), of the normal or t distribution.
    """
    square = quantile**2 / n
    centre, half = share + square / 2, np.sqrt(square) * np.sqrt(share * (1 - share) + square / 4)
    low, high = (centre - half) / (1 + square), (centre + half) / (1 + square)
    return np.where(share == 0, 0.0, np.clip(low, 0, share)), np.where(share == 1, 1.0, np.clip(high, share, 1))


def cluster_wilson_limits(tables: NDArray[np.float64], metric: Metric) -> Limits:
    """Wilson's interval with an effective number of samples and t (see the module).

    Args:
        tables: shape (..., g, k), sums of two clusters or more.
        metric: which metric.

    Returns:
        Low and high, each of shape (...).
    """
    part = shares(tables, metric)
    effective = effective_clusters(part.weights)
    spread = jackknife_variance(part.without, part.defined)
    known = (spread > 1e-20) & (part.value > 0) & (part.value < 1)
    total = part.weights.sum(axis=-1)
    whole, without = _smoothed(part.value, total), _smoothed(part.without, total[..., None] - part.weights)
    information = jackknife_variance(_logit(without)) * whole * (1 - whole)
    known &= information > 1e-20  # leaving a group out can move the share and leave the smoothed one where it is
    samples = np.where(known, ratio(np.ones(known.shape), information), np.maximum(effective, 1))
    freedom = effective - 1
    if metric.share is None or metric.of_forecasts:
        freedom = np.where(known, np.minimum(freedom, _freedom(_logit(without))), freedom)
    quantile = t_quantiles((1 + LEVEL) / 2, np.maximum(freedom, 1))
    low, high = wilson_limits(part.value, samples, quantile)
    # With all its samples in one cluster a share has no known spread, and with no sample it has no value.
    blind = part.defined.sum(axis=-1) < part.defined.shape[-1]
    low, high = (from_share(limit, metric) for limit in (low, high))
    if isinstance(metric.statistics, WeightedValues):
        total = tables.sum(axis=-2)
        value, constant = metric.value(total), metric.statistics.constant(total)
        low, high = np.where(constant, value, low), np.where(constant, value, high)
    return np.where(blind, metric.limits[0], low), np.where(blind, metric.limits[1], high)


def fisher_limits(tables: NDArray[np.float64], metric: Metric) -> Limits:
    """The delete-one-cluster jackknife of a correlation's Fisher z, with t of the smaller degrees of freedom: of the
    clusters, or Satterthwaite's.

    Where the correlation is 1 or -1 or has no value, with or without some cluster, or nothing moves it:
    `cluster_wilson_limits`, which takes and gives the same.
    """
    part = shares(tables, metric)
    inside = (part.value > 0) & (part.value < 1)
    inside &= (part.defined & (part.without > 0) & (part.without < 1)).all(axis=-1)
    value, without = np.where(inside, part.value, 0.5), np.where(inside[..., None], part.without, 0.5)
    freedom = np.minimum(effective_clusters(part.weights) - 1, _freedom(_logit(without)))
    quantile, spread = t_quantiles((1 + LEVEL) / 2, np.maximum(freedom, 1)), jackknife_variance(_logit(without))
    known, z, half = inside & (spread > 1e-20), _logit(value) / 2, quantile * np.sqrt(spread) / 2
    low, high = cluster_wilson_limits(tables, metric)
    return np.where(known, np.tanh(z - half), low), np.where(known, np.tanh(z + half), high)


def jackknife_variance(without: NDArray[np.float64], defined: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
    """The delete-one-cluster jackknife's variance: (g - 1) / g times the sum of squares about the mean.

    Args:
        without: shape (..., g), the estimate without each cluster.
        defined: shape (..., g), where it has a value; everywhere if left out.
    """
    g = without.shape[-1]
    if defined is not None:
        without = np.where(defined, without, 0.0)
    apart = without - without.mean(axis=-1, keepdims=True)
    variance: NDArray[np.float64] = (g - 1) / g * (apart**2).sum(axis=-1)
    return variance


def jackknife_interval(
    value: float,
    without: NDArray[np.float64],
    n: int,
    weights: NDArray[np.float64],
    *,
    limits: tuple[float, float],
) -> Interval:
    """The jackknife's interval of any estimate, within limits; as wide as they are where nothing can be left out.

    Args:
        value: the estimate.
        without: shape (g,), the same without each cluster.
        n: samples.
        weights: shape (g,), how many of them each cluster has.
        limits: the lowest and the highest value that there can be.
    """
    effective, clusters = float(effective_clusters(weights)), int((weights > 0).sum())
    if clusters < 2 or not np.isfinite(value) or not np.isfinite(without).all():
        return Interval(*limits, Method.NONE, n, clusters, effective)
    error = float(np.sqrt(jackknife_variance(without)))
    half = t_quantile((1 + LEVEL) / 2, max(effective - 1, 1.0)) * error
    low, high = max(limits[0], value - half), min(limits[1], value + half)
    return Interval(low, high, Method.JACKKNIFE, n, clusters, effective)


def _freedom(without: NDArray[np.float64]) -> NDArray[np.float64]:
    """Degrees of freedom of the jackknife's variance by Satterthwaite, from the kurtosis of what clusters move.

    Args:
        without: shape (..., g), the estimate without each cluster.
    """
    squares = (without - without.mean(axis=-1, keepdims=True)) ** 2
    g = without.shape[-1]
    kurtosis = g * ratio((squares**2).sum(axis=-1), squares.sum(axis=-1) ** 2)
    freedom: NDArray[np.float64] = 2 * g / np.maximum(kurtosis - 1, 1e-9)
    return freedom


def _smoothed(share: NDArray[np.float64], samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """A share of samples with one hit and one miss more, so that its logit always has a value."""
    return (share * samples + 1) / (samples + 2)


def _logit(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log(share) - np.log1p(-share)


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


def repetition_interval(values: NDArray[np.float64], *, limits: tuple[float, float] = (0.0, 1.0)) -> RepetitionInterval:
    """The mean of repetitions with its interval: mean +- t * s / sqrt(n), n - 1 degrees of freedom.

    It says how much a run would differ if it were repeated on the same samples, and nothing of other samples.

    Args:
        values: shape (n,), the metric in each repetition.
        limits: the lowest and the highest value that the metric can have.

    Raises:
        ValueError: if there is no value.
    """
    n = values.size
    if n == 0:
        raise ValueError("there must be a value")
    mean = float(values.mean())
    if n == 1:
        return RepetitionInterval(mean, None, None, 1)
    half = t_quantile((1 + LEVEL) / 2, n - 1) * float(values.std(ddof=1)) / n**0.5
    low, high = max(limits[0], mean - half), min(limits[1], mean + half)
    return RepetitionInterval(mean, low, high, n)


def t_quantile(probability: float, df: float) -> float:
    """The quantile of Student's t; df may be a fraction."""
    return float(t_quantiles(probability, np.array(df)))


def t_quantiles(probability: float, df: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles of Student's t, one for each number of degrees of freedom."""
    from scipy.special import stdtrit

    found: NDArray[np.float64] = stdtrit(np.asarray(df, dtype=np.float64), probability)
    return found


def t_two_sided(values: NDArray[np.float64] | float, df: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """P(|T| > |value|) with df degrees of freedom, by F, which keeps the digits of small tails."""
    from scipy.special import fdtrc

    with np.errstate(over="ignore"):
        found: NDArray[np.float64] = fdtrc(1.0, df, np.square(np.asarray(values, dtype=np.float64)))
    return found


def normal_quantile(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles of the normal distribution; exact to the smallest tails below 0."""
    from scipy.special import ndtri

    found: NDArray[np.float64] = ndtri(probability)
    return found


def normal_below(values: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """The normal distribution function."""
    from scipy.special import ndtr

    found: NDArray[np.float64] = ndtr(np.asarray(values, dtype=np.float64))
    return found
