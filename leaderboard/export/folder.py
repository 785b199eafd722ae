"""A folder that is replaced as a whole, and only if it contains nothing but an earlier copy of the site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from hellofresh.core.errors import DataError, WorkspaceError
from hellofresh.core.files import read_json, read_model, write_json
from hellofresh.core.folders import ListedFile, foreign_files

MARKER = "hellofresh-export.json"
"""Lists the files of a copy."""

_FORMAT = "hellofresh static copy 1"
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class CopyListing:
    """The contents of a copy.

    Attributes:
        code: the version of the code that built the board.
        board: the board's fingerprint.
        files: in the order of their paths.
        releases: SHA-256 of commitments and labels of the releases from real sources, by path: what never changes.
    """

    code: str
    board: str
    files: tuple[ListedFile, ...]
    releases: Mapping[str, str] = field(default_factory=dict)

    def refuse_other_releases(self, now: Mapping[str, str], folder: Path) -> None:
        """Raise WorkspaceError if a board lacks a release that this copy was made of, or has another draw of it."""
        other = sorted(path for path, sha256 in self.releases.items() if now.get(path) != sha256)
        if other:
            raise WorkspaceError(
                f"the copy there was made from other releases: {', '.join(other[:_MOST_NAMED])}",
                where=str(folder),
                expected="the same commitments and labels for what was shown before",
                fix="If this workspace came from a backup: hellofresh quarter restore --from TARGET. Else name another "
                "folder.",
                code="other-publication",
            )

    def write(self, folder: Path) -> None:
        """Write the list into the copy."""
        write_json(folder / MARKER, {"format": _FORMAT, **asdict(self)})

    def is_whole(self, folder: Path) -> bool:
        """Whether all files exist as they were written."""
        return all(one.is_in(folder) for one in self.files)


def earlier_copy(folder: Path) -> CopyListing | None:
    """The contents of an earlier copy in the folder; None if the folder is empty or missing.

    Raises:
        WorkspaceError: if there are files of other origin (`foreign-folder`), or if the command runs in the
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
            raise _foreign(folder, "a file is in its place")
        return None
    if not foreign_files(folder, ()):
        return None
    listed = read_listing(folder)
    if others := foreign_files(folder, {MARKER, *(one.path for one in listed.files)}):
        more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
        raise _foreign(folder, f"it holds files that no export wrote: {', '.join(others[:_MOST_NAMED])}{more}")
    return listed


def read_listing(folder: Path) -> CopyListing:
    """The list of the copy in a folder.

    Raises:
        WorkspaceError: if there is no list (`foreign-folder`).
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
