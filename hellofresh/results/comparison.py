"""Is first place real? Compare systems item by item: means, ranks, all pairs, and their robustness.

A score is a mean over items. Complete tables are compared as a board's are (`hellofresh.stats.ranking`). Where cells
are missing, systems are not averaged over different items: an effect of each item and of each system is fitted by least
squares, and what leaving out each cluster of items moves gives the errors. With two systems it is the paired test on
the items of both.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan

import numpy as np
import polars as pl

from hellofresh.core.errors import DataError, UnknownNameError
from hellofresh.results.score_files import ItemScores, check_size
from hellofresh.stats.arrays import Bools, Floats, Ints
from hellofresh.stats.clusters import cluster_sums, effective_clusters, members
from hellofresh.stats.draws import draw_jointly, first_place
from hellofresh.stats.intervals import (
    Limits,
    bent_limits,
    few_clusters,
    metric_interval,
    share_interval,
    t_quantiles,
    times_too_few,
    unbounded_limits,
)
from hellofresh.stats.metrics import Metric, mean, ratio
from hellofresh.stats.paired import SAME
from hellofresh.stats.predicted import corrected_means
from hellofresh.stats.ranking import (
    SIGNIFICANCE,
    Differences,
    all_differences,
    differences,
    halves_agree,
    rank_systems,
    samples_to_overtake,
)

_RESAMPLES, _BLOCKS, _NAMED, _FEWEST_COMMON = 10_000, 2_000, 6, 5
MISSING = ("fit", "wrong", "drop")
"""Ways with missing scores."""
_WAYS = {"fit": "left out, and effects of items and systems fitted", "wrong": "counted as the worst score",
         "drop": "items that lack a score left out"}  # fmt: skip
_MANY_PAIRED = 2_000  # a sample of this many items is enough for degrees of freedom
# below ten a t interval depends on the shape of the errors more than on the data
_FEWEST_LABELS, _FEW_LABELS, _CHOSEN = 10, 30, 0.01
FEW_APART = 10
"""Counts are too few if two systems differ on fewer items than this."""
SKEWED_PAIR = 0.4
"""Part of the clusters that Cochran's rule asks for, from which on t is too short for a difference."""
ROUGH = "~"
"""The mark of an interval that may hold the truth less often than it says."""
_WHY_ROUGH = ("may cover the true value in as few as 90% of cases, not 95%: too few items for scores so skewed "
              f"(Cochran's rule), or fewer than {FEW_APART} on which the two differ.")  # fmt: skip
# the usual power; no one collects more items; beyond, the tail's formula loses its digits
_POWER, _MOST_NEEDED, _FAR = 0.8, 10_000_000, 30.0
_MANY_CELLS = 1_000_000  # with more cells, resamples are drawn of clusters in random blocks


