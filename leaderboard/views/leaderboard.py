"""Who predicts best: the ranked table of a task and quarter, scores by period, and scores by prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from hellofresh.tasks import TASKS
from leaderboard.charts import interval_bar, interval_scale, period_panel, period_tick
from leaderboard.markup import DASH, Html, el, join, named, visible
from leaderboard.session import choose_split, open_board
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
_COLUMNS: tuple[tuple[str, str], ...] = (
    ("rank", ""), ("name", "System"), ("number", "F1"), ("drawn", ""), ("number", "Precision"), ("number", "Recall"),
    ("number", "Accuracy"), ("number", "No answer"), ("number", "Judged"), ("text", "Regime"), ("text", "Cutoff"),
)  # fmt: skip
_LANES = {"harness": "run by us", "submitted": "handed in"}
_MEANINGS = (
    ("F1", "the harmonic mean of precision and recall. The band beside it is its 95% interval, the tick its value, the "
           "dashed line at 0.667 what always saying yes would give."),
    ("Precision, recall", "the share of yes answers that were right; the share of true yes cases that were found."),
    ("Accuracy", "the share of all answers that were right; half of the samples are yes, so a coin has 0.5."),
    ("Small figures", "95% intervals. Where those of two systems overlap widely, their order may be luck."),
    ("No answer", "the share of samples with no readable answer (none) or a refusal (blocked). Both count as wrong."),
    ("Judged", "samples that the system judged, of all there are; a dotted line marks a part."),
    ("Regime", "what a system may use: zero-shot has nothing but the sample; web-search may search. Under it the lane: "
               "run by us in the harness, or predictions handed in by the team."),
    ("Cutoff", "the end of the system's training data as its makers state it. If it is later than the quarter, "
               "the system may have seen the outcome."),
)  # fmt: skip
_MOST_PANELS = 6


def _render() -> None:
    header("HelloFresh", _LEDE)
    board = open_board()
    split = choose_split(board)
    results = board.headlines(split)
    st.html(str(el("div", _introduction(board, split), _standings(results, board.is_bundled(split)), class_="hf")))
    if results:
        groups = {result.entry: kind for kind in _GROUPS for result in results if _group(result) == kind}
        _show_periods(board, split, groups)
        _show_prompts(board, split, list(groups))


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


def _standings(results: Sequence[Result], bundled: bool) -> Html:
    if not results:
        return el("p", "No system has been scored on this task and quarter yet. Run: ", el("code", "make release"))
    columns = [
        (kind, interval_scale() if kind == "drawn" else "# " if kind == "rank" and not bundled else title)
        for kind, title in _COLUMNS
    ]
    bodies = [_body(kind, [r for r in results if _group(r) == kind], bundled) for kind in _GROUPS]
    legend = (el("div", el("dt", term), el("dd", text)) for term, text in _MEANINGS)
    return join(
        [
            table("Systems by F1 with 95% intervals", columns, filter(None, bodies), "hf-standings"),
            el("details", el("summary", "What the columns mean"), el("dl", *legend)),
        ]
    )


def _body(kind: str, results: Sequence[Result], bundled: bool) -> Html | None:
    if not results:
        return None
    title, explained = _GROUPS[kind]
    if bundled and kind == "system":
        explained = explained.replace("ranked by F1", "in the order of F1, without ranks")
    places = ranks([result.f1.value for result in results])
    ranked = kind == "system" and not bundled
    rows = [_row(result, str(place) if ranked else "") for result, place in zip(results, places, strict=True)]
    banner = el("th", title, " ", el("small", explained), colspan=len(_COLUMNS), scope="rowgroup", role="rowheader")
    return el("tbody", el("tr", banner, class_="hf-group", role="row"), *rows, class_=f"hf-{kind}", role="rowgroup")


def _row(result: Result, rank: str) -> Html:
    entry = result.entry
    return el(
        "tr",
        el("td", rank, class_="hf-rank", role="cell"),
        cell("System", named(entry.system), named(entry.team, 60), "name"),
        _metric_cell("F1", result.f1),
        el("td", interval_bar(result.f1), class_="hf-drawn", role="cell"),
        *_details(result),
        cell("Regime", _or_dash(entry.regime), _LANES.get(entry.lane, visible(entry.lane, 20)), "text"),
        cell("Cutoff", _or_dash(result.knowledge_cutoff), None, "text"),
        role="row",
    )


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


def _entry_label(entry: Entry) -> str:
    """One plain line for select boxes, which take no markup."""
    parts = [visible(entry.system, 48), visible(entry.team, 32)]
    parts += [visible(entry.regime, 20)] if entry.regime != "none" else []
    return " · ".join(parts) + (f" ({entry.number + 1})" if entry.number else "")


def _show_periods(board: Board, split: Split, groups: Mapping[Entry, str]) -> None:
    st.html(str(el("div", heading("F1 by period", "Dots are F1, bands 95% intervals; grey marks are the other chosen "
                                  "systems, the dashed line is always saying yes."), class_="hf")))  # fmt: skip
    ordered = list(groups)
    chosen = st.multiselect(
        "Systems to show",
        ordered,
        default=ordered[:3],
        format_func=_entry_label,
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
        "System", ordered, format_func=_entry_label, key=f"prompts_{split.quarter}_{split.task}", width=480
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


PAGE = Page("Leaderboard", "leaderboard", _render)
