"""What the site shows of a quarter whose labels are not revealed: nothing that follows from a label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from hellofresh.results.board.schema import (
    NO_ANSWER,
    REFUSED,
    AgreementRow,
    AnswerShare,
    Participant,
    PeriodDates,
    SystemFacts,
)
from leaderboard.components.charts import answer_style, answers_bar, calendar_bar, interval_scale
from leaderboard.components.labels import day, duration, money
from leaderboard.components.links import Links
from leaderboard.components.markup import DASH, Html, el, inner_link, join, named, visible
from leaderboard.components.pieces import cell, heading, metric_cell, table
from leaderboard.components.scale import Scale, class_names, plain_scale, scale_of
from leaderboard.components.standings import (
    GROUPS,
    LANES,
    Line,
    Value,
    by_rank,
    group_of,
    headline_cells,
    lines_of,
    or_dash,
)
from leaderboard.data.records import Days, Records
from leaderboard.data.tables import Board, SplitKey

__all__ = ["not_revealed", "open_quarter", "plain_participant", "quarter_tabs"]

_MOST_COMPARED = 12
_LAST = 5
_SILENT = {NO_ANSWER: "no readable answer", REFUSED: "refused"}


def not_revealed(records: Records, split: SplitKey) -> Html:
    """A sentence in place of figures."""
    days = records.days(split)
    when = f", on {day(days.reveals)}" if days else ""
    return el("p", f"Scores of {split.edition} are shown once its labels are revealed{when}.")


def quarter_tabs(board: Board, split: SplitKey, links: Links) -> Html | None:
    """The newest revealed quarter and the open ones beside it; None where there are not both."""
    waiting = [one for one in board.splits if one.task == split.task and board.is_open(one)]
    newest = board.newest(split.task)
    if not waiting or board.is_open(newest):
        return None
    titles = {newest: f"Results of {newest.edition}", **{one: f"{one.edition}, not revealed yet" for one in waiting}}
    tabs = (el("li", el("a", text, href=links.board(one), target="_self",
                        aria_current="page" if one == split else None)) for one, text in titles.items())  # fmt: skip
    return el("nav", el("ul", *tabs), class_="hf-tabs", aria_label="Results and open quarters")


def open_quarter(board: Board, records: Records, split: SplitKey, links: Links, moment: datetime | None = None) -> Html:
    """The page of a quarter that is not revealed: dates, who takes part, answers, agreement, samples, last standing.

    Args:
        board, records: what is shown.
        split: a main split whose labels are not public.
        links: where pages are.
        moment: as seen from when; None on a page that must not depend on the time.
    """
    taking_part = records.participants(split)
    days, periods = records.days(split), records.periods(split)
    before = next((one for one in board.splits if one.task == split.task and one.edition < split.edition
                   and not board.is_open(one) and board.has_scores(one)), None)  # fmt: skip
    last = _lines(board, records, before) if before else []
    return join(
        [
            _calendar(days, moment) if days else None,
            _tiles(taking_part, periods),
            el("p", "No score, comparison or analysis of this quarter is published before the labels are revealed: "
                    "systems that anybody can run would turn scores into labels.",
               class_="hf-lede"),
            _participants(taking_part, records, split, {line.result.entry[:5]: line for line in last}, before),
            _agreement(taking_part, records.agreements(split)),
            _samples(periods, max((one.classes for one in board.balance(split)), default=2)),
            _last(last, before, scale_of(records, before), links) if before else None,
        ]
    )  # fmt: skip


def _lines(board: Board, records: Records, split: SplitKey) -> list[Line]:
    standings = {} if board.is_bundled(split) else records.standings(split)
    lines = lines_of(board.headlines(split), standings, records.systems(split))
    return sorted(lines, key=by_rank(plain_scale(split.task)))


def _calendar(days: Days, moment: datetime | None) -> Html:
    """The quarter's days, what comes next and how long it takes, and where today stands between them."""
    stops = (("Opened", days.opens), ("Predictions due", days.deadline), ("Labels revealed", days.reveals))
    marks = (el("li", el("strong", name), " ", el("span", day(at))) for name, at in stops)
    return el(
        "section",
        el("p", el("strong", _countdown(days, moment)), class_="hf-countdown"),
        calendar_bar(days.opens, days.deadline, days.reveals, moment),
        el("ol", *marks, class_="hf-stops"),
        class_="hf-calendar",
    )


