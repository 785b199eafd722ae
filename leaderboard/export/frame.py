"""What stands around every page of the copy: its head, the way to the other pages, and where the board comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from hellofresh.core.editions import is_edition, parse_edition, quarters_of
from leaderboard.components.getting import project_links
from leaderboard.components.labels import (
    EVERY,
    day,
    edition_choice,
    is_frozen,
    quarter_title,
    task_order,
    task_title,
    track_title,
)
from leaderboard.components.markup import Html, el, visible
from leaderboard.components.pieces import preview_tags
from leaderboard.components.retrieval import retrieval_metrics
from leaderboard.data.analyses_table import BoardAnalysis
from leaderboard.data.records import Records
from leaderboard.data.tables import MAIN, Board, SplitKey
from leaderboard.export.addresses import ABOUT, HOME, CopyLayout, relative

__all__ = [
    "ICON",
    "POLICY",
    "SCRIPT",
    "STYLE",
    "Site",
    "StaticPage",
    "chooser",
    "document",
    "framed",
    "split_title",
    "style",
]

STYLE, SCRIPT, ICON = "style.css", "table.js", "icon.svg"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""What a page may load: its own files. Drawings place their boxes by style attributes, which can load nothing."""

_STYLES = (Path(__file__).parent.with_name("style.css"), Path(__file__).with_name("frame.css"))
_THEMES = (("light", "#ffffff"), ("dark", "#0f141a"))


@dataclass(frozen=True, slots=True)
class Site:
    """What all pages of a copy share.

    Attributes:
        board, records: what is shown.
        layout: where the pages are.
        analyses: by split, in the order in which they are shown.
        home: the split that the first page shows.
        fingerprint: of the board's manifest.
    """

    board: Board
    records: Records
    layout: CopyLayout
    analyses: Mapping[SplitKey, Sequence[BoardAnalysis]]
    home: SplitKey
    fingerprint: str


@dataclass(frozen=True, slots=True)
class StaticPage:
    """A page of the copy.

    Attributes:
        path: its file.
        title: of the window.
        about: one sentence, for search engines and previews.
        section: where it stands in the navigation.
        split: whose it is.
        body: what stands between navigation and footer.
        script: whether it has a table to sort and filter.
        lean: whether that is the ranked one, whose columns have a style of their own.
    """

    path: str
    title: str
    about: str
    section: str
    split: SplitKey
    body: Html
    script: bool = False
    lean: bool = False


def framed(page: StaticPage, site: Site) -> str:
    """The whole file."""
    body = el(
        "body",
        el("a", "Skip to the content", href="#content", class_="hf-skip"),
        _banner(page, site),
        el("main", page.body, id="content", class_="hf", tabindex=-1),
        _footer(site),
    )
    return document(
        page.title,
        page.about,
        POLICY,
        [
            el("link", rel="icon", type="image/svg+xml", href=relative(page.path, ICON)),
            el("link", rel="stylesheet", href=relative(page.path, STYLE)),
            el("script", src=relative(page.path, SCRIPT), defer="") if page.script else None,
        ],
        body,
    )


def document(title: str, about: str, policy: str, head: Sequence[Html | None], body: Html) -> str:
    """A whole HTML file.

    Args:
        title: of the window.
        about: one sentence, for search engines and previews.
        policy: what it may load.
        head: what else stands in its head.
        body: the element.
    """
    themes = (
        el("meta", name="theme-color", content=colour, media=f"(prefers-color-scheme: {scheme})")
        for scheme, colour in _THEMES
    )
    metas = (
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        preview_tags(title, about),
        _meta("referrer", "no-referrer"),
        _meta("color-scheme", "light dark"),
    )
    return f"<!doctype html>\n{el('html', el('head', *metas, *themes, *head), body, lang='en')}\n"


def style() -> str:
    """What pages without a server look like, less the widths of the ranked table's columns."""
    return "\n".join(path.read_text(encoding="utf-8") for path in _STYLES)


def _meta(name: str, content: str) -> Html:
    return el("meta", name=name, content=content)


