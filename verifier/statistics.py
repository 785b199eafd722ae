"""Metrics, intervals and ranks recomputed from released files, as `docs/scores.md` describes them.

A metric is a function of a sum over samples. Sums of choices have three columns for each class: right, wrong and
missed; a sample without an answer is missed in its own class, and wrong in equal parts in every other. Sums of numbers
(NDCG, ratings) have three: weight times value, weight, and weight times the value's square. Sums of forecasts have the
squared errors, the logarithms and the samples of each class. An interval is Wilson's of
the share that a metric is a function of, with an effective number of samples from the delete-one-group jackknife and a
quantile of t. Who is ahead follows "Who is ahead" there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations
from math import atan, cos, exp, lgamma, log, pi, sqrt, tan
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

OVERALL = ("macro_f1", "accuracy", "balanced_accuracy", "weighted_f1", "matthews")
OF_ONE = ("f1", "precision", "recall")
"""Metrics of one class: `f1:NAME`; without a name they are those of label 1."""
RANKED = ("ndcg@10", "ndcg@1", "ndcg@3", "ndcg@5", *(f"recall@{cut}" for cut in (1, 3, 5, 10, 20)), "mrr", "map")
"""Metrics of rankings, averaged over queries."""
RANK = "rank_correlation"
"""Spearman's rank correlation of stated probabilities of class 1 with a fact of labels."""
FORECAST = ("relative_brier_index", "brier_index", "log_score")
"""Metrics of forecasts; the first is the headline of a prospective split."""
METRIC_NAMES = (*OF_ONE, *OVERALL, RANK, *RANKED, *FORECAST)
_LEAST_CHANCE = 0.01  # what was called impossible and happens would cost infinitely much
_LOG_LIMITS = (log(_LEAST_CHANCE), 0.0)
WILSON, FISHER, NONE = "cluster Wilson", "cluster jackknife of Fisher's z", "none: one group only"
"""The methods of intervals in scores."""
# The second number of a pair is for `_MANY` entries or more.
_P_VALUE, _RESAMPLES, _DRAWS, _MANY = 0.05, (10_000, 2_000), (9_999, 1_999), 100
_BOOTSTRAP = 2_000  # as published: more would give other limits
_MANY_GROUPS = 2_000  # beyond this, draws are not kept: they would fill the memory
# Effective groups below which a class, or logarithms, are few; variances up to the last are rounding errors.
_LEAST_OF_CLASS, _LEAST_OF_LOGS, _ROUNDING = 12, 96, 1e-20
FloatArray = NDArray[np.float64]


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.zeros(np.broadcast(above, below).shape), where=below != 0)


