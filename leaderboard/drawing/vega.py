"""Kinds of interactive figures as Vega-Lite specifications: intervals in rows, curves, regions, pairs, scatter.

Texts that others chose are values of the data and of scales' domains, never fields, expressions, formats or HTML: all
fields are named here, and what a tooltip tells is written out as text before. Colours are told apart with any colour
vision and stand out from a light and a dark ground; shapes differ too. Charts take the width that there is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hellofresh.files import Json
from leaderboard.components.markup import visible

__all__ = [
    "PALETTE", "Axis", "Cell", "Chart", "Mark", "Region", "Series", "curves", "intervals_in_rows", "pairs", "regions",
    "scatter", "shown",
]  # fmt: skip

PALETTE = ("#1673B8", "#D55E00", "#009E73", "#C566A0", "#B07D00", "#3C95C9", "#808080", "#A2564B")
"""After Okabe and Ito; what is too pale on white or too dark on black is a little darker or lighter."""
_SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right", "triangle-left")
_GREY = "#808080"
_NARROW = "windowSize()[0] < 640"
_FADED = 0.15
_BELOW = "The table below has the numbers."
_COUNTER = re.compile(r"(?:param|view)_[0-9a-f]+(?:_[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: its title, plain text, and its specification without width."""

    title: str
    spec: Json


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows.

    Attributes:
        title: what is measured.
        low, high: its ends, None where the data decide.
        whole: whether values are whole numbers.
        zero: whether a dashed line stands at 0.
        digits: after the point, in tooltips.
        ticks: about how many; None for as many as the width of the page allows.
    """

    title: str
    low: float | None = None
    high: float | None = None
    whole: bool = False
    zero: bool = False
    digits: int = 3
    ticks: int | None = None

    def encoding(self, field: str) -> Json:
        """A quantitative axis of this field."""
        scale: Json = {"zero": False, "nice": False} if self.low is not None else {"zero": self.zero}
        scale |= {} if self.low is None else {"domainMin": self.low}
        scale |= {} if self.high is None else {"domainMax": self.high}
        ticks: Json = self.ticks or {"expr": f"{_NARROW} ? 4 : 8"}
        axis: Json = {"title": self.title, "tickCount": ticks, "labelFlush": False}
        axis |= {"tickMinStep": 1, "format": "d"} if self.whole else {}
        return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}

    def text(self, value: float) -> str:
        """A value as a tooltip tells it."""
        if math.isnan(value):
            return "unknown"
        return f"{value:.0f}" if self.whole else f"{value:.{self.digits}f}".replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True, slots=True)
class Series:
    """The kinds of marks that differ in colour and shape.

    Attributes:
        title: what they are.
        names: in order; colour and shape follow from the place.
        picked: the only ones in full colour, where no legend is there to choose with; empty for all.
        legend: whether the chart has a legend, which highlights what is clicked.
    """

    title: str
    names: Sequence[str]
    picked: Sequence[str] = ()
    legend: bool = True

    @property
    def colours(self) -> list[str]:
        """By place."""
        return [PALETTE[k % len(PALETTE)] for k in range(len(self.names))]

    def colour(self) -> Json:
        """The encoding of colour."""
        return self._by_place(self.colours)

    def shape(self) -> Json:
        """The encoding of shape, which differs also where colours come again."""
        return self._by_place([_SHAPES[(k + k // len(PALETTE)) % len(_SHAPES)] for k in range(len(self.names))])

    def opacity(self) -> Json:
        """Full for what is picked."""
        if self._has_legend:
            return {"condition": {"param": "highlight", "value": 1}, "value": _FADED}
        return {"field": "strength", "type": "quantitative", "scale": None, "legend": None}

    def params(self) -> Json:
        """What makes the legend answer to clicks."""
        chosen: Json = {"name": "highlight", "select": {"type": "point", "fields": ["series"]}, "bind": "legend"}
        return {"params": [chosen]} if self._has_legend else {}

    def strength(self, name: str) -> float:
        """How strong a mark of this series is drawn, without a legend."""
        return 1.0 if not self.picked or name in self.picked else _FADED

    @property
    def _has_legend(self) -> bool:
        return self.legend and len(self.names) > 1

    def _by_place(self, values: Sequence[str]) -> Json:
        legend: Json = {
            "title": None, "orient": "bottom", "columns": {"expr": f"{_NARROW} ? 1 : 4"}, "symbolOpacity": 1,
            "labelLimit": {"expr": f"{_NARROW} ? 260 : 220"}, "symbolType": "circle", "direction": "horizontal",
        }  # fmt: skip
        scale = {"domain": [shown(name) for name in self.names], "range": list(values)}
        kept = legend if self._has_legend else None
        return {"field": "series", "type": "nominal", "scale": scale, "legend": kept, "title": self.title}


@dataclass(frozen=True, slots=True)
class Mark:
    """A value with its interval; limits are nan where there is none.

    Attributes:
        row: the row it stands in, or, in curves and scatters, whose it is.
        series: one of the series' names.
        value, low, high: on the axis of values.
        n: samples, None where not known.
        at: the place on the other axis, for curves and scatters.
        more: what else the tooltip tells.
    """

    row: str
    series: str
    value: float
    low: float
    high: float
    n: int | None = None
    at: str | float = ""
    more: str = ""


@dataclass(frozen=True, slots=True)
class Region:
    """A mark at `at` and `value` with the ellipse around it; degrees are counted from the horizontal axis."""

    mark: Mark
    width: float
    height: float
    angle: float


@dataclass(frozen=True, slots=True)
class Cell:
    """A pair in a matrix: numbers of row and column from 0, a value from 0 to 1, and what is told of it."""

    row: int
    column: int
    value: float
    more: str


def shown(text: str) -> str:
    """A text as a chart shows it: one line, nothing hidden.

    What looks like the names that Streamlit renumbers within specifications gets a space that does not show.
    """
    line = visible(text, 110)
    return f"{line}\N{NO-BREAK SPACE}" if _COUNTER.fullmatch(line) else line


def intervals_in_rows(
    title: str, described: str, marks: Sequence[Mark], axis: Axis, series: Series, *, side_by_side: bool = True
) -> Chart:
    """Values with their intervals, a row a name from the top down.

    Args:
        title, described: of the chart.
        marks: without a value only the interval is drawn, without limits only the value.
        axis: what they are.
        series: what differs in colour.
        side_by_side: whether marks of several series in one row stand side by side, or all in its middle.
    """
    rows = list(dict.fromkeys(shown(mark.row) for mark in marks))
    crowded = side_by_side and len(series.names) > 1 and len(rows) < len(marks)
    labels: Json = {
        "title": None, "labelLimit": {"expr": f"{_NARROW} ? 130 : 320"}, "ticks": False, "domain": False, "grid": False,
    }  # fmt: skip
    place: Json = {"y": {"field": "row", "type": "nominal", "scale": {"domain": rows}, "axis": labels}}
    if crowded:
        names = [shown(name) for name in series.names]
        place["yOffset"] = {"field": "series", "type": "nominal", "scale": {"domain": names}}
    looks: Json = {**place, "color": series.colour(), "opacity": series.opacity()}
    value = axis.encoding("value")
    rule: Json = {
        "mark": {"type": "rule", "strokeWidth": 2.5},
        "encoding": {**looks, "x": {**value, "field": "low"}, "x2": {"field": "high"}, "tooltip": _told(axis, series)},
        **series.params(),
    }
    point: Json = {
        "mark": {"type": "point", "filled": True, "size": 75},
        "encoding": {**looks, "x": value, "shape": series.shape(), "tooltip": _told(axis, series)},
    }
    zero: Json = {"mark": {"type": "rule", "strokeDash": [4, 3], "color": _GREY}, "encoding": {"x": {"datum": 0}}}
    height = len(rows) * (12 * len(series.names) + 14 if crowded else 30)
    layers = [rule, point, *([zero] if axis.zero else [])]
    return _chart(title, described, _values(marks, axis, series), layers, max(height, 60))


def curves(
    title: str, described: str, marks: Sequence[Mark], axes: tuple[Axis, Axis], series: Series, *, places: Sequence[str]
) -> Chart:
    """Values over places, a curve a series, with intervals.

    Args:
        title, described: of the chart.
        marks: their `at` is one of the places, or a number where there are no places.
        axes: horizontal and vertical.
        series: the curves.
        places: names on the horizontal axis, in order; empty for numbers from 0 to 1, with the diagonal and dots as
            large as samples are many.
    """
    across, up = axes
    names = [shown(name) for name in series.names]
    looks: Json = {"color": series.colour(), "opacity": series.opacity(), "y": up.encoding("value")}
    if places:
        labels: Json = {"title": across.title, "labelAngle": 0, "labelOverlap": True, "grid": False}
        looks["x"] = {"field": "at", "type": "ordinal", "scale": {"domain": list(places)}, "axis": labels}
        if len(names) > 1:
            looks["xOffset"] = {"field": "series", "type": "nominal", "scale": {"domain": names, "paddingOuter": 1}}
    else:
        looks["x"] = across.encoding("at")
    told = _told(up, series)
    rule_y: Json = {"y": {**up.encoding("value"), "field": "low"}, "y2": {"field": "high"}}
    layers: list[Json] = [
        {"mark": {"type": "rule", "strokeWidth": 1.5}, "encoding": {**looks, **rule_y, "tooltip": told}},
        {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": looks},
        {"mark": {"type": "point", "filled": True, "size": 45},
         "encoding": {**looks, **_sized(by_count=not places), "shape": series.shape(), "tooltip": told}},
    ]  # fmt: skip
    diagonal: Json = {
        "data": {"values": [{"at": 0, "value": 0}, {"at": 1, "value": 1}]},
        "mark": {"type": "line", "strokeDash": [4, 3], "color": _GREY, "strokeWidth": 1},
        "encoding": {"x": across.encoding("at"), "y": up.encoding("value")},
    }
    extra = [] if places else [diagonal]
    return _chart(title, described, _values(marks, up, series), layers, 170 if places else 220, beside=extra)


def regions(title: str, described: str, found: Sequence[Region], axes: tuple[Axis, Axis], series: Series) -> Chart:
    """Points with their ellipses in the unit square of recall and precision, over lines of equal F1."""
    across, up = axes
    looks: Json = {"color": series.colour(), "opacity": series.opacity()}
    outline: Json = {
        "data": {"values": [row for one in found for row in _outline(one, series)]},
        "mark": {"type": "line", "interpolate": "linear-closed", "strokeWidth": 1, "fillOpacity": 0.12, "clip": True},
        "encoding": {
            **looks, "fill": {**series.colour(), "legend": None}, "x": across.encoding("at"), "y": up.encoding("value"),
            "order": {"field": "order", "type": "quantitative"},
        },
    }  # fmt: skip
    point: Json = {
        "mark": {"type": "point", "filled": True, "size": 60},
        "encoding": {**looks, "x": across.encoding("at"), "y": up.encoding("value"), "shape": series.shape(),
                     "tooltip": _told(up, series)},
    }  # fmt: skip
    equal: Json = {
        "data": {"values": _equal_f1()},
        "mark": {"type": "line", "strokeDash": [2, 3], "strokeWidth": 0.8, "color": _GREY, "clip": True},
        "encoding": {"x": across.encoding("at"), "y": up.encoding("value"),
                     "detail": {"field": "f1", "type": "quantitative"}},
    }  # fmt: skip
    values = _values([one.mark for one in found], up, series)
    return _chart(title, described, values, [point], 240, beside=[equal, outline])


def pairs(title: str, described: str, cells: Sequence[Cell], names: Sequence[str], axis: Axis) -> Chart:
    """A square of pairs, each with its number; its columns are the rows' numbers, counted from 1."""
    size = len(names)
    labels = [f"{number}  {shown(name)}" for number, name in enumerate(names, start=1)]
    values = [
        {"row": labels[cell.row], "column": cell.column + 1, "value": cell.value, "text": f"{cell.value:.2f}",
         "first": shown(names[cell.row]),
         "second": shown(names[cell.column]), "told": axis.text(cell.value), "more": cell.more}
        for cell in cells
    ]  # fmt: skip
    narrow: Json = {"title": None, "labelLimit": {"expr": f"{_NARROW} ? 130 : 320"}, "ticks": False, "domain": False}
    place: Json = {
        "y": {"field": "row", "type": "nominal", "scale": {"domain": labels}, "axis": narrow},
        "x": {"field": "column", "type": "ordinal", "scale": {"domain": list(range(1, size + 1))},
              "axis": {"title": "number of the system, as at the left", "labelAngle": 0, "ticks": False,
                       "domain": False}},
        "tooltip": [_field("first", "system"), _field("second", "and"), _field("told", axis.title),
                    _field("more", "more")],
    }  # fmt: skip
    gradient: Json = {"title": axis.title, "orient": "bottom", "gradientLength": {"expr": f"{_NARROW} ? 200 : 300"}}
    colour: Json = {
        "field": "value", "type": "quantitative", "legend": gradient,
        "scale": {"scheme": "cividis", "domain": [axis.low, axis.high], "clamp": True},
    }  # fmt: skip
    ink: Json = {"condition": {"test": "datum.value < 0.5", "value": "#ffffff"}, "value": "#000000"}
    font = {"expr": f"width / {size} < 34 ? 0 : 11"}
    layers: list[Json] = [
        {"mark": {"type": "rect"}, "encoding": {**place, "color": colour}},
        {"mark": {"type": "text", "fontSize": font}, "encoding": {**place, "color": ink,
                                                                  "text": {"field": "text", "type": "nominal"}}},
    ]  # fmt: skip
    return _chart(title, described, values, layers, max(34 * size, 80))


