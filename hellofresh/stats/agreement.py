"""Agreement of systems or raters, raw and beyond chance.

Cohen's kappa is the raw agreement beyond that of two independent systems with the same shares of each
answer: (observed - expected) / (1 - expected). A missing answer counts as a separate answer here. Where both systems
give the same single answer to everything, agreement is indistinguishable from chance, and kappa is 0. Weighted kappa
counts disagreement on a scale equally (`none`), by the distance of the answers (`linear`), or by its square
(`quadratic`).

For raters on a scale, kappa is given in two ways: for each pair of raters, averaged over pairs (a pair with constant
answers has none and is left out), and for all pairs' answers pooled. Krippendorff's alpha is for any number of raters.
Intervals are delete-one-cluster jackknifes with t of the effective number of clusters less one; a cluster holds
dependent ratings, such as those of a post. Where nearly all answers are the same, kappa is small or undefined although
raters hardly differ, since agreement by chance is nearly complete (Feinstein and Cicchetti, Journal of Clinical
Epidemiology 43 (1990), 543-549). Then read the observed agreement instead; `RaterAgreement.skewed` marks these cases.
Sources: Cohen, Educational and Psychological Measurement 20 (1960), 37-46; Psychological Bulletin 70 (1968), 213-220;
Krippendorff, Content Analysis, 2nd ed. (2004), chapter 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.arrays import Bools, Floats, Ints
from hellofresh.stats.clusters import cluster_sums, cluster_tables, members
from hellofresh.stats.intervals import Interval, jackknife_interval, metric_interval
from hellofresh.stats.metrics import mean, ratio

_SHARE = mean("share", (0.0, 1.0))
SKEWED = 0.8
"""From this share of one answer on, read the observed agreement, since kappa is uninformative."""
_Tables = tuple[Ints, Floats]  # the clusters of a pair, and a table of each


class Weighting(StrEnum):
    """The weight of a disagreement by the distance of the answers."""

    NONE = "none"
    QUADRATIC = "quadratic"

    def of(self, answers: int) -> Floats:
        """The weights, shape (answers, answers), 0 on the diagonal."""
        apart = np.subtract.outer(np.arange(answers), np.arange(answers)).astype(np.float64)
        return (apart != 0).astype(np.float64) if self is Weighting.NONE else apart**2


@dataclass(frozen=True, slots=True)
class AnswerAgreement:
    """Agreement of two systems on the same samples.

    Attributes:
        raw, raw_interval: share of samples with the same answer.
        kappa, kappa_interval: Cohen's kappa, with the delete-one-cluster jackknife.
    """

    raw: float
    raw_interval: Interval
    kappa: float
    kappa_interval: Interval


def share_interval(hits: Bools, groups: Ints | None = None) -> tuple[float, Interval]:
    """A share of samples with the default interval for samples in groups.

    Args:
        hits: shape (n,), whether each sample counts.
        groups: shape (n,), equal numbers for samples of one group; None if all are independent.

    Raises:
        ValueError: if there are no samples or shapes differ.
    """
    tables = cluster_tables(_SHARE.statistics(np.ones(hits.shape), hits.astype(np.float64)), groups)
    return float(hits.mean()), metric_interval(tables, _SHARE)


def answer_agreement(first: NDArray[np.int8], second: NDArray[np.int8], groups: Ints | None = None) -> AnswerAgreement:
    """Raw agreement and Cohen's kappa of two systems.

    Args:
        first, second: shape (n,), any numbers that stand for answers.
        groups: shape (n,), equal numbers for samples of one group; None if all are independent.

    Raises:
        ValueError: if there are no samples or shapes differ.
    """
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"answers {first.shape} and {second.shape} must be vectors of one length")
    member, clusters = members(groups, first.size)
    raw, raw_interval = share_interval(first == second, groups)
    values = np.unique(np.concatenate([first, second]))
    pairs = np.searchsorted(values, first) * values.size + np.searchsorted(values, second)
    tables = cluster_sums(np.eye(values.size**2)[pairs], member, clusters).reshape(-1, values.size, values.size)
    total = tables.sum(axis=0)
    kappa, without = float(weighted_kappa(total)), weighted_kappa(total - tables)
    made = jackknife_interval(kappa, without, first.size, tables.sum(axis=(1, 2)), limits=(-1.0, 1.0))
    return AnswerAgreement(raw, raw_interval, kappa, made)


def weighted_kappa(tables: Floats, weighting: Weighting = Weighting.NONE) -> Floats:
    """Cohen's weighted kappa; 0 where the expected disagreement is 0.

    Args:
        tables: shape (..., answers, answers), how often each pair of answers was given; answers in the scale's order.
        weighting: the weight of disagreements.
    """
    seen = (tables * weighting.of(tables.shape[-1])).sum(axis=(-2, -1))
    by_chance = expected_disagreement(tables, weighting)
    n = tables.sum(axis=(-2, -1))
    known = by_chance > 1e-12 * n
    return np.where(known, 1 - ratio(seen, np.where(known, by_chance, 0.0)), 0.0)


def expected_disagreement(tables: Floats, weighting: Weighting) -> Floats:
    """The weighted disagreement by chance, times the number of pairs; 0 if both gave the same answer throughout."""
    n, weights = tables.sum(axis=(-2, -1)), weighting.of(tables.shape[-1])
    crossed = np.einsum("...i,ij,...j->...", tables.sum(axis=-1), weights, tables.sum(axis=-2))
    return ratio(crossed, n)


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """Agreement of pairs of raters on one scale.

    Attributes:
        pairs: the pairs' numbers, in order.
        by_pair: kappa of each pair; nan where all its answers are the same.
        mean, mean_interval: over the pairs with a kappa; nan without any.
        pooled, pooled_interval: of all answers together.
        observed: share of equal answers.
        largest_share: of the most frequent answer.
    """

    pairs: tuple[int, ...]
    by_pair: tuple[float, ...]
    mean: float
    mean_interval: Interval
    pooled: float
    pooled_interval: Interval
    observed: float
    largest_share: float

    @property
    def skewed(self) -> bool:
        """Whether one answer is so frequent that the observed agreement should be read instead of kappa."""
        return self.largest_share >= SKEWED


class Distance(StrEnum):
    """The distance of two answers in Krippendorff's alpha."""

    ORDINAL = "ordinal"
    INTERVAL = "interval"
    NOMINAL = "nominal"


