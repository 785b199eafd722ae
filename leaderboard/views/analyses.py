"""The questions that are asked of a quarter: each with its figure, how to read it, its notes and its table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import polars as pl
import streamlit as st

from hellofresh.results.figures.charts import Figure, Mark, marks_of
from hellofresh.results.figures.vega import Specification, key_of, place
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
)
from leaderboard.components.labels import EVERY
from leaderboard.components.links import SiteLinks
from leaderboard.components.markup import el, visible
from leaderboard.components.pieces import heading, notice
from leaderboard.data.analyses_table import BoardAnalysis
from leaderboard.data.tables import SplitKey
from leaderboard.views._base import SitePage, header, show
from leaderboard.views.downloads import offer
from leaderboard.views.session import choose_many, choose_one, choose_split, open_analyses, open_board

__all__ = ["PAGE"]

_LEDE = "What a quarter shows beyond a score: one question at a time, with figure and table."
_MOST_SHOWN = 24
_COUNTER = re.compile(r"(?:param|view)_[0-9a-f]+(?:_[0-9]+)?")
_option = partial(visible, limit=110)


def _render() -> None:
    header("Analyses", _LEDE)
    board = open_board()
    split = choose_split(board)
    bundled = notice("Bundled sample.", "This quarter was written for the project, to try it out. It ranks nobody.")
    analyses = {one.name: one for one in open_analyses(split)}
    if not analyses:
        show(bundled if board.is_bundled(split) else None, no_analyses(split.edition))
        return
    with st.container(horizontal=True):
        name = choose_one("analysis", "Question", list(analyses), lambda key: _asked(analyses[key]), width=680)
    analysis = analyses[name]
    show(bundled if board.is_bundled(split) else None, analysis_head(analysis))
    if analysis.figure:
        _show_figure(analysis, analysis.figure, split)
    show(analysis_text(analysis, drawn=True))
    _show_table(analysis, analysis.table(), split)
    show(questions(list(analyses.values()), lambda key: SiteLinks().analysis(split, key)))


def _asked(analysis: BoardAnalysis) -> str:
    return f"{analysis.question} (no figure)" if analysis.missing else analysis.question


def _show_figure(analysis: BoardAnalysis, figure: Figure, split: SplitKey) -> None:
    """The interactive figure, of the leading systems unless the visitor chooses others."""
    chosen = list(figure.systems)
    if figure.left_out:
        chosen = choose_many(
            "show",
            f"Systems in the figure: {figure.most} of {len(chosen)} unless you choose others; the table has all",
            chosen,
            _option,
            default=figure.leading,
            most=_MOST_SHOWN,
            about=f"{analysis.name} {split.task} {split.edition}",
        )
    if not chosen:
        show(el("p", "Choose at least one system."))
        return
    marks = marks_of(analysis.points(), chosen)
    picked = _show_key(figure, marks)
    placed = place(figure, marks, analysis.question, picked=picked)
    if not placed:
        show(el("p", "These systems alone leave nothing to show: choose more."))
    for start in range(0, len(placed), figure.columns):
        places = st.columns(figure.columns) if figure.columns > 1 else [st.container()]
        for where, chart in zip(places, placed[start : start + figure.columns], strict=False):
            with where:
                if chart.title:
                    show(chart_title(chart.title, chart.more))
                st.vega_lite_chart(spec=_for_streamlit(chart.spec), width="stretch")


def _show_key(figure: Figure, marks: Sequence[Mark]) -> Sequence[str]:
    """The key of all charts where they share one, and what the visitor picks in it."""
    colours = key_of(figure, marks)
    if not colours:
        return ()
    title = figure.charts[0].series.title
    show(drawing_key(title, colours))
    if len(colours) == 1:
        return ()
    with st.container(horizontal=True):
        names = [EVERY, *(name for name, _ in colours)]
        picked = choose_one("highlight", f"Highlight a {title}", names, _option, default=EVERY)
    return () if picked == EVERY else (picked,)


def _for_streamlit(spec: Specification) -> Specification:
    """With a space that does not show after texts like the names that Streamlit renumbers within specifications."""
    return {name: _marked(part) for name, part in spec.items()}


def _marked(part: object) -> object:
    if isinstance(part, dict):
        return _for_streamlit(part)
    if isinstance(part, list):
        return [_marked(item) for item in part]
    return f"{part}\N{NO-BREAK SPACE}" if isinstance(part, str) and _COUNTER.fullmatch(part) else part


def _show_table(analysis: BoardAnalysis, table: pl.DataFrame, split: SplitKey) -> None:
    """The table in the order that the visitor wants, and all that can be taken away."""
    if table.height:
        show(heading("Table", f"{table.height:,} rows. Intervals are at 95%."))
        with st.container(horizontal=True):
            order = choose_one("order", "In order of", [EVERY, *table.columns], _order_title, default=EVERY)
        by = "" if order == EVERY else order
        show(findings(ordered(table, by), order=by))
        offer(lambda: plain_rows(table), f"{analysis.name}-{split.task}-{split.edition}")
    svg = analysis.svg()
    if svg:
        name = f"{analysis.name}-{split.task}-{split.edition}.svg"
        st.download_button("Download the figure as SVG", svg, name, "image/svg+xml", on_click="ignore", type="tertiary")


def _order_title(column: str) -> str:
    return "as made" if column == EVERY else column_title(column)


PAGE = SitePage("Analyses", "analyses", _render, _LEDE)
