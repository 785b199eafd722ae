"""Analyses of a quarter: each question with its figure, explanation, notes and table."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

import polars as pl

from leaderboard.components.markup import DASH, Html, bundled_notice, el, inner_link, join, named, visible
from leaderboard.components.scale import metric_titles
from leaderboard.components.tables import Cell, Value, as_csv, table
from leaderboard.data.analyses import BoardAnalysis
from leaderboard.data.board import Board
from leaderboard.views.visit import Page, Visit, where

_LEDE = "What a quarter shows beyond a score: one question at a time, with its answer, figure and table."
_MOST_ROWS = 100  # rows of a table on a page; its files have all
_FOLDED_ROWS = 40

_TITLES = {
    "n": "Samples", "clusters": "Clusters", "effective_clusters": "Effective clusters", "p_value": "p",
    "p_adjusted": "p, adjusted", "usd_per_1000_samples": "USD for 1,000 samples", "cost_usd": "Cost in USD",
    "smoke_test": "Smoke test", "auc": "AUC", "ece": "ECE", "ece_mass": "ECE, equal bins",
    "ece_debiased": "ECE, debiased (upper bound)", "ece_p_value": "p of calibration",
    "ece_mass_debiased": "ECE, equal bins, debiased (upper bound)", "ece_mass_p_value": "p of calibration, equal bins",
    "quarter_of": "Quarter of",
}  # fmt: skip
# Words at the end of a column's name that begin its title.
_FIRST = {"least": "least", "most": "most", "spread": "spread of"}
_GROUPS = {
    "How sure is the ranking?": (
        "ranking", "temporal-consistency", "prompt-sensitivity", "deployment", "robustness", "text-alone",
    ),
    "What kind of mistakes are made?": (
        "precision-recall", "votes", "intercepts", "difficulty", "slices", "subgroups", "agreement", "calibration",
        "certainty", "silence", "parsing",
    ),
    "What made the score?": (
        "search-gain", "placebo", "contamination", "memory", "known-when", "category-gains", "cost",
    ),
}  # fmt: skip
_MORE = "More questions"
_EFFECTS = ("difference", "step", "gain", "memory", "over_chance", "less_best")
_MEASURES = ("value", "share", "agreement", "ece", "second_precision", "precision")
# Columns of differences, of other findings, and of their subjects; the first existing one is the answer.
_ABOUT = ("system", "first", "second", "factor", "slice", "bin", "fact", "text", "period", "what")
_WHOSE = ("system", "first", "second")
_VALUES = ("value", "difference", "share")
_REMARKS = ("not_adjusted",)  # columns of sentences, shown below the table


def _compose(visit: Visit) -> None:
    visit.header("Analyses", _LEDE)
    split = visit.split()
    visit.show(bundled_notice(visit.board.is_bundled(split)))
    groups: dict[str, list[BoardAnalysis]] = {title: [] for title in (*_GROUPS, _MORE)}
    without: list[BoardAnalysis] = []
    for one in visit.board.analyses(split):
        of = next((title for title, names in _GROUPS.items() if one.text.name in names), _MORE)
        (without if one.text.missing else groups[of]).append(one)
    visit.show(_questions(groups))
    for title, analyses in groups.items():
        visit.show(el("h2", title) if analyses else None)
        for analysis in analyses:
            _section(visit, analysis)
    items = (_without_figure(visit, one) for one in without)
    folded = el("details", el("summary", f"Without a figure here: {len(without)} questions"), el("ul", *items))
    visit.show(folded if without else None)


def _section(visit: Visit, analysis: BoardAnalysis) -> None:
    """One question with its answer, its figure as a picture, the first rows of its table, and files beside the page."""
    svg, text = analysis.svg(), analysis.text
    said = f"{text.title}: {text.question} The table below has the numbers."
    image = visit.picture(text.name, svg, analysis.svg("narrow.svg"), said) if svg else None
    visit.show(analysis_section(analysis, image, _whole(visit, analysis)))


def _whole(visit: Visit, analysis: BoardAnalysis) -> Html | None:
    if not analysis.text.row_count:
        return None
    file = visit.attach(f"{analysis.text.name}.csv", as_csv(plain_rows(analysis.table())).encode())
    return el("p", el("a", "The whole table as CSV", href=file, download="")) if file else None


def _without_figure(visit: Visit, analysis: BoardAnalysis) -> Html:
    why = el("small", f" {visible(analysis.text.missing, 300)}")
    return el("li", analysis.text.question, why, _whole(visit, analysis), id=analysis.text.name)


def analysis_section(analysis: BoardAnalysis, picture: Html | None, whole: Html | None = None) -> Html:
    """A complete analysis: question, answer, picture, and, folded, the explanation and the first rows of its table.

    Args:
        analysis: to show.
        picture: its figure, if any.
        whole: link to the whole table.

    Raises:
        DataError: if its table has been changed (`damaged-board`).
    """
    table = analysis.table()
    rows = findings(table, most=_FOLDED_ROWS)
    return el(
        "section",
        el("div", el("p", analysis.text.title, class_="hf-kicker"), el("h3", analysis.text.question)),
        el("p", el("strong", answer(table))),
        el("figure", picture, class_="hf-picture", tabindex=0) if picture else None,
        el("details", el("summary", "How to read it"), _reading(analysis)),
        el("details", el("summary", "The numbers"), rows, whole) if rows else None,
        id=analysis.text.name,
    )


def answer(rows: pl.DataFrame) -> str | None:
    """The result of a table of findings in one sentence; None if it has none.

    For differences, the number surely above or below zero; for ranks, the number of systems that may be first; for
    values, the highest and the lowest, and whether their intervals overlap.
    """
    return _of_differences(rows) or _of_ranks(rows) or _of_values(rows)


def _of_differences(rows: pl.DataFrame) -> str | None:
    effect = next((name for name in _EFFECTS if name in rows.columns), "")
    low, high = (next((one for one in (f"{effect}_{end}", end) if one in rows.columns), "") for end in ("low", "high"))
    if not (effect and low and high) or (found := rows.drop_nulls([effect, low, high])).is_empty():
        return None
    above, below = found.filter(pl.col(low) > 0).height, found.filter(pl.col(high) < 0).height
    what = f"{found.height:,} {'difference' if found.height == 1 else 'differences'}"
    return f"Clearly above zero: {above:,} of {what}; clearly below: {below:,}. The others may be chance."


def _of_ranks(rows: pl.DataFrame) -> str | None:
    ranked = rows.drop_nulls("tie_group") if "tie_group" in rows.columns else rows.clear()
    first = ranked.filter(pl.col("tie_group") == ranked["tie_group"].min()).height if ranked.height else 0
    if ranked.height == 1:
        return "Only one system is ranked."
    if first == 1:
        return f"The first of {ranked.height:,} ranked systems is significantly better than all others."
    said = f"{first:,} of {ranked.height:,} ranked systems may be the best: they do not differ significantly."
    return said if first else None


def _of_values(rows: pl.DataFrame) -> str | None:
    measure = next((name for name in _MEASURES if name in rows.columns and rows[name].drop_nulls().len()), None)
    if measure is None:
        return None
    found = rows.drop_nulls(measure).sort(measure)
    ends = [found.row(at, named=True) for at in (0, -1)]
    low, high = (_text(measure, row[measure]) for row in ends)
    if low == high:
        return f"{_column_title(measure)} is {low} throughout."
    low, high = (f"{_whose(row)} ({value})" for value, row in zip((low, high), ends, strict=True))
    metric = found["metric"][0] if "metric" in found.columns else measure
    title = metric_titles().get(str(metric)) or _column_title(measure)
    return f"{title} is highest for {high} and lowest for {low}.{_apart(measure, *ends)}"


def _apart(measure: str, least: Mapping[str, Value], most: Mapping[str, Value]) -> str:
    """Whether the intervals of the lowest and the highest value overlap; empty without intervals."""
    for low, high in ((f"{measure}_low", f"{measure}_high"), ("low", "high")):
        above, below = least.get(high), most.get(low)
        if isinstance(above, float) and isinstance(below, float):
            return (
                " Their intervals do not overlap." if above < below else " Their intervals overlap: it may be chance."
            )
    return ""


def _whose(row: dict[str, Value]) -> str:
    parts = [visible(str(row[name]), 60) for name in _ABOUT if row.get(name) is not None]
    return ", ".join(parts) or "all"


def _reading(analysis: BoardAnalysis) -> Html:
    """How to read the figure, and its caveats."""
    rest = analysis.text.figure.left_out if analysis.text.figure else ""
    said = [*([rest] if rest else []), *analysis.text.notes]
    notes = el("ul", *(el("li", named(note, 1000)) for note in said), class_="hf-notes") if said else None
    return el("div", el("p", analysis.text.how_to_read), notes, class_="hf-reading")


def _questions(groups: Mapping[str, Sequence[BoardAnalysis]]) -> Html:
    """A list of all questions that have a figure, by group."""
    shown = [
        el(
            "div",
            el("p", el("strong", title)),
            el("ul", *(el("li", inner_link(f"#{one.text.name}", one.text.question)) for one in all_)),
        )
        for title, all_ in groups.items()
        if all_
    ]
    return el("nav", el("div", *shown, class_="hf-two"), class_="hf-questions", aria_label="All questions")


def _column_title(name: str) -> str:
    """The title of a column in the table's head."""
    titles = metric_titles()
    if name in _TITLES or name in titles:
        return _TITLES.get(name) or titles[name]
    *words, last = name.split("_")
    ordered = [_FIRST[last], *words] if last in _FIRST else [*words, last]
    text = " ".join(titles.get(word, word) for word in ordered)
    return f"{text[:1].upper()}{text[1:]}"