def _countdown(days: Days, moment: datetime | None) -> str:
    if moment is None:
        return f"Predictions are accepted until {day(days.deadline)}; labels are revealed on {day(days.reveals)}."
    if moment < days.deadline:
        return (
            f"{_left(days.deadline, moment)} left to submit predictions. Labels are revealed on {day(days.reveals)}, "
            f"in {_left(days.reveals, moment)}."
        )
    if moment < days.reveals:
        return f"The deadline has passed. Labels are revealed on {day(days.reveals)}, in {_left(days.reveals, moment)}."
    return "The labels are due: the next release run reveals them."


def _left(until: datetime, moment: datetime) -> str:
    return duration((until - moment).total_seconds())


def _tiles(taking_part: Sequence[Participant], periods: Sequence[PeriodDates]) -> Html:
    ours = [one for one in taking_part if one.lane == "harness"]
    samples = sum(period.samples for period in periods)
    whole = [one for one in taking_part if one.judged and one.judged == one.samples]
    tiles = (
        (f"{samples:,}", "samples", f"{periods[0].first} to {periods[-1].last}" if periods else ""),
        (f"{len(ours):,}", "run by us", f"{sum(one.kind == 'baseline' for one in ours):,} of them baselines"),
        (f"{len(taking_part) - len(ours):,}", "submitted", "by teams"),
        (f"{len(whole):,}", "complete", f"of {len(taking_part):,} systems judged every sample"),
    )
    shown = (el("li", el("strong", figure), el("span", what), el("small", more)) for figure, what, more in tiles)
    return el("ul", *shown, class_="hf-tiles")


def _participants(
    taking_part: Sequence[Participant],
    records: Records,
    split: SplitKey,
    last: Mapping[tuple[str, ...], Line],
    before: SplitKey | None,
) -> Html:
    """Who takes part, with the shares of their answers, what they cost and how they did last quarter."""
    if not taking_part:
        return join([heading("Systems"), el("p", "No system yet.")])
    shares: dict[str, dict[str, list[AnswerShare]]] = {}
    for share in records.shares(split):
        shares.setdefault(share.origin, {}).setdefault(share.prompt, []).append(share)
    names = class_names(split.task)
    last_class = len(names) - 1
    facts = records.systems(split)
    kinds = {"System": "name", "Judged": "number", "Answers": "drawn", _title(names[-1]): "number", "Cost": "number"}
    kinds |= dict.fromkeys(("Regime", "Cutoff", "Entered"), "text")
    kinds |= {_in(before): "number"} if before else {}
    columns = [(kind, title) for title, kind in kinds.items()]
    rows = []
    for one in taking_part:
        mine = next(iter(shares.get(one.origin, {}).values()), [])
        line = last.get((one.system, one.team, one.lane, one.kind, one.regime))
        earlier = _before(line, before) if before else None
        rows.append(_row(one, mine, (last_class, names[-1]), facts.get(one.origin), earlier))
    body = el("tbody", *rows, role="rowgroup")
    said = (
        "Bars show the shares of answers among the samples judged. Submitted predictions are counted only after "
        "the deadline."
    )
    answers = [*reversed(list(enumerate(names))), *_SILENT.items()]
    items = (el("li", el("i", class_=f"hf-{answer_style(said)}"), text) for said, text in answers)
    key = el("ul", *items, class_="hf-key")
    whole = [table("Systems of this quarter", columns, [body], "hf-open"),
             _prompts(taking_part, shares, (last_class, names[-1]))]  # fmt: skip
    return el("section", heading("Systems", said), key, *whole)


