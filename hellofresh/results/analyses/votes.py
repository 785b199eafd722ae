"""Clear and narrow decisions: are systems better where people agreed more?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.results.analyses._base import Analysis, AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import about, best_first, few_note, mark_of, measure, names_of
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.panel import Panel
from hellofresh.stats.metrics import Metric, class_recall
from hellofresh.tasks.samples import Sample

__all__ = ["ANALYSIS"]

_QUARTERS = ("lowest quarter", "second", "third", "highest quarter")
_LEAST_SAMPLES = 16


@dataclass(frozen=True, slots=True)
class _Factor:
    """A number known of samples, and how a system is measured by its quarters.

    Attributes:
        name: what the number is.
        metric: the headline, or the recall of the one class that has the number.
        values: shape (n,), nan where it is not known.
    """

    name: str
    metric: Metric
    values: NDArray[np.float64]


def _run(panel: Panel) -> AnalysisResult:
    factors = [factor for factor in _factors(panel) if np.isfinite(factor.values).sum() >= _LEAST_SAMPLES]
    if not factors:
        return missing("The source has no vote counts, or too few samples have them.")
    if not panel.systems:
        return missing("No system has answered.")
    rows, intervals, charts = [], [], []
    marks: list[Mark] = []
    for factor in factors:
        quarter = _quarters(panel, factor.values)
        before = len(marks)
        for system in panel.systems:
            for number, name in enumerate(_QUARTERS):
                found = measure(panel, system.headline, quarter == number, factor.metric)
                if found is None:
                    continue
                span = factor.values[quarter == number]
                rows.append({**about(system), "factor": factor.name, "quarter_of": name, "from": float(span.min()),
                             "to": float(span.max()), **found.cells})  # fmt: skip
                intervals.append(found.interval)
                more = f"{span.min():,.6g} to {span.max():,.6g}"
                marks.append(mark_of(found, system.name, name, panel=factor.name, more=more))
        axis = Axis.share(factor.metric.title, marks[before:])
        charts.append(Chart("intervals", axis, series=Series("quarter", _QUARTERS), panel=factor.name))
    if not rows:
        return missing("No system judged samples of both classes.")
    drawn = {mark.who for mark in marks}
    order = names_of([system for system in best_first(panel, panel.systems) if system.name in drawn])
    figure = Figure(tuple(charts), order, most=6, one_key=True)
    return AnalysisResult(table_of(rows), figure, [*_about_edits(panel), *few_note(intervals)], marks=marks)


def _found(panel: Panel, label: int) -> Metric:
    """The recall of a class."""
    classes = panel.task.classes
    return class_recall(len(classes), label, f"recall:{classes[label]}", f"share of {classes[label]} found")


def _about_edits(panel: Panel) -> list[str]:
    if "survived_edits" not in panel.task.label_facts:
        return []
    return ["Releases hold the paragraph that was edited, not its article, so length is that of the paragraph."]


def _factors(panel: Panel) -> list[_Factor]:
    positive, negative = panel.labels == 1, panel.labels == 0
    if "ratings" in panel.task.label_facts:
        return [
            _Factor(
                "ratings that the note received, quarters within each class",
                panel.task.headline,
                _facts(panel, "ratings"),
            )
        ]
    if "survived_edits" not in panel.task.label_facts:
        return []
    survived, delay = _facts(panel, "survived_edits"), _facts(panel, "revert_delay_s")
    length = _lengths(panel, lambda sample: len(getattr(sample, "paragraph", "")))
    return [
        _Factor("accepted edits: later edits survived", _found(panel, 1), np.where(positive, survived, np.nan)),
        _Factor("rejected edits: seconds until the revert", _found(panel, 0), np.where(negative, delay, np.nan)),
        _Factor("paragraph length in characters, quarters within each class", panel.task.headline, length),
    ]


def _facts(panel: Panel, name: str) -> NDArray[np.float64]:
    values = [facts.get(name) for facts in panel.facts]
    numbers = [float(value) if isinstance(value, int) and not isinstance(value, bool) else np.nan for value in values]
    return np.array(numbers, dtype=np.float64)


def _lengths(panel: Panel, length: Callable[[Sample], int]) -> NDArray[np.float64]:
    known = zip(panel.samples, panel.without_texts.tolist(), strict=True)
    return np.array([np.nan if withheld else length(sample) for sample, withheld in known], dtype=np.float64)


def _quarters(panel: Panel, values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The quarter of each sample within its class, from 0; equal values stay together; -1 where there is no value."""
    found = np.full(values.shape, -1, dtype=np.int64)
    for label in range(len(panel.task.classes)):
        own = (panel.labels == label) & np.isfinite(values)
        if own.any():
            edges = np.quantile(values[own], (0.25, 0.5, 0.75))
            found[own] = np.searchsorted(edges, values[own], side="left")
    return found


ANALYSIS = Analysis(
    name="votes",
    title="Votes and survival",
    question="Do systems do better where people agreed more?",
    how_to_read=(
        "Samples are split into quarters by how much supports the decision: votes on a note; later edits that an "
        "accepted edit survived, time until a rejected one was reverted, length of the paragraph. Quarters are "
        "taken within each class, because notes rated helpful have more votes and the number alone would give the "
        "label away. A system that does better in the highest quarter than in the lowest finds clear cases easier."
    ),
    run=_run,
)
