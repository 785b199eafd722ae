"""Metrics: functions of a sum over samples, so that all intervals, paired tests and ranks work for any of them.

For a choice between classes, each class has three columns: true positives, false positives and false negatives. A
sample without an answer is a false negative of its class and, in equal parts, a false positive of every other class. It
costs as much as an average wrong answer, and with two classes exactly as much, so that silence never pays.

If a denominator is zero, a metric is 0: precision of a class that is never chosen, recall of a class without
samples. Means over classes are always over all classes of the task: a class that does not occur counts with 0.

A number for each sample (NDCG of a ranking, mean rating of a response) has three columns: weight times value, weight,
and weight times the value's square. A sample without an output counts with the metric's worst value.

A forecast (a probability of each class) has its squared error, its logarithm, and the samples of each class. A sample
without a forecast counts as a certain forecast of a wrong class.

Two numbers for each sample whose ranks are compared (a probability and a fact of the label) have four columns:
see `RankPairs`. These are valid only for the set of samples from which they were computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.arrays import Bools, Floats

NO_ANSWER = -1
"""The prediction of a sample without an answer."""
_TP, _FP, _FN = range(3)
LEAST_CHANCE = 0.01
"""Lower bound of the outcome's probability in the logarithmic score, so that no single sample dominates."""


class Statistics(Protocol):
    """The columns that a metric sums over samples."""

    def __call__(self, targets: NDArray[np.generic], outputs: NDArray[np.generic]) -> Floats:
        """The columns of each sample, shape (n, k).

        Args:
            targets: shape (n,), labels; for numbers the weights.
            outputs: shape (n,), predictions, -1 for no answer; for numbers the values, nan for no output; for forecasts
                shape (n, classes), probabilities, nan for no forecast.

        Raises:
            ValueError: if shapes differ or a value is invalid.
        """
        ...

    def size(self, tables: Floats) -> Floats:
        """The number of samples (or the weight) in sums, shape (..., k) to (...)."""
        ...

    def moved(self, total: Floats, size: float) -> Floats:
        """A sum, shape (k,), after `size` of its samples change their output; one row for each kind of change."""
        ...


@dataclass(frozen=True, slots=True)
class Share:
    """A metric as a function of one share of samples.

    Attributes:
        parts: from sums, shape (..., k), the hits and the samples of the share, each of shape (...).
        value: from a share, the metric, between 0 and 1.
    """

    parts: Callable[[Floats], tuple[Floats, Floats]]
    value: Callable[[Floats], Floats] = lambda share: share


@dataclass(frozen=True, slots=True)
class Metric:
    """A function of a sum over samples.

    Attributes:
        name: its name in tables and on the command line, such as `f1`, `macro_f1` or `ndcg@3`.
        statistics: the summed columns; metrics with equal statistics share their sums.
        value: from sums, the metric, shape (..., k) to (...).
        limits: its lowest and highest possible value.
        higher_is_better: whether the highest is the best.
        share: the share that determines it, if any; intervals then use the samples of that share.
        title: as on the site.
        meaning: its explanation for readers; a part of a sentence.
        fact: the fact of labels to compare probabilities of class 1 with; empty for a metric of labels or of
            numbers. The metric is computed where that fact is known.
    """

    name: str
    statistics: Statistics
    value: Callable[[Floats], Floats]
    limits: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    share: Share | None = None
    title: str = ""
    meaning: str = ""
    fact: str = ""

    @property
    def of_numbers(self) -> bool:
        """Whether its statistics take weights and values, not labels and predictions."""
        return isinstance(self.statistics, WeightedValues)

    @property
    def of_forecasts(self) -> bool:
        """Whether its statistics take labels and probabilities, not predictions."""
        return isinstance(self.statistics, Forecasts)

    @property
    def span(self) -> float:
        """The difference between the highest and the lowest value."""
        return self.limits[1] - self.limits[0]

    @property
    def sign(self) -> int:
        """1 if the highest value is the best, else -1."""
        return 1 if self.higher_is_better else -1


