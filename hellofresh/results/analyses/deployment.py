"""Choosing a prompt on the first half of a quarter and using it on the second: what a user would have got."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hellofresh.results.analyses._base import Analysis, AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import (
    NO_POSITIVE_CLASS,
    Measure,
    about,
    best_first,
    few_note,
    has_positive_class,
    mark_of,
    measure,
    names_of,
)
from hellofresh.results.figures.charts import Axis, Chart, Figure, Series
from hellofresh.results.panel import Panel, PromptOutputs, System

__all__ = ["ANALYSIS", "LEAST_RECALL"]

LEAST_RECALL = 0.2
_SERIES = ("precision, first half", "precision, second half", "recall, second half")
Halves = tuple[NDArray[np.bool_], NDArray[np.bool_]]


def _run(panel: Panel) -> AnalysisResult:
    if not has_positive_class(panel):
        return missing(NO_POSITIVE_CLASS)
    periods = panel.period_names
    if len(periods) < 2:
        return missing(
            f"All samples are of one {panel.task.period_kind}; two are needed to choose on one and test on the next."
        )
    metrics = [panel.task.metric(name) for name in ("precision", "recall")]
    early = np.isin(panel.periods, periods[: len(periods) // 2])
    rows, marks, intervals = [], [], []
    shown = [system for system in panel.systems if system.kind != "baseline"]
    notes: list[str] = []
    for system in panel.systems:
        chosen = _choose(panel, system, early)
        late = [measure(panel, chosen, ~early, metric) for metric in metrics] if chosen else []
        row = {**about(system), "prompt": None if chosen is None else chosen.prompt}
        before = [measure(panel, chosen, early, metric) for metric in metrics] if chosen else []
        rows.append({**row, **_cells("first", before), **_cells("second", late)})
        if system in shown:
            for name, found in zip(_SERIES, [*before[:1], *late], strict=False):
                if found is not None:
                    intervals.append(found.interval)
                    marks.append(mark_of(found, system.name, name, more=f"prompt {row['prompt']}"))
    if not marks:
        why = "No system other than a baseline has a prompt with a recall of 20% or more on the first half."
        return AnalysisResult(table_of(rows), None, notes, why) if rows else missing(why)
    never = [row["system"] for row in rows if row["prompt"] is None]
    if never:
        notes.append(
            f"No prompt reaches a recall of {LEAST_RECALL:.0%} on the first half: {', '.join(map(str, never))}."
        )
    halves = f"The first half is {periods[0]} to {periods[len(periods) // 2 - 1]}, the second up to {periods[-1]}."
    drawn = {mark.who for mark in marks}
    chart = Chart("intervals", Axis("precision or recall"), series=Series("", _SERIES))
    figure = Figure((chart,), names_of([system for system in best_first(panel, shown) if system.name in drawn]))
    return AnalysisResult(table_of(rows), figure, [halves, *notes, *few_note(intervals)], marks=marks)


def _choose(panel: Panel, system: System, early: NDArray[np.bool_]) -> PromptOutputs | None:
    """The prompt with the best precision among those with enough recall; the first of equals."""
    best: tuple[float, PromptOutputs] | None = None
    for said in system.prompts:
        precision, recall = (measure(panel, said, early, panel.task.metric(name)) for name in ("precision", "recall"))
        if precision is None or recall is None or recall.value < LEAST_RECALL:
            continue
        if best is None or precision.value > best[0]:
            best = precision.value, said
    return best[1] if best else None


def _cells(half: str, found: list[Measure | None]) -> dict[str, float | int | None]:
    """Precision and recall of one half; empty where there is none."""
    cells: dict[str, float | int | None] = {f"{half}_n": None}
    for metric, one in zip(("precision", "recall"), found or [None, None], strict=True):
        cells[f"{half}_n"] = one.interval.n if one else cells[f"{half}_n"]
        cells[f"{half}_{metric}"] = one.value if one else None
        cells[f"{half}_{metric}_low"] = one.interval.low if one else None
        cells[f"{half}_{metric}_high"] = one.interval.high if one else None
    return cells


ANALYSIS = Analysis(
    name="deployment",
    title="Deployment simulation",
    question="If the best prompt is chosen on the first half of the quarter, how does it do on the second?",
    how_to_read=(
        "For each system, the prompt with the best precision among those with a recall of at least 20% is chosen "
        "on the first half of the periods. A chosen prompt looks better there than it is: precision and recall on "
        "the second half are what a user would have got."
    ),
    run=_run,
)
