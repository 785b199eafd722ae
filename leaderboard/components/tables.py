"""HTML tables, lists of facts, and tables as files, in which no text can become a formula or a command."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from hellofresh.core.parquet import Estimate
from hellofresh.core.texts import disarmed
from leaderboard.components.markup import DASH, Html, el, heading, join, visible
from leaderboard.components.scale import figure
from leaderboard.data.board import MetricValue

_FEWEST_SAME = 3
_EMPTY = (None, "", DASH)
_ALWAYS = ("rank", "name", "drawn")  # kinds of columns that stay even if their cells are equal
Value = str | int | float | bool | None
Text = Html | str
Cell = Text | tuple[Text, Text | None] | None
"""A cell's content, with the small text below it, if any."""
Column = tuple[str, Text]
"""The kind of a column, used as the class of its cells, and its title."""
FIRST = 5
"""Number of the first column that can be hidden, from 1: rank, system, score and its drawing precede it."""
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


def estimate(metric: MetricValue, decimals: int = 3) -> str:
    """A metric's value with the limits of its interval, for sentences."""
    value, low, high = (figure(part, metric.name, decimals) for part in (metric.value, metric.low, metric.high))
    return f"{value} ({low} to {high})"


def span(low: str, high: str) -> str:
    """An interval; a dash would look like a second minus before a negative limit."""
    minus = "\N{MINUS SIGN}"
    low, high = low.replace("-", minus), high.replace("-", minus)
    return f"{low} to {high}" if minus in low + high else f"{low}{DASH}{high}"


def estimated(found: Estimate | None, form: str = ".3f", limits: str = "") -> Cell:
    """A number with its interval below it, by a format of each; a dash if it is unknown."""
    value = DASH if found is None else format(found.value, form).replace("-", "\N{MINUS SIGN}")
    if found is None or found.low is None or found.high is None:
        return value
    return value, span(format(found.low, limits or form), format(found.high, limits or form))


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


def is_same(cells: Iterable[object]) -> bool:
    """Whether all cells of a column, at least three, are equal: then its content is in the line above the table."""
    ours = list(cells)
    return len(ours) >= _FEWEST_SAME and all(one == ours[0] for one in ours)


def line_above(same: Iterable[tuple[Text, Cell]]) -> Html | None:
    """What is equal in all rows, by the titles of the columns, which may be empty; None if nothing is."""
    parts: list[Text] = []
    for title, content in same:
        value, small = content if isinstance(content, tuple) else (content, None)
        if value not in _EMPTY:
            parts += ["; ", join([title, ": " if title else None, value, ", " if small else None, small])]
    return el("p", el("small", "In all rows: ", *parts[1:], "."), class_="hf-same") if parts else None


def table(
    caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Cell] | Marked], kind: str, *, whole: bool = False
) -> Html:
    """A table; columns whose cells are all equal go into a line above it, and so do equal small texts of names.

    Args:
        caption: describes the content for screen readers.
        columns: kind and title of each; `drawn` ones hold drawings, which screen readers skip.
        rows: a cell for each column.
        kind: class that determines its layout.
        whole: whether equal columns stay: where a script fills the table, or columns mean the same as rows.
    """
    marked = [row if isinstance(row, Marked) else Marked(None, row) for row in rows]
    by_column: list[Sequence[Cell]] = list(zip(*(row.cells for row in marked), strict=True))
    same = [] if whole else [at for at, (form, _) in enumerate(columns[: len(by_column)])
                             if form not in _ALWAYS and is_same(by_column[at])]  # fmt: skip
    above = [(columns[at][1], by_column[at][0]) for at in same]
    for at, (form, _) in enumerate([] if whole else columns[: len(by_column)]):
        below = [one[1] if isinstance(one, tuple) else None for one in by_column[at]]
        if form == "name" and below[0] and is_same(below):
            by_column[at] = [one[0] if isinstance(one, tuple) else one for one in by_column[at]]
            above.append(("", below[0]))
    kept = [at for at in range(len(columns)) if at not in same]
    lines = []
    for number, row in enumerate(marked):
        made = (cell(*columns[at], by_column[at][number]) for at in kept)
        lines.append(el("tr", *made, class_=row.kind, role="row"))
    body = el("tbody", *lines, role="rowgroup")
    return join([line_above(above), grouped_table(caption, [columns[at] for at in kept], [body], kind)])


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
    """Facts, one per line; None is left out."""
    return definitions(lines, "hf-facts")


def card_section(card: Sequence[Row]) -> list[Html]:
    """The card of a comparison or of a board, or nothing."""
    said = "Leaderboard Reporting Standard, draft 0.2: what the order rests on."
    rows = ((f"{row['field']} {visible(str(row['what']), 200)}", visible(str(row["value"]), 500)) for row in card)
    return [heading("Card", said), definitions(rows, "hf-facts hf-card-facts")] if card else []


def table_tools(
    columns: Iterable[str] = (),
    hidden: Collection[str] = (),
    filters: Mapping[str, str] | None = None,
    compare: str | None = None,
) -> Html:
    """Search, filters, order and columns of a table of systems, all in one element.

    `table.js` runs them; without it they are invisible.

    Args:
        columns: titles of columns that can be hidden, from column `FIRST` on.
        hidden: titles of columns hidden by default.
        filters: titles of the columns with filters, with the choice of all rows; of the regime if left out.
        compare: the address of the page that compares ticked systems; None if absent.
    """
    find = el("input", type="search", id="find", maxlength=100, autocomplete="off", spellcheck="false")
    boxes = [
        el("label", el("input", type="checkbox", checked=None if name in hidden else "", value=number), " ", name)
        for number, name in enumerate(columns, start=FIRST)
    ]
    selects = []
    given = {**(filters or {"Regime": "All regimes"}), "Provenance": "All sources"}
    for name, every in (*given.items(), ("Order", "As ranked")):
        key = name.lower()
        choice = el("select", el("option", every, value=""), id=key, data_column=name if name in given else None)
        selects.append(el("div", el("label", name, for_=key), choice, class_=f"hf-choice hf-{key}"))
    drawn = el("input", type="checkbox", id="bootstrap")
    menu = el("details", el("summary", "Columns"), el("div", *boxes, role="group", aria_label="Columns to show"))
    return el(
        "div",
        el("div", el("label", "Find a system or team", for_="find"), find),
        el("button", "Filters", type="button", class_="hf-more", aria_expanded="false"),
        menu if boxes else None,  # near the left, so that what opens below it stays on the page
        *selects,
        el("div", el("label", drawn, " Draw bootstrap intervals"), class_="hf-bootstrap") if boxes else None,
        el("p", role="status"),
        data_compare=compare,
        class_="hf-tools",
        role="search",
    )


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