def check_metric(metric: Metric, classes: int) -> None:
    """Try a metric of labels on each of them with each answer, alone and together.

    Raises:
        ValueError: if its statistics or its values have the wrong shape, or a value is not within its limits.
    """
    if metric.fact or metric.of_numbers or metric.of_forecasts:  # these compare other things
        return
    labels, said = (part.ravel() for part in np.mgrid[0:classes, NO_ANSWER:classes])
    table = metric.statistics(labels, said)
    sums, n = np.vstack([table, table.sum(axis=0, keepdims=True)]), labels.size + 1
    with np.errstate(all="ignore"):
        values, sizes = metric.value(sums), metric.statistics.size(sums)
    if not np.shape(values) == np.shape(sizes) == (n,):
        raise ValueError(f"values and sizes of shapes {np.shape(values)}, {np.shape(sizes)}, expected ({n},)")
    low, high = metric.limits
    if not ((values >= low) & (values <= high)).all():
        raise ValueError(f"values {np.unique(values)}, expected {low:g} to {high:g}, never nan")


def ratio(above: Floats, below: Floats) -> Floats:
    """The quotient, or 0 if the denominator is 0."""
    return np.divide(above, below, out=np.zeros(np.broadcast(above, below).shape), where=below != 0)


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """True positives, false positives and false negatives of each class: k = 3 * classes, class by class.

    False positives are counted in units of 1 / (classes - 1), so that the parts of a sample without an answer are whole
    numbers, and sums are exact.
    """

    classes: int

    def __call__(self, targets: NDArray[np.generic], outputs: NDArray[np.generic]) -> Floats:
        self._check(targets, outputs)
        labels, said = targets.astype(np.int64), outputs.astype(np.int64)
        rows, right, silent = np.arange(labels.size), labels == said, said == NO_ANSWER
        found = np.zeros((labels.size, self.classes, 3))
        found[silent, :, _FP] = 1
        found[rows, labels, _FP] = 0
        found[rows, labels, _TP], found[rows, labels, _FN] = right, ~right
        wrong = ~right & ~silent
        found[rows[wrong], said[wrong], _FP] = self.classes - 1
        return found.reshape(labels.size, 3 * self.classes)

    def size(self, tables: Floats) -> Floats:
        true, _, missed = self.by_class(tables)
        samples: Floats = (true + missed).sum(axis=-1)
        return samples

    def moved(self, total: Floats, size: float) -> Floats:
        """Changes from right to each wrong class, and from each wrong class to right."""
        tables = []
        cells, unit = total.reshape(self.classes, 3), self.classes - 1
        for label, said in ((a, b) for a in range(self.classes) for b in range(self.classes) if a != b):
            lost = min(float(cells[label, _TP]), size)
            won = min(float(cells[label, _FN]), float(cells[said, _FP]) / unit, size)
            for change in (-lost, won):
                table = cells.copy()
                table[label, _TP] += change
                table[label, _FN] -= change
                table[said, _FP] -= change * unit
                tables.append(table.ravel())
        return np.stack(tables)

    def by_class(self, tables: Floats) -> tuple[Floats, Floats, Floats]:
        """True positives, false positives and false negatives in samples, each of shape (..., classes)."""
        cells = tables.reshape(*tables.shape[:-1], self.classes, 3)
        return cells[..., _TP], cells[..., _FP] / (self.classes - 1), cells[..., _FN]

    def _check(self, labels: NDArray[np.generic], said: NDArray[np.generic]) -> None:
        if labels.shape != said.shape or labels.ndim != 1:
            raise ValueError(f"labels {labels.shape} and predictions {said.shape} must be vectors of one length")
        known = np.arange(self.classes)
        if not np.isin(labels, known).all():
            raise ValueError(f"labels must be 0 to {self.classes - 1}")
        if not np.isin(said, (NO_ANSWER, *known)).all():
            raise ValueError(f"predictions must be 0 to {self.classes - 1}, or -1")


