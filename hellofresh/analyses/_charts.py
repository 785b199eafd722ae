"""The kinds of figures: intervals in rows, small panels over time, a matrix of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hellofresh.analyses._style import INK, MARKERS, canvas, colour, drawable, legend_below
from hellofresh.results.names import cut_name

__all__ = ["Line", "Mark", "draw_lines", "draw_marks", "forest", "grid_of", "label_of", "matrix"]

_ROW_INCHES = 0.24
_LABEL_LETTERS = 34


@dataclass(frozen=True, slots=True)
class Mark:
    """A value with its interval in the row `label`, of the series `series`."""

    label: str
    series: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Line:
    """A curve of values with intervals at places numbered from 0; nan where there is none."""

    series: str
    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def label_of(text: str, most: int = _LABEL_LETTERS) -> str:
    """A name as it stands in a figure."""
    name, dot, regime = text.rpartition(" · ")
    if dot and len(text) > most:
        return drawable(f"{cut_name(name, max(8, most - len(regime) - 3))} · {regime}")
    return drawable(cut_name(text, most))


def draw_marks(axes: Axes, marks: Sequence[Mark], *, series: Sequence[str], zero: float | None = None) -> None:
    """Values with intervals, a row a label from the top down, series side by side within it."""
    labels = list(dict.fromkeys(mark.label for mark in marks))
    crowded = len(labels) < len(marks)  # else series share no row, and all stand in its middle
    step = 0.7 / max(1, len(series)) if crowded else 0.0
    for number, name in enumerate(series):
        own = [mark for mark in marks if mark.series == name]
        if not own:
            continue
        y = [labels.index(mark.label) + (number - (len(series) - 1) / 2) * step for mark in own]
        axes.hlines(y, [m.low for m in own], [m.high for m in own], color=colour(number), linewidth=1.6)
        axes.plot(
            [m.value for m in own], y, linestyle="none", marker=MARKERS[number % len(MARKERS)], markersize=6.2,
            color=colour(number), markeredgecolor="white", markeredgewidth=0.6, label=drawable(name),
        )  # fmt: skip
    if zero is not None:
        axes.axvline(zero, color=INK, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.set_yticks(range(len(labels)), [label_of(label) for label in labels])
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def forest(
    marks: Sequence[Mark], x_label: str, *, zero: float | None = None, limits: tuple[float, float] | None = None
) -> Figure:
    """One chart of intervals in rows; its height follows from the number of rows."""
    series = list(dict.fromkeys(mark.series for mark in marks))
    rows = len({mark.label for mark in marks})
    height = 1.3 + rows * max(0.32, _ROW_INCHES * 0.85 * len(series))
    figure, (axes,) = canvas(max(2.2, height))
    draw_marks(axes, marks, series=series, zero=zero)
    axes.set_xlabel(x_label)
    if limits is not None:
        axes.set_xlim(*limits)
    if len(series) > 1:
        legend_below(figure, [axes])
    return figure


def grid_of(
    panels: int, x_label: str, y_label: str, *, columns: int = 3, row_inches: float = 2.1
) -> tuple[Figure, list[Axes]]:
    """Small panels with common axes; those that are too many are taken out."""
    columns = 2 if panels == 4 else max(1, min(columns, panels))  # four make a square
    rows = -(-panels // columns)
    figure, axes = canvas(0.7 + row_inches * rows, rows, columns, sharex=True, sharey=True)
    for unused in axes[panels:]:
        unused.remove()
    for number, used in enumerate(axes[:panels]):
        if number >= panels - columns:
            used.tick_params(labelbottom=True)
            used.set_xlabel(x_label)
    figure.supylabel(y_label, fontsize=9.5)
    return figure, axes[:panels]


def draw_lines(axes: Axes, lines: Sequence[Line], series: Sequence[str]) -> None:
    """Curves with their intervals, a little apart so that none hides another."""
    for line in lines:
        number = series.index(line.series)
        x = np.arange(line.value.size) + 0.12 * (number - (len(series) - 1) / 2)
        shown = ~np.isnan(line.value)
        axes.vlines(x[shown], line.low[shown], line.high[shown], color=colour(number), linewidth=1.1, alpha=0.75)
        axes.plot(
            x[shown], line.value[shown], color=colour(number), marker=MARKERS[number % len(MARKERS)], markersize=3.8,
            linewidth=1.3, markeredgecolor="white", markeredgewidth=0.4, label=drawable(line.series),
        )  # fmt: skip


def matrix(values: NDArray[np.float64], names: Sequence[str], bar_label: str, low: float, high: float) -> Figure:
    """A square of pairs, each with its number, colours from `low` to `high`; nan is left empty."""
    size = len(names)
    figure, (axes,) = canvas(min(8.0, 2.4 + 0.5 * size))
    image = axes.pcolormesh(values, cmap="cividis", vmin=low, vmax=high, edgecolor="white", linewidth=1)
    axes.invert_yaxis()
    for row in range(size):
        for column in range(size):
            if not np.isnan(values[row, column]):
                dark = (values[row, column] - low) / (high - low) < 0.5
                axes.text(
                    column + 0.5, row + 0.5, f"{values[row, column]:.2f}", ha="center", va="center",
                    color="white" if dark else "black", fontsize=9 if size < 9 else 7.5,
                )  # fmt: skip
    shown = [label_of(name) for name in names]
    axes.set_xticks(np.arange(size) + 0.5, [str(number + 1) for number in range(size)])
    axes.set_yticks(np.arange(size) + 0.5, [f"{name}  {number + 1}" for number, name in enumerate(shown)])
    axes.set_xlabel("number of the system, as at the left")
    axes.grid(visible=False)
    figure.colorbar(image, ax=axes, label=bar_label, fraction=0.05, pad=0.02, extend="min")
    return figure
