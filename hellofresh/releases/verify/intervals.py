"""Metrics and intervals of a score, computed anew: nothing here is shared with what made the scores.

The interval is Wilson's of the share that a metric is a function of, with an effective number of samples from the
delete-one-group jackknife and a quantile of t, as `docs/method.md` describes it. A mean over classes stands for such a
share itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import exp, lgamma, log, pi, sqrt, tan

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "METRIC_NAMES",
    "NONE",
    "WILSON",
    "ClassTable",
    "ScoreValues",
    "is_known",
    "metric_limits",
    "metric_value",
    "recompute",
]

METRIC_NAMES = (
    "f1",
    "precision",
    "recall",
    "accuracy",
    "macro_f1",
    "balanced_accuracy",
    "weighted_f1",
    "micro_f1",
    "matthews",
)
"""Those of all classes, and the first three also of one: `f1:NAME`; without a name they are those of label 1."""
_OF_ONE = METRIC_NAMES[:3]
WILSON, NONE = "cluster Wilson", "none: one group only"
"""The methods that a score may name."""
_LEVEL = 0.95
_NOTHING = 1e-20

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ClassTable:
    """What was right and wrong by group and class; each array has the shape (groups, classes).

    A sample without an answer is missed in its own class, and wrong in equal parts in every other.

    Attributes:
        right: samples of the class for which it was chosen.
        wrong: samples of other classes for which it was chosen.
        missed: samples of the class for which it was not chosen.
    """

    right: _Floats
    wrong: _Floats
    missed: _Floats

    @classmethod
    def of(
        cls, labels: NDArray[np.int8], said: NDArray[np.int8], groups: NDArray[np.int32], classes: int
    ) -> ClassTable:
        """Count.

        Args:
            labels: shape (n,), n > 0, from 0 to classes - 1.
            said: shape (n,), the same, or -1 for no answer.
            groups: shape (n,), equal numbers for samples of one group.
            classes: how many there are.
        """
        member = np.unique(groups, return_inverse=True)[1]

        def by_group(hits: NDArray[np.bool_]) -> _Floats:
            return np.bincount(member, weights=hits, minlength=member.max() + 1).astype(np.float64)

        silent = said < 0
        right, wrong, missed = [], [], []
        for own in range(classes):
            right.append(by_group((labels == own) & (said == own)))
            wrong.append(by_group((labels != own) & (said == own)) + by_group((labels != own) & silent) / (classes - 1))
            missed.append(by_group((labels == own) & (said != own)))
        return cls(*(np.stack(part, axis=1) for part in (right, wrong, missed)))

    @property
    def sizes(self) -> _Floats:
        """Samples of each group."""
        found: _Floats = (self.right + self.missed).sum(axis=1)
        return found

    @property
    def total(self) -> ClassTable:
        """All groups together, as if they were one."""
        return ClassTable(*(part.sum(axis=0, keepdims=True) for part in (self.right, self.wrong, self.missed)))

    def less(self, other: ClassTable) -> ClassTable:
        """What is left of a total without each group of another table."""
        return ClassTable(self.right - other.right, self.wrong - other.wrong, self.missed - other.missed)


@dataclass(frozen=True, slots=True)
class ScoreValues:
    """What a score must say.

    Attributes:
        counts: samples by name: n, clusters, and silent, those without an answer; of two classes also tp, fp, tn and
            fn.
        effective_clusters: groups of one size that would weigh as much as those there are.
        method: how the intervals are made.
        metrics: value, low and high by name of the metric.
    """

    counts: Mapping[str, int]
    effective_clusters: float
    method: str
    metrics: Mapping[str, tuple[float, float, float]]


def recompute(
    labels: NDArray[np.int8],
    said: NDArray[np.int8],
    groups: NDArray[np.int32],
    classes: Sequence[str],
    names: Iterable[str],
) -> ScoreValues:
    """Counts, metrics and intervals of one system.

    Args:
        labels, said, groups: as of `ClassTable.of`.
        classes: the names of the classes.
        names: of the metrics; those that are not known here are left out.
    """
    table = ClassTable.of(labels, said, groups, len(classes))
    sizes = table.sizes
    counts = {"n": labels.size, "clusters": sizes.size, "silent": int(np.count_nonzero(said < 0))}
    if len(classes) == 2:
        cells = {"tp": (1, 1), "fp": (0, 1), "tn": (0, 0), "fn": (1, 0)}
        counts |= {name: int(((labels == label) & (said == answer)).sum()) for name, (label, answer) in cells.items()}
    metrics = {name: metric_limits(name, table, classes) for name in names if is_known(name, classes)}
    return ScoreValues(counts, _kish(sizes), WILSON if sizes.size > 1 else NONE, metrics)


def is_known(name: str, classes: Sequence[str]) -> bool:
    """Whether a metric of these classes can be computed here."""
    kind, colon, of = name.partition(":")
    if colon:
        return kind in _OF_ONE and of in classes
    return kind in METRIC_NAMES and (kind not in _OF_ONE or len(classes) == 2)


def metric_value(name: str, table: ClassTable, classes: Sequence[str]) -> _Floats:
    """A metric of each group for itself, shape (groups,)."""
    kind, _, of = name.partition(":")
    right, wrong, missed = table.right, table.wrong, table.missed
    if kind == "matthews":
        return _matthews(table)
    if name in {"accuracy", "micro_f1"}:
        return _quotient(right.sum(axis=1), table.sizes)
    hits, whole = {"precision": (right, right + wrong), "recall": (right, right + missed)}.get(
        kind.replace("balanced_accuracy", "recall"), (2 * right, 2 * right + wrong + missed)
    )
    each = _quotient(hits, whole)
    if kind in _OF_ONE:
        return np.asarray(each[:, classes.index(of) if of else 1])
    weights = right + missed if kind == "weighted_f1" else np.ones(right.shape)
    return _quotient((each * weights).sum(axis=1), weights.sum(axis=1))


def _matthews(table: ClassTable) -> _Floats:
    labelled, chosen, n = table.right + table.missed, table.right + table.wrong, table.sizes
    above = n * table.right.sum(axis=1) - (labelled * chosen).sum(axis=1)
    spreads = (np.maximum(n * n - (part * part).sum(axis=1), 0) for part in (labelled, chosen))
    return np.clip(_quotient(above, np.sqrt(np.prod(list(spreads), axis=0))), -1, 1)


def _quotient(above: _Floats, below: _Floats) -> _Floats:
    found: _Floats = np.where(below > 0, above / np.where(below > 0, below, 1), 0.0)
    return found


def metric_limits(name: str, table: ClassTable, classes: Sequence[str]) -> tuple[float, float, float]:
    """A metric with its interval.

    It is that of a share of hits among what counts, if the metric is a function of such a share, as F1 is 2j / (1 + j).
    """
    kind, _, of = name.partition(":")
    column = classes.index(of) if of else 1
    if kind not in {*_OF_ONE, "accuracy", "micro_f1"}:
        return _mean_limits(name, table, classes)
    right, wrong, missed = table.right, table.wrong, table.missed
    hits = right[:, column]
    match kind:
        case "precision":
            whole = hits + wrong[:, column]
        case "recall":
            whole = hits + missed[:, column]
        case "f1":
            whole = hits + wrong[:, column] + missed[:, column]
        case "micro_f1":
            hits, whole = 2 * right.sum(axis=1), (2 * right + wrong + missed).sum(axis=1)
        case _:
            hits, whole = right.sum(axis=1), table.sizes
    share = float(hits.sum() / whole.sum()) if whole.sum() else 0.0
    value, low, high = (2 * part / (1 + part) if kind == "f1" else part for part in (share, *_limits(hits, whole)))
    return value, low, high


def _mean_limits(name: str, table: ClassTable, classes: Sequence[str]) -> tuple[float, float, float]:
    """Of a metric that is no function of one share: it stands for itself, on a scale from 0 to 1."""
    least = -1.0 if name == "matthews" else 0.0
    sizes = table.sizes
    total = table.total
    value = float(metric_value(name, total, classes)[0])
    if sizes.size == 1:
        return value, least, 1.0
    share = (value - least) / (1 - least)
    left = (metric_value(name, total.less(table), classes) - least) / (1 - least)
    rest = sizes.sum() - sizes
    odds = np.log((left * rest + 1) / (rest - left * rest + 1))
    whole = float((share * sizes.sum() + 1) / (sizes.sum() + 2))
    spread = _jackknife(odds) * whole * (1 - whole)
    weight = _kish(sizes)
    told = 0 < share < 1 and _jackknife(left) > _NOTHING and spread > _NOTHING
    samples, freedom = max(weight, 1.0), weight - 1
    if told:
        squares = (odds - odds.mean()) ** 2
        kurtosis = squares.size * float((squares**2).sum() / squares.sum() ** 2)
        samples, freedom = 1 / spread, min(freedom, 2 * squares.size / max(kurtosis - 1, 1e-9))
    low, high = _wilson(share, samples, _t_quantile(max(freedom, 1.0)))
    return value, least + (1 - least) * low, least + (1 - least) * high


def _limits(hits: _Floats, of: _Floats) -> tuple[float, float]:
    """Wilson's interval of a share; all that is possible where one group has all that counts."""
    rest = of.sum() - of
    if hits.size == 1 or not rest.all():
        return 0.0, 1.0
    share = float(hits.sum() / of.sum())
    left = hits.sum() - hits
    odds = np.log((left + 1) / (rest - left + 1))  # one hit and one miss more, so that there always is a logarithm
    whole = float((hits.sum() + 1) / (of.sum() + 2))
    spread = _jackknife(odds) * whole * (1 - whole)
    weight = _kish(of)
    told = 0 < share < 1 and _jackknife(left / rest) > _NOTHING and spread > _NOTHING
    samples = 1 / spread if told else max(weight, 1.0)
    return _wilson(share, samples, _t_quantile(max(weight - 1, 1.0)))


