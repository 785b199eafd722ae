"""Metrics, intervals and ranks computed anew from labels and predictions, as `docs/method.md` describes them.

An interval is Wilson's of the share that a metric is a function of, with an effective number of samples from the
delete-one-group jackknife and a quantile of t. A mean over classes stands for such a share itself. Who is ahead follows
"Who is ahead" there. The probability of being first rests on 10,000 resamples of the groups (2,000 from 100 systems
on), each drawn by `integers(0, groups, size=groups)` of NumPy's default generator with seed 0; groups are numbered in
the order of their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import combinations
from math import atan, cos, exp, lgamma, log, pi, sqrt, tan
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
OF_ONE = METRIC_NAMES[:3]
WILSON, NONE = "cluster Wilson", "none: one group only"
"""The methods that a score may name."""
_LEVEL, _RESAMPLES, _MANY = 0.95, (10_000, 2_000), 100
_DRAWS, _P_VALUE, _NORMAL = (9_999, 1_999), 0.05, NormalDist()
_NOTHING = 1e-20
"""A variance that is rounding alone."""
_OF_CLASSES, _LEAST_OF_CLASS = ("macro_f1", "balanced_accuracy", "weighted_f1", "matthews"), 8
_CONTROLS = ("placebo",)
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
    def parts(self) -> tuple[_Floats, _Floats, _Floats]:
        """The three arrays."""
        return self.right, self.wrong, self.missed

    @property
    def sizes(self) -> _Floats:
        """Samples of each group."""
        found: _Floats = (self.right + self.missed).sum(axis=1)
        return found

    @property
    def total(self) -> ClassTable:
        """All groups together, as if they were one."""
        return ClassTable(*(part.sum(axis=0, keepdims=True) for part in self.parts))

    def less(self, other: ClassTable) -> ClassTable:
        """What is left of a total without each group of another table."""
        return ClassTable(*(here - there for here, there in zip(self.parts, other.parts, strict=True)))


@dataclass(frozen=True, slots=True)
class Yardstick:
    """A metric by its name, of these classes."""

    metric: str
    classes: Sequence[str]

    @property
    def is_known(self) -> bool:
        """Whether it can be computed here."""
        kind, colon, of = self.metric.partition(":")
        if colon:
            return kind in OF_ONE and of in self.classes
        return kind in METRIC_NAMES and len(self.classes) > 1 and (kind not in OF_ONE or len(self.classes) == 2)

    @property
    def least(self) -> float:
        """The lowest value; the highest is 1."""
        return -1.0 if self.metric == "matthews" else 0.0

    @property
    def span(self) -> float:
        """From the lowest to the highest value."""
        return 1 - self.least

    def of_groups(self, table: ClassTable) -> _Floats:
        """The metric of each group for itself, shape (groups,)."""
        kind = self.metric.partition(":")[0]
        if kind == "matthews":
            return _matthews(table)
        if (parts := self._share(table)) is not None:
            share = _quotient(*parts)
            return 2 * share / (1 + share) if kind == "f1" else share
        right, wrong, missed = table.parts
        counts = (right, right + missed) if kind == "balanced_accuracy" else (2 * right, 2 * right + wrong + missed)
        weights = right + missed if kind == "weighted_f1" else np.ones(right.shape)
        return _quotient((_quotient(*counts) * weights).sum(axis=1), weights.sum(axis=1))

    def of(self, table: ClassTable) -> float:
        """The metric of all groups together."""
        return float(self.of_groups(table.total)[0])

    def without(self, table: ClassTable) -> _Floats:
        """The metric without each group, shape (groups,)."""
        return self.of_groups(table.total.less(table))

    def limits(self, table: ClassTable) -> tuple[float, float, float]:
        """The metric with its interval: of the share that it is a function of, else on a scale from 0 to 1."""
        parts = self._share(table)
        if parts is not None:
            low, high = _interval(*parts)
            if self.metric.partition(":")[0] == "f1":
                low, high = 2 * low / (1 + low), 2 * high / (1 + high)
            return self.of(table), low, high
        sizes, value = table.sizes, self.of(table)
        hits = (value - self.least) / self.span * sizes.sum()
        rest = sizes.sum() - sizes
        left = (self.without(table) - self.least) / self.span * rest
        low, high = _interval(hits - left, sizes, whole=hits, of_mean=True)
        return value, self.least + self.span * low, self.least + self.span * high

    def _share(self, table: ClassTable) -> tuple[_Floats, _Floats] | None:
        """The hits of each group and the samples that they are a share of, if the metric is a function of a share.

        F1 is 2j / (1 + j) of the share j of hits among all samples that have the class or for which it was chosen.
        """
        kind, _, of = self.metric.partition(":")
        right, wrong, missed = table.parts
        if kind == "micro_f1":
            return 2 * right.sum(axis=1), (2 * right + wrong + missed).sum(axis=1)
        if kind == "accuracy":
            return right.sum(axis=1), table.sizes
        if kind not in OF_ONE:
            return None
        own = self.classes.index(of) if of else 1
        others = {"precision": wrong, "recall": missed, "f1": wrong + missed}[kind]
        return right[:, own], right[:, own] + others[:, own]


def _matthews(table: ClassTable) -> _Floats:
    right, wrong, missed = table.parts
    labelled, chosen, n = right + missed, right + wrong, table.sizes
    above = n * right.sum(axis=1) - (labelled * chosen).sum(axis=1)
    spreads = (np.maximum(n * n - (part * part).sum(axis=1), 0) for part in (labelled, chosen))
    return np.clip(_quotient(above, np.sqrt(np.prod(list(spreads), axis=0))), -1, 1)


def _quotient(above: _Floats, below: _Floats) -> _Floats:
    found: _Floats = np.where(below > 0, above / np.where(below > 0, below, 1), 0.0)
    return found


def _interval(hits: _Floats, of: _Floats, *, whole: float | None = None, of_mean: bool = False) -> tuple[float, float]:
    """Wilson's interval of a share; all that is possible where one group has all that counts.

    Args:
        hits, of: of each group, the hits and the samples that they are a share of.
        whole: all hits, where the groups' do not add up to them.
        of_mean: whether it is a mean over classes, whose spread is known less well.
    """
    rest = of.sum() - of
    if hits.size == 1 or not rest.all():
        return 0.0, 1.0
    total = float(hits.sum()) if whole is None else whole
    share, left = total / float(of.sum()), total - hits
    odds = np.log((left + 1) / (rest - left + 1))  # one hit and one miss more, so that there always is a logarithm
    smoothed = (total + 1) / float(of.sum() + 2)
    spread = _jackknife(odds) * smoothed * (1 - smoothed)
    weight = _kish(of)
    samples, freedom = max(weight, 1.0), weight - 1
    if 0 < share < 1 and _jackknife(left / rest) > _NOTHING and spread > _NOTHING:
        samples = 1 / spread
        if of_mean:
            squares = (odds - odds.mean()) ** 2
            kurtosis = squares.size * float((squares**2).sum() / squares.sum() ** 2)
            freedom = min(freedom, 2 * squares.size / max(kurtosis - 1, 1e-9))
    return _wilson(share, samples, t_quantile(1 - _LEVEL, max(freedom, 1.0)))


def _jackknife(without: _Floats) -> float:
    """Variance by leaving out one group after the other."""
    return float((without.size - 1) * without.var())


def _kish(sizes: _Floats) -> float:
    """Groups of one size that would weigh as much as those there are."""
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
    width = 45 / max((df - 1) * tan(start), 1e-9)  # beyond, nothing is left that counts
    if start + width < pi / 2:
        area = width * float(weights @ np.cos(start + width * points) ** (df - 1))
    else:  # by the fourth root of the distance from pi / 2, where the density has no derivative
        reach = (pi / 2 - start) ** 0.25
        roots = reach * points
        area = reach * float(weights @ (np.sin(roots**4) ** (df - 1) * 4 * roots**3))
    return min(1.0, _scale(df) * area)


@lru_cache(maxsize=100_000)
def t_quantile(tail: float, df: float) -> float:
    """The value that |T| of Student's t exceeds with a probability.

    Newton's steps in the angle come from below and never leave that side, for the density falls.
    """
    angle = 0.0
    for _ in range(500):
        step = (_two_sided(sqrt(df) * tan(angle), df) - tail) / (_scale(df) * cos(angle) ** (df - 1))
        angle += step
        if abs(step) <= 1e-15 * (1 + angle):
            break
    return sqrt(df) * tan(angle)


@dataclass(frozen=True, slots=True)
class ScoreValues:
    """What a score must say.

    Attributes:
        counts: samples by name: n, clusters, and silent, those without an answer; of two classes also tp, fp, tn, fn.
        effective_clusters: by metric, groups of one size that would weigh as much as those there are; of a mean over
            classes those of the class that lies in fewest, where these are below 8, or, as earlier versions wrote, all.
        method: how the intervals are made.
        metrics: value, low and high by name of the metric.
    """

    counts: Mapping[str, int]
    effective_clusters: Mapping[str, tuple[float, ...]]
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
    known = (measure for name in names if (measure := Yardstick(name, classes)).is_known)
    metrics = {measure.metric: measure.limits(table) for measure in known}
    worth = _kish(sizes)
    of_class = [_kish(own) for own in (table.right + table.missed).T if own.any()]
    rarest = min(worth, *of_class) if min(of_class) < _LEAST_OF_CLASS and sizes.size > 1 else worth
    effective = {name: (rarest, worth) if name in _OF_CLASSES else (worth,) for name in metrics}
    return ScoreValues(counts, effective, WILSON if sizes.size > 1 else NONE, metrics)


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


class VerifiedPlace(NamedTuple):
    """Where a ranked system stands."""

    rank: int
    low: int
    high: int
    tie_group: int
    first: float


class Difference(NamedTuple):
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


def table_of(
    contenders: Sequence[Contender],
    labels: NDArray[np.int8],
    groups: NDArray[np.int32],
    by: Yardstick,
    resamples: int | None = None,
) -> StandingsTable:
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

    def table(one: Contender, where: NDArray[np.int32]) -> ClassTable:
        said = one.answers[np.searchsorted(one.positions, where)]
        return ClassTable.of(labels[where], said, groups[where], len(by.classes))

    def compared(entries: Sequence[Contender], where: NDArray[np.int32]) -> dict[tuple[str, str], Difference]:
        """Every two entries on samples that all of them judged; nothing where all are of one class."""
        if not entries or np.unique(labels[where]).size < 2:
            return {}
        return _differences(entries, [table(one, where) for one in entries], by)

    among = compared(systems, ground)
    beside = compared([*systems, *others], _shared(others, ground))
    places = {}
    if among:
        usual = _RESAMPLES[len(systems) >= _MANY]
        tables = [table(one, ground) for one in systems]
        places = _places([one.entry for one in systems], tables, by, among, resamples or usual)
    return StandingsTable(places, {**beside, **among})


def _half_of_most(contenders: Sequence[Contender]) -> list[Contender]:
    most = max((one.positions.size for one in contenders), default=0)
    return [one for one in contenders if 2 * one.positions.size >= most > 0]


def _shared(contenders: Sequence[Contender], ground: NDArray[np.int32]) -> NDArray[np.int32]:
    for one in contenders:
        ground = np.intersect1d(ground, one.positions)
    return ground


def _differences(
    entries: Sequence[Contender], tables: Sequence[ClassTable], by: Yardstick
) -> dict[tuple[str, str], Difference]:
    """Every two entries in both directions, adjusted by step-down max-t within their family."""
    found = {(one.entry, one.entry): Difference(0.0, 0.0, 0.0, 1.0, 1.0) for one in entries[:1]}
    effective, draws = _kish(tables[0].sizes), _drawn_errors(tables, by)
    families: dict[int, list[tuple[int, int]]] = {}
    for one, two in combinations(range(len(entries)), 2):
        families.setdefault(entries[one].ranked + entries[two].ranked, []).append((one, two))
    for pairs in families.values():
        for (one, two), there in zip(pairs, _family(pairs, tables, by, effective, draws), strict=True):
            back = Difference(-there.value, -there.high, -there.low, there.p_value, there.adjusted)
            found[entries[one].entry, entries[two].entry] = there
            found[entries[two].entry, entries[one].entry] = back
    return found


def _drawn_errors(tables: Sequence[ClassTable], by: Yardstick) -> _Floats:
    """Draws of the entries' errors, shape (entries, draws): what leaving out each group moves, times normal weights."""
    groups = tables[0].sizes.size
    if groups == 1:
        return np.zeros((len(tables), 1))
    without = np.stack([by.without(table) for table in tables])
    moved = np.sqrt((groups - 1) / groups) * (without - without.mean(axis=1, keepdims=True))
    random, draws = np.random.default_rng(0), _DRAWS[len(tables) >= _MANY]
    parts = [min(500, draws - start) for start in range(0, draws, 500)]
    return np.concatenate([moved @ random.standard_normal((rows, groups)).T for rows in parts], axis=1)


