"""What people handle on a page: tables of values with filters, charts, files, the form of Submit.

These are values, not drawings: the app hands them to Streamlit's own widgets, and keeps them in its cache. The static
copy draws HTML in their place, which the page makes beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from hellofresh.core.texts import disarmed
from leaderboard.components.markup import Html, visible
from leaderboard.components.tables import Row, Value

ALL = ""
"""The choice of a filter that narrows nothing, unless it has marks."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A choice that narrows a table.

    Attributes:
        name: of the parameter in the address.
        title: as readers see it.
        options: values with their titles; the first is chosen at first.
        marks: by value, a character for each row of the table, `1` where the row is kept; other values keep all rows.
    """

    name: str
    title: str
    options: Mapping[str, str]
    marks: Mapping[str, str]

    @classmethod
    def of(cls, title: str, values: Sequence[str], every: str, *, usual: tuple[str, str] | None = None) -> Filter:
        """A filter by the values of a column.

        Args:
            title: of the column.
            values: of its rows.
            every: title of the choice of all rows.
            usual: title and marks of the choice at first, if that is not all rows.
        """
        found = {value: visible(value, 60) for value in sorted({*values} - {ALL})}
        marks = {value: "".join(str(int(one == value)) for one in values) for value in found}
        first = {ALL: every} if usual is None else {ALL: usual[0], "all": every}
        return cls(title.lower(), title, first | found, marks if usual is None else {ALL: usual[1], **marks})


@dataclass(frozen=True, slots=True)
class DataColumn:
    """A column of values.

    Attributes:
        title: its name.
        values: a number, a text or None for each row; texts are made safe here.
        form: how numbers are written, as printf; empty for texts and whole numbers.
        help: what it means.
        shown: whether it is there before somebody asks for it.
        pinned: whether it stays while others are scrolled.
    """

    title: str
    values: Sequence[Value]
    form: str = ""
    help: str = ""
    shown: bool = True
    pinned: bool = False

    def series(self) -> pl.Series:
        """The values as they are shown and downloaded: no text hides, reorders, or is a formula of a spreadsheet."""
        shown = [disarmed(visible(one, 160)) if isinstance(one, str) else one for one in self.values]
        return pl.Series(self.title, shown, strict=False)


@dataclass(frozen=True, slots=True)
class ChartPart:
    """A chart with a text for each mark that the pointer is on.

    Attributes:
        title: for screen readers.
        spec: Vega-Lite, without data.
        values: columns of values; of a table's chart, of as many rows as the table.
    """

    title: str
    spec: Mapping[str, Any]
    values: Mapping[str, Sequence[Value]]


@dataclass(frozen=True)
class DataTable:
    """A table that is sorted, searched, filtered and taken away, and whose rows can be ticked.

    Attributes:
        title: what it holds.
        columns: of the same length.
        keys: what stands for each row in an address.
        picks: parameters of the address for the rows that are ticked, as many as may be.
        picked: keys of the rows that are ticked at first.
        opens: path of the page that a ticked row opens; the page itself shows more where empty.
        find: the label of the search; none where empty.
        texts: in which it searches, one a row.
        filters: choices that narrow it.
        charts: of its rows, narrowed with them.
    """

    title: str
    columns: Sequence[DataColumn]
    keys: Sequence[str] = ()
    picks: Sequence[str] = ()
    picked: Sequence[str] = ()
    opens: str = ""
    find: str = ""
    texts: Sequence[str] = ()
    filters: Sequence[Filter] = ()
    charts: Sequence[ChartPart] = ()

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All rows as they are shown, made once for all visitors."""
        return pl.DataFrame([column.series() for column in self.columns])


@dataclass(frozen=True, slots=True)
class File:
    """A file to take away: its name, and what is in it or where it lies."""

    name: str
    content: bytes | Path


@dataclass(frozen=True, slots=True)
class Offer:
    """Rows to take away as files of this name, in several formats."""

    name: str
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class UploadForm:
    """Where predictions are checked and handed in."""


Handled = DataTable | ChartPart | File | Offer | UploadForm
Part = Html | str | Handled
