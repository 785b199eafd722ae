"""A visit to the live site: the board, and controls whose choices stand in the address and go from page to page."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Unpack
from urllib.parse import urlencode

import streamlit as st

from hellofresh.core.clock import now
from hellofresh.core.editions import is_edition
from hellofresh.core.workspace import Workspace
from hellofresh.results.figures.charts import Figure, Mark, marks_of
from hellofresh.results.figures.vega import Specification, key_of, place
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import MAIN, PROSPECTIVE
from leaderboard.components.labels import (
    EVERY,
    SiteLinks,
    edition_choice,
    entry_label,
    is_frozen,
    quarter_title,
    task_order,
    task_title,
    track_title,
)
from leaderboard.components.markup import Html, el, named, visible
from leaderboard.components.pieces import notice, page_header
from leaderboard.components.quarters import FEWEST_QUARTERS
from leaderboard.components.tables import Row, as_csv, as_json, as_latex
from leaderboard.data.analyses import BoardAnalysis
from leaderboard.data.board import Board, SplitKey, load_board
from leaderboard.views import Visit
from leaderboard.views.visit import Control

BOARD_VARIABLE = "HELLOFRESH_BOARD"
"""Environment variable that names another board than the workspace's, such as the maintainers' own."""
_SAMPLES = {EVERY: "Main", PROSPECTIVE: "Prospective"}
_LINKED = "linked"
_MOST_SHOWN = 24
_COUNTER = re.compile(r"(?:param|view)_[0-9a-f]+(?:_[0-9]+)?")
_FILES = (
    ("CSV", "csv", "text/csv", as_csv),
    ("JSON", "json", "application/json", as_json),
    ("LaTeX", "tex", "application/x-tex", as_latex),
)
_option = partial(visible, limit=110)


def current_board() -> Board:
    """The board; read again when its files have changed, and shared by all visitors.

    Raises:
        DataError: if there is none or it is damaged.
    """
    folder = board_folder()
    return _cached_board(folder, stamp_of(folder))


def board_folder() -> Path:
    """The board that HELLOFRESH_BOARD names, else the workspace's public one."""
    named = os.environ.get(BOARD_VARIABLE)
    return Path(named) if named else Workspace.from_environment().board


def stamp_of(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """What differs when a file of the board has changed."""
    paths = [*sorted(folder.glob("*.*")), *sorted(folder.glob("analyses/*/*/index.json"))]
    return tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in paths)


@st.cache_resource(max_entries=2, show_spinner=False)
def _cached_board(folder: Path, stamp: object) -> Board:
    return load_board(folder)


