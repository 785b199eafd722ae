"""One entry: where it stands and fails, its scores, its calibration, what it cost, and its record or receipt."""

from __future__ import annotations

from collections.abc import Iterable

from leaderboard.components.entry import entry_page
from leaderboard.components.labels import entry_label
from leaderboard.components.markup import el, named
from leaderboard.components.open_quarter import not_revealed
from leaderboard.components.quarters import contamination_notice
from leaderboard.data.board import Board, SplitKey
from leaderboard.views.visit import Choices, Page, Visit

_LEDE = "Everything that the board knows about one entry."


def _compose(visit: Visit) -> None:
    visit.header("System", _LEDE)
    board = visit.board
    split = visit.split()
    found = {result.entry.origin: result for result in board.headlines(split)}
    if not found:
        none = el("p", "No system has been scored on this task and quarter yet. Run: ", el("code", "make release"))
        visit.show(not_revealed(board, split) if board.is_open(split) else none)
        return
    origin = visit.one("system", "System", list(found), lambda key: entry_label(found[key].entry), width=480)
    visit.subject(named(found[origin].entry.name, 60), "On ")
    visit.show(contamination_notice(board, split), entry_page(board, split, found[origin], visit.links))


def _copies(board: Board, split: SplitKey) -> Iterable[Choices]:
    return [{"system": origin} for origin in board.entries(split)]


PAGE = Page("System", "system", _compose, _LEDE, _copies, "systems")
