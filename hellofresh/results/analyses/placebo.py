"""Texts that have nothing to do with the sample: is it the content of pages that helps, or only a longer prompt?"""

from __future__ import annotations

from hellofresh.results.analyses._base import Analysis, AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import about, best_first, few_note, mark_of, measure
from hellofresh.results.analyses._pairs import RegimePair, compare_regimes
from hellofresh.results.figures.charts import Axis, Chart, Figure, Series
from hellofresh.results.panel import Panel, System

__all__ = ["ANALYSIS"]

_REGIMES = ("zero-shot", "placebo", "web-search")


def _run(panel: Panel) -> AnalysisResult:
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
    for systems in models:
        chosen = [system for regime in _REGIMES for system in systems if system.regime == regime]
        common = chosen[0].headline.asked.copy()
        for system in chosen[1:]:
            common &= system.headline.asked
        for system in chosen:
            found = measure(panel, system.headline, common)
            if found is None:
                continue
            rows.append({**about(system), **found.cells, **_differences(pairs, system)})
            intervals.append(found.interval)
            marks.append(mark_of(found, system.label, system.regime))
    if not marks:
        return missing("The regimes of each system judged different samples.")
    drawn = {mark.who for mark in marks}
    order = [system.label for system in best_first(panel, panel.systems) if system.label in drawn]
    chart = Chart("intervals", Axis(panel.task.headline.title), series=Series("regime", _REGIMES))
    figure = Figure((chart,), tuple(dict.fromkeys(order)))
    return AnalysisResult(table_of(rows), figure, few_note(intervals), marks=marks)


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
    question="Does the content of the pages help, or only a longer prompt?",
    how_to_read=(
        "{metric} of each system without further texts (zero-shot), with texts that have nothing to do with the sample "
        "(placebo) and with search results (web-search), all on the same samples. The gain of web-search over "
        "placebo is due to the content of the pages. Each interval is of one score; the table has the paired "
        "differences, which are more precise."
    ),
    run=_run,
)
