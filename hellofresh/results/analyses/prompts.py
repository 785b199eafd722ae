"""What prompts do to a score: precision and recall, sensitivity to wording, choosing one; silence; other regimes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hellofresh.results.analyses.base import (
    LEAST_SAMPLES,
    NO_SYSTEM,
    PROMPT_KINDS,
    AnalysisResult,
    Cell,
    Findings,
    Measure,
    Subgroup,
    Where,
    about,
    analysis,
    compare_said,
    limited,
    measure,
    missing,
    subgroups,
)
from hellofresh.results.figures.charts import Axis, Chart, Mark, Series
from hellofresh.results.split.panel import BLOCKED, MAJORITY, Panel, PromptOutputs, System
from hellofresh.stats.agreement import share_interval
from hellofresh.stats.draws import WordingShare, draw_jointly, joint_region, wording_share
from hellofresh.stats.metrics import NO_ANSWER
from hellofresh.stats.paired import Comparison

LEAST_RECALL = 0.2  # a prompt that says yes once and is right has a precision of 1
_RESAMPLES = 2_000
_NO_POSITIVE_CLASS = "The task has no positive class, whose precision and recall could be shown."
_HALVES = ("precision, first half", "precision, second half", "recall, second half")
_WORDING = ("Each prompt", "What is due to the wording")
_READ = ("counted as wrong", "left out")
_SILENT = {"no readable answer": NO_ANSWER, "blocked": BLOCKED}
_BASE, _PLACEBO, _SEARCH = "zero-shot", "placebo", "web-search"
_ALL_SAMPLES = "all samples"
# A system's answers with one prompt, and how they compare with those under another regime, adjusted for all pairs.
_Pair = tuple[System, PromptOutputs, Comparison]


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
    "One panel per system, one mark per prompt, with an ellipse that contains precision and recall jointly "
    "with 95% probability; dotted lines join points of equal F1. Ellipses along a dotted line trade one for "
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
            metrics, made = [panel.task.metric(name) for name in ("precision", "recall")], precision.interval
            tables = panel.tables([said], said.asked, metrics[0])
            region = joint_region(draw_jointly(tables, metrics, resamples=_RESAMPLES), 0, *metrics[::-1])
            cells = limited("precision", precision.value, made) | limited("recall", recall.value, recall.interval)
            cells |= {"ellipse_width": region.width, "ellipse_height": region.height}
            counted = {"n": made.n, "clusters": made.clusters}
            row = {**about(system, said), **counted, **cells, "ellipse_angle_degrees": region.angle}
            total = precision.value + recall.value
            mean = 2 * precision.value * recall.value / total if total > 0 else 0.0
            limits = f"{recall.interval.low:.3f} to {recall.interval.high:.3f}"
            more = f"recall {recall.value:.3f} ({limits}), F1 {mean:.3f}"
            mark = precision.mark(system.name, said.prompt, panel=system.name, more=more)
            size = replace(mark, at=recall.value, width=region.width, height=region.height, angle=region.angle)
            result.add(row, made, size)
    recalls, precisions = (Axis(name, 0, 1, ticks=5, intervals=False) for name in ("recall", "precision"))
    return result.drawn(
        Chart("regions", recalls, precisions, Series("prompt")), columns=3, by_system=True, one_key=True
    )


@analysis(
    "prompt-sensitivity",
    "Prompt sensitivity",
    "How much of a system's score is due to the wording of the prompt, and how much to the choice of samples?",
    "First {metric} of each prompt, and of the vote of all prompts; then the share of its variance that is "
    "due to the wording, for one prompt on one draw of samples. Near 0, prompts differ no more than draws of "
    "samples do; near 1, a score says more about the prompt than about the system.",
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
    """The share due to the wording, on the samples asked with every prompt."""
    if len(system.prompts) < 2:
        return None
    common = np.logical_and.reduce([said.asked for said in system.prompts])
    if not common.any() or panel.is_one_class(common):  # nor has any prompt a score
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
    "Shares of the samples answered, for each system's leaderboard row; the table has every prompt. Both count "
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


def _compare_regimes(panel: Panel, first: str, second: str) -> Sequence[_Pair]:
    """Every system and prompt under both regimes, in the order of the panel, on the samples asked under both."""
    asked: list[tuple[System, PromptOutputs, PromptOutputs]] = []
    for systems in panel.models:
        others = {said.prompt: said for system in systems if system.regime == second for said in system.said}
        ones = ((system, said) for system in systems if system.regime == first for said in system.said)
        for system, said in ones:
            if said.prompt in others and (said.asked & others[said.prompt].asked).any():
                asked.append((system, said, others[said.prompt]))
    return [(system, said, compare_said(panel, said, other, together=len(asked))) for system, said, other in asked]


@analysis(
    "search-gain",
    "Gain by web search",
    "How much does web search improve a system, on the same samples?",
    "One row per system and prompt: {metric} with web search minus that without, on the samples answered both ways, "
    "with the interval of the paired difference, adjusted for all rows. Right of the dashed line search helps. The "
    "table has the p-value of each row, alone and adjusted for all rows (Bonferroni).",
)
def search_gain(panel: Panel) -> AnalysisResult:
    """What searching the web adds, prompt by prompt."""
    pairs = _compare_regimes(panel, _SEARCH, _BASE)
    if not pairs:
        return missing("No system has answered the same samples with web-search and zero-shot.")
    result = Findings(panel)
    for system, said, found in pairs:
        made = found.interval
        cells: dict[str, Cell] = {"against": _BASE, "n": made.n, "clusters": made.clusters}
        cells |= {"effective_clusters": made.effective_clusters}
        cells |= {"metric": found.metric.name, "value": found.first, "value_against": found.second}
        cells |= limited("difference", found.difference, made, ends="")
        cells |= {"p_value": found.p_value, "p_adjusted": found.adjusted}
        kind, row = PROMPT_KINDS[said.prompt == MAJORITY], f"{system.label}: {said.prompt}"
        result.add({**about(system, said), **cells}, made, _gain_mark(system.label, kind, found, row=row))
    axis = Axis(f"gain in {panel.task.headline.title} by web search", zero=True)
    return result.drawn(Chart("intervals", axis, series=Series("", PROMPT_KINDS[::-1])), order="label", most=6)


def _gain_mark(who: str, series: str, found: Comparison, *, row: str, panel: str = "") -> Mark:
    made, more = found.interval, f"p = {found.adjusted:.3f}, adjusted"
    return Mark(who, series, found.difference, made.low, made.high, made.n, more=more, row=row, panel=panel)


@analysis(
    "placebo",
    "Placebo",
    "Does the content of the pages help, or only a longer prompt?",
    "{metric} of each system without further texts (zero-shot), with texts unrelated to the sample "
    "(placebo) and with search results (web-search), all on the same samples. The gain of web-search over "
    "placebo is due to the content of the pages. Each interval is of one score; the table has the paired "
    "differences, which are more precise.",
)
def placebo(panel: Panel) -> AnalysisResult:
    """Texts that have nothing to do with the sample: does the content of pages help, or only a longer prompt?"""
    pairs = [
        (pair, second)
        for first, second in ((_PLACEBO, _BASE), (_SEARCH, _PLACEBO))
        for pair in _compare_regimes(panel, first, second)
        if pair[1].prompt == pair[0].headline.prompt
    ]
    if not pairs:
        return missing("No system has answered the same samples with placebo and with zero-shot or web-search.")
    result, regimes = Findings(panel), (_BASE, _PLACEBO, _SEARCH)
    with_placebo = {pair[0].model for pair, _ in pairs}
    for systems in (systems for systems in panel.models if systems[0].model in with_placebo):
        chosen = [system for regime in regimes for system in systems if system.regime == regime]
        common = np.logical_and.reduce([system.headline.asked for system in chosen])
        for system in chosen:
            found = measure(panel, system.headline, common)
            if found is None:
                continue
            gain, second = next(((pair[2], second) for pair, second in pairs if pair[0] is system), (None, None))
            values = (None, None, None) if gain is None else (gain.difference, gain.interval, gain.p_value)
            ahead = {"against": second, **limited("difference", *values[:2]), "p_value": values[2]}
            row = {**about(system), **found.cells, **ahead}
            result.add(row, found.interval, found.mark(system.label, system.regime))
    if not result.marks:
        return missing("The regimes of each system answered different samples.")
    axis = Axis(panel.task.headline.title)
    return result.drawn(Chart("intervals", axis, series=Series("regime", regimes)), order="label")


@analysis(
    "category-gains",
    "Gains by category",
    "On which categories of samples does another regime help a system, and where does it hurt?",
    "The headline metric of a system under a regime minus that of the same models with zero-shot, on the samples "
    "judged both ways, by category, with intervals adjusted for all cells. Right of the dashed line the regime "
    "helps. The table also counts the answers that became right, and those that became wrong.",
)
def category_gains(panel: Panel) -> AnalysisResult:
    """What another regime changes, category by category: gain, and answers that became right or wrong."""
    if not panel.task.classes:
        return missing("The task has no classes: no answer becomes right or wrong.")
    parts, notes = subgroups(panel)
    everything = Subgroup(_ALL_SAMPLES, _ALL_SAMPLES, np.ones(len(panel.labels), dtype=np.bool_))
    cells = [
        (system, base, part)
        for systems in panel.models
        for base in systems
        if base.regime == _BASE
        for system in systems
        if system.regime != _BASE
        for part in (everything, *parts)
        if (where := system.headline.asked & base.headline.asked & part.where).sum() >= LEAST_SAMPLES
        and not panel.is_one_class(where)
    ]
    if not cells:
        return missing(f"No system has answered {LEAST_SAMPLES} samples both with {_BASE} and otherwise.", notes)
    result = Findings(panel, notes=notes)
    for cell in cells:
        _add_gain(result, panel, *cell, together=len(cells))
    axis = Axis(f"gain in {panel.task.headline.title} over {_BASE}", zero=True)
    return result.by_factor(axis, (_ALL_SAMPLES, *(part.factor for part in parts)), order="marks")


def _add_gain(result: Findings, panel: Panel, system: System, base: System, part: Subgroup, *, together: int) -> None:
    """A system's gain over one of another regime on a part, as one of several that are tested together."""
    one, two = system.headline, base.headline
    where = one.asked & two.asked & part.where
    made = compare_said(panel, one, two, where=part.where, together=together)
    names = {"system": system.label, "regime": system.regime, "against": base.regime}
    names |= {"factor": part.factor, "bin": part.name}
    gain = limited("gain", made.difference, made.interval, ends="")
    sure = {"p_value": made.p_value, "p_adjusted": made.adjusted}
    right, before = (said.predictions(where) == panel.labels[where] for said in (one, two))
    flips = {"flips_to_right": int((right & ~before).sum()), "flips_to_wrong": int((~right & before).sum())}
    row = f"{part.name} (n = {made.interval.n})"
    mark = _gain_mark(system.name, system.name, made, row=row, panel=part.factor)
    values = {"metric": made.metric.name, "value": made.first, "value_against": made.second}
    result.add({**names, "n": int(where.sum()), **values, **gain, **sure, **flips}, made.interval, mark)
