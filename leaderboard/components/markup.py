"""HTML built so that no text can become markup: every string is escaped, only `Html` is taken as it is.

What people hand in (names of systems and teams, what they say about them) goes through `visible` or `named`, which also
disarm characters that reorder, hide or pile up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"']+")
_INNER_ADDRESS = re.compile(r"(?:\./|(?:\.\./)+)(?:[\w%?#-][\w./%=&?#+~@-]*)?")
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_MARKS = {"Mn", "Me"}
_VOID = {"br", "img", "input", "link", "meta"}


DASH = "\N{EN DASH}"
"""Between the limits of an interval, and where there is nothing to say."""


@dataclass(frozen=True, slots=True)
class Html:
    """Finished HTML, made by this module only."""

    source: str

    def __str__(self) -> str:
        return self.source


def el(name: str, /, *children: Html | str | None, **attributes: str | int | None) -> Html:
    """An element.

    Args:
        name: the element's name.
        children: strings are escaped, None is left out.
        attributes: None is left out; underscores become hyphens and one at the end is dropped (`class_`, `aria_label`).
    """
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    head = "".join(f' {key}="{escape(str(value))}"' for key, value in pairs)
    return Html(f"<{name}{head}>" if name in _VOID else f"<{name}{head}>{join(children)}</{name}>")


def join(parts: Iterable[Html | str | None]) -> Html:
    """The parts one after the other; strings are escaped, None is left out."""
    return Html("".join(part.source if isinstance(part, Html) else escape(part) for part in parts if part is not None))


def visible(text: str, limit: int = 80) -> str:
    """The text on one line, at most `limit` characters, with nothing in it that hides, reorders or piles up.

    Control, bidi and zero-width characters are shown by their numbers, such as `⟨U+202E⟩`; of a run of combining marks
    three are kept. The result is still plain text: it must be escaped, or given to something that takes no markup.
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
    """A name that somebody else chose, isolated so that its writing direction stays its own."""
    return el("bdi", visible(text, limit))


def link(address: str, text: str) -> Html:
    """A link to a web address, or just the text where the address is not http or https."""
    if not _WEB_ADDRESS.fullmatch(address):
        return join([text])
    return el("a", text, href=address, rel="noopener noreferrer nofollow")


def inner_link(address: str | None, *text: Html | str) -> Html:
    """A link to another page of the site, or just the text without an address.

    Raises:
        ValueError: if the address does not start at the page it stands on.
    """
    if address is None:
        return join(text)
    if not _INNER_ADDRESS.fullmatch(address):
        raise ValueError(f"{address!r} leaves the site")
    return el("a", *text, href=address, target="_self")
