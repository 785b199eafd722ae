"""What a score costs."""

from __future__ import annotations

from math import ceil, floor, log10

from matplotlib.figure import Figure

from hellofresh.analyses._base import Analysis, Result, missing, table_of
from hellofresh.analyses._charts import label_of
from hellofresh.analyses._measures import about, few_note, leading, measure
from hellofresh.analyses._style import GREY, MARKERS, canvas, colour, legend_below
from hellofresh.results.panel import Panel, System

__all__ = ["ANALYSIS"]


def _run(panel: Panel) -> Result:
    if not panel.systems:
        return missing("No system has answered.")
    rows, intervals = [], []
    for system in panel.systems:
        found = measure(panel, system.headline)
        if found is not None:
            rows.append({**about(system), "cost_usd": system.cost_usd, "usd_per_1000_samples": _per_thousand(system),
                         "tokens_in": system.tokens_in, "tokens_out": system.tokens_out, **found.cells})  # fmt: skip
            intervals.append(found.interval)
    known = [s for s in panel.systems if _per_thousand(s) is not None and measure(panel, s.headline) is not None]
    unknown = [system.name for system in panel.systems if _per_thousand(system) is None]
    notes = [f"Their cost is not known: {', '.join(unknown)}."] if unknown else []
    if not known:
        return Result(table_of(rows), None, notes, "No system's cost is known.")
    shown, more = leading(panel, known)
    return Result(table_of(rows), _figure(panel, shown, bool(unknown)), [*notes, *more, *few_note(intervals)])


def _per_thousand(system: System) -> float | None:
    """US dollars for a thousand samples with all prompts."""
    asked = int(system.headline.asked.sum())
    return None if system.cost_usd is None or not asked else 1000 * system.cost_usd / asked


def _figure(panel: Panel, shown: list[System], some_unknown: bool) -> Figure:
    figure, (axes,) = canvas(4.2)
    costs = [_per_thousand(system) or 0.0 for system in shown]
    paid = [cost for cost in costs if cost > 0]
    if paid:
        free = [0.0] if min(costs) == 0 else []
        axes.set_xscale("symlog", linthresh=min(paid), linscale=0.5) if free else axes.set_xscale("log")
        axes.set_xticks([*free, *_ticks(min(paid), max(paid))])
        axes.minorticks_off()
    for number, (system, cost) in enumerate(zip(shown, costs, strict=True)):
        found = measure(panel, system.headline)
        if found is None:
            continue
        axes.vlines([cost], [found.interval.low], [found.interval.high], color=colour(number), linewidth=1.5)
        axes.plot([cost], [found.value], linestyle="none", marker=MARKERS[number % len(MARKERS)], markersize=7,
                  color=colour(number), markeredgecolor="white", label=label_of(system.name))  # fmt: skip
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylim(-0.03, 1.03)
    axes.set_ylabel("F1 with 95% interval")
    axes.set_xlabel("cost of 1,000 samples with all prompts (US dollars)")
    if some_unknown:
        axes.set_title("systems of unknown cost are not shown", color=GREY, fontsize=9)
    legend_below(figure, [axes], columns=3)
    return figure


def _ticks(least: float, most: float) -> list[float]:
    """Round amounts from just below the least to just above the most, a few of them."""
    powers = range(floor(log10(least)), ceil(log10(most)) + 1)
    steps = (1, 2, 5) if len(powers) < 4 else (1,)
    found = [step * 10.0**power for power in powers for step in steps]
    return [tick for tick in found if least / 2.5 <= tick <= most * 2.5]


ANALYSIS = Analysis(
    name="cost",
    title="Cost and score",
    question="What does a better score cost?",
    how_to_read=(
        "F1 of the row that stands for each system, against what a thousand samples cost with all prompts that it was "
        "asked with. Up and left is better. A cost that is not known is never taken as 0: such systems "
        "are in the table."
    ),
    run=_run,
)
