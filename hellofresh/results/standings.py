"""Standings of systems on a split, by a single rule.

- Ranked are systems; baselines, controls (`hellofresh.results.split.panel.CONTROLS`) and smoke tests are compared with
  them.
- A system takes part if it judged at least half as many samples as the system that judged most. Ranks, and pairs of
  systems, rest on the samples that all who take part judged.
- What is not ranked is compared where it judged at least half of these samples, on those of them that every other one
  so compared judged too. So nothing unranked can change a rank, and an incomplete run cannot shrink the common ground.
- Every pair is compared by the task's headline metric as in `hellofresh.stats.ranking` (step-down max-t).
  Two systems, a system and an unranked entry, and two unranked entries are three questions, so they are three families
  of tests.
- Pairs of systems that people rated are those of `hellofresh.judging.comparison`, by the same rater on the same post.
- Rank intervals and tie groups follow from the pairs that differ significantly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from hellofresh.core.parquet import Table
from hellofresh.results.card import CardRow, card_rows
from hellofresh.results.score_files import ItemScores
from hellofresh.results.split.panel import ALL_PERIODS, EntrySection, Panel, System
from hellofresh.results.split.tables import PairDifference
from hellofresh.stats.arrays import Bools, Floats, Ints
from hellofresh.stats.draws import draw_jointly, first_place
from hellofresh.stats.intervals import clusters_worth, few_clusters
from hellofresh.stats.multiway import ClusteredMean
from hellofresh.stats.paired import difference_interval
from hellofresh.stats.ranking import Differences, all_differences, halves_agree, rank_systems, samples_to_overtake

_RESAMPLES = 10_000  # a probability of leading is then known within 1%
# Number of systems from which fewer resamples are drawn, and that number of resamples.
_MANY, _FEWER_RESAMPLES = 100, 2_000
_RIVALS = 10  # number of nearest rivals for which the robustness of the first place is computed
_MOST_ON_CARD = 200  # the card's counts of orders take time with the square of systems
_MOST_BY_PERIOD = 40  # most entries whose pairs are also compared by period
RaterTests = Mapping[tuple[str, str], tuple[ClusteredMean, float]]
"""By the origins of two systems, their difference by the same raters and its adjusted p-value."""
_Places = tuple[Ints, Ints]  # the numbers in a field of the first and the second entry of pairs


@dataclass(frozen=True, slots=True)
class Standing:
    """The standing of a ranked system.

    Attributes:
        origin: the system's.
        rank, low, high: its rank by the headline metric, and the best and the worst one that the data allow it.
        first: probability of being first.
        tie_group: 1 for all that are not separable from the best, and so on.
        n, clusters: samples and groups of samples that the comparison rests on.
        few_clusters: whether these are too few for intervals with nominal coverage.
        to_lose: for the first, the number of samples without which it is not ahead, see
            `hellofresh.stats.samples_to_overtake`; None for others, and if no number suffices.
        halves: for the first, how often two random halves of the samples agree on the first; None for others.
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
    to_lose: int | None = None
    halves: float | None = None


@dataclass(frozen=True, slots=True)
class Pair(PairDifference):
    """Two entries on the same samples; `one` comes before `two` in the panel.

    The difference is of the headline metric. In a period, where nothing is tested, the interval is the pair's own.

    Attributes:
        period: `all` or a period.
        n: samples that both answered.
        both_right, one_right, two_right: samples on which both, only the first, only the second was right.
        same: samples on which both said the same; two that gave no answer said the same.
    """

    period: str
    n: int
    both_right: int
    one_right: int
    two_right: int
    same: int

    def turned(self) -> Pair:
        """The pair with its entries exchanged."""
        return replace(self, one=self.two, two=self.one, difference=-self.difference, low=-self.high, high=-self.low,
                       one_right=self.two_right, two_right=self.one_right)  # fmt: skip


PAIRS = Table(Pair)


@dataclass(frozen=True, slots=True, eq=False)
class Standings:
    """The standings of systems and the comparison of all pairs.

    Attributes:
        ranked: in the order of ranks.
        pairs: of all entries that take part, a row of `PAIRS` each, first on the whole split, then by period.
        notes: entries that do not take part, with reasons.
        detectable: the true difference that would be found with a power of 80% between two ranked systems, in the
            median of the pairs, each tested alone; None without a pair, or where there is one cluster only.
        card: fields of the card of the ranked systems, by which of them was right on which sample.
    """

    ranked: Sequence[Standing] = ()
    pairs: pl.DataFrame = field(default_factory=PAIRS.schema.to_frame)
    notes: Sequence[str] = ()
    detectable: float | None = None
    card: Sequence[CardRow] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """Compared entries and their common samples, which all of them judged.

    Attributes:
        systems: the entries.
        where: shape (n,), the samples of the panel.
    """

    systems: Sequence[System]
    where: Bools

    @property
    def ranked(self) -> Bools:
        """Which entries are ranked, shape (systems,)."""
        return np.array([system.section is EntrySection.SYSTEM for system in self.systems], dtype=np.bool_)


