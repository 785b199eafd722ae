"""Reading a feed of ClaimReview objects piece by piece, whatever its size.

Three forms are read: a DataFeed (an object with a list `dataFeedElement`, whose elements hold reviews in `item`), a
list of reviews, and one review per line. A file may be compressed with gzip. A feed that is not JSON raises an error; a
malformed element is passed on unchanged, for the caller to count.

A feed is downloaded from an address. Reviews from Google's Fact Check Tools API are stored in the same form. The API
(`claims:search`, v1alpha1) needs a key and returns the reviews of one publisher, newest first, in pages. A claim
may have several reviews; each becomes one object of a feed.
Source: https://developers.google.com/fact-check/tools/api/reference/rest/v1alpha1/claims/search
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import re
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import IO

import aiohttp
from pydantic import Field, ValidationError

from hellofresh.core.clock import now
from hellofresh.core.errors import SourceError, UsageError
from hellofresh.core.executors import completed
from hellofresh.core.files import sha256_text, write_jsonl
from hellofresh.core.net import may_carry_key
from hellofresh.core.net.http import HttpClient, UnusableReplyError, brief
from hellofresh.core.net.lock import locked
from hellofresh.core.net.paging import Paging
from hellofresh.core.net.retry import PASSING, RetryPolicy, TryAgain
from hellofresh.core.net.transfer import DownloadPolicy, Transfer, download_session
from hellofresh.core.quarters import Quarter
from hellofresh.core.strict import Lenient
from hellofresh.tasks._datasets import unpacked

ADDRESS = ("http://", "https://")
_PIECE = 1 << 20
_MOST_ELEMENT = 16 << 20  # an element without an end would be read into memory up to the file's
_LIST = "dataFeedElement"
_SPACE = re.compile(r"[ \t\r\n]*")


def feed_items(path: Path) -> Iterator[object]:
    """Every review of a feed, in order; None stands for an element without one.

    Raises:
        SourceError: if the file cannot be read, or is not JSON in one of the three forms.
    """
    with unpacked(path) as file:
        yield from _Feed(path, file).items()


class _Feed:
    """Parser of a JSON text that holds only a window of it in memory."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._json = json.JSONDecoder(parse_constant=self._no_constant, parse_int=self._integer)
        self._text, self._at, self._read, self._ended = "", 0, 0, False

    def items(self) -> Iterator[object]:
        match self._next():
            case "[":
                yield from self._list(of_elements=False)
            case "{":
                yield from self._objects()
            case "":
                raise self._fault("the file is empty", "empty-file")
            case _:
                raise self._fault("neither an object nor a list", "bad-json")
        if self._next():
            raise self._fault("more text after the end of the feed", "bad-json")

    def _objects(self) -> Iterator[object]:
        """A data feed, or one object per line."""
        self._at += 1
        first: dict[str, object] = {}
        found = False
        while self._next() != "}":
            name = self._value()
            self._expect(":")
            if name == _LIST and not found and self._next() == "[":
                found = True
                yield from self._list(of_elements=True)
            else:
                first[str(name)] = self._value()
            if self._next() != "}":
                self._expect(",")
        self._at += 1
        if found:
            return
        if _LIST in first:
            raise self._fault(f"{_LIST} is not a list", "not-a-feed")
        if "claimReviewed" not in first and "itemReviewed" not in first and not self._next():
            raise self._fault(f"an object without {_LIST}", "not-a-feed")
        yield first
        while self._next():
            yield self._value()

    def _list(self, *, of_elements: bool) -> Iterator[object]:
        self._at += 1
        while self._next() != "]":
            value = self._value()
            if of_elements or (isinstance(value, dict) and "item" in value and "claimReviewed" not in value):
                # The reviews of an element: `item` may be missing, null, an object or a list.
                item = value.get("item") if isinstance(value, dict) else None
                yield from (item or [None]) if isinstance(item, list) else [item]
            else:
                yield value
            if self._next() != "]":
                self._expect(",")
        self._at += 1

    def _expect(self, character: str) -> None:
        if self._next() != character:
            raise self._fault(f"no {character!r} where one is needed", "bad-json")
        self._at += 1

    def _next(self) -> str:
        """The next character that is not a space, without taking it; empty at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches anything
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill():
                return ""

    def _value(self) -> object:
        """Take the next value."""
        self._next()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except RecursionError:
                raise self._fault("nested too deeply", "too-deep") from None
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > _MOST_ELEMENT:
                    what = f"an element of more than {_MOST_ELEMENT:,} characters, or no end of one"
                    raise self._fault(what, "too-long") from None
                if self._fill():
                    continue
                raise self._fault(f"not JSON ({error.msg})", "bad-json") from None
            # A number at the end of the window may continue after it.
            if end == len(self._text) and not isinstance(value, str | dict | list) and self._fill():
                continue
            self._at = end
            return value

    def _fill(self) -> bool:
        """Read more and forget what was consumed; the window doubles, so that long elements are rarely re-read."""
        if self._ended:
            return False
        wanted = max(_PIECE, len(self._text) - self._at)
        piece = self._file.read(wanted)
        self._ended = not piece
        try:
            text = self._decode.decode(piece, final=self._ended)
        except UnicodeDecodeError:
            raise self._fault("bytes that are not UTF-8", "not-utf8") from None
        self._read += self._at
        self._text, self._at = self._text[self._at :] + text, 0
        return bool(text) or not self._ended

    def _no_constant(self, name: str) -> object:
        raise self._fault(f"{name} is not a JSON number", "not-finite")

    def _integer(self, digits: str) -> object:
        if len(digits) > 400:
            raise self._fault(f"a number of {len(digits)} digits", "huge-number")
        return int(digits)

    def _fault(self, what: str, code: str) -> SourceError:
        return SourceError(
            what,
            where=f"{self._path.name} after {self._read + self._at:,} characters",
            expected="a DataFeed, a list of ClaimReview objects, or one such object per line",
            fix="Fetch the feed again; nothing was written.",
            code=code,
        )


BASE_URL = "https://factchecktools.googleapis.com/v1alpha1/claims:search"
KEY_VARIABLE = "GOOGLE_FACT_CHECK_KEY"
_PAGE = 100
_MOST_PAGES = 1_000  # a server that repeats the mark of its next page would be asked for ever


class _Publisher(Lenient):
    name: str = ""
    site: str = ""


class _ApiReview(Lenient):
    publisher: _Publisher = _Publisher()
    url: str = ""
    reviewDate: str = ""  # noqa: N815 - as the API calls it
    textualRating: str = ""  # noqa: N815
    languageCode: str = ""  # noqa: N815


class _ApiClaim(Lenient):
    text: str = ""
    claimant: str = ""
    claimDate: str = ""  # noqa: N815
    claimReview: list[_ApiReview] = Field(default=[])  # noqa: N815

    def reviews(self) -> Iterator[dict[str, object]]:
        """The reviews as objects of a feed."""
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


class _ApiPage(Lenient):
    claims: list[_ApiClaim] = Field(default=[])
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
    """Write a publisher's reviews since the quarter began as a feed file; fetched once for each folder.

    Raises:
        UsageError: if the key is not set, or the address must not receive it.
        SourceError: if the API refuses or keeps failing.
    """
    target = folder / reviews_name(site)
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
        write_jsonl(target, completed(_reviews(base_url, key, query, policy or RetryPolicy(), progress)))
    return target


def reviews_name(site: str) -> str:
    """File name of a publisher's reviews."""
    return f"api-{sha256_text(site)[:12]}.jsonl"


