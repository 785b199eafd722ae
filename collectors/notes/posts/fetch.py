"""Asking one service over HTTP: at its pace, with patience, with limits, and giving up in time."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

import aiohttp

from collectors.notes.posts._answers import BadReply
from collectors.notes.posts.service import PostAnswer, Service, ServiceReply
from hellofresh import __version__
from hellofresh.core.errors import ConfigError, SourceError
from hellofresh.core.net.http import HttpClient, HttpReply, LongReplyError, UnusableReplyError
from hellofresh.core.net.keys import may_carry_key
from hellofresh.core.net.rate import RateLimit
from hellofresh.core.net.retry import TryAgain

__all__ = ["GaveUp", "ServiceClient", "SetAside"]


class GaveUp(Exception):  # noqa: N818 - the outcome of one request, not an error of ours
    """A request that came to nothing within its tries and its time; says why."""


class SetAside(Exception):  # noqa: N818 - likewise, of the service
    """A service that asks for a longer wait than it is given."""


class ServiceClient:
    """Asks one service. Use it as an asynchronous context manager."""

    def __init__(self, service: Service, say: Callable[[str], None]) -> None:
        self.service = service
        self._say = say
        manners = service.manners
        self._rate = RateLimit(manners.per_second, manners.burst)
        headers = {"User-Agent": f"hellofresh/{__version__} (research benchmark)", "Accept": "application/json"}
        self._client = HttpClient(
            service.name, headers | _authorization(service), timeout_s=manners.timeout_s, at_once=manners.at_once
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def fetch(self, ids: Sequence[str]) -> Mapping[str, PostAnswer]:
        """Ask for some posts, at most a batch; posts that the reply is silent about are left out.

        Raises:
            GaveUp: if no try succeeded.
            SetAside: if the service asks for a wait beyond the deadline.
            SourceError: if the service refuses the token.
        """
        manners = self.service.manners
        now = asyncio.get_running_loop().time
        await self._turn()
        deadline = now() + manners.deadline_s
        attempt = 1
        while isinstance(outcome := await self._try(ids), TryAgain):
            asked_s = outcome.wait_s
            if asked_s is not None and asked_s > manners.deadline_s:
                raise SetAside(f"{outcome.why}, and asks to wait {asked_s:.0f} s")
            wait_s = manners.next_wait_s(attempt, asked_s, left_s=deadline - now())
            if wait_s is None:
                raise GaveUp(outcome.why)
            if asked_s is None:
                await asyncio.sleep(wait_s)
            else:
                self._rate.hold(now(), wait_s)
                self._say(f"{self.service.name}: {outcome.why}, asks to wait {wait_s:.0f} s")
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
        request = self.service.request(ids)
        url = self.service.base_url.rstrip("/") + request.path
        try:
            reply = await self._client.send(
                "GET", url, query=request.query, most_bytes=self.service.manners.largest_body
            )
        except LongReplyError as error:
            raise GaveUp(f"an answer of {error}") from None
        except UnusableReplyError as error:
            return TryAgain(f"an answer that cannot be read ({error})")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return TryAgain(type(error).__name__)
        return self._read(ids, ServiceReply(reply.status, reply.body), _asked_wait_s(reply))

    def _read(
        self, ids: Sequence[str], reply: ServiceReply, wait_s: float | None
    ) -> Mapping[str, PostAnswer] | TryAgain:
        if reply.status == 429 or reply.status >= 500:
            return TryAgain(f"HTTP status {reply.status}", wait_s)
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
                return TryAgain(f"an answer that cannot be read ({error})")
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
    if not may_carry_key(service.base_url):
        raise ConfigError(
            "a token is not sent over an unencrypted connection",
            where=f"{service.name}, base_url",
            expected="https://...",
            code="insecure-url",
        )
    return {"Authorization": f"Bearer {token}"}


def _asked_wait_s(reply: HttpReply) -> float | None:
    """Seconds that the service asks to wait: Retry-After as seconds or date, else X's own time of the next window."""
    headers = reply.headers
    if headers.get("Retry-After", "").strip():
        return reply.wait_s
    reset = headers.get("x-rate-limit-reset", "").strip()
    if headers.get("x-rate-limit-remaining", "").strip() == "0" and reset.isascii() and reset.isdigit():
        return max(0.0, float(reset[:12]) - time.time())
    return None
