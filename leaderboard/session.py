"""What a visitor carries from page to page: the board, and the chosen task and quarter, which also stand in the URL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st

from hellofresh.tasks import TASKS
from hellofresh.workspace import Workspace
from leaderboard.markup import visible
from leaderboard.tables import Board, Split, load_board

__all__ = ["choose_split", "open_board", "task_title"]

Stamp = tuple[tuple[str, int, int], ...]


def open_board() -> Board:
    """The board of the workspace; read again when its files have changed, and shared by all visitors.

    Raises:
        DataError: if there is none or it is damaged.
    """
    folder = Workspace.from_environment().board
    stamp = tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(folder.glob("*.*")))
    return _cached_board(folder, stamp)


@st.cache_resource(max_entries=2, show_spinner=False)
def _cached_board(folder: Path, stamp: Stamp) -> Board:
    return load_board(folder)


def choose_split(board: Board) -> Split:
    """Let the visitor choose a task and one of its quarters.

    The URL's `task` and `quarter` decide when they are new, else what was chosen last; both then go into the URL. A
    value in the URL that the board does not have is named to the visitor.
    """
    with st.container(horizontal=True):
        tasks = sorted({split.task for split in board.splits}, key=_task_order)
        task = _chosen("task", "Task", tasks, task_title, width=320)
        quarters = [split.quarter for split in board.splits if split.task == task]
        quarter = _chosen("quarter", "Quarter", quarters, lambda name: _quarter_title(board, Split(name, task)), 240)
    for name in ("task", "quarter"):
        refused = st.session_state.pop(f"refused_{name}", None)
        if refused is not None:
            st.text(f"The address asks for the {name} “{visible(refused)}”, which this board does not have.")
    return Split(quarter, task)


def task_title(task: str) -> str:
    """The task's title, or its bare name where this version does not know it."""
    return TASKS[task].title if task in TASKS else visible(task)


def _task_order(task: str) -> tuple[int, str]:
    known = list(TASKS)
    return (known.index(task) if task in known else len(known), task)


def _quarter_title(board: Board, split: Split) -> str:
    return f"{split.quarter} (bundled sample)" if board.is_bundled(split) else split.quarter


def _chosen(name: str, label: str, options: Sequence[str], title: Callable[[str], str], width: int) -> str:
    """A select box kept in step with the URL; a widget's own state is lost when another page is shown."""
    state, asked = st.session_state, st.query_params.get(name)
    if asked is not None and asked != state.get(f"written_{name}"):
        state[f"kept_{name}"] = state[f"box_{name}"] = asked
        if asked not in options:
            state[f"refused_{name}"] = asked
    if state.get(f"box_{name}") not in options:
        kept = state.get(f"kept_{name}")
        state[f"box_{name}"] = kept if kept in options else options[0]
    value = str(st.selectbox(label, options, format_func=title, key=f"box_{name}", width=width))
    state[f"kept_{name}"] = state[f"written_{name}"] = value
    if asked != value:
        st.query_params[name] = value
    return value
