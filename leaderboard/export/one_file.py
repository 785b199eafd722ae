"""Self-contained HTML pages that open from disk, such as a comparison of systems, which is also drawn as a picture, a
Markdown or a LaTeX table.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from math import isnan

from hellofresh import __version__
from hellofresh.results.comparison import ScoreComparison
from leaderboard.components.markup import Html, el, heading, named, page_header, visible
from leaderboard.components.ranking import RankingPicture, front_of
from leaderboard.components.scale import Scale, signed
from leaderboard.components.tables import Cell, Row, as_csv, as_json, as_latex, card_section, scrolled, table
from leaderboard.data.board import MetricValue
from leaderboard.export.copy import document, style

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_STYLE = """
main { padding: 1.25rem 1rem 3rem; max-width: 72rem; margin: 0 auto; }
@media print { @page { margin: 1cm; } main { padding: 0; zoom: .5; } .hf h2 { margin: .5rem 0 .1rem; }
  .hf ul, .hf dl { max-width: none; margin-block: .2rem; } .hf td { padding-block: .2rem; }
  .hf dl.hf-facts { columns: 2; font-size: .8125rem; }
  .hf-facts div { break-inside: avoid; } .hf .hf-facts div { grid-template-columns: 1fr 1fr; padding-block: .1rem; }
  .hf .hf-row { min-height: 2rem; } .hf-heading:has([download]) { display: none; } .hf-foot { margin: 0; padding: 0; }
  .hf .hf-scroll { overflow: visible; }
  .hf .hf-scroll .hf-table :is(th, td) { white-space: normal; overflow-wrap: anywhere; } }