def scatter(title: str, described: str, marks: Sequence[Mark], axes: tuple[Axis, Axis], series: Series) -> Chart:
    """Values with intervals against amounts on a logarithmic axis; an amount of 0 has its place beside it."""
    across, up = axes
    amounts = [float(mark.at) for mark in marks]
    paid = [amount for amount in amounts if amount > 0]
    scale: Json = {"type": "linear", "domain": [0, 1]}
    if paid and min(amounts) > 0:
        scale = {"type": "log", "nice": True}
    elif paid:
        scale = {"type": "symlog", "constant": min(paid), "nice": True}
    horizontal: Json = {
        "field": "at", "type": "quantitative", "scale": scale,
        "axis": {"title": across.title, "format": "~g", "tickCount": {"expr": f"{_NARROW} ? 3 : 6"},
                 "labelOverlap": True},
    }  # fmt: skip
    looks: Json = {"x": horizontal, "color": series.colour(), "opacity": series.opacity()}
    told = [*_told(up, series), _field("amount", across.title)]
    layers: list[Json] = [
        {"mark": {"type": "rule", "strokeWidth": 2}, **series.params(),
         "encoding": {**looks, "y": {**up.encoding("value"), "field": "low"}, "y2": {"field": "high"},
                      "tooltip": told}},
        {"mark": {"type": "point", "filled": True, "size": 90},
         "encoding": {**looks, "y": up.encoding("value"), "shape": series.shape(), "tooltip": told}},
    ]  # fmt: skip
    values = _values(marks, up, series)
    for row, amount in zip(values, amounts, strict=True):
        row["amount"] = f"{amount:,.4g}"
    return _chart(title, described, values, layers, 340)


