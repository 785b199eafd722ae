"""Who is ahead of whom on one quarter and task, for all systems from the same resamples.

Systems are compared by F1 on the samples that all of them judged. A system that judged less than half as many samples
as the one that judged most takes no part, so that it does not shrink the common ground of the others. Baselines and
smoke tests are compared with everybody and ranked with nobody; pairs with them form a family of tests of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats import (
    Differences,
    Draws,
    all_differences,
    cluster_tables,
    draw_jointly,
    evaluate,
    few_clusters,
    holm,
    rank_systems,
    tie_groups,
)
from hellofresh.stats.paired import difference_interval

__all__ = ["ALL_PERIODS", "Field", "Pair", "Standing", "pairs_of", "standings_of"]

ALL_PERIODS = "all"
_METRIC = "f1"
_RESAMPLES = 10_000
_MANY, _FEWER_RESAMPLES = 100, 2_000
"""From so many systems on, fewer resamples are drawn."""
_NO_WIDTH = 1e-9
_MOST_BY_PERIOD = 40
"""With more systems than this, pairs are compared on the whole quarter only."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a ranked system stands.

    Attributes:
        origin: the system's.
        rank, low, high: its rank by F1, and the best and the worst one that the data allow it.
        first: probability of being first.
        tie_group: 1 for all that are not separable from the best, and so on.
        n, clusters: samples and groups of samples that the comparison rests on.
        few_clusters: whether these are too few for intervals that hold what they promise.
    """

    origin: str
    rank: int
    low: int
    high: int
    first: float
    tie_group: int
    n: int
    clusters: int
    few_clusters: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """Two systems on the same samples; `one` comes before `two` in the field.

    Attributes:
        one, two: the systems' origins.
        period: `all` or a period.
        n: samples that both judged.
        difference, low, high: F1 of the first less that of the second, with its 95% interval.
        p_value: of no difference, for this pair alone; None for single periods.
        adjusted: the same, adjusted by Holm for all pairs of its family.
        both_right, one_right, two_right: samples on which both, only the first, only the second was right.
        same: samples on which both said the same; two that gave no answer said the same.
    """

    one: str
    two: str
    period: str
    n: int
    difference: float
    low: float
    high: float
    p_value: float | None
    adjusted: float | None
    both_right: int
    one_right: int
    two_right: int
    same: int

    def turned(self) -> Pair:
        """The second against the first."""
        return replace(self, one=self.two, two=self.one, difference=-self.difference, low=-self.high, high=-self.low,
                       one_right=self.two_right, two_right=self.one_right)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """The systems of a quarter and task on their common samples.

    Attributes:
        origins: the systems.
        ranked: which of them are ranked, shape (systems,).
        labels, groups: shape (n,), as `hellofresh.stats` takes them.
        periods: shape (n,), the samples' periods.
        predictions: shape (systems, n), 0, 1 or -1.
    """

    origins: Sequence[str]
    ranked: NDArray[np.bool_]
    labels: NDArray[np.int8]
    groups: NDArray[np.int64]
    periods: NDArray[np.str_]
    predictions: NDArray[np.int8]

    @classmethod
    def of(
        cls,
        said: Mapping[str, Mapping[str, int]],
        ranked: Mapping[str, bool],
        samples: Mapping[str, tuple[int, str, str]],
    ) -> Field | None:
        """The field of those who judged enough; None without any.

        Args:
            said: predictions (0, 1, -1) by system, then by sample.
            ranked: whether a system is ranked.
            samples: label, group and period by sample id; what was taken down since is not among them.
        """
        most = max((len(by_sample) for by_sample in said.values()), default=0)
        origins = [origin for origin, by_sample in said.items() if by_sample and 2 * len(by_sample) >= most]
        common = sorted(set.intersection(*(set(said[origin]) for origin in origins))) if origins else []
        common = [key for key in common if key in samples]
        if not common:
            return None
        labels, groups, periods = zip(*(samples[key] for key in common), strict=True)
        return cls(
            origins,
            np.array([ranked[origin] for origin in origins], dtype=np.bool_),
            np.array(labels, dtype=np.int8),
            np.unique(groups, return_inverse=True)[1].astype(np.int64),
            np.array(periods, dtype=np.str_),
            np.array([[said[origin][key] for key in common] for origin in origins], dtype=np.int8),
        )

    def within(self, period: str) -> Field:
        """The part of one period."""
        here = self.periods == period
        return replace(self, labels=self.labels[here], groups=self.groups[here], periods=self.periods[here],
                       predictions=self.predictions[:, here])  # fmt: skip

    def draws(self, resamples: int) -> Draws:
        """Joint resamples of all systems."""
        return draw_jointly(self.labels, self.predictions, self.groups, metrics=[_METRIC], resamples=resamples)


def standings_of(field: Field) -> tuple[list[Standing], list[Pair]]:
    """The ranked systems in their order, and all pairs on the whole quarter."""
    draws = field.draws(_RESAMPLES if len(field.origins) < _MANY else _FEWER_RESAMPLES)
    pairs = pairs_of(field, draws)
    if not field.ranked.any():
        return [], pairs
    own = replace(draws, values=draws.values[:, field.ranked], resampled=draws.resampled[:, field.ranked])
    ranking = rank_systems(own, _METRIC)
    origins = [origin for origin, ranked in zip(field.origins, field.ranked, strict=True) if ranked]
    groups = tie_groups(own.value(_METRIC), _separable(origins, pairs))
    few = few_clusters(draws.clusters, draws.effective_clusters)
    found = [
        Standing(origin, int(ranking.rank[k]), int(ranking.low[k]), int(ranking.high[k]), float(ranking.first[k]),
                 int(groups[k]), draws.n, draws.clusters, few)
        for k, origin in enumerate(origins)
    ]  # fmt: skip
    return sorted(found, key=lambda standing: (standing.rank, standing.origin)), pairs


def _separable(origins: Sequence[str], pairs: Sequence[Pair]) -> NDArray[np.bool_]:
    place = {origin: k for k, origin in enumerate(origins)}
    apart = np.zeros((len(origins), len(origins)), dtype=np.bool_)
    for pair in pairs:
        if pair.one in place and pair.two in place and pair.adjusted is not None and pair.adjusted < 0.05:
            one, two = place[pair.one], place[pair.two]
            apart[one, two] = apart[two, one] = True
    return apart


def pairs_of(field: Field, draws: Draws | None = None) -> list[Pair]:
    """All pairs of systems: on the whole quarter with its draws, without them by period.

    Periods have few clusters, so few that resamples may all say the same; their intervals are the jackknife's, and they
    are not tested.
    """
    if draws is not None:
        return _whole(field, draws)
    if len(field.origins) > _MOST_BY_PERIOD:
        return []
    return [pair for period in sorted(set(field.periods.tolist())) for pair in _part(field.within(period), period)]


def _whole(field: Field, draws: Draws) -> list[Pair]:
    places = list(combinations(range(len(field.origins)), 2))
    if not places:
        return []
    apart = all_differences(draws, _METRIC)
    adjusted = _adjusted(field.ranked, apart.p_value, places)
    found = [(place, float(apart.difference[place]), *_limits(field, apart, place)) for place in places]
    tested = [(float(apart.p_value[place]), p_value) for place, p_value in zip(places, adjusted, strict=True)]
    return _pairs(field, ALL_PERIODS, found, tested)


def _limits(field: Field, apart: Differences, place: tuple[int, int]) -> tuple[float, float]:
    """The resamples' interval; where all of them say the same, what `difference_interval` makes of it."""
    low, high = float(apart.low[place]), float(apart.high[place])
    if high - low > _NO_WIDTH:
        return low, high
    one, two = (cluster_tables(field.labels, field.predictions[system], field.groups) for system in place)
    interval, _ = difference_interval(one, two, _METRIC, 0.95, field.labels.size)
    return interval.low, interval.high


