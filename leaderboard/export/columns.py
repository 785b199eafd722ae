"""The style of the ranked table's columns, made from their names, so that no row has to carry it.

Rows are grids of the same widths: a browser then lays out the rows that are on the screen, and not all of 500.
"""

from __future__ import annotations

from collections.abc import Sequence

from hellofresh.core.files import sha256_text
from leaderboard.components.scale import Scale
from leaderboard.components.standings import columns_of, shown_columns
from leaderboard.components.tools import FIRST

__all__ = ["columns_class", "columns_css"]

_BEFORE = (("3.25rem", "3rem"), ("minmax(9.5rem, 1fr)", "minmax(8.5rem, 1fr)"), ("5rem", "4.6rem"), ("7rem", "6rem"))
_WIDTHS = {
    "No answer": (4.9, 4.75), "Judged": (4.1, 3.75), "Cost": (6.25, 5.75), "Regime": (6.25, 5.25),
    "Cutoff": (8.25, 5.5),
    "Entered": (6.25, 5.25),
}  # fmt: skip
_WIDTH = (4.75, 4.6)


def columns_class(scale: Scale) -> str:
    """The class of tables with the columns of such scores."""
    return f"hf-ranked-{sha256_text(repr((scale.title, *columns_of(scale))))[:6]}"


def columns_css(scale: Scale) -> str:
    """Widths on wide and on narrow screens, labels for cards, and a class each that takes a column away.

    Args:
        scale: of the scores in the table.
    """
    table = f".{columns_class(scale)}"
    numbered = list(enumerate(shown_columns(scale), start=FIRST))
    wide, narrow = (
        [*(pair[k] for pair in _BEFORE), *(f"{_WIDTHS.get(name, _WIDTH)[k]}rem" for _, name in numbered)]
        for k in (0, 1)
    )
    places = [f"{table} tr > :nth-child({k}) {{ grid-column: {k}; }}" for k in range(1, len(wide) + 1)]
    labels = [_label(table, number, name) for number, name in ((3, scale.title), *numbered)]
    return "\n".join(
        [
            "@media (min-width: 700px) {", _tracks(table, wide), *places, "}",
            f"@media (min-width: 700px) and (max-width: 1230px) {{ {_tracks(table, narrow)} }}",
            "@media (max-width: 699.9px) {", *labels, "}",
            *(_hidden(table, number) for number, _ in numbered), "",
        ]
    )  # fmt: skip


def _tracks(table: str, widths: Sequence[str]) -> str:
    tracks = " ".join(f"var(--c{number}, {width})" for number, width in enumerate(widths, start=1))
    return f"{table} tr {{ grid-template-columns: {tracks}; }}"


def _label(table: str, number: int, name: str) -> str:
    return f'{table} td:nth-child({number})::before {{ content: "{name}"; }}'


def _hidden(table: str, number: int) -> str:
    cells = f"{table} .hf-hide-{number} tr:not(.hf-group) > :nth-child({number})"
    return f"{table} .hf-hide-{number} {{ --c{number}: 0; }}\n{cells} {{ display: none !important; }}"
