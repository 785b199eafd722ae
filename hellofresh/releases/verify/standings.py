"""Who is ahead, computed anew from predictions and labels: nothing here is shared with what made the board.

The rule is that of `docs/method.md`, "Who is ahead". The probability of being first rests on 10,000 resamples of the
groups (2,000 from 100 systems on), each drawn by `integers(0, groups, size=groups)` of NumPy's default generator with
seed 0; groups are numbered in the order of their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from math import atan, exp, lgamma, log, pi, sqrt, tan

import numpy as np
from numpy.typing import NDArray

from hellofresh.releases.verify.intervals import ClassTable, metric_limits, metric_value

__all__ = ["Contender", "Difference", "StandingsTable", "VerifiedPlace", "Yardstick", "table_of"]

_LEVEL, _RESAMPLES, _MANY = 0.95, (10_000, 2_000), 100
_NOTHING = 1e-12
_CONTROLS = ("placebo",)
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What entries are compared by: a metric by its name, of these classes."""

    metric: str
    classes: Sequence[str]

    @property
    def span(self) -> float:
        """From the lowest to the highest value."""
        return 2.0 if self.metric == "matthews" else 1.0

    def of_groups(self, table: ClassTable) -> _Floats:
        """The metric of each group for itself, shape (groups,)."""
        return metric_value(self.metric, table, self.classes)

    def of(self, table: ClassTable) -> float:
        """The metric of all groups together."""
        return float(self.of_groups(table.total)[0])

    def without(self, table: ClassTable) -> _Floats:
        """The metric without each group, shape (groups,)."""
        return self.of_groups(table.total.less(table))

    def limits(self, table: ClassTable) -> tuple[float, float, float]:
        """The metric with its interval."""
        return metric_limits(self.metric, table, self.classes)


@dataclass(frozen=True, slots=True)
class Contender:
    """An entry that may take part.

    Attributes:
        entry: its name.
        ranked: whether it is a system, and no baseline, control or smoke test.
        positions, answers: the samples that it judged, and what it said: a class, or -1.
    """

    entry: str
    ranked: bool
    positions: NDArray[np.int32] = field(repr=False)
    answers: NDArray[np.int8] = field(repr=False)

    @staticmethod
    def is_ranked(kind: str, regime: str, *, smoke_test: bool) -> bool:
        """Whether an entry of this kind and regime has a rank."""
        return kind != "baseline" and regime not in _CONTROLS and not smoke_test


