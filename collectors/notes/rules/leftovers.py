"""What shows that a text was copied from a web page, or that it speaks of a photo or video that did not come with it.

Only for posts of a source that says nothing of media: elsewhere such words are the author's own, and posts with media
are known. A note that the page showed below the post ("Readers added context") would tell the label.
"""

from __future__ import annotations

import re

__all__ = ["has_page_leftovers", "speaks_of_media"]

_DAY = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[ ]\d{1,2}(?:,[ ]20\d\d)?"
_PICTURE = r"(?:photo|picture|pic|image|video|clip|screenshot|screengrab)s?"
_SENTENCE_END = r"""(?:^|[.!?…"'\u201d\u2019)\]]|https?://\S+|[@#]\w+)"""

_PAGE = re.compile(
    rf"""
    \bTranslate\ (?:post|Tweet)\b
    | (?:…|\.\.\.)\s*Show\ (?:more|this\ thread)\b
    | ^Show\ (?:more|this\ thread)$
    | \bWatch\ on\ (?:X|Twitter)\b
    | ^Follow$
    | @\w{{1,15}}\s*·\s*(?:{_DAY}|\d{{1,2}}[smh]\b|Follow\b)
    | \b\d{{1,2}}:\d\d\ [AP]M\s*·\s*{_DAY}
    | \bLast\ edited\s*$
    | \bReaders\ added\ context\b
    | \bThis\ (?:post|Tweet)\ is\ unavailable\.
    | \bUnable\ to\ locate\ element\b
    """,
    re.VERBOSE | re.MULTILINE,
)
_PLAYER = re.compile(
    rf"""
    \bThe\ following\ media\ includes\ potentially\ sensitive\ content\b
    | (?:^|\s)ALT(?:\s+ALT|\s*\Z)
    | (?:^|\s)GIF\s*\Z
    | (?:^|\s)0:[0-5]\d(?=\s|\Z)
    | {_SENTENCE_END}\s+\d{{1,2}}:[0-5]\d\s*(?:\Z|From\b)
    """,
    re.VERBOSE,
)
_WORDS = re.compile(
    rf"""
    \bth(?:is|ese)\ (?:\w+\ )?(?:{_PICTURE}|footage)\b
    | \b{_PICTURE}\ (?:below|attached|above)\b
    | \b(?:pictured|shown|seen)\ (?:here|below|above)\b
    | \b(?:attached|following)\ {_PICTURE}\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def has_page_leftovers(text: str) -> bool:
    """Whether the text holds words of the page around it, or of another post quoted there."""
    return _PAGE.search(text) is not None


def speaks_of_media(text: str) -> bool:
    """Whether the text holds signs of a player or an image (`0:17`, `ALT`), or points to one ("these photos")."""
    return _PLAYER.search(text) is not None or _WORDS.search(text) is not None
