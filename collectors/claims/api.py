"""Reviews from Google's Fact Check Tools API, written down in the form of a feed.

The API (`claims:search`, v1alpha1) needs a key and gives the reviews of one publisher by age, newest first, in pages. A
claim there may have several reviews; each becomes an object as a feed has it.
Source: https://developers.google.com/fact-check/tools/api/reference/rest/v1alpha1/claims/search
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from pydantic import BaseModel, ConfigDict, ValidationError

from hellofresh.core.clock import now
from hellofresh.core.errors import SourceError, UsageError
from hellofresh.core.files import sha256_text, write_jsonl
from hellofresh.core.net.http import HttpClient, HttpReply, UnusableReplyError, brief
from hellofresh.core.net.keys import may_carry_key
from hellofresh.core.net.retry import PASSING, RetryPolicy
from hellofresh.core.quarters import Quarter

__all__ = ["BASE_URL", "KEY_VARIABLE", "fetch_reviews"]

BASE_URL = "https://factchecktools.googleapis.com/v1alpha1/claims:search"
KEY_VARIABLE = "GOOGLE_FACT_CHECK_KEY"
_PAGE = 100
_MOST_PAGES = 1_000


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class _Publisher(_Part):
    name: str = ""
    site: str = ""


class _ApiReview(_Part):
    publisher: _Publisher = _Publisher()
    url: str = ""
    reviewDate: str = ""  # noqa: N815 - as the API calls it
    textualRating: str = ""  # noqa: N815
    languageCode: str = ""  # noqa: N815


class _ApiClaim(_Part):
    text: str = ""
    claimant: str = ""
    claimDate: str = ""  # noqa: N815
    claimReview: list[_ApiReview] = []  # noqa: N815

    def reviews(self) -> Iterator[dict[str, object]]:
        """As a feed has them."""
        for review in self.claimReview:
            yield {
                "claimReviewed": self.text,
                "itemReviewed": {"author": {"name": self.claimant}, "datePublished": self.claimDate},
                "url": review.url,
                "author": {"name": review.publisher.name, "url": f"https://{review.publisher.site}"},
                "datePublished": review.reviewDate,
                "reviewRating": {"alternateName": review.textualRating},
                "inLanguage": review.languageCode,
            }


class _ApiPage(_Part):
    claims: list[_ApiClaim] = []
    nextPageToken: str = ""  # noqa: N815


@dataclass(frozen=True, slots=True)
class _Asking:
    """One publisher's reviews, page by page."""

    client: HttpClient
    url: str
    policy: RetryPolicy
    sleep: Callable[[float], Awaitable[None]]
    progress: Callable[[str], None]

    async def reviews(self, site: str, days: int) -> list[dict[str, object]]:
        """All of them that are at most so many days old."""
        query = {"reviewPublisherSiteFilter": site, "maxAgeDays": str(days), "pageSize": str(_PAGE)}
        found: list[dict[str, object]] = []
        for number in range(1, _MOST_PAGES + 1):
            page = self._page((await self._get(query)).body)
            found += [review for claim in page.claims for review in claim.reviews()]
            self.progress(f"{site}: page {number}, {len(found):,} reviews")
            if not page.nextPageToken:
                return found
            query = {**query, "pageToken": page.nextPageToken}
        raise SourceError(f"more than {_MOST_PAGES:,} pages", where=self.url, code="too-long")

    async def _get(self, query: dict[str, str]) -> HttpReply:
        attempt = 0
        while True:
            attempt, asked_s = attempt + 1, None
            try:
                reply = await self.client.send("GET", self.url, query=query)
                if reply.status == 200:
                    return reply
                why, asked_s = f"HTTP {reply.status}", reply.wait_s
                if reply.status not in PASSING:
                    raise self._failed(why)
            except UnusableReplyError as error:
                raise self._failed(str(error)) from None
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                why = brief(error)
            wait_s = self.policy.next_wait_s(attempt, asked_s)
            if wait_s is None:
                raise self._failed(why)
            await self.sleep(wait_s)

    def _failed(self, why: str) -> SourceError:
        fix = f"Check the key in {KEY_VARIABLE}, or try again later; nothing was written."
        return SourceError(f"the API gives no reviews ({why})", where=self.url, fix=fix, code="api-failed")

    def _page(self, body: bytes) -> _ApiPage:
        try:
            return _ApiPage.model_validate_json(body)
        except (ValidationError, ValueError, RecursionError):
            raise self._failed("not the API's format") from None


def fetch_reviews(
    site: str,
    quarter: Quarter,
    folder: Path,
    *,
    progress: Callable[[str], None],
    base_url: str = BASE_URL,
    policy: RetryPolicy | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Path:
    """The reviews of a publisher since a quarter began, as a file in the form of a feed; fetched once for each folder.

    Raises:
        UsageError: if the key is not set, or the address is not one that a key may be sent to.
        SourceError: if the API refuses or keeps failing.
    """
    target = folder / f"api-{sha256_text(site)[:12]}.jsonl"
    if not target.is_file():
        key = os.environ.get(KEY_VARIABLE, "").strip()
        if not key or not may_carry_key(base_url):
            raise UsageError(
                "the Fact Check Tools API needs a key", where=f"environment variable {KEY_VARIABLE}",
                fix="Set it: export GOOGLE_FACT_CHECK_KEY=... (the key stays in the environment).", code="missing-key",
            )  # fmt: skip
        days = max(1, (now() - quarter.start).days + 1)
        policy = policy or RetryPolicy()
        headers = {"X-Goog-Api-Key": key, "Accept": "application/json"}
        client = HttpClient("the Fact Check Tools API", headers, timeout_s=policy.timeout_s, key=key)
        write_jsonl(target, asyncio.run(_fetch(_Asking(client, base_url, policy, sleep, progress), site, days)))
    return target


async def _fetch(asking: _Asking, site: str, days: int) -> list[dict[str, object]]:
    try:
        return await asking.reviews(site, days)
    finally:
        await asking.client.close()
