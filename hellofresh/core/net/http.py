"""One request to a service that gets a key: no redirects, no compression, a bounded reply, the key removed from it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass

import aiohttp
from yarl import URL

from hellofresh.core.errors import ConfigError
from hellofresh.core.net.retry import asked_wait_s

_KEPT_S = 30.0  # a connection kept longer is often closed by the server just as it is used
_MOST_BYTES = 8 * 2**20  # answers of APIs have kilobytes; a reply without an end must not fill memory


class UnusableReplyError(Exception):
    """A reply whose body was not read, with the reason.

    Args:
        why: `packed` or the number of bytes.
        status: of the reply.
    """

    def __init__(self, why: str, status: int) -> None:
        super().__init__(why)
        self.status = status


class LongReplyError(UnusableReplyError):
    """A reply over the limit of bytes."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """The reply to a request.

    Attributes:
        status: of HTTP.
        headers: case-insensitive.
        body: its bytes, with the key removed.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def wait_s(self) -> float | None:
        """Seconds that the service asks to wait, or None."""
        return asked_wait_s(self.headers)


class HttpClient:
    """Reused connections to one service, opened with the first request.

    Args:
        where: name of the service in messages.
        headers: of every request.
        timeout_s: for one request, from the connection to the last byte.
        key: removed from every body, since some services repeat it in their messages; models do it themselves.
        at_once: maximum connections, 0 for any number.

    Raises:
        ConfigError: if a header has a control character in it.
    """

    def __init__(
        self, where: str, headers: Mapping[str, str], *, timeout_s: float, key: str | None = None, at_once: int = 0
    ) -> None:
        self._headers = {"User-Agent": "hellofresh", "Accept-Encoding": "identity", **headers}
        if any(ord(c) < 32 or ord(c) == 127 for value in self._headers.values() for c in value):
            raise ConfigError(
                "a header or the key has a control character in it", where=where, fix="Set it again.", code="bad-header"
            )
        self._timeout_s, self._at_once = timeout_s, at_once
        self._key = (key or "").encode()
        self._session: aiohttp.ClientSession | None = None

    async def send(
        self,
        method: str,
        url: URL | str,
        body: bytes | None = None,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        most_bytes: int = _MOST_BYTES,
    ) -> HttpReply:
        """Send one request.

        Raises:
            UnusableReplyError: if the reply is packed or longer than `most_bytes`.
            aiohttp.ClientError, TimeoutError, OSError: if no whole reply came; their texts may contain the address.
        """
        session = self._session or self._open()
        async with session.request(
            method, url, data=body, params=query, headers=headers, allow_redirects=False
        ) as response:
            content = await read_bounded(response.headers, response.status, response.content.iter_any(), most_bytes)
            if self._key:
                content = content.replace(self._key, b"[key]")
            return HttpReply(response.status, response.headers, content)

    async def close(self) -> None:
        """Close all connections; a later request opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
            await asyncio.sleep(0)  # transports close in the loop's next iteration

    def _open(self) -> aiohttp.ClientSession:
        self._session = aiohttp.ClientSession(
            headers=self._headers,
            connector=aiohttp.TCPConnector(limit=self._at_once, keepalive_timeout=_KEPT_S, ttl_dns_cache=60),
            timeout=aiohttp.ClientTimeout(total=self._timeout_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )
        return self._session


async def read_bounded(
    headers: Mapping[str, str], status: int, content: AsyncIterable[bytes], most_bytes: int
) -> bytes:
    """Read a body without decompressing it.

    Raises:
        UnusableReplyError: if it is compressed against the request (it could unpack to any size).
        LongReplyError: if it is too long.
    """
    if headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnusableReplyError("compressed, although not requested", status)
    parts, size = [], 0
    async for part in content:
        parts.append(part)
        size += len(part)
        if size > most_bytes:
            raise LongReplyError(f"more than {most_bytes:,} bytes", status)
    return b"".join(parts)


def brief(error: Exception) -> str:
    """The cause of a connection error on one line."""
    return " ".join(str(error).split())[:200] or type(error).__name__
