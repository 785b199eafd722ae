"""Posts from a file and then from a service over the network, whose answers are kept.

The service is asked for posts that the file has not whole, unless they are deleted, suspended, protected or
age-restricted. Answers are not requested again, but a post that was gone is, after some time.

Answers are stored in SQLite in WAL mode, and on disk before any use. They are raw data: a service's response
(without the shown note), perhaps with user names, so that only their owner may read the file.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp

from collectors.notes.posts.base import BadReply, FoundPost, PostAnswer, PostsService, PostStatus, ServiceReply
from collectors.notes.posts.local import LocalPosts
from hellofresh import __version__
from hellofresh.core.errors import ConfigError, SourceError, WorkspaceError
from hellofresh.core.executors import completed
from hellofresh.core.net import may_carry_key
from hellofresh.core.net.database import open_database
from hellofresh.core.net.http import HttpClient, HttpReply, LongReplyError, UnusableReplyError
from hellofresh.core.net.retry import RateLimit, TryAgain
from hellofresh.core.quarters import parse_utc, utc_text

_FINAL = frozenset({PostStatus.DELETED, PostStatus.SUSPENDED, PostStatus.PROTECTED, PostStatus.AGE_RESTRICTED})
_MOST_FAILED = 0.01  # posts without text drop out, and not by chance, so that more would bias the split
_FAILURES_IN_A_ROW = 10  # single failures are the post's; this many are the service's, and each costs money or quota
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    post TEXT NOT NULL, service TEXT NOT NULL, asked_at TEXT NOT NULL,
    http_status INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (post, service)
) STRICT, WITHOUT ROWID
"""
_IDS_AT_ONCE = 500  # older SQLite takes 999 values in a query


@dataclass(frozen=True, slots=True)
class Online:
    """The service to query, and the cache of its answers.

    Attributes:
        service: to query.
        cache: the file of answers.
        reask_gone_days: days after which a post that was gone is requested again.
        ask: whether the service may be queried; if not, posts that need a query are `not-asked`.
    """

    service: PostsService
    cache: Path
    reask_gone_days: int = 30
    ask: bool = True


