"""Requests to providers of models: one attempt, a bounded reply, every failure a named error without the key."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp

from hellofresh.core.net.http import HttpClient, HttpReply, UnusableReplyError, brief
from hellofresh.models._endpoint import Endpoint
from hellofresh.models.base import CallError
from hellofresh.models.providers.chat_wire import failure

__all__ = ["MAX_BODY", "ModelHttp", "bad_reply"]

MAX_BODY = 4 * 2**20
"""Most bytes of a reply that are read, unless a call says otherwise."""
_JSON = {"Content-Type": "application/json", "Accept": "application/json"}


class ModelHttp:
    """Connections to one provider.

    Args:
        endpoint: where it is.
        where: how it is called in messages.
        headers: those of every request, besides the endpoint's own; the key among them.

    Raises:
        ConfigError: if a header has a control character in it.
    """

    def __init__(self, endpoint: Endpoint, where: str, headers: Mapping[str, str]) -> None:
        self.where, self._base, self._timeout_s = where, endpoint.base_url.rstrip("/"), endpoint.timeout_s
        all_headers = {"Accept": "application/json", **headers, **endpoint.headers}
        self._client = HttpClient(where, all_headers, timeout_s=endpoint.timeout_s, key=endpoint.key)

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | aiohttp.FormData | None = None,
        *,
        most_bytes: int = MAX_BODY,
    ) -> HttpReply:
        """Send one request to a path below the base URL; bytes go as JSON.

        Raises:
            CallError: if no whole reply came, or one that sends elsewhere.
        """
        headers = _JSON if isinstance(body, bytes) else None
        try:
            reply = await self._client.send(method, self._base + path, body, headers=headers, most_bytes=most_bytes)
        except TimeoutError:
            what = f"no answer within {self._timeout_s:g} s"
            raise CallError(what, where=self.where, code="timeout", retryable=True) from None
        except UnusableReplyError as error:
            raise bad_reply(self.where, str(error), error.status) from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._unreached(error) from None
        if 300 <= reply.status < 400:
            raise self._sent_elsewhere(reply.status)
        return reply

    async def fetch(
        self,
        method: str,
        path: str,
        body: bytes | aiohttp.FormData | None = None,
        *,
        most_bytes: int = MAX_BODY,
    ) -> bytes:
        """Send one request and take its reply of status 200.

        Raises:
            CallError: for any other status too.
        """
        reply = await self.send(method, path, body, most_bytes=most_bytes)
        if reply.status != 200:
            answer = failure(reply.status, reply.body, self.where, reply.wait_s)
            raise CallError(f"refused ({answer.finish})", where=self.where, code="refused", status=reply.status)
        return reply.body

    async def close(self) -> None:
        """Close all connections; a later request opens new ones."""
        await self._client.close()

    def _sent_elsewhere(self, status: int) -> CallError:
        return CallError(
            f"HTTP {status}: the endpoint redirects, and redirects are not followed",
            where=self.where,
            fix="Give the final address as base URL.",
            code="redirect",
            status=status,
        )

    def _unreached(self, error: Exception) -> CallError:
        if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
            return CallError(f"no safe connection ({brief(error)})", where=self.where, code="tls")
        cut = isinstance(error, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError)
        what = "the connection ended before the answer" if cut else "the endpoint cannot be reached"
        code = "cut-off" if cut else "unreachable"
        return CallError(f"{what} ({brief(error)})", where=self.where, code=code, retryable=True)


def bad_reply(where: str, why: str, status: int | None = 200) -> CallError:
    """An error for a reply that is not what its format says."""
    return CallError(
        f"a reply that cannot be read ({why})", where=where, code="bad-reply", retryable=True, status=status
    )
