"""Fetching a release over the web into a folder: what it names is untrusted, and what it sends is bounded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from hellofresh.errors import ReleaseError, UsageError
from hellofresh.releases.life.manifest import PREVIOUS
from hellofresh.releases.verify.files import (
    MANIFEST,
    MAX_HISTORY_BYTES,
    MAX_MANIFEST_BYTES,
    MAX_VERSIONS,
    CheckedManifest,
    ManifestFile,
    bad_path,
    read_manifest,
)

__all__ = ["MAX_FILES", "MAX_TOTAL_BYTES", "fetch_release"]

MAX_FILES = 200
MAX_TOTAL_BYTES = 4_000_000_000
_CHUNK = 1 << 16
_REDIRECTS = 5
_MOVED = frozenset({301, 302, 303, 307, 308})


def fetch_release(url: str, folder: Path, *, timeout_s: float = 1800.0, quiet_s: float = 60.0) -> None:
    """Download a release's manifests and the files that they list.

    Args:
        url: http or https address of the release's folder, or of its manifest.
        folder: an empty folder.
        timeout_s: for all of it.
        quiet_s: longest wait for the next bytes.

    Raises:
        UsageError: if the address is none.
        ReleaseError: if something cannot be had, is larger than it says, or is named in a way that leaves the folder.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise UsageError(
            f"not the address of a release: {url[:200]!r}",
            expected="https://HOST/PATH of the folder with manifest.json, without user, ? or #",
            code="bad-url",
        )
    base = url.removesuffix(MANIFEST).rstrip("/") + "/"
    limits = aiohttp.ClientTimeout(total=timeout_s, sock_connect=quiet_s, sock_read=quiet_s)
    asyncio.run(_fetch(base, folder, limits))


async def _fetch(base: str, folder: Path, limits: aiohttp.ClientTimeout) -> None:
    # Bytes are taken as they come: a small packed body could unpack to any size.
    options = {"Accept-Encoding": "identity"}
    # The host's name is resolved once, so that it cannot come to mean another machine on the way.
    connector = aiohttp.TCPConnector(use_dns_cache=True, ttl_dns_cache=None)
    async with aiohttp.ClientSession(
        timeout=limits, auto_decompress=False, headers=options, trust_env=True, connector=connector
    ) as session:
        client = _Client(session, URL(base), folder)
        await client.take(MANIFEST, MAX_MANIFEST_BYTES)
        opened = client.manifest(MANIFEST)
        client.check(opened.manifest)
        for entry in opened.manifest.files:
            await client.take(entry.path, entry.size)
        await client.take_history(opened.manifest)


class _Client:
    """Takes files from below one address, no more bytes than are allowed in all."""

    def __init__(self, session: aiohttp.ClientSession, base: URL, folder: Path) -> None:
        self._session, self._base, self._folder = session, base, folder
        self._left = MAX_TOTAL_BYTES

    def manifest(self, name: str) -> ManifestFile:
        """Read a manifest that was fetched."""
        try:
            return read_manifest(self._folder / name)
        except ValueError as error:
            raise ReleaseError(str(error), where=f"{self._base}{name}", code="damaged-release") from None

    def check(self, manifest: CheckedManifest) -> None:
        """Refuse what must not be fetched at all."""
        wrong = [fault for entry in manifest.files if (fault := bad_path(entry.path))]
        total = sum(entry.size for entry in manifest.files)
        if len(manifest.files) > MAX_FILES or total > MAX_TOTAL_BYTES:
            wrong.append(f"{len(manifest.files):,} files of {total:,} bytes")
        if wrong:
            raise ReleaseError(
                wrong[0],
                where=f"{self._base}{MANIFEST}",
                expected=f"at most {MAX_FILES} files and {MAX_TOTAL_BYTES:,} bytes, below the release's folder",
                code="unsafe-release",
            )

    async def take_history(self, newest: CheckedManifest) -> None:
        """Fetch the manifests before one, as far as each is the one that the next names."""
        newer = newest
        self._left = min(self._left, MAX_HISTORY_BYTES)
        while newer.version > 1 and newer.previous is not None and newest.version - newer.version <= MAX_VERSIONS:
            path = f"{PREVIOUS}/{newer.version - 1}.json"
            await self.take(path, MAX_MANIFEST_BYTES)
            older = self.manifest(path)
            if older.sha256 != newer.previous.sha256 or older.manifest.version != newer.version - 1:
                return  # checking names it
            newer = older.manifest

    async def take(self, name: str, most: int) -> None:
        """Fetch one file of at most so many bytes."""
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        url = f"{self._base}{name}"
        try:
            async with self._answer(URL(url)) as answer:
                if answer.status != 200:
                    raise _failed(url, f"the server answers {answer.status}")
                size = 0
                with path.open("wb") as file:
                    async for chunk in answer.content.iter_chunked(_CHUNK):
                        size += len(chunk)
                        self._left -= len(chunk)
                        if size > most or self._left < 0:
                            raise _failed(url, f"more than {most:,} bytes, or than are taken of a release in all")
                        file.write(chunk)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise _failed(url, str(error)[:200] or type(error).__name__) from error

    @asynccontextmanager
    async def _answer(self, address: URL) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer of an address, after redirects that stay on the host and scheme that were asked for."""
        for _ in range(_REDIRECTS + 1):
            async with self._session.get(address, allow_redirects=False) as answer:
                location = answer.headers.get("Location")
                if answer.status not in _MOVED or location is None:
                    yield answer
                    return
                address = address.join(URL(location))
            if address.origin() != self._base.origin():
                raise _failed(str(self._base), f"it leads away to {str(address)[:200]!r}")
        raise _failed(str(self._base), f"more than {_REDIRECTS} redirects")


def _failed(url: str, what: str) -> ReleaseError:
    return ReleaseError(
        f"cannot be fetched ({what})",
        where=url,
        fix="Try again, or contact the owner of the server.",
        code="fetch-failed",
    )
