"""The board's manifest: which files it has, with their hashes. It is written last, and read before any of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from hellofresh.core.errors import DataError
from hellofresh.core.files import BadJsonError, sha256_file, strict_json, write_json

__all__ = [
    "FORMAT",
    "RELEASED",
    "BoardAddresses",
    "BoardFile",
    "BoardManifest",
    "damaged",
    "describe_file",
    "read_board_manifest",
]

FORMAT: Literal[1] = 1
"""The one that is written; a board of another is refused."""
RELEASED = "released"
"""The folder of copies of released files, below the board's."""
_MANIFEST = "manifest.json"


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class BoardFile(_Part):
    """A file: its place below the board's folder, size in bytes, SHA-256, and rows if it is a table."""

    path: str
    size: NonNegativeInt
    sha256: str
    rows: NonNegativeInt | None = None


class BoardAddresses(_Part):
    """Where the project lives; empty where that is not configured.

    Attributes:
        repository, issues: web addresses.
        dataset: on the Hugging Face hub, `OWNER/NAME`.
    """

    repository: str = ""
    issues: str = ""
    dataset: str = ""


class BoardManifest(_Part):
    """What a board says of itself.

    Attributes:
        format: of the board.
        code: what wrote it.
        quarters: those that are scored, in order.
        files: its tables.
        analyses: files of analyses.
        released: copies of released files, for visitors to take away.
        addresses: where the project lives.
        private: whether it is the maintainers' own, with the figures of quarters that are not revealed.
    """

    format: Literal[1]
    code: str
    quarters: tuple[str, ...]
    files: tuple[BoardFile, ...]
    analyses: tuple[BoardFile, ...]
    released: tuple[BoardFile, ...] = ()
    addresses: BoardAddresses = BoardAddresses()
    private: bool = False

    @property
    def rows(self) -> Mapping[str, int]:
        """Rows of each table, by its place."""
        return {entry.path: entry.rows or 0 for entry in self.files}

    @property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of each file, by its place."""
        return {entry.path: entry.sha256 for entry in (*self.files, *self.analyses, *self.released)}

    def write(self, folder: Path, mode: int) -> Path:
        """Write it into the board's folder."""
        path = folder / _MANIFEST
        write_json(path, self.model_dump(mode="json", exclude_defaults=True), mode=mode)
        return path


def describe_file(folder: Path, path: Path, rows: int | None = None) -> BoardFile:
    """What a board's manifest says of a file."""
    name = path.relative_to(folder).as_posix()
    return BoardFile(path=name, size=path.stat().st_size, sha256=sha256_file(path), rows=rows)


def read_board_manifest(folder: Path) -> BoardManifest:
    """The manifest of a board.

    Raises:
        DataError: if there is no board (`no-board`), or its manifest is damaged or of another format (`damaged-board`).
    """
    path = folder / _MANIFEST
    try:
        content = path.read_bytes()
        said = strict_json(content)
    except (FileNotFoundError, NotADirectoryError):
        raise DataError("there is no board yet", where=str(folder), fix="Run: make release", code="no-board") from None
    except BadJsonError as error:
        raise damaged(path, f"not JSON ({error})") from None
    if isinstance(said, dict) and said.get("format") != FORMAT:
        raise damaged(path, f"a board of format {str(said.get('format', 'none'))[:40]}, expected {FORMAT}")
    try:
        return BoardManifest.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "a value"
        raise damaged(path, f"it does not list the board's files ({field}: {first['msg'].lower()})") from None


def damaged(path: Path, what: str) -> DataError:
    """The error of a file of the board that is not what it should be."""
    return DataError(
        what,
        where=str(path),
        fix="Run: make release (if it is running now, reload this page when it has finished).",
        code="damaged-board",
    )