"""
_LEFT, _WIDTH, _ROW, _MOST_IN_MATRIX = 180, 640, 22, 40


def forest_svg(compared: ScoreComparison, card: Sequence[Row] = ()) -> str:
    """Each mean with its interval, the best first; the dashed line marks the leader's mean. The axis ends at round
    numbers.
    """
    names, *values = (compared.table[name].to_list() for name in ("system", "mean", "low", "high"))
    rows = [MetricValue(name, mean, *((mean, mean) if isnan(low) else (low, high)))
            for name, mean, low, high in zip(names, *values, strict=True)]  # fmt: skip
    low, high, height = min(row.low for row in rows), max(row.high for row in rows), _ROW * (len(rows) + 2)
    span = high - low or 1.0
    drawn = Scale(low=low - span, high=high + span).zoomed(rows)

    def x(value: float) -> str:
        return f"{_LEFT + drawn.share(value) * (_WIDTH - _LEFT - 20):.1f}"

    at = x(rows[0].value)
    parts = [f'<line x1="{at}" x2="{at}" y1="4" y2="{height - _ROW}" stroke="#888" stroke-dasharray="4 3"/>']
    for place, row in enumerate(rows):
        y = _ROW * (place + 0.75)
        parts.append(
            f'<text x="{_LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(visible(row.name, 22))}</text>'
            f'<line x1="{x(row.low)}" x2="{x(row.high)}" y1="{y}" y2="{y}" stroke="#2f6db3" stroke-width="3"/>'
            f'<circle cx="{x(row.value)}" cy="{y}" r="4.5" fill="#123"/>'
        )
    marks = zip((drawn.low, (drawn.low + drawn.high) / 2, drawn.high), ("start", "middle", "end"), strict=True)
    parts += [f'<text x="{x(at)}" y="{height - 4}" text-anchor="{side}">{at:g}</text>' for at, side in marks]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" font-size="13" '
    label = escape(visible(compared.sentence, 500))
    return f'{head}font-family="sans-serif" aria-label="{label}">{"".join(parts)}</svg>\n'


def compare_page(compared: ScoreComparison, card: Sequence[Row] = ()) -> str:
    """The page of a comparison, which opens alone."""
    tables = {"systems": compared.table.to_dicts(), "pairs": compared.pairs.to_dicts()}
    lede = compared.sentence if "tie_group" not in compared.table.columns else ""
    return one_page("Is first place real?", lede, *compare_sections(compared, card), said=compared.said, **tables)


def compare_sections(compared: ScoreComparison, card: Sequence[Row] = ()) -> list[Html | None]:
    """The verdict, ranks with brackets, what the lead depends on, the card if given, figures of systems, all pairs."""
    systems, ranking = compared.shown()[0], []
    if "tie_group" in compared.table.columns:  # not beside a baseline
        picture = RankingPicture.of_comparison(compared)
        front = front_of(picture.lines, picture.scale)
        ranking = [front.draw(visible(compared.sentence, 2000)) if front else None, picture.draw()]
    return [
        *ranking,
        heading("What the lead depends on"),
        el("ul", *(el("li", named(note, 1000)) for note in compared.notes)),
        *card_section(card),
        heading("Systems", "Means with 95% intervals; ranks with the best and the worst that the data allow."),
        _listed("Systems", systems[0], (row.values() for row in systems)),
        heading(
            "Pairs", "Row minus column, with the p-value adjusted for all pairs (step-down max-t); bold: below .05."
        ),
        _pairs(compared),
    ]


def one_page(title: str, lede: str, *parts: Html | None, said: str, **tables: Sequence[Row]) -> str:
    """A self-contained HTML file.

    Args:
        title, lede: at the top.
        parts: the content.
        said: the source of the data.
        tables: rows to download, by the names of the files.
    """
    ways: list[Html | str] = []
    for name, rows in tables.items():
        for kind, write in (("csv", as_csv), ("json", as_json), ("tex", as_latex)):
            ways += [el("a", f"{name}.{kind}", href=_data("text/plain", write(rows)), download=f"{name}.{kind}"), " "]
    foot = el("footer", el("p", f"{visible(said, 1000)}. Made by hellofresh {__version__}."), class_="hf-foot")
    head = page_header(title, visible(lede, 2000))
    body = el("main", head, *parts, heading("Downloads", *ways), foot, class_="hf")
    return document(title, f"{title}.", _POLICY, [el("style", Html(style() + _STYLE))], el("body", body))


def _pairs(compared: ScoreComparison) -> Html:
    """The matrix of pairs; a list with a baseline, and only the files for many systems."""
    names = compared.table["system"].to_list()
    if compared.pairs.height < len(names):
        pairs = compared.shown()[1]
        return _listed("Differences", pairs[0], (row.values() for row in pairs))
    if len(names) > _MOST_IN_MATRIX:
        return el("p", f"All {compared.pairs.height:,} pairs are in the files below.")
    known = {(one, two): (by, p) for one, two, by, p in compared.pairs["one", "two", "difference", "adjusted"].rows()}
    known |= {(two, one): (-by, p) for (one, two), (by, p) in known.items()}
    shown: dict[tuple[str, str], Cell] = {
        pair: (el("b" if p < 0.05 else "span", signed(by)), "p < .001" if p < 0.001 else f"p {p:.3f}")
        for pair, (by, p) in known.items()
    }
    rows = ([one, *(shown.get((one, two), "") for two in names)] for one in names)
    return _listed("Differences, row less column", ["System", *names], rows)


def _listed(title: str, heads: Iterable[str], rows: Iterable[Iterable[Cell]]) -> Html:
    """A table whose first column names systems."""
    columns = [("number" if place else "name", visible(head, 40)) for place, head in enumerate(heads)]
    lines = [[named(one, 60) if isinstance(one, str) and one else one for one in row] for row in rows]
    return scrolled(table(title, columns, lines, "hf-rated", whole=True))


def _data(media: str, text: str) -> str:
    return f"data:{media};base64,{base64.b64encode(text.encode()).decode()}"


def _journal(compared: ScoreComparison) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Systems and pairs as a paper prints them."""
    systems, pairs = compared.shown()
    return [{name: text for name, text in row.items() if name != "first"} for row in systems], [
        {**{name: text for name, text in row.items() if name != "p"}, "p, all pairs": _p(row["p, all pairs"])}
        for row in pairs
    ]


def _p(text: str) -> str:
    return "< .001" if float(text) < 0.001 else f"{float(text):.3f}".removeprefix("0")


def _markdown(compared: ScoreComparison, card: Sequence[Row] = ()) -> str:
    def listed(rows: Sequence[Row]) -> str:
        lines = [list(rows[0]), ["---"] * len(rows[0]), *([str(one) for one in row.values()] for row in rows)]
        texts = (" | ".join(escape(visible(text, 200)).replace("|", "\\|") for text in row) for row in lines)
        return "\n".join(f"| {line} |" for line in texts)

    said = escape(visible(compared.sentence, 2000))
    tables = [listed(rows) for rows in (*_journal(compared), card) if rows]
    return "\n\n".join([said, *tables, *map(escape, compared.notes), ""])


def _latex(compared: ScoreComparison, card: Sequence[Row] = ()) -> str:
    comment = "% " + visible(compared.sentence, 2000).replace("\n", " ").replace("<", "\\textless{}")
    return "\n\n".join([comment, *(as_latex(rows) for rows in (*_journal(compared), card) if rows)])


WRITERS: Mapping[str, Callable[[ScoreComparison, Sequence[Row]], str]] = {
    ".html": compare_page,
    ".svg": forest_svg,
    ".tex": _latex,
    ".md": _markdown,
}
"""Writers of a comparison with its card, which may be empty, by the ending of the file."""
