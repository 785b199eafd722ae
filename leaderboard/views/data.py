"""Where the samples come from, how they are spread over classes, time and lengths, and how to verify a release."""

from __future__ import annotations

import streamlit as st

from leaderboard.components.dataset import dataset_section
from leaderboard.components.getting import get_samples
from leaderboard.components.pieces import notice
from leaderboard.components.release import release_sections
from leaderboard.components.source import balance_of, funnel
from leaderboard.data.tables import MAIN, Board, SplitKey
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
    _offer_files(board, split)
    show(release_sections(records, split))


def _offer_files(board: Board, split: SplitKey) -> None:
    """Buttons that hand out the released files."""
    files = board.released(split)
    show(get_samples(board, split, {}))
    with st.container(horizontal=True):
        for name, path in files.items():
            whole = f"{'-'.join(split)}-{name}"
            st.download_button(f"Download {name}", path.read_bytes, whole, "application/jsonl", key=f"released_{whole}",
                               on_click="ignore", type="tertiary")  # fmt: skip


PAGE = SitePage("Data", "data", _render, _LEDE)
