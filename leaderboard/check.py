"""The form of the page Check a table: a table, how it was read, and the comparison, by Streamlit's widgets."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import streamlit as st

from hellofresh.core.errors import DataError, HelloFreshError
from leaderboard.components.markup import el, page_header, problem, visible
from leaderboard.data.checks import MOST_MB, NO_TABLE, check_table
from leaderboard.data.uploads import Upload, visitor_of
from leaderboard.views.check import EXAMPLES, PAGE

_PARTS = {"item": "Items", "system": "Systems", "score": "Scores", "cluster": "Clusters", "repeat": "Repetitions"}
_LISTS = {"systems": "Only these systems", "without": "Leave out"}
_MISSING = {
    "fit": "fit effects of items and systems",
    "wrong": "count as the worst score",
    "drop": "leave their items out",
}
_LONGEST_PASTED, _PATIENCE_S = 2_000_000, 60  # checks run one at a time, since one may take gigabytes
_FILES, _PASTED, _FROM, _LAST = "check-files", "check-pasted", "check-from", "check-last"
_running: WeakValueDictionary[str, Lock] = WeakValueDictionary()


def show_alone() -> None:
    """The page on a site of its own, without a board."""
    st.html(str(page_header(PAGE.title, PAGE.about)))
    show_check()


def show_check() -> None:
    """The visitor's table and its comparison."""
    files, preset = _given()
    if not files:
        return
    mark = hashlib.sha256(b"".join(file.name.encode() + file.content for file in files)).hexdigest()[:12]
    chosen = {
        str(name).removeprefix(f"{mark}-"): value for name, value in st.session_state.items() if mark in str(name)
    }
    options = {name: value for name, value in {**preset, **chosen}.items() if value}
    try:
        with st.spinner("Comparing"):
            found = _found(files, mark, options)
    except HelloFreshError as error:
        st.html(str(problem(error, NO_TABLE)))
        return
    _options(found, mark, preset)
    if "problem" in found:
        st.html(found["problem"])
        return
    st.html(f'<div class="hf">{found["shown"]}</div>')
    with st.container(horizontal=True):
        for ending, content in found["files"].items():
            st.download_button(f"compared{ending}", content, f"compared{ending}", icon=":material/download:",
                               on_click="ignore")  # fmt: skip


def _given() -> tuple[list[Upload], Mapping[str, Any]]:
    """The files that the visitor gave last, and options that belong to them."""

    def came(source: str) -> None:
        st.session_state[_FROM] = source

    with st.container(horizontal=True):
        for title in EXAMPLES:
            st.button(title, on_click=came, args=[title])
    said = f"CSV, Parquet, JSON or JSON Lines, inspect or lm-eval logs; one table, or one file per system; {MOST_MB} MB"
    uploaded = st.file_uploader(said, accept_multiple_files=True, max_upload_size=MOST_MB, key=_FILES,
                                on_change=came, args=[_FILES])  # fmt: skip
    with st.expander("Or paste a table"):
        pasted = st.text_area("Rows of a spreadsheet, of a CSV file or of JSON Lines", key=_PASTED, height=160,
                              max_chars=_LONGEST_PASTED, on_change=came, args=[_PASTED])  # fmt: skip
    st.text("Nothing is kept or passed on: the table is read in a process of its own, which ends with the answer.")
    source = st.session_state.get(_FROM, "")
    if source in EXAMPLES:
        path, options = EXAMPLES[source]
        return [Upload(path.name, path.read_bytes())], options
    if source == _PASTED and pasted.strip():
        ending = {"{": "jsonl", "[": "json"}.get(pasted.strip()[0], "csv")
        return [Upload(f"pasted.{ending}", pasted.strip().encode(errors="replace"))], {}
    return [Upload(file.name, file.getvalue()) for file in uploaded or ()], {}


def _options(found: Mapping[str, Any], mark: str, preset: Mapping[str, Any]) -> None:
    """What was taken for what; each guess can be changed."""
    taken, columns = found["taken"], found["columns"]

    def shown(part: str) -> Any:
        guess = f"{visible(taken[part], 60)} (guessed)" if taken.get(part) else "as read"
        return lambda name: visible(name, 60) if name else guess

    if "said" in found:
        texts = visible(found["said"], 2000).split("`")
        read = (el("code", text) if place % 2 else text for place, text in enumerate(texts))
        st.html(str(el("div", el("p", "Read as ", *read, "."), class_="hf")))
    with st.expander("Read it differently", expanded="problem" in found):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            for part, title in _PARTS.items():
                at = columns.index(preset[part]) + 1 if preset.get(part) in columns else 0
                st.selectbox(title, ["", *columns], at, format_func=shown(part), key=f"{mark}-{part}", width=190)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            for part, title in _LISTS.items():
                st.multiselect(title, found["choices"], key=f"{mark}-{part}", width=300,
                               format_func=lambda name: visible(name, 60))  # fmt: skip
            st.text_input("Scale, such as 0,10", key=f"{mark}-scale", max_chars=40, width=150)
            st.selectbox(
                "Missing scores", list(_MISSING), format_func=_MISSING.__getitem__, key=f"{mark}-missing", width=270
            )
            st.checkbox("Lower is better", bool(preset.get("lower_is_better")), key=f"{mark}-lower_is_better")


def _found(files: Sequence[Upload], mark: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The comparison; the last one is kept for this visit. A visitor has one worker at a time.

    Raises:
        DataError: if another one of this visitor runs, or as `check_table`.
    """
    wanted = (mark, sorted(options.items(), key=str))
    last = st.session_state.get(_LAST)
    if last is None or last[0] != wanted:
        visitor = visitor_of(st.context.ip_address, st.context.headers.get("X-Real-IP"))
        lock = _running.setdefault(visitor, Lock())
        if not lock.acquire(timeout=_PATIENCE_S):
            what = "another table of yours is being compared"
            raise DataError(what, expected="one at a time", fix="Try again in a minute.", code="busy")
        try:
            last = st.session_state[_LAST] = (wanted, check_table(files, options))
        finally:
            lock.release()
    found: Mapping[str, Any] = last[1]
    return found
