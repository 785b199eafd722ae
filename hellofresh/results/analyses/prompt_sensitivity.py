"""How much of a score is the wording of the prompt."""

from __future__ import annotations

import numpy as np

from hellofresh.results.analyses._base import Analysis, AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import about, best_first, few_note, measure, names_of
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.panel import MAJORITY, Panel, System
from hellofresh.stats import WordingShare, draw_jointly, wording_share

__all__ = ["ANALYSIS"]

_PANELS = ("Each prompt", "What is due to the wording")
_KINDS = ("one prompt", "vote of all prompts")


def _run(panel: Panel) -> AnalysisResult:
    found = {id(system): _share(panel, system) for system in panel.systems}
    systems = [system for system in panel.systems if found[id(system)] is not None]
    if not systems:
        return missing("No system has two or more prompts whose scores differ or vary with the samples.")
    rows, intervals, marks, name = [], [], [], panel.task.headline.name
    for system in systems:
        share = found[id(system)]
        assert share is not None
        scores = [one.value for said in system.prompts if (one := measure(panel, said)) is not None]
        rows.append({
            **about(system), "prompts": len(scores), "n": share.interval.n, "clusters": share.interval.clusters,
            f"{name}_least": min(scores), f"{name}_most": max(scores), f"{name}_spread": max(scores) - min(scores),
            "variance_of_wording": share.wording, "variance_of_sampling": share.sampling, "share": share.share,
            "low": share.interval.low, "high": share.interval.high,
        })  # fmt: skip
        intervals.append(share.interval)
        marks += _marks(panel, system, share)
    metric = panel.task.headline.title
    charts = (
        Chart("intervals", Axis(metric, ticks=5, intervals=False), series=Series("", _KINDS), panel=_PANELS[0],
              side_by_side=False),
        Chart("intervals", Axis(f"share of the variance of {metric}", 0, 1, ticks=5), panel=_PANELS[1]),
    )  # fmt: skip
    figure = Figure(charts, names_of(best_first(panel, systems)), columns=2)
    return AnalysisResult(table_of(rows), figure, few_note(intervals), marks=marks)


def _marks(panel: Panel, system: System, share: WordingShare) -> list[Mark]:
    """The span of the prompts, each prompt and their vote, and the share of the wording."""
    who, nan = system.name, float("nan")
    found = [(said.prompt, one) for said in system.said if (one := measure(panel, said)) is not None]
    single = [one.value for prompt, one in found if prompt != MAJORITY]
    made = share.interval
    return [
        Mark(who, _KINDS[0], nan, min(single), max(single), made.n, row=who, panel=_PANELS[0]),
        *(Mark(who, _KINDS[prompt == MAJORITY], one.value, n=one.interval.n, more=f"prompt {prompt}", row=who,
               panel=_PANELS[0]) for prompt, one in found),
        Mark(who, "", share.share, made.low, made.high, made.n, row=who, panel=_PANELS[1]),
    ]  # fmt: skip


def _share(panel: Panel, system: System) -> WordingShare | None:
    """By the samples that were asked with every prompt."""
    if len(system.prompts) < 2:
        return None
    common = np.logical_and.reduce([said.asked for said in system.prompts])
    if not common.any():
        return None
    metric = panel.task.headline
    draws = draw_jointly(panel.tables(system.prompts, common), [metric], n=int(common.sum()))
    found = wording_share(draws, metric)
    return found if found.wording + found.sampling > 0 else None  # all prompts silent, say: nothing varies


ANALYSIS = Analysis(
    name="prompt-sensitivity",
    title="Prompt sensitivity",
    question="How much of a system's score is due to the wording of the prompt, and how much to the choice of samples?",
    how_to_read=(
        "Left: {metric} of each prompt, and of the vote of all prompts. Right: the share of its variance that is "
        "due to the wording, for one prompt on one draw of samples. Near 0, prompts differ no more than draws of "
        "samples do; near 1, a score says more about the prompt than about the system."
    ),
    run=_run,
    version=2,
)
