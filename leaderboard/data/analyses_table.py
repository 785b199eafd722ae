"""The board's analyses: what each asks, its notes, its table and its figure, read and checked like the other tables.

`analyses/<quarter>/<task>/index.json` below the board's folder lists them; a table or figure is read when it is asked
for, and counts only if it is the one that the board's manifest names.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hellofresh.board.manifest import damaged, read_board_manifest
from leaderboard.data.tables import Split

__all__ = ["ORDER", "BoardAnalysis", "load_analyses"]

ORDER = (
    "ranking", "temporal-consistency", "search-gain", "placebo", "deployment", "precision-recall", "prompt-sensitivity",
    "contamination", "votes", "slices", "agreement", "calibration", "silence", "cost",
)  # fmt: skip
"""The analyses that this site knows, as a reader wants them; others come after, by name."""

_Text = Annotated[str, Field(max_length=20_000)]
_ENDINGS = ("parquet", "points.parquet", "svg")
_KINDS = (pl.String, pl.Boolean)


class _Described(BaseModel):
    """One analysis in the index."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern="^[a-z][a-z0-9-]{0,60}$")]
    title: _Text
    question: _Text
    how_to_read: _Text
    notes: list[_Text]
    missing: _Text
    bundled: bool
    systems: list[_Text]
    row_count: Annotated[int, Field(ge=0)]
    files: list[str]


class _Index(BaseModel):
    """What was made of one quarter and task."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    quarter: str
    task: str
    analyses: list[_Described]


@dataclass(frozen=True, slots=True)
class BoardAnalysis:
    """One analysis of a split as the board has it.

    Attributes:
        name: as on the command line.
        title, question, how_to_read, notes: for readers; notes may hold names that others chose.
        missing: why there is no figure; empty where there is one.
        bundled: whether the quarter is of the bundled sample.
        systems: how many it is about.
        rows: of the table.
    """

    name: str
    title: str
    question: str
    how_to_read: str
    notes: tuple[str, ...]
    missing: str
    bundled: bool
    systems: int
    rows: int
    _folder: Path = field(repr=False)
    _stated: Mapping[str, str] = field(repr=False)

    def table(self) -> pl.DataFrame:
        """The findings; without columns where there are none.

        Raises:
            DataError: if the file is missing or not the one that the manifest names (`damaged-board`).
        """
        table = self._read("parquet")
        if table.height != self.rows:
            raise damaged(self._folder / f"{self.name}.parquet", "the table is not the one that its index describes")
        return table

    def points(self) -> pl.DataFrame:
        """What the figure shows and the table does not hold; without columns where there is no such thing.

        Raises:
            DataError: as `table`.
        """
        return self._read("points.parquet")

    def svg(self) -> bytes:
        """The figure; empty where there is none.

        Raises:
            DataError: as `table`.
        """
        path = self._folder / f"{self.name}.svg"
        return _verified(path, self._stated) if path.name in self._stated else b""

    def _read(self, ending: str) -> pl.DataFrame:
        path = self._folder / f"{self.name}.{ending}"
        if path.name not in self._stated:
            return pl.DataFrame()
        content = _verified(path, self._stated)
        try:
            table = pl.read_parquet(io.BytesIO(content))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise damaged(path, "the file cannot be read as Parquet") from error
        if not all(kind in _KINDS or kind.is_numeric() for kind in table.dtypes):
            raise damaged(path, "a column holds neither texts nor numbers")
        return table


def load_analyses(board: Path) -> dict[Split, tuple[BoardAnalysis, ...]]:
    """All analyses of a board by split, in the order in which a reader wants them; tables and figures are read later.

    Raises:
        DataError: if there is no board (`no-board`), or an index is not what the manifest says (`damaged-board`).
    """
    stated = read_board_manifest(board).hashes
    folders: dict[tuple[str, ...], dict[str, str]] = {}
    for place, sha256 in sorted(stated.items()):
        *folder, name = place.split("/")
        folders.setdefault(tuple(folder), {})[name] = sha256
    return {
        Split(folder[1], folder[2]): _read_index(board.joinpath(*folder, "index.json"), Split(*folder[1:]), inside)
        for folder, inside in folders.items()
        if len(folder) == 3 and folder[0] == "analyses" and "index.json" in inside and ".." not in folder
    }


def _read_index(path: Path, split: Split, stated: Mapping[str, str]) -> tuple[BoardAnalysis, ...]:
    try:
        index = _Index.model_validate_json(_verified(path, stated))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise damaged(path, f"{where}: {first['msg'].lower()}") from None
    names = [one.name for one in index.analyses]
    if Split(index.quarter, index.task) != split or len(set(names)) < len(names):
        raise damaged(path, "it lists the analyses of something else")
    for one in index.analyses:
        if not set(one.files) <= {f"{one.name}.{ending}" for ending in _ENDINGS} & stated.keys():
            raise damaged(path, f"the files of {one.name} are not those that the board's manifest names")
    order = {name: number for number, name in enumerate(ORDER)}
    ordered = sorted(index.analyses, key=lambda one: (order.get(one.name, len(order)), one.name))
    return tuple(
        BoardAnalysis(
            name=one.name, title=one.title, question=one.question, how_to_read=one.how_to_read,
            notes=tuple(one.notes), missing=one.missing, bundled=one.bundled, systems=len(one.systems),
            rows=one.row_count, _folder=path.parent, _stated={name: stated[name] for name in one.files},
        )
        for one in ordered
    )  # fmt: skip


def _verified(path: Path, stated: Mapping[str, str]) -> bytes:
    """A file's bytes, which are those that the manifest names."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise damaged(path, "the file is missing or cannot be read") from error
    if hashlib.sha256(content).hexdigest() != stated[path.name]:
        raise damaged(path, "the file is not the one that the board's manifest names")
    return content
