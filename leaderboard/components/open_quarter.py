"""The page of a quarter with unrevealed labels: nothing in it depends on a label."""

from __future__ import annotations

from collections.abc import Sequence

from hellofresh.core.calendar import Calendar
from hellofresh.results.board.release_rows import PeriodDates
from hellofresh.results.board.system_rows import NO_ANSWER, REFUSED, AgreementRow, AnswerShare, Participant
from leaderboard.components.charts import answer_style, answers_bar, calendar_bar
from leaderboard.components.labels import Links, by_state, day, money, until
from leaderboard.components.markup import DASH, Html, el, heading, inner_link, join, named, visible
from leaderboard.components.ranking import field
from leaderboard.components.scale import class_names, plain_scale, scale_of
from leaderboard.components.standings import (
    Line,
    all_lines,
    by_rank,
    cutoff_cell,
    provenance_cell,
    regime_cell,
    usual,
)
from leaderboard.components.tables import (
    Cell,
    Column,
    Marked,
    Value,
    cell,
    grouped_table,
    score,
    scrolled,
    table,
)
from leaderboard.data.board import Board, BoardEntry, SplitKey

_MOST_COMPARED = 12  # agreement is shown for each pair, and pairs grow with the square
_SILENT = {NO_ANSWER: "no readable answer", REFUSED: "refused"}


def open_quarter(board: Board, split: SplitKey, links: Links) -> Html:
    """The page of a quarter that is not revealed: dates, participants, answers, agreement, samples, last standing.

    Args:
        board: source of the data.
        split: a main split whose labels are not public.
        links: to pages.
    """
    taking_part, periods = board.rows(Participant, split), board.rows(PeriodDates, split)
    alike = (one for one in board.splits if (one.task, one.kind) == (split.task, split.kind))
    earlier = (one for one in alike if one.edition < split.edition)
    before = next((one for one in earlier if not board.is_open(one) and board.has_scores(one)), None)
    last = sorted(all_lines(board, before), key=by_rank(plain_scale(before.task))) if before else []
    days = board.days(split)
    said = (
        "No score, comparison or analysis of this quarter is published before the labels are revealed: systems that "
        "anyone can run would turn scores into labels."
    )
    return join(
        [
            _calendar(days) if days else None,
            _tiles(taking_part, sum(one.taken for one in board.balance(split)), periods),
            el("p", said, class_="hf-lede"),
            _participants(board, split, taking_part, last, before),
            _agreement(taking_part, board.rows(AgreementRow, split)),
            _samples(periods, max((one.classes for one in board.balance(split)), default=2)),
            _last(last, board, before, links) if before else None,
        ]
    )


def _calendar(days: Calendar) -> Html:
    """The quarter's days on a time line."""
    stops = {"Opens": days.opens, "Predictions due": days.deadline, "Labels revealed": days.reveals}
    said = (
        by_state(
            days.deadline,
            [f"Predictions are accepted from {day(days.opens)} until ", until(days.deadline)],
            [f"Predictions were accepted until {day(days.deadline)}"],
        ),
        by_state(
            days.reveals,
            ["; labels are revealed on ", until(days.reveals), "."],
            [f"; labels were due on {day(days.reveals)}."],
        ),
    )
    marks = (el("li", el("strong", name), " ", el("span", day(at))) for name, at in stops.items())
    return el(
        "section",
        el("p", el("strong", *said), class_="hf-countdown"),
        calendar_bar(days.opens, days.deadline, days.reveals),
        el("ol", *marks, class_="hf-stops"),
        class_="hf-calendar",
    )


def _tiles(taking_part: Sequence[Participant], samples: int, periods: Sequence[PeriodDates]) -> Html:
    """Counts of samples, whose dates are secret before the opening, and of systems."""
    ours = [one for one in taking_part if one.provenance == "run"]
    whole = [one for one in taking_part if one.judged and one.judged == one.samples]
    tiles = (
        (f"{samples:,}", "samples", f"{periods[0].first} to {periods[-1].last}" if periods else ""),
        (f"{len(ours):,}", "run by us", f"baselines among them: {sum(one.kind == 'baseline' for one in ours):,}"),
        (f"{len(taking_part) - len(ours):,}", "submitted", "by teams"),
        (f"{len(whole):,}", "complete", f"of {len(taking_part):,} systems answered every sample"),
    )
    shown = (el("li", el("strong", figure), el("span", what), el("small", more)) for figure, what, more in tiles)
    return el("ul", *shown, class_="hf-tiles")