@dataclass(frozen=True, slots=True)
class ScoreComparison:
    """The result of comparing systems on a table of scores.

    Attributes:
        sentence: the leader, and the systems over which its lead is and is not significant.
        said: how columns were interpreted.
        notes: robustness of the lead, and caveats.
        table: one row per system, the best first: `rank` with the best and the worst that the data allow, `tie_group`,
            `mean` with its 95% interval, `first` (probability of being first), `items` that it has a score on, and
            `rough`: whether the interval may hold the truth less often than that.
        pairs: one row a pair: `difference` of means with an interval that holds for all pairs together, `p_value`, and
            `adjusted` for all pairs (step-down max-t), and `rough`.
        detectable: true difference that is detected with a power of 80%, median over pairs.
        needed: number of items for 80% power at the leader's lead over the second; None without a lead.
        to_lose: smallest number of items without which the lead is lost.
        halves: how often two random halves of the items have the same leader.
        scores, found, families: what was compared, for the card.
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
    scores: ItemScores | None = field(default=None, repr=False)
    found: Differences | None = field(default=None, repr=False)
    families: Ints | None = field(default=None, repr=False)

    def shown(self) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
        """Rows of systems and of pairs as people read them, the best first."""
        systems, pairs = [], []
        for row in self.table.to_dicts():
            places = f" ({row['rank_low']}-{row['rank_high']})" if "rank_low" in row else ""
            line = {"system": row["system"], "rank": f"{row['rank']}{places}"}
            line |= {"tie group": str(row["tie_group"])} if "tie_group" in row else {}
            limits = "(no variation)" if isnan(row["low"]) else f"[{row['low']:.3f}, {row['high']:.3f}]"
            line |= {"mean": f"{row['mean']:.3f} {limits}{ROUGH if row['rough'] else ''}"}
            line |= {"judge": f"{row['judge']:.3f}", "labels": f"{row['labels']:,}"} if "labels" in row else {}
            systems.append({**line, "first": chance(row["first"]), "items": f"{row['items']:,}"})
        for row in self.pairs.to_dicts():
            line = {"one": row["one"], "two": row["two"], "items": f"{row['n']:,}"}
            line |= {"difference": f"{row['difference']:+.3f} {_limits(row['low'], row['high'])}"}
            line["difference"] += ROUGH if row["rough"] else ""
            pairs.append({**line, "p": f"{row['p_value']:.3g}", "p, all pairs": f"{row['adjusted']:.3g}"})
        return systems, pairs

    def plain(self, card: Sequence[Mapping[str, str]] = ()) -> dict[str, object]:
        """All of it as lists and mappings, with its card if there is one."""
        facts = ("sentence", "said", "notes", "detectable", "needed", "to_lose", "halves")
        found = {name: getattr(self, name) for name in facts} | ({"card": card} if card else {})
        return {**found, "systems": self.table.fill_nan(None).to_dicts(), "pairs": self.pairs.fill_nan(None).to_dicts()}

    def __repr__(self) -> str:
        return "\n".join([self.sentence, f"({self.said})", *self.notes, str(self.table)])

    def _repr_html_(self) -> str:
        return f"{self.table._repr_html_()}{self.pairs._repr_html_()}"


def chance(share: float) -> str:
    """A probability of being first, which is never sure."""
    return ">99%" if share > 0.99 else "<1%" if share < 0.01 else f"{share:.0%}"


def _limits(low: float, high: float) -> str:
    """An interval of a difference: a limit that excludes 0 and is rounded to it has a round bracket."""
    ends = [f"{end:+.3f}" for end in (low, high)]
    left, right = (end.strip("+-0.") == "" and value != 0 for end, value in zip(ends, (low, high), strict=True))
    one, two = ("0" if flat else end for flat, end in zip((left and low > 0, right and high < 0), ends, strict=True))
    return f"{'(' if left and low > 0 else '['}{one}, {two}{')' if right and high < 0 else ']'}"


@dataclass(frozen=True, slots=True)
class _Fit:
    """Differences of systems, and of each the interval of its mean and the probability of being first."""

    found: Differences
    low: Floats
    high: Floats
    first: Floats


@dataclass(frozen=True, slots=True)
class _Errors:
    """Errors of means that are known.

    Attributes:
        of_pairs, of_means: shape (systems, clusters), independent parts of the errors of differences and of means.
        worth: shape (systems, systems), the effective clusters of each pair.
        freedom: shape (systems,), those of each mean.
        inflation: shape (systems, systems), of the errors of differences.
    """

    of_pairs: Floats
    of_means: Floats
    worth: Floats
    freedom: Floats
    inflation: Floats | float = 1.0


def compare_scores(
    scores: ItemScores, *, baseline: str = "", lower_is_better: bool = False, missing: str = "fit"
) -> ScoreComparison:
    """Compare all systems with each other, or each with a baseline.

    Args:
        scores: see `hellofresh.results.score_files`.
        baseline: compare the others with this one only.
        lower_is_better: of errors and costs.
        missing: `fit` effects of items and systems; `wrong`: a missing score is the worst of the scale; `drop` the
            items that lack a score.

    Raises:
        UnknownNameError: if there is no such baseline, or way with missing scores.
        DataError: if no chain of common items links the systems.
    """
    if missing not in MISSING:
        raise UnknownNameError("way with missing scores", missing, MISSING)
    if baseline and baseline not in scores.systems:
        raise UnknownNameError("system", baseline, scores.systems)
    scores, lacking = _sorted(scores), _lacking(scores)
    worst = scores.limits[1 if lower_is_better else 0]
    gaps = np.isnan(scores.values)
    reach = [one and ((min(one[0], worst), max(one[1], worst)) if gap.any() else one)
             for one, gap in zip(scores.ranges, gaps, strict=True)] if scores.ranges else []  # fmt: skip
    wrong = replace(scores, values=np.where(gaps, worst, scores.values), ranges=reach)
    if missing == "wrong":
        scores = wrong
    elif missing == "drop":
        scores = _kept(scores, np.asarray(np.isfinite(scores.values).all(axis=0)))
    else:
        scores = _kept(scores, np.isfinite(scores.values).sum(axis=0) > 1)  # an item with one system compares nothing
    check_size(*scores.values.shape)
    if scores.labels is not None:
        _check_labels(scores, np.isfinite(scores.labels).sum(axis=1))
    low, high = scores.limits
    limits = (low, high) if low < high else (low - 0.5, high + 0.5)
    metric, families = mean("mean", limits, higher_is_better=not lower_is_better), None
    if baseline:
        own = np.array(scores.systems) == baseline
        families = np.where(own[:, None] ^ own, 0, -1)
    made = _compared(scores, metric, families, baseline)
    if not gaps.any():
        return made
    notes = [f"missing: {lacking}; {_WAYS[missing]}.", *made.notes]
    if missing != "fit":
        return replace(made, notes=notes)
    other = _compared(wrong, metric, families, baseline, brief=True)
    if _verdict(made, baseline) == _verdict(other, baseline):
        notes.insert(1, "With missing scores counted as wrong, the verdict is the same.")
        return replace(made, notes=notes)
    both = f"Left out: {made.sentence} Counted as wrong: {other.sentence}"
    return replace(made, sentence=f"The verdict depends on how missing scores count. {both}", notes=notes)


def _compared(
    scores: ItemScores, metric: Metric, families: Ints | None, baseline: str, *, brief: bool = False
) -> ScoreComparison:
    """The comparison of one reading of the missing scores; a brief one has no notes."""
    if scores.labels is not None:
        return _corrected(scores, metric, families, baseline)
    tables = _tables(scores, metric)
    whole = np.asarray(np.isfinite(scores.values).all(axis=0))
    fit = _complete(scores, tables, metric, families) if whole.all() else _fitted(scores, metric, families)
    order, sentence, table, pairs = _ordered(scores, fit, _rough(scores, tables, metric), baseline)
    if brief:
        return ScoreComparison(sentence, scores.said, [], table, pairs, 0.0, None, None, None)
    notes = [] if whole.all() else [_missing(scores, metric, whole, fit.found, families)]
    if few_clusters(tables.shape[1], fit.found.effective_clusters):
        worth = f"{tables.shape[1]:,} clusters of items, worth {fit.found.effective_clusters:.1f}"
        notes.append(f"few: {worth} of equal size; read intervals and p-values with care.")
    if {(0.0, 1.0), (0.0, 100.0)} <= set(scores.ranges):
        notes.insert(0, "Warning: some systems have scores from 0 to 1 and some up to 100: shares mixed with percents?")
    notes += _marks(scores, fit, table, pairs)
    more, carried = _carried(scores, metric, fit.found, order, tables, baseline=baseline)
    return ScoreComparison(sentence, scores.said, [*notes, *more], table, pairs, *carried, scores, fit.found, families)


def _ordered(
    scores: ItemScores, fit: _Fit, rough: tuple[Bools, Bools], baseline: str
) -> tuple[Ints, str, pl.DataFrame, pl.DataFrame]:
    """The systems' order, the best first, what it says, and its rows of systems and pairs."""
    order = np.argsort(-fit.found.metric.sign * fit.found.values, kind="stable")
    table = _rows(scores, fit, order, rough[0], baseline)
    pairs = _pair_rows(scores, fit.found, order, rough[1], baseline)
    return order, _sentence(scores, fit.found, order, baseline), table, pairs


