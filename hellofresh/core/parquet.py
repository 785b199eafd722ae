"""Parquet tables, each declared once by the type of its rows and written atomically.

Only a field that may be None becomes a column that may have empty cells.
"""

from __future__ import annotations

import os
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_type_hints

import polars as pl

from hellofresh.core.files import atomic_path

_PROBE = 2**20  # polars hides the system's error: this much would fail on a full disk too
_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")
_TYPES: Mapping[object, pl.DataType] = {
    str: pl.String(), int: pl.Int64(), float: pl.Float64(), bool: pl.Boolean(),
    tuple[str, ...]: pl.List(pl.String), tuple[int, ...]: pl.List(pl.Int64), tuple[float, ...]: pl.List(pl.Float64),
}  # fmt: skip
_WORDS = {pl.String: "text", pl.Int64: "whole numbers", pl.Float64: "numbers", pl.Boolean: "true or false",
          pl.List: "lists"}  # fmt: skip

Row = TypeVar("Row")
_ENDS = ("", "_low", "_high")


class BadTableError(ValueError):
    """A file that does not match the declared table, with the reason."""


class Estimate(NamedTuple):
    """A number and the limits of its interval, None if unknown; field `x` is the columns `x`, `x_low` and `x_high`."""

    value: float
    low: float | None
    high: float | None


class _Column(NamedTuple):
    kind: object
    sparse: bool


def _column(hint: object) -> _Column:
    if isinstance(hint, types.UnionType):
        (kind,) = (part for part in get_args(hint) if part is not types.NoneType)
        return _Column(kind, sparse=True)
    return _Column(hint, sparse=False)


@dataclass(frozen=True, slots=True, eq=False)
class Table(Generic[Row]):
    """The columns of a table.

    Attributes:
        row: the type of its rows, a dataclass or a model of pydantic; fields are text, whole numbers, numbers, truth
            values, tuples of text or of numbers, or an `Estimate`.
        keys: columns before the row's, without empty cells.
    """

    row: type[Row]
    keys: Mapping[str, type] = field(default_factory=dict)
    _fields: Mapping[str, _Column] = field(init=False, repr=False)
    _columns: Mapping[str, _Column] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        hints = get_type_hints(self.row)
        # Types other than dataclasses are models of pydantic, which this module does not import.
        names = [one.name for one in fields(self.row)] if is_dataclass(self.row) else self.row.model_fields  # type: ignore[attr-defined]
        own = {name: _column(hints[name]) for name in names}
        columns: dict[str, _Column] = {}
        for name, column in own.items():
            estimated = dict.fromkeys((f"{name}{end}" for end in _ENDS), column._replace(kind=float))
            columns |= estimated if column.kind is Estimate else {name: column}
        object.__setattr__(self, "_fields", own)
        object.__setattr__(self, "_columns", columns)

    @property
    def _estimates(self) -> list[str]:
        return [name for name, column in self._fields.items() if column.kind is Estimate]

    @property
    def schema(self) -> pl.Schema:
        """All columns."""
        kinds = {**self.keys, **{name: column.kind for name, column in self._columns.items()}}
        return pl.Schema({name: _TYPES[kind] for name, kind in kinds.items()})

    def frame(self, rows: Iterable[Row], **keys: str | bool) -> pl.DataFrame:
        """Rows as a table; `keys` are the same for all of them."""
        columns: dict[str, list[Any]] = {name: [] for name in self._fields}
        for row in rows:
            for name, values in columns.items():
                values.append(getattr(row, name))
        for name in self._estimates:
            found = [item or (None,) * len(_ENDS) for item in columns.pop(name)]
            columns |= {f"{name}{end}": [item[place] for item in found] for place, end in enumerate(_ENDS)}
        schema = self.schema
        frame = pl.DataFrame(columns, schema={name: schema[name] for name in columns})
        return frame.select(*(pl.lit(keys[name], schema[name]).alias(name) for name in self.keys), *self._columns)

    def rows(self, frame: pl.DataFrame) -> list[Row]:
        """The rows of a table; other columns, such as keys, are left out."""
        columns: list[list[Any]] = []
        for name in self._fields:
            values = frame[name].to_list()
            if name in self._estimates:
                ends = zip(values, *(frame[f"{name}{end}"].to_list() for end in _ENDS[1:]), strict=True)
                values = [None if item[0] is None else Estimate(*item) for item in ends]
            if isinstance(frame[name].dtype, pl.List):
                values = [None if value is None else tuple(value) for value in values]
            columns.append(values)
        if not is_dataclass(self.row) or any(one.kw_only for one in fields(self.row)):
            return [self.row(**dict(zip(self._fields, values, strict=True))) for values in zip(*columns, strict=True)]
        return list(map(self.row, *columns))

    def scan(self, path: Path) -> pl.LazyFrame:
        """A lazy frame of a file's columns, checked against the declaration now and read later.

        Raises:
            BadTableError: if it cannot be read as Parquet, or columns are missing or hold something else.
        """
        schema = self.schema
        try:
            table = pl.scan_parquet(path)
            found = table.collect_schema()
            missing = sorted(set(schema) - set(found.names()))
            sparse = {name for name, column in self._columns.items() if column.sparse} - self.keys.keys()
            full = [name for name in schema if name in found and name not in sparse]
            empty = table.select(pl.col(full).null_count()).collect(engine="streaming") if full else pl.DataFrame()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise BadTableError("the file cannot be read as Parquet") from error
        if missing:
            raise BadTableError(f"columns are missing: {', '.join(missing)}")
        for name, kind in schema.items():
            if not _holds(found[name], kind) or (name in full and empty[name].item()):
                raise BadTableError(f"the column {name} does not hold {_WORDS[type(kind)]} throughout")
        return table.select(schema.names()).cast(schema)

    def read(self, path: Path) -> pl.DataFrame:
        """A file's columns, checked against the declaration.

        Raises:
            BadTableError: as `scan`.
        """
        try:
            return self.scan(path).collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise BadTableError("the file cannot be read as Parquet") from error


