"""Who predicts best: the ranked table of a task and quarter, scores by period, and scores by prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import streamlit as st

from hellofresh.clock import now
from hellofresh.quarters import Quarter
from hellofresh.tasks import TASKS
from leaderboard import downloads
from leaderboard.charts import interval_bar, interval_scale, period_panel, period_tick
from leaderboard.markup import DASH, Html, el, join, named, visible
from leaderboard.records import Fixed, Records, Standing, SystemFacts
from leaderboard.session import (
    EVERY,
    choose_many,
    choose_one,
    choose_split,
    entry_label,
    open_board,
    open_records,
    search_text,
)
from leaderboard.tables import Board, Entry, Metric, Result, Split
from leaderboard.views._base import Page, cell, header, heading, notice, table

__all__ = ["PAGE", "ranks"]

_LEDE = (
    "A leaderboard of how well language models predict fresh decisions of people: which notes are found helpful, and "
    "which edits stay."
)
_GROUPS = {
    "system": ("Systems", "ranked by F1; the band is its 95% interval, the dashed line what always saying yes gives"),
    "baseline": ("Baselines", "rules without a language model, the least a system should beat; not ranked"),
    "smoke-test": ("Smoke test", "a model at chance level, here to show that the machinery works; not ranked"),
}
_COLUMNS: Mapping[str, str] = {
    "Precision": "number", "Recall": "number", "Accuracy": "number", "No answer": "number", "Judged": "number",
    "Cost": "number", "First": "number", "Regime": "text", "Cutoff": "text",
}  # fmt: skip
_SHOWN = [name for name in _COLUMNS if name != "First"]
_HEADLINE = "majority vote"
_SORTS: Mapping[str, Callable[[_Line], tuple[object, ...]]] = {
    "rank": lambda line: (line.rank or 10**6, -line.result.f1.value),
    "precision": lambda line: (-line.result.precision.value,),
    "recall": lambda line: (-line.result.recall.value,),
    "accuracy": lambda line: (-line.result.accuracy.value,),
    "fewest without answer": lambda line: (line.result.no_answer,),
    "lowest cost": lambda line: (line.facts is None or line.facts.cost_usd is None, line.cost_usd),
    "name": lambda line: (line.result.entry.system.casefold(),),
}
_LANES = {"harness": "run by us", "submitted": "handed in", "prospective": "handed in beforehand"}
_MEANINGS = (
    ("Rank", "by F1, on the samples that all ranked systems judged; below it the best and the worst rank that the data "
             "allow. Systems with the same bar at the left cannot be told apart from the best of them, at 5% and after "
             "adjusting for all pairs (Holm)."),
    ("F1", "the harmonic mean of precision and recall. The band beside it is its 95% interval, the tick its value, the "
           "dashed line at 0.667 what always saying yes would give."),
    ("Precision, recall", "the share of yes answers that were right; the share of true yes cases that were found."),
    ("Accuracy", "the share of all answers that were right; half of the samples are yes, so a coin has 0.5."),
    ("Small figures", "95% intervals. Where those of two systems overlap widely, their order may be luck."),
    ("No answer", "the share of samples with no readable answer (none) or a refusal (blocked). Both count as wrong."),
    ("First", "the probability that the system would be first on another draw of such samples."),
    ("Cost", "in US dollars by list prices, and tokens in and out, for all samples judged; unknown for predictions "
             "handed in."),
    ("Judged", "samples that the system judged, of all there are; a dotted line marks a part."),
    ("Regime", "what a system may use: zero-shot has nothing but the sample; web-search may search. Under it the lane: "
               "run by us in the harness, or predictions handed in by the team."),
    ("Cutoff", "the end of the system's training data as its makers state it. If it is later than the quarter, "
               "the system may have seen the outcome, and is marked."),
)  # fmt: skip
_MOST_PANELS = 6


@dataclass(frozen=True, slots=True)
class _Line:
    """A row of the table: a result, and what else is known of the system."""

    result: Result
    rank: int
    standing: Standing | None
    facts: SystemFacts | None

    @property
    def cost_usd(self) -> float:
        return (self.facts.cost_usd if self.facts else None) or 0.0


@dataclass(frozen=True, slots=True)
class _View:
    """What the visitor chose to see.

    Attributes:
        ties: whether rows stand in the order of ranks.
        narrowed: how much the filters left, empty where they left everything.
    """

    bundled: bool
    columns: Sequence[str]
    ties: bool
    narrowed: str = ""


def _render() -> None:
    header("HelloFresh", _LEDE)
    board, records = open_board(), open_records()
    split = choose_split(board, every_quarter=True)
    if split.quarter == EVERY:
        _show_every_quarter(board, records, split.task)
        return
    st.html(str(el("div", _introduction(board, split), _next_days(board, records, split.task), class_="hf")))
    bundled = board.is_bundled(split)
    if not board.headlines(split):
        run = el("code", "make release")
        st.html(str(el("p", "No system has been scored on this task and quarter yet. Run: ", run, class_="hf")))
        return
    lines, view = _chosen_lines(board, records, split, bundled=bundled)
    st.html(str(el("div", _standings(lines, view), class_="hf")))
    if not lines:
        return
    downloads.offer([_plain(line, split) for line in lines], f"hellofresh-{split.task}-{split.quarter}")
    groups = {line.result.entry: kind for kind in _GROUPS for line in lines if _group(line.result) == kind}
    _show_periods(board, split, groups)
    _show_prompts(board, split, list(groups))


def _chosen_lines(board: Board, records: Records, split: Split, *, bundled: bool) -> tuple[list[_Line], _View]:
    """The table's rows after all filters, in their order."""
    headlines = board.headlines(split)
    entries = [result.entry for result in headlines]
    with st.popover("Filter, order, columns"):
        text = search_text("find", "Find a system or team")
        regimes = sorted({entry.regime for entry in entries} - {"none"})
        regime = choose_one("regime", "Regime", [EVERY, *regimes], _any("regime"), default=EVERY)
        lanes = sorted({entry.lane for entry in entries})
        lane = choose_one("lane", "Lane", [EVERY, *lanes], lambda x: _LANES.get(x, _any("lane")(x)), default=EVERY)
        prompt = choose_one("prompt", "Prompt", [_HEADLINE, *board.prompts(split)], visible, default=_HEADLINE)
        order = choose_one("sort", "Order", list(_SORTS), str.capitalize, default="rank")
        columns = choose_many("columns", "Columns", list(_COLUMNS), default=_SHOWN)
        titles = {entry.origin: entry_label(entry) for entry in entries}
        hidden = choose_many("hide", "Systems to hide", list(titles), lambda origin: titles[origin])
    results = headlines if prompt == _HEADLINE else board.with_prompt(split, prompt)
    standings = records.standings(split) if prompt == _HEADLINE and not bundled else {}
    facts = records.systems(split)
    shown = [
        line
        for line in _lines(results, standings, facts)
        if regime in (EVERY, line.result.entry.regime)
        and lane in (EVERY, line.result.entry.lane)
        and line.result.entry.origin not in hidden
        and text.casefold() in f"{line.result.entry.system} {line.result.entry.team}".casefold()
    ]
    narrowed = f"{len(shown)} of {len(headlines)} systems shown" if len(shown) < len(headlines) else ""
    narrowed += f"{'; ' if narrowed else ''}prompt {visible(prompt, 40)}" if prompt != _HEADLINE else ""
    view = _View(bundled, columns, order == "rank" and bool(standings), narrowed)
    return sorted(shown, key=_SORTS[order]), view


