"""What searching the web adds, prompt by prompt."""

from __future__ import annotations

from hellofresh.results.analyses._base import Analysis, AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import about, best_first, few_note
from hellofresh.results.analyses._pairs import compare_regimes
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.panel import MAJORITY, Panel

__all__ = ["ANALYSIS"]

_KINDS = ("one prompt", "vote of all prompts")


def _run(panel: Panel) -> AnalysisResult:
    pairs = compare_regimes(panel, "web-search", "zero-shot")
    if not pairs:
        return missing("No system has judged the same samples with web-search and zero-shot.")
    rows = [{**about(pair.system, pair.said), "prompt": pair.said.prompt, **pair.cells} for pair in pairs]
    marks = [
        Mark(pair.system.label, _KINDS[pair.said.prompt == MAJORITY], pair.found.difference, pair.found.interval.low,
             pair.found.interval.high, pair.found.interval.n, more=f"p = {pair.found.adjusted:.3f}, adjusted",
             row=f"{pair.system.label}: {pair.said.prompt}")
        for pair in pairs
    ]  # fmt: skip
    drawn = {mark.who for mark in marks}
    order = [system.label for system in best_first(panel, panel.systems) if system.label in drawn]
    chart = Chart(
        "intervals",
        Axis(f"gain in {panel.task.headline.title} by web search", zero=True),
        series=Series("", _KINDS[::-1]),
    )
    figure = Figure((chart,), tuple(dict.fromkeys(order)), most=6)
    return AnalysisResult(table_of(rows), figure, few_note([pair.found.interval for pair in pairs]), marks=marks)


ANALYSIS = Analysis(
    name="search-gain",
    title="Gain by web search",
    question="How much does web search improve a system, on the same samples?",
    how_to_read=(
        "One row per system and prompt: {metric} with web search less that without, on the samples judged both ways, "
        "with the interval of the paired difference, adjusted for all rows. Right of the dashed line search helps. The "
        "table has the p-value of each row, alone and adjusted for all rows (Bonferroni)."
    ),
    run=_run,
    version=2,
)
