"""The pages of `leaderboard.views` in Streamlit: the same as in the static copy, with Streamlit's own widgets.

A page is composed once for each board, task, edition and choice, and shared by all visitors. Its parts are never
changed, so they are kept without copies: Streamlit's data cache would copy them for each visit and each click.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import streamlit as st
from streamlit.navigation.page import Page as StreamlitPage

from hellofresh.core.clock import now
from hellofresh.core.errors import HelloFreshError, UsageError
from hellofresh.core.files import sha256_file
from hellofresh.submissions.check import Due
from hellofresh.tasks.samples import MAIN
from leaderboard.check import show_alone, show_check
from leaderboard.components.labels import Links, PageKey, dated, edition_choice, task_order, task_title
from leaderboard.components.markup import Html, el, inline_picture, inner_link, join, problem, sized, visible
from leaderboard.components.parts import (
    ChartPart,
    Chooser,
    DataTable,
    File,
    GuessPart,
    Offer,
    Part,
    RankingPart,
    TableForm,
    TwoColumns,
    UploadForm,
)
from leaderboard.components.ranking import highlight_style
from leaderboard.components.tables import Row
from leaderboard.data.board import Board, SplitKey, load_board
from leaderboard.data.uploads import load_dues
from leaderboard.serving import board_folder
from leaderboard.submit import show_form
from leaderboard.views import Page, Visit, all_pages, foot, home_of, page_keys
from leaderboard.widgets import show_chart, show_file, show_guess, show_offer, show_ranking, show_table, untick

_STYLE = Path(__file__).with_name("style.css")
_HERE = ("localhost", "127.0.0.1", "::1")
# Environment variable of a site that is the page Check a table alone, without a board.
_TABLE_ONLY = "HELLOFRESH_TABLE_ONLY"


class AddressLinks(Links):
    """Streamlit's own addresses of pages, with the split and choices as parameters; no address sends on to another."""

    def to(self, page: str, split: SplitKey, **choices: str) -> str | None:
        """See `Links`."""
        if (page, split, ()) not in self.paths and (page, split, tuple(choices.items())) not in self.paths:
            return None
        return f"./{page}?{urlencode({**address_of(split), **choices})}"


@dataclass(slots=True, eq=False)
class LiveVisit(Visit):
    """A page whose tables, charts and files remain values; files are below the text that names them."""

    attached: list[File] = field(default_factory=list)

    def show(self, *parts: Html | str | None) -> None:
        """Show parts of the page, then what was attached while they were made."""
        self.body += [*parts, *self.attached]
        self.attached.clear()

    def choose(self) -> None:
        """Show the boxes of task and edition."""
        self.body.append(Chooser())

    def handle(self, drawn: Callable[[], Html | str | None], *values: Callable[[], Part | None]) -> None:
        """Show the values."""
        self.body += (make() for make in values)

    def offer(self, rows: Sequence[Row], name: str) -> None:
        """Offer rows of the same columns as files of this name, without ending."""
        self.body.append(Offer(name, rows))

    def attach(self, name: str, content: bytes | Path) -> None:
        """Offer a file."""
        self.attached.append(File(name.rpartition("/")[2], content))

    def picture(self, name: str, wide: bytes, narrow: bytes, said: str) -> Html:
        """A picture embedded in the page; the style hides one of two, since Streamlit drops embedded sources."""
        both = {"hf-narrow": narrow, "hf-broad": wide} if narrow else {None: wide}
        return join(
            sized("img", svg, src=inline_picture(svg), alt=said, loading="lazy", class_=name)
            for name, svg in both.items()
        )


def address_of(split: SplitKey) -> dict[str, str]:
    """The parameters that name a split."""
    return {"task": split.task, "edition": edition_key(split)}


def edition_key(split: SplitKey) -> str:
    """The edition in the address; for samples other than the main ones, with their kind."""
    return split.edition if split.kind == MAIN else f"{split.edition}-{split.kind}"


class Shown(NamedTuple):
    """The shown board: its folder, and the fingerprint of its manifest."""

    folder: Path
    fingerprint: str

    @classmethod
    def now(cls) -> Shown:
        """The present state on disk; without a fingerprint if there is no board."""
        folder = board_folder()
        manifest = folder / "manifest.json"
        return cls(folder, sha256_file(manifest)[:12] if manifest.is_file() else "")


@st.cache_resource(max_entries=1, show_spinner=False)
def board_of(shown: Shown) -> Board:
    """The board, shared by all visitors until it changes; pages composed from the previous one are dropped."""
    composed.clear()
    return load_board(shown.folder)


@st.cache_data(max_entries=2, show_spinner=False)
def dues_of(shown: Shown) -> list[Due]:
    """Open tasks by the board's tables."""
    return load_dues(shown.folder)


