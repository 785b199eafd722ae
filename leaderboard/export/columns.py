"""The style of the ranked table's columns, made from their names, so that no row has to carry it.

Rows are grids of the same widths: a browser then lays out the rows that are on the screen, and not all of 500.
"""

from __future__ import annotations

from collections.abc import Sequence

from leaderboard.components.standings import COLUMNS

__all__ = ["FIRST", "columns_css"]

FIRST = 5
"""Number of the first column that may be hidden, from 1: rank, system, F1 and its drawing stand before it."""

_BEFORE = (("3.25rem", "3rem"), ("minmax(9.5rem, 1fr)", "minmax(8.5rem, 1fr)"), ("5rem", "4.6rem"), ("7rem", "6rem"))
_WIDTHS = {
    "No answer": (4.9, 4.75), "Judged": (4.1, 3.75), "Cost": (6.25, 5.75), "Regime": (6.25, 5.25),
    "Cutoff": (8.25, 5.5),
    "Entered": (6.25, 5.25),
}  # fmt: skip
_WIDTH = (4.75, 4.6)


def columns_css(names: Sequence[str]) -> str:
    """Widths on wide and on narrow screens, labels for cards, and a class each that takes a column away.

    Args:
        names: the columns right of F1, keys of `COLUMNS`.

    Raises:
        KeyError: if there is no such column.
    """
    numbered = [(number, name) for number, name in enumerate(names, start=FIRST) if COLUMNS[name]]
    wide, narrow = (
        [*(pair[k] for pair in _BEFORE), *(f"{_WIDTHS.get(name, _WIDTH)[k]}rem" for _, name in numbered)]
        for k in (0, 1)
    )
    places = [f".hf-ranked tr > :nth-child({k}) {{ grid-column: {k}; }}" for k in range(1, len(wide) + 1)]
    labels = [_label(number, name) for number, name in ((3, "F1"), *numbered)]
    return "\n".join(
        [
            "@media (min-width: 861px) {", _tracks(wide), *places, "}",
            f"@media (min-width: 861px) and (max-width: 1230px) {{ {_tracks(narrow)} }}",
            "@media (max-width: 860px) {", *labels, "}",
            *(_hidden(number) for number, _ in numbered), "",
        ]
    )  # fmt: skip


def _tracks(widths: Sequence[str]) -> str:
    tracks = " ".join(f"var(--c{number}, {width})" for number, width in enumerate(widths, start=1))
    return f".hf-ranked tr {{ grid-template-columns: {tracks}; }}"


def _label(number: int, name: str) -> str:
    return f'.hf-ranked td:nth-child({number})::before {{ content: "{name}"; }}'


def _hidden(number: int) -> str:
    cells = f".hf-hide-{number} tr:not(.hf-group) > :nth-child({number})"
    return f".hf-hide-{number} {{ --c{number}: 0; }}\n{cells} {{ display: none !important; }}"
