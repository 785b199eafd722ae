"""Where the samples come from: what each filter dropped, and how many of each label every period gave."""

from __future__ import annotations

from leaderboard.parts.pieces import notice
from leaderboard.parts.source import balance_of, funnel
from leaderboard.session import choose_split, open_board
from leaderboard.views._base import Page, header, show

__all__ = ["PAGE"]


def _render() -> None:
    header("Data", "How many rows the source had, why most of them were left out, and how the rest was balanced.")
    board = open_board()
    split = choose_split(board)
    bundled = notice("Bundled sample.", "These rows were written for the project. They show the machinery only.")
    parts = [funnel(board.funnel(split)), balance_of(split, board.balance(split))]
    show(bundled if board.is_bundled(split) else None, *parts)


PAGE = Page("Data", "data", _render)
