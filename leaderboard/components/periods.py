"""Scores by period and by prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leaderboard.components.charts import ALWAYS_YES, interval_bar, interval_scale, period_panel, period_tick
from leaderboard.components.markup import DASH, Html, el, join, named, visible
from leaderboard.components.pieces import cell, metric_cell, table
from leaderboard.components.standings import result_cells
from leaderboard.data.tables import BoardEntry, ScoreCell

__all__ = ["period_figures", "prompt_table"]


def period_figures(
    results: Mapping[BoardEntry, Sequence[ScoreCell]],
    periods: Sequence[str],
    groups: Mapping[BoardEntry, str],
    always_yes: float = ALWAYS_YES,
) -> Html:
    """A small panel for each entry, the values of the others behind it in grey, and the numbers.

    Args:
        results: by entry, those that were chosen.
        periods: all periods of the axis, in order of time.
        groups: by entry, the part of the table that it stands in.
        always_yes: F1 of a system that says yes to everything.
    """
    panels = (
        el("figure", el("figcaption", named(entry.name, 60), " ", el("small", named(entry.team, 40), _regime(entry))),
           period_panel(entry, results, periods, always_yes), class_=f"hf-{groups[entry]}")
        for entry in results
    )  # fmt: skip
    numbers = el("details", el("summary", "The numbers"), _period_table(results, periods))
    return join([el("div", *panels, class_="hf-panels"), numbers])


def prompt_table(results: Sequence[ScoreCell], always_yes: float = ALWAYS_YES) -> Html:
    """The scores of one entry with each prompt."""
    columns: list[tuple[str, Html | str]] = [("name", "Prompt"), ("number", "F1"), ("drawn", interval_scale())]
    columns += [("number", name) for name in ("Precision", "Recall", "Accuracy", "No answer", "Judged")]
    rows = (
        el(
            "tr",
            cell("Prompt", named(result.prompt, 60), None, "name"),
            metric_cell("F1", result.headline),
            el("td", interval_bar(result.headline, always_yes), class_="hf-drawn", role="cell"),
            *result_cells(result),
            role="row",
        )
        for result in results
    )
    return table("Scores by prompt", columns, [el("tbody", *rows, role="rowgroup")], "hf-prompts")


def _regime(entry: BoardEntry) -> Html | None:
    return join([" · ", visible(entry.regime, 30)]) if entry.regime != "none" else None


def _period_table(results: Mapping[BoardEntry, Sequence[ScoreCell]], periods: Sequence[str]) -> Html:
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
    return el("div", table("F1 by period", columns, [body], "hf-wide"), class_="hf-scroll", tabindex=0)
