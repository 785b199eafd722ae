"""Rated responses: systems by criterion, part and kind of judge, and two systems' responses to one post; the judges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from hellofresh.results.board.schema import JudgeRow, RatedResponse, RatedRow
from leaderboard.components.markup import el, visible
from leaderboard.components.pieces import heading
from leaderboard.components.ratings import (
    JUDGES,
    JUDGES_LEDE,
    RATED_LEDE,
    judge_tables,
    part_title,
    rated_table,
    side_by_side,
)
from leaderboard.data.board import Board, SplitKey
from leaderboard.views.visit import Choices, Page, Visit


def _rated_split(visit: Visit) -> SplitKey | None:
    """One of the editions whose responses were rated; None if absent."""
    known = [split for split in visit.board.splits if visit.board.rows(RatedRow, split)]
    if not known:
        none = "No responses have been rated yet. A study comes in with: "
        visit.show(el("p", none, el("code", "hellofresh dataset import muse")))
        return None
    return visit.split_among("study", "Study", known)


def _compose(visit: Visit) -> None:
    visit.header("Responses", RATED_LEDE)
    split = _rated_split(visit)
    if split is None:
        return
    rows, chosen = visit.board.rows(RatedRow, split), []
    kinds = list(dict.fromkeys(row.judges for row in rows))
    with visit.row():
        for judges in visit.each("judges", "Judged by", kinds, lambda key: JUDGES.get(key, key), first="person"):
            mine = [row for row in rows if row.judges == judges]
            titles = {row.criterion: visible(row.title) for row in mine}
            for criterion in visit.each("criterion", "Criterion", list(titles), titles.__getitem__, width=320):
                part = _part(visit, [row for row in mine if row.criterion == criterion])
                chosen.append(part)
    before = ""
    for shown in chosen:
        kind = shown[0].judges
        said = el("h2", f"Judged by {JUDGES.get(kind, kind).lower()}") if kind != before and not visit.live else None
        visit.show(said, rated_table(shown))
        before = kind
    if visit.live:
        _show_texts(visit, split, [row.system for row in chosen[0]])


def _part(visit: Visit, rows: Sequence[RatedRow]) -> list[RatedRow]:
    """Those on one part of the samples, all of them in a copy."""
    parts = {f"{row.part}={row.value}": part_title(row.part, row.value) for row in rows}
    part = visit.one("part", "Samples", list(parts), parts.__getitem__, width=320)
    return [row for row in rows if f"{row.part}={row.value}" == part]


def _show_texts(visit: Visit, split: SplitKey, systems: Sequence[str]) -> None:
    """Two systems' responses to one post; their texts are not copied."""
    if len(systems) < 2:
        return
    visit.show(heading("Side by side", "What two systems wrote on one post, with what they cite."))
    with visit.row():
        one = visit.one("one", "First system", systems, visible)
        two = visit.one("two", "Second system", systems, visible, first=systems[1])
        found = visit.board.rows(RatedResponse, split, pl.col("system").is_in([one, two]))
        ids = [{item.id for item in found if item.system == name} for name in (one, two)]
        both = sorted(ids[0] & ids[1])
        if not both:
            visit.show(el("p", "They have no post in common."))
            return
        post = visit.one("sample", "Post", both, visible, width=320)
    of_post = {item.system: item for item in found if item.id == post}
    visit.show(side_by_side([of_post[name] for name in dict.fromkeys((one, two))]))


def _compose_judges(visit: Visit) -> None:
    visit.header("Judges", JUDGES_LEDE)
    split = _rated_split(visit)
    if split is not None:
        visit.show(judge_tables(visit.board.rows(JudgeRow, split)))


def _copies(board: Board, split: SplitKey) -> Iterable[Choices]:
    return [{}] if board.rows(RatedRow, split) else []


PAGE = Page("Responses", "responses", _compose, RATED_LEDE, _copies)
JUDGES_PAGE = Page("Judges", "judges", _compose_judges, JUDGES_LEDE, _copies)