def _chart(
    title: str, described: str, values: Json, layers: Sequence[Json], height: int, *, beside: Sequence[Json] = ()
) -> Chart:
    """The data stand below the top level, where Streamlit leaves them as they are."""
    spec = {
        "description": visible(" ".join(part for part in (described, title, _BELOW) if part), 400),
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": [*beside, {"data": {"values": values}, "layer": list(layers)}],
        "config": {"view": {"stroke": None}, "axis": {"labelFontSize": 12, "titleFontSize": 12},
                   "legend": {"labelFontSize": 12}},
    }  # fmt: skip
    return Chart(title, spec)


def _values(marks: Sequence[Mark], axis: Axis, series: Series) -> list[Json]:
    return [
        {
            "row": shown(mark.row), "series": shown(mark.series), "at": mark.at, "value": _known(mark.value),
            "low": _known(mark.low), "high": _known(mark.high), "told": axis.text(mark.value),
            "limits": f"{axis.text(mark.low)} to {axis.text(mark.high)}" if mark.low == mark.low else "none",
            "count": mark.n or 0, "n": "unknown" if mark.n is None else f"{mark.n:,}", "more": shown(mark.more),
            "strength": series.strength(mark.series),
        }
        for mark in marks
    ]  # fmt: skip


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _told(axis: Axis, series: Series) -> list[Json]:
    """The lines of a tooltip."""
    named = [] if len(series.names) < 2 and not series.title else [_field("series", series.title)]
    return [
        _field("row", "row"), *named, _field("told", axis.title), _field("limits", "95% interval"),
        _field("n", "samples"), _field("more", "more"),
    ]  # fmt: skip


