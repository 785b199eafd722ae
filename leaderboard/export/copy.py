"""The pages of the site: each rendered once for each of its subjects, in a common frame."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from hellofresh.core.editions import parse_edition
from hellofresh.core.errors import UsageError
from hellofresh.core.files import sha256_text
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import MAIN, PROSPECTIVE
from leaderboard.components.labels import (
    EVERY,
    Links,
    PageKey,
    relative,
    task_title,
)
from leaderboard.components.markup import Html, el, page_header, preview_tags, project_links
from leaderboard.components.ranking import highlight_style
from leaderboard.data.board import Board, BoardEntry, SplitKey
from leaderboard.views import Visit, all_pages, foot, home_of, page_keys

HOME = "index.html"
STYLE, ICON, NOT_FOUND = "style.css", "icon.svg", "404.html"
SCRIPTS = {"table.js": 'class="hf-tools" role="search"><div><label', "data.js": "data-hf="}
"""Scripts, and the text in a page that shows that it needs them."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""Pages may load only their own files. Drawings are placed by style attributes, which can load nothing."""

_STYLES = (Path(__file__).parent.with_name("style.css"), Path(__file__).with_name("frame.css"))
_THEMES = (("light", "#ffffff"), ("dark", "#0f141a"))
_UNSAFE = re.compile(r"[^a-z0-9]+")
_MOST_CHARACTERS = 40  # names of files stay below what zip tools on Windows take


def file_names(entries: Iterable[BoardEntry]) -> dict[str, str]:
    """A file's name, without ending, for each origin: the safe part of the system's name, and a hash of the origin.

    Names are unique, also on case-insensitive file systems.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for entry in entries:
        if entry.origin not in names:
            options = (_slug(entry.system, entry.origin, length) for length in (8, 16, 64))
            names[entry.origin] = next(name for name in options if name not in taken)
            taken.add(names[entry.origin])
    return names


def _slug(name: str, origin: str, length: int) -> str:
    safe = _UNSAFE.sub("-", name[:200].lower()).strip("-")[:_MOST_CHARACTERS].strip("-")
    return f"{safe or 'x'}-{sha256_text(origin)[:length]}"


def _folder_of(split: SplitKey) -> str:
    """The folder of a split's pages; no untrusted name becomes a path unchanged."""
    task = split.task if split.task in TASKS else _slug(split.task, split.task, 8)
    try:
        edition = EVERY if split.edition == EVERY else str(parse_edition(split.edition))
    except UsageError:
        edition = _slug(split.edition, split.edition, 8)
    other = f"-{PROSPECTIVE}" if split.kind == PROSPECTIVE else f"-{_slug(split.kind, split.kind, 8)}"
    return f"{task}/{edition}{'' if split.kind == MAIN else other}"


@dataclass(frozen=True, slots=True)
class Site:
    """Data shared by all pages of a copy.

    Attributes:
        board: source of the data.
        paths: of each page's file.
        home: the split of pages about the whole board.
        fingerprint: of the board's manifest.
    """

    board: Board
    paths: Mapping[PageKey, str]
    home: SplitKey
    fingerprint: str

    @classmethod
    def of(cls, board: Board, fingerprint: str) -> Site:
        """All pages of a copy of the board: of all splits, the newest quarter first, all quarters last."""
        paths, names = {}, dict[SplitKey, dict[str, str]]()
        for page, split, choices in page_keys(board):
            if split not in names:
                names[split] = file_names(board.entries(split).values()) if split.edition != EVERY else {}
            about = [f"/{names[split].get(value) or _slug(value, value, 8)}" for _, value in choices]
            file = next(one.name for one in all_pages() if one.path == page)
            paths[page, split, choices] = f"{_folder_of(split)}/{file}{''.join(about)}.html"
        home = home_of(board)
        paths |= {(page.path, home, ()): f"{page.name}.html" for page in all_pages() if page.once}
        return cls(board, paths, home, fingerprint)


def framed(visit: Visit, fingerprint: str) -> str:
    """A page's complete file.

    Args:
        visit: the page.
        fingerprint: of the board's manifest.
    """
    here = visit.links.here
    about, title = visit.page.about, f"{visit.page.title} of {visit.title} · HelloFresh"
    if visit.thing:
        about, title = f"{about} {visit.thing}, on {visit.title}.", f"{visit.thing} · {visit.title} · HelloFresh"
    elif visit.page.path == "leaderboard":
        title = f"{visit.title} · HelloFresh leaderboard"
    elif visit.page.once:
        title = f"{visit.page.title} · HelloFresh"
    main = visit.html
    head = [
        el("link", rel="icon", type="image/svg+xml", href=relative(here, ICON)),
        el("link", rel="stylesheet", href=relative(here, STYLE)),
        *(el("script", src=relative(here, name), defer="") for name in SCRIPTS if SCRIPTS[name] in main.source),
    ]
    body = el(
        "body",
        el("a", "Skip to the content", href="#content", class_="hf-skip"),
        _banner(visit),
        el("main", main, id="content", class_="hf", tabindex=-1),
        foot(visit.board, fingerprint),
    )
    url, picture = visit.board.addresses.url.rstrip("/"), picture_of(visit.chosen)
    shared = f"{url}/{picture}" if visit.chosen.task in pictured(visit.board) else ""
    return document(title, about, POLICY, head, body, address=f"{url}/{here}" if url else "", picture=shared)


