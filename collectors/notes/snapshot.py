"""Download of a snapshot of the public dump: choice of the day and the shards, and a manifest of the files.

Layout: `<base>/YYYY/MM/DD/<table>/<stem>-NNNNN.zip`, shards numbered from 0 (see
https://communitynotes.x.com/guide/en/under-the-hood/download-data). The source keeps about a week, and a snapshot is
cumulative: one a month is what a quarter needs later.

The manifest holds hashes, which remain valid as long as a file is the very one that was hashed: same name,
size and time of last change of its inode. Writing to a file, replacing it, or unpacking it from an archive sets that
time, and no program can choose it, so a manifest that came with a dump from elsewhere is not trusted.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated

from pydantic import Strict

from collectors.notes.dump_files import MANIFEST, UNFINISHED, check_zip
from collectors.notes.tables import ENROLLMENT, HISTORY, NOTES, RATINGS, REQUESTS, DumpTable
from hellofresh.core.errors import DataError, SourceError, UsageError, unwritable
from hellofresh.core.executors import completed
from hellofresh.core.files import read_model, sha256_file, write_json
from hellofresh.core.net.lock import locked
from hellofresh.core.net.transfer import DownloadPolicy, Transfer, download_session
from hellofresh.releases.candidates import SourceFile

PUBLIC_URL = "https://ton.twimg.com/birdwatch-public-data"
_DAYS_BACK = 14  # dumps were 7 to 9 days late in August 2024 and in December 2025
# shards are asked for until one is missing; a server that answers every number must not go on for ever
_MOST_SHARDS = 10_000
_LONGEST_HEAD = 2_000  # bytes; a shorter file may have a head and no rows
_LEAST_KEPT = 0.99  # of a table's bytes in an earlier dump
_SPARE_BYTES = 2**12  # bytes by which packing alone may differ
_OPTIONAL = (ENROLLMENT, REQUESTS)
_URL = re.compile(r"https?://[^\s?#]+")


@dataclass(frozen=True, slots=True)
class DumpRequest:
    """What to fetch.

    Attributes:
        day: of the dump; None for the newest one of today and the 14 days before.
        ratings: fetch the ratings too, about 11 GB.
        accept_partial: accept tables that are smaller than in an earlier dump.
        policy: when to give up.
    """

    day: date | None = None
    ratings: bool = False
    base_url: str = PUBLIC_URL
    policy: DownloadPolicy = field(default_factory=DownloadPolicy)
    accept_partial: bool = False

    def __post_init__(self) -> None:
        if not _URL.fullmatch(self.base_url):
            raise UsageError("no URL", where=f"base_url {self.base_url!r}", expected="http(s)://...", code="bad-url")

    @property
    def tables(self) -> tuple[DumpTable, ...]:
        """The tables, required ones first."""
        return (NOTES, HISTORY, *((RATINGS,) if self.ratings else ()), *_OPTIONAL)

    def url(self, day: date, table: DumpTable, number: int) -> str:
        """Where a shard is."""
        return f"{self.base_url.rstrip('/')}/{day:%Y/%m/%d}/{table.subfolder}/{_name(table, number)}"


@dataclass(frozen=True, slots=True)
class DumpSnapshot:
    """A dump on disk, in the published subfolders, with its manifest; file names are paths in the folder."""

    day: date
    folder: Path
    files: Sequence[SourceFile]
    skipped: bool


def download(
    folder: Path,
    request: DumpRequest,
    *,
    today: date,
    progress: Callable[[str], None],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> DumpSnapshot:
    """Download a dump into `folder/<day>`; existing files are kept.

    Args:
        folder: contains a folder for each day.
        request: which dump and tables.
        today: the day to walk back from (UTC).

    Raises:
        SourceError: if the dump is missing, or the server keeps failing or sends damaged files.
        WorkspaceError: if files cannot be written, or another process is downloading this dump.
    """
    if request.day is not None and (whole := _whole(folder, request.day, request)):
        return whole
    return completed(_download(folder, request, today, progress, sleep))


async def _download(
    folder: Path,
    request: DumpRequest,
    today: date,
    progress: Callable[[str], None],
    sleep: Callable[[float], Awaitable[None]],
) -> DumpSnapshot:
    policy = request.policy
    async with download_session(policy) as session:
        transfer = Transfer(session, policy, sleep, progress, check_zip)
        day = await _find_day(transfer, request, today)
        if whole := _whole(folder, day, request):
            return whole
        place = folder / day.isoformat()
        with locked(place / ".lock", what="fetching this dump", code="busy"):
            for table in request.tables:
                await _fetch_table(transfer, request, day, place, table)
            if not request.accept_partial:
                _refuse_smaller(folder, request, day)
            manifest = write_manifest(place, day, request.base_url, progress)
            return DumpSnapshot(day, place, manifest.files, skipped=False)


async def _find_day(transfer: Transfer, request: DumpRequest, today: date) -> date:
    """The newest day on which all required tables have at least one shard."""
    days = [request.day] if request.day else [today - timedelta(days=back) for back in range(_DAYS_BACK + 1)]
    needed = [table for table in request.tables if table not in _OPTIONAL]
    for day in days:
        transfer.progress(f"looking for the dump of {day}")
        for table in needed:
            if not await transfer.exists(request.url(day, table, 0)):
                break
        else:
            if request.day is None:
                transfer.progress(f"the newest dump is of {day}, {(today - day).days} days old")
            return day
    raise SourceError(
        f"no complete dump of {days[0]}" + (f" nor of the {_DAYS_BACK} days before" if len(days) > 1 else ""),
        where=request.base_url,
        expected=" and ".join(_name(table, 0) for table in needed),
        fix="The source keeps its dumps for a few days only: name one of them with --date, or try again tomorrow.",
        code="no-dump",
    )


async def _fetch_table(transfer: Transfer, request: DumpRequest, day: date, place: Path, table: DumpTable) -> None:
    """Download all shards of a table; a mark in its folder shows that some may be missing."""
    mark = place / table.subfolder / UNFINISHED
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
        for number in range(_MOST_SHARDS):
            target = mark.parent / _name(table, number)
            if target.is_file() or await transfer.fetch(request.url(day, table, number), target):
                if number and _is_same(target, mark.parent / _name(table, number - 1)):
                    target.unlink()  # a server that answers every number would be asked up to the last one
                    where = request.url(day, table, number)
                    raise SourceError("the same file as the one before it", where=where, code="no-progress")
                continue
            if await transfer.exists(request.url(day, table, number + 1)):
                raise SourceError(
                    f"{target.name} is missing, but the next one is there",
                    where=request.url(day, table, number),
                    fix="Without it rows would be lost: run the same command again later.",
                    code="missing-shard",
                )
            if not number and table not in _OPTIONAL:
                raise SourceError(f"no {table.title}", where=request.url(day, table, 0), code="missing-table")
            break
        mark.unlink()
    except OSError as error:
        raise unwritable(mark.parent, error) from error


def _is_same(one: Path, other: Path) -> bool:
    """Whether two files hold the same rows; tables without rows may be equal."""
    size = one.stat().st_size
    return size > _LONGEST_HEAD and size == other.stat().st_size and sha256_file(one) == sha256_file(other)


def _refuse_smaller(folder: Path, request: DumpRequest, day: date) -> None:
    """Dumps are cumulative, so a table over 1% smaller than in the dump before lacks a shard."""
    before = newest_snapshot(folder, request.base_url, before=day)
    manifest = None if before is None else read_manifest(before)
    if manifest is None:
        return
    for table in request.tables:
        place = folder / day.isoformat() / table.subfolder
        sizes = [item.size for item in manifest.files if Path(item.name).parent.name == table.subfolder]
        size = sum(path.stat().st_size for path in place.glob(f"{table.stem}-*.zip"))
        if size + _SPARE_BYTES < _LEAST_KEPT * sum(sizes):
            raise SourceError(
                f"the {table.title} have {size:,} bytes, but {sum(sizes):,} in the dump of {manifest.date}",
                where=str(place),
                expected="no less than before: the source lacks a shard",
                fix="Run the same command again later. If the table has really shrunk, pass --accept-partial.",
                code="missing-shard",
            )


def _whole(folder: Path, day: date, request: DumpRequest) -> DumpSnapshot | None:
    """The snapshot of the day, if it has a manifest, covers the request, and every file has its size."""
    place = folder / day.isoformat()
    manifest = read_manifest(place)
    if manifest is None or (request.ratings and not manifest.ratings):
        return None
    try:
        same = all((place / item.name).stat().st_size == item.size for item in manifest.files)
    except OSError:
        return None
    return DumpSnapshot(day, place, manifest.files, skipped=True) if same else None


def _name(table: DumpTable, number: int) -> str:
    return f"{table.stem}-{number:05d}.zip"


@dataclass(frozen=True, slots=True)
class SnapshotManifest:
    """The contents of a snapshot, as its file lists them.

    Attributes:
        date: the day of the dump.
        base_url: where it was downloaded from.
        ratings: whether the ratings are among the files.
        files: every file with size and SHA-256; names are paths in the folder.
        changed_ns: time of the last change of each file's inode (ns since 1970), by name; missing in earlier versions.
    """

    date: str
    base_url: str
    ratings: bool
    files: list[SourceFile]
    changed_ns: Mapping[str, Annotated[int, Strict()]] = field(default_factory=dict)


def write_manifest(place: Path, day: date, base_url: str, progress: Callable[[str], None]) -> SnapshotManifest:
    """Hash every finished file in the folder's subfolders and write the manifest, which marks the snapshot as whole."""
    files: list[SourceFile] = []
    changed: dict[str, int] = {}
    tables = (path for path in place.glob("*/*") if path.suffix in {".zip", ".tsv"})
    for path in sorted(path for path in tables if not (path.parent / UNFINISHED).exists()):
        progress(f"hashing {path.name}")
        status = path.stat()  # before hashing, so that a later change is detected
        files.append(SourceFile(path.relative_to(place).as_posix(), status.st_size, sha256_file(path)))
        changed[files[-1].name] = status.st_ctime_ns
    ratings = any(item.name.startswith(f"{RATINGS.subfolder}/") for item in files)
    manifest = SnapshotManifest(day.isoformat(), base_url, ratings, files, changed)
    write_json(place / MANIFEST, asdict(manifest))
    return manifest