async def _reviews(
    url: str, key: str, query: dict[str, str], policy: RetryPolicy, progress: Callable[[str], None]
) -> list[dict[str, object]]:
    """All reviews of a paged API."""
    headers = {"X-Goog-Api-Key": key, "Accept": "application/json"}
    client = HttpClient("the Fact Check Tools API", headers, timeout_s=policy.timeout_s, key=key)
    found: list[dict[str, object]] = []
    paging = Paging(url)
    try:
        for number in range(1, _MOST_PAGES + 1):
            body = await _body(client, url, query, policy)
            try:
                page = _ApiPage.model_validate_json(body)
            except (ValidationError, ValueError, RecursionError):
                raise _failed("not the API's format", url) from None
            paging.step(*filter(None, (page.nextPageToken, str(page.claims) if page.claims else "")))
            found += [review for claim in page.claims for review in claim.reviews()]
            progress(f"{query['reviewPublisherSiteFilter']}: page {number}, {len(found):,} reviews")
            if not page.nextPageToken:
                return found
            query = {**query, "pageToken": page.nextPageToken}
    finally:
        await client.close()
    raise SourceError(f"more than {_MOST_PAGES:,} pages", where=url, code="too-long")


async def _body(client: HttpClient, url: str, query: dict[str, str], policy: RetryPolicy) -> bytes:
    """The response to one request, which is retried while that may help."""

    async def ask() -> bytes | TryAgain:
        try:
            reply = await client.send("GET", url, query=query)
        except UnusableReplyError as error:
            raise _failed(str(error), url) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return TryAgain(brief(error))
        if reply.status not in {200, *PASSING}:
            raise _failed(f"HTTP {reply.status}", url)
        return reply.body if reply.status == 200 else TryAgain(f"HTTP {reply.status}", reply.wait_s)

    outcome = await policy.persist(ask)
    if isinstance(outcome, TryAgain):
        raise _failed(outcome.why, url)
    return outcome