def _check_labels(scores: ItemScores, counts: Ints) -> None:
    """Refuse labels of too few items of a system, and a judge that lacks scores.

    Raises:
        DataError: if so.
    """
    for name, count, gap in zip(scores.systems, counts, np.isnan(scores.values).sum(axis=1), strict=True):
        if count < _FEWEST_LABELS or gap:
            what = f"{name}: people labelled {count:,} items, and the judge did not score {gap:,}"
            fix = "Label more items, drawn at random; --missing drop leaves out items without a score."
            raise DataError(
                what, expected=f"{_FEWEST_LABELS} labels or more, and all scores", fix=fix, code="too-few-labels"
            )


def _corrected(scores: ItemScores, metric: Metric, families: Ints | None, baseline: str) -> ScoreComparison:
    """The comparison of a judge's scores, corrected by people's labels of a part of the items."""
    labels = np.asarray(scores.labels)
    member, clusters = members(scores.clusters, len(scores.items))
    means, influence, worth, weights, apart = corrected_means(scores.values, labels, member, clusters)
    errors = _Errors(influence, influence, np.minimum.outer(worth, worth), worth)
    fit, counts = _by_influence(scores, metric, families, means, errors), np.isfinite(labels).sum(axis=1)
    rough = np.zeros(fit.found.worth.shape, dtype=np.bool_)
    order, sentence, table, pairs = _ordered(scores, fit, (rough[0], rough), baseline)
    judged = {"judge": scores.values.mean(axis=1)[order].tolist(), "labels": counts[order].tolist()}
    table = table.with_columns(pl.Series(name, one) for name, one in judged.items())
    detectable = float(np.median(fit.found.detectable()[np.triu_indices(len(order), 1)]))
    names, bound = np.array(scores.systems), t_quantiles(1 - _CHOSEN / (2 * len(order)), worth - 1)
    span = " to ".join(f"{one:,}" for one in sorted({counts.min(), counts.max()}))
    notes = [
        f"Means are people's: labels of {span} of {len(scores.items):,} items, and the judge's scores of the others "
        f"with a weight of {weights.min():.2f} to {weights.max():.2f} (prediction-powered inference).",
        "Labels must be of items drawn at random, not of those that are hard, good or unclear.",
        f"{len(scores.items):,} items detect differences of {detectable:.3g} (80% power, median of the pairs).",
    ]
    if some := ", ".join(names[np.abs(apart) > bound][:_NAMED]):
        notes.insert(0, f"Warning: the judge scores {some}'s labelled items unlike the others: not drawn at random?")
    if some := ", ".join(names[worth < _FEW_LABELS][:_NAMED]):
        notes.append(f"few: {some}: fewer than {_FEW_LABELS} labelled items or clusters; read intervals with care.")
    figures = (detectable, None, None, None)
    return ScoreComparison(sentence, scores.said, notes, table, pairs, *figures, scores, fit.found, families)