def _part(field: Field, period: str) -> list[Pair]:
    tables = [cluster_tables(field.labels, said, field.groups) for said in field.predictions]
    values = [float(evaluate(table.sum(axis=0), _METRIC)) for table in tables]
    found = []
    for one, two in combinations(range(len(tables)), 2):
        interval, _ = difference_interval(tables[one], tables[two], _METRIC, 0.95, field.labels.size)
        found.append(((one, two), values[one] - values[two], interval.low, interval.high))
    return _pairs(field, period, found, [(None, None)] * len(found))


def _pairs(
    field: Field,
    period: str,
    found: Iterable[tuple[tuple[int, int], float, float, float]],
    tested: Sequence[tuple[float | None, float | None]],
) -> list[Pair]:
    """Differences with their limits and p-values, and the counts of samples."""
    said = field.predictions
    right = (said == field.labels).astype(np.int64)
    both = right @ right.T
    same = sum((said == value).astype(np.int64) @ (said == value).astype(np.int64).T for value in (0, 1, -1))
    return [
        Pair(field.origins[one], field.origins[two], period, field.labels.size, difference, low, high, *p_values,
             int(both[one, two]), int(both[one, one] - both[one, two]), int(both[two, two] - both[one, two]),
             int(same[one, two]))
        for ((one, two), difference, low, high), p_values in zip(found, tested, strict=True)
    ]  # fmt: skip


def _adjusted(
    ranked: NDArray[np.bool_], p_values: NDArray[np.float64], places: Sequence[tuple[int, int]]
) -> list[float]:
    """Holm within the pairs of ranked systems, and within all other pairs."""
    raw = np.array([p_values[place] for place in places])
    among = np.array([bool(ranked[one] and ranked[two]) for one, two in places])
    found = np.empty_like(raw)
    for family in (among, ~among):
        if family.any():
            found[family] = holm(raw[family])
    return [float(value) for value in found]