def _family(
    pairs: Sequence[tuple[int, int]], tables: Sequence[ClassTable], by: Yardstick, effective: float, draws: _Floats
) -> list[Difference]:
    df, ones, twos = max(effective - 1, 1.0), [one for one, _ in pairs], [two for _, two in pairs]
    value = np.array([by.of(tables[one]) - by.of(tables[two]) for one, two in pairs])
    if tables[0].sizes.size == 1:
        return [Difference(float(each), -by.span, by.span, 1.0, 1.0) for each in value]
    without = [by.without(table) for table in tables]
    error = np.array([sqrt(_jackknife(without[one] - without[two])) for one, two in pairs])
    blind = error < 1e-12 * by.span
    for k in np.flatnonzero(blind).tolist():
        error[k] = _blind_error(tables[ones[k]], tables[twos[k]], by, df, effective)
    p_value = np.array([_two_sided(abs(each) / err, df) for each, err in zip(value, error, strict=True)])
    adjusted, quantile, many = p_value.copy(), t_quantile(1 - _LEVEL, df), len(pairs)
    if many > 1:
        z = np.abs(draws[ones] - draws[twos]) / error[:, None]
        order = np.argsort(p_value, kind="stable")
        left = np.arange(many, 0, -1)
        alone = (blind & (p_value < 1))[order][::-1].cumsum()[::-1]
        observed = [-_NORMAL.inv_cdf(p / 2) if p > 0 else np.inf for p in p_value[order].tolist()]
        largest = np.maximum.accumulate(z[order][::-1], axis=0)[::-1]
        share = (1 + (largest >= np.array(observed)[:, None]).sum(axis=1)) / (z.shape[1] + 1)
        found = np.minimum(share + alone * p_value[order], left * p_value[order])
        adjusted[order] = np.minimum(1.0, np.maximum.accumulate(np.maximum(found, p_value[order])))
        descending, reach = np.sort(largest[0])[::-1].tolist(), t_quantile((1 - _LEVEL) / many, df)
        for count, bound in enumerate(descending, start=1):
            tail = 2 * _NORMAL.cdf(-bound)
            if count / (z.shape[1] + 1) + alone[0] * tail >= _P_VALUE:
                break
            reach = max(quantile, min(t_quantile(tail, df), t_quantile((1 - _LEVEL) / many, df)))
        quantile = reach
    low, high = value - quantile * error, value + quantile * error
    low, high = (np.where(adjusted >= _P_VALUE, clip(end, 0.0), end)
                 for clip, end in ((np.minimum, low), (np.maximum, high)))  # fmt: skip
    ends = np.maximum(-by.span, low), np.minimum(by.span, high)
    columns = (value, *ends, p_value, adjusted)
    return [Difference(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _blind_error(one: ClassTable, two: ClassTable, by: Yardstick, df: float, effective: float) -> float:
    """The standard error where every group sets both entries apart alike: from limits that are known."""
    quantile = t_quantile(1 - _LEVEL, df)
    if all(np.array_equal(here, there) for here, there in zip(one.parts, two.parts, strict=True)):
        unseen = quantile**2 / (effective + quantile**2) * float(one.sizes.sum())
        return float(np.abs(by.of_groups(_moved(one.total, unseen)) - by.of(one)).max()) / quantile
    (a, low_1, high_1), (b, low_2, high_2) = by.limits(one), by.limits(two)
    value = a - b
    low, high = value - np.hypot(a - low_1, high_2 - b), value + np.hypot(high_1 - a, b - low_2)
    return max(min(by.span, float(high)) - value, value - max(-by.span, float(low))) / quantile


def _moved(total: ClassTable, number: float) -> ClassTable:
    """A total if that many samples of a class went from right to wrong, or from wrong to right: a row for each way."""
    classes = range(total.right.shape[1])
    moved: list[tuple[_Floats, _Floats, _Floats]] = []
    for own, other in ((a, b) for a in classes for b in classes if a != b):
        right, wrong, missed = total.right[0, own], total.wrong[0, other], total.missed[0, own]
        for lost in (min(right, number), -min(wrong, missed, number)):
            at_own, at_other = (np.where(np.array(classes) == place, lost, 0.0) for place in (own, other))
            moved.append((total.right[0] - at_own, total.wrong[0] + at_other, total.missed[0] + at_own))
    return ClassTable(*(np.stack(part) for part in zip(*moved, strict=True)))


def _places(
    names: Sequence[str],
    tables: Sequence[ClassTable],
    by: Yardstick,
    among: Mapping[tuple[str, str], Difference],
    resamples: int,
) -> dict[str, VerifiedPlace]:
    values = np.array([by.of(table) for table in tables])
    first = _first(tables, by, resamples)

    def apart(one: str, two: str) -> bool:
        return one != two and among[one, two].adjusted < _P_VALUE

    tied: dict[str, int] = {}
    opener, number = names[int(values.argmax())], 1
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
    each = np.stack([[part.T for part in table.parts] for table in tables])  # systems, 3, classes, groups
    parts = []
    for _ in range(resamples):
        times = np.bincount(random.integers(0, groups, size=groups, dtype=np.int32), minlength=groups)
        drawn = each @ times.astype(np.float64)
        value = by.of_groups(ClassTable(drawn[:, 0], drawn[:, 1], drawn[:, 2]))
        best = value >= value.max()
        parts.append(best / best.sum())
    found: _Floats = np.array(parts).mean(axis=0)
    return found
