"""Figures as SVG and PNG, the same bytes for the same figure; nothing is loaded from anywhere.

Text stays text, so that it can be searched and read aloud. The converter has fonts of its own and takes others of the
machine for letters that these lack.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import NamedTuple

from hellofresh.core.errors import missing_extra
from hellofresh.results.figures.charts import Figure, Mark
from hellofresh.results.figures.vega import PlacedChart, Specification, fitted, letters, place

VEGA_LITE = "6.1"
_SCHEMA = f"https://vega.github.io/schema/vega-lite/v{VEGA_LITE[0]}.json"
_WIDTH = 860  # pixels: a figure that a paper's page and a slide take without scaling
_GAP = 28
_LEAST_WIDTH = 150  # below, the numbers of an axis run into each other
_NARROW_WIDTH, _NARROW_GAP, _NARROW_SCALE = 340, 12, 66
_LETTER, _BOLD_LETTER = 6.4, 8  # mean width in pixels: lines are broken here, since the renderer does not
_LABELS = 310
# Pixels around a picture, and by how much the letters of other fonts, such as DejaVu Sans, are wider.
_EDGE, _WIDER = 8, 0.15
_SCALE = 45
_INK, _FRAME = "#222222", "#666666"
_TEXT = {"labelColor": _INK, "titleColor": _INK, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
_CONFIG: Specification = {
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "background": "white",
    "aria": False,
    "view": {"stroke": None},
    "axis": {**_TEXT, "gridColor": "#E4E4E4", "domainColor": _FRAME, "tickColor": _FRAME},
    "legend": _TEXT,
    "title": {"color": _INK, "subtitleColor": _INK, "anchor": "start", "frame": "group", "fontSize": 13,
              "subtitleFontSize": 12},
}  # fmt: skip
_PIXELS = 2.0
_PART = re.compile(r'<\w+ id="(\w+)"')
_USE = re.compile(r'(<\w+ id="|"url\(#)(\w+)')


class FigureImage(NamedTuple):
    """A figure's files: for wide and for narrow screens; `png` is empty where none was asked for."""

    svg: bytes
    narrow: bytes
    png: bytes


def need_converter() -> None:
    """Say how to get what draws figures where it is missing.

    Raises:
        UsageError: if it is.
    """
    try:
        import vl_convert  # noqa: F401
    except ImportError:
        raise missing_extra("a figure", "vl-convert-python", "analyse") from None


def render(figure: Figure, marks: Sequence[Mark], question: str, *, png: bool = True) -> FigureImage:
    """A figure's files, on white.

    Args:
        figure, marks: what to show.
        question: what the analysis asks; it becomes the text for those who do not see the figure.
        png: whether a PNG is wanted too.
    """
    import vl_convert

    def drawn(*, narrow: bool) -> str:
        spec = composed(figure, marks, question, narrow=narrow)
        text = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE, allowed_base_urls=[])
        return _numbered(text).replace("<svg", f'<svg role="img" aria-label="{escape(question)}"', 1)

    svg, narrow = drawn(narrow=False), drawn(narrow=True)
    return FigureImage(svg.encode(), narrow.encode(), vl_convert.svg_to_png(svg, scale=_PIXELS) if png else b"")


def composed(figure: Figure, marks: Sequence[Mark], question: str, *, narrow: bool = False) -> Specification:
    """The whole figure as one Vega-Lite specification with its data, for wide or for narrow screens."""
    figure = replace(figure, columns=figure.narrow_columns) if narrow else figure
    placed = place(figure, marks, question, narrow=narrow)
    longest = max((letters(name) for one in placed for name in one.rows), default=0)
    page = _NARROW_WIDTH if narrow else _WIDTH
    wider = 0 if narrow else round(_WIDER * _LETTER * longest)
    padding = {**dict.fromkeys(("top", "right", "bottom"), _EDGE), "left": _EDGE + wider}
    head: Specification = {"$schema": _SCHEMA, "padding": padding, "config": _CONFIG}
    if len(placed) == 1:
        return placed[0].spec | head | {"width": page} | _title(placed[0], page, narrow=narrow)
    width = _narrow_width(figure, longest) if narrow else _chart_width(figure, placed, longest)
    resolved = dict.fromkeys(("color", "shape"), "shared" if figure.one_key else "independent")
    return head | {
        "description": question,
        "columns": figure.columns,
        "spacing": _NARROW_GAP if narrow else _GAP,
        "concat": [_beside(one, width, narrow=narrow) for one in placed],
        "resolve": {"scale": resolved, "legend": resolved},
    }


def _title(one: PlacedChart, width: int, *, narrow: bool) -> Specification:
    """A space keeps a title apart from the names that Vega finds in every object, such as `constructor`."""
    if not one.title:
        return {}
    most = width // _BOLD_LETTER
    if not narrow:
        return {"title": {"text": f"{fitted(one.title, most)} ", **({"subtitle": one.more} if one.more else {})}}
    lines = textwrap.wrap(fitted(one.title, 2 * most), most)
    more = textwrap.wrap(one.more, int(width / _LETTER))
    return {"title": {"text": [f"{line} " for line in lines], "subtitle": more, "frame": "bounds"}}


def _beside(one: PlacedChart, width: int, *, narrow: bool) -> Specification:
    kept = {name: part for name, part in one.spec.items() if name not in ("autosize", "config", "description")}
    return kept | {"width": width} | _title(one, width + (_SCALE if narrow else 0), narrow=narrow)


def _narrow_width(figure: Figure, longest: int) -> int:
    """The width of each chart on a narrow screen, where names of rows stand above these."""
    page = _NARROW_WIDTH - 2 * _EDGE - _NARROW_GAP * (figure.columns - 1)
    return page // figure.columns - (_NARROW_GAP if longest else _NARROW_SCALE)


def _chart_width(figure: Figure, placed: Sequence[PlacedChart], longest: int) -> int:
    """The width of each chart without the names of its rows, the longest of which has that many letters."""
    same = all(one.rows == placed[0].rows for one in placed)
    names = min(_LABELS, round(_LETTER * longest)) if longest else _SCALE
    lines = 1 if same and longest else figure.columns
    return max(_LEAST_WIDTH, (_WIDTH - names * lines - _GAP * (figure.columns - 1)) // figure.columns)


def _numbered(svg: str) -> str:
    """Names of parts counted from 0: the converter goes on counting from one figure to the next."""
    names = {name: f"part{number}" for number, name in enumerate(dict.fromkeys(_PART.findall(svg)))}
    return _USE.sub(lambda found: found[1] + names.get(found[2], found[2]), svg)