def _participants(
    board: Board, split: SplitKey, taking_part: Sequence[Participant], last: Sequence[Line], before: SplitKey | None
) -> Html:
    """Participants, with the shares of their answers, their costs and their last results."""
    if not taking_part:
        return join([heading("Systems"), el("p", "No system yet.")])
    shares: dict[str, dict[str, list[AnswerShare]]] = {}
    for share in board.rows(AnswerShare, split):
        shares.setdefault(share.origin, {}).setdefault(share.prompt, []).append(share)
    names, facts = class_names(split.task), board.systems(split)
    days = board.days(split)
    received = (
        f"received, counted after {days.deadline.day} {days.deadline:%B}" if days else "received, not counted yet"
    )
    answer, title = len(names) - 1, f"{names[-1][:1].upper()}{names[-1][1:]}"
    did = {same_system(line.result.entry): line.result.headline for line in last}
    columns: list[Column] = [("name", "System"), ("number", "Answered"), ("drawn", "Answers")]
    columns += [("number", title), ("number", "Cost")]
    columns += [("text", name) for name in ("Regime", "Provenance", "Cutoff", "Entered")]
    columns += [("number", f"{plain_scale(before.task).title} in {before.edition}")] if before else []
    rows = []
    for one in taking_part:
        mine = next(iter(shares.get(one.origin, {}).values()), [])
        cost = facts[one.origin].cost_usd if one.origin in facts else None
        partly = el("span", f"{one.judged:,}", class_="hf-partly") if one.judged < one.samples else f"{one.judged:,}"
        cells: list[Cell] = [
            (named(one.system), named(one.team, 60)),
            (partly if one.judged else received, f"of {one.samples:,}"),
            *_answer_cells(mine, answer),
            money(cost) if cost is not None else DASH,
            regime_cell(one.regime),
            provenance_cell(one.provenance),
            cutoff_cell(one.knowledge_cutoff, may_know=False),
            visible(one.entered, 10) or DASH,
        ]
        cells += [score(did.get(same_system(one)))] if before else []
        rows.append(Marked("hf-baseline" if one.kind == "baseline" or one.smoke_test else None, cells))
    said = (
        "Bars show the shares of answers among the samples answered. Submitted predictions are counted only after "
        "the deadline."
    )
    answers = [*reversed(list(enumerate(names))), *_SILENT.items()]
    items = (el("li", el("i", class_=f"hf-{answer_style(said)}"), text) for said, text in answers)
    listed = scrolled(table("Systems of this quarter", columns, rows, "hf-open"))
    # The same by prompt: the effect of wording on answers.
    wordings: list[list[Cell]] = [
        [named(one.system), visible(prompt, 40), *_answer_cells(mine, answer)]
        for one in taking_part
        for prompt, mine in shares.get(one.origin, {}).items()
        if len(shares[one.origin]) > 1
    ]
    heads: list[Column] = [("name", "System"), ("text", "Prompt"), ("drawn", "Answers"), ("number", title)]
    by_prompt = el(
        "details", el("summary", "Answers by prompt"), table("Answers by prompt", heads, wordings, "hf-open")
    )
    key = el("ul", *items, class_="hf-key")
    return el("section", heading("Systems", said), key, listed, by_prompt if wordings else None)


def _answer_cells(shares: Sequence[AnswerShare], label: int) -> tuple[Cell, Cell]:
    """The frequency of each answer as a drawing, and the share of one of them."""
    if not shares:
        return None, DASH
    whole = sum(share.samples for share in shares)
    mine = sum(share.samples for share in shares if share.said == label)
    silent = sum(share.samples for share in shares if share.said < 0)
    return answers_bar(shares), (f"{mine / whole:.0%}", f"{silent / whole:.1%} no answer" if silent else None)


