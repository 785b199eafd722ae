"""What another regime changes, category by category: gain, and answers that became right or wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hellofresh.results.analyses._base import Analysis, AnalysisResult, Row, missing, table_of
from hellofresh.results.analyses._measures import few_note
from hellofresh.results.analyses._subgroups import LEAST_SAMPLES, Subgroup, subgroups
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.panel import Panel, PromptOutputs, System
from hellofresh.stats import Comparison, compare

__all__ = ["ANALYSIS"]

_BASE = "zero-shot"
_ALL = "all samples"


def _run(panel: Panel) -> AnalysisResult:
    if not panel.task.classes:
        return missing("The task has no classes: no answer becomes right or wrong.")
    parts, notes = subgroups(panel)
    everything = Subgroup(_ALL, _ALL, np.ones(len(panel.labels), dtype=np.bool_))
    cells = [
        (system, base, part)
        for systems in panel.models
        for base in systems
        if base.regime == _BASE
        for system in systems
        if system.regime != _BASE
        for part in (everything, *parts)
        if _is_enough(panel, _both(system.headline, base.headline, part))
    ]
    if not cells:
        return missing(f"No system has judged {LEAST_SAMPLES} samples both with {_BASE} and otherwise.", notes)
    found = [(system, part, *_cell(panel, system, base, part, len(cells))) for system, base, part in cells]
    axis = Axis(f"gain in {panel.task.headline.title} over {_BASE}", zero=True)
    factors = dict.fromkeys((_ALL, *(part.factor for part in parts)))
    charts = tuple(Chart("intervals", axis, series=Series("system"), panel=factor) for factor in factors)
    marks = [_mark(system, part, made) for system, part, made, _ in found]
    figure = Figure(charts, tuple(dict.fromkeys(mark.who for mark in marks)), most=4, one_key=True)
    notes = [*notes, *few_note([made.interval for _, _, made, _ in found])]
    return AnalysisResult(table_of([row for _, _, _, row in found]), figure, notes, marks=marks)


def _both(one: PromptOutputs, two: PromptOutputs, part: Subgroup) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = one.asked & two.asked & part.where
    return found


def _is_enough(panel: Panel, where: NDArray[np.bool_]) -> bool:
    return int(where.sum()) >= LEAST_SAMPLES and not panel.is_one_class(where)


def _cell(panel: Panel, system: System, base: System, part: Subgroup, together: int) -> tuple[Comparison, Row]:
    """The gain in one category, adjusted for all cells, and the flips."""
    where = _both(system.headline, base.headline, part)
    one, two = panel.tables((system.headline, base.headline), where)
    made = compare(one, two, panel.task.headline, together=together, n=int(where.sum()))
    right, before = (said.predictions(where) == panel.labels[where] for said in (system.headline, base.headline))
    return made, {
        "system": system.label, "regime": system.regime, "against": base.regime, "factor": part.factor,
        "bin": part.name, "n": int(where.sum()), "metric": made.metric.name, "value": made.first,
        "value_against": made.second, "gain": made.difference, "low": made.interval.low, "high": made.interval.high,
        "p_value": made.p_value, "p_adjusted": made.adjusted, "flips_to_right": int((right & ~before).sum()),
        "flips_to_wrong": int((~right & before).sum()),
    }  # fmt: skip


def _mark(system: System, part: Subgroup, made: Comparison) -> Mark:
    limits, more = made.interval, f"p = {made.adjusted:.3f}, adjusted"
    row = f"{part.name} (n = {limits.n})"
    return Mark(system.name, system.name, made.difference, limits.low, limits.high, limits.n, row=row,
                panel=part.factor, more=more)  # fmt: skip


ANALYSIS = Analysis(
    name="category-gains",
    title="Gains by category",
    question="On which categories of samples does another regime help a system, and where does it hurt?",
    how_to_read=(
        "The headline metric of a system under a regime minus that of the same models with zero-shot, on the samples "
        "judged both ways, by category, with intervals adjusted for all cells. Right of the dashed line the regime "
        "helps. The table also counts the answers that became right, and those that became wrong."
    ),
    run=_run,
)
