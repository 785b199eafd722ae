"""Where the samples come from, how they are spread over classes, time and lengths, and how to verify a release."""

from __future__ import annotations

from leaderboard.components.dataset import dataset_section
from leaderboard.components.pieces import notice
from leaderboard.components.release import release_sections
from leaderboard.components.source import balance_of, funnel
from leaderboard.data.tables import MAIN
from leaderboard.views._base import SitePage, header, show
from leaderboard.views.session import choose_split, open_board, open_records

__all__ = ["PAGE"]

_LEDE = "Where the samples come from, how they are spread, what is released, and how to verify it."


def _render() -> None:
    header("Data", _LEDE)
    board, records = open_board(), open_records()
    split = choose_split(board, lanes=True)
    bundled = notice("Bundled sample.", "These rows were written for the project. They show the machinery only.")
    show(bundled if board.is_bundled(split) else None)
    dataset = dataset_section(records, split)
    if dataset is not None:
        show(dataset)
    elif split.kind == MAIN:
        show(funnel(board.funnel(split)), balance_of(split, board.balance(split)))
    show(release_sections(records, split))


PAGE = SitePage("Data", "data", _render, _LEDE)
