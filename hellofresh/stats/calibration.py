"""Whether stated probabilities are true: reliability curve, ECE, Brier score with its parts, and AUC.

Intervals resample groups of samples; the bins stay as the data made them. A resample is a little less calibrated than
the data, so the interval of ECE, which cannot be below 0, leans upwards. Where all resamples say the same (an AUC of
1, say), the interval is Wilson's with the effective number of clusters as its number of samples.
Sources: Naeini, Cooper and Hauskrecht, AAAI 2015 (ECE); Murphy, Journal of Applied Meteorology 12 (1973), 595-600, and
Stephenson, Coelho and Jolliffe, Weather and Forecasting 23 (2008), 752-757 (Brier score and what bins leave in it);
Hanley and McNeil, Radiology 143 (1982), 29-36 (AUC).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.clusters import cluster_sums, effective_clusters, members
from hellofresh.stats.intervals import Interval, Method, cluster_wilson_limits, t_quantiles, wilson_limits
from hellofresh.stats.metrics import mean, ratio
from hellofresh.stats.resampling import cluster_weights, percentile_limits

__all__ = ["Bin", "Calibration", "CalibrationGap", "area_under_curve", "calibrate", "compare_calibrations"]

_SHARE = mean("share", (0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Bin:
    """A step of the reliability curve.

    Attributes:
        count: samples in it.
        confidence: their mean probability that the label is 1.
        share: how many of them have label 1, from 0 to 1.
        interval: of the share.
    """

    count: int
    confidence: float
    share: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Calibration:
    """How true stated probabilities are.

    Attributes:
        ece, ece_interval: expected calibration error over bins of equal width.
        ece_mass, ece_mass_interval: over bins with about equally many samples; equal confidences stay together.
        brier, brier_interval: mean squared distance of probability and label.
        reliability, resolution, uncertainty, within: brier = reliability - resolution + uncertainty + within, over the
            bins of equal width; `within` is what differing confidences within a bin add, 0 where a bin has one value.
        auc, auc_interval: probability that a sample of label 1 has the higher confidence than one of label 0, ties
            half; nan with limits 0 and 1 where a label does not occur.
        curve: the bins of equal width that are not empty, from low to high.
        curve_mass: the same for bins of equal mass.
    """

    ece: float
    ece_interval: Interval
    ece_mass: float
    ece_mass_interval: Interval
    brier: float
    brier_interval: Interval
    reliability: float
    resolution: float
    uncertainty: float
    within: float
    auc: float
    auc_interval: Interval
    curve: Sequence[Bin]
    curve_mass: Sequence[Bin]


@dataclass(frozen=True, slots=True)
class _Frame:
    """What all intervals share."""

    clusters: int
    n: int
    effective: float
    level: float
    resamples: int
    seed: int

    def interval(self, value: float, draws: NDArray[np.float64]) -> Interval:
        counted = (self.n, self.clusters, self.effective)
        if self.clusters == 1 or np.isnan(value):
            return Interval(0.0, 1.0, self.level, Method.NONE, 0, 0, *counted)
        low, high = (float(limit) for limit in percentile_limits(draws[~np.isnan(draws)], self.level))
        if low < high:
            return Interval(low, high, self.level, Method.PERCENTILE, self.seed, self.resamples, *counted)
        quantile = t_quantiles((1 + self.level) / 2, np.array(max(self.effective - 1, 1.0)))
        low, high = (float(end) for end in wilson_limits(np.array(value), np.array(self.effective), quantile))
        return Interval(low, high, self.level, Method.CLUSTER_WILSON, 0, 0, *counted)


def calibrate(
    labels: NDArray[np.int8],
    confidences: NDArray[np.float64],
    groups: NDArray[np.int64] | None = None,
    *,
    bins: int = 10,
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Calibration:
    """Everything about stated probabilities, with intervals by groups.

    Args:
        labels: shape (n,), 0 or 1.
        confidences: shape (n,), probability that the label is 1, from 0 to 1.
        groups: shape (n,), equal numbers for samples of one group; None if all are independent.
        bins: how many, of either kind; bins of equal mass are fewer where many confidences are equal.
        level: nominal coverage.
        resamples: number of resamples.
        seed: the same seed and data give the same limits.

    Raises:
        ValueError: if there is no sample, shapes differ, or a confidence is not between 0 and 1.
    """
    member, clusters = members(groups, labels.size)
    effective = float(effective_clusters(np.bincount(member).astype(np.float64)))
    frame = _Frame(clusters, labels.size, effective, level, resamples, seed)
    sums = _Sums.of(labels, confidences, member, clusters, bins)
    columns, width, mass = sums.columns, sums.width, sums.mass
    order = _Order.of(labels, confidences)
    drawn: list[NDArray[np.float64]] = []
    for weights in cluster_weights(clusters, resamples, np.random.default_rng(seed)):
        wide = weights.astype(np.float64)
        drawn.append(np.column_stack([_errors(wide @ columns, width.shape[1]), order.area(wide[:, member])]))
    draws = np.concatenate(drawn)
    brier, ece, ece_mass = _errors(columns.sum(axis=0)[None], width.shape[1])[0].tolist()
    auc = float(order.area(np.ones((1, labels.size)))[0])
    values = (brier, ece, ece_mass, auc)
    of = [frame.interval(value, column) for value, column in zip(values, draws.T, strict=True)]
    parts = _decomposed(width.sum(axis=0), brier)
    return Calibration(
        ece, of[1], ece_mass, of[2], brier, of[0], *parts, auc, of[3], _curve(width, frame), _curve(mass, frame)
    )


@dataclass(frozen=True, slots=True)
class CalibrationGap:
    """By how much one system's stated probabilities are less true than another's, on the same samples.

    Attributes:
        ece, ece_mass, brier: first minus second; above 0 the second is the better one.
        ece_interval, ece_mass_interval, brier_interval: of these differences.
    """

    ece: float
    ece_interval: Interval
    ece_mass: float
    ece_mass_interval: Interval
    brier: float
    brier_interval: Interval


def compare_calibrations(
    first: tuple[NDArray[np.int8], NDArray[np.float64]],
    second: tuple[NDArray[np.int8], NDArray[np.float64]],
    groups: NDArray[np.int64] | None = None,
    *,
    bins: int = 10,
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> CalibrationGap:
    """The difference of two systems' calibrations; a resample draws the same groups for both.

    Args:
        first, second: labels and probabilities of each, as for `calibrate`; sample by sample the same. Labels may
            differ: of the certainty that a choice is right, the label says whether it is.
        groups, bins, level, resamples, seed: as for `calibrate`.

    Raises:
        ValueError: as `calibrate`, or if the two differ in length.
    """
    if first[0].shape != second[0].shape:
        raise ValueError("two systems are compared on the same samples")
    member, clusters = members(groups, first[0].size)
    values, draws = zip(
        *(_resampled(_Sums.of(*one, member, clusters, bins), resamples, seed) for one in (first, second)), strict=True
    )
    effective = float(effective_clusters(np.bincount(member).astype(np.float64)))
    differences = values[0] - values[1]
    limits = np.stack(percentile_limits(draws[0] - draws[1], level), axis=-1)
    found = [(-1.0, 1.0) if clusters == 1 else (float(low), float(high)) for low, high in limits]
    method = Method.NONE if clusters == 1 else Method.PERCENTILE
    brier, ece, mass = (
        Interval(low, high, level, method, seed, resamples, first[0].size, clusters, effective) for low, high in found
    )
    return CalibrationGap(float(differences[1]), ece, float(differences[2]), mass, float(differences[0]), brier)


def _resampled(sums: _Sums, resamples: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Brier score and both ECEs of the samples, shape (3,), and of resamples of groups, shape (resamples, 3)."""
    draws = [
        _errors(weights.astype(np.float64) @ sums.columns, sums.bins)
        for weights in cluster_weights(len(sums.columns), resamples, np.random.default_rng(seed))
    ]
    return _errors(sums.columns.sum(axis=0)[None], sums.bins)[0], np.concatenate(draws)


