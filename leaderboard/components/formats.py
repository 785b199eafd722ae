"""Tables as files to take away: CSV, JSON and LaTeX, in which no text can become a formula or a command."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence

from leaderboard.components.markup import visible

__all__ = ["Row", "as_csv", "as_json", "as_latex"]

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