@dataclass(frozen=True, slots=True)
class WeightedValues:
    """Weight times value, weight, and weight times the squared value: k = 3. A sample without an output has the worst
    value.
    """

    limits: tuple[float, float]
    worst: float

    def __call__(self, targets: NDArray[np.generic], outputs: NDArray[np.generic]) -> Floats:
        weights, values = targets.astype(np.float64), outputs.astype(np.float64)
        if weights.shape != values.shape or weights.ndim != 1:
            raise ValueError(f"weights {weights.shape} and values {values.shape} must be vectors of one length")
        values = np.where(np.isnan(values), self.worst, values)
        low, high = self.limits
        if not ((values >= low) & (values <= high)).all() or not (weights >= 0).all():
            raise ValueError(f"values must be between {low:g} and {high:g}, and weights 0 or more")
        return np.stack([weights * values, weights, weights * values**2], axis=1)

    def constant(self, sums: Floats) -> Bools:
        """Whether all values in sums, shape (..., 3) to (...), are equal."""
        value, (low, high) = ratio(sums[..., 0], sums[..., 1]), self.limits
        apart = ratio(sums[..., 2], sums[..., 1]) - value**2
        return (apart <= 1e-12 * max(abs(low), abs(high)) ** 2) & (sums[..., 1] > 0)

    def at_ends(self, sums: Floats) -> Bools:
        """Whether all values in sums, shape (..., 3) to (...), are the lowest or the highest: then they are counts."""
        low, high = self.limits
        inside = (low + high) * sums[..., 0] - sums[..., 2] - low * high * sums[..., 1]
        return np.abs(inside) <= 1e-12 * max(abs(low), abs(high)) ** 2 * sums[..., 1]

    def size(self, tables: Floats) -> Floats:
        return tables[..., 1]

    def moved(self, total: Floats, size: float) -> Floats:
        low, high = self.limits
        changed = min(float(total[1]), size) * (high - low)
        sums = np.clip(total[0] + np.array([-changed, changed]), low * total[1], high * total[1])
        return np.stack([sums, np.full(2, total[1])], axis=1)


@dataclass(frozen=True, slots=True)
class RankPairs:
    """The columns of Spearman's rank correlation: k = 4.

    It is A(x, y) / sqrt(A(x, x) A(y, y)), where A(x, y) is the mean of a_i b_i, and a_i half the share of samples that
    x_i exceeds less half the share of those that exceed it: a rank, in which equal values share the mid-rank. A sample
    affects its own rank and the ranks of others. So the columns are not a_i b_i, but
    a_i b_i + mean over j of (a_j s(y_j - y_i) + b_j s(x_j - x_i)) / 2 - 2 A(x, y), s the sign, whose mean is A(x, y),
    too, and whose spread is that of the estimate (Hoeffding's projection); with fixed ranks, intervals of high
    correlations would be too wide. Columns 0 to 2 are for (x, y), (x, x) and (y, y), column 3 counts.

    A sample without an output has a rank at the wrong end: the lowest if its target is above the middle, else the
    highest. Samples without a target are ignored.
    """

    def __call__(self, targets: NDArray[np.generic], outputs: NDArray[np.generic]) -> Floats:
        x, y = targets.astype(np.float64), outputs.astype(np.float64)
        if x.shape != y.shape or x.ndim != 1:
            raise ValueError(f"targets {x.shape} and outputs {y.shape} must be vectors of one length")
        if np.isinf(x).any() or np.isinf(y).any():
            raise ValueError("targets and outputs must be finite, or nan where there are none")
        known, columns = ~np.isnan(x), np.zeros((x.size, 4))
        if not known.any():
            return columns
        x, y = x[known], y[known]
        a = _middle_ranks(x)
        b = _middle_ranks(np.where(np.isnan(y), np.where(a > 0, -np.inf, np.inf), y))
        columns[known] = np.stack([_products(a, b), _products(a, a), _products(b, b), np.ones(a.size)], axis=1)
        return columns

    def size(self, tables: Floats) -> Floats:
        return tables[..., 3]

    def moved(self, total: Floats, size: float) -> Floats:
        """Changes from a sample's rank to the wrong end, and back: each moves A(x, y) by at most a half."""
        change = np.zeros((2, 4))
        change[:, 0] = np.array([-0.5, 0.5]) * min(float(total[3]), size)
        return total + change


def _middle_ranks(values: Floats) -> Floats:
    """Half the share of lower values less half the share of higher ones, shape (n,)."""
    ordered = np.sort(values)
    below, above = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    return (below + above - values.size) / (2 * values.size)


def _products(a: Floats, b: Floats) -> Floats:
    """The projection of the mean of a b for each sample, see `RankPairs`; `a` and `b` are ranks."""

    def by_others(ranks: Floats, weights: Floats) -> Floats:
        """Half the mean of others' weights, those ranked higher less those ranked lower."""
        order = np.argsort(ranks, kind="stable")
        ordered, sums = ranks[order], np.concatenate([[0.0], np.cumsum(weights[order])])
        below, above = (sums[np.searchsorted(ordered, ranks, side=side)] for side in ("left", "right"))
        found: Floats = (sums[-1] - above - below) / (2 * ranks.size)
        return found

    return a * b + by_others(a, b) + by_others(b, a) - 2 * (a @ b) / a.size


