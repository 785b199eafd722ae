"""Brave Search (https://api-dashboard.search.brave.com/app/documentation/web-search/get-started)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from hellofresh.core.net.retry import RetryPolicy
from hellofresh.evidence.web.search._base import Hit
from hellofresh.evidence.web.search._http import SEARCH_RETRIES, HttpProvider, ProviderReply, SearchRequest

__all__ = ["BASE_URL", "brave"]

BASE_URL = "https://api.search.brave.com/res/v1/web/search"


class _Result(ProviderReply):
    url: str
    title: str = ""
    description: str = ""
    page_age: str | None = None


class _Web(ProviderReply):
    results: tuple[_Result, ...] = ()


class _Response(ProviderReply):
    web: _Web | None = None


def _ask(query: str, count: int, before: date | None) -> SearchRequest:
    asked = {"q": query, "count": str(count), "text_decorations": "false"}
    if before is not None:
        asked["freshness"] = f"1970-01-01to{before - timedelta(days=1)}"
    return SearchRequest(asked)


def _read(answer: _Response) -> Sequence[Hit]:
    results = answer.web.results if answer.web else ()
    return [Hit(r.url, r.title, r.description, r.page_age) for r in results]


def brave(base_url: str, key: str, retries: RetryPolicy = SEARCH_RETRIES) -> HttpProvider[_Response]:
    """Brave with a key; filters by day."""
    return HttpProvider(
        "brave", base_url, answer=_Response, ask=_ask, read=_read, headers={"X-Subscription-Token": key},
        dated=True, most=20, retries=retries,
    )  # fmt: skip
