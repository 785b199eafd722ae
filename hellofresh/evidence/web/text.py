"""Texts of pages: from bytes to characters, the main text cleaned of what a reader cannot see, known passages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hellofresh.core.texts import visible as clean
from hellofresh.evidence.web.dates import INLINE, page_date, text_date, youngest

if TYPE_CHECKING:
    from lxml.html import HtmlElement

# Names of character sets, without punctuation, and Python's codecs for them. Python knows other codecs that are no
# character sets (base64, rot13, utf-7, unicode_escape ...); a page has no business with those.
_CODECS = {
    "utf8": "utf-8", "utf16": "utf-16-le", "utf16le": "utf-16-le", "utf16be": "utf-16-be",
    "ascii": "cp1252", "usascii": "cp1252", "latin1": "cp1252", "iso88591": "cp1252",
    "gb2312": "gb18030", "gbk": "gb18030", "gb18030": "gb18030", "big5": "big5hkscs", "big5hkscs": "big5hkscs",
    "shiftjis": "cp932", "sjis": "cp932", "xsjis": "cp932", "windows31j": "cp932", "eucjp": "euc_jp",
    "iso2022jp": "iso2022_jp", "euckr": "cp949", "ksc56011987": "cp949", "koi8r": "koi8-r", "koi8u": "koi8-u",
    "macintosh": "mac-roman", "tis620": "cp874", "windows874": "cp874",
    **{f"{name}{n}": f"cp{n}" for n in range(1250, 1259) for name in ("windows", "cp")},
    **{f"iso8859{n}": f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    "iso88599": "cp1254",
}  # fmt: skip
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_META = re.compile(rb"(?i)<meta[^>]{0,500}?charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([a-z0-9_:.-]{1,40})")
_HEADER = re.compile(r"(?i);\s*charset\s*=\s*[\"']?([a-z0-9_:.-]{1,40})")
Extractor = Literal["trafilatura", "beautifulsoup"]

# Elements within elements; lxml cuts what is deeper than 256 off, so that its tree cannot be trusted there.
_DEEPEST = 200
_MOST_ELEMENTS = 20_000  # Trafilatura's time grows faster than the number of elements
_AROUND = ("nav", "aside", "footer", "script", "style", "noscript", "template")
_BESIDE_TAGS = ("nav", "aside", "div", "section", "ul", "ol", "li")
# Classes and ids of readers' comments and of links to other stories.
_BESIDE = re.compile(
    r"(?:comments?|repl(?:y|ies)|related|recommend(?:ed|ations?)|most-read|trending|teasers?|disqus)(?:[-_]\w+)*"
)
_LEAST_TEASERS = 3
# A line break after a long line of plain text, which was wrapped at a width.
_WRAPPED = re.compile(r"(?<=[^\n]{50})[^\S\n]*\n(?=\S)")
_MARKUP = ("<!doctype html", "<html", "<head", "<body")
# Pixels that a picture of a page is said to have a side at least; smaller ones are icons and counters.
_LEAST_SIDE = 100
_WORD = re.compile(r"\w+")


def decode(body: bytes, content_type: str) -> str:
    """A body as text; undecodable bytes become U+FFFD."""
    for mark, codec in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace")
    header, meta = _HEADER.search(content_type), _META.search(body[:1024])
    named = _codec(header[1]) if header else None
    if named is None and meta is not None:
        # What could be read as ASCII to find this is not in UTF-16, whatever it says.
        named = "utf-8" if (own := _codec(meta[1].decode())) in ("utf-16-le", "utf-16-be") else own
    if named is not None:
        return body.decode(named, "replace")
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def _codec(name: str) -> str | None:
    return _CODECS.get(re.sub(r"[^a-z0-9]", "", name.lower()))


@dataclass(frozen=True, slots=True)
class MainText:
    """A page's cleaned title and main text, and the latest date that it names, empty if it names none.

    `is_dated` is false where all its dates stand in prose about something else.
    """

    title: str
    text: str
    date: str = ""
    is_dated: bool = True


def first_words(text: str, n: int) -> str:
    """The first `n` words, with the white space between them as it stands."""
    rest = text.split(None, n)
    return (text if len(rest) <= n else text[: len(text) - len(rest[n])]).rstrip()


def _drop_others(tree: HtmlElement) -> None:
    """Take out what is not the page's own: it is not read, and its dates are not the page's."""
    _drop(tree, [element for element in tree.iter(*_BESIDE_TAGS) if _is_beside(element)])
    teasers = dict.fromkeys(_teasers(tree))
    # A page of little else is an index, whose text they are.
    if 2 * sum(len(" ".join(teaser.itertext()).split()) for teaser in teasers) < len(" ".join(tree.itertext()).split()):
        _drop(tree, list(teasers))


def main_text(body: bytes, content_type: str, extractor: Extractor) -> MainText:
    """Take title and main text out of a page.

    Args:
        body: at most a few megabytes.
        content_type: the header as it came.
        extractor: `trafilatura` leaves out navigation and the like; `beautifulsoup` takes all text between tags.
    """
    text = decode(body, content_type).replace("\0", "")
    is_markup = text.lstrip()[:20].lower().startswith(_MARKUP)
    if content_type.partition(";")[0].strip().lower() == "text/plain" and not is_markup:
        return MainText("", clean(_WRAPPED.sub(" ", text.replace("\r\n", "\n"))), *text_date(text.splitlines()))
    # libxml2 gets the encoding, so that a wrong meta element is not believed.
    document = text.encode("utf-8", "replace")
    tree = _tree(document)
    if tree is None:
        return MainText("", "")
    titles = tree.xpath("string(//title)")
    title = clean(titles if isinstance(titles, str) else "").replace("\n", " ")
    if extractor == "beautifulsoup" or not _is_tame(tree):
        found = clean(_beautifulsoup(document, without=() if extractor == "beautifulsoup" else ("head", *_AROUND)))
        (dated, marks), (shown, says) = page_date(tree, is_tame=_is_tame(tree)), text_date(found.splitlines())
        return MainText(title, found, youngest([dated, shown]), marks or says)
    _drop_others(tree)
    dated, is_dated = page_date(tree)
    _drop(tree, list(tree.iter(*_AROUND)))
    import trafilatura
    from lxml import etree

    # Everything else that trafilatura can do (languages, comments) costs time and is not asked for.
    found = trafilatura.extract(tree, fast=True, include_comments=False) or ""
    if not found:  # of very short pages
        found = _beautifulsoup(etree.tostring(tree, encoding="utf-8"), without=("head",))
    return MainText(title, clean(found), dated, is_dated)


def picture_addresses(body: bytes, content_type: str, most: int) -> list[str]:
    """The addresses of a page's first pictures as written: those of its metadata, then those in its text."""
    tree = _tree(decode(body, content_type).replace("\0", "").encode("utf-8", "replace"))
    if tree is None:
        return []
    named = [
        element.get("content", "")
        for element in tree.iter("meta")
        if {element.get("property"), element.get("name")} & {"og:image", "twitter:image"}
    ]
    sized = [
        element.get("src", "") or element.get("data-src", "")
        for element in tree.iter("img")
        if all(
            int(side) >= _LEAST_SIDE for name in ("width", "height") if (side := element.get(name, "")[:9]).isdecimal()
        )
    ]
    found = dict.fromkeys(address.strip() for address in (*named, *sized))
    return [address for address in found if address and not address.startswith("data:")][:most]


