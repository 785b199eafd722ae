"""Google's Custom Search JSON API (https://developers.google.com/custom-search/v1/reference/rest/v1/cse/list).

It is closed to new customers and ends on 2027-01-01.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from hellofresh.core.net.retry import RetryPolicy
from hellofresh.evidence.web.search._base import Hit
from hellofresh.evidence.web.search._http import SEARCH_RETRIES, HttpProvider, ProviderReply, SearchRequest

__all__ = ["BASE_URL", "LAST_DAY", "google"]

BASE_URL = "https://customsearch.googleapis.com/customsearch/v1"
LAST_DAY = date(2026, 12, 31)
"""The last day on which it answers, as announced."""
_DATE_TAGS = ("article:published_time", "og:published_time", "datepublished", "date")


class _Item(ProviderReply):
    link: str
    title: str = ""
    snippet: str = ""
    pagemap: dict[str, Any] | None = None


class _Response(ProviderReply):
    items: tuple[_Item, ...] = ()


def _ask(query: str, count: int, before: date | None) -> SearchRequest:
    asked = {"q": query, "num": str(count)}
    if before is not None:
        asked["sort"] = f"date:r:19700101:{before - timedelta(days=1):%Y%m%d}"
    return SearchRequest(asked)


def _read(answer: _Response) -> Sequence[Hit]:
    return [Hit(item.link, item.title, item.snippet, _date(item.pagemap)) for item in answer.items]


def _date(pagemap: Mapping[str, Any] | None) -> str | None:
    tags = (pagemap or {}).get("metatags")
    first = tags[0] if isinstance(tags, list) and tags else None
    if not isinstance(first, dict):
        return None
    found = [first[name] for name in _DATE_TAGS if isinstance(first.get(name), str)]
    return found[0] if found else None


def google(base_url: str, key: str, engine: str, retries: RetryPolicy = SEARCH_RETRIES) -> HttpProvider[_Response]:
    """The search engine with the id `engine`, with a key; filters by day."""
    return HttpProvider(
        "google", base_url, answer=_Response, ask=_ask, read=_read, secret_query={"key": key, "cx": engine},
        dated=True, most=10, about={"ends": "2027-01-01"}, retries=retries,
    )  # fmt: skip