def fields_of(panel: Panel) -> tuple[Field, Field]:
    """The field of ranked entries, and the field of all compared entries, each with its common samples."""
    ranked = _complete([system for system in panel.systems if system.section is EntrySection.SYSTEM])
    others = [system for system in panel.systems if system.section is not EntrySection.SYSTEM]
    everywhere = np.ones(panel.labels.shape, dtype=np.bool_)
    ground = _common(ranked, everywhere)
    if ranked:
        others = [s for s in others if 2 * (s.headline.asked & ground).sum() >= ground.sum()]
    else:
        others = _complete(others)
    both = [system for system in panel.systems if system in ranked or system in others]
    return Field(ranked, ground), Field(both, _common(others, ground))


def _complete(systems: Sequence[System]) -> list[System]:
    """The systems that answered at least half as many samples as the one that answered most."""
    asked = [int(system.headline.asked.sum()) for system in systems]
    most = max(asked, default=0)
    return [system for system, n in zip(systems, asked, strict=True) if 2 * n >= most > 0]


def _common(systems: Sequence[System], ground: Bools) -> Bools:
    found: Bools = np.logical_and.reduce([ground, *(system.headline.asked for system in systems)])
    return found


def standings_of(panel: Panel, *, resamples: int | None = None, tests: RaterTests | None = None) -> Standings:
    """Ranks of the systems of a split, and all its pairs.

    Args:
        panel: the split.
        resamples: for the probability of being first; by the number of systems if left out.
        tests: pairs whose difference is known over raters, too.
    """
    ranked, compared = fields_of(panel)
    among, beside = _differences(panel, ranked, ranked=True), _differences(panel, compared, ranked=False)
    among, beside = _over_raters(ranked, among, tests or {}), _over_raters(compared, beside, tests or {})
    # the comparison says nothing of them, and a reader would look for them
    out = [system.name for system in panel.systems if system not in compared.systems]
    notes = [f"Scored on too few samples to be compared: {', '.join(out)}."] if out else []
    if ranked.systems and among is None:
        notes.append("No system is ranked: the samples common to all systems are of one class.")
    standings = [] if among is None else _standings(panel, ranked, among, resamples)
    fields = ((ranked, among, True), (compared, beside, False))
    pairs = [_whole(panel, field, found, tests or {}, ranked=both) for field, found, both in fields if found]
    # pairs by period grow with the square of the systems times the periods
    if len(compared.systems) <= _MOST_BY_PERIOD:
        pairs += [pair for field, _, both in fields for pair in _by_period(panel, field, ranked=both)]
    every = pl.concat([PAIRS.schema.to_frame(), *pairs], rechunk=True)
    detectable = float("nan")
    if among is not None and len(among.values) > 1:
        detectable = float(np.median(among.detectable()[np.triu_indices(len(among.values), 1)]))
    card = _card(panel, ranked, among) if among is not None else []
    return Standings(standings, every, notes, detectable if np.isfinite(detectable) else None, card)


def _card(panel: Panel, field: Field, found: Differences) -> list[CardRow]:
    """The card of ranked systems; empty for one, for very many, and where no answer is right or wrong."""
    if not 1 < len(field.systems) <= _MOST_ON_CARD or not panel.task.classes:
        return []
    right = [s.headline.predictions(field.where) == panel.labels[field.where] for s in field.systems]
    items = [panel.samples[k].id for k in np.flatnonzero(field.where).tolist()]
    groups = np.unique(panel.groups[field.where], return_inverse=True)[1].astype(np.int64)
    clusters, names = groups if groups.max() + 1 < groups.size else None, [s.name for s in field.systems]
    scores = ItemScores(names, items, np.array(right, dtype=np.float64), clusters, (0.0, 1.0), "")
    return card_rows(scores, found, f"{panel.task.name} {panel.edition}, hellofresh board build")


def _differences(panel: Panel, field: Field, *, ranked: bool) -> Differences | None:
    """All pairs of the field, adjusted where they are pairs of ranked systems, or where they are not; None if the field
    is empty or all samples are of one class.
    """
    if not field.systems or not field.where.any() or panel.is_one_class(field.where):
        return None
    kinds = field.ranked[:, None].astype(np.int64) + field.ranked
    families = np.where((kinds == 2) == ranked, kinds, -1)
    return all_differences(_tables(panel, field), panel.task.headline, families=families)


def _over_raters(field: Field, found: Differences | None, tests: RaterTests) -> Differences | None:
    """The differences of a field, in which pairs that people rated have those by the same raters."""
    if found is None:
        return None
    names = ("difference", "low", "high", "standard_error", "p_value", "adjusted", "worth")
    new = {name: getattr(found, name).copy() for name in names}
    places = {system.origin: k for k, system in enumerate(field.systems)}
    for (first, second), (mean, adjusted) in tests.items():
        if first in places and second in places:
            one, two = places[first], places[second]
            shared = (mean.standard_error, mean.p_value, adjusted, mean.df + 1)
            forth, back = (mean.value, mean.low, mean.high, *shared), (-mean.value, -mean.high, -mean.low, *shared)
            for name, value, turned in zip(names, forth, back, strict=True):
                new[name][one, two], new[name][two, one] = value, turned
    return replace(found, **new)