@st.cache_resource(max_entries=2, show_spinner=False)
def places_of(shown: Shown) -> tuple[dict[PageKey, str], SplitKey]:
    """All pages of the board, and the split of the first page."""
    board = board_of(shown)
    home = home_of(board)
    once = {(page.path, home, ()): "" for page in all_pages() if page.once}
    return dict.fromkeys(page_keys(board), "") | once, home


@st.cache_resource(max_entries=200, show_spinner=False)
def composed(
    shown: Shown, path: str, split: SplitKey, choices: Mapping[str, str], picked: tuple[str, ...] | None = None
) -> list[Part]:
    """The parts of a page, or those behind ticked rows; consecutive texts are joined."""
    page = next(page for page in all_pages() if page.path == path)
    links = AddressLinks(places_of(shown)[0], "")
    visit = LiveVisit(board_of(shown), links, page, split, choices)
    if picked is None:
        page.compose(visit)
    elif page.opened is not None:
        page.opened(visit, picked)
    parts: list[Part] = []
    for part in visit.body:
        if isinstance(part, Html | str) and parts and isinstance(parts[-1], Html):
            parts[-1] = join([parts[-1], part])
        elif part is not None:
            parts.append(join([part]) if isinstance(part, Html | str) else part)
    return parts


def main() -> None:
    """Show the page at the address, or the error and its remedy."""
    st.set_page_config(
        page_title="HelloFresh leaderboard", page_icon=str(_STYLE.parent / "export/icon.svg"), layout="wide"
    )
    st.html(f"<style>{_STYLE.read_text(encoding='utf-8')}\n{highlight_style()}</style>")
    try:
        _need_own_name()
        if os.environ.get(_TABLE_ONLY):
            show_alone()
            return
        shown = Shown.now()
        board = board_of(shown)
        if board.private and st.get_option("server.address") not in _HERE:
            raise UsageError(
                "it has figures of unrevealed quarters, so it is shown on this machine only",
                where=str(shown.folder), expected="--server.address=localhost", code="private-board",
            )  # fmt: skip
        _run(shown)
    except HelloFreshError as error:
        st.html(str(problem(error)))


def _need_own_name() -> None:
    """Refuse visits under a host name other than this machine's if only this machine is served.

    Otherwise any page in the same browser could resolve its own name to this machine, and read the content.

    Raises:
        UsageError: if the visitor's browser asked for another host (`foreign-host`).
    """
    host = st.context.headers.get("Host")
    if st.get_option("server.address") not in _HERE or st.get_option("server.allowedHosts"):
        return  # for other visitors, who use the names of the proxy or the setting
    if isinstance(host, str) and re.sub(r":\d+$", "", host).strip("[]") not in _HERE:
        raise UsageError(
            f"the site is shown on this machine only, but was requested as {host}", expected="http://localhost",
            fix="For a name of its own, set STREAMLIT_SERVER_ALLOWED_HOSTS to it.", code="foreign-host",
        )  # fmt: skip


def _run(shown: Shown) -> None:
    places, _ = places_of(shown)
    there = {path for path, *_ in places}
    alone = {path for path, _, choices in places if not choices}
    pages: dict[str, StreamlitPage] = {}
    for page in all_pages():
        if page.path in there:
            pages[page.path] = st.Page(
                partial(_show_page, page, shown, pages),
                title=page.title,
                url_path=page.path,
                default=page is all_pages()[0],
                visibility="visible" if page.path in alone else "hidden",
            )
    st.navigation(list(pages.values()), position="hidden").run()


def _show_page(page: Page, shown: Shown, pages: Mapping[str, StreamlitPage]) -> None:
    """Show a page with the menu, the choice of its task and edition, and its footer."""
    board, (places, home) = board_of(shown), places_of(shown)
    mine = list(dict.fromkeys(split for path, split, _ in places if path == page.path))
    split = home if page.once else _chosen(mine, home)
    _show_menu(page, pages, address_of(split) if not page.once or "task" in st.query_params else {})
    query = st.query_params.to_dict()
    options = [dict(choices) for path, one, choices in places if (path, one) == (page.path, split) and choices]
    choices = next((one for one in options if one.items() <= query.items()), {})
    if not page.once and not choices and (page.path, split, ()) not in places:
        _show_absent(page, split, options, places)
    else:
        _show_parts(page, shown, split, choices, mine)
    st.html(str(foot(board, shown.fingerprint)))


def _show_parts(
    page: Page, shown: Shown, split: SplitKey, choices: Mapping[str, str], mine: Sequence[SplitKey]
) -> None:
    """The parts of a page, files beside each other."""
    board = board_of(shown)
    for files, parts in groupby(composed(shown, page.path, split, choices), lambda part: isinstance(part, File)):
        with st.container(horizontal=files):
            for part in parts:
                if isinstance(part, DataTable):
                    _show_table(part, page, shown, split)
                elif isinstance(part, Chooser):
                    _show_choice(board, mine, split)
                else:
                    _show(part)
                if isinstance(part, UploadForm):
                    show_form(board, dues_of(shown))


