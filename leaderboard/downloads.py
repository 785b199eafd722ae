"""Tables as files to take away: CSV, JSON and LaTeX, in which no text can become a formula or a command."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import streamlit as st

from leaderboard.markup import visible

__all__ = ["as_csv", "as_json", "as_latex", "offer"]

Value = str | int | float | bool | None
Row = Mapping[str, Value]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}",
}  # fmt: skip


def as_csv(rows: Sequence[Row]) -> str:
    """Comma-separated values with a head; a text that a spreadsheet would take for a formula gets an apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(list(rows[0]) if rows else [])
    for row in rows:
        writer.writerow([_tame(value) for value in row.values()])
    return file.getvalue()


def as_json(rows: Sequence[Row]) -> str:
    """A list of objects; what is unknown is null."""
    return json.dumps(list(rows), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def as_latex(rows: Sequence[Row]) -> str:
    """A `tabular` for booktabs; texts are escaped, numbers have three decimals, what is unknown is a dash."""
    columns = list(rows[0]) if rows else []
    kinds = "".join("l" if any(isinstance(row[name], str) for row in rows) else "r" for name in columns)
    lines = [_line(map(_escaped, columns)), r"\midrule", *(_line(map(_escaped, row.values())) for row in rows)]
    body = "\n".join([r"\toprule", *lines, r"\bottomrule"])
    return f"% needs \\usepackage{{booktabs}}\n\\begin{{tabular}}{{{kinds}}}\n{body}\n\\end{{tabular}}\n"


def offer(rows: Callable[[], Sequence[Row]], name: str) -> None:
    """Buttons that hand out the rows; nothing is written before one is pressed.

    Args:
        rows: gives them, all with the same columns.
        name: of the files, without ending.
    """
    with st.container(horizontal=True):
        for kind, ending, mime, write in (
            ("CSV", "csv", "text/csv", as_csv),
            ("JSON", "json", "application/json", as_json),
            ("LaTeX", "tex", "application/x-tex", as_latex),
        ):
            st.download_button(f"Download {kind}", partial(_written, write, rows), f"{name}.{ending}", mime,
                               key=f"download_{name}_{kind}", on_click="ignore", type="tertiary")  # fmt: skip


def _written(write: Callable[[Sequence[Row]], str], rows: Callable[[], Sequence[Row]]) -> str:
    return write(rows())


def _tame(value: Value) -> Value:
    if isinstance(value, str):
        text = visible(value, 300)
        return f"'{text}" if text.startswith(_FORMULA) else text
    return value


def _escaped(value: Value) -> str:
    if value is None:
        return "--"
    text = f"{value:.3f}" if isinstance(value, float) else visible(str(value), 300)
    return "".join(_LATEX.get(char, char) for char in text)


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"
