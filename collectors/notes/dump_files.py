"""The files of a dump: find the numbered shards of a table, and open one as a stream of bytes.

Published layout: https://communitynotes.x.com/guide/en/under-the-hood/download-data (`notes/notes-00000.zip`, ...);
a folder with all files side by side also works. A zip contains one TSV, which is read as a stream and never unpacked.
"""

from __future__ import annotations

import gzip
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from hellofresh.core.errors import DataError, SourceError, WorkspaceError
from hellofresh.core.files import read_model, sha256_file
from hellofresh.core.strict import Lenient
from hellofresh.releases.candidates import SourceFile

MANIFEST = "manifest.json"
UNFINISHED = ".unfinished"
"""A file in a table's folder while its shards are being downloaded."""

_PIECE = 2**20  # bytes at a time, so that a shard is never in memory whole
_LARGE = 64 * 2**20  # smaller tables cannot fill a disk, however much they shrink
_DENSEST = 200  # real tables shrink to a fifth; a table that shrinks 40 times as much is not one of notes
_BESIDE = (".part", ".part.json", ".sha256", ".md5", ".txt", ".md")


class _ListedFile(Lenient):
    name: str
    size: int | None = None


class _Manifest(Lenient):
    files: list[_ListedFile]


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """One file of a table, a TSV, plain, packed by gzip or in a zip, and its number."""

    number: int
    path: Path


def find_shards(dump: Path, stem: str, subfolder: str) -> list[Shard]:
    """The shards `<stem>-NNNNN.tsv`, `.tsv.gz` or `.zip` of a table, in order; an empty list if there are none.

    Raises:
        WorkspaceError: if the dump is not a readable folder.
        SourceError: if a number is missing or repeated, the dump's manifest names a missing file or another size of
            one, the download of the table is unfinished, or a file of the table has a form that is not read.
    """
    if (dump / subfolder / UNFINISHED).exists():
        raise SourceError(
            "not all shards have been downloaded",
            where=str(dump / subfolder),
            fix="Run the download again to finish it, or remove the folder.",
            code="unfinished-download",
        )
    pattern = re.compile(re.escape(stem) + r"-([0-9]{5})\.(?:tsv|tsv\.gz|zip)")
    folders = [folder for folder in (dump, dump / subfolder) if folder == dump or folder.is_dir()]
    files = [path for folder in folders for path in _files(folder)]
    shards = sorted(Shard(int(match[1]), path) for path in files if (match := pattern.fullmatch(path.name)))
    _refuse_other_forms([path for path in files if not pattern.fullmatch(path.name)], stem)
    for place, shard in enumerate(shards):
        if place and shards[place - 1].number == shard.number:
            both = " and ".join(str(one.path.relative_to(dump)) for one in (shards[place - 1], shard))
            what, fix = f"shard {shard.number:05d} appears twice ({both})", "Keep one of the two files."
            raise SourceError(what, where=str(dump), code="duplicate-shard", fix=fix)
        if shard.number != place:
            what = f"{stem}-{place:05d} is missing, but {shard.path.name} is there"
            fix = "Download the missing shard: without it, notes would be lost."
            raise SourceError(what, where=str(dump), code="missing-shard", fix=fix)
    paths = {shard.path.name: shard.path for shard in shards}
    for listed, size in files_by_manifest(dump, subfolder).items():
        if not pattern.fullmatch(listed):
            continue
        what, path = "", paths.get(listed)
        if path is None and Path(listed).with_suffix(".tsv").name not in paths:
            what = f"{listed} is missing, which {MANIFEST} names"
        elif path is not None and size not in (None, path.stat().st_size):
            what = f"{listed} has {path.stat().st_size:,} bytes, but {size:,} in {MANIFEST}"
        if what:
            fix = "Download it again: without it, notes would be lost."
            raise SourceError(what, where=str(dump), code="missing-shard", fix=fix)
    return shards