@cache
def rank_correlation(fact: str, meaning: str) -> Metric:
    """Spearman's rank correlation of stated probabilities of class 1 with a fact of labels; 0 where either is constant.

    Args:
        fact: name of the fact.
        meaning: its explanation for readers.
    """

    def value(sums: Floats) -> Floats:
        spreads = np.sqrt(np.maximum(sums[..., 1], 0.0)) * np.sqrt(np.maximum(sums[..., 2], 0.0))
        return np.clip(ratio(sums[..., 0], spreads), -1.0, 1.0)

    title = f"Rank correlation with the {fact}"
    return Metric("rank_correlation", RankPairs(), value, (-1.0, 1.0), title=title, meaning=meaning, fact=fact)


@dataclass(frozen=True, slots=True)
class Forecasts:
    """Squared error, logarithm, and samples of each class: k = 2 + classes.

    The squared error of probabilities p is half the sum over classes of (p - 1)^2 for the true class and p^2
    for the others: between 0 and 1, and with two classes the square of the distance from the truth. Probabilities are
    divided by their sum, which may differ from 1 by rounding.
    """

    classes: int

    def __call__(self, targets: NDArray[np.generic], outputs: NDArray[np.generic]) -> Floats:
        labels, chances = targets.astype(np.int64), outputs.astype(np.float64)
        if labels.ndim != 1 or chances.shape != (labels.size, self.classes):
            raise ValueError(f"forecasts {chances.shape} must have a row for each of the labels {labels.shape}")
        if not np.isin(labels, np.arange(self.classes)).all() or (chances < 0).any() or (chances > 1).any():
            raise ValueError(f"labels must be 0 to {self.classes - 1}, and probabilities between 0 and 1")
        truth, total = np.eye(self.classes)[labels], chances.sum(axis=1, keepdims=True)
        given = np.isfinite(total[:, 0]) & (total[:, 0] > 0)
        chances = np.divide(chances, total, out=np.zeros_like(chances), where=given[:, None])
        errors = np.where(given, ((chances - truth) ** 2).sum(axis=1) / 2, 1.0)
        logs = np.log(np.maximum(chances[np.arange(labels.size), labels], LEAST_CHANCE))
        return np.column_stack([errors, logs, truth])

    def size(self, tables: Floats) -> Floats:
        samples: Floats = tables[..., 2:].sum(axis=-1)
        return samples

    def moved(self, total: Floats, size: float) -> Floats:
        """Changes to certain right forecasts, and to certain wrong ones."""
        n, worst = float(self.size(total)), -np.log(LEAST_CHANCE)
        better, worse = total.copy(), total.copy()
        better[:2] = max(total[0] - size, 0.0), min(total[1] + worst * size, 0.0)
        worse[:2] = min(total[0] + size, n), max(total[1] - worst * size, -worst * n)
        return np.stack([better, worse])


@cache
def relative_brier_index(classes: int) -> Metric:
    """Brier index relative to class shares: 100 for perfect forecasts, 50 for forecasting the shares; at least 0.

    100 * (1 - sqrt(B / C) / 2), where B is the mean squared error of the forecasts (see `Forecasts`) and C that of the
    forecast of each class's share among the samples. The root makes it a ratio of two distances, in the unit
    of probabilities. For equally frequent classes it is `brier_index`; for uneven shares, forecasts worse
    than twice the distance of that forecast count as 0. With samples of one class only, C is 0, and so is the index.

    Source: Brier, Monthly Weather Review 78 (1950), 1-3; forecastbench.org (Brier index), for its form.
    """

    def base(sums: Floats) -> Floats:
        of_class = sums[..., 2:]
        n = of_class.sum(axis=-1)
        found: Floats = (n - ratio((of_class**2).sum(axis=-1), n)) / 2
        return found

    return Metric(
        "relative_brier_index",
        Forecasts(classes),
        lambda sums: _index_over(sums, base(sums)),
        (0.0, 100.0),
        title="Relative Brier index",
        meaning="100 for perfect forecasts, 50 for always giving the share that each class has among the samples: "
        "100 * (1 - half the ratio of the two root mean squared errors), at least 0",
    )


