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

from hellofresh.releases.verify.intervals import f1_limits

__all__ = ["Contender", "Difference", "StandingsTable", "VerifiedPlace", "table_of"]

_LEVEL, _RESAMPLES, _MANY = 0.95, (10_000, 2_000), 100
_NOTHING = 1e-12
_CONTROLS = ("placebo",)
_Floats = NDArray[np.float64]
_Cells = NDArray[np.float64]
"""Shape (groups, 4): true and false positives, true and false negatives; no answer counts as wrong."""


@dataclass(frozen=True, slots=True)
class Contender:
    """An entry that may take part.

    Attributes:
        entry: its name.
        ranked: whether it is a system, and no baseline, control or smoke test.
        positions, answers: the samples that it judged, and what it said: 0, 1 or -1.
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
    """F1 of one entry less that of another, with its limits and its p-value, alone and adjusted."""

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


def table_of(contenders: Sequence[Contender], labels: NDArray[np.int8], groups: NDArray[np.int32],
             resamples: int | None = None) -> StandingsTable:  # fmt: skip
    """Who is ahead of whom.

    Args:
        contenders: all entries of a split.
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
    among = _compared(systems, ground, labels, groups)
    beside = _compared([*systems, *others], _shared(others, ground), labels, groups)
    places = {}
    if among:
        cells = np.stack([_cells(one, ground, labels, groups) for one in systems])
        usual = _RESAMPLES[len(systems) >= _MANY]
        places = _places([one.entry for one in systems], cells, among, resamples or usual)
    return StandingsTable(places, {key: found for part in (beside, among) for key, found in part.items()})


def _half_of_most(contenders: Sequence[Contender]) -> list[Contender]:
    most = max((one.positions.size for one in contenders), default=0)
    return [one for one in contenders if 2 * one.positions.size >= most > 0]


def _shared(contenders: Sequence[Contender], ground: NDArray[np.int32]) -> NDArray[np.int32]:
    for one in contenders:
        ground = np.intersect1d(ground, one.positions)
    return ground


def _cells(one: Contender, ground: NDArray[np.int32], labels: NDArray[np.int8], groups: NDArray[np.int32]) -> _Cells:
    said = one.answers[np.searchsorted(one.positions, ground)]
    truth, member = labels[ground], np.unique(groups[ground], return_inverse=True)[1]
    right = said == truth
    outcomes = (right & (truth == 1), ~right & (truth == 0), right & (truth == 0), ~right & (truth == 1))
    return np.stack([np.bincount(member, weights=there, minlength=member.max() + 1) for there in outcomes], axis=1)


def _f1(cells: _Cells) -> _Floats:
    """Of tables in the last axis; 0 where there is nothing to find."""
    hits, wrong = cells[..., 0], cells[..., 1] + cells[..., 3]
    of = 2 * hits + wrong
    found: _Floats = np.where(of > 0, 2 * hits / np.where(of > 0, of, 1), 0.0)
    return found


def _compared(
    entries: Sequence[Contender], ground: NDArray[np.int32], labels: NDArray[np.int8], groups: NDArray[np.int32]
) -> dict[tuple[str, str], Difference]:
    """Every two entries on samples that all of them judged, in both directions; nothing where one class is missing."""
    if not entries or np.unique(labels[ground]).size < 2:
        return {}
    cells = [_cells(one, ground, labels, groups) for one in entries]
    sizes = cells[0].sum(axis=1)
    effective = float(sizes.sum() ** 2 / (sizes @ sizes))
    pairs = list(combinations(range(len(entries)), 2))
    families = Counter(entries[one].ranked + entries[two].ranked for one, two in pairs)
    found: dict[tuple[str, str], Difference] = {}
    if len(entries) == 1:
        return {(entries[0].entry, entries[0].entry): Difference(0.0, 0.0, 0.0, 1.0, 1.0)}
    for one, two in pairs:
        number = families[entries[one].ranked + entries[two].ranked]
        there = _difference(cells[one], cells[two], max(effective - 1, 1.0), effective, number)
        back = Difference(-there.value, -there.high, -there.low, there.p_value, there.adjusted)
        found[entries[one].entry, entries[two].entry] = there
        found[entries[two].entry, entries[one].entry] = back
    return found


def _difference(one: _Cells, two: _Cells, df: float, effective: float, number: int) -> Difference:
    value = float(_f1(one.sum(axis=0)) - _f1(two.sum(axis=0)))
    if len(one) == 1:
        return Difference(value, -1.0, 1.0, 1.0, 1.0)
    without = _f1(one.sum(axis=0) - one) - _f1(two.sum(axis=0) - two)
    error = sqrt((without.size - 1) * float(without.var()))
    if error < _NOTHING:
        error = _blind_error(one, two, value, df, effective)
    p_value = _two_sided(abs(value) / error, df)
    adjusted = min(1.0, number * p_value)
    reach = _quantile(1 - _LEVEL, df) if number == 1 else _quantile((1 - _LEVEL) / number, df)
    low, high = value - reach * error, value + reach * error
    if adjusted >= 1 - _LEVEL:
        low, high = min(low, 0.0), max(high, 0.0)
    return Difference(value, max(-1.0, low), min(1.0, high), p_value, adjusted)


def _blind_error(one: _Cells, two: _Cells, value: float, df: float, effective: float) -> float:
    """Where no group tells one entry from the other by more or less than any other: from limits that are known."""
    quantile = _quantile(1 - _LEVEL, df)
    total = one.sum(axis=0)
    if np.array_equal(one, two):
        moved = np.minimum(total, quantile**2 / (effective + quantile**2) * total.sum())
        tables = total + np.diag(-moved) + np.diag(moved)[:, [3, 2, 1, 0]]
        return float(np.abs(_f1(tables) - _f1(total)).max()) / quantile
    (a, low_1, high_1), (b, low_2, high_2) = f1_limits(one), f1_limits(two)
    low, high = value - np.hypot(a - low_1, high_2 - b), value + np.hypot(high_1 - a, b - low_2)
    return max(min(1.0, float(high)) - value, value - max(-1.0, float(low))) / quantile


def _places(
    names: Sequence[str], cells: _Cells, among: Mapping[tuple[str, str], Difference], resamples: int
) -> dict[str, VerifiedPlace]:
    values = _f1(cells.sum(axis=1))
    first = _first(cells, resamples)

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


def _first(cells: _Cells, resamples: int) -> _Floats:
    """Share of resamples of the groups in which each system has the highest F1; who shares it has its part."""
    random, groups = np.random.default_rng(0), cells.shape[1]
    hits, wrong = cells[..., 0], cells[..., 1] + cells[..., 3]
    parts = []
    for _ in range(resamples):
        times = np.bincount(random.integers(0, groups, size=groups, dtype=np.int32), minlength=groups)
        found, missed = hits @ times, wrong @ times
        of = 2 * found + missed
        value = np.where(of > 0, 2 * found / np.where(of > 0, of, 1), 0.0)
        best = value >= value.max()
        parts.append(best / best.sum())
    found_first: _Floats = np.array(parts).mean(axis=0)
    return found_first


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
