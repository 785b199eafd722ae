"""Charts as Vega-Lite specifications.

Texts that others chose are values of the data and of scales' domains, never fields, expressions, formats or HTML: all
fields are named here. Colours are kept apart by any colour
vision and stand out from a light and a dark ground; shapes differ too.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias
from unicodedata import east_asian_width

from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, first_of_each

PALETTE = ("#1673B8", "#D55E00", "#009E73", "#C566A0", "#B07D00", "#3C95C9", "#808080", "#A2564B")
"""After Okabe and Ito; what is too pale on white or too dark on black is a little darker or lighter."""
_SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right", "triangle-left")
_GREY = "#808080"
_NARROW = "windowSize()[0] < 640"
_BELOW = "The table below has the numbers."
_BARE: Specification = {"title": None, "ticks": False, "domain": False, "grid": False}
_ROW_LETTERS, _LEGEND_LETTERS = 48, 30  # longer names would leave no room for the marks
# On narrow screens: letters of a line, along the side or half as wide, and the height of a name above its row.
_NARROW_LETTERS, _SIDE_LETTERS, _NAME_HEIGHT = 44, 22, 18
_MOST_IN_LEGEND = 24  # more colours cannot be distinguished


Specification: TypeAlias = dict[str, object]
"""A part of a Vega-Lite specification, as the library takes it."""
_CONFIG = {
    "view": {"stroke": None},
    "axis": {"labelFontSize": 12, "titleFontSize": 12},
    "legend": {"labelFontSize": 12},
}
# A chart's layers from the back to the front, each with its data, and its height.
_Drawing: TypeAlias = tuple[list[Specification], float]


@dataclass(frozen=True, slots=True)
class PlacedChart:
    """A chart ready to be shown.

    Attributes:
        title: plain text; empty where the figure has one chart only.
        more: a few words that stand beside the title.
        spec: Vega-Lite without width.
        rows: the names of its rows; charts side by side with the same rows are of one height.
        height: in pixels.
    """

    title: str
    more: str
    spec: Specification
    rows: list[str]
    height: float


@dataclass(frozen=True, slots=True)
class _Look:
    """How the series of a chart differ.

    Attributes:
        title, names: as in `Series`.
        legend: whether the chart has one.
        row_names: whether the names of rows are written.
        narrow: whether it is drawn for a narrow screen: names stand above rows, long titles in several lines.
        half: whether two charts stand side by side there.
    """

    title: str
    names: Sequence[str]
    legend: bool
    row_names: bool
    narrow: bool
    half: bool = False

    def fitting(self, narrow: int, wide: int) -> object:
        """A number for narrow and for wide screens; a page decides by its window unless the chart is narrow anyway."""
        return narrow if self.narrow else {"expr": f"{_NARROW} ? {narrow} : {wide}"}

    def lines(self, title: str, most: int) -> str | list[str]:
        """A title of an axis, on narrow screens in lines of at most that many letters."""
        return textwrap.wrap(title, most) if self.narrow else title

    def colour(self) -> Specification:
        """The encoding of colour."""
        return self._by_place([PALETTE[k % len(PALETTE)] for k in range(len(self.names))])

    def shape(self) -> Specification:
        """The encoding of shape, which differs also where colours come again."""
        return self._by_place([_SHAPES[(k + k // len(PALETTE)) % len(_SHAPES)] for k in range(len(self.names))])

    def _by_place(self, values: Sequence[str]) -> Specification:
        longest = max(map(letters, self.names), default=0)
        columns = self.fitting(max(1, _NARROW_LETTERS // (longest + 4)), 4)
        legend: Specification = {
            "title": None, "orient": "bottom", "columns": columns, "symbolOpacity": 1,
            "labelLimit": 0, "direction": "horizontal", "symbolSize": 75,
            "columnPadding": 28,
        }  # fmt: skip
        scale = {"domain": list(self.names), "range": list(values)}
        kept = legend if self.legend else None
        return {"field": "series", "type": "nominal", "scale": scale, "legend": kept, "title": self.title}


def place(figure: Figure, marks: Sequence[Mark], question: str, *, narrow: bool = False) -> list[PlacedChart]:
    """A specification for each chart that has something to show.

    Args:
        figure: which charts.
        marks: of the systems to show, in their order, from `marks_of`.
        question: what the analysis asks; part of what is said of each chart to those who do not see it.
        narrow: whether it is drawn for a narrow screen.

    Charts share one legend, rows are named once a line, and names are short: cutting them is left neither to Vega nor
    to an expression, which may leave half of a character that the converter cannot draw.
    """
    marks = _with_short_names(marks)
    parts = [(chart, [mark for mark in marks if mark.panel == chart.panel]) for chart in figure.charts]
    if figure.by_system:
        names, chart = first_of_each(mark.who for mark in marks), replace(figure.charts[0], panel="")
        parts = [(chart, [mark for mark in marks if mark.who == name]) for name in names]
    shared = figure.charts[0].series.among(marks) if figure.one_key else []
    placed: list[PlacedChart] = []
    for chart, own in parts:
        if not own:
            continue
        series = shared or chart.series.among(own)
        legend = series != [""] and len(series) <= _MOST_IN_LEGEND
        rows = first_of_each(mark.row for mark in own) if chart.kind == "intervals" else []
        # a chart beside one with the same rows repeats no names
        beside = len(placed) % figure.columns > 0 and rows == placed[-1].rows != []
        look = _Look(
            chart.series.title, series, legend, row_names=not beside, narrow=narrow, half=narrow and figure.columns > 1
        )
        title, _, more = own[0].panel.partition("\n")
        layers, own_height = _KINDS[chart.kind](chart, own, look)
        said = " ".join(part for part in (question, title, _BELOW) if part)
        height = placed[-1].height if beside else own_height
        spec: Specification = {
            "description": said,
            "height": height,
            "autosize": {"type": "fit-x", "contains": "padding"},
            "layer": layers,
            "config": _CONFIG,
        }
        placed.append(PlacedChart(title, more, spec, rows, height))
    return placed


def fitted(text: str, width: int) -> str:
    """A text cut in its middle, where it is wider: beginnings and ends tell names apart.

    Args:
        text: anything.
        width: in letters; those of East Asia, and pictures, count double.
    """
    if letters(text) <= width:
        return text
    tail = next(text[k:] for k in range(len(text)) if letters(text[k:]) <= width // 3)
    head = next(text[:k] for k in range(len(text), -1, -1) if letters(text[:k]) + letters(tail) < width)
    return f"{head}…{tail}"


def letters(text: str) -> int:
    """The width of a text in letters, as `fitted` counts it."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def _with_short_names(marks: Sequence[Mark]) -> list[Mark]:
    """Nothing in a picture tells a whole name; names that differ still do."""
    rows = _short([name for mark in marks for name in (mark.row, mark.who, mark.other)], _ROW_LETTERS)
    series = _short([mark.series for mark in marks], _LEGEND_LETTERS)
    return [
        replace(mark, row=rows[mark.row], who=rows[mark.who], other=rows[mark.other], series=series[mark.series])
        for mark in marks
    ]