def _tables(panel: Panel, field: Field) -> Floats:
    return panel.tables([system.headline for system in field.systems], field.where)


def _standings(panel: Panel, field: Field, found: Differences, resamples: int | None) -> list[Standing]:
    metric, n = panel.task.headline, int(field.where.sum())
    usual = _FEWER_RESAMPLES if len(field.systems) >= _MANY else _RESAMPLES
    tables = _tables(panel, field)
    first = first_place(draw_jointly(tables, [metric], resamples=resamples or usual), metric)
    clusters = tables.shape[1]
    few = few_clusters(clusters, min(clusters_worth(table, metric) for table in tables))
    ranking = rank_systems(found)
    standings = [
        Standing(system.origin, int(ranking.rank[k]), int(ranking.low[k]), int(ranking.high[k]), float(first[k]),
                 int(ranking.tie_group[k]), n, clusters, few)
        for k, system in enumerate(field.systems)
    ]  # fmt: skip
    standings.sort(key=lambda standing: (standing.rank, standing.origin))
    return [_with_fragility(panel, field, tables, standings[0]), *standings[1:]] if len(standings) > 1 else standings


def _with_fragility(panel: Panel, field: Field, tables: Floats, first: Standing) -> Standing:
    """The first system's standing with its robustness against the nearest others."""
    metric, origins = panel.task.headline, [system.origin for system in field.systems]
    own = origins.index(first.origin)
    order = np.argsort(-metric.sign * metric.value(tables.sum(axis=1)), kind="stable")
    nearest = [k for k in order.tolist() if k != own][:_RIVALS]
    said = {k: panel.statistics(field.systems[k].headline, field.where, metric) for k in (own, *nearest)}
    enough = [samples_to_overtake(said[own], said[k], metric) for k in nearest]
    to_lose = min((one for one in enough if one is not None), default=None)
    return replace(first, to_lose=to_lose, halves=halves_agree(tables, metric))


def _places(field: Field, *, ranked: bool) -> _Places:
    """Pairs of ranked systems, or all others."""
    one, two = np.triu_indices(len(field.systems), 1)
    chosen = (field.ranked[one] & field.ranked[two]) == ranked
    return one[chosen], two[chosen]


def _whole(panel: Panel, field: Field, found: Differences, tests: RaterTests, *, ranked: bool) -> pl.DataFrame:
    places = _places(field, ranked=ranked)
    common, origins = int(field.where.sum()), [system.origin for system in field.systems]
    own = {frozenset(pair): mean.clusters for pair, (mean, _) in tests.items()}
    n = [own.get(frozenset((origins[one], origins[two])), common) for one, two in zip(*places, strict=True)]
    tested = {name: getattr(found, name)[places] for name in ("difference", "low", "high", "p_value", "adjusted")}
    return _counted(panel, field, ALL_PERIODS, places, tested | {"n": np.array(n)})


def _by_period(panel: Panel, field: Field, *, ranked: bool) -> Iterator[pl.DataFrame]:
    """Every pair in every period, with the interval of its own."""
    places, metric = _places(field, ranked=ranked), panel.task.headline
    for period in panel.period_names if places[0].size else ():
        part = replace(field, where=field.where & (panel.periods == period))
        if n := int(part.where.sum()):
            tables = _tables(panel, part)
            values = metric.value(tables.sum(axis=1))
            pairs = [(tables[one], tables[two]) for one, two in zip(*places, strict=True)]
            made = [difference_interval(one, two, metric, n)[0] for one, two in pairs]
            found = {"difference": values[places[0]] - values[places[1]]}
            found |= {end: np.array([getattr(interval, end) for interval in made]) for end in ("low", "high")}
            yield _counted(panel, part, period, places, found)


def _counted(panel: Panel, field: Field, period: str, places: _Places, found: Mapping[str, Floats]) -> pl.DataFrame:
    """Pairs of a field with what was compared, by the names of columns, and the counts of samples."""
    said = np.stack([system.headline.predictions(field.where) for system in field.systems])
    right = (said == panel.labels[field.where]).astype(np.float64)  # whole numbers, exact, and multiplied fast
    both, (one, two) = right @ right.T, places
    values = [(said == value).astype(np.float64) for value in np.unique(said)]
    same = sum((value @ value.T for value in values), np.zeros(both.shape))
    origins = pl.Series([system.origin for system in field.systems], dtype=pl.String)
    counts = {"both_right": both[places], "one_right": both[one, one] - both[places]}
    counts |= {"two_right": both[two, two] - both[places], "same": same[places]}
    counts["n"] = np.full(one.size, said.shape[1])
    columns = {"one": origins.gather(one), "two": origins.gather(two), **counts, **found}
    missing = [pl.lit(None).alias(name) for name in ("p_value", "adjusted") if name not in found]
    frame = pl.DataFrame(columns).with_columns(*missing, period=pl.lit(period))
    return frame.select(PAIRS.schema.names()).cast(PAIRS.schema)
