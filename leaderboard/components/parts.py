"""Interactive parts of a page: tables of values with filters, charts, files, the form of Submit.

These are values, not drawings: the app passes them to Streamlit's own widgets, and caches them. The static
copy shows HTML in their place, which the page makes beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from hellofresh.core.texts import disarmed
from leaderboard.components.markup import DASH, Html, visible
from leaderboard.components.tables import Row, Value, scrolled, table

ALL = ""
"""The choice of a filter that keeps all rows, unless it has marks."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A choice that filters a table.

    Attributes:
        name: of the parameter in the address.
        title: as readers see it.
        options: values with their titles; the first is the default.
        marks: by value, a character for each row of the table, `1` to keep the row; other values keep all rows.
    """

    name: str
    title: str
    options: Mapping[str, str]
    marks: Mapping[str, str]

    @classmethod
    def of(cls, title: str, values: Sequence[str], every: str) -> Filter:
        """A filter by the values of a column.

        Args:
            title: of the column.
            values: of its rows.
            every: title of the choice of all rows.
        """
        found = {value: visible(value, 60) for value in sorted({*values} - {ALL})}
        marks = {value: "".join(str(int(one == value)) for one in values) for value in found}
        return cls(title.lower(), title, {ALL: every} | found, marks)


@dataclass(frozen=True, slots=True)
class DataColumn:
    """A column of values.

    Attributes:
        title: its name.
        values: a number, a text or None for each row; texts are sanitised here.
        number_format: printf format of numbers; empty for texts and whole numbers.
        help: explanation.
        shown: whether it is visible by default.
        pinned: whether it stays in place while others are scrolled.
    """

    title: str
    values: Sequence[Value]
    number_format: str = ""
    help: str = ""
    shown: bool = True
    pinned: bool = False

    def series(self) -> pl.Series:
        """The values for display and download, sanitised: no text hides, reorders, or is a spreadsheet formula."""
        shown = [disarmed(visible(one, 160)) if isinstance(one, str) else one for one in self.values]
        return pl.Series(self.title, shown, strict=False)


@dataclass(frozen=True, slots=True)
class ChartPart:
    """A chart with a tooltip for each mark.

    Attributes:
        title: for screen readers.
        spec: Vega-Lite, without data.
        values: columns of values; for a table's chart, with as many rows as the table.
    """

    title: str
    spec: Mapping[str, Any]
    values: Mapping[str, Sequence[Value]]


@dataclass(frozen=True)
class DataTable:
    """A table that can be sorted, searched, filtered and downloaded, and whose rows can be ticked.

    Attributes:
        title: of the table.
        columns: of the same length.
        keys: the identifier of each row in an address.
        picks: parameters of the address for ticked rows, as many as may be ticked.
        picked: keys of the rows ticked by default.
        find: the label of the search; empty without a search.
        texts: searched texts, one a row.
        filters: of its rows.
        charts: of its rows, filtered with them.
    """

    title: str
    columns: Sequence[DataColumn]
    keys: Sequence[str] = ()
    picks: Sequence[str] = ()
    picked: Sequence[str] = ()
    find: str = ""
    texts: Sequence[str] = ()
    filters: Sequence[Filter] = ()
    charts: Sequence[ChartPart] = ()

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All rows for display, made once for all visitors."""
        return pl.DataFrame([column.series() for column in self.columns])


def drawn_table(data: DataTable) -> Html:
    """The visible columns of a table of values as HTML, for the copy."""
    shown = [column for column in data.columns if column.shown]
    columns = [("name" if one.pinned else "number" if one.number_format else "text", one.title) for one in shown]
    columns[:1] = [("rank", "#")] if columns[0][1] == "#" else columns[:1]
    rows = zip(*([_said(one, value) for value in one.series()] for one in shown), strict=True)
    return scrolled(table(data.title, columns, rows, "hf-standings"))


def _said(column: DataColumn, value: Value) -> str:
    if value is None or not column.number_format:
        return DASH if value is None else str(value)
    text = f"{value:.1%}" if column.number_format == "percent" else column.number_format % value
    return text.replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True, slots=True)
class File:
    """A download: its name, and its content or path."""

    name: str
    content: bytes | Path


@dataclass(frozen=True, slots=True)
class Offer:
    """Rows to download as files of this name, in several formats."""

    name: str
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class UploadForm:
    """The form that checks and submits predictions."""


@dataclass(frozen=True, slots=True)
class RankingPart:
    """A ranking in tabs: as a picture, as a table of values, and what else belongs to it.

    Attributes:
        draw: the picture, given whether each row of the table is shown.
        table: the same rows as values, with their search and filters.
        tabs: further tabs, by title.
    """

    draw: Callable[[Sequence[bool]], Html]
    table: DataTable
    tabs: Mapping[str, Sequence[Part]]


@dataclass(frozen=True, slots=True)
class TwoColumns:
    """Parts beside each other: the first column is the wider one; one below the other on a phone."""

    wide: Sequence[Part]
    narrow: Sequence[Part]


@dataclass(frozen=True, slots=True)
class GuessPart:
    """Samples on which visitors guess what people decided.

    Attributes:
        classes: what each label means, as on a button.
        samples: each as HTML, with its label and what is said after an answer.
        best: the name of the best system, and whether it was right on each sample; None if unknown.
    """

    classes: Sequence[str]
    samples: Sequence[tuple[Html, int, Html]]
    best: tuple[str, Sequence[bool]] | None = None


@dataclass(frozen=True, slots=True)
class TableForm:
    """The form that compares the systems of a visitor's table."""


@dataclass(frozen=True, slots=True)
class Chooser:
    """The boxes of task and edition."""


Handled = DataTable | ChartPart | File | Offer | UploadForm | TableForm | RankingPart | TwoColumns | GuessPart | Chooser
Part = Html | str | Handled