def _any(what: str) -> Callable[[str], str]:
    return lambda name: f"Every {what}" if name == EVERY else visible(name, 40)


def _lines(
    results: Sequence[Result], standings: Mapping[str, Standing], facts: Mapping[str, SystemFacts]
) -> list[_Line]:
    """Ranks are those of the standings; without standings they follow from the order of F1."""
    ordered = [result for result in results if _group(result) == "system"]
    places = dict(zip((r.entry for r in ordered), ranks([r.f1.value for r in ordered]), strict=True))
    found = []
    for result in results:
        standing = standings.get(result.entry.origin)
        place = standing.rank if standing else 0 if standings else places.get(result.entry, 0)
        found.append(_Line(result, place, standing, facts.get(result.entry.origin)))
    return found


def _next_days(board: Board, records: Records, task: str) -> Html | None:
    """When the next quarter opens, and until when the open one takes predictions."""
    found = [(split, records.days(split)) for split in board.splits if split.task == task]
    latest = max(((split, days) for split, days in found if days), key=lambda item: item[1].opens, default=None)
    if latest is None:
        return None
    split, days = latest
    moment, following = now(), Quarter.parse(split.quarter).next()
    parts = [f"{split.quarter} takes predictions until {_day(days.deadline)}."] if moment < days.deadline else []
    soon = "opens" if moment < days.reveals else "was to open"
    return el("p", " ".join([*parts, f"The next quarter, {following}, {soon} on {_day(days.reveals)}."]),
              class_="hf-days")  # fmt: skip


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"


