"""Drawing groups with replacement: how often each of them is drawn in a resample, which draws as many as there are.

Source: Davison and Hinkley, Bootstrap Methods and their Application (1997), sections 2.4 and 3.8.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_CHUNK = 4_000_000
"""Most weights drawn at once; bounds memory to a few tens of megabytes."""


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
