"""The judges of responses that are no people, beside people: how far each agrees, and whether it may rank systems."""

from __future__ import annotations

from leaderboard.components.ratings import JUDGES_LEDE, judge_tables
from leaderboard.views._base import SitePage, header, show
from leaderboard.views.responses import choose_rated
from leaderboard.views.session import open_board, open_records

__all__ = ["PAGE"]


def _render() -> None:
    header("Judges", JUDGES_LEDE)
    board, records = open_board(), open_records()
    split = choose_rated(board, records)
    if split is not None:
        show(judge_tables(records.judges(split)))


PAGE = SitePage("Judges", "judges", _render, JUDGES_LEDE)
