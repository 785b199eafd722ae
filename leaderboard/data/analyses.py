"""Analyses: question, notes, table and figure of each, read and checked like the board's other tables.

`analyses/<quarter>/<task>/index.json` in the board's folder lists them; a table or figure is read on demand,
and accepted only if it matches the board's manifest.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from hellofresh.core.files import model_fault
from hellofresh.results.board.manifest import damaged, read_board_manifest
from hellofresh.results.figures.charts import ORDER, AnalysisIndex, AnalysisText

_ENDINGS = ("parquet", "points.parquet", "svg", "narrow.svg")


@dataclass(frozen=True, slots=True)
class BoardAnalysis:
    """One analysis of a split on the board: its texts and files."""

    text: AnalysisText
    _folder: Path = field(repr=False)
    _stated: Mapping[str, str] = field(repr=False)

    def table(self) -> pl.DataFrame:
        """The findings; without columns if there are none.

        Raises:
            DataError: if the file is missing or differs from the manifest (`damaged-board`).
        """
        path, table = self._folder / f"{self.text.name}.parquet", pl.DataFrame()
        if path.name in self._stated:
            content = _verified(path, self._stated)
            try:
                table = pl.read_parquet(io.BytesIO(content))
            except (pl.exceptions.PolarsError, OSError) as error:
                raise damaged(path, "the file cannot be read as Parquet") from error
        if not all(kind in (pl.String, pl.Boolean) or kind.is_numeric() for kind in table.dtypes):
            raise damaged(path, "a column holds neither texts nor numbers")
        if table.height != self.text.row_count:
            raise damaged(path, "the table is not the one that its index describes")
        return table

    def svg(self, ending: str = "svg") -> bytes:
        """The figure; empty if absent.

        Args:
            ending: of its file: `narrow.svg` is the figure for phones.

        Raises:
            DataError: as `table`.
        """
        path = self._folder / f"{self.text.name}.{ending}"
        return _verified(path, self._stated) if path.name in self._stated else b""


def load_analyses(board: Path) -> dict[tuple[str, str], tuple[BoardAnalysis, ...]]:
    """All analyses of a board by edition and task, in reading order.

    Tables and figures are read later.

    Raises:
        DataError: if there is no board (`no-board`), or an index differs from the manifest (`damaged-board`).
    """
    stated = read_board_manifest(board).hashes
    folders: dict[tuple[str, ...], dict[str, str]] = {}
    for place, sha256 in sorted(stated.items()):
        *folder, name = place.split("/")
        folders.setdefault(tuple(folder), {})[name] = sha256
    return {
        (folder[1], folder[2]): _read_index(board.joinpath(*folder, "index.json"), folder[1:], inside)
        for folder, inside in folders.items()
        if len(folder) == 3 and folder[0] == "analyses" and "index.json" in inside and ".." not in folder
    }


def _read_index(path: Path, split: tuple[str, ...], stated: Mapping[str, str]) -> tuple[BoardAnalysis, ...]:
    try:
        index = AnalysisIndex.model_validate_json(_verified(path, stated))
    except ValidationError as error:
        raise damaged(path, model_fault(error)) from None
    names = [one.name for one in index.analyses]
    if (index.edition, index.task) != split or len(set(names)) < len(names):
        raise damaged(path, "it lists the analyses of something else")
    for one in index.analyses:
        if not set(one.files) <= {f"{one.name}.{ending}" for ending in _ENDINGS} & stated.keys():
            raise damaged(path, f"the files of {one.name} are not those that the board's manifest names")
    return _ordered(
        BoardAnalysis(one, path.parent, {name: stated[name] for name in one.files}) for one in index.analyses
    )


def _ordered(analyses: Iterable[BoardAnalysis]) -> tuple[BoardAnalysis, ...]:
    order = {name: number for number, name in enumerate(ORDER)}
    return tuple(sorted(analyses, key=lambda one: (order.get(one.text.name, len(order)), one.text.name)))


def _verified(path: Path, stated: Mapping[str, str]) -> bytes:
    """A file's bytes, verified against the manifest."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise damaged(path, "the file is missing or cannot be read") from error
    if hashlib.sha256(content).hexdigest() != stated[path.name]:
        raise damaged(path, "the file differs from the one in the board's manifest")
    return content
