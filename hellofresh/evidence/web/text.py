"""Texts of pages: from bytes to characters, the main text cleaned of what a reader cannot see, dates, known passages.

A page is taken to be as young as the latest date that it names: in meta elements, in JSON-LD, in its address, and where
htmldate finds one. A moment is written `2023-04-01T10:00:00Z`, a day without a time of day `2023-04-01`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Literal

from hellofresh.core.texts import visible as clean

if TYPE_CHECKING:
    from lxml.html import HtmlElement

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
"""Names of character sets, without punctuation, and Python's codecs for them. Python knows other codecs that are no
character sets (base64, rot13, utf-7, unicode_escape ...); a page has no business with those."""
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_META = re.compile(rb"(?i)<meta[^>]{0,500}?charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([a-z0-9_:.-]{1,40})")
_HEADER = re.compile(r"(?i);\s*charset\s*=\s*[\"']?([a-z0-9_:.-]{1,40})")


def decode(body: bytes, content_type: str) -> str:
    """The characters of a body; bytes that fit nowhere become U+FFFD."""
    for mark, codec in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace")
    named = _named_in_header(content_type) or _named_in_meta(body)
    if named is not None:
        return body.decode(named, "replace")
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def _codec(name: str) -> str | None:
    return _CODECS.get(re.sub(r"[^a-z0-9]", "", name.lower()))


def _named_in_header(content_type: str) -> str | None:
    found = _HEADER.search(content_type)
    return None if found is None else _codec(found[1])


def _named_in_meta(body: bytes) -> str | None:
    found = _META.search(body[:1024])
    codec = None if found is None else _codec(found[1].decode())
    # What could be read as ASCII to find this is not in UTF-16, whatever it says.
    return "utf-8" if codec in ("utf-16-le", "utf-16-be") else codec


_NAMES = frozenset({
    "article:published_time", "article:modified_time", "article:published", "article:modified", "og:published_time",
    "og:updated_time", "og:article:published_time", "og:article:modified_time", "datepublished", "datemodified",
    "dateupdated", "date", "dc.date", "dc.date.issued", "dc.date.modified", "dcterms.created", "dcterms.date",
    "dcterms.issued", "dcterms.modified", "last-modified", "lastmod", "parsely-pub-date", "pubdate", "publishdate",
    "publish-date", "sailthru.date", "citation_publication_date", "revised", "updated_time",
})  # fmt: skip
_JSON_DATE = re.compile(r'"date(?:Published|Modified)"\s*:\s*"([^"]{4,40})"')
_URL_DATE = re.compile(r"[/=_-]((?:19|20)\d\d)([/_-])(0?[1-9]|1[0-2])\2(0?[1-9]|[12]\d|3[01])(?!\d)")
_MOST_CLAIMS = 200


def end_of(text: str) -> datetime | None:
    """The moment by which all that is dated so was there: of a day its end (UTC); None for what is no date."""
    try:
        if len(text) == 10:
            return datetime.combine(date.fromisoformat(text), time(), UTC) + timedelta(days=1)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None
    return moment.astimezone(UTC) if moment.tzinfo else None


def youngest(claims: Iterable[str]) -> str:
    """The latest of several dates, empty if none is one. A day says nothing beside a moment of the same day."""
    known = {claim: end for claim in claims if (end := end_of(claim)) is not None}
    told = {claim[:10] for claim in known if len(claim) > 10}
    left = [claim for claim in known if len(claim) > 10 or claim not in told]
    return max(left, key=lambda claim: (known[claim], claim), default="")


def url_date(url: str) -> str:
    """The day that an address names, such as `/2023/04/01/`; empty if none."""
    found = _URL_DATE.search(url)
    return "" if found is None else _claim(f"{found[1]}-{int(found[3]):02}-{int(found[4]):02}")


def page_date(tree: HtmlElement) -> str:
    """The latest date that a page names as that of its publication or change, empty where it names none."""
    claims = [claim for text in _written(tree) if (claim := _claim(text))]
    return youngest([*claims[:_MOST_CLAIMS], *_searched(tree)])


def _written(tree: HtmlElement) -> Iterator[str]:
    """What meta elements, marked times and JSON-LD say."""
    for element in tree.iter("meta"):
        name = element.get("property") or element.get("name") or element.get("itemprop") or element.get("http-equiv")
        if (name or "").strip().lower() in _NAMES:
            yield (element.get("content") or "").strip()
    for element in tree.iter("time"):
        if element.get("pubdate") is not None or (element.get("itemprop") or "").lower() in _NAMES:
            yield (element.get("datetime") or "").strip()
    for element in tree.iter("script"):
        if "ld+json" in (element.get("type") or "").lower():
            yield from _JSON_DATE.findall(element.text or "")


def _claim(text: str) -> str:
    """A date as it is written here: a moment where its time zone is known, else a day; empty if it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            return date.fromisoformat(text[:10]).isoformat()
        except ValueError:
            return ""
    if len(text) <= 10 or moment.tzinfo is None:
        return moment.date().isoformat()
    try:
        return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except OverflowError:
        return ""


def _searched(tree: HtmlElement) -> Iterator[str]:
    """The days of publication and of change that htmldate finds in the markup; it guesses nothing from the text."""
    from htmldate import find_date

    for original in (True, False):
        try:
            found = find_date(tree, extensive_search=False, original_date=original)
        except Exception:  # it reads whatever a page holds; one that breaks it has no such date
            found = None
        if found:
            yield found


Extractor = Literal["trafilatura", "beautifulsoup"]

_DEEPEST = 200
"""Elements within elements; lxml cuts what is deeper than 256 off, so that its tree cannot be trusted there."""
_MOST_ELEMENTS = 20_000
"""Trafilatura's time grows faster than the number of elements."""
_AROUND = ("nav", "footer", "script", "style", "noscript", "template")
_MARKUP = ("<!doctype html", "<html", "<head", "<body")


@dataclass(frozen=True, slots=True)
class MainText:
    """What a page says: its title and its main text, both cleaned, and its date, empty if it has none."""

    title: str
    text: str
    date: str = ""


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


_WORD = re.compile(r"\w+")


def canary(text: str, item_texts: Iterable[str], n: int = 13) -> bool:
    """Whether `n` consecutive words of one of the item's texts stand in `text`.

    Case, punctuation, white space, invisible characters and compatibility forms do not count. A text of fewer than `n`
    words cannot be found.
    """
    page = f" {' '.join(_words(text))} "
    return any(f" {gram} " in page for item in item_texts for gram in _grams(_words(item), n))


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", clean(text)).casefold())


def _grams(words: list[str], n: int) -> set[str]:
    return {" ".join(words[start : start + n]) for start in range(len(words) - n + 1)}
