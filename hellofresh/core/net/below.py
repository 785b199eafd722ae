"""Files below one address: bounded in size and time, not decompressed, no redirect to another host or scheme."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from yarl import URL

_CHUNK = 1 << 16  # bytes; the limit of size is looked at after each
_REDIRECTS = 5  # real ones need one or two; more are a loop
_MOVED = frozenset({301, 302, 303, 307, 308})


class BelowError(Exception):
    """A file that cannot be fetched, with the reason.

    Args:
        url: the file's address, or that of its redirect.
        why: the reason.
    """

    def __init__(self, url: str, why: str) -> None:
        super().__init__(why)
        self.url = url


@asynccontextmanager
async def files_below(base: str, *, most_bytes: int, timeout_s: float, quiet_s: float) -> AsyncIterator[FilesBelow]:
    """Open connections to one server and close them at the end.

    Args:
        base: http or https address that ends with a slash.
        most_bytes: limit of all files together.
        timeout_s: limit for all files together.
        quiet_s: longest wait for a connection and for the next bytes.
    """
    limits = aiohttp.ClientTimeout(total=timeout_s, sock_connect=quiet_s, sock_read=quiet_s)
    # Bodies are not decompressed: a small one could unpack to any size.
    options = {"Accept-Encoding": "identity"}
    # The host's name is resolved once, so that it cannot change to another machine meanwhile.
    connector = aiohttp.TCPConnector(use_dns_cache=True, ttl_dns_cache=None)
    async with aiohttp.ClientSession(
        timeout=limits, auto_decompress=False, headers=options, trust_env=True, connector=connector
    ) as session:
        yield FilesBelow(session, URL(base), most_bytes)


class FilesBelow:
    """Fetches files below one address, up to a total number of bytes.

    Args:
        session: to one server.
        base: the address.
        left: bytes that may still be fetched.
    """

    def __init__(self, session: aiohttp.ClientSession, base: URL, left: int) -> None:
        self._session, self._base, self.left = session, base, left

    async def take(self, name: str, path: Path, *, most_bytes: int) -> bool:
        """Write one file of at most `most_bytes` to a path; False if the server says that it does not exist.

        Raises:
            BelowError: if the file cannot be fetched, or is too long.
        """
        url = f"{self._base}{name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            async with self._answer(URL(url)) as answer:
                if answer.status in {404, 410}:
                    return False
                if answer.status != 200:
                    raise BelowError(url, f"the server answers {answer.status}")
                await self._write(answer, path, url, most_bytes)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise BelowError(url, str(error)[:200] or type(error).__name__) from error
        return True

    async def _write(self, answer: aiohttp.ClientResponse, path: Path, url: str, most_bytes: int) -> None:
        size = 0
        with path.open("wb") as file:
            async for chunk in answer.content.iter_chunked(_CHUNK):
                size += len(chunk)
                self.left -= len(chunk)
                if size > most_bytes or self.left < 0:
                    raise BelowError(url, f"more than {most_bytes:,} bytes, or more than the total allowed")
                file.write(chunk)

    @asynccontextmanager
    async def _answer(self, address: URL) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response of an address, after redirects within the same host and scheme."""
        for _ in range(_REDIRECTS + 1):
            async with self._session.get(address, allow_redirects=False) as answer:
                location = answer.headers.get("Location")
                if answer.status not in _MOVED or location is None:
                    yield answer
                    return
                address = address.join(URL(location))
            if not address.host or address.origin() != self._base.origin():
                raise BelowError(str(self._base), f"it redirects to another site, {str(address)[:200]!r}")
        raise BelowError(str(self._base), f"more than {_REDIRECTS} redirects")
