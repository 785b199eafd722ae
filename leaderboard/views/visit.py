"""Pages, and the visits on which they are drawn.

A page is one function of a visit, which has the page's subject, and on which the page shows HTML and interactive
parts: tables, charts, files (`components/parts.py`). There are two kinds of visit. This one is for the static
copy: HTML replaces interactive parts, and scripts filter it or load more. The one of the app (`leaderboard/live.py`)
keeps the values, which Streamlit's widgets show.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from hellofresh.core.editions import is_edition, parse_edition, quarters_of
from hellofresh.tasks.samples import MAIN
from leaderboard.components.labels import (
    EVERY,
    Links,
    day,
    edition_choice,
    is_frozen,
    quarter_title,
    relative,
    task_order,
    task_title,
    track_title,
)
from leaderboard.components.markup import Html, el, join, notice, page_header, project_links, sized, visible
from leaderboard.components.parts import Part
from leaderboard.components.tables import Row, as_csv, as_json, as_latex
from leaderboard.data.board import Board, SplitKey

Choices = Mapping[str, str]
MOST_BYTES = 200_000
"""Approximate size of a script file of data, which one click loads."""


@dataclass(slots=True, eq=False)
class Visit:
    """A page being rendered, and the files beside it.

    Attributes:
        board: source of the data.
        links: to other pages.
        page: which page.
        chosen: its split.
        choices: its further subjects, by name.
        body: content between navigation and footer.
        files: by path.
        thing: the name of the page's subject, for pages about one thing.
    """

    board: Board
    links: Links
    page: Page
    chosen: SplitKey
    choices: Choices = field(default_factory=dict)
    body: list[Part | None] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    thing: str = ""

    def header(self, title: str, lede: str = "") -> None:
        """Show the page's title and its description, if any; the maintainers' own board adds a warning."""
        if not self.choices:
            self.show(page_header(title, lede))
        if self.board.private:
            said = "It holds figures of quarters whose labels are not revealed. Do not pass it on."
            self.show(notice("The maintainers' own board.", said))

    def subject(self, title: Html | str, *lede: Html | str) -> None:
        """Show the subject of a page about one thing, and a link back to the leaderboard."""
        back = el("a", self.title, href=self.links.to("leaderboard", self.chosen))
        self.show(el("header", el("h1", title), el("p", *lede, back, class_="hf-lede")))
        names = self.board.entries(self.chosen)
        self.thing = " and ".join(
            visible(names[value].name if value in names else value, 60) for value in self.choices.values()
        )

    def show(self, *parts: Html | str | None) -> None:
        """Show parts of the page, strings escaped, None left out."""
        self.body += parts

    def split(self) -> SplitKey:
        """The page's task and edition; shows links to the others, except on a page about one thing."""
        if not self.choices:
            self.choose()
        return self.chosen

    def choose(self) -> None:
        """Show links to the same page of other tasks and editions."""
        self.show(_chooser(self))

    def handle(self, drawn: Callable[[], Html | str | None], *values: Callable[[], Part | None]) -> None:
        """Show an interactive part: here as HTML, in the app as values for Streamlit's widgets.

        Args:
            drawn: makes the HTML.
            values: make the values, and the texts between them.
        """
        self.show(drawn())

    def offer(self, rows: Sequence[Row], name: str) -> None:
        """Offer rows of the same columns as files of this name, without ending."""
        ways: list[Html | str] = []
        for kind, ending, write in (("CSV", "csv", as_csv), ("JSON", "json", as_json), ("LaTeX", "tex", as_latex)):
            address = self.lay(f"{name}.{ending}", write(rows).encode())
            ways += [", " if ways else "", el("a", kind, href=address, download="")]
        self.show(el("p", "Download the table: ", *ways, class_="hf-downloads"))

    def attach(self, name: str, content: bytes | Path) -> str | None:
        """Write a file beside the page, and return its address; None if a button offers it instead."""
        return self.lay(name, content if isinstance(content, bytes) else content.read_bytes())

    def picture(self, name: str, wide: bytes, narrow: bytes, said: str) -> Html:
        """A picture that can run nothing.

        Args:
            name: of its file, without ending.
            wide, narrow: the SVG, and the one for phones; empty if absent.
            said: the text for screen readers.
        """
        shown = sized("img", wide, src=self.lay(f"{name}.svg", wide), alt=said, loading="lazy")
        if not narrow:
            return shown
        source = sized("source", narrow, media="(max-width: 699px)", srcset=self.lay(f"{name}.narrow.svg", narrow))
        return el("picture", source, shown)

    def lay(self, name: str, content: bytes) -> str:
        """Write a file beside the page; returns its address."""
        paths, here = self.links.paths, self.links.here
        folder = posixpath.dirname(here) or posixpath.dirname(paths["leaderboard", self.chosen, ()])
        self.files[f"{folder}/{name}"] = content
        return relative(here, f"{folder}/{name}")

    def attach_data(self, name: str, content: object) -> str:
        """Write data beside the page for its script, which loads them on demand.

        They are a script, too: a page opened from disk may load scripts from beside it, but no JSON.
        """
        return self.attach_text(name, as_script_data(content))

    def attach_text(self, name: str, text: str) -> str:
        """Write data that are already text, see `as_script_data`."""
        return self.lay(f"{name}.js", f"hfLoaded={text};\n".encode())

    @property
    def html(self) -> Html:
        """All HTML that the page shows."""
        return join(part for part in self.body if isinstance(part, Html | str))

    @property
    def title(self) -> str:
        """The task and the edition."""
        return f"{task_title(self.chosen.task)}, {quarter_title(self.board, self.chosen)}{_kind(self.chosen)}"


