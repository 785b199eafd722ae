"""Drawing groups with replacement: how often each is drawn, and the tables that come of it.

A resample draws as many groups as there are. How often each is drawn is multinomial, and a resample's table is the sum
of the groups' tables weighted by that. Groups with equal tables are interchangeable, so it is enough to draw how many
of each kind come up, which is multinomial too; for independent samples there are few kinds, so the counts of a
confusion table are drawn themselves: the very distribution of drawing samples one by one.
Source: Davison and Hinkley, Bootstrap Methods and their Application (1997), sections 2.4 and 3.8.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats._tails import normal_cdf, normal_quantile

__all__ = ["bca_limits", "cluster_weights", "percentile_limits", "resampled_tables"]

_CHUNK = 4_000_000
"""Most weights drawn at once; bounds memory to a few tens of megabytes."""


def resampled_tables(tables: NDArray[np.float64], resamples: int, random: np.random.Generator) -> NDArray[np.float64]:
    """The sums of resamples of the clusters of one system.

    Args:
        tables: shape (g, k), the clusters' sums.
        resamples: how many to draw.
        random: the generator to draw from.

    Returns:
        Shape (resamples, k).
    """
    kinds, sizes = _kinds(tables)
    step = max(1, _CHUNK // len(kinds))
    chunks = []
    for start in range(0, resamples, step):
        weights = random.multinomial(len(tables), sizes / len(tables), size=min(step, resamples - start))
        chunks.append(weights @ kinds)
    return np.concatenate(chunks)


def _kinds(tables: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The different tables and how many clusters have each, in an order that the order of clusters does not change.

    Rows of small whole numbers are told apart by one number each, which sorts many times faster than rows do.
    """
    base, k = float(tables.max()) + 1, tables.shape[1]
    if k * np.log2(base) >= 53 or (tables < 0).any() or not np.array_equal(tables, np.floor(tables)):
        return np.unique(tables, axis=0, return_counts=True)
    _, first, sizes = np.unique(tables @ base ** np.arange(k), return_index=True, return_counts=True)
    return tables[first], sizes


def cluster_weights(clusters: int, resamples: int, random: np.random.Generator) -> Iterator[NDArray[np.float32]]:
    """How often each cluster is drawn in each resample, in pieces of some hundred resamples.

    The same weights can serve every system that was asked the same samples, so that resamples are joint and
    differences between systems paired. Single precision is exact for sums of whole numbers below 16 million.

    Args:
        clusters: how many there are, each drawn with the same probability.
        resamples: how many to draw.
        random: the generator to draw from.

    Yields:
        Pieces of shape (at most `resamples`, clusters) that make `resamples` rows together.
    """
    step = max(1, min(resamples, _CHUNK // clusters))
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = random.integers(0, clusters, size=(rows, clusters), dtype=np.int32)
        drawn += np.arange(rows, dtype=np.int32)[:, None] * clusters
        counts = np.bincount(drawn.ravel(), minlength=rows * clusters)
        yield counts.astype(np.float32).reshape(rows, clusters)


def percentile_limits(draws: NDArray[np.float64], level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The quantiles that leave equal tails; draws lie along the first axis."""
    tail = (1 - level) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
    return low, high


def bca_limits(
    draws: NDArray[np.float64], value: float, without: NDArray[np.float64], level: float
) -> tuple[float, float]:
    """Limits of the bias-corrected and accelerated bootstrap.

    Half of the draws that equal the value count as below it. Where all draws lie on one side, or the jackknife has no
    spread, no correction can be made, and the limits are those of the percentile interval.
    Source: Efron, Better bootstrap confidence intervals, JASA 82 (1987), 171-185.

    Args:
        draws: shape (resamples,), the metric in resamples.
        value: the metric itself.
        without: shape (g,), the metric without each cluster.
        level: nominal coverage.
    """
    share = float(((draws < value).mean() + (draws <= value).mean()) / 2)
    apart = without.mean() - without
    spread = float((apart**2).sum())
    if not 0 < share < 1 or spread == 0:
        low, high = percentile_limits(draws, level)
        return float(low), float(high)
    bias, acceleration = normal_quantile(share), float((apart**3).sum()) / (6 * spread**1.5)
    tails = []
    for probability in ((1 - level) / 2, (1 + level) / 2):
        shifted = bias + normal_quantile(probability)
        tails.append(normal_cdf(bias + shifted / (1 - acceleration * shifted)))
    low, high = np.quantile(draws, tails)
    return float(low), float(high)
