"""What prompts do to a score: precision and recall, sensitivity to wording, choosing one; and silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hellofresh.results.analyses.base import (
    NO_SYSTEM,
    PROMPT_KINDS,
    AnalysisResult,
    Cell,
    Findings,
    Measure,
    Where,
    about,
    analysis,
    limited,
    measure,
    missing,
)
from hellofresh.results.figures.charts import Axis, Chart, Mark, Series
from hellofresh.results.panel import BLOCKED, MAJORITY, Panel, PromptOutputs, System
from hellofresh.stats import Ellipse, WordingShare, draw_jointly, joint_region, share_interval, wording_share
from hellofresh.stats.metrics import NO_ANSWER

LEAST_RECALL = 0.2
_RESAMPLES = 2_000
_NO_POSITIVE_CLASS = "The task has no positive class, whose precision and recall could be shown."
_HALVES = ("precision, first half", "precision, second half", "recall, second half")
_WORDING = ("Each prompt", "What is due to the wording")
_READ = ("counted as wrong", "left out")
_SILENT = {"no readable answer": NO_ANSWER, "blocked": BLOCKED}


def _has_positive_class(panel: Panel) -> bool:
    """Whether the task has precision and recall of one class."""
    return {"precision", "recall"} <= {metric.name for metric in panel.task.metrics}


def _both(panel: Panel, said: PromptOutputs, where: Where | None = None) -> Sequence[Measure | None]:
    """Precision and recall."""
    return [measure(panel, said, where, panel.task.metric(name)) for name in ("precision", "recall")]


@analysis(
    "precision-recall",
    "Precision and recall of every prompt",
    "Do prompts trade precision for recall, or is one better at both?",
    "One panel per system, one mark per prompt, with the ellipse that holds precision and recall together with "
    "a probability of 95%; dotted lines join points of equal F1. Ellipses along a dotted line trade one for "
    "the other; one that lies further up and right is better at both. With few samples an ellipse may reach "
    "beyond the square.",
)
def precision_recall(panel: Panel) -> AnalysisResult:
    """Precision and recall of every prompt, with the region in which both lie."""
    if not panel.systems:
        return missing(NO_SYSTEM)
    if not _has_positive_class(panel):
        return missing(_NO_POSITIVE_CLASS)
    result = Findings(panel)
    for system in panel.systems:
        for said in system.said:
            precision, recall = _both(panel, said)
            if precision is None or recall is None:
                continue
            region, made = _region(panel, said), precision.interval
            cells = limited("precision", precision.value, made) | limited("recall", recall.value, recall.interval)
            cells |= {"ellipse_width": region.width, "ellipse_height": region.height}
            counted = {"n": made.n, "clusters": made.clusters}
            row = {**about(system, said), **counted, **cells, "ellipse_angle_degrees": region.angle}
            result.add(row, made, _region_mark(system.name, said.prompt, precision, recall, region))
    recalls, precisions = (Axis(name, 0, 1, ticks=5, intervals=False) for name in ("recall", "precision"))
    return result.drawn(
        Chart("regions", recalls, precisions, Series("prompt")), columns=3, by_system=True, one_key=True
    )


def _region(panel: Panel, said: PromptOutputs) -> Ellipse:
    precision, recall = (panel.task.metric(name) for name in ("precision", "recall"))
    draws = draw_jointly(panel.tables([said], said.asked, precision), (precision, recall), resamples=_RESAMPLES)
    return joint_region(draws, 0, recall, precision)


def _region_mark(who: str, prompt: str, precision: Measure, recall: Measure, region: Ellipse) -> Mark:
    total = precision.value + recall.value
    mean = 2 * precision.value * recall.value / total if total > 0 else 0.0
    limits = f"{recall.interval.low:.3f} to {recall.interval.high:.3f}"
    mark = precision.mark(who, prompt, panel=who, more=f"recall {recall.value:.3f} ({limits}), F1 {mean:.3f}")
    return replace(mark, at=recall.value, width=region.width, height=region.height, angle=region.angle)


@analysis(
    "prompt-sensitivity",
    "Prompt sensitivity",
    "How much of a system's score is due to the wording of the prompt, and how much to the choice of samples?",
    "Left: {metric} of each prompt, and of the vote of all prompts. Right: the share of its variance that is "
    "due to the wording, for one prompt on one draw of samples. Near 0, prompts differ no more than draws of "
    "samples do; near 1, a score says more about the prompt than about the system.",
    version=2,
)
def prompt_sensitivity(panel: Panel) -> AnalysisResult:
    """How much of a score is the wording of the prompt."""
    result, name = Findings(panel), panel.task.headline.name
    for system in panel.systems:
        share = _wording(panel, system)
        if share is None:
            continue
        made = share.interval
        scores = [one.value for said in system.prompts if (one := measure(panel, said)) is not None]
        least, most = min(scores), max(scores)
        spread = {f"{name}_least": least, f"{name}_most": most, f"{name}_spread": most - least}
        counted = {"prompts": len(scores), "n": made.n, "clusters": made.clusters}
        parts = {"variance_of_wording": share.wording, "variance_of_sampling": share.sampling}
        shares = limited("share", share.share, made, ends="")
        row = {**about(system), **counted, **spread, **parts, **shares}
        result.add(row, made, *_wording_marks(panel, system, share))
    if not result.rows:
        return missing("No system has two or more prompts whose scores differ or vary with the samples.")
    metric, kinds = panel.task.headline.title, Series("", PROMPT_KINDS)
    each = Axis(metric, ticks=5, intervals=False)
    return result.drawn(
        Chart("intervals", each, series=kinds, panel=_WORDING[0], side_by_side=False),
        Chart("intervals", Axis(f"share of the variance of {metric}", 0, 1, ticks=5), panel=_WORDING[1]),
        columns=2,
    )


def _wording_marks(panel: Panel, system: System, share: WordingShare) -> list[Mark]:
    """The span of the prompts, each prompt and their vote, and the share of the wording."""
    who, made = system.name, share.interval
    found = [(said.prompt, one) for said in system.said if (one := measure(panel, said)) is not None]
    single = [one.value for prompt, one in found if prompt != MAJORITY]
    span = Mark(who, PROMPT_KINDS[0], float("nan"), min(single), max(single), made.n, row=who, panel=_WORDING[0])
    each = [
        replace(span, series=PROMPT_KINDS[prompt == MAJORITY], value=one.value, low=float("nan"), high=float("nan"),
                n=one.interval.n, more=f"prompt {prompt}")
        for prompt, one in found
    ]  # fmt: skip
    return [span, *each, Mark(who, "", share.share, made.low, made.high, made.n, row=who, panel=_WORDING[1])]


def _wording(panel: Panel, system: System) -> WordingShare | None:
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


@analysis(
    "deployment",
    "Deployment simulation",
    "If the best prompt is chosen on the first half of the quarter, how does it do on the second?",
    "For each system, the prompt with the best precision among those with a recall of at least 20% is chosen "
    "on the first half of the periods. A chosen prompt looks better there than it is: precision and recall on "
    "the second half are what a user would have got.",
)
def deployment(panel: Panel) -> AnalysisResult:
    """Choosing a prompt on the first half of a quarter and using it on the second: what a user would have got."""
    if not _has_positive_class(panel):
        return missing(_NO_POSITIVE_CLASS)
    periods = panel.period_names
    if len(periods) < 2:
        kind = panel.task.period_kind
        return missing(f"All samples are of one {kind}; two are needed to choose on one and test on the next.")
    middle, result, never = len(periods) // 2, Findings(panel), []
    early = np.isin(panel.periods, periods[:middle])
    for system in panel.systems:
        chosen = _choose(panel, system, early)
        before, late = ((None, None) if chosen is None else _both(panel, chosen, half) for half in (early, ~early))
        prompt = None if chosen is None else chosen.prompt
        never += [system.label] if chosen is None else []
        result.rows.append({**about(system), "prompt": prompt, **_half("first", before), **_half("second", late)})
        for name, found in zip(_HALVES, [before[0], *late], strict=True) if system.kind != "baseline" else ():
            if found is not None:
                result.intervals.append(found.interval)
                result.marks.append(found.mark(system.name, name, more=f"prompt {prompt}"))
    if not result.marks:
        return result.missing(
            "No system other than a baseline has a prompt with a recall of 20% or more on the first half."
        )
    result.notes.append(f"The first half is {periods[0]} to {periods[middle - 1]}, the second up to {periods[-1]}.")
    if never:
        result.notes.append(f"No prompt reaches a recall of {LEAST_RECALL:.0%} on the first half: {', '.join(never)}.")
    return result.drawn(Chart("intervals", Axis("precision or recall"), series=Series("", _HALVES)))


def _choose(panel: Panel, system: System, early: Where) -> PromptOutputs | None:
    """The prompt with the best precision among those with enough recall; the first of equals."""
    best: tuple[float, PromptOutputs] | None = None
    for said in system.prompts:
        precision, recall = _both(panel, said, early)
        if precision is None or recall is None or recall.value < LEAST_RECALL:
            continue
        if best is None or precision.value > best[0]:
            best = precision.value, said
    return best[1] if best else None


def _half(half: str, found: Sequence[Measure | None]) -> dict[str, Cell]:
    """Precision and recall of one half; empty if absent."""
    cells: dict[str, Cell] = {f"{half}_n": next((one.interval.n for one in found[::-1] if one), None)}
    for metric, one in zip(("precision", "recall"), found, strict=True):
        cells |= limited(f"{half}_{metric}", one.value if one else None, one.interval if one else None)
    return cells


@analysis(
    "silence",
    "No answer and blocked",
    "How often does a system give no readable answer, or refuse to answer?",
    "Shares of the samples judged, for each system's leaderboard row; the table has every prompt. Both count "
    "as wrong in every score, so a system that often gives no answer scores lower than its answers alone "
    "would. A vote has no answer where prompts tie.",
)
def silence(panel: Panel) -> AnalysisResult:
    """How often systems give no readable answer, or refuse."""
    if not panel.systems:
        return missing(NO_SYSTEM)
    result = Findings(panel)
    for system, said in [(one, said) for one in panel.systems for said in one.said if said.asked.any()]:
        for kind, code in _SILENT.items():
            count, judged = int((said.answers == code).sum()), said.asked
            share, made = share_interval(said.answers[judged] == code, panel.groups[judged])
            counted = {"what": kind, "n": made.n, "clusters": made.clusters, "count": count}
            result.rows.append({**about(system, said), **counted, **limited("share", share, made, ends="")})
            if system.kind != "baseline" and said is system.headline:
                result.intervals.append(made)
                percent = 100 * share, 100 * made.low, 100 * made.high, made.n
                result.marks.append(Mark(system.name, kind, *percent, more=f"{count:,} samples", row=system.name))
    if not result.marks:
        return result.missing("Only baselines have answered, and they always answer.")
    axis = Axis("share of samples (%)", 0, digits=1)
    return result.drawn(Chart("intervals", axis, series=Series("", tuple(_SILENT))))


@analysis(
    "parsing",
    "Answers that cannot be read",
    "How would systems score if answers that cannot be read were left out instead of counted as wrong?",
    "The headline metric of each system's leaderboard row, once with unreadable and blocked answers counted as "
    "wrong, as everywhere on this board, and once on the readable answers alone. Papers differ in which they "
    "report. The table has every prompt, with the share that can be read.",
)
def parsing(panel: Panel) -> AnalysisResult:
    """How much of a score is due to answers that cannot be read."""
    if not panel.task.classes:
        return missing("The task has no classes to be read from an answer.")
    result = Findings(panel)
    for system, said in [(one, said) for one in panel.systems for said in one.said]:
        whole, read = measure(panel, said), measure(panel, said, said.answers >= 0)
        if whole is None or read is None:
            continue
        all_of, parsed = whole.interval, read.interval
        counted = {"n": all_of.n, "parsed": parsed.n, "share_parsed": parsed.n / all_of.n}
        cells = {"metric": whole.metric.name, **limited("value", whole.value, all_of)}
        left = {"value_of_parsed": read.value, "low_of_parsed": parsed.low, "high_of_parsed": parsed.high}
        result.rows.append({**about(system, said), **counted, **cells, **left})
        if said is system.headline:
            result.intervals += [all_of, parsed]
            more = f"{parsed.n:,} of {all_of.n:,} answers can be read"
            pairs = zip((whole, read), _READ, strict=True)
            result.marks += [one.mark(system.name, kind, more=more) for one, kind in pairs]
    if not result.rows:
        return missing("No system has answers on samples of two classes.")
    series = Series("answers that cannot be read", _READ)
    return result.drawn(Chart("intervals", Axis(panel.task.headline.title), series=series))