def _refuse_other_forms(files: Iterable[Path], stem: str) -> None:
    """Refuse files that hold rows of a table in a form that is not read: they would be lost in silence."""
    pattern = re.compile(re.escape(stem) + r"(?:-[0-9]+)?\.[A-Za-z0-9.]+")
    others = [path for path in files if pattern.fullmatch(path.name) and not path.name.endswith(_BESIDE)]
    if others:
        raise SourceError(
            f"{others[0].name} is an unsupported form of the table",
            where=str(others[0].parent),
            expected=f"{stem}-00000.tsv, {stem}-00000.tsv.gz or {stem}-00000.zip, numbered from 0",
            fix="Unpack or convert it to tab-separated text, or move it away if its rows are in another file.",
            code="unknown-form",
        )


def files_by_manifest(dump: Path, subfolder: str) -> dict[str, int | None]:
    """The files of a table in the dump's manifest, with their sizes; empty without a manifest of this project."""
    try:
        found = read_model(dump / MANIFEST, _Manifest)
    except (DataError, OSError):
        return {}
    places = ((Path(item.name), item.size) for item in found.files)
    return {place.name: size for place, size in places if place.parent.name == subfolder}


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise WorkspaceError(
            f"cannot read the dump's folder: {error.strerror or error}",
            where=str(folder),
            expected="a folder with notes-00000.tsv or notes-00000.zip and the other tables of the dump",
            code="unreadable-dump",
        ) from error


@contextmanager
def open_shard(shard: Shard) -> Iterator[BinaryIO]:
    """Open the shard's TSV for reading bytes from its beginning to its end.

    Raises:
        SourceError: if the file is not a zip with exactly one TSV, is truncated, or cannot be read.
    """
    with _refusing_damage(shard.path.name):
        if shard.path.suffix == ".gz":
            with gzip.open(shard.path) as packed:
                yield cast(BinaryIO, packed)
            return
        if shard.path.suffix != ".zip":
            with shard.path.open("rb") as file:
                yield file
            return
        with zipfile.ZipFile(shard.path) as archive, archive.open(_member(shard.path.name, archive)) as member:
            yield cast(BinaryIO, member)


def check_zip(path: Path, name: str) -> None:
    """Read a zip with one TSV to its end to verify its checksum; messages use `name`.

    Raises:
        SourceError: if it is incomplete, or not a zip with exactly one TSV.
    """
    with _refusing_damage(name), zipfile.ZipFile(path) as archive, archive.open(_member(name, archive)) as member:
        while member.read(_PIECE):
            pass


@contextmanager
def _refusing_damage(name: str) -> Iterator[None]:
    try:
        yield
    except (
        zipfile.BadZipFile,
        gzip.BadGzipFile,
        EOFError,
        zlib.error,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise SourceError(
            f"not a complete, plain {'gzip' if name.endswith('.gz') else 'zip'} file ({error})",
            where=name,
            code="bad-zip",
            fix="Download it again.",
        ) from error
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", where=name, code="unreadable-file") from error


def _member(name: str, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    # A Mac adds a file `__MACOSX/._NAME` about each file.
    listed = [entry for entry in archive.infolist() if not entry.filename.rpartition("/")[2].startswith("._")]
    tables = [entry for entry in listed if not entry.is_dir() and entry.filename.endswith(".tsv")]
    if len(tables) != 1:
        raise SourceError(
            f"{len(tables) or 'no'} TSV files inside",
            where=name,
            expected="exactly one",
            code="zip-without-one-tsv",
            fix="Download it again, or put the TSV itself in the folder.",
        )
    table = tables[0]
    if table.file_size > max(_LARGE, _DENSEST * table.compress_size):
        raise SourceError(
            f"the TSV inside would be {table.file_size / max(table.compress_size, 1):.0f} times its compressed size",
            where=name,
            expected=f"at most {_DENSEST} times",
            code="zip-bomb",
            fix="Do not unpack it; download the dump from its source.",
        )
    return table


def source_files(paths: Iterable[Path], known: Mapping[Path, SourceFile]) -> list[SourceFile]:
    """Size and SHA-256 of files, sorted by name; files in `known` are not read again.

    Raises:
        SourceError: if one cannot be read.
    """
    found = []
    for path in paths:
        try:
            found.append(known.get(path) or SourceFile(path.name, path.stat().st_size, sha256_file(path)))
        except OSError as error:
            raise SourceError(
                f"cannot be read: {error.strerror or error}", where=str(path), code="unreadable-file"
            ) from error
    return sorted(found, key=lambda item: (item.name, item.sha256))
