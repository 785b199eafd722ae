"""Rated responses: systems by criterion, part and kind of judge, responses to one post side by side, and the judges.

Texts that systems wrote are shown as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from hellofresh.judging.study import SMOKE_TEST
from hellofresh.results.board.sample_rows import RatedResponse
from hellofresh.results.board.system_rows import JudgeRow, RatedRow
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
from leaderboard.components.tables import Cell, Column, cell, definitions, estimated, grouped_table, scrolled, table
from leaderboard.data.board import SplitKey
from leaderboard.views.leaderboard import show_front
from leaderboard.views.visit import Page, Visit, where

_LEDE = "What systems wrote, judged by people, models and classifiers, criterion by criterion."
_JUDGES_LEDE = "Models, classifiers and rules that judge responses, compared with the people whom they replace."
_JUDGES = {"person": "People", "model": "Models", "classifier": "Classifiers", "rule": "Rules"}
_KINDS = {"model": "A model.", "classifier": "A classifier.", "rule": "Rules."}
_MOST_LINKS = 20
_SHADED = "hf-agreement hf-marks"
_TURNED = {"Toxicity": "Not toxic"}  # criteria whose names say the opposite of what full marks mean
_UNVALIDATED = notice(
    "Not validated.", "These judges agree with people on the order of responses too rarely to rank systems."
)
_FEW_RATERS = 3
_RULE = (
    "A judge may rank systems only if it orders pairs of responses to one post as people do in more than 65% of cases "
    "(lower limit), more often than rules that read nothing (the longer, the shorter, the first), and more often than "
    "not both where people prefer the longer response and where they prefer the shorter. People's agreement with each "
    "other shows what to expect."
)


def _compose(visit: Visit) -> None:
    show_front(visit, _LEDE)
    split = visit.chosen
    visit.show(_extremes(visit, split))
    rows = visit.board.rows(RatedRow, split)
    for judges in dict.fromkeys(row.kind for row in rows):
        mine = [row for row in rows if row.kind == judges]
        whole, parts = ([row for row in mine if bool(row.part) is part] for part in (False, True))
        shown = [
            _matrix(whole),
            el("details", el("summary", "By part of the posts"), _matrix(parts)) if parts else None,
        ]
        if not any(row.validated for row in mine):
            shown = [_UNVALIDATED, el("details", el("summary", "Show their scores"), *shown)]
        visit.show(el("h2", f"Judged by {_JUDGES.get(judges, judges).lower()}"), *shown)


def _extremes(visit: Visit, split: SplitKey) -> Html | None:
    """The response that people, or else other judges, rated best and the one that they rated worst."""
    rated = [(item.judged if item.people is None else item.people, item)
             for item in visit.board.rows(RatedResponse, split, pl.col("text") != "")]  # fmt: skip
    order = sorted((value, item.id, item.system, item) for value, item in rated if value is not None)
    way = inner_link(visit.links.to("samples", split), "All responses, side by side")
    if len(order) < 2:
        return el("p", way, ".") if visit.board.has(RatedResponse, split) else None
    shown = [part for item in (order[-1][-1], order[0][-1]) for part in _side(item)]
    return join([heading("The best and the worst response", way, "."), el("div", *shown, class_="hf-two")])


def _matrix(rows: Sequence[RatedRow]) -> Html:
    """Criteria by systems: the shares of full marks, stronger colours for better ones, shared first places marked."""
    by_line: dict[tuple[str, str, str], dict[str, RatedRow]] = {}
    for one in rows:
        by_line.setdefault((one.criterion, one.part, one.value), {})[one.system] = one
    systems, lines = list(dict.fromkeys(row.system for row in rows)), []
    for (_, part, value), of_system in by_line.items():
        first = next(iter(of_system.values()))
        share_first = sum(row.tie_group == 1 for row in of_system.values()) > 1
        title = f"{part}: {visible(value, 60)}" if part else _TURNED.get(first.title, first.title)
        cells = [cell("name", "Criterion", (title, None if part else first.definition))]
        for system in systems:
            row = of_system.get(system)
            if row is None:
                cells.append(cell("number", "", DASH))
                continue
            share = (row.mean - row.worst) / ((row.best - row.worst) or 1)
            tied = "=" if share_first and row.validated and row.tie_group == 1 else ""
            below = f"{row.mean:.2f} of {row.best:g}, {row.low:.2f} to {row.high:.2f}; {row.n:,}"
            cells.append(el("td", f"{tied}{share:.0%}", el("small", below),
                            style=f"--share:{100 * min(max(share, 0), 1):.0f}%", role="cell",
                            data_label=visible(system, 30)))  # fmt: skip
        lines.append(el("tr", *cells, role="row"))
    columns: list[Column] = [("name", "Criterion"), *(("number", named(system, 30)) for system in systems)]
    shown = grouped_table("Criteria by systems", columns, [el("tbody", *lines, role="rowgroup")], _SHADED)
    said = (
        "Shares of full marks; below them the mean with its 95% interval, and how many responses were rated. = marks "
        "those that do not differ significantly from the best."
    )
    few = f" Intervals cover other posts{', not' if rows[0].raters < _FEW_RATERS else ' and'} other raters."
    return join([el("p", el("small", said, few)), scrolled(shown)])


def side_by_side(responses: Sequence[RatedResponse]) -> Html:
    """Responses to one post side by side, with their citations and ratings."""
    address = next((item.address for item in responses if item.address), "")
    post = el("p", "The post: ", link(address, visible(address, 120))) if address else None
    withheld = None if any(item.text for item in responses) else notice("Texts withheld.", "They may quote the post.")
    sides = (part for item in responses for part in _side(item, "" if withheld else "no text"))
    return join([post, withheld, el("div", *sides, class_="hf-two")])


def _side(item: RatedResponse, empty: str = "text withheld") -> Iterator[Html]:
    """One response with its citations and ratings; `empty` replaces an empty text."""
    # Line by line, sanitised.
    lines = (item.text or empty).splitlines()
    text = [part for line in lines for part in (el("br"), visible(line, 20_000))][1:]
    cited = [el("li", link(source, visible(source, 200))) for source in item.sources[:_MOST_LINKS]]
    people = None if item.people is None else f"{item.people:.1f} overall ({item.raters} of them)"
    others = None if item.judged is None else f"{item.judged:.1f} overall"
    yield el(
        "section",
        el("h3", named(item.system)),
        el("p", *text, class_="hf-response", dir_="auto") if text else None,
        el("ul", *cited) if cited else el("p", "It cites nothing."),
        definitions([("People", people), ("Other judges", others)]),
    )


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
