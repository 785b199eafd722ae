"""A folder that is replaced as a whole, and only if an earlier copy of the site is all that it holds."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from hellofresh.core.errors import DataError, WorkspaceError, unwritable
from hellofresh.core.files import read_json, read_model, sha256_file, sweep_leftovers, temporary_prefix, write_json

MARKER = "hellofresh-export.json"
"""Lists the files of a copy."""

_FORMAT = "hellofresh static copy 1"
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, order=True)
class CopyFile:
    """A file of a copy; its path starts at the copy's folder."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class CopyListing:
    """What a copy holds.

    Attributes:
        code: the version of the code that built the board.
        board: the board's fingerprint.
        files: in the order of their paths.
    """

    code: str
    board: str
    files: tuple[CopyFile, ...]

    def write(self, folder: Path) -> None:
        """Write the list into the copy."""
        write_json(folder / MARKER, {"format": _FORMAT, **asdict(self)})

    def is_whole(self, folder: Path) -> bool:
        """Whether all files are there as they were written."""
        paths = ((folder / one.path, one.sha256) for one in self.files)
        return all(path.is_file() and sha256_file(path) == stated for path, stated in paths)


def earlier_copy(folder: Path) -> CopyListing | None:
    """What an earlier copy in the folder holds; None where nothing is.

    Raises:
        WorkspaceError: if anything is there that no copy put there (`foreign-folder`), or if the command runs in the
            folder (`folder-in-use`).
    """
    if Path.cwd().is_relative_to(folder):
        raise WorkspaceError(
            "this folder would be replaced while the command runs in it",
            where=str(folder),
            fix="Name another folder, or run the command from elsewhere.",
            code="folder-in-use",
        )
    if not folder.is_dir():
        if folder.exists():
            raise _foreign(folder, "a file stands there")
        return None
    # Links to folders are not followed: they count as files.
    found = {
        (Path(place) / name).relative_to(folder).as_posix()
        for place, folders, names in os.walk(folder)
        for name in (*names, *(name for name in folders if (Path(place) / name).is_symlink()))
    }
    if not found:
        return None
    listed = read_listing(folder)
    known = {MARKER, *(one.path for one in listed.files)}
    others = sorted(found - known)
    if others:
        more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
        raise _foreign(folder, f"it holds what no export wrote: {', '.join(others[:_MOST_NAMED])}{more}")
    return listed


def read_listing(folder: Path) -> CopyListing:
    """What the copy in a folder lists.

    Raises:
        WorkspaceError: if there is none (`foreign-folder`).
    """
    if not (folder / MARKER).is_file():
        raise _foreign(folder, f"it is not empty and has no {MARKER}")
    try:
        if read_json(folder / MARKER).get("format") != _FORMAT:
            raise _foreign(folder, f"its {MARKER} has another format")
        return read_model(folder / MARKER, CopyListing)
    except DataError as error:
        raise _foreign(folder, f"its {MARKER} cannot be read") from error


def _foreign(folder: Path, what: str) -> WorkspaceError:
    return WorkspaceError(
        f"not replaced: {what}",
        where=str(folder),
        expected="a new or empty folder, or an earlier export",
        fix="Name another folder, or move away what is in it.",
        code="foreign-folder",
    )


@contextmanager
def written_beside(folder: Path) -> Iterator[Path]:
    """An empty folder beside `folder`, for `put_in_place`; what is left of it in the end is taken away.

    Raises:
        WorkspaceError: if nothing can be written there.
    """
    new = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        sweep_leftovers(folder.parent, deep=False)
        new = Path(tempfile.mkdtemp(prefix=temporary_prefix(folder.name), dir=folder.parent))
        yield new
    except OSError as error:
        raise unwritable(folder, error, instead="name a folder that can be renamed") from error
    finally:
        if new is not None:
            shutil.rmtree(new, ignore_errors=True)


def put_in_place(new: Path, folder: Path, *, mode: int = 0o755) -> None:
    """Let the new folder take the place of the old one, which comes back if that fails; `mode` is who may read it.

    Raises:
        WorkspaceError: as `earlier_copy`, if something came into the folder meanwhile.
        OSError: if a folder cannot be renamed.
    """
    earlier_copy(folder)
    new.chmod(mode)
    if not folder.exists():
        new.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=temporary_prefix(folder.name), dir=folder.parent))
    folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)
