"""Texts that have nothing to do with the sample: is it the content of pages that helps, or only a longer prompt?"""

from __future__ import annotations

from hellofresh.analyses._base import Analysis, Result, missing, table_of
from hellofresh.analyses._charts import Mark, forest
from hellofresh.analyses._measures import about, few_note, measure
from hellofresh.analyses._pairs import RegimePair, compare_regimes
from hellofresh.results.panel import Panel, System

__all__ = ["ANALYSIS"]

_REGIMES = ("zero-shot", "placebo", "web-search")
_MOST_MODELS = 12


def _run(panel: Panel) -> Result:
    pairs = [
        pair
        for first, second in (("placebo", "zero-shot"), ("web-search", "placebo"))
        for pair in compare_regimes(panel, first, second)
        if pair.said.prompt == pair.system.headline.prompt
    ]
    if not pairs:
        return missing("No system has answered the same samples with placebo and with zero-shot or web-search.")
    rows, marks, intervals = [], [], []
    with_placebo = {pair.system.model for pair in pairs}
    models = [systems for systems in panel.models if systems[0].model in with_placebo]
    for number, systems in enumerate(models):
        chosen = [system for regime in _REGIMES for system in systems if system.regime == regime]
        common = chosen[0].headline.asked.copy()
        for system in chosen[1:]:
            common &= system.headline.asked
        for system in chosen:
            found = measure(panel, system.headline, common)
            if found is None:
                continue
            made = found.interval
            rows.append({**about(system), **found.cells, **_differences(pairs, system)})
            intervals.append(made)
            if number < _MOST_MODELS:
                marks.append(Mark(system.label, system.regime, found.value, made.low, made.high))
    if not marks:
        return missing("The regimes of each system were asked different samples.")
    rest = [systems[0].label for systems in models[_MOST_MODELS:]]
    notes = [f"Only in the table: {', '.join(rest)}."] if rest else []
    figure = forest(marks, "F1 with 95% interval", limits=(-0.02, 1.02))
    return Result(table_of(rows), figure, [*notes, *few_note(intervals)])


def _differences(pairs: list[RegimePair], system: System) -> dict[str, float | str | None]:
    """By how much a regime is ahead of the one that it is compared with, on the samples of both."""
    own = [pair for pair in pairs if pair.system is system]
    if not own:
        return dict.fromkeys(("against", "difference", "difference_low", "difference_high", "p_value"))
    found = own[0].found
    return {
        "against": own[0].against, "difference": found.difference, "difference_low": found.interval.low,
        "difference_high": found.interval.high, "p_value": found.p_value,
    }  # fmt: skip


ANALYSIS = Analysis(
    name="placebo",
    title="Placebo",
    question="Is it what the pages say that helps, or only that the prompt is longer?",
    how_to_read=(
        "F1 of each system without further texts (zero-shot), with texts that have nothing to do with the sample "
        "(placebo) and with what a search found (web-search), all on the same samples. What web-search "
        "has over placebo "
        "is owed to the content of the pages. The intervals are of each score for itself; the table has the paired "
        "differences, which are more precise."
    ),
    run=_run,
)
