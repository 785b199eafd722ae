"""Is first place real? Compare systems item by item: means, ranks, all pairs, and their robustness.

A score is a mean over items. Complete tables are compared as a board's are (`hellofresh.stats.ranking`). Where cells
are missing, systems are not averaged over different items: an effect of each item and of each system is fitted by least
squares, and what leaving out each cluster of items moves gives the errors. With two systems it is the paired test on
the items of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import filterfalse
from math import ceil

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.core.errors import DataError, UnknownNameError
from hellofresh.results.score_files import ItemScores, check_size
from hellofresh.stats.clusters import cluster_sums, effective_clusters, members
from hellofresh.stats.draws import draw_jointly, first_place
from hellofresh.stats.intervals import few_clusters, metric_interval, t_quantile
from hellofresh.stats.metrics import Metric, mean
from hellofresh.stats.paired import SAME
from hellofresh.stats.ranking import (
    Differences,
    all_differences,
    differences,
    halves_agree,
    rank_systems,
    samples_to_overtake,
)

Array = NDArray[np.float64]
_RESAMPLES, _BLOCKS, _NAMED, _FEWEST_COMMON = 10_000, 2_000, 6, 5
_MANY_CELLS = 1_000_000
"""With more cells, resamples are drawn of clusters in random blocks."""


@dataclass(frozen=True, slots=True)
class ScoreComparison:
    """The result of comparing systems on a table of scores.

    Attributes:
        sentence: the leader, and the systems over which its lead is and is not significant.
        said: how columns were interpreted.
        notes: robustness of the lead, and caveats.
        table: one row a system, the best first: `rank` with the best and the worst that the data allow, `tie_group`,
            `mean` with its 95% interval, `first` (probability of being first), `items` that it has a score on.
        pairs: one row a pair: `difference` of means with an interval that holds for all pairs together, `p_value`, and
            `adjusted` for all pairs (step-down max-t).
        detectable: true difference that is detected with a power of 80%, median over pairs.
        needed: number of items for 80% power at the leader's lead over the second; None without a lead.
        to_lose: smallest number of items without which the lead is lost.
        halves: how often two random halves of the items have the same leader.
    """

    sentence: str
    said: str
    notes: Sequence[str]
    table: pl.DataFrame
    pairs: pl.DataFrame
    detectable: float
    needed: int | None
    to_lose: int | None
    halves: float | None

    def shown(self) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
        """Rows of systems and of pairs as people read them, the best first."""
        systems, pairs = [], []
        for row in self.table.to_dicts():
            places = f" ({row['rank_low']}-{row['rank_high']})" if "rank_low" in row else ""
            line = {"system": row["system"], "rank": f"{row['rank']}{places}"}
            line |= {"tie group": str(row["tie_group"])} if "tie_group" in row else {}
            line |= {"mean": f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"}
            systems.append({**line, "first": f"{row['first']:.0%}", "items": f"{row['items']:,}"})
        for row in self.pairs.to_dicts():
            line = {"one": row["one"], "two": row["two"], "items": f"{row['n']:,}"}
            line |= {"difference": f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"}
            pairs.append({**line, "p": f"{row['p_value']:.3g}", "p, all pairs": f"{row['adjusted']:.3g}"})
        return systems, pairs

    def __repr__(self) -> str:
        return "\n".join([self.sentence, f"({self.said})", *self.notes, str(self.table)])

    def _repr_html_(self) -> str:
        return f"{self.table._repr_html_()}{self.pairs._repr_html_()}"


@dataclass(frozen=True, slots=True)
class _Fit:
    """Differences of systems, and of each the interval of its mean and the probability of being first."""

    found: Differences
    low: Array
    high: Array
    first: Array


def compare_scores(scores: ItemScores, *, baseline: str = "", lower_is_better: bool = False) -> ScoreComparison:
    """Compare all systems with each other, or each with a baseline.

    Args:
        scores: see `hellofresh.results.score_files`.
        baseline: compare the others with this one only.
        lower_is_better: of errors and costs.

    Raises:
        UnknownNameError: if there is no such baseline.
        DataError: if no chain of common items links the systems.
    """
    low, high = scores.limits
    limits = (low, high) if low < high else (low - 0.5, high + 0.5)
    metric, families = mean("mean", limits, higher_is_better=not lower_is_better), None
    if baseline:
        if baseline not in scores.systems:
            raise UnknownNameError("system", baseline, scores.systems)
        own = np.array(scores.systems) == baseline
        families = np.where(own[:, None] ^ own, 0, -1)
    scores = _kept(scores, np.isfinite(scores.values).sum(axis=0) > 1)  # an item with one system compares nothing
    check_size(*scores.values.shape)
    tables = _tables(scores, metric)
    whole = np.asarray(np.isfinite(scores.values).all(axis=0))
    fit = _complete(tables, metric, families) if whole.all() else _fitted(scores, metric, families)
    notes = [] if whole.all() else [_missing(scores, metric, whole, fit.found, families)]
    if few_clusters(tables.shape[1], fit.found.effective_clusters):
        worth = f"{tables.shape[1]:,} clusters of items that weigh as much as {fit.found.effective_clusters:.1f}"
        notes.append(f"few: {worth} of one size; read intervals and p-values with care.")
    order = np.argsort(-metric.sign * fit.found.values, kind="stable")
    more, carried = _carried(scores, metric, fit.found, order, tables)
    table, pairs = _rows(scores, fit, order, baseline), _pair_rows(scores, fit.found, order, baseline)
    return ScoreComparison(
        _sentence(scores, fit.found, order, baseline), scores.said, [*notes, *more], table, pairs, *carried
    )


def _kept(scores: ItemScores, kept: NDArray[np.bool_]) -> ItemScores:
    """The same on some of the items."""
    items = np.array(scores.items, dtype=object)[kept].tolist()
    clusters = None if scores.clusters is None else scores.clusters[kept]
    return replace(scores, items=items, values=scores.values[:, kept], clusters=clusters)


def _tables(scores: ItemScores, metric: Metric) -> Array:
    """Sums by cluster, shape (systems, clusters, 3); a missing cell counts nothing."""
    member, clusters = members(scores.clusters, len(scores.items))
    tables = np.empty((len(scores.systems), clusters, 3))
    for table, row in zip(tables, scores.values, strict=True):
        there = np.isfinite(row)
        table[:] = cluster_sums(metric.statistics(there, np.where(there, row, metric.limits[0])), member, clusters)
    return tables


def _blocks(tables: Array) -> Array:
    """Sums of the clusters in random blocks, each its own where they are few."""
    block = np.random.default_rng(0).permutation(tables.shape[1]) % _BLOCKS
    return np.stack([cluster_sums(table, block, int(block.max()) + 1) for table in tables])


def _complete(tables: Array, metric: Metric, families: NDArray[np.int64] | None) -> _Fit:
    found = all_differences(tables, metric, families=families)
    made = [metric_interval(table, metric) for table in tables]
    drawn = tables if tables.size < _MANY_CELLS else _blocks(tables)
    first = first_place(draw_jointly(drawn, [metric], resamples=_RESAMPLES), metric)
    return _Fit(found, np.array([one.low for one in made]), np.array([one.high for one in made]), first)


def _fitted(scores: ItemScores, metric: Metric, families: NDArray[np.int64] | None) -> _Fit:
    """Effects of items and systems by least squares, with errors by the clusters of items."""
    values, there = scores.values, np.isfinite(scores.values)
    (member, clusters), share = members(scores.clusters, len(scores.items)), there / there.sum(axis=0)
    normal = np.diag(there.sum(axis=1).astype(np.float64)) - share @ there.T
    if np.linalg.matrix_rank(normal, hermitian=True) < len(values) - 1:
        fix = "Compare those apart that share no items."
        raise DataError("no chain of common items links all systems", fix=fix, code="not-linked")
    inverse, filled = np.linalg.pinv(normal, hermitian=True), np.where(there, values, 0.0)
    effect = inverse @ (filled - there * (share * filled).sum(axis=0)).sum(axis=1)
    left = np.where(there, filled - effect[:, None], 0.0)
    item = (share * left).sum(axis=0)
    moved = cluster_sums((inverse @ (left - there * item)).T, member, clusters).T
    level = cluster_sums((item - item.mean())[:, None] / item.size, member, clusters)[:, 0]
    growth = np.sqrt(clusters / max(clusters - 1, 1))  # as the jackknife has it
    influence, of_mean = growth * moved, growth * (level + moved - share.mean(axis=1) @ moved)
    products, means = influence @ influence.T, item.mean() + effect
    error = np.sqrt(np.maximum(np.diag(products)[:, None] + np.diag(products) - 2 * products, 0.0))
    blind = (error < SAME**0.5 * metric.span) & ~np.eye(len(values), dtype=np.bool_)
    error[blind] = np.inf
    effective = float(effective_clusters(np.bincount(member, weights=there.sum(axis=0) - 1.0).astype(np.float64)))
    found = differences(metric, means, error, influence, effective, families=families, blind=blind)
    half = t_quantile(0.975, max(effective - 1, 1.0)) * np.sqrt((of_mean**2).sum(axis=1))
    draws = metric.sign * np.random.default_rng(0).multivariate_normal(means, products, _RESAMPLES, method="eigh")
    first = np.bincount(draws.argmax(axis=1), minlength=len(values)) / _RESAMPLES
    return _Fit(found, np.maximum(means - half, metric.limits[0]), np.minimum(means + half, metric.limits[1]), first)


def _missing(
    scores: ItemScores,
    metric: Metric,
    whole: NDArray[np.bool_],
    found: Differences,
    families: NDArray[np.int64] | None,
) -> str:
    """What missing cells change: the common items alone beside all."""
    common = int(whole.sum())
    gone = f"{np.isnan(scores.values).mean():.0%} of the cells are missing; effects of items and systems are fitted"
    if common < _FEWEST_COMMON:
        return f"{gone}. Only {common} items have all systems: nothing can be compared on these alone."
    alone = all_differences(_tables(_kept(scores, whole), metric), metric, families=families)
    leads = [int(np.argmax(metric.sign * one.values)) for one in (found, alone)]
    turned = (found.separable | alone.separable) & (found.difference * alone.difference < 0)
    if leads[0] == leads[1] and not turned.any():
        return f"{gone}. On the {common:,} items that all systems have, the leader is the same and no finding turns."
    there = f"{scores.systems[leads[1]]} leads, and {int(turned.sum()) // 2} significant differences turn round"
    return f"Warning: {gone}, and the {common:,} items that all systems have disagree: there {there}."


def _carried(
    scores: ItemScores, metric: Metric, found: Differences, order: NDArray[np.int64], tables: Array
) -> tuple[list[str], tuple[float, int | None, int | None, float | None]]:
    """How far the first place carries, in sentences and in numbers."""
    one, two = order[:2].tolist()
    names, lead, seen = (
        [scores.systems[k] for k in (one, two)],
        abs(float(found.difference[one, two])),
        found.detectable(),
    )
    both = np.isfinite(scores.values[[one, two]]).all(axis=0)
    rows = [metric.statistics(np.ones(int(both.sum())), scores.values[k, both]) for k in (one, two)]
    to_lose = samples_to_overtake(rows[0], rows[1], metric)
    halves = halves_agree(_blocks(tables), metric)
    detectable, needed = float(np.median(seen[np.triu_indices(len(order), 1)])), None
    lines = [f"{len(scores.items):,} items can tell differences of {detectable:.3g} (80% power, median of the pairs)."]
    if lead > SAME * metric.span and np.isfinite(seen[one, two]):
        needed = ceil(len(scores.items) * (seen[one, two] / lead) ** 2)
        lines.append(f"The lead of {names[0]} over {names[1]}, {lead:.3g}, would need {needed:,} items to be found so.")
    if to_lose:
        lines.append(f"It hangs on few items: {to_lose:,} of {int(both.sum()):,}; without them it is gone.")
    if halves is not None:
        lines.append(f"Two random halves of the items agree on who leads in {halves:.0%} of cases.")
    return lines, (detectable, needed, to_lose, halves)


def _sentence(scores: ItemScores, found: Differences, order: NDArray[np.int64], baseline: str) -> str:
    lead = scores.systems.index(baseline) if baseline else int(order[0])
    others = [k for k in order.tolist() if k != lead]

    def named(some: Sequence[int]) -> str:
        names = [scores.systems[k] for k in some]
        return (
            ", ".join(names if len(names) <= _NAMED else [*names[:_NAMED], f"{len(names) - _NAMED} others"]) or "none"
        )

    alike = [k for k in others if not found.separable[lead, k]]
    better, worse = ([k for k in others if k not in alike and found.ahead[k, lead] == side] for side in (True, False))
    if baseline:
        parts = f"better {named(better)}; worse {named(worse)}; not significantly different {named(alike)}"
        return f"Beside {baseline} ({found.values[lead]:.3f}; adjusted p < .05): {parts}."
    level = [k for k in alike if abs(found.difference[lead, k]) <= SAME * found.metric.span]
    ahead = f"{named([lead, *level])} share the lead" if level else f"{scores.systems[lead]} leads"
    head, alike = (
        f"{ahead} with {found.values[lead]:.3f} on {len(scores.items):,} items",
        [*filterfalse(level.count, alike)],
    )
    rest = f", and not over {named(alike)}" if alike else ""
    return f"{head}; that is significant over {named(worse)} (adjusted p < .05){rest}."


def _rows(scores: ItemScores, fit: _Fit, order: NDArray[np.int64], baseline: str) -> pl.DataFrame:
    ranking = rank_systems(fit.found)
    kinds = ("rank",) if baseline else ("rank", "low", "high", "tie_group")  # other pairs are not compared
    columns = {f"rank_{kind}" if kind in ("low", "high") else kind: getattr(ranking, kind) for kind in kinds}
    columns |= {"system": np.array(scores.systems), "mean": fit.found.values, "low": fit.low, "high": fit.high}
    columns |= {"first": fit.first, "items": np.isfinite(scores.values).sum(axis=1)}
    return pl.DataFrame({name: column[order].tolist() for name, column in columns.items()})


def _pair_rows(scores: ItemScores, found: Differences, order: NDArray[np.int64], baseline: str) -> pl.DataFrame:
    """The better of each pair first; or each beside the baseline."""
    names, there = np.array(scores.systems), np.isfinite(scores.values).astype(np.float64)
    one, two = (order[places] for places in np.triu_indices(len(order), 1))
    if baseline:
        one = order[names[order] != baseline]
        two = np.full(one.shape, scores.systems.index(baseline))
    columns = {"one": names[one], "two": names[two], "n": (there @ there.T)[one, two].astype(np.int64)}
    columns |= {kind: getattr(found, kind)[one, two] for kind in ("difference", "low", "high", "p_value", "adjusted")}
    return pl.DataFrame({name: column.tolist() for name, column in columns.items()})
