"""F1 from period to period: do systems get better or worse as decisions get fresher?"""

from __future__ import annotations

import numpy as np

from hellofresh.analyses._base import Analysis, Result, missing, table_of
from hellofresh.analyses._charts import Line, draw_lines, grid_of, label_of
from hellofresh.analyses._measures import about, few_note, leading, measure
from hellofresh.analyses._style import legend_below
from hellofresh.results.panel import Panel, System

__all__ = ["ANALYSIS"]


_ABOUT_GAPS = "A period in which a system was asked samples of one class only has no F1."


def _run(panel: Panel) -> Result:
    periods = panel.period_names
    if len(periods) < 2:
        return missing(f"All samples are of one {panel.task.period_kind}; two are needed to see a change.")
    if not panel.systems:
        return missing("No system has answered.")
    rows, intervals = [], []
    for system in panel.systems:
        for period in periods:
            found = measure(panel, system.headline, panel.periods == period)
            if found is not None:
                rows.append({**about(system), "period": period, **found.cells})
                intervals.append(found.interval)
    if not rows:
        return missing("No system was asked samples of both classes in any period.")
    leaders, notes = leading(panel, panel.systems)
    models = list(dict.fromkeys(system.model for system in leaders))
    by_model = [[system for system in leaders if system.model == model] for model in models]
    regimes = sorted({system.regime for system in leaders}, key=_regime_order)
    figure, panels = grid_of(
        len(by_model), f"{panel.task.period_kind} of {panel.quarter}", "F1 with 95% interval",
        columns=2 if len(periods) > 6 else 3,
    )  # fmt: skip
    for axes, systems in zip(panels, by_model, strict=True):
        draw_lines(
            axes,
            [_line(panel, system, periods) for regime in regimes for system in systems if system.regime == regime],
            regimes,
        )
        axes.set_title(label_of(systems[0].label, 26))
        axes.set_ylim(-0.06, 1.06)
        step = -(-len(periods) // 8)
        axes.set_xticks(range(0, len(periods), step), [_short(name) for name in periods[::step]])
    legend_below(figure, panels)
    return Result(table_of(rows), figure, [*notes, _ABOUT_GAPS, *few_note(intervals)])


def _regime_order(name: str) -> tuple[int, str]:
    known = ("zero-shot", "web-search", "placebo")
    return (known.index(name) if name in known else len(known), name)


def _short(period: str) -> str:
    """Without the year: `W14`, `04`."""
    return period.rsplit("-", 1)[-1]


def _line(panel: Panel, system: System, periods: list[str]) -> Line:
    found = [measure(panel, system.headline, panel.periods == period) for period in periods]
    columns = [
        (np.nan, np.nan, np.nan) if one is None else (one.value, one.interval.low, one.interval.high) for one in found
    ]
    value, low, high = np.array(columns).T
    return Line(system.regime, value, low, high)


ANALYSIS = Analysis(
    name="temporal-consistency",
    title="Temporal consistency",
    question="Does a system's F1 hold from period to period?",
    how_to_read=(
        "One small panel a system, one line a regime, F1 of each period with its 95% interval. Neighbouring periods "
        "whose intervals overlap widely show no change; a fall from some period on, common to several systems with the "
        "same knowledge cutoff, is what memory of older decisions would look like."
    ),
    run=_run,
)