def _sorted(scores: ItemScores) -> ItemScores:
    """The same with items and systems in the order of their names, so that the order of rows changes nothing."""
    items, systems = (sorted(range(len(names)), key=lambda k: names[k]) for names in (scores.items, scores.systems))
    clusters = scores.clusters
    if clusters is not None:
        ordered = clusters[items].tolist()
        renamed = {number: rank for rank, number in enumerate(dict.fromkeys(ordered))}
        clusters = np.array([renamed[number] for number in ordered], dtype=np.int64)
    return replace(
        scores, systems=[scores.systems[k] for k in systems], items=[scores.items[k] for k in items],
        values=scores.values[np.ix_(systems, items)], clusters=clusters,
        labels=None if scores.labels is None else scores.labels[np.ix_(systems, items)],
        ranges=[scores.ranges[k] for k in systems] if scores.ranges else [],
    )  # fmt: skip


def _lacking(scores: ItemScores) -> str:
    """Who lacks how many scores, and why."""
    counts = np.isnan(scores.values).sum(axis=1)
    parts = []
    for place in np.argsort(-counts, kind="stable")[:_NAMED].tolist():
        name = scores.systems[place]
        if counts[place]:
            reasons = ", ".join(f"{number:,} {reason}" for reason, number in scores.missing.get(name, {}).items())
            parts.append(f"{name} {counts[place]:,} of {len(scores.items):,}" + (f" ({reasons})" if reasons else ""))
    if more := int((counts > 0).sum()) - len(parts):
        parts.append(f"some scores of {more} more systems")
    return "; ".join(parts)


def _verdict(made: ScoreComparison, baseline: str) -> object:
    """The leaders, and whom they beat significantly; with a baseline, which systems are better or worse."""
    if baseline:
        return {one: (low > 0) - (high < 0) for one, low, high in made.pairs["one", "low", "high"].rows()}
    leader = made.table["system"][0]
    beaten = made.pairs.filter(pl.col("one") == leader, pl.col("adjusted") < SIGNIFICANCE)["two"]
    return leader, frozenset(beaten)


