"""How far raters agree on a scale: weighted kappa over pairs of raters, and Krippendorff's alpha of any number of them.

Kappa is given in two ways: of each pair of raters, averaged over pairs (a pair without a spread of answers has none
and is left out), and of all pairs' answers pooled. Intervals are delete-one-cluster jackknifes with t of the
effective number of clusters less one; a cluster is what two ratings must not share, such as a post. Where nearly all
answers are the same, kappa is small or has no value although raters hardly differ: what chance alone would reach is
nearly everything (Feinstein and Cicchetti, Journal of Clinical Epidemiology 43 (1990), 543-549). The observed
agreement is then the figure to read; `RaterAgreement.skewed` says where. Sources: as in `hellofresh.stats.agreement`;
Krippendorff, Content Analysis, 2nd ed. (2004), chapter 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.agreement import Weighting, expected_disagreement, weighted_kappa
from hellofresh.stats.clusters import cluster_sums, members
from hellofresh.stats.intervals import Interval, jackknife_interval
from hellofresh.stats.metrics import ratio

SKEWED = 0.8
"""From this share of one answer on, kappa says little and the observed agreement is to be read."""


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """Pairs of raters on one scale.

    Attributes:
        pairs: the pairs' numbers, in order.
        by_pair: kappa of each pair; nan where all its answers are the same.
        mean, mean_interval: over the pairs that have one; nan if none has.
        pooled, pooled_interval: of all answers together.
        observed, observed_interval: share of equal answers.
        largest_share: of the most frequent answer.
    """

    pairs: tuple[int, ...]
    by_pair: tuple[float, ...]
    mean: float
    mean_interval: Interval
    pooled: float
    pooled_interval: Interval
    observed: float
    observed_interval: Interval
    largest_share: float

    @property
    def skewed(self) -> bool:
        """Whether one answer is so frequent that the observed agreement is to be read instead of kappa."""
        return self.largest_share >= SKEWED


class Distance(StrEnum):
    """How far apart two answers are, for Krippendorff's alpha."""

    ORDINAL = "ordinal"
    INTERVAL = "interval"
    NOMINAL = "nominal"


@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's alpha; nan where nothing is rated twice or all answers are the same."""

    value: float
    interval: Interval
    units: int


def rater_agreement(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    answers: int,
    *,
    pairs: NDArray[np.int64] | None = None,
    groups: NDArray[np.int64] | None = None,
    weighting: Weighting = Weighting.QUADRATIC,
    level: float = 0.95,
) -> RaterAgreement:
    """Agreement of pairs of raters.

    Args:
        first, second: shape (n,), answers as indices into the scale.
        answers: number of answers of the scale.
        pairs: shape (n,), which pair of raters gave them; one pair if left out.
        groups: shape (n,), equal numbers for what belongs together; None if all are independent.
        weighting: how much two answers disagree.
        level: nominal coverage.

    Raises:
        ValueError: if there is no answer or shapes differ.
    """
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"answers {first.shape} and {second.shape} must be vectors of one length")
    member, clusters = members(groups, first.size)
    cells = first * answers + second
    pair = np.zeros(first.size, dtype=np.int64) if pairs is None else pairs
    names = np.unique(pair)
    tables = [_tables(cells[pair == name], member[pair == name], answers) for name in names.tolist()]
    whole, without = _means(tables, clusters, weighting)
    total = np.sum([part.sum(axis=0) for _, part in tables], axis=0)
    weights = np.bincount(member, minlength=clusters).astype(np.float64)
    counted = first.size, weights
    pooled_without = weighted_kappa(total - _summed(tables, clusters, answers), weighting)
    equal = cluster_sums((first == second)[:, None].astype(np.float64), member, clusters)[:, 0]
    observed_without = ratio(equal.sum() - equal, first.size - weights)
    pooled = float(weighted_kappa(total, weighting))
    observed = float(equal.sum() / first.size)
    return RaterAgreement(
        tuple(names.tolist()),
        tuple(_kappa(part.sum(axis=0), weighting) for _, part in tables),
        whole,
        jackknife_interval(whole, without, *counted, limits=(-1.0, 1.0), level=level),
        pooled,
        jackknife_interval(pooled, pooled_without, *counted, limits=(-1.0, 1.0), level=level),
        observed,
        jackknife_interval(observed, observed_without, *counted, limits=(0.0, 1.0), level=level),
        float((total.sum(axis=0) + total.sum(axis=1)).max() / (2 * first.size)),
    )