@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's alpha; nan if no unit has two ratings or all answers are the same."""

    value: float
    interval: Interval
    units: int


def rater_agreement(
    first: Ints, second: Ints, answers: int, *, pairs: Ints | None = None, groups: Ints | None = None
) -> RaterAgreement:
    """Agreement of pairs of raters; a disagreement weighs by its square, since answers are in the scale's order.

    Args:
        first, second: shape (n,), answers as indices into the scale.
        answers: number of answers of the scale.
        pairs: shape (n,), the pair of raters of each; one pair if left out.
        groups: shape (n,), equal numbers for dependent ratings; None if all are independent.

    Raises:
        ValueError: if there are no answers or shapes differ.
    """
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"answers {first.shape} and {second.shape} must be vectors of one length")
    member, clusters = members(groups, first.size)
    cells = first * answers + second
    pair = np.zeros(first.size, dtype=np.int64) if pairs is None else pairs
    names = np.unique(pair)
    tables = [_tables(cells[pair == name], member[pair == name], answers) for name in names.tolist()]
    whole, without = _means(tables, clusters)
    total = np.sum([part.sum(axis=0) for _, part in tables], axis=0)
    weights = np.bincount(member, minlength=clusters).astype(np.float64)
    counted = first.size, weights
    of_cluster = np.zeros((clusters, answers, answers))
    for cluster, part in tables:
        of_cluster[cluster] += part
    pooled_without = weighted_kappa(total - of_cluster, Weighting.QUADRATIC)
    pooled = float(weighted_kappa(total, Weighting.QUADRATIC))
    return RaterAgreement(
        tuple(names.tolist()),
        tuple(_kappa(part.sum(axis=0)) for _, part in tables),
        whole,
        jackknife_interval(whole, without, *counted, limits=(-1.0, 1.0)),
        pooled,
        jackknife_interval(pooled, pooled_without, *counted, limits=(-1.0, 1.0)),
        float((first == second).mean()),
        float((total.sum(axis=0) + total.sum(axis=1)).max() / (2 * first.size)),
    )


def _tables(cells: Ints, member: Ints, answers: int) -> _Tables:
    names, where = np.unique(member, return_inverse=True)
    counts = np.bincount(where * answers**2 + cells, minlength=names.size * answers**2)
    return names, counts.reshape(-1, answers, answers).astype(np.float64)