def _marks(scores: ItemScores, fit: _Fit, table: pl.DataFrame, pairs: pl.DataFrame) -> list[str]:
    """Which intervals are unreliable, and why."""
    notes, apart = [], pairs.filter("rough")
    of_two = (apart["one"] + " and " + apart["two"]).to_list()
    for what, some in (("of", table.filter("rough")["system"].to_list()), ("between", of_two)):
        if some:
            more = [f"{len(some) - _NAMED:,} more"] if len(some) > _NAMED else []
            notes.append(f"{ROUGH} the interval {what} {', '.join(some[:_NAMED] + more)} {_WHY_ROUGH}")
    if still := ", ".join(np.array(scores.systems)[np.isnan(fit.low)][:_NAMED]):
        notes.append(f"no variation: {still}: all scores are equal, so an interval needs a scale.")
    return notes


def _kept(scores: ItemScores, kept: Bools) -> ItemScores:
    """The same on some of the items."""
    items = np.array(scores.items, dtype=object)[kept].tolist()
    clusters = None if scores.clusters is None else scores.clusters[kept]
    labels = None if scores.labels is None else scores.labels[:, kept]
    return replace(scores, items=items, values=scores.values[:, kept], clusters=clusters, labels=labels)


def _tables(scores: ItemScores, metric: Metric) -> Floats:
    """Sums by cluster, shape (systems, clusters, 3); a missing cell counts nothing."""
    member, clusters = members(scores.clusters, len(scores.items))
    tables = np.empty((len(scores.systems), clusters, 3))
    for table, row in zip(tables, scores.values, strict=True):
        there = np.isfinite(row)
        table[:] = cluster_sums(metric.statistics(there, np.where(there, row, metric.limits[0])), member, clusters)
    return tables


def _blocks(tables: Floats) -> Floats:
    """Sums of the clusters in random blocks, each its own where they are few."""
    block = np.random.default_rng(0).permutation(tables.shape[1]) % _BLOCKS
    return np.stack([cluster_sums(table, block, int(block.max()) + 1) for table in tables])


def _means(scores: ItemScores, tables: Floats, metric: Metric) -> tuple[Floats, Floats]:
    """The interval of each mean, on its own scale."""
    scales, free = _scales(scores, metric)
    made = [metric_interval(table, mean("mean", (*ends,))) for table, ends in zip(tables, scales.tolist(), strict=True)]
    low, high = np.array([one.low for one in made]), np.array([one.high for one in made])
    if free.any():
        blocks = _blocks(tables[free])
        low[free], high[free] = unbounded_limits(blocks[:, :, 0], blocks[:, :, 1])
    return low, high


def _scales(scores: ItemScores, metric: Metric) -> tuple[Floats, Bools]:
    """The scale of each system, shape (systems, 2), and which have none: they get that of all."""
    known = scores.ranges or [metric.limits] * len(scores.systems)
    return np.array([metric.limits if one is None else one for one in known]), np.array([one is None for one in known])


def _rough(scores: ItemScores, tables: Floats, metric: Metric) -> tuple[Bools, Bools]:
    """Whose interval may cover the true value too seldom, shape (systems,), and that of which pairs, shape
    (systems, systems): numbers too skewed for their number of clusters, and counts that differ on few items.
    """
    low, high = _scales(scores, metric)[0].T[:, :, None]
    hits, misses = (scores.values == end for end in (high, low))
    # scores that are all an end of the scale are counts, which have a rule of their own
    counted = np.asarray((hits | misses | np.isnan(scores.values)).all(axis=1))
    blocks, won = _blocks(tables), hits.astype(np.float32) @ misses.T.astype(np.float32)
    one = (times_too_few(blocks[:, :, 0], blocks[:, :, 1]) > 1) & ~counted
    pair = one[:, None] | one | (won + won.T < FEW_APART) & counted[:, None] & counted
    if np.isfinite(scores.values).all():
        for row in np.flatnonzero(~counted).tolist():  # a difference may be more skewed than either mean
            apart = times_too_few(blocks[row, :, 0] - blocks[:, :, 0], blocks[:, :, 1]) > SKEWED_PAIR
            pair[row], pair[:, row] = pair[row] | apart, pair[:, row] | apart
    return one, pair


