"""Searching and reading so that nothing out there ends a run: what goes wrong is in what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from hellofresh.core.errors import HelloFreshError, RunError
from hellofresh.core.net.addresses import AddressError, PageAddress
from hellofresh.evidence.web import Found, ImageSearch, PageStatus, SearchResult, Web, WebPage
from hellofresh.runs.regimes._base import Case
from hellofresh.runs.regimes._texts import one_line

__all__ = ["address", "first_places", "host_of", "read_safely", "search_image_safely", "search_safely", "web_of"]

_LONGEST_ADDRESS = 2000


def web_of(case: Case) -> Web:
    """The case's way to the web.

    Raises:
        RunError: if it has none.
    """
    if case.web is None:
        raise RunError("a regime that searches was given no web access", where=case.sample.id, code="no-web")
    return case.web


async def search_safely(web: Web, query: str, before: date | None) -> Found:
    """Search; whatever a provider's answer does to its reader is a problem of the search."""
    try:
        return await web.search(query, before=before)
    except HelloFreshError:
        raise
    except Exception as error:
        return Found((), f"the search failed ({type(error).__name__})")


async def search_image_safely(web: Web, picture: str) -> Found:
    """Search for the pages on which a picture stands; nothing where the web cannot."""
    try:
        return await web.search_image(picture) if isinstance(web, ImageSearch) else Found(())
    except HelloFreshError:
        raise
    except Exception as error:
        return Found((), f"the search failed ({type(error).__name__})")


async def read_safely(web: Web, url: str) -> WebPage:
    """Read a page; one that breaks its reader is dead."""
    try:
        return await web.read(url)
    except HelloFreshError:
        raise
    except Exception as error:
        return WebPage(url, url, PageStatus.DEAD, f"reading failed ({type(error).__name__})")


def first_places(results: Sequence[SearchResult]) -> set[int]:
    """Indices of the results with an address that no earlier one has."""
    first: dict[str, int] = {}
    for place, result in enumerate(results):
        first.setdefault(result.url, place)
    return set(first.values())


def host_of(url: str) -> str:
    """The host of an address, empty if it has none that can be read."""
    try:
        return PageAddress.parse(url).host
    except AddressError:
        return ""


def address(url: str) -> str:
    """An address on one line, cut where it is absurdly long."""
    return one_line(url, _LONGEST_ADDRESS)