@cache
def brier_index(classes: int) -> Metric:
    """ForecastBench's Brier index: 100 for perfect forecasts, 50 for equal chances of all classes; at least 0.

    With two classes and Brier score B, it is 100 * (1 - sqrt(B)): 50 for always 0.5, and 0 for always certain and
    wrong. With K classes it is 100 * (1 - sqrt(B / U) / 2), where U = (1 - 1 / K) / 2 is that of equal chances; with
    three classes, certain and wrong gives 13, with more classes a little more.

    Source: forecastbench.org (Brier index).
    """
    even = (1 - 1 / classes) / 2
    return Metric(
        "brier_index",
        Forecasts(classes),
        lambda sums: _index_over(sums, even * sums[..., 2:].sum(axis=-1)),
        (0.0, 100.0),
        title="Brier index",
        meaning="as ForecastBench has it: 100 for perfect forecasts, 50 for always giving every class the same chance; "
        "of two classes 100 * (1 - the root of the Brier score)",
    )


def _index_over(sums: Floats, base: Floats) -> Floats:
    """100 less 50 times the ratio of the forecasts' distance from the truth to one with the sum of squares `base`."""
    apart = np.sqrt(ratio(np.maximum(sums[..., 0], 0.0), np.where(base > 1e-9, base, 0.0))) / 2
    return np.where(base > 1e-9, 100 * np.clip(1 - apart, 0.0, 1.0), 0.0)


@cache
def log_score(classes: int) -> Metric:
    """The mean natural logarithm of the forecast probability of the outcome, which is raised to `LEAST_CHANCE` if
    lower.

    Source: Good, Journal of the Royal Statistical Society B 14 (1952), 107-114.
    """
    low = float(np.log(LEAST_CHANCE))

    def share(sums: Floats) -> tuple[Floats, Floats]:
        n = sums[..., 2:].sum(axis=-1)
        return np.clip(sums[..., 1] / -low + n, 0.0, n), n

    return Metric(
        "log_score",
        Forecasts(classes),
        lambda sums: ratio(sums[..., 1], sums[..., 2:].sum(axis=-1)),
        (low, 0.0),
        share=Share(share),
        title="Log score",
        meaning="the mean natural logarithm of the probability given to what came true, "
        f"taken as {LEAST_CHANCE:g} where it is lower; 0 is perfect",
    )


def forecast_metrics(classes: int) -> tuple[Metric, ...]:
    """The metrics of forecasts; the relative Brier index is the headline."""
    return relative_brier_index(classes), brier_index(classes), log_score(classes)


def mean(name: str, limits: tuple[float, float], *, higher_is_better: bool = True, title: str = "") -> Metric:
    """The weighted mean of a number per sample, such as NDCG or a rating.

    Args:
        name: as in tables.
        limits: the lowest and the highest value of the number.
        higher_is_better: whether the highest is the best.
        title: as on the site.
    """
    low, high = limits
    return Metric(
        name,
        WeightedValues(limits, low if higher_is_better else high),
        lambda sums: ratio(sums[..., 0], sums[..., 1]),
        limits,
        higher_is_better,
        Share(lambda sums: ((sums[..., 0] - low * sums[..., 1]) / (high - low), sums[..., 1])),
        title or name,
    )


def _share(name: str, counts: ClassCounts, share: Share, title: str, meaning: str) -> Metric:
    def value(cells: Floats) -> Floats:
        return share.value(ratio(*share.parts(cells)))

    return Metric(name, counts, value, share=share, title=title, meaning=meaning)


@cache
def class_precision(classes: int, of: int = 1, name: str = "precision", title: str = "Precision") -> Metric:
    """The share of samples with a class among those for which it was chosen."""
    counts = ClassCounts(classes)

    def parts(cells: Floats) -> tuple[Floats, Floats]:
        true, false, _ = counts.by_class(cells)
        return true[..., of], true[..., of] + false[..., of]

    meaning = "of the samples for which the class was chosen, the share that has it"
    return _share(name, counts, Share(parts), title, meaning)


@cache
def class_recall(classes: int, of: int = 1, name: str = "recall", title: str = "Recall") -> Metric:
    """The share of samples with the right choice among those that have a class."""
    counts = ClassCounts(classes)

    def parts(cells: Floats) -> tuple[Floats, Floats]:
        true, _, missed = counts.by_class(cells)
        return true[..., of], true[..., of] + missed[..., of]

    meaning = "of the samples that have the class, the share for which it was chosen"
    return _share(name, counts, Share(parts), title, meaning)


