"""Protocols of web access for regimes: searching and reading pages. All content is untrusted data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One line of a search's results.

    Attributes:
        url: address of the page.
        title, snippet: from the provider.
        date: day of the page (ISO), None if the provider does not know it.
        rank: place among the results, from 1.
    """

    url: str
    title: str
    snippet: str
    date: str | None
    rank: int


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search.

    Attributes:
        results: in the provider's order; empty if nothing was found or the search failed.
        problem: why the search failed, empty if it did not.
    """

    results: Sequence[SearchResult]
    problem: str = ""


class PageStatus(StrEnum):
    """The outcome of reading a page."""

    OK = "ok"
    EXCLUDED = "excluded"
    ROBOTS = "robots"
    UNSAFE = "unsafe"
    NOT_TEXT = "not-text"
    TOO_LARGE = "too-large"
    TIMEOUT = "timeout"
    EMPTY = "empty"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class WebPage:
    """A requested page.

    Attributes:
        url: the address asked for.
        final_url: the address after redirects.
        status: the outcome of reading; only `ok` pages have a text.
        detail: a short reason for people, such as `HTTP 404`.
        title: the page's title.
        text: main text, cleaned of invisible characters, whole.
        sha256: hash of the body as it came, empty where there was none.
        date: the latest day (`2023-04-01`) or moment (`2023-04-01T10:00:00Z`) that it says it is from; empty where it
            does not say.
    """

    url: str
    final_url: str
    status: PageStatus
    detail: str = ""
    title: str = ""
    text: str = ""
    sha256: str = ""
    date: str = ""


class Web(Protocol):
    """Web access of a regime. Errors of searches and pages are part of the results.

    Neither call fails because of a page or a provider; a RunError means that no further call makes sense (the memory
    is damaged, the provider of searches refuses every one).
    """

    @property
    def parameters(self) -> Mapping[str, str | int | float | bool]:
        """All settings that determine results (provider, count, extractor ...), part of the run's identity."""

    async def search(self, query: str, *, before: date | None = None) -> Found:
        """Search; with `before`, only for pages from before that day, if the provider supports it."""

    async def read(self, url: str) -> WebPage:
        """Fetch a page and extract its main text; pages of excluded sources are not fetched."""

    @property
    def blocked(self) -> Sequence[str]:
        """Domains that a search by a provider must leave out: of the task's answers, and of the settings."""

    def reason(self, url: str) -> str:
        """Why a page may not be used, empty if it may."""

    async def close(self) -> None:
        """Close connections and files."""


@runtime_checkable
class ImageSearch(Protocol):
    """Web access with reverse image search."""

    @property
    def searches_images(self) -> bool:
        """Whether a service for it is configured."""

    async def search_image(self, address: str, query: str = "") -> Found:
        """The pages that show the picture at an address; errors are part of the result.

        A query narrows the search, if the service takes one.
        """

    async def pictures(self, url: str) -> Sequence[bytes]:
        """The first pictures of a page that was read, as the decoder wrote them again, if they can be fetched."""
