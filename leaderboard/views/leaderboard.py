"""Who predicts best: the ranked table of a task and quarter, scores by period, and scores by prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hellofresh.results.board.schema import AnswerShare, Participant
from hellofresh.tasks.samples import MAIN, PROSPECTIVE
from leaderboard.components.labels import EVERY, entry_label, is_frozen
from leaderboard.components.markup import el, named, visible
from leaderboard.components.open_quarter import open_quarter, plain_participant, quarter_tabs
from leaderboard.components.pieces import LEDE, heading
from leaderboard.components.quarters import (
    every_quarter,
    fixed_rows,
    introduction,
    next_days,
    plain_fixed,
    prospective_hint,
    too_few,
)
from leaderboard.components.scale import Scale, scale_of
from leaderboard.components.standings import (
    Line,
    View,
    all_lines,
    by_rank,
    columns_class,
    columns_of,
    in_groups,
    lines_of,
    period_figures,
    plain_row,
    score_table,
    shown_columns,
    standings_table,
)
from leaderboard.components.tables import table_tools
from leaderboard.data.board import Board, BoardEntry, SplitKey
from leaderboard.views.compare import verdict
from leaderboard.views.visit import Choices, Page, Visit

_HEADLINE = "majority vote"
_USUAL_PANELS, _MOST_PANELS = 3, 6


def _compose(visit: Visit) -> None:
    visit.header("HelloFresh" if visit.live else "HelloFresh leaderboard", LEDE)
    board, links = visit.board, visit.links
    split = visit.split(every_quarter=True)
    days = next_days(board, split.task, visit.moment)
    if split.edition == EVERY:
        fixed = fixed_rows(board, split.task)
        few = too_few(fixed)
        visit.show(days, *([few] if few else [table_tools([]), every_quarter(board, split.task)]))
        if few is None:
            name = f"hellofresh-{split.task}-all-quarters"
            visit.offer(lambda: [plain_fixed(row, split.task) for row in fixed], name)
        return
    visit.show(quarter_tabs(board, split, links) if visit.live else None)
    hint = prospective_hint(board, split, links, visit.moment)
    if board.is_open(split):
        what = open_quarter(board, split, links, visit.moment)
        visit.show(introduction(board, split), hint, what, None if visit.live else days)
        rows, shares = board.rows(Participant, split), board.rows(AnswerShare, split)
        if rows and visit.live:
            said = f"hellofresh-{split.task}-{split.edition}-open"
            visit.offer(lambda: [plain_participant(row, shares, split) for row in rows], said)
        return
    lines = all_lines(board, split)
    who = verdict(lines, board, split, scale_of(board, split), links, bundled=board.is_bundled(split))
    none = el("p", "No system has been scored on this task and quarter yet. Run: ", el("code", "make release"))
    follows = None if is_frozen(split.edition) or (visit.live and split.kind == PROSPECTIVE) else days
    visit.show(introduction(board, split), who, follows, hint, None if lines else none)
    if not lines:
        return
    shown, view = _chosen_lines(visit, split, lines)
    visit.show(
        table_tools(view.columns, set(view.columns) - set(shown_columns(view.scale))),
        el("div", standings_table(shown, view), class_=f"hf-ranked {columns_class(view.scale)}"),
    )
    if not shown:
        return
    name = f"hellofresh-{split.task}-{split.edition}{'' if split.kind == MAIN else '-prospective'}"
    visit.offer(lambda: [plain_row(line, split) for line in shown], name)
    groups = in_groups(shown)
    if not is_frozen(split.edition):
        _show_periods(visit, split, groups, view.scale)
    if visit.live:
        _show_prompts(visit, split, list(groups), view.scale)


def _chosen_lines(visit: Visit, split: SplitKey, lines: list[Line]) -> tuple[list[Line], View]:
    """The table's rows, with one prompt if the visitor wants that; the browser narrows them further."""
    board, scale = visit.board, scale_of(visit.board, split)
    prompts, prompt = board.prompts(split), _HEADLINE
    if prompts:
        prompt = visit.one(
            "prompt", "Prompt", {name: visible(name) for name in (_HEADLINE, *prompts)}, default=_HEADLINE
        )
    if prompt != _HEADLINE:
        lines = lines_of(board.with_prompt(split, prompt), {}, board.systems(split))
    columns = tuple(columns_of(scale)) if visit.live else tuple(shown_columns(scale))
    ties, asked = any(line.standing for line in lines), "" if prompt == _HEADLINE else prompt
    view = View(split, board.is_bundled(split), scale, columns, ties, asked, visit.links)
    return sorted(lines, key=by_rank(scale)), view


def _show_periods(visit: Visit, split: SplitKey, groups: Mapping[BoardEntry, str], scale: Scale) -> None:
    line = f", the dashed line is {scale.constant}" if scale.constant else ""
    said = f"Dots are {scale.title}, bands 95% intervals; grey marks are the others shown here{line}."
    visit.show(heading(f"{scale.title} by period", said))
    entries = {entry.origin: entry for entry in groups}
    chosen = visit.many(
        "periods",
        "Systems to show",
        {origin: entry_label(entry) for origin, entry in entries.items()},
        default=list(entries)[:_USUAL_PANELS],
        most=_MOST_PANELS,
        about=" ".join(split),
    )
    if not chosen:
        visit.show(el("p", "Choose at least one system."))
        return
    results = visit.board.by_period(split, [entries[origin] for origin in chosen])
    periods = [balance.period for balance in visit.board.balance(split) if balance.taken_per_class]
    if split.kind == PROSPECTIVE:
        periods = sorted({result.period for theirs in results.values() for result in theirs})
    visit.show(period_figures(results, periods, groups, scale))


def _show_prompts(visit: Visit, split: SplitKey, ordered: Sequence[BoardEntry], scale: Scale) -> None:
    explained = (
        "Models are asked with several prompts; the table above shows their majority vote. Baselines and submitted "
        "predictions have one answer per sample."
    )
    visit.show(heading("One system by prompt", explained))
    entries = {entry.origin: entry for entry in ordered}
    titles = {origin: entry_label(entry) for origin, entry in entries.items()}
    first = next(iter(entries))
    origin = visit.one("prompts", "System", titles, width=480, default=first)
    results = visit.board.by_prompt(split, entries[origin])
    about = results[0].about if results else ""
    said = el("p", "About it, in its makers' words: ", named(about, 600), class_="hf-said") if about else None
    visit.show(said, score_table("Prompt", results, scale))


def _copies(board: Board, split: SplitKey) -> Iterable[Choices]:
    """All quarters together are copied where they are enough."""
    return [{}] if split.edition != EVERY or not too_few(fixed_rows(board, split.task)) else []


PAGE = Page("Leaderboard", "leaderboard", _compose, LEDE, _copies, "index")
