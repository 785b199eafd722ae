"""Ratings behind labels: probabilities against intercepts, difficulty of samples, and labels that few votes could flip.

Facts of labels are `intercept` (helpful to people who disagree), `voters` and `smaller_camp` (how many ratings it rests
on, and the share of the smaller side) and `flip_cost`: the accounts, or editors, that would take the label away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hellofresh.results.analyses.base import (
    LEAST_SAMPLES,
    AnalysisResult,
    Cell,
    Findings,
    Where,
    about,
    analysis,
    limited,
    measure,
    missing,
)
from hellofresh.results.figures.charts import Axis, Chart, Mark, Series
from hellofresh.results.split.panel import EntrySection, Panel, System
from hellofresh.results.standings import fields_of
from hellofresh.stats.arrays import Floats
from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.intervals import metric_interval
from hellofresh.stats.metrics import rank_correlation
from hellofresh.stats.ranking import all_differences, rank_systems
from hellofresh.tasks.samples import Label, Sample

_LEAST_COSTS = (0, 1, 3, 10)
_LEAST_SYSTEMS = 4
_COSTS = (0.1, 0.25, 0.5, 0.75, 0.9)


@analysis(
    "intercepts",
    "Probabilities and intercepts",
    "Do systems give higher probabilities to notes that people who disagree found helpful?",
    "Spearman's rank correlation of each system's probability of the second class with what ratings say of the sample, "
    "on the samples common to all ranked systems. It separates systems that choose alike: a clear case should have a "
    "higher probability than a narrow one. A system without probabilities is ranked by its choices, which have two "
    "values only, so that it can hardly reach more than 0.87; a missing answer has the rank at the wrong end. The "
    "table also has each system's difference from the best, adjusted for all pairs.",
)
def intercepts(panel: Panel) -> AnalysisResult:
    """Rank correlations with a fact of labels, and their differences."""
    metrics = [metric for metric in panel.metrics if metric.fact]
    if not metrics:
        return missing("The ratings of these samples are unknown.")
    metric, field = metrics[0], fields_of(panel)[0]
    where = field.where & np.isfinite(panel.known(metric.fact))
    if not field.systems or not where.any():
        return missing("No ranked system answered samples whose ratings are known.")
    tables = panel.tables([system.headline for system in field.systems], where, metric)
    apart, best = all_differences(tables, metric), int(metric.value(tables.sum(axis=1)).argmax())
    result = Findings(panel)
    for place, system in enumerate(field.systems):
        found = measure(panel, system.headline, where, metric)
        if found is None:
            continue
        stated = int(np.isfinite(system.headline.probabilities[where, 1]).sum())
        values = int(np.unique(system.headline.chances[where]).size)
        less: dict[str, Cell] = dict.fromkeys(("less_best", "less_best_low", "less_best_high", "p_value"))
        if place != best:
            parts = (apart.difference, apart.low, apart.high, apart.adjusted)
            less = dict(zip(less, (float(part[place, best]) for part in parts), strict=True))
        row = {**about(system), "stated": stated, "different_values": values, **found.cells, **less}
        result.add(row, found.interval, found.mark(system.name, more=f"{stated} stated probabilities"))
    return result.drawn(Chart("intervals", Axis(metric.title, zero=True)))


@analysis(
    "difficulty",
    "Difficulty of samples",
    "Which samples are hard for every system?",
    "A sample's difficulty is the share of models whose leaderboard row is wrong on it. The first row says how far "
    "models agree on it: the rank correlation between the difficulty for one half of the models and for the other. "
    "The other rows correlate it with facts of a sample: above 0, samples with more of the fact are harder. Clearness "
    "is the intercept for the second class, and minus the intercept for the first.",
)
def difficulty(panel: Panel) -> AnalysisResult:
    """Rank correlations of the share of models that are wrong with facts of labels."""
    ranked = ([one for one in its if one.section is EntrySection.SYSTEM] for its in panel.models)
    models = [its[0] for its in ranked if its]
    if len(models) < _LEAST_SYSTEMS:
        return missing(f"Difficulty needs {_LEAST_SYSTEMS} models or more.")
    wrong = np.array([np.where(one.headline.asked, one.headline.answers != panel.labels, np.nan) for one in models])
    where = np.isfinite(wrong).all(axis=0)
    if where.sum() < LEAST_SAMPLES:
        return missing(f"Fewer than {LEAST_SAMPLES} samples were answered by all models.")
    halves = [wrong[start::2].mean(axis=0) for start in (0, 1)]
    known = {"the other half of the models": halves[1]}
    known |= {name: values for name, values in known_of_samples(panel).items() if np.isfinite(values[where]).any()}
    result, metric = Findings(panel), rank_correlation("difficulty", "")
    for number, (name, values) in enumerate(known.items()):
        of = halves[0] if number == 0 else wrong.mean(axis=0)
        kept = where & np.isfinite(values)
        table = cluster_tables(metric.statistics(values[kept], of[kept]), panel.groups[kept])
        value, made = float(metric.value(table.sum(axis=0))), metric_interval(table, metric, n=int(kept.sum()))
        row = {"fact": name, "models": len(models), "n": made.n, "clusters": made.clusters}
        mark = Mark(name, "", value, made.low, made.high, made.n, row=name)
        result.add({**row, **limited("value", value, made)}, made, mark)
    return result.drawn(Chart("intervals", Axis("rank correlation with difficulty", zero=True)), order="marks")


def known_of_samples(panel: Panel) -> Mapping[str, Floats]:
    """Facts of ratings and of time that may make samples hard, each of shape (n,), nan where unknown.

    Clearness is how far the intercept is on the label's side.
    """
    ratings = panel.known("ratings")
    return {
        "clearness": np.where(panel.labels == 1, 1, -1) * panel.known("intercept"),
        "ratings that the note received": ratings,
        "ratings that the intercept rests on": panel.known("voters"),
        "share of the smaller camp": panel.known("smaller_camp"),
        "share of sampled readers": panel.known("sampled_ratings") / np.where(ratings > 0, ratings, np.nan),
        "accounts or editors that would flip the label": _flip_costs(panel),
        "hours from the post to the note": np.array([_delay(sample) for sample in panel.samples]),
    }


def _delay(sample: Sample) -> float:
    """Hours from a post to its note; nan for anything else."""
    post, note = getattr(sample, "post", None), getattr(sample, "note", None)
    dates = getattr(post, "date", None), getattr(note, "date", None)
    return (dates[1] - dates[0]).total_seconds() / 3600 if dates[0] and dates[1] else float("nan")


@analysis(
    "robustness",
    "Labels that few could flip",
    "Would scores and ranks be the same without labels that a few accounts could flip?",
    "{metric} of each ranked system on the samples that all answered and whose label takes at least that many accounts "
    "to flip. At 0 these are all labels with a known cost; from 1 on, labels that the rules themselves do not give are "
    "left out. Then classes are no longer balanced, so compare ranks before values. The table also has the "
    "distribution of costs. Notes count the cheapest kind of accounts, and 65 means more than 64. Edits count editors "
    "with one revision each who act before anybody else: one who restores the old paragraph and N who leave it, for an "
    "edit that stayed; for one that was reverted, as many as it lacked of the N revisions that it had to survive.",
)
def robustness(panel: Panel) -> AnalysisResult:
    """Scores and ranks by the least flip cost of the labels that count."""
    costs, field = _flip_costs(panel), fields_of(panel)[0]
    known = np.isfinite(costs)
    if not known.any():
        return missing("It is unknown how many accounts or editors would flip these labels.")
    result = Findings(panel)
    for label, name in enumerate(panel.task.classes):
        own = costs[known & (panel.labels == label)]
        if own.size:
            spread = ", ".join(f"{value:g}" for value in np.quantile(own, _COSTS, method="inverted_cdf"))
            few = ", ".join(f"{(own < least).mean():.0%} fewer than {least}" for least in _LEAST_COSTS[1:])
            result.notes.append(f"{name} ({own.size:,} labels): the deciles and quartiles {spread}; {few}.")
    result.notes += [f"{int((~known).sum()):,} labels have no known cost."] if not known.all() else []
    for least in _LEAST_COSTS:
        _add_ranks(result, field.systems, field.where & known & (costs >= least), least)
    if not result.marks:
        few = "Too few such labels are left to score systems."
        return result.missing(few if field.systems else "No system is ranked.")
    series = Series("least cost", tuple(map(_named, _LEAST_COSTS)))
    return result.drawn(Chart("intervals", Axis.share(panel.task.headline.title, result.marks), series=series))


def _flip_costs(panel: Panel) -> Floats:
    """Accounts or editors that would flip each label, shape (n,), nan where not known."""
    labels = (Label("", int(label), facts) for label, facts in zip(panel.labels, panel.facts, strict=True))
    return np.array([np.nan if (cost := panel.task.flip_cost(label)) is None else cost for label in labels], float)


def _named(least: int) -> str:
    return f"{least} or more" if least else "all"


def _add_ranks(result: Findings, systems: Sequence[System], where: Where, least: int) -> None:
    """Rows of the ranked systems on some samples, with their ranks there."""
    panel, metric = result.panel, result.panel.task.headline
    if not systems:
        return
    if where.sum() < LEAST_SAMPLES or panel.is_one_class(where):
        result.notes.append(f"Only {int(where.sum())} labels cost {_named(least)}: too few to score.")
        return
    ranks = rank_systems(all_differences(panel.tables([system.headline for system in systems], where), metric))
    for place, system in enumerate(systems):
        found = measure(panel, system.headline, where)
        if found is None:
            continue
        row: dict[str, Cell] = {**about(system), "least_cost": least, "rank": int(ranks.rank[place])}
        row |= {"rank_low": int(ranks.low[place]), "rank_high": int(ranks.high[place])}
        mark = found.mark(system.name, _named(least), more=f"rank {int(ranks.rank[place])}")
        result.add({**row, **found.cells}, found.interval, mark)
