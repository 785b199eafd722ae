"""Folders written atomically with a list of their files: readers see the earlier content or the new one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import NonNegativeInt

from hellofresh.core.errors import HelloFreshError, unwritable
from hellofresh.core.files import read_sealed, sha256_file, sweep_leftovers, temporary_prefix
from hellofresh.core.strict import Open


@dataclass(frozen=True, slots=True, order=True)
class ListedFile:
    """A file of a folder: its path below the folder, its size in bytes, and its SHA-256."""

    path: str
    size: int
    sha256: str

    @classmethod
    def of(cls, folder: Path, path: Path) -> ListedFile:
        return cls(path.relative_to(folder).as_posix(), path.stat().st_size, sha256_file(path))

    def is_in(self, folder: Path) -> bool:
        """Whether the folder holds the file unchanged."""
        path = folder / self.path
        return path.is_file() and sha256_file(path) == self.sha256


class FileEntry(Open):
    """A file: its place below the folder, size in bytes, SHA-256 and rows."""

    path: str
    size: NonNegativeInt
    sha256: str
    rows: NonNegativeInt

    def is_in(self, folder: Path) -> bool:
        """Whether the folder holds the file unchanged."""
        return ListedFile(self.path, self.size, self.sha256).is_in(folder)


def listed_file(
    folder: Path, name: str, *, record: str, error: type[HelloFreshError], fix: str, code: str
) -> Path | None:
    """A file of a folder, unchanged since the folder's sealed record listed it; None without a record or such a file.

    Args:
        folder: of the file and its record.
        name: name of the file.
        record: name of a file of `write_sealed` whose `files` are entries; null while they are being cleared.
        error, fix, code: of the error if the file is missing, changed or not listed.

    Raises:
        DataError: if the record is not JSON.
        HelloFreshError: of the class `error`, if the file or the record is damaged.
    """
    path = folder / name
    if not (folder / record).is_file():
        return None
    files = read_sealed(folder / record, error=error, fix=fix, code=code).get("files")
    if not isinstance(files, list):
        what = "its files are being cleared"
        raise error(what, where=str(folder), fix="Complete the takedown: repeat its command.", code=code)
    expected = {str(entry["path"]): entry["sha256"] for entry in files}.get(name)
    found = sha256_file(path) if path.is_file() else None
    if found != expected:
        what = "is missing" if found is None else "has been changed" if expected else "is not one of its files"
        said = f"{'its SHA-256' if expected else 'its absence'}, as {record} says"
        raise error(what, where=str(path), expected=said, fix=fix, code=code)
    return path if found else None


def foreign_files(folder: Path, known: Iterable[str]) -> list[str]:
    """Paths below a folder that are not among the known ones; links to folders count as files."""
    found = {
        (Path(place) / name).relative_to(folder).as_posix()
        for place, folders, names in os.walk(folder)
        for name in (*names, *(name for name in folders if (Path(place) / name).is_symlink()))
    }
    return sorted(found.difference(known))


@contextmanager
def written_beside(folder: Path) -> Iterator[Path]:
    """An empty folder beside `folder`, for `put_in_place`; whatever remains of it is deleted at the end.

    Raises:
        WorkspaceError: if nothing can be written there.
    """
    new = None
    try:
        if _before(folder).is_dir() and not folder.exists():  # a process was killed between the two renames
            _before(folder).rename(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        sweep_leftovers(folder.parent, deep=False)
        new = Path(tempfile.mkdtemp(prefix=temporary_prefix(folder.name), dir=folder.parent))
        new.chmod(0o755)
        yield new
    except OSError as error:
        raise unwritable(folder, error, instead="name another folder. The earlier content is still there") from error
    finally:
        if new is not None:
            shutil.rmtree(new, ignore_errors=True)


def put_in_place(new: Path, folder: Path) -> None:
    """Replace the existing folder, if any, by a new one; on failure the old one is restored. Raises OSError."""
    if folder.exists():
        shutil.rmtree(_before(folder), ignore_errors=True)
        folder.rename(_before(folder))
    try:
        new.rename(folder)
    except OSError:
        with suppress(OSError):
            _before(folder).rename(folder)
        raise
    shutil.rmtree(_before(folder), ignore_errors=True)


def _before(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.before")