@dataclass(frozen=True, slots=True)
class VerifiedPlace:
    """Where a ranked system stands."""

    rank: int
    low: int
    high: int
    tie_group: int
    first: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The metric of one entry less that of another, with its limits and its p-value, alone and adjusted."""

    value: float
    low: float
    high: float
    p_value: float
    adjusted: float


@dataclass(frozen=True, slots=True)
class StandingsTable:
    """Places by entry, and differences by the two entries."""

    places: Mapping[str, VerifiedPlace] = field(default_factory=dict)
    differences: Mapping[tuple[str, str], Difference] = field(default_factory=dict)


def table_of(contenders: Sequence[Contender], labels: NDArray[np.int8], groups: NDArray[np.int32], by: Yardstick,
             resamples: int | None = None) -> StandingsTable:  # fmt: skip
    """Who is ahead of whom.

    Args:
        contenders: all entries of a split.
        by: what they are compared by.
        labels, groups: shape (n,), of the samples that positions are of.
        resamples: how many to draw; as on the board if left out.
    """
    systems = _half_of_most([one for one in contenders if one.ranked])
    ground = _shared(systems, np.arange(labels.size, dtype=np.int32))
    others = [one for one in contenders if not one.ranked]
    if systems:
        others = [one for one in others if 2 * np.isin(ground, one.positions).sum() >= ground.size]
    else:
        others = _half_of_most(others)
    among = _compared(systems, ground, labels, groups, by)
    beside = _compared([*systems, *others], _shared(others, ground), labels, groups, by)
    places = {}
    if among:
        tables = [_table(one, ground, labels, groups, by) for one in systems]
        usual = _RESAMPLES[len(systems) >= _MANY]
        places = _places([one.entry for one in systems], tables, by, among, resamples or usual)
    return StandingsTable(places, {key: found for part in (beside, among) for key, found in part.items()})


def _half_of_most(contenders: Sequence[Contender]) -> list[Contender]:
    most = max((one.positions.size for one in contenders), default=0)
    return [one for one in contenders if 2 * one.positions.size >= most > 0]


def _shared(contenders: Sequence[Contender], ground: NDArray[np.int32]) -> NDArray[np.int32]:
    for one in contenders:
        ground = np.intersect1d(ground, one.positions)
    return ground


def _table(
    one: Contender, ground: NDArray[np.int32], labels: NDArray[np.int8], groups: NDArray[np.int32], by: Yardstick
) -> ClassTable:
    said = one.answers[np.searchsorted(one.positions, ground)]
    return ClassTable.of(labels[ground], said, groups[ground], len(by.classes))


def _compared(
    entries: Sequence[Contender], ground: NDArray[np.int32], labels: NDArray[np.int8], groups: NDArray[np.int32],
    by: Yardstick,
) -> dict[tuple[str, str], Difference]:  # fmt: skip
    """Every two entries on samples that all of them judged, in both directions; nothing where all are of one class."""
    if not entries or np.unique(labels[ground]).size < 2:
        return {}
    tables = [_table(one, ground, labels, groups, by) for one in entries]
    sizes = tables[0].sizes
    effective = float(sizes.sum() ** 2 / (sizes @ sizes))
    pairs = list(combinations(range(len(entries)), 2))
    families = Counter(entries[one].ranked + entries[two].ranked for one, two in pairs)
    found: dict[tuple[str, str], Difference] = {}
    if len(entries) == 1:
        return {(entries[0].entry, entries[0].entry): Difference(0.0, 0.0, 0.0, 1.0, 1.0)}
    for one, two in pairs:
        number = families[entries[one].ranked + entries[two].ranked]
        there = _difference(tables[one], tables[two], by, effective, number)
        back = Difference(-there.value, -there.high, -there.low, there.p_value, there.adjusted)
        found[entries[one].entry, entries[two].entry] = there
        found[entries[two].entry, entries[one].entry] = back
    return found


def _difference(one: ClassTable, two: ClassTable, by: Yardstick, effective: float, number: int) -> Difference:
    value, df = by.of(one) - by.of(two), max(effective - 1, 1.0)
    if one.sizes.size == 1:
        return Difference(value, -by.span, by.span, 1.0, 1.0)
    without = by.without(one) - by.without(two)
    error = sqrt((without.size - 1) * float(without.var()))
    if error < _NOTHING * by.span:
        error = _blind_error(one, two, by, df, effective)
    p_value = _two_sided(abs(value) / error, df)
    adjusted = min(1.0, number * p_value)
    reach = _quantile(1 - _LEVEL, df) if number == 1 else _quantile((1 - _LEVEL) / number, df)
    low, high = value - reach * error, value + reach * error
    if adjusted >= 1 - _LEVEL:
        low, high = min(low, 0.0), max(high, 0.0)
    return Difference(value, max(-by.span, low), min(by.span, high), p_value, adjusted)


def _blind_error(one: ClassTable, two: ClassTable, by: Yardstick, df: float, effective: float) -> float:
    """Where no group tells one entry from the other by more or less than any other: from limits that are known."""
    quantile = _quantile(1 - _LEVEL, df)
    parts = zip((one.right, one.wrong, one.missed), (two.right, two.wrong, two.missed), strict=True)
    if all(np.array_equal(here, there) for here, there in parts):
        unseen = quantile**2 / (effective + quantile**2) * float(one.sizes.sum())
        return float(np.abs(by.of_groups(_moved(one.total, unseen)) - by.of(one)).max()) / quantile
    (a, low_1, high_1), (b, low_2, high_2) = by.limits(one), by.limits(two)
    value = a - b
    low, high = value - np.hypot(a - low_1, high_2 - b), value + np.hypot(high_1 - a, b - low_2)
    return max(min(by.span, float(high)) - value, value - max(-by.span, float(low))) / quantile


def _moved(total: ClassTable, number: float) -> ClassTable:
    """A total if so many samples of a class went from right to wrong, or from wrong to right: a row for each way."""
    classes = range(total.right.shape[1])
    right, wrong, missed = ([] for _ in range(3))  # type: tuple[list[_Floats], list[_Floats], list[_Floats]]
    for own, other in ((a, b) for a in classes for b in classes if a != b):
        there = total.right[0, own], total.wrong[0, other], total.missed[0, own]
        for lost in (min(there[0], number), -min(there[1], there[2], number)):
            step = np.zeros(len(classes))
            step[own] = lost
            aside = np.zeros(len(classes))
            aside[other] = lost
            right.append(total.right[0] - step)
            wrong.append(total.wrong[0] + aside)
            missed.append(total.missed[0] + step)
    return ClassTable(*(np.stack(part) for part in (right, wrong, missed)))


def _places(
    names: Sequence[str], tables: Sequence[ClassTable], by: Yardstick, among: Mapping[tuple[str, str], Difference],
    resamples: int,
) -> dict[str, VerifiedPlace]:  # fmt: skip
    values = np.array([by.of(table) for table in tables])
    first = _first(tables, by, resamples)

    def apart(one: str, two: str) -> bool:
        return one != two and among[one, two].adjusted < 1 - _LEVEL

    tied: dict[str, int] = {}
    opener = names[int(values.argmax())]
    number = 1
    for place in np.argsort(-values, kind="stable").tolist():
        if apart(opener, names[place]):
            opener, number = names[place], number + 1
        tied[names[place]] = number
    return {
        name: VerifiedPlace(
            rank=1 + int((values > values[k]).sum()),
            low=1 + sum(apart(name, other) and values[j] > values[k] for j, other in enumerate(names)),
            high=len(names) - sum(apart(name, other) and values[j] < values[k] for j, other in enumerate(names)),
            tie_group=tied[name],
            first=float(first[k]),
        )
        for k, name in enumerate(names)
    }


def _first(tables: Sequence[ClassTable], by: Yardstick, resamples: int) -> _Floats:
    """Share of resamples of the groups in which each system has the highest value; who shares it has its part."""
    random, groups = np.random.default_rng(0), tables[0].sizes.size
    each = np.stack([[table.right.T, table.wrong.T, table.missed.T] for table in tables])  # systems, 3, classes, groups
    parts = []
    for _ in range(resamples):
        times = np.bincount(random.integers(0, groups, size=groups, dtype=np.int32), minlength=groups)
        drawn = each @ times.astype(np.float64)
        value = by.of_groups(ClassTable(drawn[:, 0], drawn[:, 1], drawn[:, 2]))
        best = value >= value.max()
        parts.append(best / best.sum())
    found: _Floats = np.array(parts).mean(axis=0)
    return found


@lru_cache(maxsize=1)
def _nodes() -> tuple[_Floats, _Floats]:
    """Gauss-Legendre on (0, 1)."""
    points, weights = np.polynomial.legendre.leggauss(200)
    return (points + 1) / 2, weights / 2


def _two_sided(value: float, df: float) -> float:
    """P(|T| > value) of Student's t: with t = sqrt(df) tan(a) the density in a is that of cos(a) ** (df - 1)."""
    if value == 0:
        return 1.0
    points, weights = _nodes()
    start = atan(value / sqrt(df))
    scale = 2 * exp(lgamma((df + 1) / 2) - lgamma(df / 2) - log(pi) / 2)
    width = 45 / max((df - 1) * tan(start), 1e-9)  # beyond, nothing is left that counts
    if start + width < pi / 2:
        area = width * float(weights @ np.cos(start + width * points) ** (df - 1))
    else:  # by the fourth root of the distance from pi / 2, where the density has no derivative
        reach = (pi / 2 - start) ** 0.25
        roots = reach * points
        area = reach * float(weights @ (np.sin(roots**4) ** (df - 1) * 4 * roots**3))
    return min(1.0, scale * area)


@lru_cache(maxsize=100_000)
def _quantile(tail: float, df: float) -> float:
    """The value that |T| exceeds with this probability, by halving."""
    low, high = 0.0, 1.0
    while _two_sided(high, df) > tail:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _two_sided(middle, df) > tail else (low, middle)
    return (low + high) / 2
