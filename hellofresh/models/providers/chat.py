"""Models behind an OpenAI-compatible endpoint, asked over its wire format without an SDK.

One attempt a call: waiting and asking again is the runner's work. Connections are kept and used again. Nothing is
followed elsewhere (a redirect is an error, so that the key goes to nobody else), and nothing is unpacked.
"""

from __future__ import annotations

import asyncio

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from hellofresh.errors import ConfigError
from hellofresh.models._endpoint import Abilities, Endpoint
from hellofresh.models.base import Answer, CallError, ModelSpec, Request
from hellofresh.models.providers.chat_wire import failure, payload, read_reply
from hellofresh.retry_after import retry_after_s

__all__ = ["MAX_BODY", "ChatModel"]

MAX_BODY = 4 * 2**20
"""Most bytes of a reply that are read."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_KEPT_S = 30.0


class ChatModel:
    """A model behind `<base_url>/chat/completions`.

    Args:
        spec: what is known of it.
        endpoint: where it is.
        abilities: what it takes.

    Raises:
        ConfigError: if the address is no http(s) URL, or would send a key unencrypted to another machine.
    """

    def __init__(self, spec: ModelSpec, endpoint: Endpoint, abilities: Abilities) -> None:
        self.spec = spec
        self._model, self._abilities, self._timeout_s = endpoint.model, abilities, endpoint.timeout_s
        self._url = _checked(endpoint)
        self._where = f"{spec.name} at {self._url.host}"
        self._key = (endpoint.key or "").encode()
        self._headers = _headers(endpoint)
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, request: Request) -> Answer:
        """Ask once.

        Raises:
            CallError: if no answer came; `retryable` says whether another attempt makes sense.
        """
        session = self._session or self._open()
        body = payload(request, self._model, self._abilities)
        try:
            async with session.post(self._url, data=body, headers=self._headers, allow_redirects=False) as response:
                content = await self._read(response)
                if self._key:
                    content = content.replace(self._key, b"[key]")  # some services repeat it in their messages
                if response.status == 200:
                    return read_reply(content, self._where)
                return self._failed(response, content)
        except TimeoutError:
            raise CallError(
                f"no answer within {self._timeout_s:g} s", where=self._where, code="timeout", retryable=True
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._unreached(error) from None

    async def close(self) -> None:
        """Close all connections; a later question opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
            await asyncio.sleep(0)  # transports close in the loop's next turn

    def _open(self) -> aiohttp.ClientSession:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT_S, ttl_dns_cache=60),
            timeout=aiohttp.ClientTimeout(total=self._timeout_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("Accept-Encoding", "User-Agent", "Accept"),
        )
        return self._session

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise CallError(
                "a packed reply, which was not asked for",
                where=self._where,
                code="bad-reply",
                retryable=True,
                status=response.status,
            )
        parts, size = [], 0
        async for part in response.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > MAX_BODY:
                raise CallError(
                    f"a reply of more than {MAX_BODY:,} bytes",
                    where=self._where,
                    code="bad-reply",
                    retryable=True,
                    status=response.status,
                )
        return b"".join(parts)

    def _failed(self, response: aiohttp.ClientResponse, content: bytes) -> Answer:
        status, headers = response.status, response.headers
        if 300 <= status < 400:
            raise CallError(
                f"HTTP {status}: the endpoint sends elsewhere, which is not followed",
                where=self._where,
                fix="Give the final address as base URL.",
                code="redirect",
                status=status,
            )
        return failure(status, content, self._where, retry_after_s(headers.get("Retry-After"), headers.get("Date")))

    def _unreached(self, error: Exception) -> CallError:
        if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
            return CallError(f"no safe connection ({_plain(error)})", where=self._where, code="tls", retryable=False)
        cut = isinstance(error, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError)
        code = "cut-off" if cut else "unreachable"
        what = "the connection ended before the answer" if cut else "the endpoint cannot be reached"
        return CallError(f"{what} ({_plain(error)})", where=self._where, code=code, retryable=True)


def _plain(error: Exception) -> str:
    """What went wrong, on one line; never what was sent."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def _checked(endpoint: Endpoint) -> URL:
    try:
        url = URL(endpoint.base_url.rstrip("/") + "/chat/completions")
        usable = url.scheme in ("http", "https") and bool(url.host) and url.user is None and not url.query_string
        usable = usable and not any(c.isspace() or not c.isprintable() for c in endpoint.base_url)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(
            f"{endpoint.base_url!r} is no base URL",
            expected="such as https://api.example.org/v1 or http://127.0.0.1:8000/v1",
            code="bad-base-url",
        )
    if endpoint.key and url.scheme == "http" and url.host not in _LOOPBACK:
        raise ConfigError(
            "a key would be sent unencrypted", where=endpoint.base_url, fix="Use https.", code="unsafe-base-url"
        )
    return url


def _headers(endpoint: Endpoint) -> CIMultiDict[str]:
    headers = CIMultiDict(
        {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
    )
    headers["User-Agent"] = "hellofresh"
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    headers.update(endpoint.headers)
    for value in headers.values():
        if any(ord(c) < 32 or ord(c) == 127 for c in value):
            raise ConfigError(
                "a header or the key has a control character in it", fix="Set it again.", code="bad-header"
            )
    return headers
