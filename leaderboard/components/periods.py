"""Scores by period and by prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leaderboard.components.charts import interval_scale, period_panel, period_tick
from leaderboard.components.markup import DASH, Html, el, join, named, visible
from leaderboard.components.pieces import cell, metric_cell, table
from leaderboard.components.scale import Scale
from leaderboard.components.standings import headline_cells, result_cells, result_columns
from leaderboard.data.tables import BoardEntry, ScoreCell

__all__ = ["period_figures", "periods_heading", "score_table"]


def periods_heading(scale: Scale, others: str) -> tuple[str, str]:
    """Title and explanation of the figures by period."""
    line = f", the dashed line is {scale.constant}" if scale.constant else ""
    said = f"Dots are {scale.title}, bands 95% intervals; grey marks are {others}{line}."
    return f"{scale.title} by period", said


def period_figures(
    results: Mapping[BoardEntry, Sequence[ScoreCell]],
    periods: Sequence[str],
    groups: Mapping[BoardEntry, str],
    scale: Scale,
) -> Html:
    """A small panel for each entry, the values of the others behind it in grey, and the numbers.

    Args:
        results: by entry, those that were chosen.
        periods: all periods of the axis, in order of time.
        groups: by entry, the part of the table that it stands in.
        scale: of the task.
    """
    panels = (
        el("figure", el("figcaption", named(entry.name, 60), " ", el("small", named(entry.team, 40), _regime(entry))),
           period_panel(entry, results, periods, scale), class_=f"hf-{groups[entry]}")
        for entry in results
    )  # fmt: skip
    numbers = el("details", el("summary", "The numbers"), _period_table(results, periods, scale))
    return join([el("div", *panels, class_="hf-panels"), numbers])


def score_table(title: str, results: Sequence[ScoreCell], scale: Scale) -> Html:
    """The scores of one entry by `Period` or by `Prompt`."""
    name = title.lower()
    columns: list[tuple[str, Html | str]] = [
        ("name", title), ("number", scale.title), ("drawn", interval_scale(scale)),
    ]  # fmt: skip
    columns += [("number", head) for head in result_columns(scale)]
    rows = (
        el(
            "tr",
            cell(title, named(str(getattr(result, name)), 60), None, "name"),
            *headline_cells(result, scale),
            *result_cells(result, scale),
            role="row",
        )
        for result in results
    )
    return table(f"Scores by {name}", columns, [el("tbody", *rows, role="rowgroup")], "hf-prompts")


def _regime(entry: BoardEntry) -> Html | None:
    return join([" · ", visible(entry.regime, 30)]) if entry.regime != "none" else None


def _period_table(results: Mapping[BoardEntry, Sequence[ScoreCell]], periods: Sequence[str], scale: Scale) -> Html:
    rows = []
    for entry, theirs in results.items():
        by_period = {result.period: result for result in theirs}
        cells = (
            metric_cell(tick, by_period[period].headline) if period in by_period else cell(tick, DASH)
            for period, tick in zip(periods, map(period_tick, periods), strict=True)
        )
        rows.append(el("tr", cell("System", named(entry.name), named(entry.team, 60), "name"), *cells, role="row"))
    columns = [("name", "System"), *(("number", period_tick(period)) for period in periods)]
    body = el("tbody", *rows, role="rowgroup")
    return el("div", table(f"{scale.title} by period", columns, [body], "hf-wide"), class_="hf-scroll", tabindex=0)
