"""How the benchmark works, for readers who want to know before they trust a number."""

from __future__ import annotations

import streamlit as st

from leaderboard.components.about import about_benchmark, about_board, about_changes
from leaderboard.data.changes import read_changelog
from leaderboard.views._base import SitePage, header
from leaderboard.views.session import open_board

__all__ = ["PAGE"]

_LEDE = "How the benchmark is made, and what its numbers can and cannot say."


def _render() -> None:
    header("About", _LEDE)
    st.html(str(about_benchmark()))
    st.html(str(about_board(open_board())))
    changes = about_changes(read_changelog())
    if changes is not None:
        st.html(str(changes))


PAGE = SitePage("About", "about", _render, _LEDE)
