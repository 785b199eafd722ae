"""Ranking of systems, its stability over time, cost, and agreement between systems."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from math import isnan

import numpy as np

from hellofresh.results.analyses.base import (
    NO_SYSTEM,
    AnalysisResult,
    Cell,
    Findings,
    about,
    analysis,
    limited,
    measure,
    missing,
)
from hellofresh.results.figures.charts import Axis, Chart, Mark, Series
from hellofresh.results.over_quarters import OverQuarters, OverQuartersRow, over_quarters, quarter_scores
from hellofresh.results.split.panel import EntrySection, Panel, System
from hellofresh.results.standings import Field, Standing, fields_of, standings_of
from hellofresh.stats.agreement import answer_agreement
from hellofresh.stats.draws import compare_periods, draw_jointly, order_held

_LEAST_SAMPLES = 4  # of a period: a mean of fewer jumps from one end to the other
_REGIMES = ("zero-shot", "web-search", "placebo")


@analysis(
    "ranking",
    "Ranks",
    "Which systems are significantly better than which, and does the order hold over time?",
    "Each system's rank by {metric} on the samples that all answered, with the ranks that the data allow: from one "
    "more than the number of significantly better systems to the number of systems that are not significantly "
    "worse. Systems of one tie group do not differ significantly from the best of the group, after adjustment "
    "for all pairs. Baselines, controls and smoke tests are in the table without a rank. The table also has "
    "the probability of being first, and scores adjusted for how hard each quarter was, so that systems of "
    "different quarters can be compared.",
)
def ranking(panel: Panel) -> AnalysisResult:
    """The standings, and how they hold over periods and quarters."""
    standings = standings_of(panel)
    ranked, compared = fields_of(panel)
    found = Findings(panel, notes=list(standings.notes))
    if not standings.ranked:
        why = "No system is ranked here; baselines, controls and smoke tests are only compared."
        return missing(why, found.notes)
    over = over_quarters([*panel.past, *quarter_scores(panel)], panel.task.headline)
    adjusted = {item.origin: item for item in over.systems if item.latest == str(panel.edition)}
    by_origin = {system.origin: system for system in panel.systems}
    for standing in standings.ranked:
        system = by_origin[standing.origin]
        found.rows.append(_standing(panel, ranked, system, standing, adjusted.get(system.origin)))
        more = f"{standing.first:.0%} chance of being first"
        limits = standing.rank, standing.low, standing.high, standing.n
        found.marks.append(Mark(system.name, f"tie group {standing.tie_group}", *limits, more=more, row=system.name))
    others = (system for system in compared.systems if system.section is not EntrySection.SYSTEM)
    found.rows += [_standing(panel, compared, system, None, adjusted.get(system.origin)) for system in others]
    if standings.detectable is not None:
        found.notes.append(
            f"These samples detect a true difference of {standings.detectable:.3f} in {panel.task.headline.title} "
            "between two systems in 80% of cases (the median over pairs, each tested alone)."
        )
    found.notes += [*_over_periods(panel, ranked), *_about_quarters(panel, over)]
    if (first := standings.ranked[0]).few_clusters:
        found.notes.append(
            f"Ranks rest on {first.clusters} clusters of samples, too few or too uneven: read them with care."
        )
    axis = Axis(f"rank by {panel.task.headline.title} (1 is best)", whole=True)
    return found.drawn(Chart("intervals", axis, series=Series("tie group")), order="marks", most=20)


def _standing(
    panel: Panel, field: Field, system: System, standing: Standing | None, adjusted: OverQuartersRow | None
) -> dict[str, Cell]:
    """A row for a ranked system or a compared entry, on the samples of its comparison."""
    found = measure(panel, system.headline, field.where)
    place: dict[str, Cell] = dict.fromkeys(("rank", "rank_low", "rank_high", "probability_first", "tie_group"))
    if standing is not None:
        ends = standing.rank, standing.low, standing.high, standing.first, standing.tie_group
        place = dict(zip(place, ends, strict=True))
    over: dict[str, Cell] = dict.fromkeys(("quarters", "adjusted", "adjusted_low", "adjusted_high", "not_adjusted"))
    if adjusted is not None:
        ends_over = adjusted.quarters, adjusted.score, adjusted.low, adjusted.high, adjusted.reason
        over = dict(zip(over, ends_over, strict=True))
    return {**about(system), **place, **(found.cells if found else {}), **over}


def _over_periods(panel: Panel, field: Field) -> list[str]:
    """Whether the order of the first half holds in the second, and in every period."""
    where = {period: field.where & (panel.periods == period) for period in panel.period_names}
    periods = [period for period, part in where.items() if part.sum() >= _LEAST_SAMPLES]
    if len(periods) < 2 or len(field.systems) < 2:
        return []
    middle = len(periods) // 2
    halves = [np.logical_or.reduce([where[period] for period in part]) for part in (periods[:middle], periods[middle:])]
    metric, headlines = panel.task.headline, [system.headline for system in field.systems]
    first, second = (
        draw_jointly(panel.tables(headlines, part), [metric], seed=seed, n=int(part.sum()))
        for seed, part in enumerate(halves, start=1)
    )
    agreed = compare_periods(first, second, metric)
    made = agreed.kendall_interval
    worst = metric.limits[0] if metric.higher_is_better else metric.limits[1]
    found = [[measure(panel, system.headline, where[period]) for period in periods] for system in field.systems]
    held = order_held(metric.sign * np.array([[one.value if one else worst for one in row] for row in found]))
    kinds = f"{panel.task.period_kind}s"
    return [
        f"First and second half of the {kinds} agree on the order with Kendall's tau-b {agreed.kendall:.2f} "
        f"[{made.low:.2f}, {made.high:.2f}] and Spearman's rho {agreed.spearman:.2f}; {int(held.sum())} of "
        f"{held.size} neighbours keep their order in all {len(periods)} {kinds}."
    ]


def _about_quarters(panel: Panel, over: OverQuarters) -> list[str]:
    """Notes on scores over quarters."""
    if not panel.past:
        return ["There is no earlier quarter to compare with."]
    if not over.effects:
        return ["Too few systems took part in several quarters to put quarters on one scale."]
    effects = ", ".join(f"{name} {effect:+.3f}" for name, effect in over.effects.items())
    lines = [
        "Adjusted scores are those expected in an average quarter, by a model with effects of systems and quarters "
        f"({effects})."
    ]
    if over.excess_p is not None:
        lines.append(
            "Is a hard quarter equally hard for every system? The differences exceed sampling with "
            f"p = {over.excess_p:.2f}; a small p is evidence against comparing quarters so."
        )
    if over.few:
        lines.append("The limits of adjusted scores rest on few quarters and are rough.")
    return lines


@analysis(
    "temporal-consistency",
    "Temporal consistency",
    "Does a system's score hold from period to period?",
    "One small panel per system, one line per regime, {metric} of each period with its 95% interval. Neighbouring "
    "periods whose intervals overlap widely show no change. If several systems with the same knowledge "
    "cutoff fall from the same period on, they may have memorised outcomes.",
)
def temporal_consistency(panel: Panel) -> AnalysisResult:
    """Scores from period to period."""
    periods = panel.period_names
    if len(periods) < 2:
        return missing(f"All samples are of one {panel.task.period_kind}; two are needed to see a change.")
    if not panel.systems:
        return missing(NO_SYSTEM)
    about_gaps = "A period in which a system answered samples of only one class has no score."
    result = Findings(panel, notes=[about_gaps])
    short = {period: period.rsplit("-", 1)[-1] for period in periods}  # without the year: `W14`, `04`
    for system in panel.systems:
        regime = "no language model" if system.regime in {"none", ""} else system.regime
        for period in periods:
            found = measure(panel, system.headline, panel.periods == period)
            if found is not None:
                mark = found.mark(system.label, regime, panel=system.label, row=system.label)
                row = {**about(system), "period": period, **found.cells}
                result.add(row, found.interval, replace(mark, at=short[period]))
    if not result.rows:
        return missing("No system answered samples of both classes in any period.")
    periods_of = {
        day: panel.task.period_kind.of(datetime(day.year, day.month, day.day, tzinfo=UTC))
        for day in panel.task.rule_changes
    }
    changes = {day: short[period] for day, period in periods_of.items() if period in short}
    if changes:
        said = "; ".join(f"{day}: {panel.task.rule_changes[day]}" for day in changes)
        result.notes.append(f"Dotted lines: what decides labels changed in this {panel.task.period_kind} ({said}).")
    across = Axis(f"{panel.task.period_kind} of {panel.edition}", intervals=False)
    up = Axis.share(panel.task.headline.title, result.marks, ticks=5)
    chart = Chart(
        "curves",
        across,
        up,
        Series("regime", _REGIMES),
        places=tuple(short.values()),
        marked=tuple(dict.fromkeys(changes.values())),
    )
    columns = 2 if len(periods) > 6 else 3
    return result.drawn(chart, order="label", most=6, columns=columns, by_system=True, one_key=True)


@analysis(
    "cost",
    "Cost and score",
    "What does a better score cost?",
    "{metric} of each system's leaderboard row, against the cost of a thousand samples with all of its prompts. Up "
    "and left is better. Systems of unknown cost are in the table only.",
)
def cost(panel: Panel) -> AnalysisResult:
    """Scores against US dollars for a thousand samples with all prompts."""
    if not panel.systems:
        return missing(NO_SYSTEM)
    result, unknown = Findings(panel), []
    for system in panel.systems:
        asked = int(system.headline.asked.sum())
        dollars = None if system.cost_usd is None or not asked else 1000 * system.cost_usd / asked
        unknown += [system.name] if dollars is None else []
        found = measure(panel, system.headline)
        if found is not None:
            spent = {"cost_usd": system.cost_usd, "usd_per_1000_samples": dollars}
            tokens = {"tokens_in": system.tokens_in, "tokens_out": system.tokens_out}
            marks = [] if dollars is None else [replace(found.mark(system.name, system.name), at=dollars)]
            result.add({**about(system), **spent, **tokens, **found.cells}, found.interval, *marks)
    if unknown:
        result.notes.append(f"Unknown cost: {', '.join(unknown)}.")
    if not result.marks:
        return result.missing("No system's cost is known.")
    across = Axis("cost of 1,000 samples with all prompts (US dollars)", intervals=False)
    return result.drawn(Chart("scatter", across, Axis(panel.task.headline.title)))


@analysis(
    "agreement",
    "Agreement between systems",
    "Do different systems give the same answers?",
    "Cohen's kappa of each pair, on the samples that both answered, for their leaderboard rows; the best first. 1 "
    "is the same answer everywhere, 0 is what chance would give two systems with these shares of answers, "
    "below 0 is less than chance. None and blocked count as answers of their own here. The table also has the "
    "raw agreement, and intervals for both.",
)
def agreement(panel: Panel) -> AnalysisResult:
    """Which systems give the same answers."""
    if len(panel.systems) < 2:
        return missing("Two systems are needed to compare their answers.")
    result = Findings(panel)
    for first, second in combinations(panel.systems, 2):
        both = first.headline.asked & second.headline.asked
        if not both.any():
            continue
        one, two = (system.headline.answers[both] for system in (first, second))
        agreed = answer_agreement(one, two, panel.groups[both])
        made, ends = agreed.raw_interval, agreed.kappa_interval
        more = f"the same answer to {agreed.raw:.0%} of {made.n:,} samples"
        pairs = ((first.name, second.name), (second.name, first.name))  # both halves of the square
        marks = [
            Mark(who, "", agreed.kappa, ends.low, ends.high, made.n, more=more, other=other)
            for who, other in pairs
            if not isnan(agreed.kappa)
        ]
        names = {"first": first.label, "first_regime": first.regime}
        names |= {"second": second.label, "second_regime": second.regime}
        share = limited("agreement", agreed.raw, made)
        kappa = limited("kappa", agreed.kappa, agreed.kappa_interval)
        result.add({**names, "n": made.n, "clusters": made.clusters, **share, **kappa}, made, *marks)
    if not result.rows:
        return missing("No two systems answered the same samples.")
    return result.drawn(Chart("pairs", Axis("Cohen's kappa", 0, 1)))
