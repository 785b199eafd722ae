"""Precision and recall of every prompt, with the region in which both lie."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse as EllipsePatch

from hellofresh.analyses._base import Analysis, Result, missing, table_of
from hellofresh.analyses._charts import grid_of, label_of
from hellofresh.analyses._measures import about, few_note, leading, measure
from hellofresh.analyses._style import GREY, MARKERS, colour, drawable, legend_below
from hellofresh.results.panel import Panel, Said
from hellofresh.stats import Ellipse, draw_jointly, joint_region

__all__ = ["ANALYSIS"]

_RESAMPLES = 2_000


def _run(panel: Panel) -> Result:
    if not panel.systems:
        return missing("No system has answered.")
    rows, intervals = [], []
    shown, notes = leading(panel, panel.systems)
    prompts = list(dict.fromkeys(said.prompt for system in panel.systems for said in system.said))
    figure, panels = grid_of(len(shown), "recall", "precision", row_inches=2.4)
    places = dict(zip([id(system) for system in shown], panels, strict=True))
    for system in panel.systems:
        axes = places.get(id(system))
        for said in system.said:
            precision, recall = (measure(panel, said, None, metric) for metric in ("precision", "recall"))
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
            if axes is not None:
                _draw(axes, region, said.prompt, prompts.index(said.prompt))
    for system, axes in zip(shown, panels, strict=True):
        _frame(axes)
        axes.set_title(label_of(system.name, 28))
    legend_below(figure, panels)
    return Result(table_of(rows), figure, [*notes, *few_note(intervals)])


def _region(panel: Panel, said: Said) -> Ellipse:
    asked = said.asked
    draws = draw_jointly(
        panel.labels[asked], said.predictions(asked)[None], panel.groups[asked], metrics=("precision", "recall"),
        resamples=_RESAMPLES,
    )  # fmt: skip
    return joint_region(draws, 0, "recall", "precision")


def _draw(axes: Axes, region: Ellipse, prompt: str, number: int) -> None:
    patch = EllipsePatch(
        (region.x, region.y), region.width, region.height, angle=region.angle, facecolor=colour(number),
        alpha=0.13, edgecolor="none",
    )  # fmt: skip
    edge = EllipsePatch(
        (region.x, region.y), region.width, region.height, angle=region.angle, fill=False, edgecolor=colour(number),
        linewidth=1.0,
    )  # fmt: skip
    axes.add_patch(patch)
    axes.add_patch(edge)
    axes.plot(
        [region.x], [region.y], linestyle="none", marker=MARKERS[number % len(MARKERS)], markersize=5,
        color=colour(number), markeredgecolor="white", markeredgewidth=0.5, label=drawable(prompt),
    )  # fmt: skip


def _frame(axes: Axes) -> None:
    """The unit square, with lines of equal F1."""
    recall = np.linspace(0.01, 1, 200)
    for f1 in (0.2, 0.4, 0.6, 0.8):
        precision = np.divide(f1 * recall, 2 * recall - f1, out=np.full(200, np.nan), where=2 * recall > f1 + 1e-9)
        axes.plot(
            recall, np.where(precision <= 1, precision, np.nan), color=GREY, linewidth=0.6, linestyle=":", zorder=0
        )
        axes.text(1.0, f1 / (2 - f1), f"{f1:.1f}", color=GREY, fontsize=7, ha="right", va="bottom", zorder=0)
    axes.set_xlim(-0.04, 1.04)
    axes.set_ylim(-0.04, 1.04)


ANALYSIS = Analysis(
    name="precision-recall",
    title="Precision and recall of every prompt",
    question="Do prompts trade precision for recall, or is one better at both?",
    how_to_read=(
        "One panel a system, one mark a prompt, with the ellipse that holds precision and recall together with a "
        "probability of 95%; dotted lines join points of equal F1. Ellipses along a dotted line trade one "
        "for the other; "
        "one that lies further up and right is better at both. With few samples an ellipse may reach beyond the square."
    ),
    run=_run,
)
