"""Rated responses: systems by criterion, two responses side by side, judges beside people. Texts are shown as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hellofresh.judging.classifiers import SMOKE_TEST
from hellofresh.results.board.schema import JudgeRow, RatedResponse, RatedRow
from leaderboard.components.markup import DASH, Html, el, join, link, named, visible
from leaderboard.components.pieces import heading, notice
from leaderboard.components.tables import Cell, table

RATED_LEDE = "What systems wrote, judged by people, models and classifiers, criterion by criterion."
JUDGES_LEDE = "Models, classifiers and rules that judge responses, beside the people whose place they would take."

JUDGES = {"person": "People", "model": "Models", "classifier": "Classifiers", "rule": "Rules"}
_KINDS = {"model": "A model.", "classifier": "A classifier.", "rule": "Rules."}
_MOST_LINKS = 20
_RULE = (
    "A judge's scores rank systems only if the share of pairs of responses to one post that it orders as people do has "
    "a lower limit above 65%; if it does so more often than rules that read nothing (the longer, shorter, first); "
    "and if it is right more often than not both where people prefer the longer and where they prefer the shorter. How "
    "far people agree with each other stands beside it, as the measure of what to expect."
)


def part_title(part: str, value: str) -> str:
    """How a part of the samples is called."""
    return f"{part}: {visible(value, 60)}" if part else "All samples"


def rated_table(rows: Sequence[RatedRow]) -> Html:
    """Systems on one criterion, on one part of the samples."""
    first = rows[0]
    columns = [("number", "Rank"), ("name", "System"), ("number", "Mean"), ("number", "Rank interval")]
    columns += [("number", "Tie group"), ("number", "Rated")]
    lines: list[list[Cell]] = []
    for row in rows:
        ranked = row.rank is not None and row.validated
        shown = [str(row.rank), f"{row.rank_low}{DASH}{row.rank_high}", str(row.tie_group)] if ranked else [DASH] * 3
        mean = f"{row.mean:.2f}", f"{row.low:.2f}{DASH}{row.high:.2f}"
        lines.append([shown[0], named(row.system), mean, *shown[1:], f"{row.n:,}"])
    words = f"{first.definition} From {first.worst:g} (the worst) to {first.best:g}."
    said = "These judges do not order responses as people do often enough to rank systems."
    warned = None if first.validated else notice("Not validated.", said)
    return join([heading(first.title, words), warned, table(first.title, columns, lines, "hf-rated")])


def side_by_side(responses: Sequence[RatedResponse]) -> Html:
    """Responses to one post, beside each other, with what they cite and how they were rated."""
    address = next((item.address for item in responses if item.address), "")
    post = el("p", "The post: ", link(address, visible(address, 120))) if address else None
    return join([post, el("div", *map(_response, responses), class_="hf-two")])


def _response(item: RatedResponse) -> Html:
    cited = [el("li", link(address, visible(address, 200))) for address in item.sources[:_MOST_LINKS]]
    ratings = [
        _rating("People", item.people, f"{item.raters} of them"),
        _rating("Other judges", item.judged, ""),
    ]
    return el(
        "section",
        el("h3", named(item.system)),
        el("p", *_paragraphs(item.text), class_="hf-response", dir_="auto"),
        el("ul", *cited) if cited else el("p", "It cites nothing."),
        el("dl", *ratings),
    )


def _paragraphs(text: str) -> Iterable[Html | str]:
    """The text, line by line, with nothing in it that hides or reorders."""
    for number, line in enumerate(text.splitlines()):
        if number:
            yield el("br")
        yield visible(line, 20_000)


def _rating(title: str, value: float | None, more: str) -> Html:
    said = DASH if value is None else f"{value:.1f} overall{f' ({more})' if more else ''}"
    return join([el("dt", title), el("dd", said)])


def judge_tables(rows: Sequence[JudgeRow]) -> Html:
    """When a judge may rank systems, and each judge beside people."""
    judges = dict.fromkeys(row.judge for row in rows)
    hint = el("p", "So far only people have judged. To have a model judge, run: ", el("code", "hellofresh judge"))
    tables = (_judge_table(judge, [row for row in rows if row.judge == judge]) for judge in judges)
    return join([el("p", _RULE), None if rows else hint, *tables])


def _judge_table(judge: str, rows: Sequence[JudgeRow]) -> Html:
    """One judge beside people, criterion by criterion."""
    numbers = ("Pairs as people", "Kappa", "People's own", "Spearman", "Rated by both")
    columns = [("name", "Criterion"), *(("number", name) for name in numbers), ("text", "May rank")]
    smoke = notice("A smoke test.", "It shows that judging works, and never ranks.") if judge == SMOKE_TEST else None
    return join(
        [
            heading(visible(judge), _KINDS.get(rows[0].kind, visible(rows[0].kind))),
            smoke,
            table(f"{visible(judge)} beside people", columns, map(_judge_line, rows), "hf-judges"),
        ]
    )


def _judge_line(row: JudgeRow) -> list[Cell]:
    accuracy = DASH if row.accuracy is None else f"{row.accuracy:.0%}"
    limits = None if row.accuracy_low is None else f"{row.accuracy_low:.0%}{DASH}{row.accuracy_high:.0%}"
    return [
        visible(row.title),
        (accuracy, limits),
        (f"{row.kappa:.2f}", f"{row.kappa_low:.2f}{DASH}{row.kappa_high:.2f}"),
        DASH if row.people_kappa is None else f"{row.people_kappa:.2f}",
        (f"{row.correlation:.2f}", f"{row.correlation_low:.2f}{DASH}{row.correlation_high:.2f}"),
        f"{row.responses:,}",
        "yes" if row.ranks else "not validated",
    ]
