"""A chain of sources of posts with a cache: a post is requested until a source gives it or explains its absence.

Whole posts and posts that are deleted, suspended, protected or age-restricted end the search. Where a source has only
the beginning of a post, does not know it or fails, the next one is queried. Answers are not requested again, but a post
that was gone is, after some time.

Answers are stored in SQLite in WAL mode, and on disk before any use. They are raw data: a service's response
(without the shown note), perhaps with user names, so that only their owner may read the file.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

import aiohttp

from collectors.notes.posts.base import BadReply, FoundPost, PostAnswer, PostsService, PostStatus, ServiceReply
from collectors.notes.posts.local import LocalPosts
from hellofresh import __version__
from hellofresh.core.errors import ConfigError, SourceError, WorkspaceError
from hellofresh.core.net import may_carry_key
from hellofresh.core.net.database import open_database
from hellofresh.core.net.http import HttpClient, HttpReply, LongReplyError, UnusableReplyError
from hellofresh.core.net.retry import RateLimit, TryAgain
from hellofresh.core.quarters import parse_utc, utc_text

_FINAL = frozenset({PostStatus.DELETED, PostStatus.SUSPENDED, PostStatus.PROTECTED, PostStatus.AGE_RESTRICTED})
_MOST_FAILED = 0.01
_FAILURES_IN_A_ROW = 10


@dataclass(frozen=True, slots=True)
class Online:
    """The services to query, and the cache of their answers.

    Attributes:
        services: in the order of queries.
        cache: the file of answers.
        reask_gone_days: days after which a post that was gone is requested again.
        known: readers of all services by name, for stored answers of services that are not queried now.
        ask: whether services may be queried; if not, posts that need a query are `not-asked`.
    """

    services: tuple[PostsService, ...]
    cache: Path
    reask_gone_days: int = 30
    known: Mapping[str, PostsService] = field(default_factory=dict)
    ask: bool = True

    @property
    def names(self) -> list[str]:
        """The services' names, in order."""
        return [service.name for service in self.services]


class ChainedPosts:
    """A local file, if any, followed by services over the network; warnings are of the last search."""

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
                    asyncio.run(search.ask(unknown))
            self.warnings += search.warnings
            found |= {id_: search.outcome(id_) for id_ in unknown if online.ask or not search.is_open(id_)}
        self._count_gaps(found, len(unknown))
        return {post_id: found[post_id] for post_id in ids}

    def _count_gaps(self, found: Mapping[str, FoundPost], unknown: int) -> None:
        gone = Counter(post.gone for post in found.values())
        missing, failed = gone[PostStatus.NOT_ASKED], gone[PostStatus.ERROR]
        if missing:
            self.warnings.append(f"{missing} of {unknown} posts would have to be requested; no request was sent.")
        if failed > _MOST_FAILED * len(found):
            raise SourceError(
                f"{failed} of {len(found)} posts could not be asked for: {' '.join(self.warnings)}",
                where=", ".join(self._online.names),
                expected="at most 1% of failures",
                fix="Run the same command again later: stored answers are kept and not requested again.",
                code="posts-incomplete",
            )
        if failed:
            self.warnings.append(f"{failed} posts could not be asked for; --force asks for them again.")


@dataclass(frozen=True, slots=True)
class _Known:
    """A stored answer, read."""

    post: FoundPost
    is_old: bool

    @property
    def ends_the_search(self) -> bool:
        return self.post.is_whole or (self.post.gone in _FINAL and not self.is_old)


