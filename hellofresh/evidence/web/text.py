"""Main text of pages, cleaned of what a reader cannot see."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from hellofresh.evidence.web._charsets import decode
from hellofresh.evidence.web._dates import page_date

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["Extractor", "MainText", "clean", "first_words", "main_text"]

Extractor = Literal["trafilatura", "beautifulsoup"]

_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
)
"""Characters without a shape that are not of an invisible category: fillers and variation selectors."""
_DEEPEST = 200
"""Elements within elements; lxml cuts what is deeper than 256 off, so that its tree cannot be trusted there."""
_MOST_ELEMENTS = 20_000
"""Trafilatura's time grows faster than the number of elements."""
_AROUND = ("nav", "footer", "script", "style", "noscript", "template")
_MARKUP = ("<!doctype html", "<html", "<head", "<body")


@dataclass(frozen=True, slots=True)
class MainText:
    """What a page says: its title and its main text, both cleaned, and its date (`_dates`), empty if it has none."""

    title: str
    text: str
    date: str = ""


def clean(text: str) -> str:
    """Without invisible, bidirectional and control characters, in NFC, white space single, one line a paragraph."""
    if not (text.isascii() and text.replace("\n", "").isprintable()):  # most of it needs nothing
        text = text.replace("\r\n", "\n").translate({ord(c): _replacement(c) for c in set(text)})
        text = unicodedata.normalize("NFC", text)
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


@lru_cache(4096)
def _replacement(character: str) -> str | None:
    if character in "\n\r\x0b\x0c\x85\u2028\u2029":
        return "\n"
    if character == "\t":
        return " "
    hidden = unicodedata.category(character) in _INVISIBLE_CATEGORIES or character in _INVISIBLE
    return None if hidden else character


def first_words(text: str, n: int) -> str:
    """The first `n` words, with the white space between them as it stands.

    Raises:
        ValueError: if `n` is negative.
    """
    if n < 0:
        raise ValueError("a number of words is not negative")
    rest = text.split(None, n)
    return (text if len(rest) <= n else text[: len(text) - len(rest[n])]).rstrip()


def main_text(body: bytes, content_type: str, extractor: Extractor) -> MainText:
    """Take title and main text out of a page.

    Args:
        body: at most a few megabytes.
        content_type: the header as it came.
        extractor: `trafilatura` leaves out navigation and the like; `beautifulsoup` takes all text between tags.
    """
    text = decode(body, content_type).replace("\0", "")
    if content_type.partition(";")[0].strip().lower() == "text/plain" and not _is_markup(text):
        return MainText("", clean(text))
    # libxml2 is told the encoding, so that a wrong meta element is not believed.
    document = text.encode("utf-8", "replace")
    tree = _tree(document)
    if tree is None:
        return MainText("", "")
    titles = tree.xpath("string(//title)")
    title = clean(titles if isinstance(titles, str) else "").replace("\n", " ")
    is_tame = _is_tame(tree)
    dated = page_date(tree) if is_tame else ""
    if extractor == "beautifulsoup":
        return MainText(title, clean(_beautifulsoup(document)), dated)
    found = _trafilatura(tree) if is_tame else ""
    # Of very short and of very strange pages it finds nothing.
    return MainText(title, clean(found or _beautifulsoup(document, without=("head", *_AROUND))), dated)


def _is_markup(text: str) -> bool:
    return text.lstrip()[:20].lower().startswith(_MARKUP)


def _tree(document: bytes) -> HtmlElement | None:
    from lxml import etree, html

    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True)
    try:
        return html.document_fromstring(document, parser=parser)
    except (etree.LxmlError, ValueError):
        return None


def _is_tame(tree: HtmlElement) -> bool:
    from lxml import etree

    depth = elements = 0
    for event, _ in etree.iterwalk(tree, events=("start", "end")):
        depth += 1 if event == "start" else -1
        elements += event == "start"
        if depth > _DEEPEST or elements > _MOST_ELEMENTS:
            return False
    return True


def _trafilatura(tree: HtmlElement) -> str:
    import trafilatura

    # On short pages it takes all there is, navigation among it.
    for element in list(tree.iter(*_AROUND)):
        if element.getparent() is not None:
            element.drop_tree()
    # Everything else that it can do (languages, comments) costs time and is not asked for.
    return trafilatura.extract(tree, fast=True, include_comments=False) or ""


def _beautifulsoup(document: bytes, *, without: Sequence[str] = ()) -> str:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(document, "lxml", from_encoding="utf-8")
    for element in soup.find_all(without) if without else ():
        element.extract()
    return soup.get_text("\n")
