"""People beside systems, on the samples that people predicted before labels were public; people are never ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hellofresh.leaderboard.components.charts import interval_bar
from hellofresh.leaderboard.components.labels import Links
from hellofresh.leaderboard.components.markup import Html, el, inner_link, join, named, visible
from hellofresh.leaderboard.components.pieces import heading
from hellofresh.leaderboard.components.scale import Scale, figure
from hellofresh.leaderboard.components.standings import headline_columns
from hellofresh.leaderboard.components.tables import Cell, Column, Marked, score, scrolled, table
from hellofresh.leaderboard.data.board import Board, MetricValue, SplitKey
from hellofresh.results.tables import PEOPLE_NAMES, PeopleRow

_MOST_SYSTEMS = 20
_PEOPLE = {
    "people/single": (PEOPLE_NAMES["people/single"], "the mean of people"),
    "people/vote": (PEOPLE_NAMES["people/vote"], "a tie counts as no answer"),
}


def people_beside(board: Board, split: SplitKey, scale: Scale, links: Links) -> Html | None:
    """How well people predict, with every system on the same samples; None where people were not asked.

    Args:
        board, split: whose table.
        scale: of its scores.
        links: where pages are.
    """
    rows = board.rows(PeopleRow, split)
    if not rows:
        return None
    without, with_known = ([row for row in rows if row.with_known is known] for known in (False, True))
    explained = (
        "People were asked what systems are asked, before labels were public. All rows are about the same samples; "
        "systems are those that judged all of them, and people have no rank. Answers to samples that a person says "
        "they knew are left out."
    )
    more = el(
        "details",
        el("summary", "Including samples whose outcome people say they knew"),
        _beside(board, split, scale, links, with_known),
    )
    return join(
        [heading("People", explained), _beside(board, split, scale, links, without), more if with_known else None]
    )


def with_people(board: Board, split: SplitKey, scale: Scale) -> tuple[Scale, Html | None]:
    """The scale with the line of one person, and what is said of it; the same scale and None without people."""
    rows = [row for row in board.rows(PeopleRow, split) if row.origin == "people/single" and not row.with_known]
    row = rows[0] if rows else None
    if row is None or row.value is None or row.low is None or row.high is None:
        return scale, None
    found = MetricValue(scale.title, row.value, row.low, row.high)
    value, low, high = (figure(end, scale.title) for end in (found.value, found.low, found.high))
    said = (
        f"One person: {value} ({low} to {high}), the mean of {row.people} people on {row.samples} samples that were "
        "drawn from these; in the chart the solid line, with its 95% interval as a band. The table People has systems "
        "on the same samples."
    )
    return replace(scale, people=found), el("p", el("small", said))


def _beside(board: Board, split: SplitKey, scale: Scale, links: Links, rows: Sequence[PeopleRow]) -> Html | None:
    if not rows:
        return el("p", "No answers remain.")
    first = rows[0]
    if first.value is None:
        return el("p", f"Not shown: {visible(first.missing, 200)}.")
    entries, line = board.entries(split), replace(scale, reference=first.value)
    known = [row for row in rows if row.origin in {*_PEOPLE, *entries}]
    shown = known[: len(_PEOPLE) + _MOST_SYSTEMS]
    alike = "" if first.agreement is None else f" Krippendorff's alpha of their answers is {first.agreement:.2f}."
    failed = f" Left out, after failing an attention check: {first.failed}." if first.failed else ""
    best = f" The {_MOST_SYSTEMS} best of {len(known) - len(_PEOPLE)} systems." if len(known) > len(shown) else ""
    said = (
        f"{first.samples} samples, {first.people} people, {first.answers:,} answers.{alike}{failed}{best} The dashed "
        "line is one person; its band is a 95% interval over other samples and other people."
    )
    columns: list[Column] = [("name", "Who"), *headline_columns(line)]
    cells = (Marked(f"hf-{row.section}", _cells(row, board, split, line, links)) for row in shown)
    listed = scrolled(table(f"People and systems by {scale.title}", columns, cells, "hf-prompts"))
    return join([listed, el("p", el("small", said))])


def _cells(row: PeopleRow, board: Board, split: SplitKey, scale: Scale, links: Links) -> tuple[Cell, ...]:
    assert row.value is not None and row.low is not None and row.high is not None  # the first row would say so
    figure = MetricValue(scale.title, row.value, row.low, row.high)
    if row.origin in _PEOPLE:
        who: Cell = _PEOPLE[row.origin]
    else:
        entry = board.entries(split)[row.origin]
        regime = "" if entry.regime == "none" else f" · {visible(entry.regime, 30)}"
        who = (
            inner_link(links.to("system", split, system=row.origin), named(entry.name)),
            join([named(entry.team, 60), regime]),
        )
    return who, score(figure), interval_bar(figure, scale)
