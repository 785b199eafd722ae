"""The look that all figures share, and their bytes: the same on every machine and day."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.typing import RcKeyType

__all__ = [
    "GREY",
    "INK",
    "MARKERS",
    "PALETTE",
    "Rendered",
    "canvas",
    "colour",
    "drawable",
    "legend_below",
    "render",
    "styled",
]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D1F")
"""Okabe and Ito's colours, told apart with any colour vision; the pale yellow, invisible on white, as a dark ochre."""
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "p")
GREY, INK = "#8A8A8A", "#222222"
_WIDTH_INCHES = 8.0
_DPI = 110
_RC: Mapping[RcKeyType, object] = {
    "text.parse_math": False,  # a name with dollar signs is a name
    "axes.formatter.use_mathtext": False,
    "axes.unicode_minus": True,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so that every machine has it
    "font.size": 9.5,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.5,
    "axes.edgecolor": "#666666",
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "svg.fonttype": "path",
    "svg.hashsalt": "hellofresh",
    "path.simplify": True,
}


class Rendered(NamedTuple):
    """A figure's files; `png` is empty where none was asked for."""

    svg: bytes
    png: bytes


@contextmanager
def styled() -> Iterator[None]:
    """Everything drawn within looks alike, whatever the user's own settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(dict(_RC))
        yield


def canvas(height: float, rows: int = 1, columns: int = 1, **options: object) -> tuple[Figure, list[Axes]]:
    """A figure of the common width with axes, row by row; height in inches."""
    figure = Figure(figsize=(_WIDTH_INCHES, height), dpi=_DPI)
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, **options)  # type: ignore[call-overload]
    return figure, list(axes.flat)


def colour(number: int) -> str:
    """The colour of a series, counted from 0."""
    return PALETTE[number % len(PALETTE)]


def drawable(text: str) -> str:
    """The text with a replacement character where the font has no glyph."""
    return "".join(char if ord(char) in _glyphs() else "\N{REPLACEMENT CHARACTER}" for char in text)


@cache
def _glyphs() -> frozenset[int]:
    path = font_manager.findfont("DejaVu Sans", fallback_to_default=False)
    return frozenset(font_manager.get_font(path).get_charmap())


def legend_below(figure: Figure, axes: Sequence[Axes], columns: int = 5) -> None:
    """One legend under the figure, each series of any of the axes once."""
    once: dict[str, Artist] = {}
    for one in axes:
        handles, labels = one.get_legend_handles_labels()
        once |= {label: handle for label, handle in zip(labels, handles, strict=True) if label not in once}
    if once:
        figure.legend(
            handles=list(once.values()), labels=list(once), loc="outside lower center", ncols=min(columns, len(once))
        )


def render(figure: Figure, salt: str, *, png: bool = True) -> Rendered:
    """A figure as SVG (letters as outlines, no date) and PNG.

    Args:
        figure: drawn within `styled`.
        salt: makes the names of parts within the SVG differ from those of other figures on the same page.
        png: whether a PNG is wanted too; it takes about a third of the time.
    """
    vectors, pixels = io.BytesIO(), io.BytesIO()
    with styled(), mpl.rc_context({"svg.hashsalt": f"hellofresh/{salt}"}):
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.execute(figure)
        figure.set_layout_engine("none")  # places were found; finding them again for each file takes most of the time
        # Printed by the canvases themselves: `savefig` draws a figure once more than it needs. SVG last, for it
        # changes the figure's resolution.
        if png:
            FigureCanvasAgg(figure).print_png(pixels, metadata={"Software": None})  # type: ignore[no-untyped-call]
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        FigureCanvasSVG(figure).print_svg(vectors, metadata=nothing)  # type: ignore[no-untyped-call]
    return Rendered(_own_names(vectors.getvalue().decode(), salt).encode(), pixels.getvalue())


def _own_names(svg: str, salt: str) -> str:
    """Ids that are no other figure's, so that several may stand in one page."""
    prefix = re.sub(r"[^a-z0-9]+", "-", salt.lower())
    svg = re.sub(r'(\s)id="([^"]+)"', rf'\1id="{prefix}-\2"', svg)
    svg = re.sub(r'xlink:href="#([^"]+)"', rf'xlink:href="#{prefix}-\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
