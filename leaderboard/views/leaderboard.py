"""The ranking: the table of a task and quarter, people's scores, cost against score, scores by period."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from hellofresh.results.board.system_rows import AnswerShare, Participant
from hellofresh.results.split.tables import PEOPLE_NAMES, CeilingRow, PeopleRow
from leaderboard.components.charts import curves, decades, frontier, interval_bar
from leaderboard.components.labels import EVERY, Links, is_frozen, money, question_of
from leaderboard.components.markup import (
    LEDE,
    Html,
    bundled_notice,
    el,
    heading,
    inner_link,
    join,
    joined,
    named,
    tabs,
    visible,
)
from leaderboard.components.open_quarter import open_quarter, plain_participant
from leaderboard.components.parts import RankingPart
from leaderboard.components.quarters import (
    every_quarter,
    fixed_data,
    fixed_rows,
    introduction,
    next_days,
    over_quarters_said,
    plain_fixed,
    prospective_hint,
    too_few,
)
from leaderboard.components.ranking import RankingPicture, field, front_of
from leaderboard.components.scale import Scale, figure, metric_titles, scale_of
from leaderboard.components.standings import (
    FEWEST_COSTS,
    Line,
    View,
    all_lines,
    by_rank,
    columns_class,
    columns_of,
    group_of,
    headline_columns,
    hidden_columns,
    in_groups,
    lines_of,
    only_uploads,
    plain_row,
    prices,
    ranked_data,
    standings_table,
    usual,
    whose,
)
from leaderboard.components.tables import (
    Cell,
    Column,
    Marked,
    Row,
    estimate,
    facts,
    score,
    scrolled,
    table,
    table_tools,
)
from leaderboard.data.board import Board, MetricValue, SplitKey
from leaderboard.views.compare import how_sure, short_verdict
from leaderboard.views.pictures import before_and_after, by_period, by_quarter, calibration
from leaderboard.views.visit import Choices, Page, Visit

_MOST_NAMED = 8
_MOST_SYSTEMS = 20
_PEOPLE = {
    "people/single": (PEOPLE_NAMES["people/single"], "the mean of people"),
    "people/vote": (PEOPLE_NAMES["people/vote"], "a tie counts as no answer"),
}
_UNFITTED = "The ratings behind these labels were not fitted."
_NO_CEILING = {
    "x-notes": _UNFITTED,
    "x-notes-media": _UNFITTED,
    "wikipedia-edits": "Histories do not say what other editors would have done with these edits.",
}


def _compose(visit: Visit) -> None:
    board, links = visit.board, visit.links
    split = visit.chosen
    visit.header(question_of(split.task))
    days = next_days(board, split.task)
    if split.edition == EVERY:
        visit.choose()
        fixed = fixed_rows(board, split.task)
        visit.show(days)
        visit.handle(
            lambda: join([table_tools(), every_quarter(board, split.task)]),
            lambda: over_quarters_said(board, split.task),
            lambda: fixed_data(board, split.task),
        )
        visit.offer([plain_fixed(row, split.task) for row in fixed], "leaderboard")
        return
    hint = prospective_hint(board, split, links)
    if board.is_open(split):
        visit.choose()
        visit.show(introduction(board, split), hint, open_quarter(board, split, links), days)
        rows, shares = board.rows(Participant, split), board.rows(AnswerShare, split)
        if rows:
            visit.offer([plain_participant(row, shares, split) for row in rows], "participants")
        return
    prompt = visit.choices.get("prompt", "")
    if prompt:
        visit.subject(f"Scores with the prompt {visible(prompt, 40)}", "This table has one prompt only. Back to ")
    lines = all_lines(board, split)
    if prompt:
        _show_table(visit, split, lines, prompt)
        return
    visit.show(introduction(board, split), podium(lines, board, split, scale_of(board, split), links))
    visit.choose()
    none = el(
        "p", "No system has been scored on this task and quarter yet. Run: ", el("code", "hellofresh release run")
    )
    visit.show(None if lines else none)
    if lines:
        _show_table(visit, split, lines, "")
    visit.show(bundled_notice(board.is_bundled(split)), None if is_frozen(split.edition) else days, hint)


def _show_table(visit: Visit, split: SplitKey, lines: list[Line], prompt: str) -> None:
    """Show the ranked table, cost against score, and scores by period; with a single prompt only the table."""
    board, scale = visit.board, scale_of(visit.board, split)
    if prompt:
        lines = lines_of(board.with_prompt(split, prompt), {}, board.systems(split))
    drawn, people = with_people(board, split, scale)
    drawn, ceiling = with_ceiling(board, split, drawn)
    view = View(split, drawn, visit.links)
    shown = sorted(lines, key=by_rank(scale))
    filters = {title: column.every for title, column in columns_of(scale).items() if column.every}
    compare = None if prompt else visit.links.to("compare", split)
    tools = table_tools(columns_of(scale), hidden_columns(shown, scale), filters, compare)
    whole = el("div", standings_table(shown, view), class_=f"hf-ranked {columns_class(scale)}")
    if prompt or not shown:
        said = "No system was asked with this prompt."
        visit.handle(lambda: join([tools, whole]), lambda: ranked_data(shown, scale) if shown else el("p", said))
        return
    ranking = RankingPicture.of(shown, board, split, drawn, visit.links)
    groups = in_groups(shown if only_uploads(shown) else usual(shown))
    living = not is_frozen(split.edition)
    times = [by_quarter(board, split, list(groups), scale), by_period(board, split, groups, scale)] if living else []
    charts = [*times, calibration(board, split, groups)]
    sure = how_sure(lines, board, split, scale, visit.links)
    values = ranked_data(ranking.lines, scale)
    visit.handle(
        lambda: tabs({"Ranking": ranking.draw(), "Table": join([tools, whole]),
                      "Charts": joined([cost_section(shown, scale), *charts]), "How sure": sure}),
        lambda: RankingPart(
            ranking.draw, replace(values, charts=()),
            {"Charts": [*values.charts, *filter(None, charts)], "How sure": [sure] if sure else []},
        ),
    )  # fmt: skip
    visit.show(people, ceiling, before_and_after(board, split, scale))
    prompts = [(name, visit.links.to("leaderboard", split, prompt=name)) for name in board.prompts(split)]
    ways = [part for name, way in prompts if way for part in (", ", inner_link(way, visible(name, 40)))][1:]
    visit.show(el("p", "The same with one prompt: ", *ways, ".") if ways else None)
    plain = [plain_row(line, split) for line in shown]
    visit.offer([*plain, *_plain_ceiling(board, split, plain[0])], "leaderboard")
    visit.show(people_beside(board, split, scale, visit.links))


def show_front(visit: Visit, about: str, *first: Html | None) -> list[Line]:
    """Show the head of a page beside the ranking, and all systems on a scale and in rows; returns the rows' lines.

    Args:
        visit: of the page.
        about: what the page adds.
        first: what comes before the scores.
    """
    board, split = visit.board, visit.chosen
    lines, scale = all_lines(board, split), whole_scale(board, split)
    visit.header(question_of(split.task), about)
    visit.show(*first, podium(lines, board, split, scale, visit.links))
    visit.choose()
    rows = RankingPicture.of(lines, board, split, scale, visit.links).draw() if lines else None
    visit.show(field(lines, board, split, scale), rows)
    return lines


def podium(lines: Sequence[Line], board: Board, split: SplitKey, scale: Scale, links: Links) -> Html | None:
    """Who is in front and how surely; None without a system or a baseline."""
    front, short = front_of(lines, scale), short_verdict(lines, board, split, scale, links)
    if not short:
        return None
    if front is None:
        return el("p", *short, class_="hf-verdict")
    return front.draw(front.said or join(short))


def _copies(board: Board, split: SplitKey) -> Iterable[Choices]:
    """Pages for each task and edition and for each prompt; and for all quarters if there are enough."""
    if split.edition == EVERY:
        return [] if too_few(fixed_rows(board, split.task)) else [{}]
    prompts = [] if board.is_open(split) or len(board.prompts(split)) < 2 else board.prompts(split)
    return [{}, *({"prompt": name} for name in prompts)]


def cost_section(lines: Sequence[Line], scale: Scale) -> Html | None:
    """Cost of 1,000 samples to the right (logarithmic), score upwards; None for fewer than three known costs."""
    priced = [(cost, line) for cost, line in zip(prices(lines), lines, strict=True) if cost is not None]
    priced = [(cost, line) for cost, line in priced if group_of(line.result) == "system"]
    if len(priced) < FEWEST_COSTS:
        return None
    costs, scores = [cost for cost, _ in priced], [line.result.headline for _, line in priced]
    best, (low, high) = frontier(costs, [score.value for score in scores], scale), decades(costs)
    places = [((math.log10(cost) - low) / (high - low), score.value) for cost, score in zip(costs, scores, strict=True)]
    names = [f"{visible(line.result.entry.name, 60)}, {money(cost)}" for cost, line in priced]
    others = [(names[at], [places[at]]) for at in range(len(priced)) if at not in best]
    front = ("No cheaper system matches", [places[at] for at in best])
    ticks = [((k - low) / (high - low), f"${10.0**k:g}") for k in range(low, high + 1, max(1, (high - low) // 4))]
    explained = (
        f"US dollars for 1,000 samples to the right, {scale.title} upwards. The line joins the systems that no cheaper "
        "one matches."
    )
    listed = facts((names[at], figure(scores[at].value, scale.title)) for at in best[-_MOST_NAMED:])
    drawn = el("div", curves([front, *others], ticks, scale, most=1), listed, class_="hf-beside")
    return join([heading(f"Cost and {scale.title}", explained), drawn])


def people_beside(board: Board, split: SplitKey, scale: Scale, links: Links) -> Html | None:
    """Scores of people, with every system on the same samples; None if people made no predictions.

    Args:
        board, split: of the table.
        scale: of its scores.
        links: to pages.
    """
    rows = board.rows(PeopleRow, split)
    if not rows:
        return None
    without, with_known = ([row for row in rows if row.with_known is known] for known in (False, True))
    explained = (
        "People were asked what systems were asked, before labels were public. All rows are for the same samples, by "
        "the systems that answered all of them; people have no rank. Answers to samples that a person says they "
        "knew are left out."
    )
    more = el(
        "details",
        el("summary", "Including samples whose outcome people say they knew"),
        _beside(board, split, scale, links, with_known),
    )
    return join(
        [heading("People", explained), _beside(board, split, scale, links, without), more if with_known else None]
    )


def with_people(board: Board, split: SplitKey, scale: Scale) -> tuple[Scale, Html | None]:
    """The scale with the line of one person, and its text; the same scale and None without people."""
    rows = [row for row in board.rows(PeopleRow, split) if row.origin == "people/single" and not row.with_known]
    row = rows[0] if rows else None
    if row is None or row.value is None or row.low is None or row.high is None:
        return scale, None
    found = MetricValue(scale.title, row.value, row.low, row.high)
    said = (
        f"One person: {estimate(found)}, the mean of {row.people} people on {row.samples} samples that were drawn from "
        "these; in the chart the solid line, with its 95% interval as a band. The table People has systems on the "
        "same samples."
    )
    return replace(scale, people=found), el("p", el("small", said))


def with_ceiling(board: Board, split: SplitKey, scale: Scale) -> tuple[Scale, Html | None]:
    """The scale with the line of an oracle of the voters, and its text, or the reason why it is unknown."""
    rows = board.rows(CeilingRow, split)
    if not rows:
        why = _NO_CEILING.get(split.task)
        return scale, None if why is None else el("p", el("small", f"Ceiling: unknown. {why}"))
    titles = metric_titles()
    found = {titles[row.metric]: MetricValue(titles[row.metric], row.value, row.low, row.high) for row in rows}
    said = ", ".join(f"{title} {estimate(value)}" for title, value in found.items())
    note = (
        f"Ceiling: {said}. An oracle that knows all voters, but not which of them voted, would reach "
        f"this on the {rows[0].samples:,} of {rows[0].of:,} samples whose ratings are known; 95% intervals over "
        "redrawn raters. "
    )
    return replace(scale, ceiling=found.get(scale.title)), el("p", el("small", note))


def whole_scale(board: Board, split: SplitKey) -> Scale:
    """The scale of a split with people and ceiling."""
    drawn, _ = with_people(board, split, scale_of(board, split))
    return with_ceiling(board, split, drawn)[0]


def _plain_ceiling(board: Board, split: SplitKey, like: Row) -> Iterable[Row]:
    """The ceiling as a row for downloads, with the columns of another row."""
    rows, ends = board.rows(CeilingRow, split), {"": "value", "_low": "low", "_high": "high"}
    found = {f"{row.metric}{end}": getattr(row, at) for row in rows for end, at in ends.items()}
    found |= {"task": split.task, "edition": split.edition, "system": "Ceiling (oracle of the voters)"}
    return [{name: found.get(name) for name in like}] if rows else []


def _beside(board: Board, split: SplitKey, scale: Scale, links: Links, rows: Sequence[PeopleRow]) -> Html | None:
    if not rows:
        return el("p", "No answers remain.")
    first = rows[0]
    failed = f" Left out, after failing an attention check: {first.failed}." if first.failed else ""
    if first.value is None:
        return el("p", f"Not shown: {visible(first.missing, 200)}.{failed}")
    entries, line = board.entries(split), replace(scale, reference=first.value)
    known = [row for row in rows if row.origin in {*_PEOPLE, *entries}]
    shown = known[: len(_PEOPLE) + _MOST_SYSTEMS]
    alike = "" if first.agreement is None else f" Krippendorff's alpha of their answers is {first.agreement:.2f}."
    best = (
        f" Shown: the {_MOST_SYSTEMS} best of {len(known) - len(_PEOPLE)} systems." if len(known) > len(shown) else ""
    )
    said = (
        f"{first.samples} samples, {first.people} people, {first.answers:,} answers.{alike}{failed}{best} The dashed "
        "line is one person; its band is a 95% interval over other samples and other people."
    )
    columns: list[Column] = [("name", "Who"), *headline_columns(line)]
    cells = (Marked(f"hf-{row.section}", _cells(row, board, split, line, links)) for row in shown)
    listed = scrolled(table(f"People and systems by {scale.title}", columns, cells, "hf-prompts"))
    return join([listed, el("p", el("small", said))])


def _cells(row: PeopleRow, board: Board, split: SplitKey, scale: Scale, links: Links) -> tuple[Cell, ...]:
    assert row.value is not None and row.low is not None and row.high is not None  # the first row would say so
    figure = MetricValue(scale.title, row.value, row.low, row.high)
    if row.origin in _PEOPLE:
        who: Cell = _PEOPLE[row.origin]
    else:
        entry = board.entries(split)[row.origin]
        who = inner_link(links.to("system", split, system=row.origin), named(entry.name)), whose(entry)
    return who, score(figure), interval_bar(figure, scale)


PAGE = Page("Ranking", "leaderboard", _compose, LEDE, _copies, "index")