def as_script_data(content: object) -> str:
    """Data as text for a script."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _chooser(visit: Visit) -> Html:
    """Links to the same page of other tasks, a row for each track, and of other editions: quarters, then data sets."""
    board, split = visit.board, visit.chosen
    by_task: dict[str, dict[SplitKey, str]] = {}
    for (name, one, choices), there in visit.links.paths.items():
        if name == visit.page.path and not choices:
            by_task.setdefault(one.task, {})[one] = relative(visit.links.here, there)
    rows: dict[str, list[Html]] = {}

    def offer(title: str, text: str, address: str, *, chosen: bool) -> None:
        way = el("a", text, href=address, aria_current="true" if chosen else None)
        rows.setdefault(title, []).append(el("li", way))

    several = len(set(map(track_title, by_task))) > 1
    for task in sorted(by_task, key=task_order):
        # The page of the same quarter, else the newest.
        pages = by_task[task]
        there = pages.get(split._replace(task=task), next(iter(pages.values())))
        offer(track_title(task) if several else "Task", task_title(task), there, chosen=task == split.task)
    for title, frozen in (("Quarter", False), ("Frozen data set", True)):
        for one, there in by_task[split.task].items():
            if is_frozen(one.edition) is frozen:
                offer(title, edition_choice(board, one) + _kind(one), there, chosen=one == split)
    shown = (el("div", el("span", title), el("ul", *items)) for title, items in rows.items())
    return el("nav", *shown, class_="hf-choose", aria_label="Task and quarter")


def _kind(split: SplitKey) -> str:
    """Which samples are shown, unless they are the main ones."""
    return "" if split.kind == MAIN else f", {visible(split.kind, 30)}"


def where(there: Callable[[Board, SplitKey], object]) -> Callable[[Board, SplitKey], Iterable[Choices]]:
    """One page for each split of which something is there, as `Page.copies`."""
    return lambda board, split: [{}] if there(board, split) else []


_IN_QUARTERS = where(lambda _, split: split.edition != EVERY)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the site.

    Attributes:
        title: as in the navigation.
        path: its name in links, and of its file unless `file` is given.
        compose: renders the page on a visit.
        about: one sentence, for search engines and previews of links.
        copies: the existing pages of a split, or of all quarters of a task, each by its choices; empty
            without content. Pages with choices are about one thing, and not in the navigation.
        file: of its page, without ending, if it differs from the path.
        once: whether it is about the whole board, not about a split.
        before: the path of the page before which it stands; the last place if empty. For pages of other packages.
        alone: makes a file of the page for who has its rows and no board, where it can.
        opened: shows details of ticked rows of the page's table, by their keys; only in the app, since the
            copy's scripts open them.
    """

    title: str
    path: str
    compose: Callable[[Visit], None]
    about: str
    copies: Callable[[Board, SplitKey], Iterable[Choices]] = _IN_QUARTERS
    file: str = ""
    once: bool = False
    before: str = ""
    alone: Callable[..., str] | None = None
    opened: Callable[[Visit, Sequence[str]], None] | None = None

    @property
    def name(self) -> str:
        """Name of its file, without ending."""
        return self.file or self.path


def foot(board: Board, fingerprint: str) -> Html:
    """The footer of each page: links to the project, and the source of the numbers.

    It is the same in every copy of a board.
    """
    said = f"Results of {_span(board)}, built by {board.code}. Fingerprint of the board: {fingerprint}."
    return el("footer", project_links(board.addresses), el("p", said), class_="hf hf-foot")


def _span(board: Board) -> str:
    """The range of quarters on the board, and the end of their data; then its data sets."""
    editions = sorted({parse_edition(split.edition) for split in board.splits if is_edition(split.edition)})
    quarters, parts = quarters_of(editions), []
    if quarters:
        span = str(quarters[0]) if len(quarters) == 1 else f"{quarters[0]} to {quarters[-1]}"
        parts.append(f"{span}, data until {day(quarters[-1].end - timedelta(days=1))}")
    return "; ".join([*parts, *(edition.title for edition in editions if not edition.is_living)])
