"""What searching the web adds, prompt by prompt."""

from __future__ import annotations

from hellofresh.analyses._base import Analysis, Result, missing, table_of
from hellofresh.analyses._charts import Mark, forest
from hellofresh.analyses._measures import about, few_note
from hellofresh.analyses._pairs import compare_regimes
from hellofresh.results.panel import Panel

__all__ = ["ANALYSIS"]


def _run(panel: Panel) -> Result:
    pairs = compare_regimes(panel, "web-search", "zero-shot")
    if not pairs:
        return missing("No system has answered the same samples with web-search and zero-shot.")
    rows = [{**about(pair.system, pair.said), "prompt": pair.said.prompt, **pair.cells} for pair in pairs]
    shown = list(dict.fromkeys(pair.system.label for pair in pairs))[:6]
    marks = [
        Mark(f"{pair.system.label}: {pair.said.prompt}", pair.system.label, pair.found.difference,
             pair.found.interval.low, pair.found.interval.high)
        for pair in pairs if pair.system.label in shown
    ]  # fmt: skip
    figure = forest(_one_series(marks), "gain in F1 by web-search (web-search minus zero-shot), 95% interval", zero=0.0)
    notes = few_note([pair.found.interval for pair in pairs])
    return Result(table_of(rows), figure, notes)


def _one_series(marks: list[Mark]) -> list[Mark]:
    """Rows already say whose they are; colour is left to tell the vote from single prompts."""
    return [
        Mark(m.label, "vote of all prompts" if m.label.endswith(": majority") else "one prompt", m.value, m.low, m.high)
        for m in sorted(marks, key=lambda mark: mark.series)
    ]


ANALYSIS = Analysis(
    name="search-gain",
    title="Gain by web search",
    question="How much better is a system with web search than without, on the same samples?",
    how_to_read=(
        "One row a system and prompt: F1 with web search minus F1 without, on the samples that were asked both ways, "
        "with the interval of the paired difference. Right of the dashed line search helps. The table has "
        "the p-value of "
        "each row, and adjusted for all rows (Holm)."
    ),
    run=_run,
)
