"""What a score costs."""

from __future__ import annotations

from dataclasses import replace

from hellofresh.results.analyses._base import Analysis, AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import about, best_first, few_note, mark_of, measure, names_of
from hellofresh.results.figures.charts import Axis, Chart, Figure
from hellofresh.results.panel import Panel, System

__all__ = ["ANALYSIS"]


def _run(panel: Panel) -> AnalysisResult:
    if not panel.systems:
        return missing("No system has answered.")
    rows, intervals, known, marks = [], [], [], []
    for system in panel.systems:
        found = measure(panel, system.headline)
        if found is not None:
            rows.append({**about(system), "cost_usd": system.cost_usd, "usd_per_1000_samples": _per_thousand(system),
                         "tokens_in": system.tokens_in, "tokens_out": system.tokens_out, **found.cells})  # fmt: skip
            intervals.append(found.interval)
            cost = _per_thousand(system)
            if cost is not None:
                known.append(system)
                marks.append(replace(mark_of(found, system.name, system.name), at=cost))
    unknown = [system.name for system in panel.systems if _per_thousand(system) is None]
    notes = [f"Unknown cost: {', '.join(unknown)}."] if unknown else []
    if not known:
        return AnalysisResult(table_of(rows), None, notes, "No system's cost is known.")
    chart = Chart("scatter", Axis("cost of 1,000 samples with all prompts (US dollars)", intervals=False),
                  Axis(panel.task.headline.title))  # fmt: skip
    figure = Figure((chart,), names_of(best_first(panel, known)))
    return AnalysisResult(table_of(rows), figure, [*notes, *few_note(intervals)], marks=marks)


def _per_thousand(system: System) -> float | None:
    """US dollars for a thousand samples with all prompts."""
    asked = int(system.headline.asked.sum())
    return None if system.cost_usd is None or not asked else 1000 * system.cost_usd / asked


ANALYSIS = Analysis(
    name="cost",
    title="Cost and score",
    question="What does a better score cost?",
    how_to_read=(
        "{metric} of each system's leaderboard row, against the cost of a thousand samples with all of its prompts. Up "
        "and left is better. An unknown cost is never taken as 0: such systems are in the table only."
    ),
    run=_run,
)
