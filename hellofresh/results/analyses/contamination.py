"""Samples from before and after a model's knowledge cutoff."""

from __future__ import annotations

import numpy as np

from hellofresh.results.analyses._base import Analysis, AnalysisResult, Cell, missing, table_of
from hellofresh.results.analyses._measures import about, best_first, few_note, measure, names_of
from hellofresh.results.contamination import cutoff_end
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.panel import Panel, System
from hellofresh.stats import Interval, compare_parts

__all__ = ["ANALYSIS"]

_SERIES = {"before": "until the cutoff", "after": "after the cutoff"}
_PANELS = ("Both sides of the cutoff", "Difference")


def _run(panel: Panel) -> AnalysisResult:
    models = [system for system in panel.systems if system.kind != "baseline"]
    if not models:
        return missing("Only baselines have answered, and they have no training data.")
    rows: list[dict[str, Cell]] = []
    intervals, both = [], []
    for system in models:
        row, interval = _row(panel, system)
        rows.append(row)
        if interval is not None:
            intervals.append(interval)
            both.append(system)
    unknown = [str(row["system"]) for row in rows if row["status"] == "unknown cutoff"]
    notes = [f"Unknown knowledge cutoff: {', '.join(unknown)}."] if unknown else []
    if not both:
        why = "No system has samples on both sides of a known knowledge cutoff."
        return AnalysisResult(table_of(rows), None, notes, why)
    marks = [
        mark
        for row, system in zip(rows, models, strict=True) if system in both
        for mark in _marks(row, system)
    ]  # fmt: skip
    metric = panel.task.headline.title
    charts = (
        Chart("intervals", Axis(metric, ticks=5), series=Series("samples", tuple(_SERIES.values())), panel=_PANELS[0]),
        Chart("intervals", Axis(f"{metric} until minus after the cutoff", zero=True, ticks=5), panel=_PANELS[1]),
    )
    figure = Figure(charts, names_of(best_first(panel, both)), columns=2)
    return AnalysisResult(table_of(rows), figure, [*notes, *few_note(intervals)], marks=marks)


def _marks(row: dict[str, Cell], system: System) -> list[Mark]:
    """Both sides, and their difference."""
    more = f"cutoff {system.knowledge_cutoff}"
    ends = [(name, side, f"{side}_low", f"{side}_high", row[f"{side}_n"], _PANELS[0]) for side, name in _SERIES.items()]
    ends.append(("", "difference", "low", "high", None, _PANELS[1]))
    return [
        Mark(system.name, series, _number(row[value]), _number(row[low]), _number(row[high]),
             n if isinstance(n, int) else None, more=more, row=system.name, panel=panel)
        for series, value, low, high, n, panel in ends
    ]  # fmt: skip


def _number(cell: Cell) -> float:
    return float(cell) if isinstance(cell, int | float) else float("nan")


def _row(panel: Panel, system: System) -> tuple[dict[str, Cell], Interval | None]:
    """A system's row, and the interval of its difference where it has samples on both sides."""
    row: dict[str, Cell] = {**about(system), "knowledge_cutoff": system.knowledge_cutoff, "status": "unknown cutoff"}
    for side in ("before", "after"):
        row |= dict.fromkeys([f"{side}_n", side, f"{side}_low", f"{side}_high"])
    row |= dict.fromkeys(["difference", "low", "high"])
    end = cutoff_end(system.knowledge_cutoff)
    if end is None:
        return row, None
    said = system.headline
    early = np.array([sample.date < end for sample in panel.samples], dtype=np.bool_)
    for side, where in (("before", early), ("after", ~early)):
        found = measure(panel, said, where)
        if found is not None:
            row |= {f"{side}_n": found.interval.n, side: found.value, f"{side}_low": found.interval.low,
                    f"{side}_high": found.interval.high}  # fmt: skip
    if row["before"] is None or row["after"] is None:
        row["status"] = "all samples after the cutoff" if row["before"] is None else "all samples until the cutoff"
        return row, None
    before, after = (panel.part(said, said.asked, side) for side in (early, ~early))
    gap = compare_parts(before, after, panel.task.headline, n=int(said.asked.sum()))
    row |= {"status": "both sides", "difference": gap.difference, "low": gap.interval.low, "high": gap.interval.high}
    return row, gap.interval


ANALYSIS = Analysis(
    name="contamination",
    title="Contamination",
    question="Does a system do better on samples from before its knowledge cutoff?",
    how_to_read=(
        "{metric} on samples from before and from after the system's knowledge cutoff, and the difference with its "
        "interval. A difference right of the dashed line may be memorisation, but also easier samples: check "
        "whether systems with other cutoffs show it at the same date. The date of a sample is that of the note or "
        "edit; its decision came later, so samples shortly before a cutoff are counted as known although they may "
        "not be. Systems that do not state a cutoff are in the table only."
    ),
    run=_run,
)