def _jackknife(without: _Floats) -> float:
    """Variance by leaving out one group after the other."""
    return float((without.size - 1) * without.var())


def _kish(sizes: _Floats) -> float:
    return float(sizes.sum() ** 2 / (sizes @ sizes))


def _wilson(share: float, samples: float, quantile: float) -> tuple[float, float]:
    """The two shares p with (share - p)^2 = quantile^2 p (1 - p) / samples."""
    a = quantile**2 / samples
    root = sqrt(a * a + 4 * a * share * (1 - share))
    low, high = ((2 * share + a + sign * root) / (2 + 2 * a) for sign in (-1, 1))
    return (0.0 if share == 0 else max(low, 0.0)), (1.0 if share == 1 else min(high, 1.0))


@cache
def _nodes() -> tuple[_Floats, _Floats]:
    """Gauss-Legendre on (0, 1)."""
    points, weights = np.polynomial.legendre.leggauss(128)
    return (points + 1) / 2, weights / 2


@lru_cache(maxsize=100_000)
def _t_quantile(df: float) -> float:
    """The upper quantile of Student's t: with t = sqrt(df) tan(a), the density in a is that of cos(a) ** (df - 1).

    Newton's steps from 0 come from below and never leave the side, for the density falls.
    """
    points, weights = _nodes()
    scale = exp(lgamma((df + 1) / 2) - lgamma(df / 2) - log(pi) / 2)
    angle = 0.0
    for _ in range(200):
        below = scale * angle * float(weights @ np.cos(points * angle) ** (df - 1))
        step = (_LEVEL / 2 - below) / (scale * np.cos(angle) ** (df - 1))
        angle += step
        if abs(step) < 1e-15:
            break
    return sqrt(df) * tan(angle)
