"""When a page is from, by what it says of itself: it is taken to be as young as the latest date that it names.

A moment is written `2023-04-01T10:00:00Z`, a day without a time of day `2023-04-01`. Dates stand in meta elements, in
JSON-LD, in the address, and where htmldate finds them; a page that gives itself an early date in one place and a later
one in another is as young as the later one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["end_of", "page_date", "url_date", "youngest"]

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
