"""Knowledge of systems: the time up to which they searched, and memory compared with search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hellofresh.results.analyses.base import (
    AnalysisResult,
    Cell,
    Findings,
    about,
    analysis,
    compare_said,
    limited,
    measure,
    missing,
)
from hellofresh.results.figures.charts import Axis, Chart, Mark, Series
from hellofresh.results.split.panel import CONTROLS, Panel, System, cutoff_end
from hellofresh.stats.paired import compare_parts
from hellofresh.tasks.samples import PROSPECTIVE

_BASE, _SETTING, _EARLY = "zero-shot", "before=", "early=True"
# Labels of the setting `before`, from least to most available knowledge.
_UNTIL = {
    "no search": "no search",
    "post": "until the post",
    "sample": "until the sample",
    "note": "until the note",
    "decision": "until the decision",
    "": "any time",
}


def _instant(system: System) -> str:
    """The time up to which a system searched, a key of `_UNTIL`."""
    if system.regime == _BASE:
        return "no search"
    chosen = (part.removeprefix(_SETTING) for part in system.settings.split(", ") if part.startswith(_SETTING))
    return next(chosen, "")


def _swept(panel: Panel) -> Sequence[Mapping[str, System]]:
    """For each model and regime that was run up to several instants, the systems by instant, the earliest first; no
    search is one of the instants.
    """
    found: dict[tuple[str, ...], dict[str, System]] = defaultdict(dict)
    base = {(one.model, one.settings): one for one in panel.systems if one.regime == _BASE}
    for system in panel.systems:
        others = [part for part in system.settings.split(", ") if not part.startswith(_SETTING)]
        if system.regime != _BASE:
            found[system.model, system.regime, *others].setdefault(_instant(system), system)
    swept = [its for its in found.values() if its.keys() & {"post", "sample", "note", "decision"}]
    with_base = []
    for its in swept:
        first = next(iter(its.values()))
        offered = _EARLY if _EARLY in first.settings.split(", ") else ""
        without = base.get((first.model, offered))
        with_base.append(({} if without is None else {"no search": without}) | its)
    return [{name: its[name] for name in _UNTIL if name in its} for its in with_base if len(its) > 1]


@analysis(
    "known-when",
    "What is known when",
    "How well does a system do with what was known at a given moment?",
    "One small panel per system, {metric} by the moment up to which it searched, on the samples that it answered at "
    "every moment, with 95% intervals. The table has each step to the next moment with its paired interval, adjusted "
    "for all steps. A step up is what could be learnt in between; after the decision it may be the answer itself. If a "
    "system answered that it is too early to tell, the table counts such answers, and all are scored as forecasts.",
)
def known_when(panel: Panel) -> AnalysisResult:
    """Scores by what could be known, with paired steps; as forecasts where one said that it is too early to tell."""
    swept = _swept(panel)
    if not swept:
        return missing(
            "No system has searched up to different times; run one with each of --set before=post, note and decision."
        )
    result, steps = Findings(panel), sum(len(its) - 1 for its in swept)
    if any(system.headline.too_early.any() for its in swept for system in its.values()):
        panel = replace(panel, task=panel.task.on(PROSPECTIVE))
        result.notes.append(
            "Some answers say that it is too early to tell, so all answers are scored as forecasts "
            f"({panel.task.headline.title}): these give every class the same probability, and a choice without a "
            "stated probability counts as certain."
        )
    for its in swept:
        _add_instants(result, panel, its, steps)
    if not result.marks:
        return missing("No system answered the same samples of both classes with searches up to different times.")
    across = Axis("what could be known", intervals=False)
    title, of_shares = panel.task.headline.title, panel.task.headline.limits == (0.0, 1.0)
    up = Axis.share(title, result.marks, ticks=5) if of_shares else Axis(title, digits=1, ticks=5)
    places = tuple(title for title in _UNTIL.values() if any(mark.at == title for mark in result.marks))
    chart = Chart("curves", across, up, Series("regime"), places=places)
    return result.drawn(chart, order="marks", most=6, columns=2, by_system=True, one_key=True)


@analysis(
    "memory",
    "Memory against search",
    "Does searching help more where a model cannot remember?",
    "One row per system that searches: its gain in {metric} over the same model without search on samples after the "
    "knowledge cutoff, minus the gain on those before it, with an interval. Right of the dashed line, memory replaced "
    "search before the cutoff. The table has both gains.",
)
def memory(panel: Panel) -> AnalysisResult:
    """The gain by search before and after the cutoff, and their difference."""
    result, metric = Findings(panel), panel.task.headline
    for systems in panel.models:
        base = next((one for one in systems if one.regime == _BASE and not one.settings), None)
        for system in systems:
            end = cutoff_end(system.knowledge_cutoff)
            if base is None or end is None or system.regime in {_BASE, *CONTROLS} or system.kind == "baseline":
                continue
            early = np.array([sample.date < end for sample in panel.samples], dtype=np.bool_)
            both = system.headline.asked & base.headline.asked
            if any(not (both & side).any() or panel.is_one_class(both & side) for side in (early, ~early)):
                continue
            said = system.headline, base.headline
            before, after = (np.stack([panel.part(one, both, side) for one in said]) for side in (early, ~early))
            apart, made = compare_parts(after, before, metric, n=int(both.sum()))
            gains = [compare_said(panel, *said, where=side) for side in (early, ~early)]
            cells: dict[str, Cell] = {"against": _BASE, "knowledge_cutoff": system.knowledge_cutoff}
            for name, side, gain in zip(("before", "after"), (early, ~early), gains, strict=True):
                cells |= {f"{name}_n": int((both & side).sum())}
                cells |= limited(f"gain_{name}", gain.difference, gain.interval)
            row = {**about(system), **cells, "metric": metric.name, **limited("memory", apart, made)}
            more = f"gain {gains[0].difference:+.3f} before the cutoff, {gains[1].difference:+.3f} after it"
            result.add(row, made, Mark(system.name, "", apart, made.low, made.high, made.n, more=more, row=system.name))
    if not result.marks:
        why = "No system that searches has samples on both sides of a known cutoff, and the same model without search."
        return missing(why)
    axis = Axis(f"gain in {metric.title} by search, after minus before the cutoff", zero=True)
    return result.drawn(Chart("intervals", axis), most=12)


def _add_instants(result: Findings, panel: Panel, its: Mapping[str, System], steps: int) -> None:
    """Add a system at each moment, compared with the previous one; `steps` comparisons are adjusted together."""
    common = np.logical_and.reduce([system.headline.asked for system in its.values()])
    name = list(its.values())[-1].label.split(f", {_SETTING}")[0]
    for earlier, (instant, system) in zip([None, *its.values()], its.items(), strict=False):
        found = measure(panel, system.headline, common)
        if found is None:
            continue
        ahead: dict[str, Cell] = {**limited("step", None, None), "p_value": None, "p_adjusted": None}
        if earlier is not None:
            step = compare_said(panel, system.headline, earlier.headline, where=common, together=steps)
            ahead = {**limited("step", step.difference, step.interval), "p_value": step.p_value}
            ahead |= {"p_adjusted": step.adjusted}
        early = int(system.headline.too_early[common].sum())
        row = {**about(system), "known": _UNTIL[instant], "too_early": early, **found.cells, **ahead}
        mark = found.mark(name, list(its.values())[-1].regime, panel=name, row=name)
        result.add(row, found.interval, replace(mark, at=_UNTIL[instant]))
