"""One system on two parts of the samples: does it do better on the one than on the other?

The parts are disjoint, but a group may have samples in both, so the difference is made anew without each group in turn
(delete-one-cluster jackknife) and its interval is of t with the smaller part's effective number of clusters less one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.clusters import cluster_sums, effective_clusters, members
from hellofresh.stats.counts import evaluate, indicator_matrix
from hellofresh.stats.intervals import Interval, Method, jackknife_variance, t_quantiles

__all__ = ["PartsComparison", "compare_parts"]


@dataclass(frozen=True, slots=True)
class PartsComparison:
    """A metric in the part and in the rest.

    Attributes:
        metric: what is compared.
        part, rest: the values.
        interval: of part minus rest; from -1 to 1 where a part has samples of one group only.
    """

    metric: str
    part: float
    rest: float
    interval: Interval

    @property
    def difference(self) -> float:
        """By how much the part is better."""
        return self.part - self.rest


def compare_parts(
    labels: NDArray[np.int8],
    predictions: NDArray[np.int8],
    part: NDArray[np.bool_],
    groups: NDArray[np.int64] | None = None,
    *,
    metric: str = "f1",
    level: float = 0.95,
) -> PartsComparison:
    """Compare a system on some samples with the same system on the others.

    Args:
        labels: shape (n,), 0 or 1.
        predictions: shape (n,), 0, 1 or -1 for no answer.
        part: shape (n,), which samples are the part; some, not all.
        groups: shape (n,), equal numbers for samples of one group; None if all are independent.
        metric: a name in `ALL_METRICS`.
        level: nominal coverage.

    Raises:
        ValueError: if shapes differ, or one of the parts is empty.
    """
    if part.shape != labels.shape or part.all() or not part.any():
        raise ValueError("some samples must be in the part, and some not")
    member, clusters = members(groups, labels.size)
    cells = indicator_matrix(labels, predictions)
    one, two = (cluster_sums(cells * side[:, None], member, clusters) for side in (part, ~part))
    first, second = one.sum(axis=0), two.sum(axis=0)
    here, there = (float(evaluate(total, metric)) for total in (first, second))
    sizes = [side.sum(axis=1) for side in (one, two)]
    effective = min(float(effective_clusters(size)) for size in sizes)
    counted = (labels.size, clusters, effective)
    if min(np.count_nonzero(size) for size in sizes) < 2:
        return PartsComparison(metric, here, there, Interval(-1.0, 1.0, level, Method.NONE, 0, 0, *counted))
    without = evaluate(first - one, metric) - evaluate(second - two, metric)
    error = float(np.sqrt(jackknife_variance(without)))
    half = float(t_quantiles((1 + level) / 2, np.array(max(effective - 1, 1.0)))) * error
    apart = here - there
    low, high = max(-1.0, apart - half), min(1.0, apart + half)
    return PartsComparison(metric, here, there, Interval(low, high, level, Method.JACKKNIFE, 0, 0, *counted))
