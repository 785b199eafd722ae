"""One system on two parts of the samples: does it do better on the one than on the other?

The parts are disjoint, but a group may have samples in both, so the difference is made anew without each group in turn
(delete-one-cluster jackknife) and its interval is of t with the smaller part's effective number of clusters less one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.clusters import effective_clusters
from hellofresh.stats.intervals import Interval, Method, jackknife_variance, t_quantiles
from hellofresh.stats.metrics import Metric

__all__ = ["PartsComparison", "compare_parts"]


@dataclass(frozen=True, slots=True)
class PartsComparison:
    """A metric in the part and in the rest.

    Attributes:
        metric: what is compared.
        part, rest: the values.
        interval: of part minus rest; all that is possible where a part has samples of one group only.
    """

    metric: Metric
    part: float
    rest: float
    interval: Interval

    @property
    def difference(self) -> float:
        """By how much the value of the part is higher."""
        return self.part - self.rest


def compare_parts(
    part: NDArray[np.float64], rest: NDArray[np.float64], metric: Metric, *, level: float = 0.95, n: int | None = None
) -> PartsComparison:
    """Compare a system on some samples with the same system on the others.

    Args:
        part, rest: shape (g, k), sums over the samples of either part, by cluster of the whole; 0 where a cluster has
            none there.
        metric: which metric.
        level: nominal coverage.
        n: samples of both, where the statistics' size is not their number.

    Raises:
        ValueError: if shapes differ, or one of the parts is empty.
    """
    sizes = [metric.statistics.size(side) for side in (part, rest)]
    if part.shape != rest.shape or not all(size.any() for size in sizes):
        raise ValueError("some samples must be in the part, and some not")
    first, second = part.sum(axis=0), rest.sum(axis=0)
    here, there = (float(metric.value(total)) for total in (first, second))
    effective = min(float(effective_clusters(size)) for size in sizes)
    counted = (round(float(sum(size.sum() for size in sizes))) if n is None else n, len(part), effective)
    if min(np.count_nonzero(size) for size in sizes) < 2:
        none = Interval(-metric.span, metric.span, level, Method.NONE, 0, 0, *counted)
        return PartsComparison(metric, here, there, none)
    without = metric.value(first - part) - metric.value(second - rest)
    error = float(np.sqrt(jackknife_variance(without)))
    half = float(t_quantiles((1 + level) / 2, np.array(max(effective - 1, 1.0)))) * error
    apart = here - there
    low, high = max(-metric.span, apart - half), min(metric.span, apart + half)
    return PartsComparison(metric, here, there, Interval(low, high, level, Method.JACKKNIFE, 0, 0, *counted))
