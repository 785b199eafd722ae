"""HTML in which no text can become markup, and parts of all pages: titles, notices, links to the project.

Every string is escaped; only `Html` is used as it is. Texts of submitters (names of systems and teams, and their
descriptions) go through `visible` or `named`, which also disarm characters that reorder, hide or pile up.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape

from hellofresh.core.errors import HelloFreshError
from hellofresh.core.strict import SiteSettings

_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"']+")
_INNER_ADDRESS = re.compile(r"(?:\./|(?:\.\./)+)(?:[\w%?#-][\w./%=&?#+~@-]*)?|#[\w-]+")
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_MARKS = {"Mn", "Me"}
_VOID = {"br", "img", "input", "link", "meta", "source"}
_SIZE = re.compile(r'<svg[^>]* width="(\d+)[\d.]*" height="(\d+)[\d.]*"')
DASH = "\N{EN DASH}"
"""Stands between the limits of an interval, and for missing values."""
LEDE = "How well do language models predict people's decisions, judge statements, correct posts and find evidence?"
"""Describes the leaderboard in one sentence."""
_DEMONSTRATION = "This quarter was written for the project, to try it out. Its scores are for demonstration only."
_HUB = "https://huggingface.co/datasets/"
_TITLES = {"no-board": "There is no board yet", "damaged-board": "The board cannot be read"}


@dataclass(frozen=True, slots=True)
class Html:
    """Finished HTML, made by this module only."""

    source: str

    def __str__(self) -> str:
        return self.source


def el(name: str, /, *children: Html | str | None, **attributes: str | int | None) -> Html:
    """Build an element.

    Args:
        name: the element's name.
        children: strings are escaped, None is left out.
        attributes: None is left out; underscores become hyphens and one at the end is dropped (`class_`, `aria_label`).
    """
    parts = [f"<{name}"]  # in loops, as hundreds of thousands are made for a copy
    for key, value in attributes.items():
        if value is not None:
            parts.append(f' {_spelled(key)}="{escape(str(value))}"')
    parts.append(">")
    if name not in _VOID:
        parts += [child.source if isinstance(child, Html) else escape(child) for child in children if child is not None]
        parts.append(f"</{name}>")
    return Html("".join(parts))


@cache
def _spelled(attribute: str) -> str:
    return attribute.rstrip("_").replace("_", "-")


def join(parts: Iterable[Html | str | None]) -> Html:
    """Concatenate the parts; strings are escaped, None is left out."""
    return Html("".join(part.source if isinstance(part, Html) else escape(part) for part in parts if part is not None))


def joined(parts: Iterable[Html | None]) -> Html | None:
    """As `join`; None if all parts are left out."""
    there = [part for part in parts if part is not None]
    return join(there) if there else None


def visible(text: str, limit: int = 80) -> str:
    """The text on one line, at most `limit` characters, without characters that hide, reorder or pile up.

    Control, bidi and zero-width characters are shown by their numbers, such as `⟨U+202E⟩`; of a run of combining marks
    three are kept. The result is still plain text: it must be escaped, or passed to something without markup.
    """
    line = " ".join(text[: 20 * limit].split())
    if not (line.isascii() and line.isprintable()):
        line = "".join(map(_seen, _thinned(line)))
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _thinned(text: str) -> Iterator[str]:
    run = 0
    for char in text:
        run = run + 1 if unicodedata.category(char) in _MARKS else 0
        if run <= 3:
            yield char


def _seen(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩" if unicodedata.category(char) in _UNSEEN else char


def named(text: str, limit: int = 80) -> Html:
    """An untrusted name, isolated so that its writing direction has no effect outside."""
    return el("bdi", visible(text, limit))


def link(address: str, text: str) -> Html:
    """A link to a web address, or only the text if the address is not http or https."""
    if not _WEB_ADDRESS.fullmatch(address):
        return join([text])
    return el("a", text, href=address, rel="noopener noreferrer nofollow")


def inner_link(address: str | None, *text: Html | str) -> Html:
    """A link to another page of the site, or only the text without an address.

    Raises:
        ValueError: if the address is not relative.
    """
    if address is None:
        return join(text)
    if not _INNER_ADDRESS.fullmatch(address):
        raise ValueError(f"{address!r} leaves the site")
    return el("a", *text, href=address, target="_self")


def inline_picture(svg: bytes) -> str:
    """The address of a picture embedded in the page, where it can run nothing."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def sized(tag: str, svg: bytes, **attributes: str | None) -> Html:
    """An element that shows a picture, with the picture's width and height, so that nothing moves when it is there."""
    size = _SIZE.search(svg[:500].decode(errors="replace"))
    width, height = size.groups() if size else (None, None)
    return el(tag, width=width, height=height, **attributes)


