"""Rated responses: systems by criterion, part and kind of judge, responses to one post side by side, and the judges.

Texts that systems wrote are shown as text.
"""

from __future__ import annotations

from collections.abc import Sequence

from hellofresh.judging.study import SMOKE_TEST
from hellofresh.results.board.schema import JudgeRow, RatedResponse, RatedRow
from leaderboard.components.markup import (
    DASH,
    Html,
    el,
    heading,
    inner_link,
    join,
    link,
    named,
    notice,
    visible,
)
from leaderboard.components.tables import Cell, Column, cell, estimated, grouped_table, scrolled, table
from leaderboard.views.visit import Page, Visit, where

_LEDE = "What systems wrote, judged by people, models and classifiers, criterion by criterion."
_JUDGES_LEDE = "Models, classifiers and rules that judge responses, compared with the people whom they replace."
_JUDGES = {"person": "People", "model": "Models", "classifier": "Classifiers", "rule": "Rules"}
_KINDS = {"model": "A model.", "classifier": "A classifier.", "rule": "Rules."}
_MOST_LINKS = 20
_SHADED = "hf-wide hf-agreement hf-findings"
_FEW_RATERS = 3
_RULE = (
    "A judge may rank systems only if it orders pairs of responses to one post as people do in more than 65% of cases "
    "(lower limit), more often than rules that read nothing (the longer, the shorter, the first), and more often than "
    "not both where people prefer the longer response and where they prefer the shorter. People's agreement with each "
    "other shows what to expect."
)


def _compose(visit: Visit) -> None:
    visit.header("Responses", _LEDE)
    split = visit.split()
    rows = visit.board.rows(RatedRow, split)
    for judges in dict.fromkeys(row.kind for row in rows):
        visit.show(el("h2", f"Judged by {_JUDGES.get(judges, judges).lower()}"))
        mine = [row for row in rows if row.kind == judges]
        visit.show(_matrix([row for row in mine if not row.part]))
        for criterion in dict.fromkeys(row.criterion for row in mine):
            parts: dict[str, list[RatedRow]] = {}
            for row in mine:
                if row.criterion == criterion:
                    parts.setdefault(f"{row.part}: {visible(row.value, 60)}" if row.part else "", []).append(row)
            title = el("summary", next(iter(parts.values()))[0].title)
            whole = _rated_table(parts.pop("")) if "" in parts else None
            more = (el("details", el("summary", said), _rated_table(found)) for said, found in parts.items())
            visit.show(el("details", title, whole, *more))
    if visit.board.frame(RatedResponse, split).height:
        way = inner_link(visit.links.to("samples", split), "the page Samples")
        visit.show(heading("The texts", "What systems wrote on each post, side by side, is on ", way, "."))


