"""Bootstrap intervals of the metrics.

Samples of one group (notes on one post, edits of one article) are not independent, so whole groups are resampled; with
groups of one sample this is the ordinary bootstrap. A resample draws as many groups as there are, with replacement: the
numbers of times that each group is drawn are multinomial, and a resample's confusion table is the sum of the groups'
tables weighted by them. The interval is the two-sided percentile interval.
One group alone says nothing of how much groups differ, so its interval is all that is possible, from 0 to 1. With fewer
than `FEW_CLUSTERS` groups the percentile interval covers less than it promises, and it has no width where all samples
agree.
Source: Davison and Hinkley, Bootstrap Methods and their Application (1997), sections 2.4 and 3.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.counts import METRICS, indicator_matrix, metric_values

__all__ = ["FEW_CLUSTERS", "Interval", "bootstrap_intervals"]

FEW_CLUSTERS = 20
"""Below so many groups an interval is to be read with care."""

_CHUNK = 2_000_000
"""Most weights drawn at once; bounds memory to a few tens of megabytes."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval and how it was made.

    Attributes:
        low, high: the limits.
        level: nominal coverage, such as 0.95.
        method: name of the method.
        seed: seed of the random generator.
        resamples: number of resamples.
        n: samples.
        clusters: groups that were resampled.
    """

    low: float
    high: float
    level: float
    method: str
    seed: int
    resamples: int
    n: int
    clusters: int


def bootstrap_intervals(
    labels: NDArray[np.int8],
    predictions: NDArray[np.int8],
    groups: NDArray[np.int64],
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Mapping[str, Interval]:
    """Percentile intervals of every metric by resampling groups.

    Args:
        labels: shape (n,), 0 or 1.
        predictions: shape (n,), 0, 1 or -1 for no answer.
        groups: shape (n,), equal numbers for samples of one group.
        level: nominal coverage.
        resamples: number of resamples.
        seed: the same seed and data give the same limits.

    Returns:
        An interval for each name in `METRICS`.

    Raises:
        ValueError: if there is no sample or the shapes differ.
    """
    if labels.size == 0:
        raise ValueError("no sample to resample")
    if groups.shape != labels.shape:
        raise ValueError(f"groups {groups.shape} must have the shape of labels {labels.shape}")
    names, member = np.unique(groups, return_inverse=True)
    if names.size == 1:
        every = Interval(0.0, 1.0, level, "none: one group only", seed, 0, labels.size, 1)
        return dict.fromkeys(METRICS, every)
    tables = np.zeros((names.size, 4))
    np.add.at(tables, member, indicator_matrix(labels, predictions))
    values = metric_values(_resampled(tables, resamples, np.random.default_rng(seed)))
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail], axis=0)
    return {
        name: Interval(
            float(low[i]),
            float(high[i]),
            level,
            "cluster percentile bootstrap",
            seed,
            resamples,
            labels.size,
            names.size,
        )
        for i, name in enumerate(METRICS)
    }


def _resampled(tables: NDArray[np.float64], resamples: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Confusion tables of the resamples, shape (resamples, 4).

    Groups with equal tables are interchangeable, so only the number drawn of each kind matters, which is multinomial
    too; there are far fewer kinds than groups.
    """
    kinds, sizes = np.unique(tables, axis=0, return_counts=True)
    groups = len(tables)
    shares = sizes / groups
    step = max(1, _CHUNK // len(kinds))
    chunks = []
    for start in range(0, resamples, step):
        weights = random.multinomial(groups, shares, size=min(step, resamples - start))
        chunks.append(weights @ kinds)
    return np.concatenate(chunks)
