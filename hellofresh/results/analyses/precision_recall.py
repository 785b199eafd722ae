"""Precision and recall of every prompt, with the region in which both lie."""

from __future__ import annotations

from dataclasses import replace

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
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.panel import Panel, PromptOutputs
from hellofresh.stats import Ellipse, draw_jointly, joint_region

__all__ = ["ANALYSIS"]

_RESAMPLES = 2_000


def _run(panel: Panel) -> AnalysisResult:
    if not panel.systems:
        return missing("No system has answered.")
    if not has_positive_class(panel):
        return missing(NO_POSITIVE_CLASS)
    rows, intervals, marks = [], [], []
    for system in panel.systems:
        for said in system.said:
            precision, recall = (
                measure(panel, said, None, panel.task.metric(name)) for name in ("precision", "recall")
            )
            if precision is None or recall is None:
                continue
            region = _region(panel, said)
            rows.append({
                **about(system, said), "n": precision.interval.n, "clusters": precision.interval.clusters,
                "precision": precision.value, "precision_low": precision.interval.low,
                "precision_high": precision.interval.high, "recall": recall.value,
                "recall_low": recall.interval.low, "recall_high": recall.interval.high,
                "ellipse_width": region.width, "ellipse_height": region.height, "ellipse_angle_degrees": region.angle,
            })  # fmt: skip
            intervals.append(precision.interval)
            marks.append(_mark(system.name, said.prompt, precision, recall, region))
    drawn = {mark.who for mark in marks}
    recalls, precisions = (Axis(name, 0, 1, ticks=5, intervals=False) for name in ("recall", "precision"))
    order = names_of([system for system in best_first(panel, panel.systems) if system.name in drawn])
    chart = Chart("regions", recalls, precisions, Series("prompt"))
    figure = Figure((chart,), order, columns=3, by_system=True, one_key=True)
    return AnalysisResult(table_of(rows), figure, few_note(intervals), marks=marks)


def _mark(who: str, prompt: str, precision: Measure, recall: Measure, region: Ellipse) -> Mark:
    total = precision.value + recall.value
    mean = 2 * precision.value * recall.value / total if total > 0 else 0.0
    limits = f"{recall.interval.low:.3f} to {recall.interval.high:.3f}"
    mark = mark_of(precision, who, prompt, panel=who, more=f"recall {recall.value:.3f} ({limits}), F1 {mean:.3f}")
    return replace(mark, at=recall.value, width=region.width, height=region.height, angle=region.angle)


def _region(panel: Panel, said: PromptOutputs) -> Ellipse:
    precision, recall = (panel.task.metric(name) for name in ("precision", "recall"))
    draws = draw_jointly(panel.tables([said], said.asked, precision), (precision, recall), resamples=_RESAMPLES)
    return joint_region(draws, 0, recall, precision)


ANALYSIS = Analysis(
    name="precision-recall",
    title="Precision and recall of every prompt",
    question="Do prompts trade precision for recall, or is one better at both?",
    how_to_read=(
        "One panel per system, one mark per prompt, with the ellipse that holds precision and recall together with "
        "a probability of 95%; dotted lines join points of equal F1. Ellipses along a dotted line trade one for "
        "the other; one that lies further up and right is better at both. With few samples an ellipse may reach "
        "beyond the square."
    ),
    run=_run,
)
