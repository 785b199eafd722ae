"""Types of figures (charts with axes and series, marks as rows of a table) and of stored analyses.

Texts in marks may be names that others chose. They are values of data and of scales' domains, never part of a
specification's language.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
from pydantic import Field, ValidationError

from hellofresh.core.errors import DataError
from hellofresh.core.strict import Strict

_MOST_NAMED = 20  # a caption of more names is not read; the table has all
ORDER = (
    "ranking", "temporal-consistency", "search-gain", "placebo", "deployment", "precision-recall", "prompt-sensitivity",
    "contamination", "text-alone", "memory", "known-when", "votes", "intercepts", "difficulty", "robustness", "slices",
    "subgroups", "category-gains", "agreement", "calibration", "certainty", "silence", "parsing", "cost",
)  # fmt: skip
"""The analyses of this package as a reader wants them; those of other packages come after, by name."""
_Text = Annotated[str, Field(max_length=20_000)]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a chart.

    Attributes:
        title: what is measured.
        low, high: its ends, None where the data decide.
        whole: whether values are whole numbers.
        zero: whether a dashed line stands at 0.
        digits: after the point, in tooltips.
        ticks: about how many; None for as many as the width of the page allows.
        intervals: whether marks have 95% intervals along it, which its title then says.
    """

    title: str
    low: float | None = None
    high: float | None = None
    whole: bool = False
    zero: bool = False
    digits: int = 3
    ticks: int | None = None
    intervals: bool = True

    def text(self, value: float) -> str:
        """A value as a tooltip shows it."""
        if math.isnan(value):
            return "unknown"
        return f"{value:.0f}" if self.whole else f"{value:.{self.digits}f}".replace("-", "\N{MINUS SIGN}")

    @classmethod
    def share(cls, title: str, marks: Sequence[Mark], *, ticks: int | None = None) -> Axis:
        """An axis from 0 to 1, less what no interval reaches, so that several charts have the same."""
        ends = [end for mark in marks for end in (mark.low, mark.high, mark.value) if math.isfinite(end)]
        low, high = (math.floor(10 * min(ends)) / 10, math.ceil(10 * max(ends)) / 10) if ends else (0.0, 1.0)
        return cls(title, max(0.0, low), min(1.0, max(high, low + 0.1)), ticks=ticks)


@dataclass(frozen=True, slots=True)
class Series:
    """The kinds of marks that differ in colour and shape.

    Attributes:
        title: what they are.
        names: those that come first, in order; others follow as marks have them.
    """

    title: str = ""
    names: tuple[str, ...] = ()

    def among(self, marks: Iterable[Mark]) -> list[str]:
        """The names that marks have, in order: colour and shape follow from the place."""
        found = first_of_each(mark.series for mark in marks)
        return [*(name for name in self.names if name in found), *(name for name in found if name not in self.names)]


@dataclass(frozen=True, slots=True)
class Mark:
    """A value with its interval; what is not known is nan.

    Attributes:
        who: the system that it is about, by which figures show some systems and not others.
        row: the row that it stands in, or, in curves and scatters, whose it is.
        series: what decides its colour and shape.
        value, low, high: on the axis of values.
        n: samples, None where not known.
        at: the place on the other axis, for curves, regions and scatters.
        more: what else the tooltip tells.
        panel: the chart that it stands in; in figures with a chart a system its title and, in a second line, more.
        other: the second system of a pair.
        width, height, angle: of the ellipse around it; degrees are counted from the horizontal axis.
    """

    who: str
    series: str
    value: float
    low: float = math.nan
    high: float = math.nan
    n: int | None = None
    at: str | float | None = None
    more: str = ""
    row: str = ""
    panel: str = ""
    other: str = ""
    width: float = math.nan
    height: float = math.nan
    angle: float = math.nan


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of a figure.

    Attributes:
        kind: `intervals`: values with their intervals, a row a name from the top down; `curves`: values over places, a
            curve a series; `regions`: points with ellipses in the unit square of recall and precision; `pairs`: a
            square of pairs, each with its number; `scatter`: values against amounts on a logarithmic axis.
        across, up: horizontal and vertical axis; intervals and pairs need the first alone.
        series: what differs in colour.
        panel: its title, and the `panel` of its marks.
        side_by_side: whether intervals of several series in one row stand side by side, or all in its middle.
        places: names on the horizontal axis of curves, in order; without any it has numbers from 0 to 1, the diagonal
            is drawn, and dots are as large as samples are many.
        marked: places at which a dotted line stands.
    """

    kind: Literal["intervals", "curves", "regions", "pairs", "scatter"]
    across: Axis
    up: Axis | None = None
    series: Series = Series()
    panel: str = ""
    side_by_side: bool = True
    places: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()

    @property
    def values(self) -> Axis:
        """The axis of the marks' values."""
        return self.up or self.across


