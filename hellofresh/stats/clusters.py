"""A metric's sums over groups of samples (tables), and its values without each group.

Samples of one group (notes on one post, edits of one article) are dependent, so every method of sampling
error works on whole groups. With groups of one sample each it is the ordinary method for
independent samples.

Resamples draw as many groups as there are, with replacement. Source: Davison and Hinkley, Bootstrap Methods and their
Application (1997), sections 2.4 and 3.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.arrays import Bools, Floats, Ints
from hellofresh.stats.metrics import Metric, ratio

LEVEL = 0.95
"""Nominal coverage of all intervals."""
_CHUNK = 4_000_000  # maximum weights drawn at once, which bounds memory to a few tens of megabytes


@dataclass(frozen=True, slots=True)
class Shares:
    """The share that determines a metric, over all clusters and without each; leading dimensions are free.

    Attributes:
        value: shape (...), the share.
        without: shape (..., g), the share without each cluster.
        defined: shape (..., g), whether the share still has samples without the cluster.
        weights: shape (..., g), number of the share's samples in each cluster.
    """

    value: Floats
    without: Floats
    defined: Bools
    weights: Floats


def members(groups: Ints | None, n: int) -> tuple[Ints, int]:
    """The number of each sample's group, from 0, and the number of groups; without groups each sample is its own.

    Raises:
        ValueError: if there are no samples, or `groups` does not have one number per sample.
    """
    if n == 0:
        raise ValueError("no sample to resample")
    if groups is None:
        return np.arange(n), n
    if groups.shape != (n,):
        raise ValueError(f"groups {groups.shape} must have the shape of labels ({n},)")
    names, member = np.unique(groups, return_inverse=True)
    return member.astype(np.int64), names.size


def cluster_sums(values: Floats, member: Ints, clusters: int) -> Floats:
    """Sums within clusters.

    Args:
        values: shape (n, k).
        member: shape (n,), the cluster of each row, from 0.
        clusters: number of clusters.

    Returns:
        Shape (clusters, k).
    """
    columns = [np.bincount(member, weights=column, minlength=clusters) for column in values.T]
    return np.stack(columns, axis=1) if columns else np.zeros((clusters, 0))


def cluster_tables(statistics: Floats, groups: Ints | None = None) -> Floats:
    """The sums of each group, in the order of their numbers.

    Args:
        statistics: shape (n, k), such as `metric.statistics(labels, predictions)`.
        groups: shape (n,), equal numbers for samples of one group; None if all are independent.

    Returns:
        Shape (groups, k).

    Raises:
        ValueError: if there are no samples or the shapes differ.
    """
    member, clusters = members(groups, len(statistics))
    return cluster_sums(statistics, member, clusters)


def effective_clusters(weights: Floats) -> Floats:
    """The equivalent number of clusters of equal size: (sum of sizes) squared over the sum of squared sizes.

    Source: Kish, Survey Sampling (1965), section 5.6.

    Args:
        weights: shape (..., g), sizes; 0 where all are 0.
    """
    return ratio(weights.sum(axis=-1) ** 2, (weights**2).sum(axis=-1))


def shares(tables: Floats, metric: Metric) -> Shares:
    """A metric's share, over all clusters and without each.

    For example, F1 = 2j / (1 + j) is represented by the share j. A metric without such a share is used itself, scaled
    to the range from 0 to 1.

    Args:
        tables: shape (..., g, k).
        metric: the metric.
    """
    if metric.share is None:
        total = tables.sum(axis=-2)
        rest, weights = total[..., None, :] - tables, metric.statistics.size(tables)
        value, without = ((metric.value(sums) - metric.limits[0]) / metric.span for sums in (total, rest))
        return Shares(value, without, metric.statistics.size(rest) > 0, weights)
    hits, relevant = metric.share.parts(tables)
    all_hits, all_relevant = hits.sum(axis=-1), relevant.sum(axis=-1)
    rest_relevant = all_relevant[..., None] - relevant
    without = ratio(all_hits[..., None] - hits, rest_relevant)
    return Shares(ratio(all_hits, all_relevant), without, rest_relevant > 0, relevant)


def from_share(share: Floats, metric: Metric) -> Floats:
    """The metric for a share from `shares`."""
    within = share if metric.share is None else metric.share.value(share)
    return metric.limits[0] + metric.span * within


def cluster_weights(clusters: int, resamples: int, random: np.random.Generator) -> Iterator[NDArray[np.float32]]:
    """Draw how often each cluster occurs in each resample, in pieces of some hundred resamples.

    The same weights can serve all systems on the same samples, so that resamples are joint and
    differences between systems paired. Single precision is exact for sums of whole numbers below 16 million.

    Args:
        clusters: their number; each is drawn with the same probability.
        resamples: their number.
        random: the generator to draw from.

    Yields:
        Pieces of shape (at most `resamples`, clusters), with `resamples` rows in total.
    """
    step = max(1, min(resamples, _CHUNK // clusters))
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = random.integers(0, clusters, size=(rows, clusters), dtype=np.int32)
        drawn += np.arange(rows, dtype=np.int32)[:, None] * clusters
        counts = np.bincount(drawn.ravel(), minlength=rows * clusters)
        yield counts.astype(np.float32).reshape(rows, clusters)


def percentile_limits(draws: Floats) -> tuple[Floats, Floats]:
    """The quantiles that leave equal tails; draws lie along the first axis."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
    return low, high