@dataclass(frozen=True, slots=True)
class OwnMetric:
    """A metric by its name; without classes, it is the weighted mean of a number within limits."""

    name: str
    classes: Sequence[str] = ()
    limits: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def of_classes(cls, name: str, classes: Sequence[str]) -> OwnMetric:
        """The metric of choices between classes."""
        limits = {"matthews": (-1.0, 1.0), **dict.fromkeys(FORECAST[:2], (0.0, 100.0)), FORECAST[2]: _LOG_LIMITS}
        return cls(name, classes, limits.get(name, (0.0, 1.0)))

    @property
    def of_forecasts(self) -> bool:
        """Whether it scores probabilities, not chosen classes."""
        return bool(self.classes) and self.name in FORECAST

    @property
    def is_known(self) -> bool:
        """Whether it can be computed here."""
        kind, colon, of = self.name.partition(":")
        if not self.classes:
            return True
        if colon or kind in OF_ONE:
            return kind in OF_ONE and (of in self.classes if colon else len(self.classes) == 2)
        return kind in (*OVERALL, *FORECAST) and len(self.classes) > 1

    @property
    def span(self) -> float:
        """The range from the lowest to the highest value."""
        return self.limits[1] - self.limits[0]

    def sums(self, labels: NDArray[np.int8], said: NDArray[np.int8], groups: NDArray[np.int32]) -> FloatArray:
        """Sums of choices by group, shape (groups, 3 * classes); `said` is -1 for no answer, wrong ones are in units
        of 1 / (classes - 1), so that all are whole numbers.
        """
        member, many = np.unique(groups, return_inverse=True)[1], len(self.classes)
        columns = [
            *((labels == own) & (said == own) for own in range(many)),
            *(((labels != own) & (said == own)) * (many - 1) + ((labels != own) & (said < 0)) for own in range(many)),
            *((labels == own) & (said != own) for own in range(many)),
        ]
        return np.stack([np.bincount(member, weights=column) for column in columns], axis=1)

    def _cells(self, sums: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        right, wrong, missed = np.moveaxis(sums.reshape(*sums.shape[:-1], 3, len(self.classes)), -2, 0)
        return right, wrong / (len(self.classes) - 1), missed

    def size(self, sums: FloatArray) -> FloatArray:
        """The number or weight of samples in sums."""
        if not self.classes:
            return sums[..., 1]
        if self.of_forecasts:
            return np.asarray(sums[..., 2:].sum(axis=-1))
        right, _, missed = self._cells(sums)
        return np.asarray((right + missed).sum(axis=-1))

    @property
    def is_number(self) -> bool:
        """Whether it is the mean of a number."""
        return not self.classes

    def is_constant(self, sums: FloatArray) -> bool:
        """Whether all numbers in a sum are equal."""
        if self.classes or not sums[1] > 0:
            return False
        value, (low, high) = sums[0] / sums[1], self.limits
        return bool(sums[2] / sums[1] - value**2 <= 1e-12 * max(abs(low), abs(high)) ** 2)

    def is_count(self, sums: FloatArray) -> bool:
        """Whether all numbers in a sum are at either limit."""
        low, high = self.limits
        inside = (low + high) * sums[0] - sums[2] - low * high * sums[1] if self.is_number else 1.0
        return bool(self.is_number and abs(inside) <= 1e-12 * max(abs(low), abs(high)) ** 2 * sums[1])

    def effective(self, table: FloatArray) -> float:
        """Effective number of equal-sized groups, shape (groups, k).

        For a mean over classes, that of the class in the fewest groups, where these are below 12; for
        the log score an eighth, below 96; for numbers that are not counts, fewer than 12 where these are below 25 times
        the squared skewness.
        """
        worth = kish(self.size(table))
        if self.is_number and len(table) > 1 and not self.is_count(table.sum(axis=0)):
            asked = 25 * _skewness(table) ** 2 / max(int(np.count_nonzero(table[:, 1])), 1)
            return worth if asked <= 1 else min(worth, _LEAST_OF_CLASS / asked)
        if self.name == FORECAST[2] and worth < _LEAST_OF_LOGS and len(table) > 1:
            return worth * _LEAST_OF_CLASS / _LEAST_OF_LOGS
        if not self.classes or self.of_forecasts or self.share(table) is not None or len(table) == 1:
            return worth
        right, _, missed = self._cells(table)
        rarest = min(kish(own) if own.any() else 0.0 for own in (right + missed).T)
        return min(rarest, worth) if rarest < _LEAST_OF_CLASS else worth

    def share(self, sums: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """The hits and the samples of which they are a share, if the metric is a function of a share.

        F1 is 2j / (1 + j) of the share j of hits among all samples that have the class or for which it was chosen.
        """
        if not self.classes:
            return (sums[..., 0] - self.limits[0] * sums[..., 1]) / self.span, sums[..., 1]
        kind, _, of = self.name.partition(":")
        if self.of_forecasts:
            n = self.size(sums)
            return None if kind in FORECAST[:2] else (np.clip(n - sums[..., 1] / self.limits[0], 0, n), n)
        right, wrong, missed = self._cells(sums)
        if kind == "accuracy":
            return right.sum(axis=-1), self.size(sums)
        if kind not in OF_ONE:
            return None
        own = self.classes.index(of) if of else 1
        others = {"precision": wrong, "recall": missed, "f1": wrong + missed}[kind]
        return right[..., own], right[..., own] + others[..., own]

    def from_share(self, share: FloatArray) -> FloatArray:
        """The metric as a function of the share."""
        inside = 2 * share / (1 + share) if self.name.partition(":")[0] == "f1" else share
        return self.limits[0] + self.span * inside

    def value(self, sums: FloatArray) -> FloatArray:
        """The metric of sums, shape (..., k) to (...)."""
        if not self.classes:
            return _ratio(sums[..., 0], sums[..., 1])
        if self.of_forecasts:
            return self._of_forecasts(sums)
        if (parts := self.share(sums)) is not None:
            return self.from_share(_ratio(*parts))
        right, wrong, missed = self._cells(sums)
        labelled, chosen, n = right + missed, right + wrong, self.size(sums)
        if self.name == "matthews":
            above = n * right.sum(axis=-1) - (labelled * chosen).sum(axis=-1)
            spreads = [np.sqrt(np.maximum(n * n - (part * part).sum(axis=-1), 0)) for part in (labelled, chosen)]
            return np.clip(_ratio(above, spreads[0] * spreads[1]), -1, 1)
        each = _ratio(right, labelled) if self.name == "balanced_accuracy" else _ratio(2 * right, labelled + chosen)
        if self.name == "weighted_f1":
            return _ratio((each * labelled).sum(axis=-1), n)
        return np.asarray(each.mean(axis=-1))

    def _of_forecasts(self, sums: FloatArray) -> FloatArray:
        of_class, n = sums[..., 2:], self.size(sums)
        if self.name == "log_score":
            return _ratio(sums[..., 1], n)
        uninformed = (n - _ratio((of_class * of_class).sum(axis=-1), n)) / 2
        if self.name == "brier_index":
            uninformed = n * (1 - 1 / of_class.shape[-1]) / 2
        there = uninformed > 1e-9  # else all samples are of one class
        index = 100 - 50 * np.sqrt(_ratio(np.maximum(sums[..., 0], 0), np.where(there, uninformed, 0)))
        return np.asarray(np.where(there, index.clip(0, 100), 0))

    def moved(self, total: FloatArray, number: float) -> FloatArray:
        """A sum after changing the output of this many samples: one row for each possible change."""
        if not self.classes:
            low, high = (limit * total[1] for limit in self.limits)
            changed = min(float(total[1]), number) * self.span
            sums = np.clip(total[0] + np.array([-changed, changed]), low, high)
            return np.stack([sums, np.full(2, total[1]), np.full(2, total[2])], axis=1)
        if self.of_forecasts:
            n, lowest, both = float(self.size(total)), self.limits[0], np.stack([total, total])
            both[0, :2] = max(total[0] - number, 0), min(total[1] - lowest * number, 0)
            both[1, :2] = min(total[0] + number, n), max(total[1] + lowest * number, lowest * n)
            return both
        many, rows = len(self.classes), []
        for own, other in ((a, b) for a in range(many) for b in range(many) if a != b):
            missed, wrong = total[2 * many + own], total[many + other] / (many - 1)
            for lost in (min(total[own], number), -min(missed, wrong, number)):
                row = total.copy()
                row[[own, 2 * many + own, many + other]] += lost * np.array([-1, 1, many - 1])
                rows.append(row)
        return np.stack(rows)


class RankMetric(OwnMetric):
    """A rank correlation, from sums of `rank_sums`; it has neither shares nor classes."""

    def size(self, sums: FloatArray) -> FloatArray:
        """The number of samples in sums."""
        return sums[..., 3]

    @property
    def is_number(self) -> bool:
        """Always False: it is not a mean."""
        return False

    def is_constant(self, sums: FloatArray) -> bool:
        """Always False: equal ranks may differ in other samples."""
        return False

    def effective(self, table: FloatArray) -> float:
        """Effective number of equal-sized groups."""
        return kish(self.size(table))

    def share(self, sums: FloatArray) -> None:
        """None: a rank correlation is not a function of a share."""

    def value(self, sums: FloatArray) -> FloatArray:
        """The correlation of sums, shape (..., 4) to (...); 0 if either side is constant."""
        spread = np.sqrt(np.maximum(sums[..., 1], 0)) * np.sqrt(np.maximum(sums[..., 2], 0))
        return np.clip(_ratio(sums[..., 0], spread), -1, 1)


def rank_sums(facts: FloatArray, chances: FloatArray, groups: NDArray[np.int32]) -> FloatArray:
    """Sums by group that determine a rank correlation, shape (groups, 4).

    The mean product of two rankings, x and y, is a sum over triples of samples. It is divided among the
    samples: each gets its contribution in each of its three places, less twice the mean.

    Args:
        facts: shape (n,), nan if unknown: such samples have no weight.
        chances: shape (n,), nan without an answer, which is ranked at the wrong end.
        groups: shape (n,).
    """
    known, columns = np.isfinite(facts), np.zeros((facts.size, 4))
    x, y = _ranks(facts[known]), chances[known]
    ranks = x, _ranks(np.where(np.isfinite(y), y, np.where(x > 0, -1.0, 2.0)))
    for column, (one, two) in enumerate(((0, 1), (0, 0), (1, 1))):
        product = ranks[one] * ranks[two]
        parts = product + _beside(ranks[one], ranks[two]) + _beside(ranks[two], ranks[one])
        columns[known, column] = parts - 2 * product.mean() if parts.size else parts
    columns[known, 3] = 1
    member = np.unique(groups, return_inverse=True)[1]
    return np.stack([np.bincount(member, weights=column) for column in columns.T], axis=1)


def _ranks(values: FloatArray) -> FloatArray:
    """Middle ranks from -1/2 to 1/2."""
    different, place, times = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(times) - times / 2
    return np.asarray((middle / max(values.size, 1) - 0.5)[place]) if different.size else values


def _beside(ranks: FloatArray, weights: FloatArray) -> FloatArray:
    """For each sample, half the weights ranked above it minus half those below it, over all samples."""
    _, place = np.unique(ranks, return_inverse=True)
    totals = np.bincount(place, weights=weights)
    return np.asarray((totals.sum() - 2 * np.cumsum(totals) + totals)[place] / (2 * max(ranks.size, 1)))


def number_sums(weights: FloatArray, values: FloatArray, groups: NDArray[np.int32]) -> FloatArray:
    """Sums of numbers by group, shape (groups, 3)."""
    member, columns = np.unique(groups, return_inverse=True)[1], (weights * values, weights, weights * values**2)
    return np.stack([np.bincount(member, weights=column) for column in columns], axis=1)


def forecast_sums(labels: NDArray[np.int8], chances: FloatArray, groups: NDArray[np.int32]) -> FloatArray:
    """Sums of forecasts by group, shape (groups, 2 + classes): half the squared distance from the truth, the logarithm
    of what came true, and the samples of each class. `chances`, shape (n, classes), are nan where there is no forecast,
    which counts as certain and wrong.
    """
    member, truth = np.unique(groups, return_inverse=True)[1], np.eye(chances.shape[1])[labels]
    total = chances.sum(axis=1)
    given = total > 0  # False for nan
    stated = np.zeros_like(chances)
    stated[given] = chances[given] / total[given, None]
    apart = np.where(given, ((stated - truth) ** 2).sum(axis=1) / 2, 1.0)
    logs = np.log(np.maximum((stated * truth).sum(axis=1), _LEAST_CHANCE))
    return np.stack([np.bincount(member, weights=column) for column in (apart, logs, *truth.T)], axis=1)


def interval(table: FloatArray, metric: OwnMetric) -> tuple[float, float, float]:
    """A metric with its 95% interval: the whole range if a single group has all the weight.

    Args:
        table: shape (groups, k), sums by group.
        metric: which metric.
    """
    total, sizes = table.sum(axis=0), metric.size(table)
    value, parts = float(metric.value(total)), metric.share(table)
    if parts is None:
        without = (metric.value(total - table) - metric.limits[0]) / metric.span
        of, rest, hits = sizes, sizes.sum() - sizes, (value - metric.limits[0]) / metric.span * sizes.sum()
        left = without * rest
    else:
        of, rest, hits = parts[1], parts[1].sum() - parts[1], float(parts[0].sum())
        left = hits - parts[0]
    if len(table) == 1 or not rest.all():
        return value, *metric.limits
    if isinstance(metric, RankMetric) and 0 < without.min() <= without.max() < 1 and abs(value) < 1:
        moved = np.log(without / (1 - without))
        if _jackknife(moved) > _ROUNDING:
            freedom = min(kish(of) - 1, _satterthwaite(moved))
            half = t_quantile(_P_VALUE, max(freedom, 1.0)) * sqrt(_jackknife(moved)) / 2
            return value, float(np.tanh(np.arctanh(value) - half)), float(np.tanh(np.arctanh(value) + half))
    share = hits / float(of.sum())
    samples, freedom, moved = max(kish(of), 1.0), kish(of) - 1, left / rest
    apart = 0 < share < 1 and _jackknife(moved) > _ROUNDING
    if metric.is_number or metric.of_forecasts:
        spread = _jackknife(moved) / (share * (1 - share)) if apart else 0.0
    else:  # of counts; one hit and one miss added, so that the logarithm is always defined
        moved, smoothed = np.log((left + 1) / (rest - left + 1)), (hits + 1) / float(of.sum() + 2)
        spread = _jackknife(moved) * smoothed * (1 - smoothed)
    if apart and spread > _ROUNDING:
        samples = 1 / spread
        if parts is None or metric.of_forecasts or (metric.is_number and not metric.is_count(total)):
            freedom = min(freedom, _satterthwaite(moved))
    quantile = t_quantile(_P_VALUE, max(freedom, 1.0))
    limits = np.array(_wilson(share, samples, quantile))
    if apart and metric.is_count(total):  # Agresti and Coull's
        centre = (share + quantile**2 / samples / 2) / (1 + quantile**2 / samples)
        half = quantile * sqrt(centre * (1 - centre) / (samples + quantile**2))
        limits = np.array([centre - half, centre + half]).clip(0, 1)
    if metric.is_constant(total):  # samples not drawn may differ
        unseen = quantile**2 / (max(kish(of), 1.0) + quantile**2)
        limits = np.array([share * (1 - unseen), share + (1 - share) * unseen])
    low, high = (metric.limits[0] + metric.span * limits) if parts is None else metric.from_share(limits)
    return value, float(low), float(high)


def _satterthwaite(without: FloatArray) -> float:
    """Degrees of freedom of the jackknife's variance, from its kurtosis; infinite if the variance is zero."""
    squares = (without - without.mean()) ** 2
    if not squares.any():
        return float("inf")
    kurtosis = squares.size * float((squares**2).sum() / squares.sum() ** 2)
    return float(2 * squares.size / max(kurtosis - 1, 1e-9))


def _skewness(table: FloatArray) -> float:
    """The skewness of numbers by groups, without the bias of a normal sample; 0 for fewer than three groups."""
    sums, sizes = table[table[:, 1] > 0, :2].T
    if sums.size < 3:
        return 0.0
    apart = sums - sums.sum() / sizes.sum() * sizes
    second, third = float(np.mean(apart**2)), float(np.mean(apart**3))
    return third / second**1.5 * sqrt(sums.size * (sums.size - 1)) / (sums.size - 2) if second else 0.0


def _jackknife(without: FloatArray) -> float:
    """Delete-one-group jackknife variance."""
    return float((without.size - 1) * without.var())


def kish(sizes: FloatArray) -> float:
    """Kish's effective number of equal-sized groups."""
    return float(_ratio(sizes.sum() ** 2, sizes @ sizes))


def _wilson(share: float, samples: float, quantile: float) -> tuple[float, float]:
    """The two shares p with (share - p)^2 = quantile^2 p (1 - p) / samples."""
    a = quantile**2 / samples
    root = sqrt(a * a + 4 * a * share * (1 - share))
    low, high = ((2 * share + a + sign * root) / (2 + 2 * a) for sign in (-1, 1))
    return (0.0 if share == 0 else max(low, 0.0)), (1.0 if share == 1 else min(high, 1.0))


@cache
def _nodes() -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on (0, 1)."""
    points, weights = np.polynomial.legendre.leggauss(200)
    return (points + 1) / 2, weights / 2


def _scale(df: float) -> float:
    return 2 * exp(lgamma((df + 1) / 2) - lgamma(df / 2) - log(pi) / 2)


def _two_sided(value: float, df: float) -> float:
    """P(|T| > value) of Student's t: with t = sqrt(df) tan(a) the density in a is that of cos(a) ** (df - 1)."""
    if value == 0:
        return 1.0
    points, weights = _nodes()
    start = atan(value / sqrt(df))
    width = 45 / max((df - 1) * tan(start), 1e-9)  # beyond it, the density is negligible
    if start + width < pi / 2:
        area = width * float(weights @ np.cos(start + width * points) ** (df - 1))
    else:  # substitute the fourth root of the distance from pi / 2, where the density has no derivative
        roots = (pi / 2 - start) ** 0.25 * points
        area = (pi / 2 - start) ** 0.25 * float(weights @ (np.sin(roots**4) ** (df - 1) * 4 * roots**3))
    return min(1.0, _scale(df) * area)


@lru_cache(maxsize=100_000)
def t_quantile(tail: float, df: float) -> float:
    """The value that |T| of Student's t exceeds with probability `tail`: Newton's steps in the angle, from below."""
    angle = 0.0
    for _ in range(500):
        step = (_two_sided(sqrt(df) * tan(angle), df) - tail) / (_scale(df) * cos(angle) ** (df - 1))
        angle += step
        if abs(step) <= 1e-15 * (1 + angle):
            break
    return sqrt(df) * tan(angle)


class Difference(NamedTuple):
    """The metric of one entry minus that of another, with its limits and its p-value, alone and adjusted."""

    value: float
    low: float
    high: float
    p_value: float
    adjusted: float


def differences(
    tables: Sequence[FloatArray], metric: OwnMetric, families: Sequence[int]
) -> dict[tuple[int, int], Difference]:
    """Compare all ordered pairs of entries, adjusted by step-down max-t within their family.

    Args:
        tables: shape (groups, k) of each entry.
        metric: which metric.
        families: a number of each entry; pairs with equal sums are tested together.
    """
    df = max(kish(np.mean([metric.size(table) for table in tables], axis=0)) - 1, 1.0)
    draws, by_family = _drawn_errors(tables, metric), dict[int, list[tuple[int, int]]]()
    for one, two in combinations(range(len(tables)), 2):
        by_family.setdefault(families[one] + families[two], []).append((one, two))
    found: dict[tuple[int, int], Difference] = {}
    for pairs in by_family.values():
        for (one, two), there in zip(pairs, _family(pairs, tables, metric, df, draws), strict=True):
            found[one, two] = there
            found[two, one] = Difference(-there.value, -there.high, -there.low, there.p_value, there.adjusted)
    return found


def _drawn_errors(tables: Sequence[FloatArray], metric: OwnMetric) -> FloatArray:
    """Draws of the entries' errors, shape (entries, draws): jackknife deviations of the groups times normal weights."""
    groups = len(tables[0])
    if groups == 1:
        return np.zeros((len(tables), 1))
    without = np.stack([metric.value(table.sum(axis=0) - table) for table in tables])
    moved = np.sqrt((groups - 1) / groups) * (without - without.mean(axis=1, keepdims=True))
    random, draws = np.random.default_rng(0), _DRAWS[len(tables) >= _MANY]
    parts = [min(500, draws - start) for start in range(0, draws, 500)]
    return np.concatenate([moved @ random.standard_normal((rows, groups)).T for rows in parts], axis=1)


def _family(
    pairs: Sequence[tuple[int, int]], tables: Sequence[FloatArray], metric: OwnMetric, df: float, draws: FloatArray
) -> list[Difference]:
    """The differences of pairs in one family."""
    ones, twos = ([pair[side] for pair in pairs] for side in (0, 1))
    totals = [table.sum(axis=0) for table in tables]
    values = np.array([float(metric.value(total)) for total in totals])
    value = values[ones] - values[twos]
    if len(tables[0]) == 1:
        return [Difference(float(each), -metric.span, metric.span, 1.0, 1.0) for each in value]
    without = [metric.value(total - table) for total, table in zip(totals, tables, strict=True)]
    error = np.array([sqrt(_jackknife(without[one] - without[two])) for one, two in pairs])
    blind = error < 1e-12 * metric.span
    for k in np.flatnonzero(blind).tolist():
        error[k] = _blind_error(tables[ones[k]], tables[twos[k]], metric)
    p_value = np.array([_two_sided(abs(each) / err, df) for each, err in zip(value, error, strict=True)])
    adjusted, reach = p_value, t_quantile(_P_VALUE, df)
    if len(pairs) > 1:
        drawn = np.abs(draws[ones] - draws[twos]) / error[:, None]
        adjusted, reach = _stepped_down(p_value, blind, drawn, df)
    low, high = value - reach * error, value + reach * error
    # Limits and p-values agree: 0 is inside exactly if the adjusted p-value is 5% or more.
    apart, least = adjusted < _P_VALUE, 1e-9 * metric.span
    low = np.where(apart & (value > 0), np.maximum(low, least), np.where(apart, low, np.minimum(low, 0.0)))
    high = np.where(apart & (value < 0), np.minimum(high, -least), np.where(apart, high, np.maximum(high, 0.0)))
    low, high = low.clip(-metric.span), high.clip(None, metric.span)
    rows = np.stack([value, low, high, p_value, adjusted], axis=1).tolist()
    return [Difference(*row) for row in rows]


def _stepped_down(
    p_value: FloatArray, blind: NDArray[np.bool_], drawn: FloatArray, df: float
) -> tuple[FloatArray, float]:
    """Adjusted p-values, and the half-width of an interval in standard errors.

    Args:
        p_value, blind: unadjusted p-value of each pair; and whether its error is not the jackknife's.
        drawn: shape (pairs, draws), each difference by chance alone, in standard errors.
        df: degrees of freedom.
    """
    many, normal, order = p_value.size, NormalDist(), np.argsort(p_value, kind="stable")
    alone = (blind & (p_value < 1))[order][::-1].cumsum()[::-1]
    observed = np.array([-normal.inv_cdf(p / 2) if p > 0 else np.inf for p in p_value[order].tolist()])
    largest = np.maximum.accumulate(drawn[order][::-1], axis=0)[::-1]
    draws = drawn.shape[1] + 1
    share = (1 + (largest >= observed[:, None]).sum(axis=1)) / draws
    raw = np.minimum(share + alone * p_value[order], np.arange(many, 0, -1) * p_value[order])
    adjusted = p_value.copy()
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(np.maximum(raw, p_value[order])))
    widest = t_quantile(_P_VALUE / many, df)
    reach = widest
    for count, bound in enumerate(np.sort(largest[0])[::-1].tolist(), start=1):
        tail = 2 * normal.cdf(-bound)
        if count / draws + alone[0] * tail >= _P_VALUE:
            break
        reach = max(t_quantile(_P_VALUE, df), min(t_quantile(tail, df), widest))
    return adjusted, reach


def _blind_error(one: FloatArray, two: FloatArray, metric: OwnMetric) -> float:
    """The standard error of a difference that is equal in every group, derived from the limits of both entries."""
    effective = kish((metric.size(one) + metric.size(two)) / 2)
    quantile = t_quantile(_P_VALUE, max(effective - 1, 1.0))
    if np.array_equal(one, two):
        total = one.sum(axis=0)
        unseen = quantile**2 / (effective + quantile**2) * float(metric.size(total))
        reach = float(np.abs(metric.value(metric.moved(total, unseen)) - metric.value(total)).max())
        return max(min(metric.span, reach), 1e-12 * metric.span) / quantile
    (a, low_1, high_1), (b, low_2, high_2) = interval(one, metric), interval(two, metric)
    value = a - b
    low, high = value - float(np.hypot(a - low_1, high_2 - b)), value + float(np.hypot(high_1 - a, b - low_2))
    longer = max(min(metric.span, high) - value, value - max(-metric.span, low))
    return max(longer, 1e-12 * metric.span) / quantile


class Place(NamedTuple):
    """The rank of a system and its limits."""

    rank: int
    low: int
    high: int
    tie_group: int


def places_of(values: FloatArray, among: Mapping[tuple[int, int], Difference]) -> list[Place]:
    """Ranks, and their limits by significant differences; `values`: higher is better."""

    def apart(one: int, two: int) -> bool:
        return one != two and among[one, two].adjusted < _P_VALUE

    tied, opener, number, every = {}, int(values.argmax()), 1, range(values.size)
    for place in np.argsort(-values, kind="stable").tolist():
        if apart(opener, place):
            opener, number = place, number + 1
        tied[place] = number
    return [
        Place(
            rank=1 + int((values > values[k]).sum()),
            low=1 + sum(apart(k, j) and values[j] > values[k] for j in every),
            high=values.size - sum(apart(k, j) and values[j] < values[k] for j in every),
            tie_group=tied[k],
        )
        for k in every
    ]


def first_places(tables: Sequence[FloatArray], metric: OwnMetric, resamples: int | None = None) -> FloatArray:
    """Share of resamples of the groups in which each system has the highest value; ties share it equally.

    10,000 resamples, 2,000 from 100 systems on, each drawn by `integers(0, groups, size=groups)` of NumPy's default
    generator with seed 0; groups are numbered in the order of their names.
    """
    random, groups, each = np.random.default_rng(0), len(tables[0]), np.stack(tables)
    parts = []
    for _ in range(resamples or _RESAMPLES[len(tables) >= _MANY]):
        times = np.bincount(random.integers(0, groups, size=groups, dtype=np.int32), minlength=groups)
        value = metric.value(np.einsum("sgk,g->sk", each, times.astype(np.float64)))
        best = value >= value.max()
        parts.append(best / best.sum())
    return np.asarray(np.mean(parts, axis=0))


def _counts(groups: int) -> Iterator[NDArray[np.uint8]]:
    """Counts of each group in each of 2,000 resamples, as `first_places` draws them, in blocks."""
    random, step = np.random.default_rng(0), max(1, 2**17 // groups)
    for start in range(0, _BOOTSTRAP, step):
        drawn = random.integers(0, groups, size=(min(step, _BOOTSTRAP - start), groups), dtype=np.int32)
        yield np.stack([np.bincount(row, minlength=groups).astype(np.uint8) for row in drawn])


_kept_counts = lru_cache(8)(lambda groups: tuple(_counts(groups)))


def bootstrap_interval(table: FloatArray, metric: OwnMetric) -> tuple[float, float]:
    """The limits of the bias-corrected and accelerated 95% bootstrap; the whole range with one group.

    If all resamples lie on one side of the value, or no group changes it, the limits are plain quantiles of resamples.

    Args:
        table: shape (groups, k), sums by group.
        metric: which metric.
    """
    if len(table) == 1:
        return metric.limits
    total, same, tails = table.sum(axis=0), 1e-12 * metric.span, np.array([_P_VALUE / 2, 1 - _P_VALUE / 2])
    counts = _counts(len(table)) if len(table) > _MANY_GROUPS else _kept_counts(len(table))
    value, draws = float(metric.value(total)), metric.value(np.concatenate([block @ table for block in counts]))
    below = float(((draws < value - same).mean() + (draws <= value + same).mean()) / 2)
    moved = metric.value(total - table)
    moved = moved.mean() - moved
    if 0 < below < 1 and (moved**2).sum() > same**2:
        bias, skew = NormalDist().inv_cdf(below), float((moved**3).sum() / (6 * (moved**2).sum() ** 1.5))
        shifted = [bias + NormalDist().inv_cdf(tail) for tail in tails.tolist()]
        tails = np.array([NormalDist().cdf(bias + by / (1 - skew * by)) for by in shifted])
    low, high = np.quantile(draws, tails)
    return float(low), float(high)


def ranking_measures(
    documents: Sequence[str], scores: Sequence[float], relevance: Mapping[str, int]
) -> dict[str, float]:
    """Every metric of a ranking as trec_eval computes it: by score in single precision, ties by id, last first.

    Args:
        documents, scores: the ranking; without scores, its order counts.
        relevance: of the judged documents.
    """
    pairs = zip(np.asarray(scores, np.float32).tolist(), documents, strict=True) if scores else ()
    order = [document for _, document in sorted(pairs, reverse=True)] if scores else documents
    gains = np.array([max(relevance.get(document, 0), 0) for document in order], np.float64)
    ideal = np.sort(np.array([value for value in relevance.values() if value > 0], np.float64))[::-1]
    hits, relevant = np.flatnonzero(gains > 0), max(ideal.size, 1)

    def discounted(some: FloatArray, cut: int) -> float:
        return float((some[:cut] / np.log2(np.arange(2, some[:cut].size + 2))).sum())

    found = {"mrr": 1.0 / float(hits[0] + 1) if hits.size else 0.0}
    found["map"] = float((np.arange(1, hits.size + 1) / (hits + 1)).sum() / relevant) if ideal.size else 0.0
    for name in RANKED[:-2]:
        kind, cut = name.split("@")[0], int(name.split("@")[1])
        if kind == "ndcg":
            found[name] = discounted(gains, cut) / discounted(ideal, cut) if ideal.size else 0.0
        else:
            found[name] = float((gains[:cut] > 0).sum() / relevant) if ideal.size else 0.0
    return found
