"""Who predicts best: the ranked table of a task and quarter, scores by period, and scores by prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hellofresh.core.clock import now
from leaderboard.components.dataset import dataset_introduction
from leaderboard.components.labels import entry_label, is_frozen
from leaderboard.components.links import SiteLinks
from leaderboard.components.markup import Html, el, named, visible
from leaderboard.components.open_quarter import open_quarter, plain_participant, quarter_tabs
from leaderboard.components.periods import period_figures, periods_heading, score_table
from leaderboard.components.pieces import LEDE, heading
from leaderboard.components.prospective import prospective_hint, prospective_introduction
from leaderboard.components.quarters import every_quarter, fixed_rows, introduction, next_days, plain_fixed, too_few
from leaderboard.components.scale import Scale, scale_of
from leaderboard.components.standings import (
    GROUPS,
    Line,
    View,
    by_rank,
    columns_of,
    group_of,
    lines_of,
    plain_row,
    shown_columns,
    standings_table,
)
from leaderboard.components.tools import table_tools
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
)

__all__ = ["PAGE"]

_HEADLINE = "majority vote"
_MOST_PANELS = 6


def _render() -> None:
    header("HelloFresh", LEDE)
    board, records = open_board(), open_records()
    split = choose_split(board, every_quarter=True, lanes=True)
    if split.edition == EVERY:
        _show_every_quarter(board, records, split.task)
        return
    show(quarter_tabs(board, split, SiteLinks()))
    if board.is_open(split):
        _show_open(board, records, split)
        return
    lines = _all_lines(board, records, split)
    show(*_introduction(board, records, split, lines))
    if not lines:
        return
    shown, view = _chosen_lines(board, records, split, lines)
    show(table_tools(view.columns, set(view.columns) - set(shown_columns(view.scale))), standings_table(shown, view))
    if not shown:
        return
    name = f"hellofresh-{split.task}-{split.edition}{'' if split.kind == MAIN else '-prospective'}"
    downloads.offer(lambda: [plain_row(line, split) for line in shown], name)
    groups = {line.result.entry: kind for kind in GROUPS for line in shown if group_of(line.result) == kind}
    if not is_frozen(split.edition):
        _show_periods(board, split, groups, view.scale)
    _show_prompts(board, split, list(groups), view.scale)


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


def _all_lines(board: Board, records: Records, split: SplitKey) -> list[Line]:
    standings = {} if board.is_bundled(split) else records.standings(split)
    return lines_of(board.headlines(split), standings, records.systems(split))


def _chosen_lines(board: Board, records: Records, split: SplitKey, lines: list[Line]) -> tuple[list[Line], View]:
    """The table's rows, with one prompt if the visitor wants that; the browser narrows them further."""
    scale = scale_of(records, split)
    prompts, prompt = board.prompts(split), _HEADLINE
    if prompts:
        prompt = choose_one("prompt", "Prompt", [_HEADLINE, *prompts], visible, default=_HEADLINE)
    if prompt != _HEADLINE:
        lines = lines_of(board.with_prompt(split, prompt), {}, records.systems(split))
    ties = any(line.standing for line in lines)
    view = View(split, board.is_bundled(split), scale, list(columns_of(scale)), ties,
                "" if prompt == _HEADLINE else prompt)  # fmt: skip
    return sorted(lines, key=by_rank(scale)), view


def _show_periods(board: Board, split: SplitKey, groups: Mapping[BoardEntry, str], scale: Scale) -> None:
    show(heading(*periods_heading(scale, "the other chosen systems")))
    entries = {entry.origin: entry for entry in groups}
    chosen = choose_many("periods", "Systems to show", list(entries), lambda key: entry_label(entries[key]),
                         default=list(entries)[:3], most=_MOST_PANELS, about=" ".join(split))  # fmt: skip
    if not chosen:
        show(el("p", "Choose at least one system."))
        return
    results = board.by_period(split, [entries[origin] for origin in chosen])
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
    entries = {entry.origin: entry for entry in ordered}
    origin = choose_one("prompts", "System", list(entries), lambda key: entry_label(entries[key]), width=480,
                        default=next(iter(entries)))  # fmt: skip
    results = board.by_prompt(split, entries[origin])
    about = results[0].about if results else ""
    said = el("p", "About it, in its makers' words: ", named(about, 600), class_="hf-said") if about else None
    show(said, score_table("Prompt", results, scale))


def _show_every_quarter(board: Board, records: Records, task: str) -> None:
    """All quarters on one scale; the bundled sample only where there is nothing else."""
    rows = fixed_rows(records, task)
    few = too_few(rows)
    if few is not None:
        show(next_days(board, records, task), few)
        return
    bundled = not records.fixed(task, bundled=False)
    show(next_days(board, records, task), table_tools([]), every_quarter(rows, task, bundled=bundled))
    downloads.offer(lambda: [plain_fixed(row, task) for row in rows], f"hellofresh-{task}-all-quarters")


PAGE = SitePage("Leaderboard", "leaderboard", _render, LEDE)
