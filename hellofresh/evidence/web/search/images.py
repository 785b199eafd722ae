"""Reverse image search: the pages on which a picture stands, by the picture's address.

SerpApi reads Google's results (https://serpapi.com/google-reverse-image), page by page. The other one speaks as Bing's
Visual Search did (https://learn.microsoft.com/bing/search-apis/bing-visual-search/); Microsoft closed it in August
2025, so that it needs the address of a service that speaks likewise. Both need an address that they can fetch: a
picture without one, such as a file, is not searched for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import date

from hellofresh.core.errors import ConfigError
from hellofresh.core.net.keys import may_carry_key
from hellofresh.core.net.retry import RetryPolicy
from hellofresh.evidence.settings import WebProviderSettings, WebSettings
from hellofresh.evidence.web._base import Found, SearchResult
from hellofresh.evidence.web.search._base import Hit, ProviderAnswer, SearchProvider
from hellofresh.evidence.web.search._http import SEARCH_RETRIES, HttpProvider, ProviderReply, SearchRequest

__all__ = ["BING_URL", "MOST_LINKS", "SERPAPI_URL", "PagedImageSearch", "bing", "open_image_provider", "serpapi"]

SERPAPI_URL = "https://serpapi.com/search.json"
BING_URL = "https://api.bing.microsoft.com/v7.0/images/visualsearch"
MOST_LINKS = 50
"""Links of one picture, before publishers are looked at."""
_A_PAGE = 10
_KEYS = {"serpapi": "SERPAPI_API_KEY", "bing": "BING_API_KEY"}


class _SerpResult(ProviderReply):
    link: str = ""
    title: str = ""
    snippet: str = ""
    date: str | None = None


class _SerpResponse(ProviderReply):
    image_results: tuple[_SerpResult, ...] = ()


def _serp_read(answer: _SerpResponse) -> Sequence[Hit]:
    return [Hit(r.link, r.title, r.snippet, r.date) for r in answer.image_results]


class _BingPage(ProviderReply):
    hostPageUrl: str = ""  # noqa: N815 - as the service writes it
    name: str = ""
    datePublished: str | None = None  # noqa: N815


class _BingPages(ProviderReply):
    value: tuple[_BingPage, ...] = ()


class _BingAction(ProviderReply):
    actionType: str = ""  # noqa: N815
    data: _BingPages | None = None


class _BingTag(ProviderReply):
    actions: tuple[_BingAction, ...] = ()


class _BingResponse(ProviderReply):
    tags: tuple[_BingTag, ...] = ()


def _bing_ask(query: str, count: int, before: date | None) -> SearchRequest:
    return SearchRequest(form={"knowledgeRequest": json.dumps({"imageInfo": {"url": query}})})


def _bing_read(answer: _BingResponse) -> Sequence[Hit]:
    """The pages that include the picture; other actions (similar pictures, products) say nothing of it."""
    actions = (action for tag in answer.tags for action in tag.actions if action.actionType == "PagesIncluding")
    pages = (page for action in actions if action.data is not None for page in action.data.value)
    return [Hit(page.hostPageUrl, page.name, "", page.datePublished) for page in pages]


class PagedImageSearch:
    """Asks a service for page after page until there are enough links, or a page brings nothing new.

    Args:
        name: as in the settings.
        pages: the provider of each page.
    """

    def __init__(self, name: str, pages: Sequence[SearchProvider]) -> None:
        self.name, self._pages = name, pages
        self.parameters: Mapping[str, str | int | float | bool] = {
            "images": name, **{k: v for k, v in pages[0].parameters.items() if k == "base_url"}, "pages": len(pages),
        }  # fmt: skip

    async def search(self, query: str, count: int, before: date | None) -> ProviderAnswer:
        """The pages on which the picture at an address stands, each once; what was found before a failure counts.

        Raises:
            RunError: if no search at all would be answered.
        """
        found: dict[str, SearchResult] = {}
        raw, problem = [], ""
        for page in self._pages:
            answer = await page.search(query, _A_PAGE, before)
            raw.append(answer.raw.decode("utf-8", "replace"))
            problem = answer.found.problem
            new = {item.url: item for item in answer.found.results if item.url not in found}
            found |= new
            if not new or len(found) >= count:
                break
        results = [
            SearchResult(item.url, item.title, item.snippet, item.date, rank)
            for rank, item in enumerate(list(found.values())[:count], start=1)
        ]
        return ProviderAnswer(Found(tuple(results), "" if results else problem), json.dumps(raw).encode())

    async def close(self) -> None:
        """Close all connections."""
        for page in self._pages:
            await page.close()


def serpapi(base_url: str, key: str, retries: RetryPolicy = SEARCH_RETRIES) -> PagedImageSearch:
    """SerpApi with a key, five pages of ten links."""

    def asks(start: int) -> Callable[[str, int, date | None], SearchRequest]:
        def ask(query: str, count: int, before: date | None) -> SearchRequest:
            asked = {"engine": "google_reverse_image", "image_url": query}
            return SearchRequest({**asked, "start": str(start)} if start else asked)

        return ask

    pages = [
        HttpProvider(
            "serpapi", base_url, answer=_SerpResponse, ask=asks(start), read=_serp_read, secret_query={"api_key": key},
            dated=False, most=MOST_LINKS, retries=retries,
        )
        for start in range(0, MOST_LINKS, _A_PAGE)
    ]  # fmt: skip
    return PagedImageSearch("serpapi", pages)


def bing(base_url: str, key: str, retries: RetryPolicy = SEARCH_RETRIES) -> PagedImageSearch:
    """A service that speaks as Bing's Visual Search, with a key; it gives all links at once."""
    provider = HttpProvider(
        "bing", base_url, answer=_BingResponse, ask=_bing_ask, read=_bing_read,
        headers={"Ocp-Apim-Subscription-Key": key}, dated=False, most=MOST_LINKS, retries=retries,
    )  # fmt: skip
    return PagedImageSearch("bing", [provider])


def open_image_provider(
    settings: WebSettings, *, replay: bool = False, retries: RetryPolicy = SEARCH_RETRIES
) -> PagedImageSearch | None:
    """The provider of reverse image search that the settings name, None for none.

    Raises:
        ConfigError: if its key is missing, or would go over an unencrypted connection.
    """
    name = settings.images
    if name == "off":
        return None
    said: WebProviderSettings = getattr(settings, name)
    variable = said.key_variable or _KEYS[name]
    base_url = said.base_url or (SERPAPI_URL if name == "serpapi" else BING_URL)
    key = "" if replay else os.environ.get(variable, "").strip()
    if not replay and (not key or not key.isascii() or not key.isprintable()):
        raise ConfigError(
            f"{name} needs a key", where=f"environment variable {variable}",
            expected="a key of printable ASCII characters",
            fix=f'Set {variable}, or images = "off" under [web] in hellofresh.toml.', code="missing-key",
        )  # fmt: skip
    if not replay and not may_carry_key(base_url):
        raise ConfigError(
            "a key is not sent over an unencrypted connection",
            where=f"web.{name}.base_url", expected="https://...", code="insecure-url",
        )  # fmt: skip
    return (serpapi if name == "serpapi" else bing)(base_url, key, retries)
