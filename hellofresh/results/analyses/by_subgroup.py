"""How well systems do on parts of the samples that the task names, such as possibility, attack or language."""

from __future__ import annotations

from hellofresh.results.analyses._base import Analysis, AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import about, best_first, few_note, mark_of, measure, names_of
from hellofresh.results.analyses._subgroups import LEAST_SAMPLES, subgroups
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.panel import Panel

__all__ = ["ANALYSIS"]


def _run(panel: Panel) -> AnalysisResult:
    parts, notes = subgroups(panel)
    if not parts:
        return missing("Nothing that is known of the samples divides them into parts that are large enough.", notes)
    rows, intervals = [], []
    marks: list[Mark] = []
    for part in parts:
        for system in panel.systems:
            found = measure(panel, system.headline, part.where)
            if found is None:
                continue
            rows.append({**about(system), "factor": part.factor, "bin": part.name, **found.cells})
            intervals.append(found.interval)
            marks.append(mark_of(found, system.name, system.name, row=part.row, panel=part.factor))
    if not rows:
        return missing("No system judged samples of two classes in any part.", notes)
    axis = Axis(panel.task.headline.title)
    factors = dict.fromkeys(part.factor for part in parts)
    charts = tuple(Chart("intervals", axis, series=Series("system"), panel=factor) for factor in factors)
    drawn = {mark.who for mark in marks}
    order = [name for name in names_of(best_first(panel, panel.systems)) if name in drawn]
    figure = Figure(charts, tuple(order), most=4, one_key=True)
    return AnalysisResult(table_of(rows), figure, [*notes, *few_note(intervals)], marks=marks)


ANALYSIS = Analysis(
    name="subgroups",
    title="Subgroups",
    question="How well do systems do on parts of the samples, by what is known of them?",
    how_to_read=(
        "The headline metric of each system's leaderboard row on the samples of each bin, with its interval. Bins with "
        f"fewer than {LEAST_SAMPLES} samples are left out. Bins differ in their balance of classes, which the metric "
        "depends on: compare systems within a row before comparing rows."
    ),
    run=_run,
)