def _plain(line: _Line, split: Split) -> dict[str, downloads.Value]:
    """A row for downloads; what is not known is empty."""
    result, standing, facts = line.result, line.standing, line.facts
    metrics = {"f1": result.f1, "precision": result.precision, "recall": result.recall, "accuracy": result.accuracy}
    return {
        "task": split.task,
        "quarter": split.quarter,
        "rank": line.rank or None,
        "rank_low": standing.low if standing else None,
        "rank_high": standing.high if standing else None,
        "tie_group": standing.tie_group if standing else None,
        "system": result.entry.system,
        "team": result.entry.team,
        "regime": result.entry.regime,
        "lane": result.entry.lane,
        "prompt": result.prompt,
        **{f"{name}{end}": value for name, m in metrics.items()
           for end, value in (("", m.value), ("_low", m.low), ("_high", m.high))},
        "no_answer": result.no_answer,
        "judged": result.n,
        "samples": result.n_split,
        "cost_usd": facts.cost_usd if facts else None,
        "tokens_in": facts.tokens_in if facts else None,
        "tokens_out": facts.tokens_out if facts else None,
        "knowledge_cutoff": result.knowledge_cutoff,
        "contamination": facts.contamination if facts else None,
    }  # fmt: skip


def _introduction(board: Board, split: Split) -> Html:
    samples = sum(2 * balance.taken_per_class for balance in board.balance(split))
    task = TASKS.get(split.task)
    question = (
        (el("strong", task.question), f" {samples:,} samples, half of them {task.positive}, half {task.negative}.")
        if task
        else (f"{samples:,} samples.",)
    )
    bundled = notice(
        "Bundled sample.",
        "This quarter was written for the project, to try it out. It shows the machinery and ranks nobody.",
    )
    return join([el("p", *question, class_="hf-question"), bundled if board.is_bundled(split) else None])


def _group(result: Result) -> str:
    if result.smoke_test:
        return "smoke-test"
    return "baseline" if result.entry.kind == "baseline" else "system"


def ranks(values: Sequence[float]) -> list[int]:
    """Ranks of values in descending order; equal values share the better rank (1, 2, 2, 4)."""
    shared: dict[float, int] = {}
    for place, value in enumerate(values, start=1):
        shared.setdefault(value, place)
    return [shared[value] for value in values]


def _standings(lines: Sequence[_Line], view: _View) -> Html:
    if not lines:
        return el("p", "No system fits what you chose above.")
    columns: list[tuple[str, Html | str]] = [
        ("rank", "" if view.bundled else "#"), ("name", "System"), ("number", "F1"), ("drawn", interval_scale()),
    ]  # fmt: skip
    columns += [(_COLUMNS[name], name) for name in view.columns]
    bodies = [_body(kind, [line for line in lines if _group(line.result) == kind], view) for kind in _GROUPS]
    legend = (el("div", el("dt", term), el("dd", text)) for term, text in _MEANINGS)
    return join(
        [
            el("p", el("small", f"{view.narrowed}.")) if view.narrowed else None,
            table("Systems by F1 with 95% intervals", columns, filter(None, bodies), "hf-standings"),
            el("details", el("summary", "What the columns mean"), el("dl", *legend)),
        ]
    )


def _body(kind: str, lines: Sequence[_Line], view: _View) -> Html | None:
    if not lines:
        return None
    title, explained = _GROUPS[kind]
    if view.bundled and kind == "system":
        explained = explained.replace("ranked by F1", "in the order of F1, without ranks")
    elif kind == "system" and view.ties:
        explained = "ranked by F1; the same bar at the left: not separable at 5%; the dashed line: always saying yes"
    rows = [_row(line, view, ranked=kind == "system" and not view.bundled) for line in lines]
    wide = 4 + len(view.columns)
    banner = el("th", title, " ", el("small", explained), colspan=wide, scope="rowgroup", role="rowheader")
    return el("tbody", el("tr", banner, class_="hf-group", role="row"), *rows, class_=f"hf-{kind}", role="rowgroup")


def _row(line: _Line, view: _View, *, ranked: bool) -> Html:
    entry, cells = line.result.entry, _cells(line)
    tied = f"hf-tie hf-tie-{line.standing.tie_group % 2}" if view.ties and line.standing else None
    return el(
        "tr",
        _rank_cell(line, ranked=ranked),
        cell("System", named(entry.system), named(entry.team, 60), "name"),
        _metric_cell("F1", line.result.f1),
        el("td", interval_bar(line.result.f1), class_="hf-drawn", role="cell"),
        *(cells[name] for name in view.columns),
        class_=tied,
        role="row",
    )