class _Search:
    """The state of one search: known answers on each post, by service, and services that failed on it."""

    def __init__(
        self, online: Online, cache: AnswerCache, now: datetime, progress: Callable[[str], None] | None
    ) -> None:
        self._online, self._cache, self._now, self._progress = online, cache, now, progress
        self._known: dict[str, dict[str, _Known]] = defaultdict(dict)
        self._failed: set[str] = set()
        self.warnings: list[str] = []

    def recall(self, ids: Collection[str]) -> None:
        """Read the stored answers."""
        readers = {**self._online.known, **{service.name: service for service in self._online.services}}
        oldest = self._now - timedelta(days=self._online.reask_gone_days)
        for post_id, service, asked_at, reply in self._cache.answers(ids):
            reader = readers.get(service)
            if reader is None:
                continue
            try:
                post = reader.read([post_id], reply)[post_id].post
            except (BadReply, KeyError):
                # Stored by a version with laxer checks: request it again.
                continue
            self._known[post_id][service] = _Known(post, asked_at < oldest)

    async def ask(self, ids: Sequence[str]) -> None:
        """Query each service for the posts that are still open."""
        for service in self._online.services:
            wanted = sorted((post_id for post_id in ids if self._wants(post_id, service)), key=int)
            if not wanted:
                continue
            visit = _Visit(self, service, wanted)
            await visit.run()
            self._failed |= visit.failed
            if visit.reasons:
                reasons = ", ".join(f"{why} ({count} times)" for why, count in sorted(visit.reasons.items()))
                self.warnings.append(f"{service.name} failed on {len(visit.failed)} of {len(wanted)} posts: {reasons}.")

    def is_open(self, post_id: str) -> bool:
        """Whether a service must be queried for the post."""
        return any(self._wants(post_id, service) for service in self._online.services)

    def _wants(self, post_id: str, service: PostsService) -> bool:
        known = self._known[post_id]
        if any(item.ends_the_search for item in known.values()):
            return False
        own = known.get(service.name)
        return own is None or (own.post.gone is not None and own.is_old)

    def keep(self, service: PostsService, answers: Mapping[str, PostAnswer]) -> None:
        """Store answers, then use them."""
        for post_id, answer in answers.items():
            self._cache.add(post_id, service.name, self._now, answer.kept)
            self._known[post_id][service.name] = _Known(answer.post, is_old=False)

    def say(self, line: str) -> None:
        if self._progress is not None:
            self._progress(line)

    def outcome(self, post_id: str) -> FoundPost:
        """The best known answer: a whole post, a clear reason, an error of a service, else a partial one or none."""
        order = {name: place for place, name in enumerate(self._online.names)}
        known = self._known[post_id]
        by_rank = [known[name] for name in sorted(known, key=lambda name: (order.get(name, len(order)), name))]
        posts = [item.post for item in by_rank]
        final = [item.post for item in by_rank if item.ends_the_search]
        whole = [post for post in posts if post.is_whole]
        if whole or final:
            return (whole or final)[0]
        if post_id in self._failed:
            return FoundPost(post_id, PostStatus.ERROR)
        partly = [post for post in posts if post.gone is None]
        return (partly or posts or [FoundPost(post_id, PostStatus.UNAVAILABLE)])[0]


_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    post TEXT NOT NULL, service TEXT NOT NULL, asked_at TEXT NOT NULL,
    http_status INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (post, service)
) STRICT, WITHOUT ROWID
"""
_IDS_AT_ONCE = 500


class AnswerCache:
    """Stored answers, one for each post and service; a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._database = open_database(path, _SCHEMA, wait_s=30, private=True)
        except OSError as error:
            raise self._unwritable(f"cannot write: {error.strerror or error}") from error
        except sqlite3.Error as error:
            raise self._damaged(f"the cache of posts cannot be opened ({error})") from error

    def __enter__(self) -> Self:
        return self

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


class _Visit:
    """All requests to one service in one search; records the posts without an answer, the reasons, and their counts.

    Raises:
        ConfigError: if the service needs a token, and no permitted one is given.
    """

    def __init__(self, search: _Search, service: PostsService, ids: Sequence[str]) -> None:
        self._search, self._service, self._ids = search, service, ids
        self._batches = iter([ids[start : start + service.batch] for start in range(0, len(ids), service.batch)])
        self._done = self._in_a_row = 0
        self._over = False
        self.failed: set[str] = set()
        self.reasons: Counter[str] = Counter()
        manners = service.manners
        self._rate = RateLimit(manners.per_second, manners.burst)
        headers = {"User-Agent": f"hellofresh/{__version__} (research benchmark)", "Accept": "application/json"}
        self._client = HttpClient(
            service.name, headers | _authorization(service), timeout_s=manners.timeout_s, at_once=manners.at_once
        )

    async def run(self) -> None:
        """Request all batches, several at a time; an error of this project ends them all.

        Raises:
            SourceError: if the service refuses the token.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._service.manners.at_once):
                    group.create_task(self._work())
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            await self._client.close()

    async def _work(self) -> None:
        for batch in self._batches:
            if self._over:
                self.failed.update(batch)
                continue
            try:
                answers = await self._fetch(batch)
            except _GaveUp as error:
                self.failed.update(batch)
                self.reasons[str(error)] += 1
                self._in_a_row += 1
                self._over = self._over or isinstance(error, _SetAside) or self._in_a_row >= _FAILURES_IN_A_ROW
                continue
            self._search.keep(self._service, answers)
            silent = [post_id for post_id in batch if post_id not in answers]
            if silent:
                self.failed.update(silent)
                self.reasons["no answer about a post"] += len(silent)
            self._in_a_row = 0
            self._done += len(batch)
            self._search.say(f"{self._service.name}: {self._done:,} of {len(self._ids):,} posts")

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
                self._search.say(f"{self._service.name}: {outcome.why}, asks to wait {wait_s:.0f} s")
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