class LiveVisit(Visit):
    """A visit with controls.

    A widget's own state is lost when another page is shown. So each choice is kept in the session too, under `kept_`
    and its name, and in the address; `written_` is what the page itself put there, so that a change can be recognised.
    """

    live = True

    @classmethod
    def begin(cls) -> LiveVisit:
        """A visit that begins now.

        Raises:
            DataError: if there is no board or it is damaged.
        """
        # If the address names anything, it says all that is not as usual.
        st.session_state[_LINKED] = bool(st.query_params)
        return cls(current_board(), SiteLinks(), now())

    def header(self, title: str, lede: str) -> None:
        """See `Visit`; the maintainers' own board warns of itself."""
        st.html(str(page_header(title, lede)))
        if self.board.private:
            said = "It holds figures of quarters whose labels are not revealed. Keep it to yourself."
            self.show(notice("The maintainers' own board.", said))

    def show(self, *parts: Html | str | None) -> None:
        """See `Visit`."""
        if any(part is not None for part in parts):
            st.html(str(el("div", *parts, class_="hf")))

    def row(self) -> AbstractContextManager[object]:
        return st.container(horizontal=True, vertical_alignment="bottom")

    def split(self, *, every_quarter: bool = False, lanes: bool = True) -> SplitKey:
        """See `Visit`.

        The address's `task` and `edition` decide when they are new, else what was chosen last; both then go into the
        address. Where neither says anything, it is the newest quarter whose labels are revealed.
        """
        board = self.board
        with st.container(horizontal=True):
            tasks = sorted({split.task for split in board.splits}, key=task_order)
            several = len(set(map(track_title, tasks))) > 1
            titles = {
                name: f"{track_title(name)}: {task_title(name)}" if several else task_title(name) for name in tasks
            }
            task = self.one("task", "Task", titles, width=280)
            editions = [split.edition for split in board.splits if split.task == task]
            quarters = [name for name in editions if not is_frozen(name)]
            asked = st.query_params.get("edition", st.session_state.get("box_edition")) == EVERY
            more = [EVERY] if every_quarter and quarters and (len(quarters) >= FEWEST_QUARTERS or asked) else []
            if "quarter" in st.query_params:  # its name in earlier versions: links that people kept still work
                st.query_params.setdefault("edition", st.query_params["quarter"])
                del st.query_params["quarter"]
            ordered = [*quarters, *more, *(name for name in editions if is_frozen(name))]
            choices = {name: edition_choice(board, SplitKey(name, task)) for name in ordered}
            edition = self.one("edition", "Edition", choices, width=280, first=board.newest(task).edition)
            others = SplitKey(edition, task, PROSPECTIVE)
            if st.query_params.get("lane", PROSPECTIVE) != PROSPECTIVE:
                del st.query_params["lane"]  # once a filter of the table, which is now the browser's
            known = [EVERY, *([PROSPECTIVE] if board.has_scores(others) else [])]
            if lanes and (len(known) > 1 or "lane" in st.query_params):
                lane = self.one("lane", "Samples", {name: _SAMPLES[name] for name in known}, default=EVERY)
                return others if lane == PROSPECTIVE else SplitKey(edition, task)
        return SplitKey(edition, task)

    def split_among(self, name: str, label: str, splits: Sequence[SplitKey]) -> SplitKey:
        """See `Visit`."""
        known = {f"{split.task} {split.edition}": split for split in splits}
        titles = {key: f"{task_title(one.task)}, {quarter_title(self.board, one)}" for key, one in known.items()}
        return known[self.one(name, label, titles, width=480)]

    def one(self, name: str, label: str, titles: Mapping[str, str], **control: Unpack[Control]) -> str:
        """See `Visit`; a value in the address that is not an option is named to the visitor."""
        options, default = list(titles), control.get("default")
        state, asked = st.session_state, next(iter(_news(name, [] if default is None else [default])), None)
        if asked is not None:
            state[f"kept_{name}"] = state[f"box_{name}"] = asked
        known = [state.get(f"{place}_{name}") for place in ("box", "kept")]
        # Said anew at each run: what is known may be of the box of another page, which this one does not begin with.
        wanted = (value for value in (*known, control.get("first"), default) if value in options)
        state[f"box_{name}"] = next(wanted, options[0])
        width = control.get("width", 200)
        value = str(st.selectbox(label, options, format_func=titles.__getitem__, key=f"box_{name}", width=width))
        _write(name, value, [] if value == default else [value])
        if asked is not None and asked not in options:
            st.text(f"The address asks for the {name} “{visible(asked)}”, which this board does not have.")
        return value

    def many(
        self, name: str, label: str, titles: Mapping[str, str], *, default: Sequence[str], most: int, about: str
    ) -> list[str]:
        """See `Visit`."""
        options, state, asked = list(titles), st.session_state, _news(name, default)
        if asked:
            state[f"box_{name}"] = asked
        elif state.get(f"about_{name}", about) != about:
            state.pop(f"box_{name}", None)
            state.pop(f"kept_{name}", None)
        state[f"about_{name}"] = about
        wanted = state.get(f"box_{name}", state.get(f"kept_{name}", list(default)))
        state[f"box_{name}"] = [value for value in wanted if value in options][:most]
        box = st.multiselect(label, options, format_func=titles.__getitem__, key=f"box_{name}", max_selections=most)
        values = [str(value) for value in box]
        _write(name, values, [] if values == list(default) else values)
        return values

    def search(self, name: str, label: str) -> str:
        """See `Visit`; at most 100 characters."""
        state, asked = st.session_state, _news(name, [""])
        if asked:
            state[f"box_{name}"] = asked[0][:100]
        state[f"box_{name}"] = state.get(f"box_{name}", state.get(f"kept_{name}", ""))
        value = str(st.text_input(label, key=f"box_{name}", max_chars=100, width=200)).strip()
        _write(name, value, [value] if value else [])
        return value

    def asked(self, name: str) -> str:
        return st.query_params.get(name, "")

    def address_with(self, name: str, value: str) -> str:
        """See `Visit`."""
        query = {key: st.query_params.get_all(key) for key in st.query_params} | {name: [value]}
        return f"./samples?{urlencode(query, doseq=True)}"

    def offer(self, rows: Callable[[], Sequence[Row]], name: str) -> None:
        """See `Visit`; nothing is written before a button is pressed."""
        with st.container(horizontal=True):
            for kind, ending, mime, write in _FILES:
                self.button(f"Download {kind}", partial(_written, write, rows), f"{name}.{ending}", mime)

    def button(self, label: str, content: bytes | Callable[[], bytes], name: str, mime: str) -> None:
        """See `Visit`."""
        st.download_button(label, content, name, mime, key=f"download_{name}", on_click="ignore", type="tertiary")

    def figure(self, analysis: BoardAnalysis, about: str) -> None:
        """See `Visit`: interactive, of the leading systems unless the visitor chooses others."""
        figure = analysis.text.figure
        if figure is None:
            return
        chosen = list(figure.systems)
        if figure.left_out:
            said = f"Systems in the figure: {figure.most} of {len(chosen)} unless you choose others; the table has all"
            titles = {name: _option(name) for name in chosen}
            chosen = self.many("show", said, titles, default=figure.leading, most=_MOST_SHOWN, about=about)
        if not chosen:
            self.show(el("p", "Choose at least one system."))
            return
        marks = marks_of(analysis.points(), chosen)
        placed = place(figure, marks, analysis.text.question, picked=self._picked(figure, marks))
        if not placed:
            self.show(el("p", "These systems alone leave nothing to show: choose more."))
        for start in range(0, len(placed), figure.columns):
            places = st.columns(figure.columns) if figure.columns > 1 else [st.container()]
            for where, chart in zip(places, placed[start : start + figure.columns], strict=False):
                with where:
                    if chart.title:
                        more = el("small", visible(chart.more, 110)) if chart.more else None
                        self.show(el("h3", named(chart.title, 110), more, class_="hf-chart-title"))
                    st.vega_lite_chart(spec=for_streamlit(chart.spec), width="stretch")

    def _picked(self, figure: Figure, marks: Sequence[Mark]) -> Sequence[str]:
        """The key of all charts where they share one, and what the visitor picks in it."""
        colours = dict(key_of(figure, marks))
        if not colours:
            return ()
        title = figure.charts[0].series.title
        squares = {name: el("i", style=f"background:{colour}", aria_hidden="true") for name, colour in colours.items()}
        items = (el("li", square, named(name, 60)) for name, square in squares.items())
        self.show(el("ul", *items, class_="hf-key", aria_label=f"Colours: {title}"))
        if len(colours) == 1:
            return ()
        with st.container(horizontal=True):
            titles = {name: _option(name) for name in (EVERY, *colours)}
            picked = self.one("highlight", f"Highlight a {title}", titles, default=EVERY)
        return () if picked == EVERY else (picked,)


