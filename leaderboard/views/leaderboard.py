"""Who predicts best: the ranked table of a task and quarter, scores by period, and scores by prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from hellofresh.clock import now
from leaderboard.components.dataset import dataset_introduction
from leaderboard.components.labels import entry_label, is_frozen
from leaderboard.components.links import SiteLinks
from leaderboard.components.markup import Html, el, named, visible
from leaderboard.components.open_quarter import open_quarter, plain_participant, quarter_tabs
from leaderboard.components.periods import period_figures, periods_heading, score_table
from leaderboard.components.pieces import LEDE, heading
from leaderboard.components.prospective import prospective_hint, prospective_introduction
from leaderboard.components.quarters import every_quarter, fixed_rows, introduction, next_days, plain_fixed
from leaderboard.components.scale import Scale, scale_of
from leaderboard.components.standings import (
    GROUPS,
    LANES,
    Line,
    View,
    columns_of,
    group_of,
    lines_of,
    plain_row,
    shown_columns,
    sorts_of,
    standings_table,
)
from leaderboard.components.verdict import verdict
from leaderboard.data.records import Records
from leaderboard.data.tables import MAIN, PROSPECTIVE, Board, BoardEntry, SplitKey
from leaderboard.views import downloads
from leaderboard.views._base import SitePage, header, show
from leaderboard.views.session import (
    EVERY,
    choose_many,
    choose_one,
    choose_split,
    open_board,
    open_records,
    search_text,
)

__all__ = ["PAGE"]

_HEADLINE = "majority vote"
_MOST_PANELS = 6


def _render() -> None:
    header("HelloFresh", LEDE)
    board, records = open_board(), open_records()
    split = choose_split(board, every_quarter=True)
    if split.edition == EVERY:
        _show_every_quarter(board, records, split.task)
        return
    show(quarter_tabs(board, split, SiteLinks()))
    lanes = _lanes(board, split)
    if board.is_open(split) and not _asks_prospective(lanes):
        _show_open(board, records, split)
        return
    if not lanes:
        show(*_introduction(board, records, split, []))
        return
    first, filters = st.container(), st.popover("Filter, order, columns")
    with filters:
        lane = choose_one("lane", "Lane", [EVERY, *lanes], lambda x: LANES.get(x, _any("lane")(x)), default=EVERY)
    split = split._replace(kind=PROSPECTIVE) if lane == PROSPECTIVE else split
    lines = _all_lines(board, records, split)
    with first:
        show(*_introduction(board, records, split, lines))
    with filters:
        shown, view = _chosen_lines(board, records, split, lines, lane)
    show(standings_table(shown, view))
    if not shown:
        return
    name = f"hellofresh-{split.task}-{split.edition}{'' if split.kind == MAIN else '-prospective'}"
    downloads.offer(lambda: [plain_row(line, split) for line in shown], name)
    groups = {line.result.entry: kind for kind in GROUPS for line in shown if group_of(line.result) == kind}
    if not is_frozen(split.edition):
        _show_periods(board, split, groups, view.scale)
    _show_prompts(board, split, list(groups), view.scale)


def _asks_prospective(lanes: Sequence[str]) -> bool:
    """Whether the visitor came for the prospective table of a quarter that is not revealed."""
    return PROSPECTIVE in lanes and st.query_params.get("lane") == PROSPECTIVE


def _show_open(board: Board, records: Records, split: SplitKey) -> None:
    """A quarter that is not revealed."""
    links = SiteLinks()
    hint = prospective_hint(board, records, split, links)
    show(introduction(board, split), hint, open_quarter(board, records, split, links, now()))
    rows = records.participants(split)
    if rows:
        shares = records.shares(split)
        downloads.offer(lambda: [plain_participant(row, shares, split) for row in rows],
                        f"hellofresh-{split.task}-{split.edition}-open")  # fmt: skip


def _introduction(board: Board, records: Records, split: SplitKey, lines: Sequence[Line]) -> list[Html | None]:
    """What the table is about, who leads, and what comes next."""
    links, bundled = SiteLinks(), board.is_bundled(split)
    who = verdict(lines, records, split, scale_of(records, split), links, bundled=bundled)
    if split.kind == PROSPECTIVE:
        return [prospective_introduction(records, split), who]
    none = el("p", "No system has been scored on this task and quarter yet. Run: ", el("code", "make release"))
    dataset = dataset_introduction(records, split)
    parts = [dataset or introduction(board, split), who, None if dataset else next_days(board, records, split.task)]
    return [*parts, prospective_hint(board, records, split, links), None if lines else none]


def _lanes(board: Board, split: SplitKey) -> list[str]:
    """The lanes of a quarter's entries; the prospective one has a table of its own."""
    others = split._replace(kind=PROSPECTIVE)
    return board.lanes(split) + ([PROSPECTIVE] if board.has_scores(others) else [])


