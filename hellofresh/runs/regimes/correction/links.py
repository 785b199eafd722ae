"""Addresses in texts: found, and taken out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from hellofresh.core.net.addresses import AddressError, PageAddress

__all__ = ["Unlinked", "same_address", "without_links"]

_DOT = r"[.\uff0e\u3002\uff61]"
_SUFFIXES = (
    "com|org|net|edu|gov|mil|int|info|biz|io|co|me|tv|news|online|site|xyz|top|club|shop|store|app|dev|live|link|click|"
    "example|invalid|test|eu|uk|us|ca|au|de|fr|ru|cn|in|br|jp|nl|it|es|ch|at|be|se|no|fi|dk|pl|ie|nz|za|ng|ke|mx|tk|ly|gl"
)
_REST = r"""[^\s<>"'`\u201c\u201d|\\^{}\[\]]*"""
_LINK = re.compile(
    rf"""
    !?\[(?P<said>[^\[\]\n]{{0,300}})\]\(\s*<?(?P<target>[^()\s<>]+(?:\([^()\s]*\)[^()\s<>]*)?)>?[^()\n]{{0,200}}\)
    | <?(?P<address>\b(?:[a-z][a-z0-9+.-]{{1,20}}://|www{_DOT})[^\s<>"'`\u201c\u201d\u00ab\u00bb|\\^{{}}\[\]]+)>?
    | \b(?P<scheme>(?:javascript|data|mailto|vbscript|magnet|tel):[^\s<>"']+)
    | (?<![\w@./-])(?P<bare>(?:[^\W_](?:[\w-]{{0,62}}[^\W_])?{_DOT})+
      (?:(?:{_SUFFIXES}|xn--[a-z0-9-]+)\b(?:[:/?\#]{_REST})? | [a-z]{{2,24}}(?::\d{{2,5}}\b|/[^\W_]){_REST}))
    | (?<![\w@./-])(?P<number>\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?::\d{{2,5}}\b|/[^\W_]){_REST})
    """,
    re.VERBOSE | re.IGNORECASE,
)
_TRAILING = ".,;:!?'\")]}*_\u2019\u201d\u3002"
_MOST, _MOST_NESTED = 2000, 10


@dataclass(frozen=True, slots=True)
class Unlinked:
    """A text without addresses, and the addresses that were in it, in order, each once."""

    text: str
    links: tuple[str, ...]


def without_links(text: str, *, spare: Callable[[str], bool] = lambda _: False) -> Unlinked:
    """Take every address out of a text; of a Markdown link its words stay, of any other a space.

    Args:
        text: any text.
        spare: whether a site's name without a scheme and a path, such as `example.org`, stays where it stands.
    """
    found: dict[str, None] = {}

    def taken(match: re.Match[str]) -> str:
        if match["target"] is not None:
            found[match["target"][:_MOST]] = None
            return f"{without(match['said'])} "
        whole = match["address"] or match["scheme"] or match["bare"] or match["number"]
        address = whole.rstrip(_TRAILING)
        if address.count("(") > address.count(")") and whole[len(address) :].startswith(")"):
            address += ")"
        if match["bare"] and not re.search(r"[:/?#]", address) and spare(address):
            return match[0]
        found[address[:_MOST]] = None
        return f" {whole[len(address) :].lstrip('/')}"

    def without(part: str) -> str:
        return _LINK.sub(taken, part)

    plain = without(text)
    for _ in range(_MOST_NESTED):  # a link may stand in the words of another
        plain, before = without(plain), plain
        if plain == before:
            break
    else:
        plain = without(plain.replace("](", "] ("))
    return Unlinked(plain, tuple(found))


def same_address(url: str) -> str:
    """A spelling that equal addresses share, empty for what is none."""
    try:
        return PageAddress.parse(url if "://" in url else f"https://{url}").url.split("://", 1)[1].rstrip("/")
    except AddressError:
        return ""
