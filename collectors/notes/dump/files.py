"""The files of a dump: finding the numbered shards of a table, and opening one as a stream of bytes.

Published layout: https://communitynotes.x.com/guide/en/under-the-hood/download-data (`notes/notes-00000.zip`, ...);
a folder with all files side by side does as well. A zip holds one TSV, which is read as a stream and never unpacked.
SHA-256 is taken of the very bytes that are read for their rows: no file is read twice.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from hellofresh.core.errors import SourceError, WorkspaceError
from hellofresh.releases.candidates.rows import SourceFile

UNFINISHED = ".unfinished"
"""A file in a table's folder while its shards are being downloaded."""

_PIECE = 2**20
_LARGE = 64 * 2**20
_DENSEST = 200  # real tables shrink to a fifth; a hundred times that is not a table of notes


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """One file of a table, its number, and whether the TSV is inside a zip."""

    number: int
    path: Path

    @property
    def zipped(self) -> bool:
        """True for a zip with one TSV inside."""
        return self.path.suffix == ".zip"

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.path.name


def find_shards(dump: Path, stem: str, subfolder: str) -> list[Shard]:
    """The shards `<stem>-NNNNN.tsv` or `.zip` of a table, in order; an empty list if there are none.

    Raises:
        WorkspaceError: if the dump is not a readable folder.
        SourceError: if a number is missing or there twice, or the download of the table has not ended.
    """
    if (dump / subfolder / UNFINISHED).exists():
        raise SourceError(
            "not all shards have been downloaded",
            where=str(dump / subfolder),
            fix="Run the download again to finish it, or remove the folder.",
            code="unfinished-download",
        )
    pattern = re.compile(re.escape(stem) + r"-([0-9]{5})\.(?:tsv|zip)")
    shards = sorted(
        Shard(int(match[1]), path)
        for folder in (dump, dump / subfolder)
        for path in (_files(folder) if folder == dump or folder.is_dir() else ())
        if (match := pattern.fullmatch(path.name))
    )
    for place, shard in enumerate(shards):
        if place and shards[place - 1].number == shard.number:
            raise SourceError(
                f"shard {shard.number:05d} is there twice ({shards[place - 1].path.relative_to(dump)} and "
                f"{shard.path.relative_to(dump)})",
                where=str(dump),
                code="duplicate-shard",
                fix="Keep one of the two files.",
            )
        if shard.number != place:
            raise SourceError(
                f"{stem}-{place:05d} is missing, but {shard.name} is there",
                where=str(dump),
                code="missing-shard",
                fix="Download the missing shard: without it, notes would be lost.",
            )
    return shards


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
def open_shard(shard: Shard, open_file: Callable[[Path], BinaryIO]) -> Iterator[BinaryIO]:
    """Open the shard's TSV for reading bytes from its beginning to its end.

    Args:
        shard: which.
        open_file: opens the file itself for reading.

    Raises:
        SourceError: if the file is not a zip with exactly one TSV, or breaks off, or cannot be read.
    """
    with _refusing_damage(shard.name):
        if not shard.zipped:
            with open_file(shard.path) as file:
                yield file
            return
        with (
            open_file(shard.path) as file,
            zipfile.ZipFile(file) as archive,
            archive.open(_member(shard.name, archive)) as member,
        ):
            yield cast(BinaryIO, member)


def check_zip(path: Path, name: str) -> None:
    """Read a zip with one TSV to its end, which compares its checksum.

    Args:
        path: the file.
        name: its name in messages.

    Raises:
        SourceError: if it is not whole, or no zip with exactly one TSV.
    """
    with (
        _refusing_damage(name),
        zipfile.ZipFile(path) as archive,
        archive.open(_member(name, archive)) as member,
    ):
        while member.read(_PIECE):
            pass


@contextmanager
def _refusing_damage(name: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError) as error:
        raise SourceError(
            f"not a whole, plain zip file ({error})",
            where=name,
            code="bad-zip",
            fix="Download it again.",
        ) from error
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", where=name, code="unreadable-file") from error


def _member(name: str, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    tables = [entry for entry in archive.infolist() if not entry.is_dir() and entry.filename.endswith(".tsv")]
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
            f"the TSV inside would be {table.file_size / max(table.compress_size, 1):.0f} times its packed size",
            where=name,
            expected=f"at most {_DENSEST} times",
            code="zip-bomb",
            fix="Do not unpack it; download the dump from its source.",
        )
    return table


if TYPE_CHECKING:
    from typing_extensions import Buffer


_HASHED_AT_ONCE = 2**18  # bytes that are still in the processor's cache when they are hashed
_AHEAD = 2**26


class FileHashes:
    """Hashes files while they are read, and what was not read at the end.

    Args:
        paths: the files.
        known: files whose hashes are known, by path.
    """

    def __init__(self, paths: Sequence[Path], known: Mapping[Path, SourceFile] | None = None) -> None:
        known = known or {}
        self._known = [known[path] for path in paths if path in known]
        self._begun = {path: _Hash() for path in paths if path not in known}
        self._opened: set[Path] = set()

    def open(self, path: Path) -> BinaryIO:
        """Open a file for reading; what is read in order, the first time that it is opened, is hashed on the way."""
        begun = None if path in self._opened else self._begun.get(path)
        self._opened.add(path)
        return cast(BinaryIO, io.BufferedReader(_HashedFile(path, begun), _HASHED_AT_ONCE))

    def results(self) -> list[SourceFile]:
        """Hash what has not been read of each file; sorted by name.

        Raises:
            SourceError: if one cannot be read.
        """
        found = [*self._known, *(self._finished(path, begun) for path, begun in self._begun.items())]
        return sorted(found, key=lambda item: (item.name, item.sha256))

    def _finished(self, path: Path, begun: _Hash) -> SourceFile:
        try:
            with _HashedFile(path, begun) as file:
                file.seek(begun.size)
                while file.read(_HASHED_AT_ONCE):
                    pass
        except OSError as error:
            raise SourceError(
                f"cannot be read: {error.strerror or error}", where=str(path), code="unreadable-file"
            ) from error
        return SourceFile(path.name, begun.size, begun.digest.hexdigest())


@dataclass(slots=True)
class _Hash:
    """The hash of a file's first `size` bytes."""

    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    size: int = 0


class _HashedFile(io.RawIOBase):
    """A file that hashes each byte when it is first read, as long as none before it was left out.

    The system learns what comes next, so that a disk works while rows are parsed: a dump of 0.77 GB that was not in
    its cache took 9, 10 and 45% less time in three runs on a busy machine (`benchmarks/notes_dump.py --cold`).
    """

    def __init__(self, path: Path, begun: _Hash | None) -> None:
        self._begun = begun
        self._file = path.open("rb", buffering=0)
        self._announced = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        place = self._file.tell()
        if not 0 <= self._announced - _AHEAD // 2 - place <= _AHEAD // 2:
            self._announce(place)
        piece = memoryview(buffer)[:_HASHED_AT_ONCE]
        count = self._file.readinto(piece) or 0
        if self._begun is not None and place == self._begun.size:
            self._begun.digest.update(piece[:count])
            self._begun.size += count
        return count

    def _announce(self, place: int) -> None:
        self._announced = place + _AHEAD
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._file.fileno(), place, _AHEAD, os.POSIX_FADV_WILLNEED)

    def seek(self, place: int, whence: int = io.SEEK_SET, /) -> int:
        return self._file.seek(place, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        super().close()
