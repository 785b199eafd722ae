"""One entry: where it stands, its scores by period and prompt, what it cost, and the record of its run."""

from __future__ import annotations

from leaderboard.labels import entry_label
from leaderboard.markup import el
from leaderboard.parts.entry import entry_page
from leaderboard.session import choose_one, choose_split, open_board, open_records
from leaderboard.views._base import Page, header, show

__all__ = ["PAGE"]

_LEDE = "All that the board knows of one entry."


def _render() -> None:
    header("System", _LEDE)
    board, records = open_board(), open_records()
    split = choose_split(board)
    headlines = {result.entry.origin: result for result in board.headlines(split)}
    if not headlines:
        run = el("code", "make release")
        show(el("p", "No system has been scored on this task and quarter yet. Run: ", run))
        return
    origin = choose_one("system", "System", list(headlines), lambda key: entry_label(headlines[key].entry), width=480,
                        default=next(iter(headlines)))  # fmt: skip
    result, bundled = headlines[origin], board.is_bundled(split)
    standing = None if bundled else records.standings(split).get(origin)
    facts = records.systems(split).get(origin)
    by_period = board.by_period(split, [result.entry])[result.entry]
    by_prompt = board.by_prompt(split, result.entry)
    show(entry_page(result, standing, facts, by_period, by_prompt, bundled=bundled))


PAGE = Page("System", "system", _render)
