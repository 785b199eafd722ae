"""How much of a score is due to answers that cannot be read."""

from __future__ import annotations

from hellofresh.results.analyses._base import Analysis, AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import about, best_first, few_note, mark_of, measure, names_of
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.panel import Panel

__all__ = ["ANALYSIS"]

_KINDS = ("counted as wrong", "left out")


def _run(panel: Panel) -> AnalysisResult:
    if not panel.task.classes:
        return missing("The task has no classes to be read from an answer.")
    rows, intervals = [], []
    marks: list[Mark] = []
    for system in panel.systems:
        for said in system.said:
            whole, read = measure(panel, said), measure(panel, said, said.answers >= 0)
            if whole is None or read is None:
                continue
            all_of, parsed = whole.interval, read.interval
            rows.append({
                **about(system, said), "n": all_of.n, "parsed": parsed.n, "share_parsed": parsed.n / all_of.n,
                "metric": whole.metric.name, "value": whole.value, "low": all_of.low, "high": all_of.high,
                "value_of_parsed": read.value, "low_of_parsed": parsed.low, "high_of_parsed": parsed.high,
            })  # fmt: skip
            if said is system.headline:
                intervals += [all_of, parsed]
                more = f"{parsed.n:,} of {all_of.n:,} answers can be read"
                pairs = zip((whole, read), _KINDS, strict=True)
                marks += [mark_of(one, system.name, kind, more=more) for one, kind in pairs]
    if not rows:
        return missing("No system has answers on samples of two classes.")
    chart = Chart("intervals", Axis(panel.task.headline.title), series=Series("answers that cannot be read", _KINDS))
    drawn = {mark.who for mark in marks}
    order = [name for name in names_of(best_first(panel, panel.systems)) if name in drawn]
    return AnalysisResult(table_of(rows), Figure((chart,), tuple(order)), few_note(intervals), marks=marks)


ANALYSIS = Analysis(
    name="parsing",
    title="Answers that cannot be read",
    question="How would systems score if answers that cannot be read were left out instead of counted as wrong?",
    how_to_read=(
        "The headline metric of each system's leaderboard row, once with unreadable and blocked answers counted as "
        "wrong, as everywhere on this board, and once on the readable answers alone. Papers differ in which they "
        "report. The table has every prompt, with the share that can be read."
    ),
    run=_run,
)
