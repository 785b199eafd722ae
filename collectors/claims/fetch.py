"""Fetching reviews: a feed from an address, and, in the form of a feed, those of Google's Fact Check Tools API.

The API (`claims:search`, v1alpha1) needs a key and gives the reviews of one publisher by age, newest first, in pages. A
claim there may have several reviews; each becomes an object as a feed has it.
Source: https://developers.google.com/fact-check/tools/api/reference/rest/v1alpha1/claims/search
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import aiohttp
from pydantic import BaseModel, ConfigDict, ValidationError

from hellofresh.core.clock import now
from hellofresh.core.errors import SourceError, UsageError
from hellofresh.core.files import sha256_text, write_jsonl
from hellofresh.core.net.http import HttpClient, UnusableReplyError, brief
from hellofresh.core.net.keys import may_carry_key
from hellofresh.core.net.lock import locked
from hellofresh.core.net.retry import PASSING, RetryPolicy
from hellofresh.core.net.transfer import DownloadPolicy, Transfer, download_session
from hellofresh.core.quarters import Quarter

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


def fetch_reviews(
    site: str,
    quarter: Quarter,
    folder: Path,
    *,
    progress: Callable[[str], None],
    base_url: str = BASE_URL,
    policy: RetryPolicy | None = None,
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
                "the Fact Check Tools API needs a key",
                where=f"environment variable {KEY_VARIABLE}",
                fix="Set it: export GOOGLE_FACT_CHECK_KEY=... (the key stays in the environment).",
                code="missing-key",
            )
        days = max(1, (now() - quarter.start).days + 1)
        query = {"reviewPublisherSiteFilter": site, "maxAgeDays": str(days), "pageSize": str(_PAGE)}
        write_jsonl(target, asyncio.run(_reviews(base_url, key, query, policy or RetryPolicy(), progress)))
    return target


async def _reviews(
    url: str, key: str, query: dict[str, str], policy: RetryPolicy, progress: Callable[[str], None]
) -> list[dict[str, object]]:
    """All reviews, page by page."""
    headers = {"X-Goog-Api-Key": key, "Accept": "application/json"}
    client = HttpClient("the Fact Check Tools API", headers, timeout_s=policy.timeout_s, key=key)
    found: list[dict[str, object]] = []
    try:
        for number in range(1, _MOST_PAGES + 1):
            body = await _body(client, url, query, policy)
            try:
                page = _ApiPage.model_validate_json(body)
            except (ValidationError, ValueError, RecursionError):
                raise _failed("not the API's format", url) from None
            found += [review for claim in page.claims for review in claim.reviews()]
            progress(f"{query['reviewPublisherSiteFilter']}: page {number}, {len(found):,} reviews")
            if not page.nextPageToken:
                return found
            query = {**query, "pageToken": page.nextPageToken}
    finally:
        await client.close()
    raise SourceError(f"more than {_MOST_PAGES:,} pages", where=url, code="too-long")


async def _body(client: HttpClient, url: str, query: dict[str, str], policy: RetryPolicy) -> bytes:
    """The answer to one question, asked again as long as that may help."""
    attempt = 0
    while True:
        attempt, asked_s = attempt + 1, None
        try:
            reply = await client.send("GET", url, query=query)
            if reply.status == 200:
                return reply.body
            why, asked_s = f"HTTP {reply.status}", reply.wait_s
            if reply.status not in PASSING:
                raise _failed(why, url)
        except UnusableReplyError as error:
            raise _failed(str(error), url) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            why = brief(error)
        wait_s = policy.next_wait_s(attempt, asked_s)
        if wait_s is None:
            raise _failed(why, url)
        await asyncio.sleep(wait_s)


def _failed(why: str, url: str) -> SourceError:
    fix = f"Check the key in {KEY_VARIABLE}, or try again later; nothing was written."
    return SourceError(f"the API gives no reviews ({why})", where=url, fix=fix, code="api-failed")


def fetch_feed(place: str, folder: Path, *, progress: Callable[[str], None]) -> Path:
    """The file of a feed: itself, or what an address gives, fetched once for each folder.

    A feed changes from day to day. The first copy stays, so that a collection can be repeated; delete it to fetch anew.

    Raises:
        SourceError: if there is no such feed, or the server keeps failing.
        WorkspaceError: if the file cannot be written, or another process is fetching it.
    """
    if not place.startswith(("http://", "https://")):
        return Path(place)
    target = folder / f"feed-{sha256_text(place)[:12]}.json"
    if not target.is_file():
        with locked(folder / ".lock", what=f"fetching {place}", code="busy"):
            asyncio.run(_download(place, target, progress))
    return target


async def _download(url: str, target: Path, progress: Callable[[str], None]) -> None:
    policy = DownloadPolicy()
    async with download_session(policy) as session:
        transfer = Transfer(session, policy, asyncio.sleep, progress, lambda _path, _name: None)
        if not await transfer.fetch(url, target):
            raise SourceError("no such feed", where=url, fix="Check the address.", code="missing-source")