def _holds(dtype: pl.DataType, kind: pl.DataType) -> bool:
    if kind == pl.Int64:
        return dtype.is_integer()
    return dtype.is_numeric() if kind == pl.Float64 else dtype == kind


def write_parquet(path: Path, table: pl.DataFrame, *, statistics: bool = True, mode: int = 0o644) -> None:
    """Write a table atomically, compressed by zstd; the same table gives the same bytes.

    Raises:
        WorkspaceError: if the file cannot be written, such as on a full disk.
    """
    with atomic_path(path, mode=mode) as temporary, _as_system_error(temporary):
        table.write_parquet(temporary, compression="zstd", statistics=statistics)


def sink_parquet(path: Path, table: pl.LazyFrame, *, rows: int | None = None, mode: int = 0o644) -> None:
    """Write a table as `write_parquet` does, in bounded memory if it comes in parts, such as several files.

    Args:
        path: of the whole table.
        table: its parts in order, as by `pl.scan_parquet`.
        rows: rows per row group; by default the choice of Polars.
        mode: of the file.

    Raises:
        WorkspaceError: if the file cannot be written, such as on a full disk.
    """
    with atomic_path(path, mode=mode) as temporary, _as_system_error(temporary):
        table.sink_parquet(temporary, compression="zstd", row_group_size=rows)


@contextmanager
def _as_system_error(path: Path) -> Iterator[None]:
    """Turn the computation error that Polars raises for a failed write into the system's error."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        failed = _SYSTEM_ERROR.search(str(error))
        if failed is None:
            with path.open("ab") as file:  # raises the system's error if the disk is full
                file.write(bytes(_PROBE))
                os.fsync(file.fileno())
            raise
        number = int(failed[1])
        raise OSError(number, os.strerror(number)) from error


@dataclass(frozen=True, slots=True)
class Footer:
    """What a Parquet file says of itself, `said`, and whether all its bytes are pages of its columns, `is_full`."""

    said: object
    is_full: bool


def read_footer(path: Path) -> Footer:
    """The footer of a Parquet file, in Thrift's compact protocol (https://parquet.apache.org/docs/file-format).

    Raises:
        ValueError, LookupError: if it is not one.
    """
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    if start < 4 or content[:4] != b"PAR1" or content[-4:] != b"PAR1":
        raise ValueError("not a Parquet file")
    footer = _Thrift(content, start)
    meta = footer.struct()
    columns = sorted((column for group in meta.pop(4) for column in group[1]), key=lambda column: _begin(column[3]))
    end: int | None = 4
    for column in columns:
        end = None if end is None else _after(content, column[3], end)
    indexes = [(column[name], column[name + 1]) for column in columns for name in (4, 6) if name in column]
    for begin, size in sorted(indexes):
        index = _Thrift(content, begin)
        end = begin + size if begin == end and index.struct() and index.place == begin + size else None
    return Footer(meta, end == start and footer.place == len(content) - 8)


def _begin(chunk: Mapping[int, int]) -> int:
    """Where a column chunk begins: with its dictionary, if it has one."""
    return min(chunk[9], chunk.get(11, chunk[9]))


def _after(content: bytes, chunk: Mapping[int, Any], begin: int) -> int | None:
    """The place after a column's pages, and a copy of what the footer says of them; None if there is more or less."""
    end: int = begin + chunk[7]
    place, values, dictionaries = begin, list[int](), 0
    while place < end:
        page = _Thrift(content, place)
        header = page.struct()
        place = page.place + header[3]
        dictionaries += header[1] == 2
        values += [] if header[1] == 2 else [(header.get(5) or header[8])[1]]
    counted = sum(values) == chunk[5] and min(values, default=1) > 0 and dictionaries == (11 in chunk)
    if begin != _begin(chunk) or place != end or not counted:
        return None
    copy = _Thrift(content, end)
    with suppress(LookupError):
        said = copy.struct()
        end = copy.place if said == chunk else end
    return end


class _Thrift:
    """A reader of structs by the numbers of their fields."""

    def __init__(self, content: bytes, place: int) -> None:
        self.content, self.place = content, place

    def struct(self) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while head := self._bytes(1)[0]:
            number = number + (head >> 4) if head >> 4 else self._whole()
            found[number] = self._value(head & 15)
        return found

    def _value(self, kind: int) -> Any:
        if kind in (1, 2):  # the kind of a field that is true or false is its value
            return kind == 1
        if kind in (9, 10):
            head = self._bytes(1)[0]
            size = self._length() if head >> 4 == 15 else head >> 4
            return [self._bytes(1) if head & 15 in (1, 2) else self._value(head & 15) for _ in range(size)]
        readers: dict[int, Callable[[], Any]] = {
            3: lambda: self._bytes(1),
            **dict.fromkeys((4, 5, 6), self._whole),
            7: lambda: self._bytes(8),
            8: lambda: self._bytes(self._length()),
            12: self.struct,
        }
        return readers[kind]()

    def _bytes(self, size: int) -> bytes:
        self.place += size
        return self.content[self.place - size : self.place]

    def _length(self) -> int:
        found = shift = 0
        while (byte := self._bytes(1)[0]) & 128:
            found, shift = found | (byte & 127) << shift, shift + 7
        return found | byte << shift

    def _whole(self) -> int:
        number = self._length()
        return (number >> 1) ^ -(number & 1)