@dataclass(frozen=True, slots=True)
class _Sums:
    """What errors are made of, by cluster: squares, then bins of equal width and of equal mass.

    Attributes:
        columns: all of them, shape (clusters, k).
        width, mass: the bins alone, shape (clusters, bins, 3).
    """

    columns: NDArray[np.float64]
    width: NDArray[np.float64]
    mass: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        labels: NDArray[np.int8],
        confidences: NDArray[np.float64],
        member: NDArray[np.int64],
        clusters: int,
        bins: int,
    ) -> _Sums:
        _check(labels, confidences)
        kinds = [_bin_of(confidences, edges) for edges in _edges(confidences, bins)]
        squares = cluster_sums(((confidences - labels) ** 2)[:, None], member, clusters)
        width, mass = (_bin_sums(labels, confidences, kind, member, clusters) for kind in kinds)
        columns = np.concatenate([squares, width.reshape(clusters, -1), mass.reshape(clusters, -1)], axis=1)
        return cls(columns, width, mass)

    @property
    def bins(self) -> int:
        """Bins of equal width."""
        return int(self.width.shape[1])


def _check(labels: NDArray[np.int8], confidences: NDArray[np.float64]) -> None:
    if confidences.shape != labels.shape or not ((confidences >= 0) & (confidences <= 1)).all():
        raise ValueError("confidences must be between 0 and 1, one for each label")
    if not np.isin(labels, (0, 1)).all():
        raise ValueError("labels must be 0 or 1")