def page_header(title: str, lede: str = "") -> Html:
    """The page's title and the sentence that describes it, if any."""
    return el("header", el("h1", title), el("p", lede, class_="hf-lede") if lede else None, class_="hf")


def tabs(shown: Mapping[str, Html | None]) -> Html:
    """Sections of which one is shown, by title; without a script. None is left out."""
    there = {title: section for title, section in shown.items() if section is not None}
    heads = []
    for place, title in enumerate(there):
        chosen = "" if place == 0 else None
        box = el("input", type="radio", name="tab", id=f"tab-{place}", checked=chosen, class_="hf-unseen")
        heads.append(el("label", box, title))
    sections = (el("section", section, aria_label=title) for title, section in there.items())
    return el("div", el("div", *heads, class_="hf-pills"), *sections, class_="hf-tabs")


def preview_tags(title: str, about: str, address: str = "", picture: str = "") -> Html:
    """Metadata in a page's head, for the window title, search engines and link previews.

    Args:
        title, about: of the page.
        address, picture: whole addresses of the page and of its picture; empty if unknown.
    """
    said = {"og:title": title, "og:description": about, "og:type": "website", "og:site_name": "HelloFresh",
            "og:url": address, "og:image": picture}  # fmt: skip
    metas = (el("meta", property=name, content=text) for name, text in said.items() if text)
    card = el("meta", name="twitter:card", content="summary_large_image" if picture else "summary")
    return join([el("title", title), el("meta", name="description", content=about), *metas, card])


def heading(title: str, *explained: Html | str) -> Html:
    """A section's title with an explanation."""
    return el("div", el("h2", title), el("p", *explained) if explained else None, class_="hf-heading")


def notice(title: str, *text: Html | str) -> Html:
    """A box for important notices."""
    return el("div", el("strong", title), " ", *text, class_="hf-notice", role="note")


def bundled_notice(bundled: bool, text: str = _DEMONSTRATION) -> Html | None:
    """Notice that the data were written for the project, if they were."""
    return notice("Bundled sample.", text) if bundled else None


def project_links(known: SiteSettings) -> Html | None:
    """Links to the repository, the issues, the paper, the data set and the docs; None if all are unknown."""
    dataset = f"{_HUB}{known.dataset}" if known.dataset else ""
    ways = {known.repository: "Repository", known.issues: "Report an issue", known.paper: "Paper",
            dataset: "Data set", known.docs: "Documentation"}  # fmt: skip
    items = [el("span", link(address, text), " ") for address, text in ways.items() if address]
    return el("p", *items, class_="hf-project") if items else None


def problem(error: HelloFreshError, title: str = "This page cannot be shown") -> Html:
    """An error in place of a page: the fault, its place, and the command that helps."""
    what = visible(error.what, 300)
    known = error.code in _TITLES
    command = (
        el("p", "Build it in the project's folder, then reload this page:"),
        el("pre", "hellofresh release run"),
        el("p", "If it is already running, wait until it has finished."),
    )
    where = [": ", el("code", visible(error.where, 300))] if error.where else ["."]
    return el(
        "div",
        el("h2", _TITLES.get(error.code, title)),
        el("p", f"{what[:1].upper()}{what[1:]}", *where),
        *(command if known else [el("p", visible(error.fix, 300))]),
        class_="hf hf-problem",
        role="alert",
    )