def _short(names: Iterable[str], width: int) -> dict[str, str]:
    """Each name as a file shows it, numbered where two would look the same."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        short, number = fitted(name, width), 2
        while short in taken:
            short, number = f"{fitted(name, width)} ({number})", number + 1
        found[name] = short
        taken.add(short)
    return found


def _axis(axis: Axis, field: str, look: _Look, *, upright: bool = False) -> Specification:
    """A quantitative axis of this field."""
    free = axis.low is None
    scale: Specification = {"zero": axis.zero and free, "nice": free and not axis.whole}
    scale |= {} if free else {"domainMin": axis.low}
    scale |= {} if axis.high is None else {"domainMax": axis.high}
    scale |= {"padding": 12} if axis.whole and free else {}  # marks at the ends would lie on the frame
    ticks = 2 if look.half and not upright else axis.ticks or look.fitting(4, 8)
    said = f"{axis.title}, 95% interval" if axis.intervals else axis.title
    title = look.lines(said, _SIDE_LETTERS if upright or look.half else _NARROW_LETTERS)
    shown: Specification = {"title": title, "tickCount": ticks, "labelFlush": False}
    shown |= {"tickMinStep": 1, "format": "d"} if axis.whole else {}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": shown}


def _row_axis(look: _Look) -> Specification:
    if not look.row_names:
        return _BARE | {"labels": False}
    return _BARE | {"labelLimit": 0, "labelPadding": 8}


def _layer(kind: str, encoding: Specification, **look: object) -> Specification:
    opaque = {"opacity": 1} if kind == "point" else {}
    return {"mark": {"type": kind, **opaque, **look}, "encoding": encoding}


def _over(marks: Sequence[Mark], layers: Sequence[Specification]) -> Specification:
    """Layers that show the marks."""
    return {"data": {"values": _values(marks)}, "layer": list(layers)}


def _by_name(field: str, names: Sequence[object], **more: object) -> Specification:
    """The encoding of a field of names, in this order."""
    return {"field": field, "type": "nominal", "scale": {"domain": list(names)}, **more}


def _intervals(chart: Chart, marks: Sequence[Mark], look: _Look) -> _Drawing:
    axis, rows = chart.across, first_of_each(mark.row for mark in marks)
    crowded = chart.side_by_side and len(look.names) > 1 and len(rows) < len(marks)
    band, space = 12 * len(look.names) + 14 if crowded else 30, 0
    names: Specification = _by_name("row", rows, axis=_row_axis(look))
    if look.narrow:  # names stand within the chart, above what they name
        space = _NAME_HEIGHT
        band += space - 12
        names["axis"] = _BARE | {"labelLimit": 0, "labelAlign": "left", "labelPadding": 0, "labelOffset": -band / 2 + 2}
        names["scale"] = {"domain": list(rows), "paddingInner": space / band, "paddingOuter": space / band}
    looks: Specification = {"color": look.colour(), "y": names}
    if crowded:
        looks["yOffset"] = _by_name("series", look.names)
    value = _axis(axis, "value", look)
    limits = {**looks, "x": {**value, "field": "low"}, "x2": {"field": "high"}}
    layers = [
        _layer("rule", limits, strokeWidth=2.5),
        _layer("point", {**looks, "x": value, "shape": look.shape()}, filled=True, size=75),
    ]
    layers += [_layer("rule", {"x": {"datum": 0}}, strokeDash=[4, 3], color=_GREY)] if axis.zero else []
    height = len(rows) * band + space
    return [_over(marks, layers)], max(height, 60)


def _at_places(chart: Chart, look: _Look) -> Specification:
    """The horizontal axis of curves over named places; several curves stand side by side."""
    labels = {
        "title": look.lines(chart.across.title, _NARROW_LETTERS),
        "labelAngle": 0,
        "labelOverlap": True,
        "grid": False,
    }
    labels |= {"labelExpr": "split(datum.label, ' ')"} if look.narrow else {}  # a word a line
    looks: Specification = {"x": _by_name("at", chart.places, axis=labels) | {"type": "ordinal"}}
    if len(look.names) > 1:
        offset = {"scale": {"domain": list(look.names), "paddingOuter": 1}}
        looks["xOffset"] = _by_name("series", look.names) | offset
    return looks


def _curves(chart: Chart, marks: Sequence[Mark], look: _Look) -> _Drawing:
    across, up = chart.across, chart.values
    value = _axis(up, "value", look, upright=True)
    looks: Specification = {"color": look.colour(), "x": _axis(across, "at", look), "y": value}
    sized: Specification = {}
    if chart.places:
        looks |= _at_places(chart, look)
    else:  # the size of a dot is the number of samples
        scale = {"range": [20, 160], "zero": True}
        sized = {"size": {"field": "count", "type": "quantitative", "scale": scale, "legend": None}}
    limits = {**looks, "y": _axis(up, "low", look, upright=True), "y2": {"field": "high"}}
    layers = [
        _layer("rule", limits, strokeWidth=1.5),
        _layer("line", looks, strokeWidth=1.5),
        _layer("point", {**looks, **sized, "shape": look.shape()}, filled=True, size=45),
    ]
    over = _over(marks, layers)
    if chart.places:
        marked = _layer("rule", {"x": looks["x"]}, strokeDash=[1, 3], color=_GREY)
        return [{"data": {"values": [{"at": place} for place in chart.marked]}, **marked}, over], 170
    diagonal = _layer("line", {"x": looks["x"], "y": value}, strokeDash=[4, 3], color=_GREY, strokeWidth=1)
    return [
        {"data": {"values": [{"at": 0, "value": 0}, {"at": 1, "value": 1}]}, **diagonal},
        over,
    ], 150 if look.half else 220


def _regions(chart: Chart, marks: Sequence[Mark], look: _Look) -> _Drawing:
    places: Specification = {
        "x": _axis(chart.across, "at", look),
        "y": _axis(chart.values, "value", look, upright=True),
    }
    looks: Specification = {"color": look.colour(), **places}
    around = {**looks, "fill": {**look.colour(), "legend": None}, "order": {"field": "order", "type": "quantitative"}}
    shown = {**looks, "shape": look.shape()}
    outline = _layer("line", around, interpolate="linear-closed", strokeWidth=1, fillOpacity=0.12, clip=True)
    equal: list[Specification] = []
    named: list[Specification] = []
    # Points of equal harmonic mean in the square of recall and precision.
    for mean in (0.2, 0.4, 0.6, 0.8):
        least = mean / (2 - mean)
        named.append({"at": 1, "value": least, "mean": f"{mean:.1f}"})
        for step in range(51):
            recall = least + (1 - least) * step / 50
            equal.append({"mean": mean, "at": recall, "value": mean * recall / (2 * recall - mean)})
    detail = {**places, "detail": {"field": "mean", "type": "quantitative"}}
    curves = _layer("line", detail, strokeDash=[2, 3], strokeWidth=0.8, color=_GREY, clip=True)
    text = {**places, "text": {"field": "mean", "type": "nominal"}}
    names = _layer("text", text, align="right", baseline="bottom", fontSize=11, color=_GREY)
    ellipses = [row for mark in marks for row in _outline(mark)]
    data = ((equal, curves), (named, names), (ellipses, outline))
    behind: list[Specification] = [{"data": {"values": values}, **layer} for values, layer in data]
    return [*behind, _over(marks, [_layer("point", shown, filled=True, size=60)])], 150 if look.half else 240


def _pairs(chart: Chart, marks: Sequence[Mark], look: _Look) -> _Drawing:
    names = first_of_each([*(mark.who for mark in marks), *(mark.other for mark in marks)])
    numbers = {name: number for number, name in enumerate(names, start=1)}
    numbered = [f"{number}  {name}" for name, number in numbers.items()]
    axis: Specification = {"title": "number of the system, as at the left", "labelAngle": 0, "ticks": False}
    rows = _by_name("numbered", numbered, axis=_row_axis(look))
    if look.narrow:  # numbers at the left too, and the names as lines below
        listed = [f"{one} " for one in numbered]
        axis |= {"title": ["number of the system:", *listed], "titleAlign": "left", "titleAnchor": "start"}
        rows["axis"] = _BARE | {"labelExpr": "split(datum.label, ' ')[0]"}
    columns = _by_name("column", list(numbers.values()), axis=axis | {"domain": False})
    where: Specification = {"y": rows, "x": columns | {"type": "ordinal"}}
    gradient = {"title": chart.across.title, "orient": "bottom", "gradientLength": look.fitting(200, 300)}
    scale = {"scheme": "cividis", "domain": [chart.across.low, chart.across.high], "clamp": True}
    colour = {"field": "value", "type": "quantitative", "legend": gradient, "scale": scale}
    ink = {"condition": {"test": "datum.value < 0.5", "value": "#ffffff"}, "value": "#000000"}
    text = {**where, "text": {"field": "text", "type": "nominal"}, "color": ink}
    both = _over(marks, [
        _layer("rect", {**where, "color": colour}),
        _layer("text", text, fontSize={"expr": f"width / {len(names)} < 34 ? 0 : 11"}),
    ])  # fmt: skip
    values = [
        row
        | {
            "numbered": f"{numbers[mark.who]}  {mark.who}",
            "column": numbers[mark.other],
            "text": replace(chart.across, digits=2).text(mark.value),
        }
        for mark, row in zip(marks, _values(marks), strict=True)
    ]
    return [both | {"data": {"values": values}}], max(34 * len(names), 80)


def _scatter(chart: Chart, marks: Sequence[Mark], look: _Look) -> _Drawing:
    """An amount of 0 has its place beside the logarithmic axis."""
    up, title = chart.values, chart.across.title
    amounts = [float(mark.at or 0) for mark in marks]
    paid = [amount for amount in amounts if amount > 0]
    scale: Specification = {"type": "linear", "domain": [0, 1]}
    if paid and min(amounts) > 0:
        scale = {"type": "log", "nice": False, "padding": 20}
    elif paid:
        scale = {"type": "symlog", "constant": min(paid), "nice": True}
    named = look.lines(title, _NARROW_LETTERS)
    axis = {"title": named, "format": "~g", "tickCount": look.fitting(3, 6), "labelOverlap": True}
    horizontal = {"field": "at", "type": "quantitative", "scale": scale, "axis": axis}
    looks = {"color": look.colour(), "x": horizontal}
    limits = {**looks, "y": _axis(up, "low", look, upright=True), "y2": {"field": "high"}}
    layers = [
        _layer("rule", limits, strokeWidth=2),
        _layer(
            "point", {**looks, "y": _axis(up, "value", look, upright=True), "shape": look.shape()}, filled=True, size=90
        ),
    ]
    return [_over(marks, layers)], 340


_KINDS = {"intervals": _intervals, "curves": _curves, "regions": _regions, "pairs": _pairs, "scatter": _scatter}


def _values(marks: Sequence[Mark]) -> list[Specification]:
    return [
        {
            "who": mark.who, "row": mark.row or mark.who, "other": mark.other, "series": mark.series, "at": mark.at,
            "value": _known(mark.value), "low": _known(mark.low), "high": _known(mark.high), "count": mark.n or 0,
        }
        for mark in marks
    ]  # fmt: skip


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _outline(mark: Mark) -> list[Specification]:
    """The ellipse around a mark."""
    turn, (x0, y0) = math.radians(mark.angle), (float(mark.at or 0), mark.value)
    rows: list[Specification] = []
    for step in range(48):
        around = 2 * math.pi * step / 48
        x, y = mark.width / 2 * math.cos(around), mark.height / 2 * math.sin(around)
        rows.append(
            {
                "at": _known(x0 + x * math.cos(turn) - y * math.sin(turn)),
                "value": _known(y0 + x * math.sin(turn) + y * math.cos(turn)),
                "series": mark.series,
                "order": step,
            }
        )
    return rows