def area_under_curve(labels: NDArray[np.int8], confidences: NDArray[np.float64]) -> float:
    """How often a sample of label 1 has the higher confidence than one of label 0, ties half; nan if one is missing."""
    return float(_Order.of(labels, confidences).area(np.ones((1, labels.size)))[0])


@dataclass(frozen=True, slots=True)
class _Order:
    """Samples sorted by confidence: their order, where each value starts, and their labels."""

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    positive: NDArray[np.float64]

    @classmethod
    def of(cls, labels: NDArray[np.int8], confidences: NDArray[np.float64]) -> _Order:
        order = np.argsort(confidences, kind="stable")
        starts = np.unique(confidences[order], return_index=True)[1]
        return cls(order, starts, labels[order].astype(np.float64))

    def area(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """AUC with each sample weighted; weights of shape (resamples, n)."""
        sorted_weights = weights[:, self.order]
        positive = np.add.reduceat(sorted_weights * self.positive, self.starts, axis=1)
        negative = np.add.reduceat(sorted_weights * (1 - self.positive), self.starts, axis=1)
        below = negative.cumsum(axis=1) - negative / 2
        pairs = positive.sum(axis=1) * negative.sum(axis=1)
        with np.errstate(invalid="ignore"):
            found: NDArray[np.float64] = (positive * below).sum(axis=1) / pairs
        return found


def _edges(confidences: NDArray[np.float64], bins: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The inner edges of bins of equal width, and of equal mass."""
    inner = np.arange(1, bins) / bins
    return inner, np.unique(np.quantile(confidences, inner, method="higher"))


def _bin_of(confidences: NDArray[np.float64], edges: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """Each sample's bin, an edge belonging to the bin above it, and how many bins there are."""
    return np.searchsorted(edges, confidences, side="right"), edges.size + 1


def _bin_sums(
    labels: NDArray[np.int8],
    confidences: NDArray[np.float64],
    binned: tuple[NDArray[np.int64], int],
    member: NDArray[np.int64],
    clusters: int,
) -> NDArray[np.float64]:
    """Samples, confidences and labels by cluster and bin, shape (clusters, bins, 3)."""
    where, bins = binned
    values = np.stack([np.ones(labels.size), confidences, labels.astype(np.float64)], axis=1)
    return cluster_sums(values, member * bins + where, clusters * bins).reshape(clusters, bins, 3)


def _errors(columns: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Brier score and both ECEs of sums, shape (..., 3)."""
    width, mass = columns[:, 1 : 1 + 3 * bins], columns[:, 1 + 3 * bins :]
    found = [columns[:, 0]]
    n = width[:, ::3].sum(axis=1)
    found += [np.abs(part[:, 1::3] - part[:, 2::3]).sum(axis=1) for part in (width, mass)]
    means: NDArray[np.float64] = np.stack(found, axis=1) / n[:, None]
    return means


def _decomposed(sums: NDArray[np.float64], brier: float) -> tuple[float, float, float, float]:
    count, confidence, positive = sums.T
    n, base = count.sum(), positive.sum() / count.sum()
    mean, share = ratio(confidence, count), ratio(positive, count)
    reliability = float((count * (mean - share) ** 2).sum() / n)
    resolution = float((count * (share - base) ** 2).sum() / n)
    uncertainty = float(base * (1 - base))
    return reliability, resolution, uncertainty, brier - (reliability - resolution + uncertainty)


def _curve(sums: NDArray[np.float64], frame: _Frame) -> list[Bin]:
    found = []
    for column in np.moveaxis(sums, 1, 0):
        part = column[column[:, 0] > 0]
        if not len(part):
            continue
        count, confidence, positive = part.sum(axis=0).tolist()
        low, high, method = 0.0, 1.0, Method.NONE
        if len(part) > 1:
            table = part[:, [2, 0]]
            low, high = (float(end) for end in cluster_wilson_limits(table, _SHARE, frame.level))
            method = Method.CLUSTER_WILSON
        counted = (int(count), len(part), float(effective_clusters(part[:, 0])))
        interval = Interval(low, high, frame.level, method, 0, 0, *counted)
        found.append(Bin(int(count), confidence / count, positive / count, interval))
    return found