def _row(
    one: Participant,
    shares: Sequence[AnswerShare],
    answer: tuple[int, str],
    facts: SystemFacts | None,
    before: Html | None,
) -> Html:
    cost = facts.cost_usd if facts else None
    partly = el("span", f"{one.judged:,}", class_="hf-partly") if one.judged < one.samples else f"{one.judged:,}"
    return el(
        "tr",
        cell("System", named(one.system), named(one.team, 60), "name"),
        cell("Judged", partly if one.judged else "after the deadline", f"of {one.samples:,}"),
        *_answer_cells(shares, answer),
        cell("Cost", money(cost) if cost is not None else DASH),
        cell("Regime", or_dash(one.regime), LANES.get(one.lane, visible(one.lane, 20)), "text"),
        cell("Cutoff", or_dash(one.knowledge_cutoff), None, "text"),
        cell("Entered", visible(one.entered, 10) or DASH, None, "text"),
        before,
        class_="hf-baseline" if one.kind == "baseline" or one.smoke_test else None,
        role="row",
    )


def _answer_cells(shares: Sequence[AnswerShare], answer: tuple[int, str]) -> tuple[Html, Html]:
    """How often each answer was given: drawn, and the share of one of them."""
    label, name = answer
    drawn = el("td", answers_bar(shares) if shares else None, class_="hf-drawn", role="cell")
    if not shares:
        return drawn, cell(_title(name), DASH)
    whole = sum(share.samples for share in shares)
    mine = sum(share.samples for share in shares if share.said == label)
    silent = sum(share.samples for share in shares if share.said < 0)
    return drawn, cell(_title(name), f"{mine / whole:.0%}", f"{silent / whole:.1%} no answer" if silent else None)


def _title(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}"


def _in(before: SplitKey) -> str:
    return f"{plain_scale(before.task).title} in {before.edition}"


def _before(line: Line | None, before: SplitKey) -> Html:
    return metric_cell(_in(before), line.result.headline if line else None)


def _prompts(
    taking_part: Sequence[Participant],
    shares: Mapping[str, Mapping[str, Sequence[AnswerShare]]],
    answer: tuple[int, str],
) -> Html | None:
    """The same by prompt, behind a fold: how much wording changes answers."""
    rows = [
        el(
            "tr",
            cell("System", named(one.system), None, "name"),
            cell("Prompt", visible(prompt, 40), None, "text"),
            *_answer_cells(mine, answer),
            role="row",
        )
        for one in taking_part
        for prompt, mine in shares.get(one.origin, {}).items()
        if len(shares[one.origin]) > 1
    ]
    if not rows:
        return None
    columns = [("name", "System"), ("text", "Prompt"), ("drawn", "Answers"), ("number", _title(answer[1]))]
    body = el("tbody", *rows, role="rowgroup")
    return el("details", el("summary", "Answers by prompt"), table("Answers by prompt", columns, [body], "hf-open"))


def _agreement(taking_part: Sequence[Participant], pairs: Sequence[AgreementRow]) -> Html | None:
    """How often two say the same, as a square of shares; the darker, the more beyond chance."""
    named_in = {pair.one for pair in pairs} | {pair.two for pair in pairs}
    shown = [one for one in taking_part if one.origin in named_in][:_MOST_COMPARED]
    if len(shown) < 2:
        return None
    by_pair = {key: pair for pair in pairs for key in ((pair.one, pair.two), (pair.two, pair.one))}
    heads: list[tuple[str, Html | str]] = [("name", ""), *(("number", _short(one, shown)) for one in shown[:-1])]
    rows = (el("tr", cell("System", _short(one, shown), None, "name"), *_agreements(one, shown[:number], by_pair),
               role="row") for number, one in enumerate(shown) if number)  # fmt: skip
    said = (
        "The share of samples on which two systems gave the same answer. The darker, the more they agree beyond "
        "chance (Cohen's kappa)."
    )
    body = el("tbody", *rows, role="rowgroup")
    square = table("Agreement between systems", heads, [body], "hf-agreement hf-wide")
    return el("section", heading("Agreement between systems", said), el("div", square, class_="hf-scroll"))