def pictured(board: Board) -> Mapping[str, SplitKey]:
    """The split that the picture for previews of links shows, by task.

    It is the newest one with scores; empty without the site's address, or where nothing draws.
    """
    if not board.addresses.url or find_spec("vl_convert") is None:
        return {}
    return {split.task: split for split in reversed(board.splits) if split.kind == MAIN and board.has_scores(split)}


def picture_of(split: SplitKey) -> str:
    """The path of the picture of a split's task."""
    return f"{_folder_of(split).partition('/')[0]}/share.png"


def _banner(visit: Visit) -> Html:
    """Links to the other pages, of the same task and quarter where these exist."""
    split, board, here = visit.chosen, visit.board, visit.links.here
    newest = next(one for one in board.splits if one.task == split.task) if split.edition == EVERY else split
    items = []
    for page in all_pages():
        ways = (visit.links.paths.get((page.path, one, ())) for one in (split, newest, newest._replace(kind=MAIN)))
        path = f"{page.name}.html" if page.once else next(filter(None, ways), None)
        current = "page" if page is visit.page and not visit.choices else None
        if path:
            items.append(el("li", el("a", page.title, href=relative(here, path), aria_current=current)))
    brand = el("a", "HelloFresh", href=relative(here, HOME), class_="hf-brand")
    menu = el("button", "Menu", type="button", popovertarget="pages", class_="hf-menu")
    pages = el("nav", el("ul", *items), aria_label="Pages", id="pages", popover="")
    return el("header", brand, menu, pages, class_="hf hf-banner")


def pages_of(site: Site, wanted: deque[str]) -> Iterator[Visit]:
    """All pages in turn: requested ones first, then the first pages, then those of the most numerous kinds.

    Args:
        site: of the pages.
        wanted: paths of requested pages; taken from the left.
    """
    last = {"compare": 1, "system": 2, "samples": 3}
    order = sorted(site.paths.items(), key=lambda item: (item[1] != HOME, last.get(item[0][0], 0)))
    left = {path: key for key, path in order}
    while left:
        path = wanted.popleft() if wanted else next(iter(left))
        if path in left:
            yield drawn_page(site, left.pop(path), path)


def drawn_page(site: Site, key: PageKey, path: str) -> Visit:
    """Render one page for a file."""
    name, split, choices = key
    page = next(page for page in all_pages() if page.path == name)
    visit = Visit(site.board, Links(site.paths, path), page, split, dict(choices))
    page.compose(visit)
    return visit


def not_found(site: Site) -> str:
    """The response to unknown addresses, with links; it loads no other file, since its depth is unknown."""
    said = "No page of this site has this address. It may have moved; start from the first page to find it."
    board = site.board
    newest = [("leaderboard", board.newest(task), ()) for task in sorted({split.task for split in board.splits})]
    rankings = {task_title(key[1].task): site.paths[key] for key in newest if key in site.paths}
    ways = {page.title: f"{page.name}.html" for page in all_pages() if page.once} | rankings
    items = (el("li", el("a", title, href=f"./{path}")) for title, path in ways.items())
    menu = el("nav", el("ul", *items), aria_label="Pages")
    return _lone_page("Page not found", said, menu, project_links(board.addresses))


def being_made(done: int, pages: int) -> str:
    """The response for a page that does not exist yet: the progress so far, and a reload soon."""
    said = f"This page is being made: {done:,} of {pages:,} pages are there. It opens by itself."
    return _lone_page("One moment", said, refresh=el("meta", http_equiv="refresh", content="2"))


def _lone_page(title: str, said: str, *links: Html | None, refresh: Html | None = None) -> str:
    way = el("p", el("a", "Go to the first page", href=f"./{HOME}"))
    body = el("main", page_header(title, said), way, *links, class_="hf")
    policy = POLICY.replace("style-src 'self'", "style-src 'unsafe-inline'")
    own_style = el("style", Html(f"{style()}\nmain {{ padding-top: 1.25rem; }}"))
    return document(f"{title} · HelloFresh", said, policy, [own_style, refresh], el("body", body))


def document(
    title: str,
    about: str,
    policy: str,
    head: Sequence[Html | None],
    body: Html,
    *,
    address: str = "",
    picture: str = "",
) -> str:
    """A complete HTML file.

    Args:
        title: of the window.
        about: one sentence, for search engines and previews.
        policy: content security policy.
        head: further elements of its head.
        body: the element.
        address, picture: see `preview_tags`.
    """
    metas = [
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        preview_tags(title, about, address, picture),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="color-scheme", content="light dark"),
    ]
    for scheme, colour in _THEMES:
        metas.append(el("meta", name="theme-color", content=colour, media=f"(prefers-color-scheme: {scheme})"))
    return f"<!doctype html>\n{el('html', el('head', *metas, *head), body, lang='en')}\n"


def style() -> str:
    """The style of pages without a server, except the widths of the ranked table's columns."""
    return "\n".join([*(path.read_text(encoding="utf-8") for path in _STYLES), highlight_style()])
