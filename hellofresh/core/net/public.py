"""One request to an address that is checked to be public, with a limit of bytes."""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from hellofresh.core.errors import RunError
from hellofresh.core.net.addresses import PORTS, AddressError, PageAddress, is_public

SocketAddress = tuple[str, int]
AddrInfo = tuple[Any, ...]

_CHUNK = 64 << 10
# Reserved for examples, and always there: where it does not answer, this machine's network is at fault.
_CONTROL = "https://example.com/"
_CONTROL_S = 15.0  # a host that does not answer in this time is taken for a network that is down
_PAGES = "text/html,application/xhtml+xml,text/plain;q=0.9,text/*;q=0.5"


class UnsafeError(OSError):
    """A connection refused because its other end is not public."""


class TooLargeError(Exception):
    """A body over the limit."""


class BodyError(Exception):
    """A body that cannot be decompressed."""


@dataclass(frozen=True, slots=True)
class PageReply:
    """A server's reply.

    Attributes:
        status: of HTTP.
        headers: names in lower case.
        body: decompressed; empty for a redirect.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        """The header, empty if absent."""
        return self.headers.get("content-type", "")


class PublicHttp:
    """Sends requests and checks every socket before opening it.

    Args:
        allowed: non-public numeric addresses and ports that may be reached, for the user's own servers.
        resolver: turns names into addresses; the system's by default.
        make_socket: makes the socket to a checked address.
        user_agent: the header.
        accept: the header, for pages unless given.
    """

    def __init__(
        self,
        user_agent: str,
        *,
        allowed: frozenset[SocketAddress] = frozenset(),
        resolver: AbstractResolver | None = None,
        make_socket: Callable[[AddrInfo], socket.socket] | None = None,
        accept: str = _PAGES,
    ) -> None:
        self._allowed = allowed
        self._allowed_ports = frozenset(port for _, port in allowed)
        self._make_socket = make_socket or (lambda info: socket.socket(*info[:3]))
        self._headers = {
            "User-Agent": user_agent,
            "Accept": accept,
            # Only encodings that can be decompressed in bounded steps are accepted.
            "Accept-Encoding": "gzip",
            "Accept-Language": "en",
        }
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None

    def check(self, address: PageAddress) -> None:
        """Refuse an address that is unsafe without looking up its name.

        Raises:
            UnsafeError: if its port is not a page's, or its host is an address that is not public.
        """
        if address.port not in PORTS and address.port not in self._allowed_ports:
            raise UnsafeError(f"port {address.port}")
        if address.is_numeric:
            self._check_endpoint(address.host, address.port)

    def _check_endpoint(self, host: str, port: int) -> None:
        if (host, port) in self._allowed:
            return
        if port not in PORTS or not is_public(host):
            raise UnsafeError(f"{host} port {port} is not public")

    async def get(self, address: PageAddress, *, most_bytes: int, cut: bool = False) -> PageReply:
        """Request one page without following redirects.

        Args:
            address: of the page.
            most_bytes: limit of the body, compressed and decompressed.
            cut: whether to return the beginning of a longer body instead of refusing it.

        Raises:
            UnsafeError: if the address, or one that its name resolves to, is not public.
            TooLargeError: if the body, compressed or decompressed, is over the limit.
            BodyError: if the body's compression is damaged or was not requested.
            AddressError: if parsers disagree about the address.
            aiohttp.ClientError, OSError: if the connection fails.
        """
        self.check(address)
        url = URL(address.url, encoded=True)
        if (url.raw_host, url.port, url.scheme) != (address.host, address.port, address.scheme):
            raise AddressError("a URL that parsers read differently")
        try:
            async with self._open().get(url, allow_redirects=False, headers=self._headers) as response:
                headers = {name.lower(): value for name, value in response.headers.items()}
                # A redirect or an error needs only its headers.
                body = await _body(response, most_bytes, cut=cut) if response.status == 200 else b""
                return PageReply(response.status, headers, body)
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, UnsafeError):
                raise error.os_error from None
            raise

    async def check_network(self) -> None:
        """Request an address that is always there.

        Raises:
            RunError: if it cannot be reached, so that nothing follows from other failures (`no-network`).
        """
        try:
            async with asyncio.timeout(_CONTROL_S):
                await self.get(PageAddress.parse(_CONTROL), most_bytes=_CHUNK, cut=True)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            what = f"{_CONTROL} cannot be reached either ({type(error).__name__}), so nothing follows about other pages"
            fix = "Connect this machine to the internet, then run the command again: what was stored is kept."
            raise RunError(what, fix=fix, code="no-network") from error

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                resolver=_CheckedResolver(self._resolver or ThreadedResolver(), self._check_endpoint),
                socket_factory=self._checked_socket,
                # A cached name or connection would skip the check.
                use_dns_cache=False,
                force_close=True,
                # One attempt at a time, so that a refusal is recognised.
                happy_eyeballs_delay=None,
                limit=100,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                # The caller limits the time.
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=15, sock_read=15),
                read_bufsize=_CHUNK,
            )
        return self._session

    def _checked_socket(self, info: AddrInfo) -> socket.socket:
        host, port = info[4][:2]
        self._check_endpoint(host, port)
        return self._make_socket(info)

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def names_fail(error: aiohttp.ClientConnectorDNSError) -> bool:
    """Whether the resolver failed, as without a network, and not merely knew of no such host."""
    return error.os_error.errno in (socket.EAI_AGAIN, socket.EAI_FAIL)


class _CheckedResolver(AbstractResolver):
    """Resolves a name if all of its addresses may be reached."""

    def __init__(self, inner: AbstractResolver, check: Callable[[str, int], None]) -> None:
        self._inner = inner
        self._check = check

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Resolve a name; one non-public address refuses the whole name."""
        found = await self._inner.resolve(host, port, family)
        for each in found:
            self._check(each["host"], port)
        return found

    async def close(self) -> None:
        """Close the inner resolver."""
        await self._inner.close()