@dataclass(frozen=True, slots=True)
class Figure:
    """The charts of an analysis.

    Attributes:
        charts: in order; charts without marks are left out.
        systems: whom it can show, those that it should show first.
        most: how many of them it shows unless others are chosen.
        columns: how many charts stand side by side where there is room.
        by_system: whether its only chart is repeated for each system.
        one_key: whether all charts share the first one's series, and one legend.
    """

    charts: tuple[Chart, ...]
    systems: tuple[str, ...]
    most: int = 12
    columns: int = 1
    by_system: bool = False
    one_key: bool = False

    @property
    def leading(self) -> tuple[str, ...]:
        """The systems that it shows unless others are chosen."""
        return self.systems[: self.most]

    @property
    def narrow_columns(self) -> int:
        """How many charts are side by side on a narrow screen: two of those that name neither rows nor places."""
        return 2 if self.by_system and self.charts[0].kind != "intervals" and not self.charts[0].places else 1

    @property
    def left_out(self) -> str:
        """A sentence about the others; empty without any."""
        rest = self.systems[self.most :]
        if not rest:
            return ""
        more = ", ..." if len(rest) > _MOST_NAMED else ""
        return f"The figure shows {self.most} systems; the table also has {', '.join(rest[:_MOST_NAMED])}{more}."


def first_of_each(names: Iterable[str]) -> list[str]:
    """The distinct names in order of first occurrence."""
    return list(dict.fromkeys(names))


def points_of(marks: Sequence[Mark]) -> pl.DataFrame:
    """Marks as a table; places are all texts or all numbers."""
    texts = {"who", "series", "more", "row", "panel", "other"}
    texts |= {"at"} if any(isinstance(mark.at, str) for mark in marks) else set()
    kinds = {name: pl.String if name in texts else pl.Float64 for name in Mark.__dataclass_fields__} | {"n": pl.Int64}
    return pl.DataFrame([asdict(mark) for mark in marks], schema=kinds)


def marks_of(points: pl.DataFrame, systems: Sequence[str]) -> list[Mark]:
    """The marks of these systems, in the order of the systems; of pairs those of which both are among them."""
    place = {name: number for number, name in enumerate(systems)}
    both = pl.col("who").is_in(list(place)) & (pl.col("other").is_in(["", *place]))
    marks = [Mark(**row) for row in points.filter(both).iter_rows(named=True)]
    return sorted(marks, key=lambda mark: place[mark.who])


class AnalysisText(Strict):
    """The parts of an analysis that readers see.

    Attributes:
        name: as on the command line and in file names.
        title, question, how_to_read, notes: for readers; notes may hold names that others chose.
        missing: why the figure is missing; empty where it is there.
        bundled: whether the quarter is of the bundled sample.
        systems: whom it is about.
        row_count: of the table.
        figure: how it is drawn from its points; None without a figure.
    """

    name: Annotated[str, Field(pattern="^[a-z][a-z0-9-]{0,60}$")]
    title: _Text
    question: _Text
    how_to_read: _Text
    notes: list[_Text]
    missing: _Text
    bundled: bool
    systems: list[_Text]
    row_count: Annotated[int, Field(ge=0)]
    figure: Figure | None


class AnalysisRecord(AnalysisText):
    """The whole of an analysis: `<name>.json`."""

    edition: str
    task: str
    columns: list[str]
    rows: list[dict[str, str | int | float | bool | None]]


class IndexedAnalysis(AnalysisText):
    """An analysis on the board, and the files that are there of it."""

    files: list[str]


class AnalysisIndex(Strict):
    """The analyses of one quarter and task on the board."""

    edition: str
    task: str
    analyses: list[IndexedAnalysis]


def read_record(path: Path) -> AnalysisRecord:
    """An analysis as it was written.

    Raises:
        DataError: if the file is missing or is of another shape (`bad-analysis`).
    """
    try:
        return AnalysisRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        first = error.errors(include_url=False)[0] if isinstance(error, ValidationError) else None
        where = ".".join(str(part) for part in first["loc"]) if first else "the file"
        raise DataError(
            f"{where}: {first['msg'].lower() if first else 'cannot be read'}",
            where=str(path),
            expected="an analysis as this version writes it",
            fix="Recompute the analyses: hellofresh analyse all",
            code="bad-analysis",
        ) from None