def plain_rows(rows: pl.DataFrame) -> list[dict[str, Value]]:
    """The rows for downloads; infinite and missing numbers are unknown."""
    return [
        {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()}
        for row in rows.to_dicts()
    ]


def findings(rows: pl.DataFrame, *, most: int = _MOST_ROWS) -> Html | None:
    """The table of an analysis; None if it has no rows.

    Empty columns are left out. Values that are equal in every row are shown once, below the table.

    Args:
        rows: the findings.
        most: maximal number of rows.
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
    """The distinct sentences of a column, each with its subjects."""
    for said, theirs in rows.drop_nulls(name).group_by(name, maintain_order=True):
        whose = join(part for system in theirs["system"] for part in (", ", named(str(system), 60)))
        yield join([f"{_column_title(name)}: ", named(str(said[0]), 300), whose])


def _is_same(rows: pl.DataFrame, name: str) -> bool:
    """Whether a descriptive column has the same value in all of several rows."""
    return (
        rows.height > 1
        and name not in _WHOSE
        and (name == "effective_clusters" or not rows.schema[name].is_float())
        and rows[name].null_count() == 0
        and rows[name].n_unique() == 1
    )


def _columns(rows: pl.DataFrame) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The visible columns, each with those shown under its values: limits of intervals, and teams."""
    names = set(rows.columns)
    limits = {
        name: (f"{name}_low", f"{name}_high") for name in rows.columns if {f"{name}_low", f"{name}_high"} <= names
    }
    # If two values precede a pair of bare limits, these belong to the last: a difference follows its operands.
    bare = [name for name in _VALUES if name in names and name not in limits]
    if bare and {"low", "high"} <= names:
        limits[max(bare, key=rows.columns.index)] = ("low", "high")
    taken = {name for pair in limits.values() for name in pair}
    for name in rows.columns:
        if name not in taken and not (name == "team" and "system" in names):
            yield name, ("team",) if name == "system" and "team" in names else limits.get(name, ())


def _text(name: str, value: Value) -> str:
    """A value for readers."""
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


PAGE = Page("Analyses", "analyses", _compose, _LEDE, where(Board.analyses), "analyses/index")
