"""Search services on the web, each in one declaration: how it is asked, and where its results stand in its answer.

Documentation of each: Brave (https://api-dashboard.search.brave.com/app/documentation/web-search/get-started), Serper,
results of Google (https://serper.dev), Tavily (https://docs.tavily.com/documentation/api-reference/endpoint/search),
SearXNG, a search engine of one's own (https://docs.searxng.org/dev/search_api.html; `search.formats` in its settings
must name JSON), Google's Custom Search (https://developers.google.com/custom-search/v1/reference/rest/v1/cse/list;
closed to new customers, it ends on 2027-01-01), SerpApi, which reads Google's search by picture
(https://serpapi.com/google-reverse-image), and services that speak as Bing's Visual Search did
(https://learn.microsoft.com/bing/search-apis/bing-visual-search/; Microsoft closed it in August 2025). The last two are
given the address of a picture: one without an address, such as a file, is not searched for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import partial
from typing import Any

from hellofresh.core.net.retry import RetryPolicy
from hellofresh.evidence.web._base import Found, SearchResult
from hellofresh.evidence.web.search._base import ProviderAnswer, SearchProvider
from hellofresh.evidence.web.search._http import SEARCH_RETRIES, HttpProvider, SearchRequest, Service

MOST_LINKS = 50
"""Links of one picture, before publishers are looked at."""
_A_PAGE = 10
_DATE_TAGS = ("article:published_time", "og:published_time", "datepublished", "date")


def _brave(query: str, count: int, before: date | None) -> SearchRequest:
    asked = {"q": query, "count": str(count), "text_decorations": "false"}
    if before is not None:
        asked["freshness"] = f"1970-01-01to{before - timedelta(days=1)}"
    return SearchRequest(asked)


def _serper(query: str, count: int, before: date | None) -> SearchRequest:
    return SearchRequest(json={"q": query if before is None else f"{query} before:{before}", "num": count})


def _tavily(query: str, count: int, before: date | None) -> SearchRequest:
    asked: dict[str, str | int] = {"query": query, "max_results": count, "search_depth": "basic"}
    if before is not None:
        asked["end_date"] = str(before - timedelta(days=1))
    return SearchRequest(json=asked)


def _searxng(query: str, count: int, before: date | None) -> SearchRequest:
    del count, before  # it gives a page of results, whatever their number, and knows no days
    return SearchRequest({"q": query, "format": "json"})


def _google(query: str, count: int, before: date | None) -> SearchRequest:
    asked = {"q": query, "num": str(count)}
    if before is not None:
        asked["sort"] = f"date:r:19700101:{before - timedelta(days=1):%Y%m%d}"
    return SearchRequest(asked)


def _google_date(item: Mapping[str, Any]) -> object:
    pagemap = item.get("pagemap")
    tags = pagemap.get("metatags") if isinstance(pagemap, dict) else None
    first = tags[0] if isinstance(tags, list) and tags and isinstance(tags[0], dict) else {}
    return next((first[name] for name in _DATE_TAGS if isinstance(first.get(name), str)), None)


def _serpapi(query: str, count: int, before: date | None, *, start: int = 0) -> SearchRequest:
    asked = {"engine": "google_reverse_image", "image_url": query}
    return SearchRequest({**asked, "start": str(start)} if start else asked)


def _bing(query: str, count: int, before: date | None) -> SearchRequest:
    return SearchRequest(form={"knowledgeRequest": json.dumps({"imageInfo": {"url": query}})})


def _bing_pages(answer: Mapping[str, Any]) -> list[object]:
    """The pages that include the picture; other actions (similar pictures, products) say nothing of it."""
    tags = answer.get("tags", ())
    actions = [action for tag in tags for action in tag.get("actions", ())]
    chosen = [action for action in actions if action.get("actionType") == "PagesIncluding"]
    return [page for action in chosen for page in (action.get("data") or {}).get("value", ())]


SERVICES: Mapping[str, Service] = {
    service.name: service
    for service in (
        Service(
            name="brave",
            base_url="https://api.search.brave.com/res/v1/web/search",
            key_variable="BRAVE_API_KEY",
            key_header="X-Subscription-Token",
            ask=_brave,
            results=("web", "results"),
            fields={"snippet": "description", "date": "page_age"},
        ),
        Service(
            name="serper",
            base_url="https://google.serper.dev/search",
            key_variable="SERPER_API_KEY",
            key_header="X-API-KEY",
            ask=_serper,
            results=("organic",),
            fields={"url": "link"},
        ),
        Service(
            name="tavily",
            base_url="https://api.tavily.com/search",
            key_variable="TAVILY_API_KEY",
            key_header="Authorization",
            ask=_tavily,
            results=("results",),
            fields={"snippet": "content", "date": "published_date"},
        ),
        Service(
            name="searxng",
            key_header="Authorization",
            ask=_searxng,
            results=("results",),
            fields={"snippet": "content", "date": "publishedDate"},
            dated=False,
            most=50,
        ),
        Service(
            name="google",
            base_url="https://customsearch.googleapis.com/customsearch/v1",
            key_variable="GOOGLE_API_KEY",
            key_query="key",
            ask=_google,
            results=("items",),
            fields={"url": "link"},
            date_of=_google_date,
            most=10,
            about={"ends": "2027-01-01"},
        ),
    )
}
IMAGE_SERVICES: Mapping[str, Service] = {
    "serpapi": Service(
        name="serpapi",
        base_url="https://serpapi.com/search.json",
        key_variable="SERPAPI_API_KEY",
        key_query="api_key",
        ask=_serpapi,
        results=("image_results",),
        fields={"url": "link"},
        dated=False,
        most=MOST_LINKS,
    ),
    "bing": Service(
        name="bing",
        base_url="https://api.bing.microsoft.com/v7.0/images/visualsearch",
        key_variable="BING_API_KEY",
        key_header="Ocp-Apim-Subscription-Key",
        ask=_bing,
        results=_bing_pages,
        fields={"url": "hostPageUrl", "title": "name", "date": "datePublished"},
        dated=False,
        most=MOST_LINKS,
    ),
}


@dataclass(frozen=True)
class PagedImageSearch:
    """Asks a service for page after page until there are enough links, or a page brings nothing new.

    Attributes:
        name: as in the settings.
        pages: the provider of each page.
        parameters: the service, and how many pages.
    """

    name: str
    pages: Sequence[SearchProvider]
    parameters: Mapping[str, str | int | float | bool] = field(init=False)

    def __post_init__(self) -> None:
        base_url = self.pages[0].parameters["base_url"]
        object.__setattr__(self, "parameters", {"images": self.name, "base_url": base_url, "pages": len(self.pages)})

    async def search(self, query: str, count: int, before: date | None) -> ProviderAnswer:
        """The pages on which the picture at an address stands, each once; what was found before a failure counts.

        Raises:
            RunError: if no search at all would be answered.
        """
        found: dict[str, SearchResult] = {}
        raw, problem = [], ""
        for page in self.pages:
            answer = await page.search(query, _A_PAGE, before)
            raw.append(answer.raw.decode("utf-8", "replace"))
            problem = answer.found.problem
            new = {item.url: item for item in answer.found.results if item.url not in found}
            found |= new
            if not new or len(found) >= count:
                break
        results = [replace(item, rank=rank) for rank, item in enumerate(list(found.values())[:count], start=1)]
        return ProviderAnswer(Found(tuple(results), "" if results else problem), json.dumps(raw).encode())

    async def close(self) -> None:
        """Close all connections."""
        for page in self.pages:
            await page.close()


def image_search(name: str, base_url: str, key: str, retries: RetryPolicy = SEARCH_RETRIES) -> PagedImageSearch:
    """A service of search by picture with a key: SerpApi in five pages of ten links, others at once."""
    service, starts = IMAGE_SERVICES[name], range(0, MOST_LINKS, _A_PAGE) if name == "serpapi" else (0,)
    pages = [replace(service, ask=partial(_serpapi, start=start)) if start else service for start in starts]
    return PagedImageSearch(name, [HttpProvider(page, base_url, key, retries) for page in pages])
