"""How often two systems say the same, and how much of that is more than chance.

Cohen's kappa is the raw agreement over what two systems with the same shares of each answer, but no knowledge of each
other, would reach: (observed - expected) / (1 - expected). No answer is an answer of its own here. Where both systems
give one and the same answer to everything, nothing can be told from chance, and kappa is 0. Weighted kappa counts how
far two answers on a scale are apart: not at all (`none`), by their distance (`linear`), or by its square
(`quadratic`). Sources: Cohen, Educational and Psychological Measurement 20 (1960), 37-46; Psychological Bulletin 70
(1968), 213-220.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.clusters import cluster_sums, cluster_tables, members
from hellofresh.stats.intervals import Interval, jackknife_interval, metric_interval
from hellofresh.stats.metrics import mean, ratio


class Weighting(StrEnum):
    """How much two answers disagree by how far apart they are."""

    NONE = "none"
    LINEAR = "linear"
    QUADRATIC = "quadratic"

    def of(self, answers: int) -> NDArray[np.float64]:
        """Shape (answers, answers), 0 on the diagonal."""
        apart = np.abs(np.subtract.outer(np.arange(answers), np.arange(answers))).astype(np.float64)
        if self is Weighting.NONE:
            return (apart > 0).astype(np.float64)
        return apart if self is Weighting.LINEAR else apart**2


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
    without = _kappa(total - tables, values.size)
    made = jackknife_interval(kappa, without, first.size, tables.sum(axis=1), limits=(-1.0, 1.0), level=level)
    return AnswerAgreement(raw, raw_interval, kappa, made)


def _kappa(tables: NDArray[np.float64], answers: int) -> NDArray[np.float64]:
    """Kappa of tables of pairs of answers, shape (k, answers * answers)."""
    return weighted_kappa(tables.reshape(-1, answers, answers))


def weighted_kappa(tables: NDArray[np.float64], weighting: Weighting = Weighting.NONE) -> NDArray[np.float64]:
    """Cohen's weighted kappa; 0 where nothing can be told from chance.

    Args:
        tables: shape (..., answers, answers), how often each pair of answers was given; answers in the scale's order.
        weighting: how much two answers disagree.
    """
    seen = (tables * weighting.of(tables.shape[-1])).sum(axis=(-2, -1))
    by_chance = expected_disagreement(tables, weighting)
    n = tables.sum(axis=(-2, -1))
    known = by_chance > 1e-12 * n
    return np.where(known, 1 - ratio(seen, np.where(known, by_chance, 0.0)), 0.0)


def expected_disagreement(tables: NDArray[np.float64], weighting: Weighting) -> NDArray[np.float64]:
    """The weighted disagreement by chance alone, times the number of pairs; 0 where both gave one answer only."""
    n, weights = tables.sum(axis=(-2, -1)), weighting.of(tables.shape[-1])
    crossed = np.einsum("...i,ij,...j->...", tables.sum(axis=-1), weights, tables.sum(axis=-2))
    return ratio(crossed, n)


@dataclass(frozen=True, slots=True)
class FurtherRepetition:
    """How answers that are said to be a system's compare with repetitions of it.

    Attributes:
        agreement: mean share of repetitions that give the same answer.
        own_agreement: mean share of pairs of repetitions that do.
        p_value: that answers of the system itself would disagree as much.
    """

    agreement: float
    own_agreement: float
    p_value: float


def further_repetition(given: NDArray[np.int64], repeated: NDArray[np.int64]) -> FurtherRepetition:
    """An exact test that answers are one more repetition of a system.

    If they are, then on each sample the given answer and the repetitions are exchangeable, whatever the system's noise:
    each of them is equally likely to be the given one. The statistic is the number of repetitions that differ from the
    given answers; its distribution over all exchanges, independent between samples, is a convolution. Where repetitions
    always agree, k differing samples have a p-value of (1 / (repetitions + 1))^k at most. Source: Fisher, The Design of
    Experiments (1935), the randomisation test.

    Args:
        given: shape (n,), answers as numbers.
        repeated: shape (n, repetitions), two at least, since one alone is indistinguishable from what was given.
    """
    n, repetitions = repeated.shape
    if n < 1 or repetitions < 2:
        raise ValueError(
            f"{n} samples with {repetitions} repetitions; expected one sample and two repetitions at least"
        )
    every = np.concatenate([given[:, None], repeated], axis=1)
    differ = (every[:, :, None] != every[:, None, :]).sum(axis=2)
    chances = np.ones(1)
    for row in differ:
        chances = np.convolve(chances, np.bincount(row, minlength=repetitions + 1) / (repetitions + 1))
    own = (repeated[:, :, None] == repeated[:, None, :]).sum(axis=(1, 2)) - repetitions
    observed = int(differ[:, 0].sum())
    return FurtherRepetition(
        1 - observed / (n * repetitions),
        float(own.sum()) / (n * repetitions * (repetitions - 1)),
        min(1.0, float(chances[observed:].sum())),
    )