def _rank_cell(line: _Line, *, ranked: bool) -> Html:
    standing = line.standing
    if not ranked:
        return el("td", class_="hf-rank", role="cell")
    between = (
        el("small", f"{standing.low}{DASH}{standing.high}" if standing.low < standing.high else str(standing.low))
        if standing
        else None
    )
    return el("td", str(line.rank) if line.rank else DASH, between, class_="hf-rank", role="cell")


def _cells(line: _Line) -> dict[str, Html]:
    """What may stand to the right of F1, by column."""
    result, entry = line.result, line.result.entry
    names = ("Precision", "Recall", "Accuracy", "No answer", "Judged")
    first = f"{line.standing.first:.0%}" if line.standing else DASH
    lane = _LANES.get(entry.lane, visible(entry.lane, 20))
    return {
        **dict(zip(names, _details(result), strict=True)),
        "Cost": _cost(line.facts),
        "First": cell("First", first),
        "Regime": cell("Regime", _or_dash(entry.regime), lane, "text"),
        "Cutoff": cell("Cutoff", _or_dash(result.knowledge_cutoff), _mark(line.facts), "text"),
    }


def _mark(facts: SystemFacts | None) -> Html | None:
    if facts is None or facts.contamination != "possible":
        return None
    return el("span", "may know outcomes", class_="hf-partly")


def _cost(facts: SystemFacts | None) -> Html:
    if facts is None or facts.cost_usd is None:
        return cell("Cost", "unknown" if facts is None or facts.tokens_in is None else "no price")
    total = None if facts.tokens_in is None else facts.tokens_in + (facts.tokens_out or 0)
    return cell("Cost", f"${facts.cost_usd:,.2f}", f"{_short(total)} tokens" if total else None)


def _short(number: int) -> str:
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)


def _or_dash(text: str) -> Html | str:
    return DASH if text == "none" else named(text, 30)


def _details(result: Result) -> tuple[Html, ...]:
    parts = [f"{count} {name}" for name, count in (("none", result.none), ("blocked", result.blocked)) if count]
    partly = el("span", f"{result.n:,}", class_="hf-partly") if result.n < result.n_split else f"{result.n:,}"
    return (
        _metric_cell("Precision", result.precision),
        _metric_cell("Recall", result.recall),
        _metric_cell("Accuracy", result.accuracy),
        cell("No answer", f"{result.no_answer:.1%}", ", ".join(parts) or None),
        cell("Judged", partly, f"of {result.n_split:,}"),
    )


def _metric_cell(label: str, metric: Metric) -> Html:
    return cell(label, f"{metric.value:.3f}", f"{metric.low:.2f}{DASH}{metric.high:.2f}")


def _show_periods(board: Board, split: Split, groups: Mapping[Entry, str]) -> None:
    st.html(str(el("div", heading("F1 by period", "Dots are F1, bands 95% intervals; grey marks are the other chosen "
                                  "systems, the dashed line is always saying yes."), class_="hf")))  # fmt: skip
    ordered = list(groups)
    chosen = st.multiselect(
        "Systems to show",
        ordered,
        default=ordered[:3],
        format_func=entry_label,
        max_selections=_MOST_PANELS,
        key=f"periods_{split.quarter}_{split.task}",
    )
    if not chosen:
        st.html(str(el("p", "Choose at least one system.", class_="hf")))
        return
    periods = [balance.period for balance in board.balance(split) if balance.taken_per_class]
    results = board.by_period(split, chosen)
    panels = (
        el("figure", el("figcaption", named(entry.system, 60), " ", el("small", named(entry.team, 40), _regime(entry))),
           period_panel(entry, results, periods), class_=f"hf-{groups[entry]}")
        for entry in chosen
    )  # fmt: skip
    numbers = el("details", el("summary", "The numbers"), _period_table(results, periods))
    st.html(str(el("div", el("div", *panels, class_="hf-panels"), numbers, class_="hf")))


def _regime(entry: Entry) -> Html | None:
    return join([" · ", visible(entry.regime, 30)]) if entry.regime != "none" else None


def _period_table(results: Mapping[Entry, Sequence[Result]], periods: Sequence[str]) -> Html:
    rows = []
    for entry, theirs in results.items():
        by_period = {result.period: result for result in theirs}
        cells = (
            _metric_cell(tick, by_period[period].f1) if period in by_period else cell(tick, DASH)
            for period, tick in zip(periods, map(period_tick, periods), strict=True)
        )
        rows.append(el("tr", cell("System", named(entry.system), named(entry.team, 60), "name"), *cells, role="row"))
    columns = [("name", "System"), *(("number", period_tick(period)) for period in periods)]
    body = el("tbody", *rows, role="rowgroup")
    return el("div", table("F1 by period", columns, [body], "hf-wide"), class_="hf-scroll", tabindex=0)