def _agreement(taking_part: Sequence[Participant], pairs: Sequence[AgreementRow]) -> Html | None:
    """Agreement of each two systems, as a square of shares; stronger colours are further beyond chance."""
    named_in = {pair.one for pair in pairs} | {pair.two for pair in pairs}
    shown = [one for one in taking_part if one.origin in named_in][:_MOST_COMPARED]
    if len(shown) < 2:
        return None
    by_pair = {key: pair for pair in pairs for key in ((pair.one, pair.two), (pair.two, pair.one))}
    heads: list[Column] = [("name", ""), *(("number", _short(one, shown)) for one in shown[:-1])]
    rows = []
    for number, one in enumerate(shown[1:], start=1):
        cells = [cell("name", "System", _short(one, shown))]
        for other in shown[:number]:
            pair, label = by_pair.get((one.origin, other.origin)), visible(other.system, 18)
            if pair is None:
                cells.append(cell("number", label, DASH))
                continue
            share = f"--share:{100 * max(pair.kappa, 0):.0f}%"
            title = f"the same on {pair.same:,} of {pair.n:,} samples, kappa {pair.kappa:.2f}"
            cells.append(el("td", f"{pair.same / pair.n:.2f}", style=share, title=title, role="cell", data_label=label))
        rows.append(el("tr", *cells, role="row"))
    said = (
        "The share of samples on which two systems gave the same answer. The stronger the colour, the more they agree "
        "beyond chance (Cohen's kappa)."
    )
    title, body = "Agreement between systems", el("tbody", *rows, role="rowgroup")
    square = grouped_table(title, heads, [body], "hf-agreement hf-wide")
    return el("section", heading(title, said), scrolled(square))


def _short(one: Participant, among: Sequence[Participant]) -> Html:
    """The system's name, with its regime if others share the name."""
    alike = sum(other.system == one.system for other in among) > 1
    return named(f"{one.system} ({one.regime})" if alike else one.system, 30 if alike else 18)


def _samples(periods: Sequence[PeriodDates], classes: int) -> Html | None:
    """The number of samples and the days of each period."""
    if not periods:
        return None
    rows = ([visible(row.period, 20), f"{row.samples:,}", row.first, row.last] for row in periods)
    columns = [("name", "Period"), ("number", "Samples"), ("text", "First day"), ("text", "Last day")]
    said = (
        f"In each period {'half' if classes == 2 else f'1 in {classes}'} of the samples have each label. The labels "
        "stay secret until the reveal; a commitment to them is published."
    )
    return el("section", heading("Samples", said), table("Samples by period", columns, rows, "hf-small"))


def _last(lines: Sequence[Line], board: Board, before: SplitKey, links: Links) -> Html:
    """The systems of the last revealed quarter on one scale, with a link to the whole ranking."""
    way = el("p", inner_link(links.to("leaderboard", before), f"The whole ranking of {before.edition}"))
    drawn = field(usual(lines), board, before, scale_of(board, before))
    return el("section", heading(f"Last quarter's standing: {before.edition}"), drawn, way)


def same_system(one: Participant | BoardEntry) -> tuple[str, ...]:
    """A system's identity across quarters."""
    return one.system, one.team, one.kind, one.regime


def plain_participant(one: Participant, shares: Sequence[AnswerShare], split: SplitKey) -> dict[str, Value]:
    """A row for downloads; unknown values are empty."""
    mine = {row.said: row.samples for row in shares if row.origin == one.origin and row.headline}
    answers = {**dict(enumerate(class_names(split.task))), NO_ANSWER: "none", REFUSED: "blocked"}
    return {
        "task": split.task,
        "edition": split.edition,
        **{name: getattr(one, name) for name in ("system", "team", "regime", "provenance")},
        "entered": one.entered or None,
        "judged": one.judged,
        "samples": one.samples,
        **{name: mine.get(said, 0) if mine else None for said, name in answers.items()},
        "knowledge_cutoff": one.knowledge_cutoff,
    }
