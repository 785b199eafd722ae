"""What a visitor carries from page to page: the board, and the chosen task and quarter, which also stand in the URL."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import streamlit as st

from hellofresh.core.workspace import Workspace
from hellofresh.submissions.intake.due import Due
from leaderboard.components.labels import EVERY, edition_choice, is_frozen, task_order, task_title, track_title
from leaderboard.components.markup import el, visible
from leaderboard.components.pieces import notice
from leaderboard.components.quarters import FEWEST_QUARTERS
from leaderboard.data.analyses_table import BoardAnalysis, load_analyses
from leaderboard.data.dues import load_dues
from leaderboard.data.records import Records, load_records
from leaderboard.data.tables import PROSPECTIVE, Board, SplitKey, load_board

__all__ = [
    "EVERY",
    "choose_many",
    "choose_one",
    "choose_split",
    "current_board",
    "note_link",
    "open_analyses",
    "open_board",
    "open_dues",
    "open_records",
    "search_text",
]

BOARD_VARIABLE = "HELLOFRESH_BOARD"
"""Environment variable that names another board than the workspace's."""
_SAMPLES = {EVERY: "Main", PROSPECTIVE: "Prospective"}
_LINKED = "linked"
Stamp = tuple[tuple[str, int, int], ...]


def open_board() -> Board:
    """The board of the workspace; read again when its files have changed, and shared by all visitors.

    Raises:
        DataError: if there is none or it is damaged.
    """
    board = current_board()
    if board.private:
        said = "It holds figures of quarters whose labels are not revealed. Keep it to yourself."
        st.html(str(el("div", notice("The maintainers' own board.", said), class_="hf")))
    return board


def current_board() -> Board:
    """The board, also where no page is drawn.

    Raises:
        DataError: if there is none or it is damaged.
    """
    folder = _folder()
    return _cached_board(folder, _stamp(folder))


def open_records() -> Records:
    """The board's further tables, kept like the board.

    Raises:
        DataError: if they are missing or damaged.
    """
    folder = _folder()
    return _cached_records(folder, _stamp(folder))


def open_analyses(split: SplitKey) -> tuple[BoardAnalysis, ...]:
    """The board's analyses of a split, kept like the board; empty where none were made.

    Raises:
        DataError: if an index of them is missing or damaged.
    """
    folder = _folder()
    indexes = sorted(folder.glob("analyses/*/*/index.json"))
    return _cached_analyses(folder, (*_stamp(folder), *(_stamp_of(path) for path in indexes))).get(split, ())


def open_dues() -> list[Due]:
    """What is due in each quarter, kept like the board.

    Raises:
        DataError: if the tables are missing or damaged.
    """
    folder = _folder()
    return _cached_dues(folder, _stamp(folder))


def _folder() -> Path:
    """The board that HELLOFRESH_BOARD names, such as the maintainers' own, else the workspace's public one."""
    named = os.environ.get(BOARD_VARIABLE)
    return Path(named) if named else Workspace.from_environment().board


def _stamp(folder: Path) -> Stamp:
    return tuple(_stamp_of(path) for path in sorted(folder.glob("*.*")))


def _stamp_of(path: Path) -> tuple[str, int, int]:
    return (path.name, path.stat().st_mtime_ns, path.stat().st_size)


@st.cache_resource(max_entries=2, show_spinner=False)
def _cached_analyses(folder: Path, stamp: Stamp) -> dict[SplitKey, tuple[BoardAnalysis, ...]]:
    return load_analyses(folder)


@st.cache_resource(max_entries=2, show_spinner=False)
def _cached_records(folder: Path, stamp: Stamp) -> Records:
    return load_records(folder)


@st.cache_resource(max_entries=2, show_spinner=False)
def _cached_board(folder: Path, stamp: Stamp) -> Board:
    return load_board(folder)


@st.cache_resource(max_entries=2, show_spinner=False)
def _cached_dues(folder: Path, stamp: Stamp) -> list[Due]:
    return load_dues(folder)


def choose_split(board: Board, *, every_quarter: bool = False, lanes: bool = False) -> SplitKey:
    """Let the visitor choose a task and one of its quarters.

    The URL's `task` and `edition` decide when they are new, else what was chosen last; both then go into the URL. A
    value in the URL that the board does not have is named to the visitor. Where neither says anything, it is the newest
    quarter whose labels are revealed.

    Args:
        board: the board.
        every_quarter: whether all quarters together, `all`, can be chosen too.
        lanes: whether a quarter's prospective samples can be chosen in place of its main ones, by the URL's `lane`.
    """
    with st.container(horizontal=True):
        tasks = sorted({split.task for split in board.splits}, key=task_order)
        tracks = len(set(map(track_title, tasks)))
        named = partial(_task_title, tracks=tracks > 1)
        task = choose_one("task", "Task", tasks, named, width=280)
        editions = [split.edition for split in board.splits if split.task == task]
        quarters = [name for name in editions if not is_frozen(name)]
        more = [EVERY] if every_quarter and (len(quarters) >= FEWEST_QUARTERS or _asks_for_every(quarters)) else []
        _rename_parameter("quarter", "edition")
        edition = choose_one(
            "edition",
            "Edition",
            [*quarters, *more, *(name for name in editions if is_frozen(name))],
            lambda name: edition_choice(board, SplitKey(name, task)),
            width=280,
            first=board.newest(task).edition,
        )
        split = SplitKey(edition, task)
        others = split._replace(kind=PROSPECTIVE)
        if st.query_params.get("lane", PROSPECTIVE) != PROSPECTIVE:
            del st.query_params["lane"]  # once a filter of the table, which is now the browser's
        known = [EVERY, *([PROSPECTIVE] if board.has_scores(others) else [])]
        if lanes and (len(known) > 1 or "lane" in st.query_params):
            lane = choose_one("lane", "Samples", known, lambda name: _SAMPLES[name], default=EVERY)
            return others if lane == PROSPECTIVE else split
    return split