def _written(write: Callable[[Sequence[Row]], str], rows: Callable[[], Sequence[Row]]) -> bytes:
    return write(rows()).encode()


def for_streamlit(spec: Specification) -> Specification:
    """With a space that does not show after texts like the names that Streamlit renumbers within specifications."""
    return {name: _marked(part) for name, part in spec.items()}


def _marked(part: object) -> object:
    if isinstance(part, dict):
        return for_streamlit(part)
    if isinstance(part, list):
        return [_marked(item) for item in part]
    return f"{part}\N{NO-BREAK SPACE}" if isinstance(part, str) and _COUNTER.fullmatch(part) else part


def _news(name: str, default: Sequence[str]) -> list[str]:
    """What the URL newly asks of a parameter; the default where a link, or the way back, has left it out."""
    state, asked = st.session_state, st.query_params.get_all(name)
    written = state.get(f"written_{name}")
    if asked:
        return asked if asked != written else []
    return list(default) if written and state.get(_LINKED) else []


def _write(name: str, chosen: str | list[str], values: list[str]) -> None:
    """Keep what was chosen, and put the values into the URL, remembered as written by the page itself."""
    st.session_state[f"kept_{name}"] = chosen
    st.session_state[f"written_{name}"] = values
    if st.query_params.get_all(name) != values:
        if values:
            st.query_params[name] = values
        else:
            st.query_params.pop(name, None)


def page_title(board: Board, page: str, query: Mapping[str, str]) -> str:
    """The title of a window, such as `gpt-x · Team · zero-shot · Community Notes, 2026Q2 · System · HelloFresh`.

    Args:
        board: has the entries.
        page: its title.
        query: of its address; texts that are not a task, edition or entry of the board are left out.
    """
    task, edition = query.get("task", ""), query.get("edition", "")
    kind = PROSPECTIVE if query.get("lane") == PROSPECTIVE else MAIN
    parts = []
    if task in TASKS and edition:
        about = [query[key] for key in ("system", "one", "two") if key in query]
        entries = board.entries(SplitKey(edition, task, kind)) if about else {}
        both = [entry_label(entries[origin]) for origin in about if origin in entries]
        parts += [" and ".join(both)] if both else []
        parts += [visible(query["sample"], 60)] if "sample" in query else []
    if task in TASKS and (is_edition(edition) or edition == EVERY):
        more = f", {PROSPECTIVE}" if kind == PROSPECTIVE else ""
        parts.append(f"{task_title(task)}, {'all quarters' if edition == EVERY else edition}{more}")
    return " \N{MIDDLE DOT} ".join([*parts, page, "HelloFresh"])