def _sized(*, by_count: bool) -> Json:
    """The encoding of a dot's size, where it is the number of samples."""
    scale = {"range": [20, 160], "zero": True}
    sized: Json = {"field": "count", "type": "quantitative", "scale": scale, "legend": None}
    return {"size": sized} if by_count else {}


def _field(name: str, title: str) -> Json:
    return {"field": name, "type": "nominal", "title": title}


def _outline(region: Region, series: Series) -> list[Json]:
    turn, mark = math.radians(region.angle), region.mark
    rows: list[Json] = []
    for step in range(48):
        around = 2 * math.pi * step / 48
        x, y = region.width / 2 * math.cos(around), region.height / 2 * math.sin(around)
        rows.append({
            "at": float(mark.at) + x * math.cos(turn) - y * math.sin(turn),
            "value": mark.value + x * math.sin(turn) + y * math.cos(turn),
            "series": shown(mark.series), "order": step, "strength": series.strength(mark.series),
        })  # fmt: skip
    return rows


def _equal_f1() -> list[Json]:
    """Points of equal F1 in the square of recall and precision."""
    rows: list[Json] = []
    for f1 in (0.2, 0.4, 0.6, 0.8):
        for step in range(51):
            recall = f1 / (2 - f1) + (1 - f1 / (2 - f1)) * step / 50
            rows.append({"f1": f1, "at": recall, "value": f1 * recall / (2 * recall - f1)})
    return rows