def _banner(page: StaticPage, site: Site) -> Html:
    """The way to the other pages, of the same task and quarter where there are such."""
    split = page.split
    newest = next(one for one in site.board.splits if one.task == split.task) if split.edition == EVERY else split
    pages = [("Leaderboard", site.layout.board(split))]
    main = newest._replace(kind=MAIN)
    pages += [("Analyses", site.layout.analysis(main))] if main in site.layout.analyses else []
    if site.records.ratings(main):
        pages += [("Responses", site.layout.responses(main)), ("Judges", site.layout.judges(main))]
    if retrieval_metrics(main.task) and site.layout.systems.get(main):
        pages.append(("Retrieval", site.layout.retrieval(main)))
    pages += [("Data", site.layout.data(newest)), ("About", ABOUT)]
    items = (el("li", _way(page, path, title, current=title == page.section)) for title, path in pages)
    brand = el("a", "HelloFresh", href=relative(page.path, HOME), class_="hf-brand")
    return el("header", brand, el("nav", el("ul", *items), aria_label="Pages"), class_="hf hf-banner")


def _way(page: StaticPage, path: str, title: str, *, current: bool) -> Html:
    return el("a", title, href=relative(page.path, path), aria_current="page" if current else None)


def chooser(path: str, site: Site, split: SplitKey, pages: Iterable[tuple[SplitKey, str]]) -> Html:
    """Links to the same page of other tasks, a row a track, and of other editions, quarters apart from frozen ones.

    Args:
        path: of the page that it stands on.
        site: the copy.
        split: what that page shows.
        pages: splits with such a page, the newest quarter first, and its path.
    """
    by_task: dict[str, list[tuple[SplitKey, str]]] = {}
    for one, there in pages:
        by_task.setdefault(one.task, []).append((one, there))
    tasks = sorted(by_task, key=task_order)
    tracks = list(dict.fromkeys(map(track_title, tasks)))
    rows = [
        (track if len(tracks) > 1 else "Task",
         [(task_title(task), _like(by_task[task], split), task == split.task) for task in tasks
          if track_title(task) == track])
        for track in tracks
    ]  # fmt: skip
    editions = [(edition_choice(site.board, one) + _kind(one), there, one) for one, there in by_task[split.task]]
    for title, frozen in (("Quarter", False), ("Frozen data set", True)):
        mine = [(text, there, one == split) for text, there, one in editions if is_frozen(one.edition) is frozen]
        rows += [(title, mine)] if mine else []
    return el("nav", *(_choice(path, *row) for row in rows), class_="hf-choose", aria_label="Task and quarter")


def _like(pages: list[tuple[SplitKey, str]], split: SplitKey) -> str:
    """The page of the same quarter, else the newest."""
    same = [there for one, there in pages if (one.edition, one.kind) == (split.edition, split.kind)]
    return (same or [pages[0][1]])[0]


def split_title(board: Board, split: SplitKey) -> str:
    """The quarter, and which of its samples if they are not the main ones."""
    return quarter_title(board, split) + _kind(split)


def _kind(split: SplitKey) -> str:
    return "" if split.kind == MAIN else f", {visible(split.kind, 30)}"


def _choice(path: str, title: str, options: list[tuple[str, str, bool]]) -> Html:
    items = (
        el("li", el("a", text, href=relative(path, there), aria_current="true" if chosen else None))
        for text, there, chosen in options
    )
    return el("div", el("span", title), el("ul", *items))


def _footer(site: Site) -> Html:
    """Where the numbers come from; nothing that changes from one copy of a board to the next."""
    said = (
        f"A static copy of the board of {_span(site.board)}, built by {site.board.code}. "
        f"Fingerprint of the board: {site.fingerprint}."
    )
    return el("footer", project_links(site.board), el("p", said), class_="hf hf-foot")


def _span(board: Board) -> str:
    """The quarters on the board, and the end of their data; then its data sets."""
    editions = sorted({parse_edition(split.edition) for split in board.splits if is_edition(split.edition)})
    quarters, parts = quarters_of(editions), []
    if quarters:
        span = str(quarters[0]) if len(quarters) == 1 else f"{quarters[0]} to {quarters[-1]}"
        parts.append(f"{span}, data until {day(quarters[-1].end - timedelta(days=1))}")
    return "; ".join([*parts, *(edition.title for edition in editions if not edition.is_living)])
