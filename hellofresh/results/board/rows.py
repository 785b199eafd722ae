"""The board's tables as they are made, part by part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import polars as pl

from hellofresh.results.board.schema import TABLES

__all__ = ["BoardRows"]


@dataclass(frozen=True, slots=True)
class BoardRows:
    """Rows by table; parts are kept as frames, which take less memory than their rows."""

    _frames: dict[str, list[pl.DataFrame]] = field(default_factory=lambda: defaultdict(list))

    def add(self, table: str, keys: Mapping[str, str | bool], rows: Iterable[object]) -> None:
        """Rows of the table's dataclass."""
        self._frames[table].append(TABLES[table].frame(rows, **keys))

    def add_frame(self, table: str, keys: Mapping[str, str | bool], frame: pl.DataFrame) -> None:
        """Rows that are in a frame already, with all of the table's columns but these keys."""
        schema = TABLES[table].schema
        whole = frame.with_columns(pl.lit(value, schema[name]).alias(name) for name, value in keys.items())
        self._frames[table].append(whole.select(schema.names()))

    def tables(self) -> dict[str, pl.DataFrame]:
        """Every table, empty ones too."""
        return {name: pl.concat([table.schema.to_frame(), *self._frames[name]]) for name, table in TABLES.items()}
