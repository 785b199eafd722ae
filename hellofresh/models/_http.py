"""Requests to services that are not hot: one attempt, a bounded reply, every failure a named error without the key."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp

from hellofresh.errors import UsageError
from hellofresh.models._endpoint import Endpoint
from hellofresh.models.base import CallError
from hellofresh.models.providers.chat_wire import failure
from hellofresh.retry_after import retry_after_s

__all__ = ["Http", "Reply", "bad_reply"]

_MAX_BODY = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    Attributes:
        status: of the reply.
        body: its bytes, the key taken out.
        wait_s: seconds that the service asks to wait, None where it does not.
    """

    status: int
    body: bytes
    wait_s: float | None


class Http:
    """Connections to one service.

    Args:
        endpoint: where it is.
        where: how it is called in messages.
        headers: those of every request, besides the endpoint's own; the key among them.

    Raises:
        UsageError: if a header has a control character in it.
    """

    def __init__(self, endpoint: Endpoint, where: str, headers: Mapping[str, str]) -> None:
        self._endpoint, self.where = endpoint, where
        self._headers = {"User-Agent": "hellofresh", "Accept-Encoding": "identity", **headers, **endpoint.headers}
        if any(not value.isprintable() for value in self._headers.values()):
            raise UsageError("a header or the key has a control character in it", where=where, code="bad-header")
        self._session: aiohttp.ClientSession | None = None

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | aiohttp.FormData | None = None,
        *,
        content_type: str | None = "application/json",
        max_body: int = _MAX_BODY,
    ) -> Reply:
        """Send one request to a path below the base URL; no redirect is followed.

        Raises:
            CallError: if no whole reply came.
        """
        headers = {} if body is None or content_type is None else {"Content-Type": content_type}
        url = f"{self._endpoint.base_url}{path}"
        try:
            async with self._open().request(method, url, data=body, headers=headers, allow_redirects=False) as response:
                content = await self._read(response, max_body)
                wait_s = retry_after_s(response.headers.get("Retry-After"), response.headers.get("Date"))
                return Reply(response.status, content, wait_s)
        except TimeoutError:
            raise CallError(
                f"no reply within {self._endpoint.timeout_s:g} s", where=self.where, code="timeout", retryable=True
            ) from None
        except (aiohttp.ClientSSLError, aiohttp.ClientConnectorCertificateError):
            raise CallError("no safe connection", where=self.where, code="tls") from None
        except (aiohttp.ClientError, OSError) as error:
            said = " ".join(str(error).split())[:200] or type(error).__name__
            what = f"no whole reply came ({said})"
            raise CallError(what, where=self.where, code="unreachable", retryable=True) from None

    async def fetch(
        self, method: str, path: str, body: bytes | aiohttp.FormData | None = None, **more: int | str | None
    ) -> bytes:
        """Send one request and take its reply of status 200.

        Raises:
            CallError: for any other status too.
        """
        reply = await self.send(method, path, body, **more)  # type: ignore[arg-type]
        if reply.status != 200:
            answer = failure(reply.status, reply.body, self.where, reply.wait_s)
            raise CallError(f"refused ({answer.finish})", where=self.where, code="refused", status=reply.status)
        return reply.body

    async def close(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
            await asyncio.sleep(0)  # transports close in the loop's next turn

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                timeout=aiohttp.ClientTimeout(total=self._endpoint.timeout_s),
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        return self._session

    async def _read(self, response: aiohttp.ClientResponse, max_body: int) -> bytes:
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise bad_reply(self.where, "packed, which was not asked for", response.status)
        parts, size = [], 0
        async for part in response.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > max_body:
                raise bad_reply(self.where, f"more than {max_body:,} bytes", response.status)
        content = b"".join(parts)
        key = self._endpoint.key
        return content.replace(key.encode(), b"[key]") if key else content


def bad_reply(where: str, why: str, status: int | None = 200) -> CallError:
    """An error for a reply that is not what its format says."""
    return CallError(
        f"a reply that cannot be read ({why})", where=where, code="bad-reply", retryable=True, status=status
    )
