"""Buttons that hand out what a page shows as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from leaderboard.components.formats import Row, as_csv, as_json, as_latex

__all__ = ["offer"]


def offer(rows: Callable[[], Sequence[Row]], name: str) -> None:
    """Buttons that hand out the rows; nothing is written before one is pressed.

    Args:
        rows: gives them, all with the same columns.
        name: of the files, without ending.
    """
    with st.container(horizontal=True):
        for kind, ending, mime, write in (
            ("CSV", "csv", "text/csv", as_csv),
            ("JSON", "json", "application/json", as_json),
            ("LaTeX", "tex", "application/x-tex", as_latex),
        ):
            st.download_button(f"Download {kind}", partial(_written, write, rows), f"{name}.{ending}", mime,
                               key=f"download_{name}_{kind}", on_click="ignore", type="tertiary")  # fmt: skip


def _written(write: Callable[[Sequence[Row]], str], rows: Callable[[], Sequence[Row]]) -> str:
    return write(rows())
