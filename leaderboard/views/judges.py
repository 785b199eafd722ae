"""The judges of responses that are no people, beside people: how far each agrees, and whether it may rank systems."""

from __future__ import annotations

from leaderboard.components.markup import el
from leaderboard.components.ratings import judge_table
from leaderboard.views._base import SitePage, header, show
from leaderboard.views.responses import choose_rated
from leaderboard.views.session import open_board, open_records

__all__ = ["PAGE"]

_LEDE = "Models, classifiers and rules that judge responses, beside the people whose place they would take."
_RULE = (
    "A judge's scores rank systems only if the share of pairs of responses to one post that it orders as people do has "
    "a lower limit above 65%. How far people agree with each other stands beside it, as the measure of what to expect."
)


def _render() -> None:
    header("Judges", _LEDE)
    board, records = open_board(), open_records()
    split = choose_rated(board, records)
    if split is None:
        return
    rows = records.judges(split)
    show(el("p", _RULE))
    if not rows:
        show(el("p", "Only people have judged here. Have a model judge with: ", el("code", "hellofresh judge")))
    for judge in dict.fromkeys(row.judge for row in rows):
        show(judge_table(judge, [row for row in rows if row.judge == judge]))


PAGE = SitePage("Judges", "judges", _render)