@cache
def class_f1(classes: int, of: int = 1, name: str = "f1", title: str = "F1") -> Metric:
    """The harmonic mean of precision and recall of a class.

    F1 is 2j / (1 + j), where j is the share of true positives among all samples that have the
    class or for which it was chosen.
    """
    counts = ClassCounts(classes)

    def parts(cells: Floats) -> tuple[Floats, Floats]:
        true, false, missed = (part[..., of] for part in counts.by_class(cells))
        return true, true + false + missed

    def value(cells: Floats) -> Floats:
        hits, relevant = parts(cells)
        return ratio(2 * hits, hits + relevant)

    share = Share(parts, lambda j: 2 * j / (1 + j))
    return Metric(name, counts, value, share=share, title=title, meaning="the harmonic mean of precision and recall")


@cache
def accuracy(classes: int) -> Metric:
    """The share of right answers.

    >>> metric = accuracy(2)
    >>> sums = metric.statistics(np.array([1, 0, 1, 1]), np.array([1, 1, 1, 0]))
    >>> metric.value(sums.sum(axis=0)).item()
    0.5
    """
    counts = ClassCounts(classes)

    def parts(cells: Floats) -> tuple[Floats, Floats]:
        return counts.by_class(cells)[_TP].sum(axis=-1), counts.size(cells)

    return _share("accuracy", counts, Share(parts), "Accuracy", "the share of all samples that are right")


@cache
def balanced_accuracy(classes: int) -> Metric:
    """The mean of recall over classes."""
    counts = ClassCounts(classes)

    def value(cells: Floats) -> Floats:
        true, _, missed = counts.by_class(cells)
        found: Floats = ratio(true, true + missed).mean(axis=-1)
        return found

    return Metric(
        "balanced_accuracy", counts, value, title="Balanced accuracy", meaning="the mean over classes of recall"
    )


@cache
def macro_f1(classes: int) -> Metric:
    """The mean of F1 over classes."""
    counts = ClassCounts(classes)

    def value(cells: Floats) -> Floats:
        found: Floats = _f1s(counts, cells).mean(axis=-1)
        return found

    return Metric("macro_f1", counts, value, title="Macro F1", meaning="the mean over classes of F1")


@cache
def weighted_f1(classes: int) -> Metric:
    """The mean over classes of F1, each class weighted by its samples."""
    counts = ClassCounts(classes)

    def value(cells: Floats) -> Floats:
        true, _, missed = counts.by_class(cells)
        return ratio((_f1s(counts, cells) * (true + missed)).sum(axis=-1), counts.size(cells))

    return Metric("weighted_f1", counts, value, title="Weighted F1",
                  meaning="the mean over classes of F1, each class weighted by its samples")  # fmt: skip


@cache
def matthews(classes: int) -> Metric:
    """Matthews' correlation of labels and choices, for any number of classes.

    Source: Gorodkin, Computational Biology and Chemistry 28 (2004), 367-374.
    """
    counts = ClassCounts(classes)

    def value(cells: Floats) -> Floats:
        true, false, missed = counts.by_class(cells)
        labelled, chosen, n = true + missed, true + false, counts.size(cells)
        covariance = true.sum(axis=-1) * n - (labelled * chosen).sum(axis=-1)
        # 0 but for rounding, where one class is never chosen
        variances = [np.maximum(n**2 - (part**2).sum(axis=-1), 0.0) for part in (labelled, chosen)]
        return np.clip(ratio(covariance, np.sqrt(variances[0]) * np.sqrt(variances[1])), -1.0, 1.0)

    return Metric("matthews", counts, value, (-1.0, 1.0), title="Matthews correlation",
                  meaning="the correlation of labels and choices, from -1 to 1; 0 is chance")  # fmt: skip


def _f1s(counts: ClassCounts, cells: Floats) -> Floats:
    true, false, missed = counts.by_class(cells)
    return ratio(2 * true, 2 * true + false + missed)


def two_class_metrics() -> tuple[Metric, ...]:
    """F1, precision and recall of the class of label 1, and accuracy; F1 is the headline."""
    return class_f1(2), class_precision(2), class_recall(2), accuracy(2)


def class_metrics(names: Sequence[str]) -> tuple[Metric, ...]:
    """For several classes: macro F1 as the headline, other means over classes, then F1, precision and recall of each.

    Args:
        names: names of the classes, by label.
    """
    c = len(names)
    overall = (macro_f1(c), accuracy(c), balanced_accuracy(c), weighted_f1(c), matthews(c))
    kinds = ((class_f1, "f1", "F1"), (class_precision, "precision", "Precision"), (class_recall, "recall", "Recall"))
    single = [
        make(c, of, f"{short}:{name}", f"{title}: {name}")
        for make, short, title in kinds
        for of, name in enumerate(names)
    ]
    return *overall, *single
