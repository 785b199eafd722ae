"""Who is ahead of whom, and whether it stays so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hellofresh.results.analyses._base import Analysis, AnalysisResult, Cell, missing, table_of
from hellofresh.results.analyses._measures import about, measure
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.over_quarters import AdjustedScore, OverQuarters, over_quarters, quarter_scores
from hellofresh.results.panel import EntrySection, Panel, System
from hellofresh.results.standings import Field, Standing, Standings, fields_of, standings_of
from hellofresh.stats import Draws, compare_periods, draw_jointly, order_held

__all__ = ["ANALYSIS"]

_LEAST_SAMPLES = 4


def _run(panel: Panel) -> AnalysisResult:
    standings = standings_of(panel)
    ranked, compared = fields_of(panel)
    notes = list(standings.notes)
    if not standings.ranked:
        return missing("No system is ranked here; baselines, controls and smoke tests are only compared.", notes)
    over = over_quarters([*panel.past, *quarter_scores(panel)], panel.task.headline)
    adjusted = {item.latest.system.origin: item for item in over.systems if item.latest.edition == str(panel.edition)}
    by_origin = {system.origin: system for system in panel.systems}
    order = [(by_origin[standing.origin], standing) for standing in standings.ranked]
    others = [(system, None) for system in compared.systems if system.section is not EntrySection.SYSTEM]
    rows = [_row(panel, ranked if standing else compared, system, standing, adjusted.get(system.origin))
            for system, standing in [*order, *others]]  # fmt: skip
    marks = [_mark(system, standing) for system, standing in order]
    chart = Chart(
        "intervals", Axis(f"rank by {panel.task.headline.title} (1 is best)", whole=True), series=Series("tie group")
    )
    figure = Figure((chart,), tuple(dict.fromkeys(mark.who for mark in marks)), most=20)
    notes += [*_detectable(panel, standings), *_over_periods(panel, ranked), *_about_quarters(panel, over)]
    notes += _few(standings.ranked[0])
    return AnalysisResult(table_of(rows), figure, notes, marks=marks)


def _mark(system: System, standing: Standing) -> Mark:
    first = f"first with a probability of {standing.first:.0%}"
    return Mark(system.name, f"tie group {standing.tie_group}", standing.rank, standing.low, standing.high, standing.n,
                more=first, row=system.name)  # fmt: skip


def _row(
    panel: Panel, field: Field, system: System, standing: Standing | None, adjusted: AdjustedScore | None
) -> dict[str, Cell]:
    """A ranked system, or what is compared with them, on the samples on which it is compared."""
    found = measure(panel, system.headline, field.where)
    place: dict[str, Cell] = dict.fromkeys(("rank", "rank_low", "rank_high", "probability_first", "tie_group"))
    if standing is not None:
        place = {"rank": standing.rank, "rank_low": standing.low, "rank_high": standing.high,
                 "probability_first": standing.first, "tie_group": standing.tie_group}  # fmt: skip
    over: dict[str, Cell] = dict.fromkeys(("quarters", "adjusted", "adjusted_low", "adjusted_high", "not_adjusted"))
    if adjusted is not None:
        over = {"quarters": adjusted.quarters, "adjusted": adjusted.score, "adjusted_low": adjusted.low,
                "adjusted_high": adjusted.high, "not_adjusted": adjusted.reason}  # fmt: skip
    return {**about(system), **place, **(found.cells if found else {}), **over}


def _detectable(panel: Panel, standings: Standings) -> list[str]:
    if standings.detectable is None:
        return []
    metric = panel.task.headline.title
    return [
        f"A true difference of {standings.detectable:.3f} in {metric} between two systems would be found with a "
        "probability of 80% (the median over pairs, each tested alone)."
    ]


def _few(standing: Standing) -> list[str]:
    if not standing.few_clusters:
        return []
    return [f"Ranks rest on {standing.clusters} clusters of samples, too few or too uneven: read them with care."]


def _draws(panel: Panel, systems: Sequence[System], where: NDArray[np.bool_], seed: int) -> Draws:
    tables = panel.tables([system.headline for system in systems], where)
    return draw_jointly(tables, [panel.task.headline], seed=seed, n=int(where.sum()))


def _over_periods(panel: Panel, field: Field) -> list[str]:
    """Whether the order of the first half holds in the second, and in every period."""
    systems, common = field.systems, field.where
    where = {period: common & (panel.periods == period) for period in panel.period_names}
    periods = [period for period, part in where.items() if part.sum() >= _LEAST_SAMPLES]
    if len(periods) < 2 or len(systems) < 2:
        return []
    middle = len(periods) // 2
    halves = [np.logical_or.reduce([where[period] for period in part]) for part in (periods[:middle], periods[middle:])]
    first, second = (_draws(panel, systems, part, seed) for seed, part in enumerate(halves, start=1))
    metric = panel.task.headline
    agreed = compare_periods(first, second, metric)
    made = agreed.kendall_interval
    worst = metric.limits[0] if metric.higher_is_better else metric.limits[1]
    scores = np.array([
        [found.value if (found := measure(panel, system.headline, where[period])) else worst for period in periods]
        for system in systems
    ])  # fmt: skip
    held = order_held(metric.sign * scores)
    kinds = f"{panel.task.period_kind}s"
    return [
        f"First and second half of the {kinds} agree on the order with Kendall's tau-b {agreed.kendall:.2f} "
        f"[{made.low:.2f}, {made.high:.2f}] and Spearman's rho {agreed.spearman:.2f}; {int(held.holds.sum())} of "
        f"{held.holds.size} neighbours keep their order in all {len(periods)} {kinds}."
    ]


def _about_quarters(panel: Panel, over: OverQuarters) -> list[str]:
    """What is to be known of scores over quarters."""
    if not panel.past:
        return ["There is no earlier quarter to compare with."]
    if not over.effects:
        return ["Too few systems took part in several quarters to put quarters on one scale."]
    effects = ", ".join(f"{name} {effect:+.3f}" for name, effect in over.effects.items())
    lines = [
        "Adjusted scores are what the fixed-effects model of systems and quarters expects in the mean quarter "
        f"({effects})."
    ]
    if over.excess_p is not None:
        lines.append(
            "Whether quarters are as much harder for one system as for another: more than sampling is left over with "
            f"p = {over.excess_p:.2f}; a small p speaks against comparing quarters this way."
        )
    if over.few:
        lines.append("The limits of adjusted scores rest on few quarters and are rough.")
    return lines


ANALYSIS = Analysis(
    name="ranking",
    title="Ranks",
    question="Which systems are significantly better than which, and does the order hold over time?",
    how_to_read=(
        "Each system's rank by {metric} on the samples that all judged, with the ranks that the data allow: from one "
        "more than the number of significantly better systems to the number of systems that are not significantly "
        "worse. Systems of one tie group do not differ significantly from the best of the group, after adjustment "
        "for all pairs. Baselines, controls and smoke tests are in the table without a rank. The table also has "
        "the probability of being first, and scores adjusted for how hard each quarter was, so that systems of "
        "different quarters can be compared."
    ),
    run=_run,
    version=2,
)
