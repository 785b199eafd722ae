"""Tavily (https://docs.tavily.com/documentation/api-reference/endpoint/search)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from hellofresh.core.net.retry import RetryPolicy
from hellofresh.evidence.web.search._base import Hit
from hellofresh.evidence.web.search._http import SEARCH_RETRIES, HttpProvider, ProviderReply, SearchRequest

__all__ = ["BASE_URL", "tavily"]

BASE_URL = "https://api.tavily.com/search"


class _Result(ProviderReply):
    url: str
    title: str = ""
    content: str = ""
    published_date: str | None = None


class _Response(ProviderReply):
    results: tuple[_Result, ...] = ()


def _ask(query: str, count: int, before: date | None) -> SearchRequest:
    asked: dict[str, str | int] = {"query": query, "max_results": count, "search_depth": "basic"}
    if before is not None:
        asked["end_date"] = str(before - timedelta(days=1))
    return SearchRequest(json=asked)


def _read(answer: _Response) -> Sequence[Hit]:
    return [Hit(r.url, r.title, r.content, r.published_date) for r in answer.results]


def tavily(base_url: str, key: str, retries: RetryPolicy = SEARCH_RETRIES) -> HttpProvider[_Response]:
    """Tavily with a key; filters by day."""
    return HttpProvider(
        "tavily", base_url, answer=_Response, ask=_ask, read=_read, headers={"Authorization": f"Bearer {key}"},
        dated=True, most=20, retries=retries,
    )  # fmt: skip
