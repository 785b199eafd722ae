"""The questions that are asked of a quarter: each with its figure, how to read it, its notes and its table."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import polars as pl

from leaderboard.components.markup import DASH, Html, bundled_notice, el, inner_link, join, named, visible
from leaderboard.components.scale import metric_titles
from leaderboard.components.tables import Cell, Value, as_csv, table
from leaderboard.data.analyses import BoardAnalysis
from leaderboard.data.board import Board, SplitKey
from leaderboard.views.visit import Choices, Page, Visit

_LEDE = "What a quarter shows beyond a score: one question at a time, with figure and table."
_MOST_ROWS = 100
"""Rows of a table on a page; its files have all."""
_FOLDED_ROWS = 40

_TITLES = {
    "n": "Samples", "clusters": "Clusters", "effective_clusters": "Effective clusters", "p_value": "p",
    "p_adjusted": "p, adjusted", "usd_per_1000_samples": "USD for 1,000 samples", "cost_usd": "Cost in USD",
    "smoke_test": "Smoke test", "auc": "AUC", "ece": "ECE", "ece_mass": "ECE, equal bins",
    "ece_debiased": "ECE, debiased (upper bound)", "ece_p_value": "p of calibration",
    "ece_mass_debiased": "ECE, equal bins, debiased (upper bound)", "ece_mass_p_value": "p of calibration, equal bins",
    "quarter_of": "Quarter of",
}  # fmt: skip
_FIRST = {"least": "least", "most": "most", "spread": "spread of"}
"""Words at the end of a column's name that come first in its title."""
_WHOSE = ("system", "first", "second")
_VALUES = ("value", "difference", "share")
_REMARKS = ("not_adjusted",)
"""Columns of sentences, which stand below the table."""


def _compose(visit: Visit) -> None:
    visit.header("Analyses", _LEDE)
    split = visit.split()
    found = visit.board.analyses(split)
    visit.show(bundled_notice(visit.board.is_bundled(split)))
    visit.show(questions(found, lambda name: f"#{name}"))
    for analysis in found:
        _section(visit, analysis)


def _section(visit: Visit, analysis: BoardAnalysis) -> None:
    """One question with a picture of its figure, the first rows of its table, and files beside the page."""
    svg = analysis.svg()
    address = visit.picture(f"{analysis.text.name}.svg", svg) if svg else ""
    whole = None
    if analysis.text.row_count:
        file = visit.attach(f"{analysis.text.name}.csv", as_csv(plain_rows(analysis.table())).encode())
        whole = el("p", el("a", "The whole table as CSV", href=file, download="")) if file else None
    visit.show(analysis_section(analysis, address, whole))


def analysis_section(analysis: BoardAnalysis, picture: str, whole: Html | None = None) -> Html:
    """All of one analysis on a page without a server, the first rows of its table behind a fold.

    Args:
        analysis: which.
        picture: the address of its figure, which as a picture can run nothing; empty if absent.
        whole: where the whole table is.

    Raises:
        DataError: if its table is not the one that was made (`damaged-board`).
    """
    rows = findings(analysis.table(), most=_FOLDED_ROWS)
    said = f"{analysis.text.title}: {analysis.text.question} The table below has the numbers."
    return el(
        "section",
        _head(analysis),
        el("figure", el("img", src=picture, alt=said, loading="lazy"), class_="hf-picture") if picture else None,
        _reading(analysis),
        el("details", el("summary", "The numbers"), rows, whole) if rows else None,
        id=analysis.text.name,
    )


def _head(analysis: BoardAnalysis) -> Html:
    """Title and question, and why there is no figure, if so."""
    missing = el("p", el("strong", "No figure. "), visible(analysis.text.missing, 1000), class_="hf-missing")
    head = el(
        "div", el("p", analysis.text.title, class_="hf-kicker"), el("h2", analysis.text.question), class_="hf-heading"
    )
    return join([head, missing if analysis.text.missing else None])


def _reading(analysis: BoardAnalysis) -> Html:
    """How to read the figure, and what to know of it."""
    rest = analysis.text.figure.left_out if analysis.text.figure else ""
    said = [*([rest] if rest else []), *analysis.text.notes]
    notes = el("ul", *(el("li", named(note, 1000)) for note in said), class_="hf-notes")
    return el(
        "div",
        el("h3", "How to read it"),
        el("p", analysis.text.how_to_read),
        join([el("h3", "To know"), notes]) if said else None,
        class_="hf-reading",
    )


def questions(analyses: Sequence[BoardAnalysis], address: Callable[[str], str | None]) -> Html:
    """A list of all questions, those without a figure with the reason.

    Args:
        analyses: in order.
        address: where the analysis of that name is shown, as in `leaderboard.components.labels.Links`.
    """
    items = (
        el(
            "li",
            inner_link(address(one.text.name), one.text.question),
            el("small", f" No figure: {visible(one.text.missing, 300)}") if one.text.missing else None,
        )
        for one in analyses
    )
    return el("nav", el("h2", "All questions"), el("ol", *items), class_="hf-questions", aria_label="All questions")