def _show_prompts(board: Board, split: Split, ordered: Sequence[Entry]) -> None:
    explained = (
        "Models are asked in several wordings; the majority vote of their answers is the line in the table above. "
        "Baselines and handed-in predictions have a single answer a sample."
    )
    st.html(str(el("div", heading("One system by prompt", explained), class_="hf")))
    entry = st.selectbox(
        "System", ordered, format_func=entry_label, key=f"prompts_{split.quarter}_{split.task}", width=480
    )
    results = board.by_prompt(split, entry)
    columns: list[tuple[str, Html | str]] = [("name", "Prompt"), ("number", "F1"), ("drawn", interval_scale())]
    columns += [("number", name) for name in ("Precision", "Recall", "Accuracy", "No answer", "Judged")]
    rows = (
        el(
            "tr",
            cell("Prompt", named(result.prompt, 60), None, "name"),
            _metric_cell("F1", result.f1),
            el("td", interval_bar(result.f1), class_="hf-drawn", role="cell"),
            *_details(result),
            role="row",
        )
        for result in results
    )
    about = results[0].about if results else ""
    body = el("tbody", *rows, role="rowgroup")
    said = el("p", "About it, in its makers' words: ", named(about, 600), class_="hf-said") if about else None
    st.html(str(el("div", said, table("Scores by prompt", columns, [body], "hf-prompts"), class_="hf")))


def _show_every_quarter(board: Board, records: Records, task: str) -> None:
    """All quarters on one scale; the bundled sample only where there is nothing else."""
    real = records.fixed(task, bundled=False)
    rows = real or records.fixed(task, bundled=True)
    if not rows:
        st.html(
            str(el("p", "No system has been scored on this task yet. Run: ", el("code", "make release"), class_="hf"))
        )
        return
    said = notice("Bundled sample.", "These quarters were written for the project, to try it out. They rank nobody.")
    explained = (
        f"F1 that each system would have in the mean of the quarters here ({rows[0].of_quarters} so far): a model with "
        "an effect for every system and every quarter takes out that quarters differ in how hard they are. Intervals "
        "are clustered by quarter, and are left out where too few quarters tell."
    )
    doubt = rows[0].additivity_p
    if doubt is not None and doubt < 0.05:
        explained += f" Careful: systems differ from quarter to quarter by more than chance (p = {doubt:.3f})."
    bodies = [el("tbody", *(_fixed_row(row) for row in rows), role="rowgroup")]
    columns: list[tuple[str, Html | str]] = [
        ("name", "System"), ("number", "F1"), ("drawn", interval_scale()), ("number", "Quarters"), ("text", "Regime"),
        ("text", "Latest"),
    ]  # fmt: skip
    body = table("Systems over all quarters", columns, bodies, "hf-standings")
    st.html(str(el("div", None if real else said, _next_days(board, records, task), heading("All quarters", explained),
                   body, class_="hf")))  # fmt: skip
    plain: list[dict[str, downloads.Value]] = [
        {"task": task, "system": r.system, "team": r.team, "regime": r.regime, "lane": r.lane, "f1": r.score,
         "f1_low": r.low, "f1_high": r.high, "quarters": r.quarters, "of_quarters": r.of_quarters, "part": r.part}
        for r in rows
    ]  # fmt: skip
    downloads.offer(plain, f"hellofresh-{task}-all-quarters")


def _fixed_row(row: Fixed) -> Html:
    known = row.low is not None and row.high is not None
    low, high = (row.low, row.high) if row.low is not None and row.high is not None else (row.score, row.score)
    kind = "hf-baseline" if row.kind == "baseline" or row.smoke_test else None
    return el(
        "tr",
        cell("System", named(row.system), named(row.team, 60), "name"),
        cell("F1", f"{row.score:.3f}", f"{low:.2f}{DASH}{high:.2f}" if known else None),
        el("td", interval_bar(Metric(row.score, low, high)), class_="hf-drawn", role="cell"),
        cell("Quarters", str(row.quarters), f"of {row.of_quarters}"),
        cell("Regime", _or_dash(row.regime), _LANES.get(row.lane, visible(row.lane, 20)), "text"),
        cell("Latest", visible(row.latest, 10), None, "text"),
        class_=kind,
        role="row",
    )


PAGE = Page("Leaderboard", "leaderboard", _render)
