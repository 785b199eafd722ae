"""Download one file: resume after breaks, check it, and only then give it its name."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import aiohttp

from hellofresh import __version__
from hellofresh.core.errors import DataError, SourceError, WorkspaceError, unwritable
from hellofresh.core.files import read_model, write_json
from hellofresh.core.net.retry import PASSING, RetryPolicy, retry_after_s

_PIECE = 2**20  # bytes; progress is said after each
_GONE = frozenset({404, 410})  # the file is not there; every other status may be the server's bad moment
_CONTENT_RANGE = re.compile(r"bytes (?:([0-9]+)-[0-9]+|\*)/([0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadPolicy(RetryPolicy):
    """How long to retry: attempts in a row are counted, and every byte received resets the count.

    Attributes:
        connect_timeout_s: for a connection.
        silence_timeout_s: for the next bytes.
    """

    most_s: float = 600.0
    connect_timeout_s: float = 30.0
    silence_timeout_s: float = 60.0


def download_session(policy: DownloadPolicy) -> aiohttp.ClientSession:
    """A session for downloads: no total time limit, no decompression. Needs a running event loop."""
    timeout = aiohttp.ClientTimeout(
        total=None, sock_connect=policy.connect_timeout_s, sock_read=policy.silence_timeout_s
    )
    headers = {"User-Agent": f"hellofresh/{__version__}", "Accept-Encoding": "identity"}
    return aiohttp.ClientSession(timeout=timeout, headers=headers, auto_decompress=False, trust_env=True)


class _PassingError(Exception):
    """A failed request that is worth a retry."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


@dataclass(frozen=True, slots=True)
class _Known:
    """The file's version as the server stated it at the first byte: all parts must be of this version."""

    url: str
    size: int | None
    validator: str | None


@dataclass(frozen=True, slots=True)
class Transfer:
    """Fetches files of one server one at a time.

    Attributes:
        session: must not decompress contents.
        policy: when to give up.
        sleep: waits a number of seconds.
        progress: called with a sentence from time to time.
        check: called with a complete file and its name; raises SourceError if the content is wrong.
    """

    session: aiohttp.ClientSession
    policy: DownloadPolicy
    sleep: Callable[[float], Awaitable[None]]
    progress: Callable[[str], None]
    check: Callable[[Path, str], None]

    async def exists(self, url: str) -> bool:
        """Whether the server has the file.

        Raises:
            SourceError: if the server gives no clear answer.
        """

        async def ask() -> bool:
            async with self.session.get(url, headers={"Range": "bytes=0-0"}) as response:
                if response.status in _GONE:
                    return False
                if response.status != 416:  # an empty file has no first byte (RFC 9110, 14.2)
                    _refuse(response)
                return True

        return await self._patiently(url, ask, lambda: 0)

    async def fetch(self, url: str, target: Path) -> bool:
        """Fetch a file to `target`, resuming an earlier attempt; False if it does not exist.

        Raises:
            SourceError: if the server keeps failing, or the check refuses the file.
            WorkspaceError: if the file cannot be written.
        """
        part = target.with_name(f"{target.name}.part")
        note = target.with_name(f"{target.name}.part.json")
        refused: list[str] = []

        async def ask() -> bool:
            known = _read_note(note, url) if part.is_file() else None
            there = await self._receive(url, part, note, known)
            if there:
                await self._check(part, note, target.name, refused)
            return there

        if await self._patiently(url, ask, lambda: part.stat().st_size if part.exists() else 0):
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.replace(target)
            note.unlink(missing_ok=True)
            return True
        return False

    async def _patiently(self, url: str, ask: Callable[[], Awaitable[bool]], got: Callable[[], int]) -> bool:
        # Only bytes beyond all earlier attempts are progress: a server that sends another version each time makes none.
        failures, most = 0, got()
        while True:
            try:
                return await ask()
            except (_PassingError, aiohttp.ClientError, TimeoutError, ConnectionError) as error:
                failures, most = 1 if got() > most else failures + 1, max(most, got())
                wait_s = self._wait(url, error, failures, kept=got() > 0)
                self.progress(f"{url.rsplit('/', 1)[-1]}: {_brief(error)}; again in {wait_s:.0f} s")
            except OSError as error:
                raise unwritable(error.filename or "", error) from error
            await self.sleep(wait_s)

    def _wait(self, url: str, error: Exception, failures: int, *, kept: bool) -> float:
        asked_s = error.wait_s if isinstance(error, _PassingError) else None
        wait_s = self.policy.next_wait_s(failures, asked_s)
        if wait_s is None:
            later = f", and asks to wait {asked_s:.0f} s" if asked_s else ""
            raise SourceError(
                f"the download fails: {_brief(error)}{later}",
                where=url,
                fix=("The finished part is kept: run" if kept else "Run") + " the same command again later.",
                code="download-failed",
            ) from error
        return max(wait_s, self.policy.step_s(failures))

    async def _receive(self, url: str, part: Path, note: Path, known: _Known | None) -> bool:
        offset = part.stat().st_size if known is not None else 0
        headers = {}
        if known is not None and offset:
            headers["Range"] = f"bytes={offset}-"
            if known.validator:
                headers["If-Range"] = known.validator
        async with self.session.get(url, headers=headers) as response:
            if response.status in _GONE and not offset:
                return False
            if response.status == 416 and offset and _total(response) == offset:
                return True
            if response.status == 416 and offset:
                part.unlink()
                raise _PassingError("the partial download does not match the file on the server")
            _refuse(response)
            if response.status == 200 or known is None:
                # Discard the earlier part and record the version that comes now.
                part.unlink(missing_ok=True)
                part.parent.mkdir(parents=True, exist_ok=True)
                offset, known = 0, _Known(url, response.content_length, _validator(response))
                write_json(note, asdict(known))
            elif not _continues(response, offset, known):
                part.unlink()
                raise _PassingError("the server sends a part or version that was not requested")
            _require_space(part, known, offset)
            await self._append(response, part, offset, known)
        return True

    async def _append(self, response: aiohttp.ClientResponse, part: Path, offset: int, known: _Known) -> None:
        name, size = part.name.removesuffix(".part"), offset
        with part.open("ab", buffering=0) as file:
            async for piece in response.content.iter_chunked(_PIECE):
                file.write(piece)
                size += len(piece)
                of = f" of {known.size / 1e6:,.0f}" if known.size else ""
                self.progress(f"downloading {name}: {size / 1e6:,.0f}{of} MB")
        if known.size is not None and size < known.size:
            raise _PassingError(f"cut after {size:,} of {known.size:,} bytes")

    async def _check(self, part: Path, note: Path, name: str, refused: list[str]) -> None:
        """Check a file; a refused one is deleted and fetched once more, since the transfer may have damaged it."""
        known = _read_note(note, None)
        size = part.stat().st_size
        try:
            if known is not None and known.size is not None and size != known.size:
                raise _PassingError(f"{size:,} bytes were received instead of {known.size:,}")
            self.progress(f"checking {name}")
            await asyncio.to_thread(self.check, part, name)
        except (SourceError, _PassingError) as error:
            part.unlink()
            note.unlink(missing_ok=True)
            if not isinstance(error, SourceError):
                raise
            refused.append(error.what)
            if len(refused) > 1:
                fix = "Both downloads were deleted. Try again later, or tell the server's operator."
                raise SourceError(
                    error.what, where=error.where, expected=error.expected, fix=fix, code=error.code
                ) from error
            raise _PassingError(error.what) from error


