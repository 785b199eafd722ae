"""The board's manifest: its files with their hashes. It is written last and read first.

A table is valid only if it matches the manifest's hash and its schema's columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Literal, TypeVar

import polars as pl
from pydantic import NonNegativeInt, ValidationError

from hellofresh.core.errors import DataError
from hellofresh.core.files import BadJsonError, model_fault, remove_file, sha256_file, strict_json, write_json
from hellofresh.core.intake import Intake
from hellofresh.core.parquet import BadTableError
from hellofresh.core.strict import SiteSettings, Strict
from hellofresh.results.board.schema import added_tables, all_tables

FORMAT: Literal[1] = 1
"""The only supported format."""
RELEASED = "released"
"""The folder of copies of released files, below the board's."""
_MANIFEST = "manifest.json"


class BoardFile(Strict):
    """A file: its place below the board's folder, size in bytes, SHA-256, and rows if it is a table."""

    path: str
    size: NonNegativeInt
    sha256: str
    rows: NonNegativeInt | None = None


class BoardManifest(Strict):
    """The manifest of a board.

    Attributes:
        format: of the board.
        code: what wrote it.
        quarters: those that are scored, in order.
        files: its tables.
        analyses: files of analyses.
        released: copies of released files, for visitors to take away.
        addresses: where the project lives.
        private: whether it is the maintainers' own, with the figures of quarters that are not revealed.
        ledgers: what became of the rows of scores and of judgements.
    """

    format: Literal[1]
    code: str
    quarters: tuple[str, ...]
    files: tuple[BoardFile, ...]
    analyses: tuple[BoardFile, ...]
    released: tuple[BoardFile, ...] = ()
    addresses: SiteSettings = SiteSettings()
    private: bool = False
    ledgers: tuple[Intake, ...] = ()

    @property
    def rows(self) -> Mapping[str, int]:
        """Rows of each table, by its place."""
        return {entry.path: entry.rows or 0 for entry in self.files}

    @property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of each file, by its place."""
        return {entry.path: entry.sha256 for entry in (*self.files, *self.analyses, *self.released)}

    def write(self, folder: Path, mode: int) -> Path:
        """Write it into the board's folder, from which tables and copies go that only an earlier board had."""
        path, kept = folder / _MANIFEST, {folder / name for name in self.hashes}
        copied = ((folder / name).rglob("*") for name in ("analyses", RELEASED))
        for other in chain(folder.glob("*.parquet"), *copied):
            if other.is_file() and other not in kept:
                remove_file(other)
        write_json(path, self.model_dump(mode="json", exclude_defaults=True), mode=mode)
        return path


def describe_file(folder: Path, path: Path, rows: int | None = None) -> BoardFile:
    """The manifest's entry for a file."""
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
        raise DataError(
            "there is no board yet", where=str(folder), fix="Run: hellofresh release run", code="no-board"
        ) from None
    except BadJsonError as error:
        raise damaged(path, f"not JSON ({error})") from None
    if isinstance(said, dict) and said.get("format") != FORMAT:
        raise damaged(path, f"a board of format {str(said.get('format', 'none'))[:40]}, expected {FORMAT}")
    try:
        return BoardManifest.model_validate_json(content)
    except ValidationError as error:
        raise damaged(path, f"it does not list the board's files ({model_fault(error)})") from None


def damaged(path: Path, what: str) -> DataError:
    """The error for a damaged file of the board."""
    return DataError(
        what,
        where=str(path),
        fix="Run: hellofresh release run (if it is running now, reload this page when it has finished).",
        code="damaged-board",
    )


Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


@dataclass(frozen=True, slots=True)
class BoardFiles:
    """A board's folder and manifest."""

    folder: Path
    manifest: BoardManifest = field(repr=False)

    @classmethod
    def at(cls, folder: Path) -> BoardFiles:
        """Read the manifest.

        Raises:
            DataError: if there is no board (`no-board`), or its manifest is damaged (`damaged-board`).
        """
        return cls(folder, read_board_manifest(folder))

    def read(self, name: str) -> pl.DataFrame:
        """A whole table.

        Raises:
            DataError: if it is missing, or not what the manifest and its schema say (`damaged-board`).
        """
        return self._verified(name, all_tables()[name].read, all_tables()[name].schema.to_frame())

    def scan(self, name: str) -> pl.LazyFrame:
        """Like `read`, but lazy, for large tables.

        Raises:
            DataError: as `read`.
        """
        return self._verified(name, all_tables()[name].scan, all_tables()[name].schema.to_frame().lazy())

    def _verified(self, name: str, opened: Callable[[Path], Frame], empty: Frame) -> Frame:
        path = self.folder / f"{name}.parquet"
        if name in added_tables() and path.name not in self.manifest.hashes:  # built without the package that adds it
            return empty
        if not path.is_file():
            raise damaged(path, "the file is missing")
        if sha256_file(path) != self.manifest.hashes.get(path.name):
            raise damaged(path, "the file differs from the one in the board's manifest")
        try:
            return opened(path)
        except BadTableError as error:
            raise damaged(path, str(error)) from error
