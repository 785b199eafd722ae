"""Scores from period to period: do systems get better or worse as decisions get fresher?"""

from __future__ import annotations

from dataclasses import replace

from hellofresh.results.analyses._base import Analysis, AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import about, best_first, few_note, mark_of, measure
from hellofresh.results.figures.charts import Axis, Chart, Figure, Series
from hellofresh.results.panel import Panel

__all__ = ["ANALYSIS"]

_REGIMES = ("zero-shot", "web-search", "placebo")
_NO_MODEL = "a rule without a language model"
_ABOUT_GAPS = "A period in which a system judged samples of only one class has no score."


def _run(panel: Panel) -> AnalysisResult:
    periods = panel.period_names
    if len(periods) < 2:
        return missing(f"All samples are of one {panel.task.period_kind}; two are needed to see a change.")
    if not panel.systems:
        return missing("No system has answered.")
    rows, intervals, marks = [], [], []
    for system in panel.systems:
        for period in periods:
            found = measure(panel, system.headline, panel.periods == period)
            if found is not None:
                rows.append({**about(system), "period": period, **found.cells})
                intervals.append(found.interval)
                regime = _NO_MODEL if system.regime in {"none", ""} else system.regime
                mark = mark_of(found, system.label, regime, panel=system.label, row=system.label)
                marks.append(replace(mark, at=_short(period)))
    if not rows:
        return missing("No system judged samples of both classes in any period.")
    drawn = {mark.who for mark in marks}
    order = [system.label for system in best_first(panel, panel.systems) if system.label in drawn]
    across = Axis(f"{panel.task.period_kind} of {panel.edition}", intervals=False)
    chart = Chart("curves", across, Axis.share(panel.task.headline.title, marks, ticks=5), Series("regime", _REGIMES),
                  places=tuple(_short(period) for period in periods))  # fmt: skip
    columns = 2 if len(periods) > 6 else 3
    figure = Figure((chart,), tuple(dict.fromkeys(order)), most=6, columns=columns, by_system=True, one_key=True)
    return AnalysisResult(table_of(rows), figure, [_ABOUT_GAPS, *few_note(intervals)], marks=marks)


def _short(period: str) -> str:
    """Without the year: `W14`, `04`."""
    return period.rsplit("-", 1)[-1]


ANALYSIS = Analysis(
    name="temporal-consistency",
    title="Temporal consistency",
    question="Does a system's score hold from period to period?",
    how_to_read=(
        "One small panel per system, one line per regime, {metric} of each period with its 95% interval. Neighbouring "
        "periods whose intervals overlap widely show no change. A fall from some period on that several systems "
        "with the same knowledge cutoff share would be a sign of memorised outcomes."
    ),
    run=_run,
)
