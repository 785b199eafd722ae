"""How often systems give no readable answer, or refuse."""

from __future__ import annotations

from hellofresh.results.analyses._base import Analysis, AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import about, best_first, few_note, names_of
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.panel import BLOCKED, Panel
from hellofresh.stats import share_interval
from hellofresh.stats.metrics import NO_ANSWER

__all__ = ["ANALYSIS"]

_KINDS = (("no readable answer", NO_ANSWER), ("blocked", BLOCKED))


def _run(panel: Panel) -> AnalysisResult:
    if not panel.systems:
        return missing("No system has answered.")
    shown = [system for system in panel.systems if system.kind != "baseline"]
    rows, marks, intervals = [], [], []
    for system in panel.systems:
        for said in system.said:
            asked = said.asked
            if not asked.any():
                continue
            for kind, code in _KINDS:
                share, made = share_interval(said.answers[asked] == code, panel.groups[asked])
                rows.append({**about(system, said), "what": kind, "n": made.n, "clusters": made.clusters,
                             "count": int((said.answers == code).sum()), "share": share, "low": made.low,
                             "high": made.high})  # fmt: skip
                if system in shown and said is system.headline:
                    intervals.append(made)
                    more = f"{rows[-1]['count']:,} samples"
                    marks.append(Mark(system.name, kind, 100 * share, 100 * made.low, 100 * made.high, made.n,
                                      more=more, row=system.name))  # fmt: skip
    if not marks:
        return AnalysisResult(table_of(rows), None, (), "Only baselines have answered, and they always answer.")
    series = Series("", tuple(kind for kind, _ in _KINDS))
    chart = Chart("intervals", Axis("share of samples (%)", 0, digits=1), series=series)
    drawn = {mark.who for mark in marks}
    figure = Figure((chart,), names_of([system for system in best_first(panel, shown) if system.name in drawn]))
    return AnalysisResult(table_of(rows), figure, few_note(intervals), marks=marks)


ANALYSIS = Analysis(
    name="silence",
    title="No answer and blocked",
    question="How often does a system give no readable answer, or refuse to answer?",
    how_to_read=(
        "Shares of the samples judged, for each system's leaderboard row; the table has every prompt. Both count "
        "as wrong in every score, so a system that often gives no answer scores lower than its answers alone "
        "would. A vote has no answer where prompts tie."
    ),
    run=_run,
)
