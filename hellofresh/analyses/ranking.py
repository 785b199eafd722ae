"""Who is ahead of whom, and whether it stays so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.analyses._base import Analysis, Cell, Result, missing, table_of
from hellofresh.analyses._measures import about, answers, few_note, measure
from hellofresh.analyses.panel import Panel, System
from hellofresh.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.stats import (
    NO_ANSWER,
    Draws,
    TwoWay,
    all_differences,
    compare_periods,
    connected_parts,
    count,
    draw_jointly,
    metric_intervals,
    order_held,
    rank_systems,
    tie_groups,
    two_way,
)

__all__ = ["ANALYSIS"]

_LEAST_SAMPLES = 4


def _run(panel: Panel) -> Result:
    systems, common, notes = _comparable(panel)
    if len(systems) < 2:
        return missing("Two systems that were asked the same samples are needed for a ranking.", notes)
    draws = _draws(panel, systems, common, 0)
    ranking = rank_systems(draws)
    ties = tie_groups(draws.value("f1"), all_differences(draws).separable)
    over, more = _over_quarters(panel)
    rows: list[dict[str, Cell]] = []
    marks = []
    for number in np.lexsort((np.arange(len(systems)), ranking.rank)).tolist():
        system, found = systems[number], measure(panel, systems[number].headline, common)
        if found is None:
            continue
        rank, low, high = (int(part[number]) for part in (ranking.rank, ranking.low, ranking.high))
        rows.append({
            **about(system), "rank": rank, "rank_low": low, "rank_high": high,
            "probability_first": float(ranking.first[number]), "tie_group": int(ties[number]), **found.cells,
            **over.get(_key(system), dict.fromkeys(("quarters", "adjusted_f1", "adjusted_low", "adjusted_high"))),
        })  # fmt: skip
        first = f"first with a probability of {ranking.first[number]:.0%}"
        marks.append(Mark(system.name, f"tie group {ties[number]}", rank, low, high, found.interval.n, more=first,
                          row=system.name))  # fmt: skip
    if not rows:
        return missing("All samples that the systems were asked in common are of one class.", notes)
    chart = Chart("intervals", Axis("rank by F1 (1 is best)", whole=True), series=Series("tie group"))
    figure = Figure((chart,), tuple(dict.fromkeys(mark.who for mark in marks)), most=20)
    notes += [*_over_periods(panel, systems, common), *more, *few_note([draws.interval(draws.of("f1")[0])])]
    return Result(table_of(rows), figure, notes, marks=marks)


def _key(system: System) -> str:
    return f"{system.model} {system.regime}"


def _comparable(panel: Panel) -> tuple[list[System], NDArray[np.bool_], list[str]]:
    """The systems that were asked most samples, the samples that all of them were asked, and who is left out.

    A system that was asked fewer than half as many samples as the second of all would take the others' samples away.
    """
    asked = sorted((int(system.headline.asked.sum()) for system in panel.systems), reverse=True)
    most = asked[min(1, len(asked) - 1)] if asked else 0
    kept = [system for system in panel.systems if 2 * int(system.headline.asked.sum()) >= most > 0]
    out = [system.name for system in panel.systems if system not in kept]
    if not kept:
        return [], np.zeros(panel.labels.shape, dtype=np.bool_), []
    common: NDArray[np.bool_] = np.logical_and.reduce([system.headline.asked for system in kept])
    notes = [f"Left out, being asked less than half as many samples as others: {', '.join(out)}."] if out else []
    return (kept if common.any() else []), common, notes


def _draws(panel: Panel, systems: Sequence[System], where: NDArray[np.bool_], seed: int) -> Draws:
    predictions = np.stack([answers(system.headline, where) for system in systems])
    return draw_jointly(panel.labels[where], predictions, panel.groups[where], metrics=("f1",), seed=seed)


def _over_periods(panel: Panel, systems: Sequence[System], common: NDArray[np.bool_]) -> list[str]:
    """Whether the order of the first half holds in the second, and in every period."""
    where = {period: common & (panel.periods == period) for period in panel.period_names}
    periods = [period for period, part in where.items() if part.sum() >= _LEAST_SAMPLES]
    if len(periods) < 2:
        return []
    middle = len(periods) // 2
    halves = [np.logical_or.reduce([where[period] for period in part]) for part in (periods[:middle], periods[middle:])]
    first, second = (_draws(panel, systems, part, seed) for seed, part in enumerate(halves, start=1))
    agreed = compare_periods(first, second)
    made = agreed.kendall_interval
    scores = np.array([
        [found.value if (found := measure(panel, system.headline, where[period])) else 0.0 for period in periods]
        for system in systems
    ])  # fmt: skip
    held = order_held(scores)
    kinds = f"{panel.task.period_kind}s"
    return [
        f"First and second half of the {kinds} agree on the order with Kendall's tau-b {agreed.kendall:.2f} "
        f"[{made.low:.2f}, {made.high:.2f}] and Spearman's rho {agreed.spearman:.2f}; {int(held.holds.sum())} of "
        f"{held.holds.size} neighbours keep their order in all {len(periods)} {kinds}."
    ]


@dataclass(frozen=True, slots=True)
class _QuarterScore:
    key: str
    quarter: str
    f1: float
    variance: float


def _over_quarters(panel: Panel) -> tuple[dict[str, dict[str, Cell]], list[str]]:
    """Scores brought onto one scale over quarters, by system, and what is to be known of them."""
    if not panel.past:
        return {}, ["No earlier quarter is there to compare with."]
    quarters = [(past.quarter, past.labels, past.groups, past.systems) for past in panel.past]
    quarters.append((str(panel.quarter), panel.labels, panel.groups, panel.systems))
    now = {_key(system) for system in panel.systems}
    scores = [score for quarter in quarters for score in _scores_of(*quarter) if score.key in now]
    names, numbers = np.unique([score.key for score in scores], return_inverse=True)
    used, when = np.unique([score.quarter for score in scores], return_inverse=True)
    if used.size < 2:
        return {}, ["No system of an earlier quarter took part in this one."]
    parts = connected_parts(numbers, when)
    main = int(np.bincount(parts).argmax())
    kept = [score for score, number in zip(scores, numbers.tolist(), strict=True) if parts[number] == main]
    names, numbers = np.unique([score.key for score in kept], return_inverse=True)
    used, when = np.unique([score.quarter for score in kept], return_inverse=True)
    if used.size < 2 or len(kept) <= names.size + used.size - 1:
        return {}, ["Too few systems took part in several quarters to bring quarters onto one scale."]
    variances = np.array([score.variance for score in kept])
    fitted = two_way(np.array([score.f1 for score in kept]), numbers, when, variances=variances)
    return _adjusted(fitted, names.tolist(), np.bincount(numbers)), _about_fit(fitted, used.tolist())


def _scores_of(
    quarter: str, labels: NDArray[np.int8], groups: NDArray[np.int64], systems: Sequence[System]
) -> list[_QuarterScore]:
    found: dict[str, _QuarterScore] = {}
    for system in systems:
        asked = system.headline.asked
        if asked.sum() < _LEAST_SAMPLES:
            continue
        said = np.where(system.headline.verdicts[asked] < 0, NO_ANSWER, system.headline.verdicts[asked]).astype(np.int8)
        made = metric_intervals(labels[asked], said, groups[asked], metrics=("f1",))["f1"]
        f1 = count(labels[asked], said).metrics["f1"]
        key = _key(system)
        found.setdefault(key, _QuarterScore(key, quarter, f1, max(((made.high - made.low) / 3.92) ** 2, 1e-6)))
    return list(found.values())


def _adjusted(fitted: TwoWay, names: Sequence[str], times: NDArray[np.int64]) -> dict[str, dict[str, Cell]]:
    def known(value: float) -> float | None:
        return None if np.isnan(value) else float(value)

    return {
        name: {"quarters": int(times[number]), "adjusted_f1": known(fitted.system[number]),
               "adjusted_low": known(fitted.low[number]), "adjusted_high": known(fitted.high[number])}
        for number, name in enumerate(names)
    }  # fmt: skip


def _about_fit(fitted: TwoWay, quarters: Sequence[str]) -> list[str]:
    tested = fitted.additivity
    effects = ", ".join(f"{name} {effect:+.3f}" for name, effect in zip(quarters, fitted.quarter.tolist(), strict=True))
    lines = [
        f"Adjusted F1 is what the fixed-effects model of systems and quarters expects in the mean quarter ({effects})."
    ]
    if not np.isnan(tested.excess_p_value):
        lines.append(
            "Whether quarters are as much harder for one system as for another: more than sampling is left over with "
            f"p = {tested.excess_p_value:.2f}; a small p speaks against comparing quarters this way."
        )
    if fitted.few_quarters:
        lines.append("The limits of adjusted scores rest on few quarters and are rough.")
    return lines


ANALYSIS = Analysis(
    name="ranking",
    title="Ranks",
    question="Which systems are surely ahead of which, and does the order hold over time?",
    how_to_read=(
        "Each system's rank by F1 on the samples that all were asked, with the ranks that the data allow. "
        "Systems of one "
        "tie group cannot be told from its best system after adjustment for all pairs. The table also has "
        "the probability "
        "of being first, and scores adjusted for how hard each quarter was, by which a system that entered late can be "
        "set beside those that entered early."
    ),
    run=_run,
)