def _matrix(rows: Sequence[RatedRow]) -> Html | None:
    """Criteria by systems: the means, darker for better ones, with shared first places marked."""
    by_cell = {(row.criterion, row.system): row for row in rows}
    systems, criteria = (list(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("system", "criterion"))
    lines = []
    for criterion in criteria:
        cells = [cell("name", "Criterion", next(row.title for row in rows if row.criterion == criterion))]
        for system in systems:
            row = by_cell.get((criterion, system))
            if row is None:
                cells.append(cell("number", "", DASH))
                continue
            share = (row.mean - row.worst) / ((row.best - row.worst) or 1)
            first = "=" if row.validated and row.tie_group == 1 else ""
            title = f"{row.low:.2f} to {row.high:.2f}, {row.n:,} rated"
            cells.append(el("td", f"{first}{row.mean:.2f}", style=f"--share:{100 * min(max(share, 0), 1):.0f}%",
                            title=title, role="cell"))  # fmt: skip
        lines.append(el("tr", *cells, role="row"))
    columns: list[Column] = [("name", "Criterion"), *(("number", named(system, 30)) for system in systems)]
    shown = grouped_table("Criteria by systems", columns, [el("tbody", *lines, role="rowgroup")], _SHADED)
    said = "Means; darker is better, and = marks those that do not differ significantly from the best."
    return join([el("p", el("small", said)), scrolled(shown)]) if rows else None


def _rated_table(rows: Sequence[RatedRow]) -> Html:
    """Systems on one criterion, on one part of the samples."""
    first = rows[0]
    columns = [("number", "Rank"), ("name", "System"), ("number", "Mean"), ("number", "Rank interval")]
    columns += [("number", "Tie group"), ("number", "Rated")]
    mark = "\N{DAGGER}" if first.raters < _FEW_RATERS else ""
    lines: list[list[Cell]] = []
    for row in rows:
        ranked = row.rank is not None and row.validated
        shown = [str(row.rank), f"{row.rank_low}{DASH}{row.rank_high}", str(row.tie_group)] if ranked else [DASH] * 3
        mean = f"{row.mean:.2f}{mark}", f"{row.low:.2f}{DASH}{row.high:.2f}"
        lines.append([shown[0], named(row.system), mean, *shown[1:], f"{row.n:,}"])
    raters = f"{first.raters} rater{'s' if first.raters > 1 else ''}"
    words = f"{first.definition} From {first.worst:g} (the worst) to {first.best:g}. "
    words += f"{mark}{' ' if mark else ''}Intervals cover other posts, but only these {raters}."
    said = "These judges agree with people on the order of responses too rarely to rank systems."
    warned = None if first.validated else notice("Not validated.", said)
    return join([heading(first.title, words), warned, table(first.title, columns, lines, "hf-rated")])


def side_by_side(responses: Sequence[RatedResponse]) -> Html:
    """Responses to one post side by side, with their citations and ratings."""
    address = next((item.address for item in responses if item.address), "")
    post = el("p", "The post: ", link(address, visible(address, 120))) if address else None
    shown = []
    for item in responses:
        # Line by line, sanitised.
        text = [part for line in item.text.splitlines() for part in (el("br"), visible(line, 20_000))][1:]
        cited = [el("li", link(source, visible(source, 200))) for source in item.sources[:_MOST_LINKS]]
        people = DASH if item.people is None else f"{item.people:.1f} overall ({item.raters} of them)"
        others = DASH if item.judged is None else f"{item.judged:.1f} overall"
        shown.append(
            el(
                "section",
                el("h3", named(item.system)),
                el("p", *(text or ["text withheld"]), class_="hf-response", dir_="auto"),
                el("ul", *cited) if cited else el("p", "It cites nothing."),
                el("dl", el("dt", "People"), el("dd", people), el("dt", "Other judges"), el("dd", others)),
            )
        )
    return join([post, el("div", *shown, class_="hf-two")])


def _compose_judges(visit: Visit) -> None:
    """The conditions for a judge to rank systems, and each judge compared with people."""
    visit.header("Judges", _JUDGES_LEDE)
    rows = visit.board.rows(JudgeRow, visit.split())
    judges = dict.fromkeys(row.judge for row in rows)
    tables = (_judge_table(judge, [row for row in rows if row.judge == judge]) for judge in judges)
    visit.show(el("p", _RULE), *tables)


def _judge_table(judge: str, rows: Sequence[JudgeRow]) -> Html:
    """One judge compared with people, by criterion."""
    numbers = ("Pairs as people", "Kappa", "People's own", "Spearman", "Rated by both")
    columns = [("name", "Criterion"), *(("number", name) for name in numbers), ("text", "May rank")]
    lines: list[list[Cell]] = [
        [
            visible(row.title),
            estimated(row.accuracy, ".0%"),
            estimated(row.kappa, ".2f"),
            DASH if row.people_kappa is None else f"{row.people_kappa:.2f}",
            estimated(row.correlation, ".2f"),
            f"{row.responses:,}",
            "yes" if row.ranks else "not validated",
        ]
        for row in rows
    ]
    smoke = (
        notice("A smoke test.", "It shows that judging works; it never ranks systems.") if judge == SMOKE_TEST else None
    )
    title = heading(visible(judge), _KINDS.get(rows[0].kind, visible(rows[0].kind)))
    return join([title, smoke, scrolled(table(f"{visible(judge)} beside people", columns, lines, "hf-judges"))])


_JUDGED = where(lambda board, split: board.has(JudgeRow, split))
PAGE = Page("Responses", "responses", _compose, _LEDE, where(lambda board, split: board.has(RatedRow, split)))
JUDGES_PAGE = Page("Judges", "judges", _compose_judges, _JUDGES_LEDE, _JUDGED)
