"""HTML tables, lists of facts, and tables as files, in which no text can become a formula or a command."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from hellofresh.core.texts import disarmed
from leaderboard.components.markup import DASH, Html, el, join, visible
from leaderboard.components.scale import figure
from leaderboard.data.board import MetricValue

Value = str | int | float | bool | None
Text = Html | str
Cell = Text | tuple[Text, Text | None] | None
"""A cell's content, with the small text below it, if any."""
Column = tuple[str, Text]
"""The kind of a column, used as the class of its cells, and its title."""


class Marked(NamedTuple):
    """A row with a class of its own."""

    kind: str | None
    cells: Sequence[Cell]


def score(metric: MetricValue | None) -> Cell:
    """A metric's value over its interval; a dash if unknown."""
    return DASH if metric is None else (figure(metric.value, metric.name), interval(metric))


def interval(metric: MetricValue) -> str:
    """The limits of a metric's interval."""
    return span(*(figure(limit, metric.name, 2) for limit in (metric.low, metric.high)))


def span(low: str, high: str) -> str:
    """An interval; a dash would look like a second minus before a negative limit."""
    return f"{low} to {high}" if "-" in low + high else f"{low}{DASH}{high}"


def cell(kind: str, label: Text, content: Cell, group: str = "") -> Html:
    """A table cell; the label is shown before its value when phones show rows as cards; filters compare the group."""
    if kind == "drawn":
        return el("td", content if isinstance(content, Html) else None, class_="hf-drawn", role="cell")
    value, small = content if isinstance(content, tuple) else (content, None)
    below = el("small", small) if small is not None else None
    # Browsers process every element and attribute of a table: numbers, the most frequent cells, need no class.
    shown = None if kind == "number" else f"hf-{kind}"
    return el(
        "td", value, below, class_=shown, data_label=label if isinstance(label, str) else "",
        data_group=group or None, role="cell",
    )  # fmt: skip


def table(caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Cell] | Marked], kind: str) -> Html:
    """A table.

    Args:
        caption: describes the content for screen readers.
        columns: kind and title of each; `drawn` ones hold drawings, which screen readers skip.
        rows: a cell for each column.
        kind: class that determines its layout.
    """
    lines = []
    for row in rows:
        mark, cells = row if isinstance(row, Marked) else (None, row)
        made = (cell(form, title, content) for (form, title), content in zip(columns, cells, strict=True))
        lines.append(el("tr", *made, class_=mark, role="row"))
    return grouped_table(caption, columns, [el("tbody", *lines, role="rowgroup")], kind)


def grouped_table(caption: str, columns: Iterable[Column], bodies: Iterable[Html], kind: str) -> Html:
    """A table of finished `tbody` elements; otherwise as `table`."""
    heads = []
    for name, title in columns:
        # For screen readers, where sighted readers see nothing or a scale.
        spoken = "Drawn" if name == "drawn" else "Rank" if name == "rank" and not title else ""
        unseen = el("span", spoken, class_="hf-unseen") if spoken else None
        heads.append(el("th", unseen, title, scope="col", class_=f"hf-{name}", role="columnheader"))
    head = el("thead", el("tr", *heads, role="row"), role="rowgroup")
    return el("table", el("caption", caption), head, join(bodies), class_=f"hf-table {kind}", role="table")


def scrolled(shown: Html) -> Html:
    """A table that may be wider than the page; keys scroll it too."""
    return el("div", shown, class_="hf-scroll", tabindex=0)


def definitions(lines: Iterable[tuple[Text, Text | None]], kind: str | None = None) -> Html:
    """Terms with their meanings; those without are left out."""
    pairs = (el("div", el("dt", term), el("dd", text)) for term, text in lines if text is not None)
    return el("dl", *pairs, class_=kind)


def facts(lines: Iterable[tuple[Text, Text | None]]) -> Html:
    """Facts, a line each; None is left out."""
    return definitions(lines, "hf-facts")


FIRST = 5
"""Number of the first column that can be hidden, from 1: rank, system, score and its drawing precede it."""


def table_tools(
    columns: Iterable[str] = (), hidden: Collection[str] = (), filters: Mapping[str, str] | None = None
) -> Html:
    """Search, filters, order and columns of a table of systems, all in one element.

    `table.js` runs them; without it they are invisible.

    Args:
        columns: titles of columns that can be hidden, from column `FIRST` on.
        hidden: titles of columns hidden by default.
        filters: titles of the columns with filters, with the choice of all rows; of the regime if left out.
    """
    find = el("input", type="search", id="find", maxlength=100, autocomplete="off", spellcheck="false")
    boxes = [
        el("label", el("input", type="checkbox", checked=None if name in hidden else "", value=number), " ", name)
        for number, name in enumerate(columns, start=FIRST)
    ]
    selects = []
    sources = {"": "Run or replayed here", "all": "All sources"}
    given = [(name, {"": every}) for name, every in (filters or {"Regime": "All regimes"}).items()]
    for name, options in (*given, ("Provenance", sources), ("Order", {"": "As ranked"})):
        key = name.lower()
        choice = el(
            "select", *(el("option", text, value=value) for value, text in options.items()), id=key,
            data_column=name if (name, options) in given else None,
        )  # fmt: skip
        selects.append(el("div", el("label", name, for_=key), choice, class_=f"hf-choice hf-{key}"))
    drawn = el("input", type="checkbox", id="bootstrap")
    menu = el("details", el("summary", "Columns"), el("div", *boxes, role="group", aria_label="Columns to show"))
    return el(
        "div",
        el("div", el("label", "Find a system or team", for_="find"), find),
        el("button", "Filters", type="button", class_="hf-more", aria_expanded="false"),
        *selects,
        menu if boxes else None,
        el("div", el("label", drawn, " Draw bootstrap intervals"), class_="hf-bootstrap") if boxes else None,
        el("p", role="status"),
        class_="hf-tools",
        role="search",
    )


Row = Mapping[str, Value]
_LATEX = {char: f"\\{char}" for char in "{}$&#%_"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}


def as_csv(rows: Sequence[Row]) -> str:
    """Comma-separated values with a header; texts that a spreadsheet would take for formulas get an apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(list(rows[0]) if rows else [])
    for row in rows:
        writer.writerow([disarmed(visible(one, 300)) if isinstance(one, str) else one for one in row.values()])
    return file.getvalue()


def as_json(rows: Sequence[Row]) -> str:
    """A list of objects; unknown values are null."""
    return json.dumps(list(rows), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def as_latex(rows: Sequence[Row]) -> str:
    """A `tabular` for booktabs; texts are escaped, numbers have three decimals, unknown values are dashes."""
    columns = list(rows[0]) if rows else []
    kinds = "".join("l" if any(isinstance(row[name], str) for row in rows) else "r" for name in columns)
    lines = [_line(map(_escaped, columns)), r"\midrule", *(_line(map(_escaped, row.values())) for row in rows)]
    body = "\n".join([r"\toprule", *lines, r"\bottomrule"])
    return f"% needs \\usepackage{{booktabs}}\n\\begin{{tabular}}{{{kinds}}}\n{body}\n\\end{{tabular}}\n"


def _escaped(value: Value) -> str:
    if value is None:
        return "--"
    text = f"{value:.3f}" if isinstance(value, float) else visible(str(value), 300)
    return "".join(_LATEX.get(char, char) for char in text)


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"