def _kappa(table: Floats) -> float:
    known = float(expected_disagreement(table, Weighting.QUADRATIC)) > 0
    return float(weighted_kappa(table, Weighting.QUADRATIC)) if known else float("nan")


def _means(tables: Sequence[_Tables], clusters: int) -> tuple[float, Floats]:
    """The mean kappa of the pairs, with all clusters and without each."""
    values, columns = [], []
    for names, part in tables:
        total = part.sum(axis=0)
        values.append(_kappa(total))
        column = np.full(clusters, values[-1])
        column[names] = weighted_kappa(total - part, Weighting.QUADRATIC)
        columns.append(column)
    known = [number for number, value in enumerate(values) if not np.isnan(value)]
    if not known:
        return float("nan"), np.full(clusters, np.nan)
    return float(np.mean([values[number] for number in known])), np.mean([columns[number] for number in known], axis=0)


def krippendorff_alpha(
    units: Ints, answers: Ints, *, distance: Distance = Distance.INTERVAL, groups: Ints | None = None
) -> Alpha:
    """Krippendorff's alpha of any number of raters, each of whom may leave units out.

    >>> units, answers = np.array([0, 0, 1, 1, 2, 2]), np.array([1, 1, 2, 3, 3, 3])
    >>> round(krippendorff_alpha(units, answers).value, 3)
    0.828

    Args:
        units: shape (n,), the number of the rated unit for each rating.
        answers: shape (n,), whole numbers of the scale, from 0.
        distance: the distance of two answers; `interval` uses their difference, `nominal` only whether they
            are equal.
        groups: shape (n,), equal numbers for dependent units; None if units are independent.

    Raises:
        ValueError: if there are no ratings or shapes differ.
    """
    if units.shape != answers.shape or units.ndim != 1:
        raise ValueError(f"units {units.shape} and answers {answers.shape} must be vectors of one length")
    member, clusters = members(units if groups is None else groups, units.size)
    names, unit = np.unique(units, return_inverse=True)
    values, answer = np.unique(answers, return_inverse=True)
    counts = np.zeros((names.size, values.size))
    np.add.at(counts, (unit, answer), 1.0)
    cluster = np.zeros(names.size, dtype=np.int64)
    cluster[unit] = member
    rated = counts.sum(axis=1)
    counts[rated < 2] = 0.0
    pairable = cluster_sums(counts, cluster, clusters)
    met = cluster_sums(_coincidences(counts), cluster, clusters).reshape(clusters, values.size, values.size)
    total, coincidences = pairable.sum(axis=0), met.sum(axis=0)
    value = float(_alpha(total[None], coincidences[None], values, distance)[0])
    without = _alpha(total - pairable, coincidences - met, values, distance)
    counted = int(rated[rated > 1].sum()), pairable.sum(axis=1)
    return Alpha(value, jackknife_interval(value, without, *counted, limits=(-1.0, 1.0)), int((rated > 1).sum()))


def _coincidences(counts: Floats) -> Floats:
    """How often two answers occur together in each unit, shape (units, values * values)."""
    both = counts[:, :, None] * counts[:, None, :]
    both[:, np.arange(counts.shape[1]), np.arange(counts.shape[1])] -= counts
    others = np.maximum(counts.sum(axis=1) - 1, 1)
    met: Floats = both / others[:, None, None]
    return met.reshape(len(counts), -1)


def _alpha(totals: Floats, coincidences: Floats, values: Ints, distance: Distance) -> Floats:
    """Alpha of each row of totals, shape (k, values), and coincidences, shape (k, values, values)."""
    apart = np.stack([_distances(row, values, distance) for row in totals])
    seen = (coincidences * apart).sum(axis=(1, 2))
    crossed = (totals[:, :, None] * totals[:, None, :] * apart).sum(axis=(1, 2))
    n = totals.sum(axis=1)
    expected = ratio(crossed, n - 1)
    return np.where(expected > 0, 1 - ratio(seen, expected), np.nan)


def _distances(total: Floats, values: Ints, distance: Distance) -> Floats:
    if distance is not Distance.ORDINAL:
        apart: Floats = np.subtract.outer(values, values).astype(np.float64)
        return apart**2 if distance is Distance.INTERVAL else (apart != 0).astype(np.float64)
    middle = np.cumsum(total) - total / 2  # counts all answers between two answers, and half of these two
    return np.subtract.outer(middle, middle) ** 2
