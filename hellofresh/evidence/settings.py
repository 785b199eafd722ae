"""Settings of web search and page reading: `[web]` in `hellofresh.toml`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from hellofresh.core.plugins import entry_points_of
from hellofresh.core.strict import Strict

PROVIDERS = ("offline", "corpus", "brave", "serper", "tavily", "searxng", "ddgs")
TEXTS_ALREADY = frozenset({"offline", "corpus"})
"""Providers with local texts, which need no fetching and no extraction."""
TAKES_SITES = frozenset({"brave", "serper", "offline"})
"""Providers that understand `site:one.example OR site:two.example` in a query."""
_CLOSED = {
    "google": "Google's Custom Search takes no new customers and ends on 2027-01-01; use serper (results of Google), "
    "brave or tavily",
    "bing": "Microsoft closed Bing's search in August 2025; use serpapi for pictures, and brave, serper or tavily for "
    "queries",
}
PLUGINS = "hellofresh.search"
"""Entry points of search providers from other packages. Each is called with the table [web.options] and with `replay`,
which says that nothing will be asked, so that no key is needed; it gives a `SearchProvider`."""


def search_providers() -> tuple[str, ...]:
    """Names of the search providers, including those of other packages."""
    return (*PROVIDERS, *sorted(one.name for one in entry_points_of(PLUGINS)))


class WebProviderSettings(Strict):
    """Settings of one search provider; missing ones take the provider's defaults."""

    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$")
    key_variable: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """The environment variable that holds the key."""


class WebSettings(Strict):
    """Settings of searching and reading the web."""

    provider: str = "offline"
    """One of `search_providers`."""
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Options for a provider from another package."""
    count: int = Field(default=10, ge=1, le=50)
    """Results of one search."""
    extractor: Literal["trafilatura", "beautifulsoup"] = "trafilatura"
    corpus: str | None = Field(default=None, min_length=1)
    """Folder of pages for the provider `offline`, those of the package where nothing is said; for the provider `corpus`
    the name of a corpus of the workspace."""
    retriever: str = Field(default="bm25", min_length=1, max_length=200)
    """Retriever of the provider `corpus`, as for `hellofresh corpus compare`."""
    contact: str | None = Field(default=None, pattern=r"^[\x21-\x7e]{3,200}$")
    """Contact address (email or web page) sent to every site that is read."""
    excluded: list[str] = Field(default=[])
    """Additional domains that must not be read."""
    images: Literal["off", "serpapi"] = "off"
    """Service for reverse image search."""
    serpapi: WebProviderSettings = WebProviderSettings()
    brave: WebProviderSettings = WebProviderSettings()
    serper: WebProviderSettings = WebProviderSettings()
    tavily: WebProviderSettings = WebProviderSettings()
    searxng: WebProviderSettings = WebProviderSettings()

    @field_validator("provider", "images", mode="before")
    @classmethod
    def _open(cls, name: object) -> object:
        if (closed := _CLOSED.get(str(name))) is not None:
            raise ValueError(closed)
        return name

    @field_validator("provider")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in PROVIDERS and name not in (known := search_providers()):
            raise ValueError(f"{name[:80]!r} is not a search provider; known providers: {', '.join(known)}")
        return name
