"""The questions that are asked of a quarter: each with its figure, how to read it, its notes and its table."""

from __future__ import annotations

from collections.abc import Iterable

from leaderboard.components.analyses import (
    analysis_head,
    analysis_section,
    analysis_text,
    column_title,
    findings,
    no_analyses,
    ordered,
    picture,
    plain_rows,
    questions,
)
from leaderboard.components.labels import EVERY
from leaderboard.components.markup import el
from leaderboard.components.pieces import bundled_notice, heading
from leaderboard.components.tables import as_csv
from leaderboard.data.analyses import BoardAnalysis
from leaderboard.data.board import Board, SplitKey
from leaderboard.views.visit import Choices, Page, Visit

_LEDE = "What a quarter shows beyond a score: one question at a time, with figure and table."


def _compose(visit: Visit) -> None:
    visit.header("Analyses", _LEDE)
    split = visit.split(lanes=False)
    bundled = bundled_notice(
        "This quarter was written for the project, to try it out. Its scores are for demonstration only."
    )
    visit.show(bundled if visit.board.is_bundled(split) else None)
    found = {one.name: one for one in visit.board.analyses(split)}
    if not found:
        visit.show(no_analyses(split.edition))
        return

    def asked(name: str) -> str:
        return f"{found[name].question} (no figure)" if found[name].missing else found[name].question

    def address(name: str) -> str | None:
        return visit.links.to("analyses", split, analysis=name) if visit.live else f"./index.html#{name}"

    every = questions(list(found.values()), address)
    with visit.row():
        names = visit.each("analysis", "Question", list(found), asked, width=680)
    visit.show(None if visit.live else every)
    for name in names:
        (_show if visit.live else _section)(visit, found[name], f"{name}-{split.task}-{split.edition}")
    visit.show(every if visit.live else None)


def _show(visit: Visit, analysis: BoardAnalysis, name: str) -> None:
    """One question with an interactive figure, the table in the order that the visitor wants, and files."""
    visit.show(analysis_head(analysis))
    visit.figure(analysis, name)
    visit.show(analysis_text(analysis, drawn=True))
    table = analysis.table()
    if table.height:
        visit.show(heading("Table", f"{table.height:,} rows. Intervals are at 95%."))
        with visit.row():
            titles = {EVERY: "as made", **{column: column_title(column) for column in table.columns}}
            order = visit.one("order", "In order of", list(titles), titles.__getitem__, default=EVERY)
        by = "" if order == EVERY else order
        visit.show(findings(ordered(table, by), order=by))
        visit.offer(lambda: plain_rows(table), name)
    svg = analysis.svg()
    if svg:
        visit.button("Download the figure as SVG", svg, f"{name}.svg", "image/svg+xml")


def _section(visit: Visit, analysis: BoardAnalysis, name: str) -> None:
    """One question with a picture of its figure, the first rows of its table, and files beside the page."""
    svg = analysis.svg()
    figure = picture(analysis, visit.attach(f"{analysis.name}.svg", svg)) if svg else None
    whole = None
    if analysis.rows:
        address = visit.attach(f"{analysis.name}.csv", as_csv(plain_rows(analysis.table())).encode())
        whole = el("p", el("a", "The whole table as CSV", href=address, download=""))
    visit.show(analysis_section(analysis, figure, whole))


def _copies(board: Board, split: SplitKey) -> Iterable[Choices]:
    return [{}] if board.analyses(split) else []


PAGE = Page("Analyses", "analyses", _compose, _LEDE, _copies, "analyses/index")
