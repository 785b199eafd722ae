"""Streamlit's own widgets for interactive parts: tables, charts, files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import polars as pl
import streamlit as st

from leaderboard.components.markup import el, named
from leaderboard.components.parts import (
    ALL,
    ChartPart,
    DataColumn,
    DataTable,
    File,
    GuessPart,
    Offer,
    Part,
    RankingPart,
)
from leaderboard.components.tables import as_csv, as_json, as_latex, is_same, line_above

_ROW, _HEAD, _MOST_ROWS = 35, 38, 16  # pixels of a row and of the head, and maximal visible rows
_LONG, _LONGEST = 10, 92  # characters from which a title is long, and pixels of such a column of numbers


def show_table(table: DataTable) -> tuple[str, ...]:
    """Show a table with its search, filters and charts; returns the keys of ticked rows."""
    return _show_frame(table, _narrowed(table))


def _show_frame(table: DataTable, kept: Sequence[bool]) -> tuple[str, ...]:
    """Show the rows of a table that are kept, and its charts; returns the keys of ticked rows."""
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


def show_ranking(part: RankingPart, show: Callable[[Part], None]) -> None:
    """A ranking: its filters behind a button, then tabs with the picture, the values, and what belongs to it."""
    chosen = sum(bool(st.query_params.get(one.name)) for one in part.table.filters)
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        if chosen:
            st.text(f"{chosen} {'filter' if chosen == 1 else 'filters'} set")
        with st.popover("Filters"):
            kept = _narrowed(part.table)
        with st.popover("Share"):
            query = urlencode(st.query_params.to_dict())  # Streamlit's address of a page leaves it out
            st.code(f"{st.context.url or ''}{query and '?'}{query}", language=None)
    picture, values, *others = st.tabs(["Ranking", "Table", *part.tabs])
    with picture:
        st.html(str(el("div", part.draw(kept), class_="hf")))
    with values:
        _show_frame(part.table, kept)
    for tab, parts in zip(others, part.tabs.values(), strict=True):
        with tab:
            for one in parts:
                show(one)


def show_guess(part: GuessPart) -> None:
    """A sample at a time with a button for each class, and how many the visitor and the best system got right."""
    answers: list[int] = st.session_state.setdefault("guesses", [])
    answers = answers if len(answers) <= len(part.samples) else []
    place = len(answers)
    if place:
        _, truth, said = part.samples[place - 1]
        right = answers[-1] == truth
        verdict = el("strong", "\N{CHECK MARK} Right. " if right else "Wrong. ", class_="hf-right" if right else None)
        st.html(str(el("div", el("p", verdict, said), class_="hf hf-answered", role="status")))
    if place < len(part.samples):
        st.html(str(el("div", part.samples[place][0], class_="hf")))
        with st.container(horizontal=True):
            for label in reversed(range(len(part.classes))):
                # alike: a coloured one would suggest its answer
                st.button(part.classes[label].capitalize(), key=f"guess-{place}-{label}", width="stretch",
                          on_click=answers.append, args=[label])  # fmt: skip
    if place:
        mine = sum(answer == truth for answer, (_, truth, _) in zip(answers, part.samples, strict=False))
        tally = [el("span", "You ", el("b", f"{mine} of {place}"))]
        if part.best:
            theirs = f"{sum(part.best[1][:place])} of {place}"
            tally.append(el("span", "Best system, ", named(part.best[0], 24), " ", el("b", theirs)))
        st.html(str(el("div", *tally, class_="hf hf-tally")))
    if place == len(part.samples):
        st.button("Start again", key="guess-again", on_click=answers.clear)


def _ticking(table: DataTable) -> list[str]:
    """Explanation of ticks at the left of a row."""
    if not table.picks:
        return []
    if len(table.picks) > 1:
        return [f"Tick 2 to {len(table.picks)} rows at the left to compare them."]
    return ["Tick a row at the left to open it."]


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
    # So they are where Back or a link has changed the address.
    box, shown, seen = (f"{what} {table.title}" for what in ("table", "rows of", "address of"))
    if box not in st.session_state or st.session_state.get(shown) != keys or st.session_state.get(seen) != list(asked):
        rows = [place for place, key in enumerate(keys) if key in asked]
        st.session_state[box], st.session_state[shown] = {"selection": {"rows": rows}}, keys
    mode: Literal["multi-row", "single-row"] = "multi-row" if len(table.picks) > 1 else "single-row"
    state = st.dataframe(frame, key=box, on_select="rerun", selection_mode=mode, **common)
    picked = tuple(keys[row] for row in state.selection.rows if row < len(keys))[: len(table.picks)]
    _keep(table, picked)
    st.session_state[seen] = list(picked)
    return picked


def untick(table: DataTable) -> None:
    """Take the ticks off a table, as its details were closed."""
    st.session_state[f"table {table.title}"] = {"selection": {"rows": []}}
    _keep(table, ())
    st.session_state[f"address of {table.title}"] = []


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
        st.text(f"The address asked for {name} “{asked[:60]}”, which is not here, so it was ignored.")
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
