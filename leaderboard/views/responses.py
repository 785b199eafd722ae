"""Rated responses: systems by criterion, part and kind of judge, and two systems' responses to one post."""

from __future__ import annotations

import streamlit as st

from hellofresh.results.board.schema import RatedRow
from leaderboard.components.labels import quarter_title, task_title
from leaderboard.components.markup import el, visible
from leaderboard.components.pieces import heading
from leaderboard.components.ratings import JUDGES, RATED_LEDE, part_title, rated_table, side_by_side
from leaderboard.data.records import Records
from leaderboard.data.tables import Board, SplitKey
from leaderboard.views._base import SitePage, header, show
from leaderboard.views.session import choose_one, open_board, open_records

__all__ = ["PAGE", "choose_rated"]


def choose_rated(board: Board, records: Records) -> SplitKey | None:
    """One of the editions whose responses were rated; None where there is none."""
    known = {f"{split.task} {split.edition}": split for split in board.splits if records.ratings(split)}
    if not known:
        show(el("p", "No responses have been rated yet. A study comes in with: ", el("code", "hellofresh rate import")))
        return None
    titles = {key: f"{task_title(split.task)}, {quarter_title(board, split)}" for key, split in known.items()}
    return known[choose_one("study", "Study", list(known), titles.__getitem__, width=480)]


def _render() -> None:
    header("Responses", RATED_LEDE)
    board, records = open_board(), open_records()
    split = choose_rated(board, records)
    if split is None:
        return
    rows = records.ratings(split)
    with st.container(horizontal=True):
        judges = choose_one("judges", "Judged by", list(dict.fromkeys(row.judges for row in rows)),
                            lambda key: JUDGES.get(key, key), first="person")  # fmt: skip
        rows = [row for row in rows if row.judges == judges]
        titles = {row.criterion: row.title for row in rows}
        criterion = choose_one("criterion", "Criterion", list(titles), lambda key: visible(titles[key]), width=320)
        rows = [row for row in rows if row.criterion == criterion]
        parts = {f"{row.part}={row.value}": part_title(row.part, row.value) for row in rows}
        part = choose_one("part", "Samples", list(parts), parts.__getitem__, width=320)
    chosen = [row for row in rows if f"{row.part}={row.value}" == part]
    show(rated_table(chosen))
    _show_texts(records, split, chosen)


def _show_texts(records: Records, split: SplitKey, rows: list[RatedRow]) -> None:
    """Two systems' responses to one post."""
    systems = [row.system for row in rows]
    if len(systems) < 2:
        return
    show(heading("Side by side", "What two systems wrote on one post, with what they cite."))
    with st.container(horizontal=True):
        one = choose_one("one", "First system", systems, visible)
        two = choose_one("two", "Second system", systems, visible, first=systems[1])
        found = records.responses(split, [one, two])
        both = sorted(
            {item.id for item in found if item.system == one} & {item.id for item in found if item.system == two}
        )
        if not both:
            show(el("p", "They have no post in common."))
            return
        post = choose_one("sample", "Post", both, visible, width=320)
    of_post = {item.system: item for item in found if item.id == post}
    show(side_by_side([of_post[name] for name in dict.fromkeys((one, two))]))


PAGE = SitePage("Responses", "responses", _render, RATED_LEDE)