def _all_lines(board: Board, records: Records, split: SplitKey) -> list[Line]:
    standings = {} if board.is_bundled(split) else records.standings(split)
    return lines_of(board.headlines(split), standings, records.systems(split))


def _chosen_lines(
    board: Board, records: Records, split: SplitKey, lines: list[Line], lane: str
) -> tuple[list[Line], View]:
    """The table's rows after all filters, in their order."""
    entries = [line.result.entry for line in lines]
    text = search_text("find", "Find a system or team")
    regimes = sorted({entry.regime for entry in entries} - {"none"})
    regime = choose_one("regime", "Regime", [EVERY, *regimes], _any("regime"), default=EVERY)
    prompt = choose_one("prompt", "Prompt", [_HEADLINE, *board.prompts(split)], visible, default=_HEADLINE)
    scale = scale_of(records, split)
    orders = sorts_of(scale)
    order = choose_one("sort", "Order", list(orders), str.capitalize, default="rank")
    columns = choose_many("columns", "Columns", list(columns_of(scale)), default=shown_columns(scale))
    titles = {entry.origin: entry_label(entry) for entry in entries}
    hidden = choose_many("hide", "Systems to hide", list(titles), lambda origin: titles[origin])
    if prompt != _HEADLINE:
        lines = lines_of(board.with_prompt(split, prompt), {}, records.systems(split))
    shown = [
        line
        for line in lines
        if regime in (EVERY, line.result.entry.regime)
        and lane in (EVERY, line.result.entry.lane)
        and line.result.entry.origin not in hidden
        and text.casefold() in f"{line.result.entry.name} {line.result.entry.team}".casefold()
    ]
    narrowed = f"{len(shown)} of {len(entries)} systems shown" if len(shown) < len(entries) else ""
    narrowed += f"{'; ' if narrowed else ''}prompt {visible(prompt, 40)}" if prompt != _HEADLINE else ""
    ties = order == "rank" and any(line.standing for line in lines)
    view = View(split, board.is_bundled(split), scale, columns, ties, narrowed)
    return sorted(shown, key=orders[order]), view


def _any(what: str) -> Callable[[str], str]:
    return lambda name: f"Every {what}" if name == EVERY else visible(name, 40)


def _show_periods(board: Board, split: SplitKey, groups: Mapping[BoardEntry, str], scale: Scale) -> None:
    show(heading(*periods_heading(scale, "the other chosen systems")))
    ordered = list(groups)
    chosen = st.multiselect(
        "Systems to show",
        ordered,
        default=ordered[:3],
        format_func=entry_label,
        max_selections=_MOST_PANELS,
        key="_".join(["periods", *split]),
    )
    if not chosen:
        show(el("p", "Choose at least one system."))
        return
    results = board.by_period(split, chosen)
    periods = [balance.period for balance in board.balance(split) if balance.taken_per_class]
    if split.kind == PROSPECTIVE:
        periods = sorted({result.period for theirs in results.values() for result in theirs})
    show(period_figures(results, periods, groups, scale))


def _show_prompts(board: Board, split: SplitKey, ordered: Sequence[BoardEntry], scale: Scale) -> None:
    explained = (
        "Models are asked with several prompts; the table above shows their majority vote. Baselines and submitted "
        "predictions have one answer per sample."
    )
    show(heading("One system by prompt", explained))
    entry = st.selectbox("System", ordered, format_func=entry_label, key="_".join(["prompts", *split]), width=480)
    results = board.by_prompt(split, entry)
    about = results[0].about if results else ""
    said = el("p", "About it, in its makers' words: ", named(about, 600), class_="hf-said") if about else None
    show(said, score_table("Prompt", results, scale))


def _show_every_quarter(board: Board, records: Records, task: str) -> None:
    """All quarters on one scale; the bundled sample only where there is nothing else."""
    rows = fixed_rows(records, task)
    if not rows:
        show(el("p", "No system has been ranked on this task yet."))
        return
    bundled = not records.fixed(task, bundled=False)
    show(next_days(board, records, task), every_quarter(rows, task, bundled=bundled))
    downloads.offer(lambda: [plain_fixed(row, task) for row in rows], f"hellofresh-{task}-all-quarters")


PAGE = SitePage("Leaderboard", "leaderboard", _render)