def _show_menu(page: Page, pages: Mapping[str, StreamlitPage], about: Mapping[str, str]) -> None:
    """Links to all pages, about the same split; behind a word on a phone."""

    def links() -> None:
        for path, there in pages.items():
            if there.visibility == "visible":
                own = {} if path == all_pages()[0].path else dict(about)
                title = there.title
                st.page_link(there, label=f"**{title}**" if path == page.path else title, query_params=own)

    with st.container(horizontal=True, key="hf-menu", vertical_alignment="center"):
        st.html(str(el("a", "HelloFresh", href="./", target="_self", class_="hf-brand")))
        with st.container(horizontal=True, key="hf-menu-wide"):
            links()
        with st.container(key="hf-menu-phone"), st.popover("Menu"):
            links()


def _show_absent(
    page: Page, split: SplitKey, options: Sequence[Mapping[str, str]], places: Mapping[PageKey, str]
) -> None:
    """What the address requested and is missing here, and where to find what exists."""
    asked = next((st.query_params[name] for one in options for name in one if name in st.query_params), "")
    said = f"There is no “{visible(asked, 60)}” on {task_title(split.task)}, {split.edition}. " if asked else ""
    way = inner_link(AddressLinks(places, "").to("leaderboard", split), "The ranking")
    title = el("h1", f"{page.title}: not here" if asked else page.title)
    st.html(str(el("div", title, el("p", said, way, " names all that are."), class_="hf")))


def _chosen(mine: Sequence[SplitKey], home: SplitKey) -> SplitKey:
    """The split in the address, else the nearest: of its task, or that of the first page."""
    task = st.query_params.get("task", home.task)
    edition = st.query_params.get("edition", edition_key(home))
    named = [split for split in mine if (split.task, edition_key(split)) == (task, edition)]
    alike = sorted((split for split in mine if split.task == task), key=lambda split: split.kind != MAIN)
    first = [split for split in mine if split == home]
    return next(iter(named or alike or first or mine))


def _show_choice(board: Board, mine: Sequence[SplitKey], split: SplitKey) -> None:
    """The boxes of task and edition, whose choice is part of the address."""
    tasks = sorted({one.task for one in mine}, key=task_order)
    editions = {edition_key(one): one for one in mine if one.task == split.task}

    def keep(name: str) -> None:
        st.query_params.pop("edition", None)
        st.query_params[name] = st.session_state[f"choose-{name}"]
        st.query_params.setdefault("task", split.task)

    def said(edition: str) -> str:
        one = editions[edition]
        return edition_choice(board, one) + (f", {one.kind}" if one.kind != MAIN else "")

    with st.container(horizontal=True, key="hf-choose"):
        for name, title, options, at, form in (
            ("task", "Task", tasks, split.task, task_title),
            ("edition", "Quarter or data set", list(editions), edition_key(split), said),
        ):
            key = f"choose-{name}"
            st.session_state[key] = at
            st.selectbox(
                title, options, format_func=form, key=key, on_change=keep, args=[name], label_visibility="collapsed"
            )


@st.fragment
def _show_table(part: DataTable, page: Page, shown: Shown, split: SplitKey) -> None:
    """A table and the details of its ticked rows; searches, filters and ticks rerun only this part of the page.

    A single row opens over the page, where the visitor looks; several are compared below the table.
    """
    asked = tuple(st.query_params[name] for name in part.picks[:1] if name in st.query_params)
    picked = show_table(part)
    if page.opened is None or not part.picks:
        return

    def details(keys: tuple[str, ...] = picked) -> None:
        for behind in composed(shown, page.path, split, {}, keys):
            _show(behind)

    if len(part.picks) > 1:
        details()
    elif asked and asked[0] not in part.keys:
        details(asked)  # which says that it is not here, or why it was taken down
    elif picked:
        st.dialog(f"{page.title[:-1]} {visible(picked[0], 60)}", width="large", on_dismiss=partial(untick, part))(
            details
        )()


@st.fragment
def _show_ranking(part: RankingPart) -> None:
    """A ranking in tabs; filters rerun only this part of the page."""
    show_ranking(part, _show)


_SHOWN: Mapping[type, Callable[[Any], object]] = {
    DataTable: show_table,
    ChartPart: show_chart,
    File: show_file,
    Offer: show_offer,
    RankingPart: _show_ranking,
    GuessPart: show_guess,
    TableForm: lambda _: show_check(),
}


def _show(part: Part) -> None:
    """Show a part by its widget."""
    if isinstance(part, TwoColumns):
        for column, parts in zip(st.columns([2.6, 1], gap="large"), (part.wide, part.narrow), strict=True):
            with column:
                for one in parts:
                    _show(one)
    elif isinstance(part, Html):
        st.html(dated(str(el("div", part, class_="hf")), now()))
    elif type(part) in _SHOWN:
        _SHOWN[type(part)](part)
