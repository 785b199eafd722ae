"""Parquet tables of samples: the same columns for every quarter of a task, with or without texts."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import polars as pl

from hellofresh.core.parquet import write_parquet
from hellofresh.tasks import Task
from hellofresh.tasks.outputs import Ranking

__all__ = ["Column", "answer_columns", "columns_of", "write_table"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        name: as in the samples.
        kind: `string`, `int64`, `date32`, or `strings` for a list of texts; empty for a group of columns.
        parts: the columns of a group.
        many: whether each cell is a list of such groups.
        classes: of a column of labels, what each label means.
    """

    name: str
    kind: str
    parts: tuple[Column, ...] = ()
    many: bool = False
    classes: tuple[str, ...] = ()


_JUDGED = Column("relevance", "", (Column("document", "string"), Column("relevance", "int64")), many=True)
_KINDS = {str: "string", datetime: "string", int: "int64"}
_DTYPES: Mapping[str, type[pl.DataType]] = {"string": pl.String, "int64": pl.Int64}


def columns_of(task: Task) -> tuple[Column, ...]:
    """The columns of a task's samples; with and without texts they are the same, empty where they do not apply."""
    whole = _columns(task.sample_type)
    return whole if task.public_type is None else _united(whole, _columns(task.public_type))


def answer_columns(task: Task) -> tuple[Column, ...]:
    """What is added once labels are public: the label, or judged documents; nothing where responses are rated."""
    if task.classes:
        return (Column("label", "int64", classes=task.classes),)
    return (_JUDGED,) if task.output is Ranking else ()


def _columns(kind: type) -> tuple[Column, ...]:
    hints = get_type_hints(kind)
    return tuple(_column(item.name, hints[item.name]) for item in fields(kind))


def _column(name: str, kind: Any) -> Column:
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(arg for arg in get_args(kind) if arg is not type(None))
    if get_origin(kind) is Literal:
        return Column(name, "string")
    if get_origin(kind) is tuple and get_args(kind) == (str, ...):
        return Column(name, "strings")
    if get_origin(kind) is tuple and is_dataclass(get_args(kind)[0]):
        return Column(name, "", _columns(get_args(kind)[0]), many=True)
    if is_dataclass(kind) and isinstance(kind, type):
        return Column(name, "", _columns(kind))
    return Column(name, _KINDS[kind])


def _united(first: tuple[Column, ...], second: tuple[Column, ...]) -> tuple[Column, ...]:
    others = {column.name: column for column in second}
    both = [
        replace(mine, parts=_united(mine.parts, others[mine.name].parts)) if mine.name in others else mine
        for mine in first
    ]
    known = {column.name for column in first}
    return (*both, *(column for column in second if column.name not in known))


def write_table(path: Path, columns: Iterable[Column], rows: Iterable[Mapping[str, object]]) -> int:
    """Write rows in their order; returns how many. The same rows give the same bytes."""
    frame = pl.DataFrame(list(rows), schema={column.name: _dtype(column) for column in columns})
    write_parquet(path, frame, statistics=False)
    return frame.height


def _dtype(column: Column) -> pl.DataType:
    if column.parts:
        group = pl.Struct([pl.Field(part.name, _dtype(part)) for part in column.parts])
        return pl.List(group) if column.many else group
    return pl.List(pl.String) if column.kind == "strings" else _DTYPES[column.kind]()
