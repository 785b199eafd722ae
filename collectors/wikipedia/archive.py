"""Download of a wiki's content export: the newest complete one; every file is checked against its published SHA-256.

Layout: `<base>/<wiki>/<YYYY-MM-DD>/xml/bzip2/`, with `SHA256SUMS` and `_SUCCESS`, which are written last: a folder
without `_SUCCESS` is unfinished (https://wikitech.wikimedia.org/wiki/MediaWiki_Content_File_Exports).
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp

from collectors.wikipedia.export import listed_sha256
from hellofresh import __version__
from hellofresh.core.errors import SourceError, UsageError, WorkspaceError
from hellofresh.core.executors import completed
from hellofresh.core.files import sha256_file
from hellofresh.core.net.lock import locked
from hellofresh.core.net.transfer import DownloadPolicy, Transfer, download_session

PUBLIC_URL = "https://dumps.wikimedia.org/other/mediawiki_content_history"
_DAY = re.compile(r'href="(?:[^"]*/)?([0-9]{4}-[0-9]{2}-[0-9]{2})/?"')
_MOST_DAYS = 60  # newest folders to look into, of however many a server lists
# A line of an index of files: name and, at its end, its size in bytes.
_SIZE = re.compile(r'href="(?:[^"]*/)?([^"/]+)"[^\n]*?([0-9]+)\s*$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """Which export to download.

    Attributes:
        wiki: its name, such as `enwiki`.
        day: of the export; None for the newest finished one.
        contact: address at which the server's operators reach the user; part of the User-Agent.
        policy: when to give up.
    """

    wiki: str
    day: date | None = None
    base_url: str = PUBLIC_URL
    contact: str = ""
    policy: DownloadPolicy = field(default_factory=DownloadPolicy)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]{1,60}", self.wiki):
            raise UsageError(f"the wiki {self.wiki!r}", expected="a name such as enwiki", code="bad-wiki")
        if not re.fullmatch(r"https?://[^\s?#]+", self.base_url):
            raise UsageError(f"the address {self.base_url!r}", expected="http(s)://...", code="bad-url")

    def url(self, *parts: str) -> str:
        """An address below the wiki's."""
        return "/".join((self.base_url.rstrip("/"), self.wiki, *parts))


@dataclass(frozen=True, slots=True)
class FetchedExport:
    """An export on disk: its day, folder and files, and whether all of them already existed."""

    day: date
    folder: Path
    files: Sequence[Path]
    skipped: bool