def _complete(scores: ItemScores, tables: Floats, metric: Metric, families: Ints | None) -> _Fit:
    found = all_differences(tables, metric, families=families)
    drawn = tables if tables.size < _MANY_CELLS else _blocks(tables)
    first = first_place(draw_jointly(drawn, [metric], resamples=_RESAMPLES), metric)
    return _Fit(found, *_means(scores, tables, metric), first)


def _fitted(scores: ItemScores, metric: Metric, families: Ints | None) -> _Fit:
    """Effects of items and systems by least squares, with errors by the clusters of items."""
    values, there = scores.values, np.isfinite(scores.values)
    (member, clusters), share = members(scores.clusters, len(scores.items)), there / there.sum(axis=0)
    normal = np.diag(there.sum(axis=1).astype(np.float64)) - share @ there.T
    if np.linalg.matrix_rank(normal, hermitian=True) < len(values) - 1:
        fix = "Compare systems that share no items separately."
        raise DataError("no chain of common items links all systems", fix=fix, code="not-linked")
    inverse, filled = np.linalg.pinv(normal, hermitian=True), np.where(there, values, 0.0)
    effect = inverse @ (filled - there * (share * filled).sum(axis=0)).sum(axis=1)
    left = np.where(there, filled - effect[:, None], 0.0)
    item = (share * left).sum(axis=0)
    moved = cluster_sums((inverse @ (left - there * item)).T, member, clusters).T
    level = cluster_sums((item - item.mean())[:, None] / item.size, member, clusters)[:, 0]
    growth = np.sqrt(clusters / max(clusters - 1, 1))  # as the jackknife has it
    influence, of_mean = growth * moved, growth * (level + moved - share.mean(axis=1) @ moved)
    worth, kept = _pair_worth(inverse, there, member, clusters)
    effective = float(effective_clusters(np.bincount(member, weights=there.sum(axis=0) - 1.0).astype(np.float64)))
    freedom = np.full(len(values), effective)
    errors = _Errors(influence, of_mean, worth * kept + 1, freedom, kept**-0.5 / growth)
    return _by_influence(scores, metric, families, item.mean() + effect, errors)


def _by_influence(scores: ItemScores, metric: Metric, families: Ints | None, means: Floats, errors: _Errors) -> _Fit:
    """The comparison of means whose errors are known."""
    products, freedom = errors.of_pairs @ errors.of_pairs.T, errors.freedom
    drawn = np.sqrt(np.maximum(_of_pairs(products), 0.0))
    error = drawn * errors.inflation
    blind = (error < SAME**0.5 * metric.span) & ~np.eye(len(means), dtype=np.bool_)
    error[blind] = np.inf
    least, parts = float(freedom.min()), errors.of_pairs
    found = differences(
        metric, means, error, parts, least, families=families, blind=blind, worth=errors.worth, drawn=drawn
    )
    draws = metric.sign * np.random.default_rng(0).multivariate_normal(means, products, _RESAMPLES, method="eigh")
    first = np.bincount(draws.argmax(axis=1), minlength=len(means)) / _RESAMPLES
    low, high = _limits_of(scores, metric, means, errors)
    return _Fit(found, np.minimum(low, means), np.maximum(high, means), first)


def _limits_of(scores: ItemScores, metric: Metric, means: Floats, errors: _Errors) -> Limits:
    """The interval of each mean whose errors are known, by the rules of means of complete columns."""
    (scales, free), clusters = _scales(scores, metric), errors.of_means.shape[1]
    every = [scores.values] if scores.labels is None else [scores.values, scores.labels]
    parts = errors.of_means * np.sqrt((clusters - 1) / clusters)
    low, high = bent_limits(means, parts, np.full(means.shape, clusters), errors.freedom)
    for row in np.flatnonzero(~free).tolist():
        (least, most), seen = scales[row], np.concatenate([one[row] for one in every])
        share, counts = (means[row] - least) / (most - least), bool(np.isin(seen[np.isfinite(seen)], scales[row]).all())
        made = share_interval(float(np.clip(share, 0, 1)), parts[row] / (most - least), len(scores.items),
                              float(errors.freedom[row]), counts=counts)  # fmt: skip
        low[row], high[row] = least + (most - least) * np.array([made.low, made.high])
    return low, high