def _tree(document: bytes) -> HtmlElement | None:
    from lxml import etree, html

    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True)
    try:
        return html.document_fromstring(document, parser=parser)
    except (etree.LxmlError, ValueError):
        return None


def _is_beside(element: HtmlElement) -> bool:
    """Whether an element is outside the main text, by its tag, class or id."""
    named = f"{element.get('class', '')} {element.get('id', '')}".lower().split()
    return element.tag in ("nav", "aside") or any(map(_BESIDE.fullmatch, named))


def _teasers(tree: HtmlElement) -> Iterator[HtmlElement]:
    """Dated links to other pages: whole blocks that are links, and each of three or more siblings that are such."""
    for link in tree.iter("a"):
        blocks = [element.tag for element in link.iterdescendants() if element.tag not in INLINE]
        if blocks and "h1" not in blocks and _is_teaser(link):
            yield link
    for parent in tree.iter():
        alike: dict[tuple[object, str | None], list[HtmlElement]] = {}
        for element in parent if len(parent) >= _LEAST_TEASERS else ():
            alike.setdefault((element.tag, element.get("class")), []).append(element)
        for items in alike.values():
            if len(items) >= _LEAST_TEASERS and all(map(_is_teaser, items)):
                yield from items


def _is_teaser(item: HtmlElement) -> bool:
    """Whether a dated element is a link to another page, most of its words are one, or its heading is."""
    links = [link for link in item.iter("a") if not link.get("href", "#").startswith("#")]
    lines = [" ".join(element.itertext()) for element in (item, *links)]
    words, *linked = (len(line.split()) for line in lines)
    is_headed = any(link.xpath("ancestor::h2|ancestor::h3|ancestor::h4|.//h2|.//h3|.//h4") for link in links)
    is_dated = bool(text_date(lines[:1])[0]) or next(item.iter("time"), None) is not None
    return bool(links) and is_dated and (is_headed or 2 * sum(linked) >= words)


def _is_tame(tree: HtmlElement) -> bool:
    from lxml import etree

    depth = elements = 0
    for event, _ in etree.iterwalk(tree, events=("start", "end")):
        depth += 1 if event == "start" else -1
        elements += event == "start"
        if depth > _DEEPEST or elements > _MOST_ELEMENTS:
            return False
    return True


def _drop(tree: HtmlElement, elements: Sequence[HtmlElement]) -> None:
    for element in elements:
        if element.getparent() is not None and element is not tree:
            element.drop_tree()


def _beautifulsoup(document: bytes, *, without: Sequence[str]) -> str:
    from bs4 import BeautifulSoup, Tag
    from bs4.element import CData, NavigableString

    soup = BeautifulSoup(document, "lxml", from_encoding="utf-8")
    for element in soup.find_all(without) if without else ():
        element.extract()
    # A line is what stands in one block: elements such as <b> and line breaks of the source end none.
    blocks: dict[int, object] = {id(soup): soup}
    lines: list[str] = []
    last: object = None
    for node in soup.descendants:
        block = blocks[id(node.parent)]
        if isinstance(node, Tag):
            blocks[id(node)] = block if node.name in INLINE else node
            last = last if node.name in INLINE else None
        elif type(node) in (NavigableString, CData):
            if block is last:
                lines[-1] += str(node)
            else:
                lines.append(str(node))
            last = block
    return "\n".join(" ".join(line.split()) for line in lines)


def canary(text: str, item_texts: Iterable[str], n: int = 13) -> bool:
    """Whether `n` consecutive words of one of the item's texts occur in `text`.

    Case, punctuation, white space, invisible characters and compatibility forms do not count. A text of fewer than `n`
    words cannot be found.
    """
    page = f" {' '.join(_words(text))} "
    for item in item_texts:
        words = _words(item)
        if any(f" {' '.join(words[start : start + n])} " in page for start in range(len(words) - n + 1)):
            return True
    return False


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", clean(text)).casefold())
