"""One entry: where it stands and fails, its scores, its calibration, what it cost, and its record or receipt."""

from __future__ import annotations

from leaderboard.components.dataset import contamination_notice
from leaderboard.components.entry import EntryRecord, entry_page
from leaderboard.components.labels import entry_label
from leaderboard.components.links import SiteLinks
from leaderboard.components.markup import el
from leaderboard.components.open_quarter import not_revealed
from leaderboard.views._base import SitePage, header, show
from leaderboard.views.session import choose_one, choose_split, open_board, open_records

__all__ = ["PAGE"]

_LEDE = "Everything that the board knows about one entry."


def _render() -> None:
    header("System", _LEDE)
    board, records = open_board(), open_records()
    split = choose_split(board, lanes=True)
    headlines = {result.entry.origin: result for result in board.headlines(split)}
    if not headlines:
        none = el("p", "No system has been scored on this task and quarter yet. Run: ", el("code", "make release"))
        show(not_revealed(records, split) if board.is_open(split) else none)
        return
    origin = choose_one("system", "System", list(headlines), lambda key: entry_label(headlines[key].entry), width=480)
    result = headlines[origin]
    shown = entry_page(result, EntryRecord.of(board, records, split, result), SiteLinks())
    show(contamination_notice(records, split), shown)


PAGE = SitePage("System", "system", _render, _LEDE)
