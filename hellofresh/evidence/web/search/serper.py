"""Serper, results of Google (https://serper.dev)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from hellofresh.core.net.retry import RetryPolicy
from hellofresh.evidence.web.search._base import Hit
from hellofresh.evidence.web.search._http import SEARCH_RETRIES, HttpProvider, ProviderReply, SearchRequest

__all__ = ["BASE_URL", "serper"]

BASE_URL = "https://google.serper.dev/search"


class _Result(ProviderReply):
    link: str
    title: str = ""
    snippet: str = ""
    date: str | None = None


class _Response(ProviderReply):
    organic: tuple[_Result, ...] = ()


def _ask(query: str, count: int, before: date | None) -> SearchRequest:
    return SearchRequest(json={"q": query if before is None else f"{query} before:{before}", "num": count})


def _read(answer: _Response) -> Sequence[Hit]:
    return [Hit(r.link, r.title, r.snippet, r.date) for r in answer.organic]


def serper(base_url: str, key: str, retries: RetryPolicy = SEARCH_RETRIES) -> HttpProvider[_Response]:
    """Serper with a key; filters by day through Google's operator `before:`."""
    return HttpProvider(
        "serper", base_url, answer=_Response, ask=_ask, read=_read, headers={"X-API-KEY": key},
        dated=True, most=20, retries=retries,
    )  # fmt: skip
