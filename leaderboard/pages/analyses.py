"""The questions that are asked of a quarter: each with its figure, how to read it, its notes and its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
import streamlit as st

from leaderboard.components.analyses import (
    analysis_head,
    analysis_text,
    chart_title,
    column_title,
    drawing_key,
    findings,
    no_analyses,
    ordered,
    plain_rows,
    questions,
    still_figure,
)
from leaderboard.components.labels import EVERY
from leaderboard.components.links import SiteLinks
from leaderboard.components.markup import el
from leaderboard.components.pieces import heading, notice
from leaderboard.data.analyses_table import BoardAnalysis
from leaderboard.data.tables import Split
from leaderboard.drawing.figures import Drawing, Findings, draw, lead, systems_of
from leaderboard.drawing.vega import shown as plain
from leaderboard.pages._base import Page, header, show
from leaderboard.pages.downloads import offer
from leaderboard.pages.session import choose_many, choose_one, choose_split, open_analyses, open_board

__all__ = ["PAGE"]

_LEDE = "What the answers of a quarter tell beyond a score: one question at a time, with figure and table."
_MOST_SHOWN = 24


def _render() -> None:
    header("Analyses", _LEDE)
    board = open_board()
    split = choose_split(board)
    bundled = notice("Bundled sample.", "This quarter was written for the project, to try it out. It ranks nobody.")
    analyses = {one.name: one for one in open_analyses(split)}
    if not analyses:
        show(bundled if board.is_bundled(split) else None, no_analyses(split.quarter))
        return
    with st.container(horizontal=True):
        name = choose_one("analysis", "Question", list(analyses), lambda key: _asked(analyses[key]), width=680)
    analysis = analyses[name]
    show(bundled if board.is_bundled(split) else None, analysis_head(analysis))
    table = analysis.table()
    drawn = not analysis.missing and _show_figure(analysis, table, analyses.get("cost"), split)
    show(analysis_text(analysis, drawn=drawn))
    _show_table(analysis, table, split)
    show(questions(list(analyses.values()), lambda key: SiteLinks().analysis(split, key)))


def _asked(analysis: BoardAnalysis) -> str:
    return f"{analysis.question} (no figure)" if analysis.missing else analysis.question


def _show_figure(analysis: BoardAnalysis, table: pl.DataFrame, scores: BoardAnalysis | None, split: Split) -> bool:
    """The interactive figure, or, where there is none for this analysis or table, the file's picture; whether drawn."""
    systems = systems_of(analysis.name, table)
    chosen = _choose_systems(analysis.name, systems, scores, split) if systems else []
    found = Findings(analysis.name, analysis.question, table, analysis.points(), chosen)
    drawing = draw(found)
    if systems and not chosen:
        show(el("p", "Choose at least one system."))
        return True
    if drawing is None:
        show(still_figure(analysis))
        return False
    _show_charts(_highlighted(found, drawing))
    return True


def _choose_systems(name: str, systems: Sequence[str], scores: BoardAnalysis | None, split: Split) -> list[str]:
    """The leading systems, unless the visitor chooses others; no box where all are shown anyway."""
    leading = lead(name, systems, scores.table() if scores else pl.DataFrame())
    if len(leading) == len(systems):
        return leading
    return choose_many(
        "show",
        f"Systems in the figure: {len(leading)} of {len(systems)} unless you choose others; the table has all",
        systems,
        plain,
        default=leading,
        most=_MOST_SHOWN,
        about=f"{name} {split.task} {split.quarter}",
    )


def _highlighted(found: Findings, drawing: Drawing) -> Drawing:
    """The key of all charts where they share one, and what the visitor chooses in it."""
    key = drawing.key
    if key is None or len(key.names) < 2:
        return drawing
    show(drawing_key(key))
    with st.container(horizontal=True):
        picked = choose_one("highlight", f"Highlight a {key.title}", [EVERY, *key.names], plain, default=EVERY)
    return draw(replace(found, picked=() if picked == EVERY else (picked,))) or drawing


def _show_charts(drawing: Drawing) -> None:
    for start in range(0, len(drawing.charts), drawing.columns):
        places = st.columns(drawing.columns) if drawing.columns > 1 else [st.container()]
        for place, chart in zip(places, drawing.charts[start : start + drawing.columns], strict=False):
            with place:
                if chart.title:
                    show(chart_title(chart.title))
                st.vega_lite_chart(spec=chart.spec, width="stretch")


def _show_table(analysis: BoardAnalysis, table: pl.DataFrame, split: Split) -> None:
    """The table in the order that the visitor wants, and all that can be taken away."""
    if table.height:
        show(heading("Table", f"{table.height:,} rows. Intervals are at 95%."))
        with st.container(horizontal=True):
            order = choose_one("order", "In order of", [EVERY, *table.columns], _order_title, default=EVERY)
        by = "" if order == EVERY else order
        show(findings(ordered(table, by), order=by))
        offer(lambda: plain_rows(table), f"{analysis.name}-{split.task}-{split.quarter}")
    svg = analysis.svg()
    if svg:
        name = f"{analysis.name}-{split.task}-{split.quarter}.svg"
        st.download_button("Download the figure as SVG", svg, name, "image/svg+xml", on_click="ignore", type="tertiary")


def _order_title(column: str) -> str:
    return "as made" if column == EVERY else column_title(column)


PAGE = Page("Analyses", "analyses", _render)
