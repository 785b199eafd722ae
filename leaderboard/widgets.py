"""Streamlit's own widgets for interactive parts: tables, charts, files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import polars as pl
import streamlit as st

from leaderboard.components.markup import el
from leaderboard.components.parts import ALL, ChartPart, DataColumn, DataTable, File, Offer
from leaderboard.components.tables import as_csv, as_json, as_latex, is_same, line_above

_ROW, _HEAD, _MOST_ROWS = 35, 38, 16
"""Pixels of a row and of the head, and maximal visible rows."""
_LONG, _LONGEST = 10, 92
"""Characters from which a title is long, and pixels of such a column of numbers."""


def show_table(table: DataTable) -> tuple[str, ...]:
    """Show a table with its search, filters and charts; returns the keys of ticked rows."""
    kept = _narrowed(table)
    at = [place for place, keep in enumerate(kept) if keep]
    frame = table.frame.filter(pl.Series(kept, dtype=pl.Boolean)) if len(at) < len(kept) else table.frame
    same = [
        one for one in table.columns if one.shown and not one.pinned and not one.number_format and is_same(one.values)
    ]
    shown = [column.title for column in table.columns if column.shown and column not in same]
    above = [(one.title, str(one.values[0])) for one in same if one.values[0] is not None]
    if above:
        st.html(str(el("div", line_above(above), class_="hf")))
    config = {column.title: _config(column) for column in table.columns}
    counted = [f"{len(at):,} of {len(kept):,} rows."] if len(at) < len(kept) else []
    counted += [] if at else ["Clear the search or a filter to see some."]
    counted += ["Ranks count the hidden too."] if counted and table.columns[0].title == "#" else []
    if said := " ".join([*counted, *_ticking(table)]):
        st.text(said)  # a caption has too little contrast
    common: dict[str, Any] = {
        "hide_index": True,
        "column_order": shown,
        "column_config": config,
        "height": _HEAD + _ROW * min(max(len(at), 1), _MOST_ROWS),
        "placeholder": "",
        "alt": table.title,
    }
    picked = _ticked(table, at, frame, common) if table.picks else ()
    if not table.picks:
        st.dataframe(frame, **common)
    for chart in table.charts if at else ():
        values = {name: [column[row] for row in at] for name, column in chart.values.items()}
        show_chart(replace(chart, values=values))
    return picked


def _ticking(table: DataTable) -> list[str]:
    """Explanation of ticks at the left of a row."""
    if not table.picks:
        return []
    if len(table.picks) > 1:
        return [f"Tick 2 to {len(table.picks)} rows at the left to compare them."]
    return [f"Tick a row at the left to open {'its page' if table.opens else 'it below'}."]


def _ticked(table: DataTable, at: Sequence[int], frame: pl.DataFrame, common: Mapping[str, Any]) -> tuple[str, ...]:
    """The table with a box at each row; returns the keys of ticked rows, which are part of the address.

    Args:
        table: to show.
        at: indices of the visible rows.
        frame: their values.
        common: options of display.
    """
    asked = [st.query_params[name] for name in table.picks if name in st.query_params] or table.picked
    keys = [table.keys[row] for row in at]
    # Ticks are places. Where other rows stand there they are set anew: another table would be drawn from scratch.
    box, shown = f"table {table.title}", f"rows of {table.title}"
    if box not in st.session_state or st.session_state.get(shown) != keys:
        rows = [place for place, key in enumerate(keys) if key in asked]
        st.session_state[box], st.session_state[shown] = {"selection": {"rows": rows}}, keys
    mode: Literal["multi-row", "single-row"] = "multi-row" if len(table.picks) > 1 else "single-row"
    state = st.dataframe(frame, key=box, on_select="rerun", selection_mode=mode, **common)
    picked = tuple(keys[row] for row in state.selection.rows if row < len(keys))[: len(table.picks)]
    _keep(table, picked)
    return picked


def _narrowed(table: DataTable) -> list[bool]:
    """The rows that pass the search and the filters, whose choices are part of the address."""
    kept = [True] * len(table.columns[0].values)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        found = ""
        if table.find:
            box = _from_address("find")
            st.text_input(table.find, key=box, on_change=_to_address, args=["find"], max_chars=100, width=240)
            found = st.session_state[box].strip().lower()
        for one in table.filters:
            if len(one.options) > 2:
                box = _from_address(one.name, one.options)
                st.selectbox(one.title, list(one.options), format_func=one.options.__getitem__, key=box,
                             on_change=_to_address, args=[one.name], width=170)  # fmt: skip
                chosen = st.session_state[box]
                marks = "" if found and chosen == ALL else one.marks.get(chosen, "")
                kept = [keep and mark == "1" for keep, mark in zip(kept, marks, strict=True)] if marks else kept
    return [keep and found in text for keep, text in zip(kept, table.texts, strict=True)] if found else kept


def _from_address(name: str, options: Collection[str] | None = None) -> str:
    """Set a box to the value in the address, or to nothing if this is not an option; returns the box's key."""
    asked = st.query_params.get(name, ALL)[:400]
    if options is not None and asked not in options:
        del st.query_params[name]
        st.text(f"The address asked for {name} “{asked[:60]}”, which is not here: left out.")
        asked = ALL
    st.session_state[f"box-{name}"] = asked
    return f"box-{name}"


def _to_address(name: str) -> None:
    """Write a box's choice to the address."""
    st.query_params[name] = st.session_state[f"box-{name}"]
    if not st.query_params[name]:
        del st.query_params[name]


def _keep(table: DataTable, picked: Sequence[str]) -> None:
    """Write the ticked rows to the address, unless they are the default."""
    for place, name in enumerate(table.picks):
        if place < len(picked) and tuple(picked) != tuple(table.picked):
            st.query_params[name] = picked[place]
        elif name in st.query_params:
            del st.query_params[name]


def _config(column: DataColumn) -> object:
    if column.number_format:
        # Long titles would push the values out of a phone's screen.
        width = _LONGEST if len(column.title) > _LONG else None
        return st.column_config.NumberColumn(
            format=column.number_format, help=column.help or None, pinned=column.pinned, width=width
        )
    return st.column_config.Column(help=column.help or None, pinned=column.pinned)


def show_chart(chart: ChartPart) -> None:
    """A chart in Streamlit's light or dark theme, with its description."""
    st.html(str(el("div", el("small", chart.title), class_="hf")))
    st.vega_lite_chart(pl.DataFrame(chart.values, strict=False), dict(chart.spec), alt=chart.title)


def show_file(file: File) -> None:
    """A download button."""
    content = file.content
    st.download_button(file.name, content.read_bytes if isinstance(content, Path) else content, file.name,
                       icon=":material/download:", on_click="ignore", key=f"file {file.name}")  # fmt: skip


def show_offer(offer: Offer) -> None:
    """Download buttons for rows in several formats."""
    with st.container(horizontal=True):
        for kind, ending, write in (("CSV", "csv", as_csv), ("JSON", "json", as_json), ("LaTeX", "tex", as_latex)):
            st.download_button(f"Download {kind}", partial(write, offer.rows), f"{offer.name}.{ending}",
                               icon=":material/download:", on_click="ignore")  # fmt: skip