def _failed(why: str, url: str) -> SourceError:
    fix = f"Check the key in {KEY_VARIABLE}, or try again later; nothing was written."
    return SourceError(f"the API returned no reviews ({why})", where=url, fix=fix, code="api-failed")


def fetch_feed(place: str, folder: Path, *, progress: Callable[[str], None]) -> Path:
    """The file of a feed: a local path itself, or a copy of an address, fetched once for each folder.

    A feed changes from day to day. The first copy is kept, so that a collection is repeatable; delete it to fetch anew.

    Raises:
        SourceError: if the feed is missing, or the server keeps failing.
        WorkspaceError: if the file cannot be written, or another process is fetching it.
    """
    if not place.startswith(ADDRESS):
        return Path(place)
    target = folder / feed_name(place)
    if not target.is_file():
        with locked(folder / ".lock", what=f"fetching {place}", code="busy"):
            completed(_download(place, target, progress))
    return target


def feed_name(place: str) -> str:
    """File name of a feed's address."""
    return f"feed-{sha256_text(place)[:12]}.json"


def daily_copies(
    folder: Path, name: str, span: tuple[date, date], fetch: Callable[[Path], Path], *, ask: bool
) -> dict[Path, str]:
    """The daily copies of a feed in a quarter, with their days; fetches today's copy where it is needed.

    Copies are kept, whatever later ones hold. An unreadable one is set aside, and its day may be tried again.

    Args:
        folder: contains one folder for each day.
        name: file name within the folder of its day.
        span: the first day, and the day on which the quarter is settled; of copies from that day on, the first counts.
        fetch: fetches the feed into a folder.
        ask: fetch even before the quarter is settled and although copies exist.

    Raises:
        SourceError: if today's feed cannot be fetched or read.
    """
    first, settled = span
    today = now().date()
    days = sorted(path.name for path in folder.glob("????-??-??") if (path / name).is_file())
    days = [day for day in days if day >= first.isoformat()]
    is_complete = bool(days) and days[-1] >= settled.isoformat()
    if not is_complete and today >= first and (ask or not days or today >= settled):
        path = fetch((folder / today.isoformat() / name).parent)
        try:
            for _ in feed_items(path):
                pass
        except SourceError:
            path.replace(path.with_name(f"{path.name}.broken"))
            raise
        days = sorted({*days, today.isoformat()})
    early = [day for day in days if day < settled.isoformat()]
    return {folder / day / name: day for day in days[: len(early) + 1]}


async def _download(url: str, target: Path, progress: Callable[[str], None]) -> None:
    policy = DownloadPolicy()
    async with download_session(policy) as session:
        transfer = Transfer(session, policy, asyncio.sleep, progress, lambda _path, _name: None)
        if not await transfer.fetch(url, target):
            raise SourceError("no such feed", where=url, fix="Check the address.", code="missing-source")