def _pair_worth(inverse: Floats, there: Bools, member: Ints, clusters: int) -> tuple[Floats, Floats]:
    """The effective number of clusters of each pair: Kish's, of the weight that its difference gives to each cluster;
    and the part of its squared error that the fit leaves in the residuals, 1 - 1 / n where no cell is missing.

    Where scores vary alike, an item has the variance of its scores times the squares of their weights in the
    difference of two effects (Satterthwaite's degrees of freedom). Of many items only every n-th counts.
    """
    step = max(1, there.shape[1] // _MANY_PAIRED)
    some, of_some = there[:, ::step].astype(np.float64), member[::step]
    count, found = some.sum(axis=0), np.full((len(there), len(there)), float(clusters))
    for row in range(len(there) - 1):
        weight = inverse[row] - inverse[row + 1 :]
        # the mean weight of an item is its effect, which the fit takes out
        squares = weight**2 @ some - (weight @ some) ** 2 / np.maximum(count, 1)
        by_cluster = cluster_sums(np.maximum(squares, 0.0).T, of_some, clusters).T
        found[row, row + 1 :] = found[row + 1 :, row] = step * np.maximum(effective_clusters(by_cluster), 1.0)
    taken = np.zeros_like(inverse)
    for number in range(0, clusters, each := max(1, clusters // _MANY_PAIRED)):
        own = there[:, member == number].astype(np.float64)
        design = np.diag(own.sum(axis=1)) - own / own.sum(axis=0) @ own.T
        taken += each * design @ inverse @ design  # each cluster stands for those that were skipped
    lost, whole = (_of_pairs(one) for one in (inverse @ taken @ inverse, inverse))
    return np.minimum(found, float(clusters)), np.clip(1 - ratio(lost, whole), 1 / clusters, 1.0)


def _of_pairs(products: Floats) -> Floats:
    """The variance of each difference, from a matrix of covariances."""
    own = np.diag(products)
    return np.asarray(own[:, None] + own - 2 * products)


def _missing(scores: ItemScores, metric: Metric, whole: Bools, found: Differences, families: Ints | None) -> str:
    """What missing cells change: the common items alone beside all."""
    common = int(whole.sum())
    gone = f"{np.isnan(scores.values).mean():.0%} of the cells are missing; effects of items and systems are fitted"
    if common < _FEWEST_COMMON:
        return f"{gone}. Only {common} items have scores of all systems, too few for a comparison."
    alone = all_differences(_tables(_kept(scores, whole), metric), metric, families=families)
    leads = [int(np.argmax(metric.sign * one.values)) for one in (found, alone)]
    turned = (found.separable | alone.separable) & (found.difference * alone.difference < 0)
    if leads[0] == leads[1] and not turned.any():
        return f"{gone}. On the {common:,} items with all scores, the leader is the same and no finding is reversed."
    there = f"{scores.systems[leads[1]]} leads, and {int(turned.sum()) // 2} significant differences are reversed"
    return f"Warning: {gone}, and the {common:,} items with all scores disagree: there {there}."


def _carried(
    scores: ItemScores, metric: Metric, found: Differences, order: Ints, tables: Floats, *, baseline: str
) -> tuple[list[str], tuple[float, int | None, int | None, float | None]]:
    """How far the first place carries, in sentences and in numbers."""
    one, two = order[:2].tolist()
    names, lead = [scores.systems[k] for k in (one, two)], abs(float(found.difference[one, two]))
    both = np.isfinite(scores.values[[one, two]]).all(axis=0)
    rows = [metric.statistics(np.ones(int(both.sum())), scores.values[k, both]) for k in (one, two)]
    to_lose = samples_to_overtake(rows[0], rows[1], metric)
    halves = halves_agree(_blocks(tables), metric)
    detectable, needed = float(np.median(found.detectable()[np.triu_indices(len(order), 1)])), None
    lines = [f"{len(scores.items):,} items detect differences of {detectable:.3g} (80% power, median of the pairs)."]
    error = float(found.standard_error[one, two])
    if lead > SAME * metric.span and np.isfinite(error) and not baseline:
        worth = float(found.worth[one, two])
        needed = _needed(lead / (error * worth**0.5))
        of = "items" if scores.clusters is None and worth > 0.99 * int(both.sum()) else "clusters of this size"
        if not found.separable[one, two]:
            many = f"{needed:,} {of}" if needed else f"more than {_MOST_NEEDED:,} {of}"
            lines.append(f"Finding the lead of {names[0]} over {names[1]}, {lead:.3g}, would take {many} (80% power).")
    elif not baseline:
        lines.append("The first two are equal: no number of items would find a lead.")
    if to_lose:
        lines.append(f"The lead rests on few items: without {to_lose:,} of {int(both.sum()):,} it is gone.")
    if halves is not None:
        lines.append(f"Two random halves of the items agree on who leads in {halves:.0%} of cases.")
    return lines, (detectable, needed, to_lose, halves)


def _needed(effect: float) -> int | None:
    """The smallest number of clusters at which the paired t test finds a difference of `effect` standard deviations
    with a power of 80%; None above ten millions.
    """
    from scipy.special import nctdtr

    def power(n: int) -> float:
        df, far = n - 1.0, effect * n**0.5
        return 1.0 if far > _FAR else float(1 - nctdtr(df, far, t_quantiles(0.975, np.array(df))))

    found = bisect_left(range(_MOST_NEEDED + 1), _POWER, lo=2, key=power)
    return found if found <= _MOST_NEEDED else None


def _sentence(scores: ItemScores, found: Differences, order: Ints, baseline: str) -> str:
    lead = scores.systems.index(baseline) if baseline else int(order[0])
    others = [k for k in order.tolist() if k != lead]

    def named(some: Sequence[int]) -> str:
        names = [scores.systems[k] for k in some]
        more = [f"{len(names) - _NAMED} others"] if len(names) > _NAMED else []
        return ", ".join([*names[:_NAMED], *more]) or "none"

    alike = [k for k in others if not found.separable[lead, k]]
    better, worse = ([k for k in others if k not in alike and found.ahead[k, lead] == side] for side in (True, False))
    if baseline:
        parts = f"better {named(better)}; worse {named(worse)}; not significantly different {named(alike)}"
        return f"Compared with {baseline} ({found.values[lead]:.3f}; adjusted p < .05): {parts}."
    # equal but for rounding: neither leads
    level = [k for k in alike if abs(found.difference[lead, k]) <= SAME * found.metric.span]
    ahead = f"{named([lead, *level])} share the lead" if level else f"{scores.systems[lead]} leads"
    head = f"{ahead} with {found.values[lead]:.3f} on {len(scores.items):,} items"
    alike = [k for k in alike if k not in level]
    apart = (("significantly", worse), ("not significantly", alike))
    claims = "; ".join(f"{how} ahead of {named(some)}" for how, some in apart if some)
    return f"{head}: {claims} (adjusted p < .05)." if claims else f"{head}."


def _rows(scores: ItemScores, fit: _Fit, order: Ints, rough: Bools, baseline: str) -> pl.DataFrame:
    ranking = rank_systems(fit.found)
    kinds = ("rank",) if baseline else ("rank", "low", "high", "tie_group")  # other pairs are not compared
    columns = {f"rank_{kind}" if kind in ("low", "high") else kind: getattr(ranking, kind) for kind in kinds}
    columns |= {"system": np.array(scores.systems), "mean": fit.found.values, "low": fit.low, "high": fit.high}
    columns |= {"first": fit.first, "items": np.isfinite(scores.values).sum(axis=1), "rough": rough}
    return pl.DataFrame({name: column[order].tolist() for name, column in columns.items()})


def _pair_rows(scores: ItemScores, found: Differences, order: Ints, rough: Bools, baseline: str) -> pl.DataFrame:
    """The better of each pair first; or each beside the baseline."""
    names, there = np.array(scores.systems), np.isfinite(scores.values).astype(np.float64)
    one, two = (order[places] for places in np.triu_indices(len(order), 1))
    if baseline:
        one = order[names[order] != baseline]
        two = np.full(one.shape, scores.systems.index(baseline))
    columns = {"one": names[one], "two": names[two], "n": (there @ there.T)[one, two].astype(np.int64)}
    columns |= {kind: getattr(found, kind)[one, two] for kind in ("difference", "low", "high", "p_value", "adjusted")}
    columns["rough"] = rough[one, two]
    return pl.DataFrame({name: column.tolist() for name, column in columns.items()})