def _asks_for_every(quarters: Sequence[str]) -> bool:
    """Whether an address asks for all quarters where the menu does not offer them yet."""
    return bool(quarters) and st.query_params.get("edition", st.session_state.get("box_edition")) == EVERY


def _task_title(task: str, *, tracks: bool) -> str:
    """The task's title, behind its track where there are several."""
    return f"{track_title(task)}: {task_title(task)}" if tracks else task_title(task)


def _rename_parameter(old: str, new: str) -> None:
    """Take the URL's parameter of an earlier version for what it is called today: links that people kept still work."""
    if old in st.query_params:
        st.query_params.setdefault(new, st.query_params[old])
        del st.query_params[old]


def choose_one(
    name: str,
    label: str,
    options: Sequence[str],
    title: Callable[[str], str] = str,
    *,
    width: int = 200,
    default: str | None = None,
    first: str | None = None,
) -> str:
    """A select box kept in step with the URL; a widget's own state is lost when another page is shown.

    Args:
        name: of the URL's parameter.
        label: over the box.
        options: at least one.
        title: how an option is shown.
        width: of the box in pixels.
        default: the option that leaves no trace in the URL; None if every one does.
        first: what is chosen where nothing else says; else the default, or the first of the options.
    """
    state, asked = st.session_state, next(iter(_news(name, [] if default is None else [default])), None)
    if asked is not None:
        state[f"kept_{name}"] = state[f"box_{name}"] = asked
        if asked not in options:
            state[f"refused_{name}"] = asked
    start = next((option for option in (first, default) if option in options), options[0])
    known = (state.get(f"{place}_{name}") for place in ("box", "kept"))
    # Said anew at each run: what is known may be of the box of another page, which this one does not begin with.
    state[f"box_{name}"] = next((value for value in known if value in options), start)
    value = str(st.selectbox(label, options, format_func=title, key=f"box_{name}", width=width))
    state[f"kept_{name}"] = value
    _write(name, [] if value == default else [value])
    refused = state.pop(f"refused_{name}", None)
    if refused is not None:
        st.text(f"The address asks for the {name} “{visible(refused)}”, which this board does not have.")
    return value


def choose_many(
    name: str,
    label: str,
    options: Sequence[str],
    title: Callable[[str], str] = str,
    *,
    default: Sequence[str] = (),
    most: int | None = None,
    about: str = "",
) -> list[str]:
    """Several of the options, kept in step with the URL like `choose_one`.

    Args:
        name: of the URL's parameter.
        label: over the box.
        options: what there is.
        title: how an option is shown.
        default: the options that leave no trace in the URL.
        most: how many can be chosen; None for all.
        about: what the choice is about; one about something else is forgotten, unless the URL brings it anew.
    """
    state, asked = st.session_state, _news(name, default)
    if asked:
        state[f"box_{name}"] = asked
    elif state.get(f"about_{name}", about) != about:
        state.pop(f"box_{name}", None)
        state.pop(f"kept_{name}", None)
    state[f"about_{name}"] = about
    wanted = state.get(f"box_{name}", state.get(f"kept_{name}", list(default)))
    state[f"box_{name}"] = [value for value in wanted if value in options][:most]
    box = st.multiselect(label, options, format_func=title, key=f"box_{name}", max_selections=most)
    values = [str(value) for value in box]
    state[f"kept_{name}"] = values
    _write(name, [] if values == list(default) else values)
    return values


def search_text(name: str, label: str, *, width: int = 200) -> str:
    """A line to search for, kept in step with the URL like `choose_one`; at most 100 characters."""
    state, asked = st.session_state, _news(name, [""])
    if asked:
        state[f"box_{name}"] = asked[0][:100]
    state[f"box_{name}"] = state.get(f"box_{name}", state.get(f"kept_{name}", ""))
    value = str(st.text_input(label, key=f"box_{name}", max_chars=100, width=width)).strip()
    state[f"kept_{name}"] = value
    _write(name, [value] if value else [])
    return value


def _news(name: str, default: Sequence[str]) -> list[str]:
    """What the URL newly asks of a parameter; the default where a link, or the way back, has left it out."""
    state, asked = st.session_state, st.query_params.get_all(name)
    written = state.get(f"written_{name}")
    if asked:
        return asked if asked != written else []
    return list(default) if written and state.get(_LINKED) else []


def note_link() -> None:
    """Remember whether the URL names anything as the page begins; if so, it says all that is not as usual."""
    st.session_state[_LINKED] = bool(st.query_params)


def _write(name: str, values: list[str]) -> None:
    """Put the values into the URL, and remember them as written by the page itself."""
    st.session_state[f"written_{name}"] = values
    if st.query_params.get_all(name) != values:
        if values:
            st.query_params[name] = values
        else:
            st.query_params.pop(name, None)
