"""The pictures of a post, from whatever form a service gives them in: what is not understood is left out."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from collectors.notes.posts._answers import Several
from hellofresh.core.net.addresses import AddressError, PageAddress
from hellofresh.tasks.images import Media, MediaKind

__all__ = ["media_in"]

_KINDS: dict[str, MediaKind] = {
    "photo": "photo",
    "video": "video",
    "animated_gif": "animation",
    "gif": "animation",
}
_POSTERS = ("media_url_https", "thumbnail_url", "preview_image_url", "poster")
"""Where a picture is, or the poster frame of what moves; `url` is that of a photo, or of the film itself."""
_DESCRIPTIONS = ("ext_alt_text", "altText", "alt_text")
_LONGEST_DESCRIPTION = 1_000
"""Characters; X's own limit."""
_MOST = 16


def media_in(*several: Several, kind: MediaKind | None = None) -> tuple[Media, ...]:
    """The pictures in the first of several places that names any.

    Args:
        several: as services give them.
        kind: of entries that do not say.
    """
    for place in several:
        entries: Iterable[Any] = place if isinstance(place, list) else [place]
        found = [item for entry in entries if (item := _media(entry, kind)) is not None]
        if found:
            return tuple(found[:_MOST])
    return ()


def _media(entry: Any, usual: MediaKind | None) -> Media | None:
    if not isinstance(entry, dict):
        return None
    kind = _KINDS.get(str(entry.get("type")), usual)
    address = _first_text(entry, (*_POSTERS, *(("url",) if kind == "photo" else ())))
    if kind is None or not address:
        return None
    try:
        parsed = PageAddress.parse(address)
    except AddressError:
        return None
    if parsed.scheme != "https":
        return None
    description = html.unescape(_first_text(entry, _DESCRIPTIONS))[:_LONGEST_DESCRIPTION]
    return Media(kind, parsed.url, description=description)


def _first_text(entry: dict[str, Any], names: Iterable[str]) -> str:
    return next((value for name in names if isinstance(value := entry.get(name), str) and value), "")
