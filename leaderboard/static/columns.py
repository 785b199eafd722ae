"""The style of the ranked table's columns, made from their names, so that no row has to carry it.

Rows are grids of the same widths: a browser then lays out the rows that are on the screen, and not all of 500.
"""

from __future__ import annotations

from collections.abc import Sequence

from leaderboard.parts.standings import COLUMNS

__all__ = ["FIRST", "columns_css"]

FIRST = 5
"""Number of the first column that may be hidden, from 1: rank, system, F1 and its drawing stand before it."""

_BEFORE = ("3.75em", "minmax(11em, 1fr)", "5.25em", "9em")
_WIDTHS = {"Judged": 4.5, "Cost": 6.75, "Regime": 6.5, "Cutoff": 8.0}
_WIDTH_EM = 5.25


def columns_css(names: Sequence[str]) -> str:
    """Widths, labels for cards, and a class each that takes a column away.

    Args:
        names: the columns right of F1, keys of `COLUMNS`.

    Raises:
        KeyError: if there is no such column.
    """
    numbered = [(number, name) for number, name in enumerate(names, start=FIRST) if COLUMNS[name]]
    widths = [*_BEFORE, *(f"{_WIDTHS.get(name, _WIDTH_EM)}em" for _, name in numbered)]
    tracks = " ".join(f"var(--c{number}, {width})" for number, width in enumerate(widths, start=1))
    labels = [_label(number, name) for number, name in ((3, "F1"), *numbered)]
    places = [
        f".hf-ranked tr > :nth-child({number}) {{ grid-column: {number}; }}" for number in range(1, len(widths) + 1)
    ]
    hidden = [_hidden(number) for number, _ in numbered]
    return "\n".join(
        [
            f"@media (min-width: 861px) {{\n.hf-ranked tr {{ grid-template-columns: {tracks}; }}", *places, "}",
            "@media (max-width: 860px) {", *labels, "}", *hidden, "",
        ]
    )  # fmt: skip


def _label(number: int, name: str) -> str:
    return f'.hf-ranked td:nth-child({number})::before {{ content: "{name}"; }}'


def _hidden(number: int) -> str:
    cells = f".hf-hide-{number} tr:not(.hf-group) > :nth-child({number})"
    return f".hf-hide-{number} {{ --c{number}: 0; }}\n{cells} {{ display: none !important; }}"
