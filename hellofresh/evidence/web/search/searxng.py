"""SearXNG, a search engine of one's own (https://docs.searxng.org/dev/search_api.html).

Its JSON format is off by default; `search.formats` in its settings must name it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from hellofresh.core.net.retry import RetryPolicy
from hellofresh.evidence.web.search._base import Hit
from hellofresh.evidence.web.search._http import SEARCH_RETRIES, HttpProvider, ProviderReply, SearchRequest

__all__ = ["searxng"]


class _Result(ProviderReply):
    url: str
    title: str = ""
    content: str | None = ""
    publishedDate: str | None = None  # noqa: N815 - as it is in the answer


class _Response(ProviderReply):
    results: tuple[_Result, ...] = ()


def _ask(query: str, count: int, before: date | None) -> SearchRequest:
    del count, before  # it gives a page of results, whatever their number, and knows no days
    return SearchRequest({"q": query, "format": "json"})


def _read(answer: _Response) -> Sequence[Hit]:
    return [Hit(r.url, r.title, r.content or "", r.publishedDate) for r in answer.results]


def searxng(base_url: str, key: str, retries: RetryPolicy = SEARCH_RETRIES) -> HttpProvider[_Response]:
    """The instance whose `/search` is at `base_url`; it needs no key, and cannot filter by day."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return HttpProvider(
        "searxng", base_url, answer=_Response, ask=_ask, read=_read, headers=headers,
        dated=False, most=50, retries=retries,
    )  # fmt: skip