def read_manifest(place: Path) -> SnapshotManifest | None:
    """The folder's manifest, or None if it is missing or from another program."""
    try:
        return read_model(place / MANIFEST, SnapshotManifest)
    except (DataError, OSError):
        return None


def newest_snapshot(folder: Path, base_url: str, *, before: date = date.max) -> Path | None:
    """The newest complete snapshot from this address and before a day; folders are named by their days."""
    days = sorted(path for path in folder.glob("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]") if path.is_dir())
    days = [path for path in days if path.name < before.isoformat()]
    for place in reversed(days):
        manifest = read_manifest(place)
        if manifest is not None and manifest.base_url.rstrip("/") == base_url.rstrip("/"):
            return place
    return None


def known_hashes(place: Path) -> Mapping[Path, SourceFile]:
    """Hashes of files unchanged since the manifest was written, by path, with the files' own names."""
    manifest = read_manifest(place)
    known: dict[Path, SourceFile] = {}
    if manifest is None:
        return known
    for item in manifest.files:
        path = place / item.name
        try:
            status = path.stat()
        except (OSError, ValueError):
            continue
        if (status.st_size, status.st_ctime_ns) == (item.size, manifest.changed_ns.get(item.name)):
            known[path] = SourceFile(path.name, item.size, item.sha256)
    return known
