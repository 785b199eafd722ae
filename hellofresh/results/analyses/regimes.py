"""What another regime changes: the gain by web search, what of it a placebo brings, and gains by category."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hellofresh.results.analyses.base import (
    LEAST_SAMPLES,
    PROMPT_KINDS,
    AnalysisResult,
    Cell,
    Findings,
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
from hellofresh.results.panel import MAJORITY, Panel, PromptOutputs, System
from hellofresh.stats import Comparison

_BASE, _PLACEBO, _SEARCH = "zero-shot", "placebo", "web-search"
_ALL = "all samples"
_Pair = tuple[System, PromptOutputs, Comparison]
"""A system's answers with one prompt, and how they compare with those under another regime, adjusted for all pairs."""


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
    "One row per system and prompt: {metric} with web search less that without, on the samples judged both ways, "
    "with the interval of the paired difference, adjusted for all rows. Right of the dashed line search helps. The "
    "table has the p-value of each row, alone and adjusted for all rows (Bonferroni).",
    version=2,
)
def search_gain(panel: Panel) -> AnalysisResult:
    """What searching the web adds, prompt by prompt."""
    pairs = _compare_regimes(panel, _SEARCH, _BASE)
    if not pairs:
        return missing("No system has judged the same samples with web-search and zero-shot.")
    result = Findings(panel)
    for system, said, found in pairs:
        made = found.interval
        cells: dict[str, Cell] = {"against": _BASE, "n": made.n, "clusters": made.clusters}
        cells |= {"effective_clusters": made.effective_clusters, **_compared(found)}
        cells |= limited("difference", found.difference, made, ends="")
        cells |= {"p_value": found.p_value, "p_adjusted": found.adjusted}
        kind, row = PROMPT_KINDS[said.prompt == MAJORITY], f"{system.label}: {said.prompt}"
        result.add({**about(system, said), **cells}, made, _gain_mark(system.label, kind, found, row=row))
    axis = Axis(f"gain in {panel.task.headline.title} by web search", zero=True)
    return result.drawn(Chart("intervals", axis, series=Series("", PROMPT_KINDS[::-1])), order="label", most=6)


def _compared(found: Comparison) -> dict[str, Cell]:
    return {"metric": found.metric.name, "value": found.first, "value_against": found.second}


def _gain_mark(who: str, series: str, found: Comparison, *, row: str, panel: str = "") -> Mark:
    made, more = found.interval, f"p = {found.adjusted:.3f}, adjusted"
    return Mark(who, series, found.difference, made.low, made.high, made.n, more=more, row=row, panel=panel)


@analysis(
    "placebo",
    "Placebo",
    "Does the content of the pages help, or only a longer prompt?",
    "{metric} of each system without further texts (zero-shot), with texts that have nothing to do with the sample "
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
        return missing("The regimes of each system judged different samples.")
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
    everything = Subgroup(_ALL, _ALL, np.ones(len(panel.labels), dtype=np.bool_))
    cells = [
        (system, base, part)
        for systems in panel.models
        for base in systems
        if base.regime == _BASE
        for system in systems
        if system.regime != _BASE
        for part in (everything, *parts)
        if _is_enough(panel, system.headline.asked & base.headline.asked & part.where)
    ]
    if not cells:
        return missing(f"No system has judged {LEAST_SAMPLES} samples both with {_BASE} and otherwise.", notes)
    result = Findings(panel, notes=notes)
    for system, base, part in cells:
        one, two = system.headline, base.headline
        where = one.asked & two.asked & part.where
        made = compare_said(panel, one, two, where=part.where, together=len(cells))
        names = {"system": system.label, "regime": system.regime, "against": base.regime}
        names |= {"factor": part.factor, "bin": part.name}
        gain = limited("gain", made.difference, made.interval, ends="")
        sure = {"p_value": made.p_value, "p_adjusted": made.adjusted}
        right, before = (said.predictions(where) == panel.labels[where] for said in (one, two))
        flips = {"flips_to_right": int((right & ~before).sum()), "flips_to_wrong": int((~right & before).sum())}
        row = f"{part.name} (n = {made.interval.n})"
        mark = _gain_mark(system.name, system.name, made, row=row, panel=part.factor)
        cells_of = {**names, "n": int(where.sum()), **_compared(made), **gain, **sure, **flips}
        result.add(cells_of, made.interval, mark)
    axis = Axis(f"gain in {panel.task.headline.title} over {_BASE}", zero=True)
    factors = dict.fromkeys((_ALL, *(part.factor for part in parts)))
    charts = (Chart("intervals", axis, series=Series("system"), panel=factor) for factor in factors)
    return result.drawn(*charts, order="marks", most=4, one_key=True)


def _is_enough(panel: Panel, where: Where) -> bool:
    return int(where.sum()) >= LEAST_SAMPLES and not panel.is_one_class(where)