_Tables = tuple[NDArray[np.int64], NDArray[np.float64]]
"""The clusters that a pair has, and a table of each."""


def _tables(cells: NDArray[np.int64], member: NDArray[np.int64], answers: int) -> _Tables:
    names, where = np.unique(member, return_inverse=True)
    counts = np.bincount(where * answers**2 + cells, minlength=names.size * answers**2)
    return names, counts.reshape(-1, answers, answers).astype(np.float64)


def _summed(tables: Sequence[_Tables], clusters: int, answers: int) -> NDArray[np.float64]:
    """The table of each cluster over all pairs."""
    found = np.zeros((clusters, answers, answers))
    for names, part in tables:
        found[names] += part
    return found


def _kappa(table: NDArray[np.float64], weighting: Weighting) -> float:
    known = float(expected_disagreement(table, weighting)) > 0
    return float(weighted_kappa(table, weighting)) if known else float("nan")


def _means(tables: Sequence[_Tables], clusters: int, weighting: Weighting) -> tuple[float, NDArray[np.float64]]:
    """The mean kappa of the pairs, and the same without each cluster."""
    values, columns = [], []
    for names, part in tables:
        total = part.sum(axis=0)
        values.append(_kappa(total, weighting))
        column = np.full(clusters, values[-1])
        column[names] = weighted_kappa(total - part, weighting)
        columns.append(column)
    known = [number for number, value in enumerate(values) if not np.isnan(value)]
    if not known:
        return float("nan"), np.full(clusters, np.nan)
    return float(np.mean([values[number] for number in known])), np.mean([columns[number] for number in known], axis=0)


def krippendorff_alpha(
    units: NDArray[np.int64],
    answers: NDArray[np.int64],
    *,
    distance: Distance = Distance.INTERVAL,
    groups: NDArray[np.int64] | None = None,
    level: float = 0.95,
) -> Alpha:
    """Krippendorff's alpha of any number of raters, each of whom may leave units out.

    Args:
        units: shape (n,), what was rated, a number for each rating.
        answers: shape (n,), whole numbers of the scale, from 0.
        distance: how far apart two answers are; `interval` takes the numbers as they are, `nominal` knows only same
            and other.
        groups: shape (n,), equal numbers for units that belong together; None if units are independent.
        level: nominal coverage.

    Raises:
        ValueError: if there is no rating or shapes differ.
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
    return Alpha(
        value, jackknife_interval(value, without, *counted, limits=(-1.0, 1.0), level=level), int((rated > 1).sum())
    )


def _coincidences(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often two answers meet in each unit, shape (units, values * values)."""
    both = counts[:, :, None] * counts[:, None, :]
    both[:, np.arange(counts.shape[1]), np.arange(counts.shape[1])] -= counts
    others = np.maximum(counts.sum(axis=1) - 1, 1)
    met: NDArray[np.float64] = both / others[:, None, None]
    return met.reshape(len(counts), -1)


def _alpha(
    totals: NDArray[np.float64],
    coincidences: NDArray[np.float64],
    values: NDArray[np.int64],
    distance: Distance,
) -> NDArray[np.float64]:
    """Alpha of each row of totals, shape (k, values), and coincidences, shape (k, values, values)."""
    apart = np.stack([_distances(row, values, distance) for row in totals])
    seen = (coincidences * apart).sum(axis=(1, 2))
    crossed = (totals[:, :, None] * totals[:, None, :] * apart).sum(axis=(1, 2))
    n = totals.sum(axis=1)
    expected = ratio(crossed, n - 1)
    return np.where(expected > 0, 1 - ratio(seen, expected), np.nan)


def _distances(total: NDArray[np.float64], values: NDArray[np.int64], distance: Distance) -> NDArray[np.float64]:
    if distance is not Distance.ORDINAL:
        apart: NDArray[np.float64] = np.subtract.outer(values, values).astype(np.float64)
        return apart**2 if distance is Distance.INTERVAL else (apart != 0).astype(np.float64)
    middle = np.cumsum(total) - total / 2  # so that between two answers lie all of those between, and half of both
    found: NDArray[np.float64] = np.subtract.outer(middle, middle) ** 2
    return found
