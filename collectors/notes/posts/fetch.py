"""Asking one service over HTTP: at its pace, with patience, with limits, and giving up in time."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import aiohttp
from yarl import URL

from collectors.notes.posts._answers import BadReply
from collectors.notes.posts.service import Answer, Reply, Service
from hellofresh import __version__
from hellofresh.errors import ConfigError, SourceError
from hellofresh.retry_after import retry_after_s

__all__ = ["Fetcher", "GaveUp", "SetAside"]

_HEADERS = {
    "User-Agent": f"hellofresh/{__version__} (research benchmark)",
    "Accept": "application/json",
    # What is not packed cannot unpack to gigabytes.
    "Accept-Encoding": "identity",
}
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class GaveUp(Exception):  # noqa: N818 - the outcome of one request, not an error of ours
    """A request that came to nothing within its tries and its time; says why."""


class SetAside(Exception):  # noqa: N818 - likewise, of the service
    """A service that asks for a longer wait than it is given."""


@dataclass(frozen=True, slots=True)
class _Again:
    """Try once more: why, and how long to wait if the service said so."""

    why: str
    wait_s: float | None = None


class _Pace:
    """A token bucket: so many requests a second in the long run, and a pause for all where the service asks for one."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._interval = 1.0 / per_second
        self._saved = (burst - 1) * self._interval
        self._free_at = -math.inf

    async def turn(self) -> None:
        """Wait until a request may be sent."""
        now = asyncio.get_running_loop().time
        while (wait_s := self._free_at - now()) > 0:
            await asyncio.sleep(wait_s)
        self._free_at = max(self._free_at, now() - self._saved) + self._interval

    def pause(self, seconds: float) -> None:
        """Nobody sends for so long."""
        self._free_at = max(self._free_at, asyncio.get_running_loop().time() + seconds)


class Fetcher:
    """Asks one service. Use it as an asynchronous context manager."""

    def __init__(self, service: Service, say: Callable[[str], None]) -> None:
        self.service = service
        self._say = say
        manners = service.manners
        self._pace = _Pace(manners.per_second, manners.burst)
        self._headers = _HEADERS | _authorization(service)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self.service.manners.timeout_s),
            headers=self._headers,
            connector=aiohttp.TCPConnector(limit=self.service.manners.at_once),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def fetch(self, ids: Sequence[str]) -> Mapping[str, Answer]:
        """Ask for some posts, at most a batch; posts that the reply is silent about are left out.

        Raises:
            GaveUp: if no try succeeded.
            SetAside: if the service asks for a wait beyond the deadline.
            SourceError: if the service refuses the token.
        """
        manners = self.service.manners
        now = asyncio.get_running_loop().time
        await self._pace.turn()
        deadline = now() + manners.deadline_s
        attempt = 1
        while isinstance(outcome := await self._try(ids), _Again):
            wait_s = self._wait_s(outcome, attempt)
            if attempt == manners.attempts or now() + wait_s > deadline:
                raise GaveUp(outcome.why)
            if outcome.wait_s is None:
                await asyncio.sleep(wait_s)
            else:
                self._pace.pause(wait_s)
                self._say(f"{self.service.name}: {outcome.why}, asks to wait {wait_s:.0f} s")
            await self._pace.turn()
            attempt += 1
        return outcome

    def _wait_s(self, outcome: _Again, attempt: int) -> float:
        if outcome.wait_s is None:
            return float(self.service.manners.backoff_s * 2 ** (attempt - 1))
        if outcome.wait_s > self.service.manners.deadline_s:
            raise SetAside(f"{outcome.why}, and asks to wait {outcome.wait_s:.0f} s")
        return outcome.wait_s

    async def _try(self, ids: Sequence[str]) -> Mapping[str, Answer] | _Again:
        request = self.service.request(ids)
        url = URL(self.service.base_url.rstrip("/") + request.path)
        assert self._session is not None
        try:
            # A redirect could carry the token elsewhere, and no service has reason to send one.
            async with self._session.get(url, params=request.query, allow_redirects=False) as response:
                wait_s = _asked_wait_s(response.headers)
                reply = Reply(response.status, await self._body(response))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return _Again(type(error).__name__)
        return self._read(ids, reply, wait_s)

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for part in response.content.iter_any():
            body += part
            if len(body) > self.service.manners.largest_body:
                response.close()
                raise GaveUp(f"an answer of more than {self.service.manners.largest_body:,} bytes")
        return bytes(body)

    def _read(self, ids: Sequence[str], reply: Reply, wait_s: float | None) -> Mapping[str, Answer] | _Again:
        if reply.status == 429 or reply.status >= 500:
            return _Again(f"HTTP status {reply.status}", wait_s)
        if reply.status in (401, 403) and self.service.token_variable:
            raise SourceError(
                f"{self.service.name} refuses the token (HTTP status {reply.status})",
                where=f"environment variable {self.service.token_variable}",
                expected="a bearer token that may read posts",
                code="token-refused",
            )
        try:
            return self.service.read(ids, reply)
        except BadReply as error:
            # With status 200 it may be a body cut short; any other status is meant.
            if reply.status == 200:
                return _Again(f"an answer that cannot be read ({error})")
            raise GaveUp(str(error)) from None


def _authorization(service: Service) -> dict[str, str]:
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
    url = URL(service.base_url)
    if url.scheme != "https" and url.host not in _LOOPBACK:
        raise ConfigError(
            "a token is not sent over an unencrypted connection",
            where=f"{service.name}, base_url",
            expected="https://...",
            code="insecure-url",
        )
    return {"Authorization": f"Bearer {token}"}


def _asked_wait_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that the service asks to wait: Retry-After as seconds or date, else X's own time of the next window."""
    if headers.get("Retry-After", "").strip():
        return retry_after_s(headers["Retry-After"])
    reset = headers.get("x-rate-limit-reset", "").strip()
    if headers.get("x-rate-limit-remaining", "").strip() == "0" and reset.isascii() and reset.isdigit():
        return max(0.0, float(reset[:12]) - time.time())
    return None
