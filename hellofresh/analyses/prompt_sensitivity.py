"""How much of a score is the wording of the prompt."""

from __future__ import annotations

import numpy as np

from hellofresh.analyses._base import Analysis, Result, missing, table_of
from hellofresh.analyses._charts import Mark, draw_marks, label_of
from hellofresh.analyses._measures import about, few_note, leading, measure
from hellofresh.analyses._style import canvas, colour, legend_below
from hellofresh.results.panel import Panel, System
from hellofresh.stats import WordingShare, draw_jointly, wording_share

__all__ = ["ANALYSIS"]


def _run(panel: Panel) -> Result:
    found = {id(system): _share(panel, system) for system in panel.systems}
    systems = [system for system in panel.systems if found[id(system)] is not None]
    if not systems:
        return missing("No system was asked with two prompts or more that differ in F1, or vary with the samples.")
    shown, notes = leading(panel, systems)
    rows, intervals = [], []
    for system in systems:
        share = found[id(system)]
        assert share is not None
        scores = [one.value for said in system.prompts if (one := measure(panel, said)) is not None]
        rows.append({
            **about(system), "prompts": len(scores), "n": share.interval.n, "clusters": share.interval.clusters,
            "f1_least": min(scores), "f1_most": max(scores), "f1_spread": max(scores) - min(scores),
            "variance_of_wording": share.wording, "variance_of_sampling": share.sampling, "share": share.share,
            "low": share.interval.low, "high": share.interval.high,
        })  # fmt: skip
        intervals.append(share.interval)
    figure, (left, right) = canvas(1.5 + 0.36 * len(shown), 1, 2, sharey=True)
    marks = []
    for number, system in enumerate(shown):
        values = [one.value for said in system.prompts if (one := measure(panel, said)) is not None]
        left.hlines([number], [min(values)], [max(values)], color=colour(0), linewidth=1.0, alpha=0.6)
        left.plot(values, [number] * len(values), linestyle="none", marker="|", markersize=11, markeredgewidth=1.8,
                  color=colour(0), label="a single prompt")  # fmt: skip
        vote = measure(panel, system.headline)
        if vote is not None and system.headline.prompt == "majority":
            left.plot([vote.value], [number], linestyle="none", marker="D", markersize=5, color=colour(1),
                      markeredgecolor="white", label="vote of all prompts")  # fmt: skip
        share = found[id(system)]
        assert share is not None
        marks.append(Mark(system.name, "share", share.share, share.interval.low, share.interval.high))
    draw_marks(right, marks, series=["share"])
    right.set_yticks(range(len(shown)), [label_of(system.name) for system in shown])
    left.set_xlabel("F1")
    left.grid(visible=False, axis="y")
    left.set_xlim(-0.02, 1.02)
    right.set_xlim(-0.02, 1.02)
    right.set_xlabel("share of the variance of F1 that\nis due to the wording, 95% interval")
    legend_below(figure, [left])
    points = [
        {**about(system, said), "n": one.interval.n, "value": one.value}
        for system in systems for said in system.said if (one := measure(panel, said)) is not None
    ]  # fmt: skip
    return Result(table_of(rows), figure, [*notes, *few_note(intervals)], points=table_of(points))


def _share(panel: Panel, system: System) -> WordingShare | None:
    """By the samples that were asked with every prompt."""
    if len(system.prompts) < 2:
        return None
    common = np.logical_and.reduce([said.asked for said in system.prompts])
    if not common.any():
        return None
    predictions = np.stack([said.predictions(common) for said in system.prompts])
    found = wording_share(draw_jointly(panel.labels[common], predictions, panel.groups[common], metrics=("f1",)))
    return found if found.wording + found.sampling > 0 else None  # all prompts silent, say: nothing varies


ANALYSIS = Analysis(
    name="prompt-sensitivity",
    title="Prompt sensitivity",
    question="How much of a system's score is the wording of the prompt, and how much the luck of the samples?",
    how_to_read=(
        "Left: F1 of each prompt, and of the vote of all. Right: of the variance that the F1 of one "
        "prompt on one draw of "
        "samples has, the share that is due to the wording. Near 0, differences between prompts are what the samples "
        "would give anyway; near 1, a score says more about the prompt than about the system."
    ),
    run=_run,
    version=2,
)