def download_export(
    folder: Path,
    request: ExportRequest,
    *,
    progress: Callable[[str], None],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> FetchedExport:
    """Download an export into `folder/<wiki>-<day>`; existing files are kept, unfinished ones are resumed.

    Raises:
        SourceError: if the export is missing or unfinished, or the server keeps failing or sends damaged files.
        WorkspaceError: if the disk is too small, files cannot be written, or another process downloads this export.
    """
    return completed(_Fetching(folder, request, progress).run(sleep))


class _Fetching:
    def __init__(self, folder: Path, request: ExportRequest, progress: Callable[[str], None]) -> None:
        self._folder, self._request, self._progress = folder, request, progress
        self._sums: Mapping[str, str] = {}

    async def run(self, sleep: Callable[[float], Awaitable[None]]) -> FetchedExport:
        request = self._request
        async with download_session(request.policy) as session:
            if request.contact:
                session.headers["User-Agent"] = f"HelloFresh/{__version__} (operator: {request.contact})"
            transfer = Transfer(session, request.policy, sleep, self._progress, self._check)
            day = await self._find_day(transfer)
            place = self._folder / f"{request.wiki}-{day}"
            with locked(place / ".lock", what="fetching this export", code="busy"):
                return await self._fetch(transfer, day, place)

    async def _find_day(self, transfer: Transfer) -> date:
        """The requested day, or the newest, with a finished export."""
        request = self._request
        index = "" if request.day else await _text(transfer, request.url("")) or ""
        days = [request.day.isoformat()] if request.day else sorted(set(_DAY.findall(index)), reverse=True)
        for day in days[:_MOST_DAYS]:
            if await transfer.exists(request.url(day, "xml", "bzip2", "_SUCCESS")):
                return date.fromisoformat(day)
        raise SourceError(
            f"no finished export of {request.wiki}" + (f" among {', '.join(days[:_MOST_DAYS])}" if days else ""),
            where=request.url(""),
            expected="a folder YYYY-MM-DD/xml/bzip2/ with SHA256SUMS and _SUCCESS, which are written last",
            fix="Check the name of the wiki, name another day with --date, or try again in a few days.",
            code="no-export",
        )

    async def _fetch(self, transfer: Transfer, day: date, place: Path) -> FetchedExport:
        url = self._request.url(day.isoformat(), "xml", "bzip2")
        own = re.compile(rf"{self._request.wiki}-{day}-p[0-9]+(?:p[0-9]+|r[0-9]+r[0-9]+)\.xml\.bz2")
        with TemporaryDirectory() as unkept:
            new = Path(unkept) / "SHA256SUMS"
            there = await transfer.fetch(f"{url}/SHA256SUMS", new)
            self._sums = {name: digest for digest, name in (listed_sha256(new) if there else ()) if own.fullmatch(name)}
            if not self._sums:
                raise SourceError(
                    f"no file of {self._request.wiki} in the list of checksums",
                    where=f"{url}/SHA256SUMS",
                    expected=f"lines '<SHA-256>  {self._request.wiki}-{day}-p1p100.xml.bz2'",
                    code="no-export",
                )
            shutil.copyfile(new, place / new.name)
        files = [place / name for name in sorted(self._sums)]
        missing = [path for path in files if not path.is_file()]
        if missing:
            await self._require_space(transfer, url, missing, len(files))
        for path in missing:
            if not await transfer.fetch(f"{url}/{path.name}", path):
                raise SourceError(
                    "on the list of checksums, but missing", where=f"{url}/{path.name}", code="missing-file"
                )
        return FetchedExport(day, place, files, skipped=not missing)

    async def _require_space(self, transfer: Transfer, url: str, missing: Sequence[Path], count: int) -> None:
        """Report the size of the download and the free space before it starts."""
        sizes = {name: int(size) for name, size in _SIZE.findall(await _text(transfer, f"{url}/") or "")}
        for path in missing:
            if path.name in sizes:
                continue
            with suppress(aiohttp.ClientError, TimeoutError):
                async with transfer.session.head(f"{url}/{path.name}") as response:
                    if response.status == 200 and response.content_length:
                        sizes[path.name] = response.content_length
        begun = sum(part.stat().st_size for path in missing if (part := path.with_name(f"{path.name}.part")).is_file())
        needed = sum(sizes.get(path.name, 0) for path in missing) - begun
        free = shutil.disk_usage(missing[0].parent).free
        unknown = sum(path.name not in sizes for path in missing)
        more = f", and {unknown} files of unknown size" if unknown else ""
        what = f"{len(missing):,} of {count:,} files to fetch, {needed / 1e9:,.2f} GB{more}; {free / 1e9:,.2f} GB free"
        self._progress(f"{what} in {missing[0].parent}")
        if needed > free:
            raise WorkspaceError(
                what,
                where=str(missing[0].parent),
                fix="Make room, or set HELLOFRESH_DATA to another folder; then run the same command again.",
                code="disk-full",
            )

    def _check(self, path: Path, name: str) -> None:
        expected = self._sums.get(name)
        if expected is not None and (found := sha256_file(path)) != expected:
            raise SourceError(f"SHA-256 is {found}", where=name, expected=expected, code="checksum-mismatch")


async def _text(transfer: Transfer, url: str) -> str | None:
    with TemporaryDirectory() as unkept:
        target = Path(unkept) / "index.html"
        return target.read_text("utf-8", errors="replace") if await transfer.fetch(url, target) else None