def _short(one: Participant, among: Sequence[Participant]) -> Html:
    """The system's name, with its regime where others share the name."""
    alike = sum(other.system == one.system for other in among) > 1
    return named(f"{one.system} ({one.regime})" if alike else one.system, 30 if alike else 18)


def _agreements(
    one: Participant, others: Sequence[Participant], by_pair: Mapping[tuple[str, str], AgreementRow]
) -> Iterator[Html]:
    for other in others:
        pair = by_pair.get((one.origin, other.origin))
        if pair is None:
            yield cell(visible(other.system, 18), DASH)
            continue
        share = f"{100 * max(pair.kappa, 0):.0f}%"
        title = f"the same on {pair.same:,} of {pair.n:,} samples, kappa {pair.kappa:.2f}"
        yield el("td", f"{pair.same / pair.n:.2f}", style=f"--share:{share}", title=title, role="cell",
                 data_label=visible(other.system, 18))  # fmt: skip


def _samples(periods: Sequence[PeriodDates], classes: int) -> Html | None:
    """How many samples each period has, and of which days."""
    if not periods:
        return None
    rows = (
        el("tr", cell("Period", visible(row.period, 20), None, "name"), cell("Samples", f"{row.samples:,}"),
           cell("First day", row.first, None, "text"), cell("Last day", row.last, None, "text"), role="row")
        for row in periods
    )  # fmt: skip
    columns = [("name", "Period"), ("number", "Samples"), ("text", "First day"), ("text", "Last day")]
    body = el("tbody", *rows, role="rowgroup")
    said = (
        f"In each period {'half' if classes == 2 else f'1 in {classes}'} of the samples have each label. The labels "
        "stay secret until the reveal; a commitment to them is published."
    )
    return el("section", heading("Samples", said), table("Samples by period", columns, [body], "hf-small"))


def _last(lines: Sequence[Line], before: SplitKey, scale: Scale, links: Links) -> Html:
    """The first of the last revealed quarter, with the way to the whole table."""
    first = sorted(lines, key=lambda line: list(GROUPS).index(group_of(line.result)))
    rows = (
        el("tr", cell("System", named(line.result.entry.system), named(line.result.entry.team, 60), "name"),
           *headline_cells(line.result, scale), role="row")
        for line in first[:_LAST]
    )  # fmt: skip
    columns: list[tuple[str, Html | str]] = [
        ("name", "System"), ("number", scale.title), ("drawn", interval_scale(scale)),
    ]  # fmt: skip
    body = el("tbody", *rows, role="rowgroup")
    way = el("p", inner_link(links.board(before), f"The whole table of {before.edition}"))
    title = f"Last quarter's standing: {before.edition}"
    return el("section", heading(title), table(title, columns, [body], "hf-standings hf-small"), way)


def plain_participant(one: Participant, shares: Sequence[AnswerShare], split: SplitKey) -> dict[str, Value]:
    """A row for downloads; what is not known is empty."""
    mine = {row.said: row.samples for row in shares if row.origin == one.origin and row.headline}
    answers = {**dict(enumerate(class_names(split.task))), NO_ANSWER: "none", REFUSED: "blocked"}
    return {
        "task": split.task,
        "edition": split.edition,
        "system": one.system,
        "team": one.team,
        "regime": one.regime,
        "lane": one.lane,
        "entered": one.entered or None,
        "judged": one.judged,
        "samples": one.samples,
        **{name: mine.get(said, 0) if mine else None for said, name in answers.items()},
        "knowledge_cutoff": one.knowledge_cutoff,
    }
