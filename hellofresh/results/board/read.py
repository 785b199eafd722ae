"""The board's tables, read: a file counts only if it is the one that the board's manifest names, with its columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import polars as pl

from hellofresh.core.files import sha256_file
from hellofresh.core.parquet import BadTableError
from hellofresh.results.board.manifest import BoardManifest, damaged, read_board_manifest
from hellofresh.results.board.schema import TABLES

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
        return self._verified(name, TABLES[name].read)

    def scan(self, name: str) -> pl.LazyFrame:
        """Like `read`, but what is asked of the table is read when it is asked: for large ones.

        Raises:
            DataError: as `read`.
        """
        return self._verified(name, TABLES[name].scan)

    def _verified(self, name: str, opened: Callable[[Path], Frame]) -> Frame:
        path = self.folder / f"{name}.parquet"
        if not path.is_file():
            raise damaged(path, "the file is missing")
        if sha256_file(path) != self.manifest.hashes.get(path.name):
            raise damaged(path, "the file is not the one that the board's manifest names")
        try:
            return opened(path)
        except BadTableError as error:
            raise damaged(path, str(error)) from error