async def _body(response: aiohttp.ClientResponse, most_bytes: int, *, cut: bool) -> bytes:
    encodings = [e for e in response.headers.get("Content-Encoding", "").lower().replace(" ", "").split(",") if e]
    encodings = [encoding for encoding in encodings if encoding != "identity"]
    if encodings not in ([], ["gzip"], ["x-gzip"]):
        raise BodyError(f"compressed as {','.join(encodings)[:40]}, although not requested")
    stated = response.headers.get("Content-Length", "")
    if not cut and stated.isascii() and stated.isdigit() and (len(stated) > 15 or int(stated) > most_bytes):
        raise TooLargeError(f"over {most_bytes:,} bytes")
    body = _Body(most_bytes, packed=bool(encodings))
    try:
        async for part in response.content.iter_chunked(_CHUNK):
            body.add(part)
    except TooLargeError:
        if not cut:
            raise
        return bytes(body.content[:most_bytes])
    if body.engine is not None and body.came and not body.engine.eof:
        raise BodyError("a gzip body that is cut short")
    return bytes(body.content)


class _Body:
    """Collects a body, decompressing gzip up to the limit."""

    def __init__(self, most_bytes: int, *, packed: bool) -> None:
        self.content, self.came, self._most = bytearray(), 0, most_bytes
        self.engine = zlib.decompressobj(wbits=31) if packed else None

    def add(self, part: bytes) -> None:
        """Add a further part; several gzip members may follow each other."""
        self.came += len(part)
        if self.engine is None:
            self.content += part
        if self.came > self._most:
            raise TooLargeError(f"over {self._most:,} bytes")
        while part and self.engine is not None:
            if self.engine.eof:
                if not part.strip(b"\0"):
                    return
                self.engine = zlib.decompressobj(wbits=31)
            try:
                self.content += self.engine.decompress(part, self._most + 1 - len(self.content))
            except zlib.error:
                raise BodyError("not gzip, although its header says so") from None
            if len(self.content) > self._most:
                raise TooLargeError(f"over {self._most:,} bytes")
            part = self.engine.unused_data or self.engine.unconsumed_tail