def _read_note(note: Path, url: str | None) -> _Known | None:
    """The recorded version of the partial file, or None if it is unknown or of another URL."""
    try:
        known = read_model(note, _Known)
    except DataError:
        return None
    return known if url in (None, known.url) else None


def _refuse(response: aiohttp.ClientResponse) -> None:
    if response.status in PASSING:
        raise _PassingError(f"HTTP {response.status}", retry_after_s(response.headers.get("Retry-After")))
    if response.status not in (200, 206):
        raise SourceError(
            f"HTTP {response.status}",
            where=str(response.url),
            expected="the file, or 404 if it does not exist",
            fix="Check the address; where it is configured, in hellofresh.toml.",
            code="download-refused",
        )


def _total(response: aiohttp.ClientResponse) -> int | None:
    match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    return int(match[2]) if match else None


def _continues(response: aiohttp.ClientResponse, offset: int, known: _Known) -> bool:
    match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    begins = match is not None and match[1] is not None and int(match[1]) == offset
    same = known.size is None or _total(response) == known.size
    validator = _validator(response)
    return begins and same and (None in (validator, known.validator) or validator == known.validator)


def _validator(response: aiohttp.ClientResponse) -> str | None:
    """The validator that identifies the file's version; weak ETags do not suffice for ranges."""
    tag = response.headers.get("ETag", "")
    return tag if tag.startswith('"') else response.headers.get("Last-Modified")


def _require_space(part: Path, known: _Known, offset: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if known.size is not None and known.size - offset > free:
        raise WorkspaceError(
            f"{known.size - offset:,} bytes are still to come, but only {free:,} are free",
            where=str(part.parent),
            fix="Make room, or set HELLOFRESH_DATA to another folder; then run the same command again.",
            code="disk-full",
        )


def _brief(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:160]
