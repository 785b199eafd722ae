"""How often two systems say the same, and how much of that is more than chance.

Cohen's kappa is the raw agreement over what two systems with the same shares of each answer, but no knowledge of each
other, would reach: (observed - expected) / (1 - expected). No answer is an answer of its own here. Where both systems
give one and the same answer to everything, nothing can be told from chance, and kappa is 0.
Source: Cohen, Educational and Psychological Measurement 20 (1960), 37-46.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.metrics import mean, ratio
from hellofresh.stats.clusters import cluster_sums, cluster_tables, effective_clusters, members
from hellofresh.stats.intervals import Interval, Method, jackknife_variance, metric_interval, t_quantiles

__all__ = ["AnswerAgreement", "answer_agreement", "share_interval"]

_SHARE = mean("share", (0.0, 1.0))


@dataclass(frozen=True, slots=True)
class AnswerAgreement:
    """Two systems on the same samples.

    Attributes:
        raw, raw_interval: share of samples with the same answer.
        kappa, kappa_interval: Cohen's kappa, with the delete-one-cluster jackknife.
    """

    raw: float
    raw_interval: Interval
    kappa: float
    kappa_interval: Interval


def share_interval(
    hits: NDArray[np.bool_], groups: NDArray[np.int64] | None = None, *, level: float = 0.95
) -> tuple[float, Interval]:
    """A share of samples with the default interval for samples in groups.

    Args:
        hits: shape (n,), which samples are counted.
        groups: shape (n,), equal numbers for samples of one group; None if all are independent.
        level: nominal coverage.

    Raises:
        ValueError: if there is no sample or shapes differ.
    """
    tables = cluster_tables(_SHARE.statistics(np.ones(hits.shape), hits.astype(np.float64)), groups)
    return float(hits.mean()), metric_interval(tables, _SHARE, level=level)


def answer_agreement(
    first: NDArray[np.int8],
    second: NDArray[np.int8],
    groups: NDArray[np.int64] | None = None,
    *,
    level: float = 0.95,
) -> AnswerAgreement:
    """Raw agreement and Cohen's kappa of two systems.

    Args:
        first, second: shape (n,), any numbers that stand for answers.
        groups: shape (n,), equal numbers for samples of one group; None if all are independent.
        level: nominal coverage.

    Raises:
        ValueError: if there is no sample or shapes differ.
    """
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"answers {first.shape} and {second.shape} must be vectors of one length")
    member, clusters = members(groups, first.size)
    raw, raw_interval = share_interval(first == second, groups, level=level)
    values = np.unique(np.concatenate([first, second]))
    pairs = np.searchsorted(values, first) * values.size + np.searchsorted(values, second)
    tables = cluster_sums(np.eye(values.size**2)[pairs], member, clusters)
    total = tables.sum(axis=0)
    kappa = float(_kappa(total[None], values.size)[0])
    effective = float(effective_clusters(tables.sum(axis=1)))
    counted = (first.size, clusters, effective)
    if clusters == 1:
        return AnswerAgreement(raw, raw_interval, kappa, Interval(-1.0, 1.0, level, Method.NONE, 0, 0, *counted))
    error = float(np.sqrt(jackknife_variance(_kappa(total - tables, values.size))))
    half = float(t_quantiles((1 + level) / 2, np.array(max(effective - 1, 1.0)))) * error
    low, high = max(-1.0, kappa - half), min(1.0, kappa + half)
    return AnswerAgreement(raw, raw_interval, kappa, Interval(low, high, level, Method.JACKKNIFE, 0, 0, *counted))


def _kappa(tables: NDArray[np.float64], answers: int) -> NDArray[np.float64]:
    """Kappa of tables of pairs of answers, shape (k, answers * answers)."""
    square = tables.reshape(-1, answers, answers)
    n = square.sum(axis=(1, 2))
    observed = ratio(np.trace(square, axis1=1, axis2=2), n)
    expected = ratio((square.sum(axis=1) * square.sum(axis=2)).sum(axis=1), n**2)
    rest = np.where(expected < 1 - 1e-12, 1 - expected, 0.0)
    return ratio(observed - expected, rest)