class ChainedPosts:
    """A local file, if any, followed by a service over the network; warnings are of the last search."""

    def __init__(
        self,
        online: Online,
        local: LocalPosts | None = None,
        *,
        progress: Callable[[str], None] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._online, self._local, self._progress, self._clock = online, local, progress, clock
        self.warnings: list[str] = []

    def find(self, ids: Collection[str]) -> Mapping[str, FoundPost]:
        """Look the posts up in the file and the cache, and request the rest.

        Raises:
            SourceError: if the file or the cache is broken, a token is refused, or more than one post in a hundred
                could not be asked for; what was answered is kept.
            WorkspaceError: if the cache cannot be written.
        """
        self.warnings, online = [], self._online
        found: dict[str, FoundPost] = {}
        if self._local is not None:
            in_file = self._local.find(ids)
            self.warnings += self._local.warnings
            found = {key: post for key, post in in_file.items() if post.is_whole or post.gone in _FINAL}
        unknown = [post_id for post_id in ids if post_id not in found]
        found |= {post_id: FoundPost(post_id, PostStatus.NOT_ASKED) for post_id in unknown}
        if unknown and (online.ask or online.cache.exists()):
            with AnswerCache(online.cache) as cache:
                search = _Search(online, cache, self._clock(), self._progress)
                search.recall(unknown)
                if online.ask:
                    completed(search.ask(unknown))
            self.warnings += search.warnings
            found |= {id_: search.outcome(id_) for id_ in unknown if online.ask or not search.wants(id_)}
        self._count_gaps(found, len(unknown))
        return {post_id: found[post_id] for post_id in ids}

    def _count_gaps(self, found: Mapping[str, FoundPost], unknown: int) -> None:
        gone = Counter(post.gone for post in found.values())
        missing, failed = gone[PostStatus.NOT_ASKED], gone[PostStatus.ERROR]
        if missing:
            self.warnings.append(f"{missing} of {unknown} posts would have to be requested; no request was sent.")
        if failed > _MOST_FAILED * len(found):
            raise SourceError(
                f"{failed} of {len(found)} posts could not be requested: {' '.join(self.warnings)}",
                where=self._online.service.name,
                expected="at most 1% of failures",
                fix="Run the same command again later: stored answers are kept and not requested again.",
                code="posts-incomplete",
            )
        if failed:
            self.warnings.append(f"{failed} posts could not be requested; --force requests them again.")


class AnswerCache(AbstractContextManager["AnswerCache"]):
    """Stored answers, one for each post and service; a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._database = open_database(path, _SCHEMA, wait_s=30, private=True)
        except OSError as error:
            raise self._unwritable(f"cannot write: {error.strerror or error}") from error
        except sqlite3.Error as error:
            raise self._damaged(f"the cache of posts cannot be opened ({error})") from error

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add(self, post_id: str, service: str, asked_at: datetime, reply: ServiceReply) -> None:
        """Store an answer in place of an earlier one; it is on disk when this returns.

        Raises:
            WorkspaceError: if the disk is full or the file cannot be written.
        """
        row = (post_id, service, utc_text(asked_at), reply.status, reply.body)
        try:
            self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", row)
        except sqlite3.Error as error:
            raise self._unwritable(f"an answer cannot be stored ({error})") from error

    def answers(self, ids: Collection[str]) -> Iterator[tuple[str, str, datetime, ServiceReply]]:
        """Id, service, time (UTC, to the second) and reply of all stored answers; SourceError if it is damaged."""
        ordered = sorted(ids)
        for start in range(0, len(ordered), _IDS_AT_ONCE):
            part = ordered[start : start + _IDS_AT_ONCE]
            marks = ",".join("?" * len(part))
            question = f"SELECT post, service, asked_at, http_status, body FROM answers WHERE post IN ({marks})"  # noqa: S608 - only question marks
            try:
                with closing(self._database.execute(question, part)) as rows:
                    for post_id, service, asked_at, status, body in rows:
                        yield post_id, service, parse_utc(asked_at), ServiceReply(status, body)
            except (sqlite3.Error, ValueError) as error:
                raise self._damaged(f"the cache of posts cannot be read ({error})") from error

    def _damaged(self, what: str) -> SourceError:
        fix = "Move the file away to ask for all posts again."
        return SourceError(what, where=str(self._path), fix=fix, code="bad-cache")

    def _unwritable(self, what: str) -> WorkspaceError:
        fix = "Nothing stored so far is lost. Check the folder's permissions, make room, and run the command again."
        return WorkspaceError(what, where=str(self._path), fix=fix, code="unwritable")


class _GaveUp(Exception):  # noqa: N818 - the outcome of one request, not an error of ours
    """A request failed within its tries and time; the message says why."""


class _SetAside(_GaveUp):
    """A service requests a longer wait than it is allowed."""


class _Search:
    """One search: known answers on each post, whether they are old, and the posts on which the service failed."""

    def __init__(
        self, online: Online, cache: AnswerCache, now: datetime, progress: Callable[[str], None] | None
    ) -> None:
        self._service, self._cache, self._now, self._progress = online.service, cache, now, progress
        self._oldest = now - timedelta(days=online.reask_gone_days)
        self._known: dict[str, tuple[FoundPost, bool]] = {}
        self._failed: set[str] = set()
        self._reasons: Counter[str] = Counter()
        self._done = self._in_a_row = 0
        self._over = False
        self._rate = RateLimit(self._service.manners.per_second, self._service.manners.burst)
        self.warnings: list[str] = []

    def recall(self, ids: Collection[str]) -> None:
        """Read the stored answers."""
        for post_id, service, asked_at, reply in self._cache.answers(ids):
            if service == self._service.name:
                with suppress(BadReply, KeyError):  # stored by a version with laxer checks: request it again
                    post = self._service.read([post_id], reply)[post_id].post
                    self._known[post_id] = post, asked_at < self._oldest

    def wants(self, post_id: str) -> bool:
        """Whether the service must be queried for the post."""
        post, is_old = self._known.get(post_id, (None, False))
        return post is None or (post.gone is not None and is_old)

    def outcome(self, post_id: str) -> FoundPost:
        """The known answer, or an error if the service failed where it is not enough."""
        post, is_old = self._known.get(post_id, (FoundPost(post_id, PostStatus.UNAVAILABLE), False))
        ends_the_search = post.is_whole or (post.gone in _FINAL and not is_old)
        return FoundPost(post_id, PostStatus.ERROR) if post_id in self._failed and not ends_the_search else post

    async def ask(self, ids: Sequence[str]) -> None:
        """Query the service for the posts that it must be queried for, several batches at a time.

        Raises:
            ConfigError: if the service needs a token, and no permitted one is given.
            SourceError: if the service refuses the token.
        """
        service, manners = self._service, self._service.manners
        wanted = sorted(filter(self.wants, ids), key=int)
        if not wanted:
            return
        batches = iter([wanted[start : start + service.batch] for start in range(0, len(wanted), service.batch)])
        headers = {"User-Agent": f"hellofresh/{__version__} (research benchmark)", "Accept": "application/json"}
        self._client = HttpClient(
            service.name, headers | _authorization(service), timeout_s=manners.timeout_s, at_once=manners.at_once
        )
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(manners.at_once):
                    group.create_task(self._work(batches, len(wanted)))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            await self._client.close()
        if self._reasons:
            reasons = ", ".join(f"{why} ({count} times)" for why, count in sorted(self._reasons.items()))
            self.warnings.append(f"{service.name} failed on {len(self._failed)} of {len(wanted)} posts: {reasons}.")

    def _say(self, line: str) -> None:
        if self._progress is not None:
            self._progress(f"{self._service.name}: {line}")

    async def _work(self, batches: Iterator[Sequence[str]], count: int) -> None:
        for batch in batches:
            if self._over:
                self._failed.update(batch)
                continue
            try:
                answers = await self._fetch(batch)
            except _GaveUp as error:
                self._failed.update(batch)
                self._reasons[str(error)] += 1
                self._in_a_row += 1
                self._over = self._over or isinstance(error, _SetAside) or self._in_a_row >= _FAILURES_IN_A_ROW
                continue
            for post_id, answer in answers.items():  # stored, and then used
                self._cache.add(post_id, self._service.name, self._now, answer.kept)
                self._known[post_id] = answer.post, False
            if silent := [post_id for post_id in batch if post_id not in answers]:
                self._failed.update(silent)
                self._reasons["no answer about a post"] += len(silent)
            self._in_a_row = 0
            self._done += len(batch)
            self._say(f"{self._done:,} of {count:,} posts")

    async def _fetch(self, ids: Sequence[str]) -> Mapping[str, PostAnswer]:
        """Request a batch until the service responds; posts missing from the reply are left out."""
        manners, now = self._service.manners, asyncio.get_running_loop().time
        await self._turn()
        deadline = now() + manners.deadline_s
        attempt = 1
        while isinstance(outcome := await self._try(ids), TryAgain):
            asked_s = outcome.wait_s
            if asked_s is not None and asked_s > manners.deadline_s:
                raise _SetAside(f"{outcome.why}, and asks to wait {asked_s:.0f} s")
            wait_s = manners.next_wait_s(attempt, asked_s, left_s=deadline - now())
            if wait_s is None:
                raise _GaveUp(outcome.why)
            if asked_s is None:
                await asyncio.sleep(wait_s)
            else:
                self._rate.hold(now(), wait_s)
                self._say(f"{outcome.why}, asks to wait {wait_s:.0f} s")
            await self._turn()
            attempt += 1
        return outcome

    async def _turn(self) -> None:
        """Wait until a request may be sent."""
        now = asyncio.get_running_loop().time
        while (wait_s := self._rate.delay_s(now())) > 0:
            await asyncio.sleep(wait_s)
        self._rate.take(now())

    async def _try(self, ids: Sequence[str]) -> Mapping[str, PostAnswer] | TryAgain:
        service = self._service
        path, query = service.request(ids)
        url = service.base_url.rstrip("/") + path
        try:
            reply = await self._client.send("GET", url, query=query, most_bytes=service.manners.largest_body)
        except LongReplyError as error:
            raise _GaveUp(f"an answer of {error}") from None
        except UnusableReplyError as error:
            return TryAgain(f"an answer that cannot be read ({error})")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return TryAgain(type(error).__name__)
        if reply.status == 429 or reply.status >= 500:
            return TryAgain(f"HTTP status {reply.status}", _asked_wait_s(reply))
        if reply.status in (401, 403) and service.token_variable:
            raise SourceError(
                f"{service.name} refuses the token (HTTP status {reply.status})",
                where=f"environment variable {service.token_variable}",
                expected="a bearer token that may read posts",
                code="token-refused",
            )
        try:
            return service.read(ids, ServiceReply(reply.status, reply.body))
        except BadReply as error:
            # A body with status 200 may be truncated; any other status is intended.
            if reply.status == 200:
                return TryAgain(f"an answer that cannot be read ({error})")
            raise _GaveUp(str(error)) from None


def _authorization(service: PostsService) -> dict[str, str]:
    if not service.token_variable:
        return {}
    token = os.environ.get(service.token_variable, "").strip()
    if not token or not token.isascii() or not token.isprintable():
        raise ConfigError(
            f"{service.name} needs a token" if not token else "no bearer token",
            where=f"environment variable {service.token_variable}",
            expected="a bearer token of printable ASCII characters",
            fix=f"Set {service.token_variable}, or leave {service.name} out of the sources of posts.",
            code="missing-token",
        )
    if not may_carry_key(service.base_url):
        raise ConfigError(
            "a token is not sent over an unencrypted connection",
            where=f"{service.name}, base_url",
            expected="https://...",
            code="insecure-url",
        )
    return {"Authorization": f"Bearer {token}"}


def _asked_wait_s(reply: HttpReply) -> float | None:
    """Requested wait in seconds: Retry-After as seconds or date, else X's own time of the next window."""
    headers = reply.headers
    if headers.get("Retry-After", "").strip():
        return reply.wait_s
    reset = headers.get("x-rate-limit-reset", "").strip()
    if headers.get("x-rate-limit-remaining", "").strip() == "0" and reset.isascii() and reset.isdigit():
        return max(0.0, float(reset[:12]) - time.time())
    return None