def _column_title(name: str) -> str:
    """A column's name as a table's head has it."""
    titles = metric_titles()
    if name in _TITLES or name in titles:
        return _TITLES.get(name) or titles[name]
    *words, last = name.split("_")
    ordered = [_FIRST[last], *words] if last in _FIRST else [*words, last]
    text = " ".join(titles.get(word, word) for word in ordered)
    return f"{text[:1].upper()}{text[1:]}"


def plain_rows(rows: pl.DataFrame) -> list[dict[str, Value]]:
    """The rows for downloads; numbers that are not finite are unknown."""
    return [
        {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()}
        for row in rows.to_dicts()
    ]


def findings(rows: pl.DataFrame, *, most: int = _MOST_ROWS) -> Html | None:
    """The table of an analysis; None where it has no rows.

    Columns without any value are left out. What is the same in every row is said once, below the table.

    Args:
        rows: the findings.
        most: rows to show.
    """
    if not rows.height:
        return None
    filled = rows.select(name for name in rows.columns if rows[name].null_count() < rows.height)
    remarks = [text for name in _REMARKS if name in filled.columns for text in _remarks(filled.head(most), name)]
    filled = filled.drop(_REMARKS, strict=False)
    same = [name for name in filled.columns if _is_same(filled, name)]
    metric = metric_titles().get(str(filled["metric"][0])) if "metric" in same else None
    varied = filled.drop(same)
    shown = list(_columns(varied))
    numeric = {name for name, _ in shown if varied.schema[name].is_numeric()}
    columns = [
        (
            "number" if name in numeric else "name" if name in _WHOSE else "text",
            (metric or "Value") if name == "value" else _column_title(name),
        )
        for name, _ in shown
    ]
    cells = ([_finding(row, name, below, numeric) for name, below in shown] for row in plain_rows(varied.head(most)))
    more = f"The first {most} of {rows.height:,} rows; the files hold all of them." if rows.height > most else ""
    constant = [f"{_column_title(name)}: {_text(name, filled[name][0])}" for name in same]
    listed = table("Findings", columns, cells, "hf-wide hf-findings")
    return join(
        [
            el("div", listed, class_="hf-scroll", role="region", tabindex=0, aria_label="Table of findings"),
            *(el("p", el("small", text)) for text in remarks),
            el("p", el("small", more)) if more else None,
            el("p", el("small", "The same in every row. ", named("; ".join(constant), 600))) if constant else None,
        ]
    )


def _finding(row: dict[str, Value], name: str, below: tuple[str, ...], numeric: Collection[str]) -> Cell:
    """A value, over the limits of its interval or a team."""
    value, small = row[name], [row[part] for part in below]
    if name not in numeric:
        text = el("bdi", DASH) if value is None else named(_text(name, value), 80)
        return text, named(str(small[0]), 60) if small and small[0] else None
    limits = None if not below or None in small else DASH.join(_text(part, row[part]) for part in below)
    return DASH if value is None else _text(name, value), limits


def _remarks(rows: pl.DataFrame, name: str) -> Iterator[Html]:
    """What a column of sentences says, once a sentence, with whom it is about."""
    for said, theirs in rows.drop_nulls(name).group_by(name, maintain_order=True):
        whose = join(part for system in theirs["system"] for part in (", ", named(str(system), 60)))
        yield join([f"{_column_title(name)}: ", named(str(said[0]), 300), whose])


def _is_same(rows: pl.DataFrame, name: str) -> bool:
    """Whether a column that describes, rather than being a finding, says the same in all of several rows."""
    return (
        rows.height > 1
        and name not in _WHOSE
        and (name == "effective_clusters" or not rows.schema[name].is_float())
        and rows[name].null_count() == 0
        and rows[name].n_unique() == 1
    )


def _columns(rows: pl.DataFrame) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The columns to show, each with those that stand under its values: limits of intervals, and teams."""
    names = set(rows.columns)
    limits = {
        name: (f"{name}_low", f"{name}_high") for name in rows.columns if {f"{name}_low", f"{name}_high"} <= names
    }
    # Where two values stand before a pair of bare limits, the last one is theirs: a difference after what it is of.
    bare = [name for name in _VALUES if name in names and name not in limits]
    if bare and {"low", "high"} <= names:
        limits[max(bare, key=rows.columns.index)] = ("low", "high")
    taken = {name for pair in limits.values() for name in pair}
    for name in rows.columns:
        if name not in taken and not (name == "team" and "system" in names):
            yield name, ("team",) if name == "system" and "team" in names else limits.get(name, ())


def _text(name: str, value: Value) -> str:
    """A value as a reader wants it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(name, value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _number(name: str, value: float) -> str:
    if name in {"from", "to"}:
        return f"{value:,.6g}"
    if name == "effective_clusters":
        return f"{value:,.1f}"
    if name.startswith("variance"):
        return f"{value:.5f}"
    if "usd" in name or 0 < abs(value) < 0.0005:
        return f"{value:.3g}"
    shown = f"{value:,.2f}" if name.endswith(("low", "high")) else f"{value:,.3f}"
    return shown.replace("-", "\N{MINUS SIGN}")


def _copies(board: Board, split: SplitKey) -> Iterable[Choices]:
    return [{}] if board.analyses(split) else []


PAGE = Page("Analyses", "analyses", _compose, _LEDE, _copies, "analyses/index")
