"""Whether stated probabilities are true."""

from __future__ import annotations

import numpy as np

from hellofresh.results.analyses._base import Analysis, AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import about, best_first, few_note, names_of
from hellofresh.results.calibration import CHOSEN, LEAST_STATED, stated_confidences
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark
from hellofresh.results.panel import Panel, PromptOutputs, System
from hellofresh.stats import Calibration

__all__ = ["ANALYSIS"]


def _run(panel: Panel) -> AnalysisResult:
    classes = panel.task.classes
    rows, intervals = [], []
    marks: dict[str, list[Mark]] = {}
    drawn: list[System] = []
    for stated in stated_confidences(panel):
        system, said, found = stated.system, stated.said, stated.found
        if found is None:
            continue
        several = {"of": stated.subject} if len(classes) > 2 else {}
        rows.append({**about(system, said), **several, **_cells(found, stated.n)})
        intervals.append(found.ece_interval)
        if system.name not in marks and (len(classes) == 2 or stated.subject == CHOSEN):
            drawn.append(system)
            marks[system.name] = _marks(system, said, found)
    if not drawn:
        return missing(f"No system has stated its confidence on {LEAST_STATED} samples or more.")
    what = ("probability of label 1", "with label 1") if len(classes) == 2 else ("chance of the answer", "right")
    across = Axis(f"stated {what[0]}", 0, 1, ticks=5, intervals=False)
    chart = Chart("curves", across, Axis(f"share {what[1]}", 0, 1, ticks=5))
    figure = Figure((chart,), names_of(best_first(panel, drawn)), columns=3, by_system=True)
    return AnalysisResult(
        table_of(rows), figure, few_note(intervals), marks=[mark for own in marks.values() for mark in own]
    )


def _marks(system: System, said: PromptOutputs, found: Calibration) -> list[Mark]:
    panel = f"{system.name}\n{said.prompt}: ECE {found.ece:.2f}, Brier {found.brier:.2f}"
    return [
        Mark(system.name, "", step.share, step.interval.low, step.interval.high, step.count, at=step.confidence,
             more=f"stated {step.confidence:.0%}", panel=panel)
        for step in found.curve
    ]  # fmt: skip


def _cells(found: Calibration, n: int) -> dict[str, float | int | None]:
    cells: dict[str, float | int | None] = {"n": n, "clusters": found.ece_interval.clusters}
    for name in ("ece", "ece_mass", "brier", "auc"):
        value, made = getattr(found, name), getattr(found, f"{name}_interval")
        cells |= {name: None if np.isnan(value) else value, f"{name}_low": made.low, f"{name}_high": made.high}
    parts = ("reliability", "resolution", "uncertainty", "within")
    return cells | {f"brier_{name}": getattr(found, name) for name in parts}


ANALYSIS = Analysis(
    name="calibration",
    title="Calibration",
    question="When a system says 80%, is it right in 80 of 100 cases?",
    how_to_read=(
        "Samples are binned by the stated probability; each dot is the share of them with label 1 (of several "
        "classes, of right answers), its size the number of samples. On the dashed line a system is well calibrated; "
        "a flat curve means that its confidence carries no information. ECE is the mean distance from the line, Brier "
        "the mean squared error of the probabilities (0.25 for always saying 50%)."
    ),
    run=_run,
    version=3,
)
