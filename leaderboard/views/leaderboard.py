"""Who predicts best: the ranked table of a task and quarter, cost against score, and scores by period."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hellofresh.leaderboard.components.costs import cost_section
from hellofresh.leaderboard.components.labels import EVERY, is_frozen
from hellofresh.leaderboard.components.markup import el, inner_link, visible
from hellofresh.leaderboard.components.open_quarter import open_quarter, plain_participant
from hellofresh.leaderboard.components.people import people_beside, with_people
from hellofresh.leaderboard.components.pieces import LEDE, heading
from hellofresh.leaderboard.components.quarters import (
    every_quarter,
    fixed_rows,
    introduction,
    next_days,
    plain_fixed,
    prospective_hint,
    too_few,
)
from hellofresh.leaderboard.components.scale import Scale, scale_of
from hellofresh.leaderboard.components.standings import (
    Line,
    View,
    all_lines,
    by_rank,
    columns_class,
    columns_of,
    hidden_columns,
    in_groups,
    lines_of,
    period_figures,
    plain_row,
    standings_table,
)
from hellofresh.leaderboard.components.tables import table_tools
from hellofresh.leaderboard.data.board import Board, BoardEntry, SplitKey
from hellofresh.leaderboard.views.compare import verdict
from hellofresh.leaderboard.views.visit import Choices, Page, Visit
from hellofresh.results.board.schema import AnswerShare, Participant
from hellofresh.tasks.samples import PROSPECTIVE

_MOST_PANELS = 6


def _compose(visit: Visit) -> None:
    visit.header("HelloFresh leaderboard", LEDE)
    board, links = visit.board, visit.links
    split = visit.split()
    days = next_days(board, split.task)
    if split.edition == EVERY:
        fixed = fixed_rows(board, split.task)
        visit.show(days, table_tools(), every_quarter(board, split.task))
        visit.offer(lambda: [plain_fixed(row, split.task) for row in fixed], "leaderboard")
        return
    hint = prospective_hint(board, split, links)
    if board.is_open(split):
        visit.show(introduction(board, split), hint, open_quarter(board, split, links), days)
        rows, shares = board.rows(Participant, split), board.rows(AnswerShare, split)
        if rows:
            visit.offer(lambda: [plain_participant(row, shares, split) for row in rows], "participants")
        return
    prompt = visit.choices.get("prompt", "")
    if prompt:
        visit.subject(f"Scores with the prompt {visible(prompt, 40)}", "This table has one prompt only. Back to ")
    lines = all_lines(board, split)
    if not prompt:
        who = verdict(lines, board, split, scale_of(board, split), links, bundled=board.is_bundled(split))
        follows = None if is_frozen(split.edition) else days
        none = el("p", "No system has been scored on this task and quarter yet. Run: ", el("code", "make release"))
        visit.show(introduction(board, split), who, follows, hint, None if lines else none)
    if lines:
        _show_table(visit, split, lines, prompt)


def _show_table(visit: Visit, split: SplitKey, lines: list[Line], prompt: str) -> None:
    """The ranked table, what each cost for its score, and scores by period; with one prompt only the table."""
    board, scale = visit.board, scale_of(visit.board, split)
    if prompt:
        lines = lines_of(board.with_prompt(split, prompt), {}, board.systems(split))
    drawn, people = with_people(board, split, scale)
    view = View(split, board.is_bundled(split), drawn, any(line.standing for line in lines), visit.links, prompt)
    shown = sorted(lines, key=by_rank(scale))
    visit.show(
        table_tools(columns_of(scale), hidden_columns(shown, scale)),
        el("div", standings_table(shown, view), class_=f"hf-ranked {columns_class(scale)}"),
        people,
    )
    if prompt:
        return
    prompts = [(name, visit.links.to("leaderboard", split, prompt=name)) for name in board.prompts(split)]
    ways = [part for name, way in prompts if way for part in (", ", inner_link(way, visible(name, 40)))][1:]
    visit.show(el("p", "The same with one prompt: ", *ways, ".") if ways else None)
    visit.offer(lambda: [plain_row(line, split) for line in shown], "leaderboard")
    visit.show(people_beside(board, split, scale, visit.links), cost_section(shown, scale))
    groups = in_groups(shown)
    if not is_frozen(split.edition):
        _show_periods(visit, split, groups, scale)


def _show_periods(visit: Visit, split: SplitKey, groups: Mapping[BoardEntry, str], scale: Scale) -> None:
    chosen = list(groups)[:_MOST_PANELS]
    results = {entry: visit.board.by_period(split, entry) for entry in chosen}
    periods = [balance.period for balance in visit.board.balance(split) if balance.taken_per_class]
    if split.kind == PROSPECTIVE:
        periods = sorted({result.period for theirs in results.values() for result in theirs})
    if len(periods) < 2:
        return
    line = f", the dashed line is {scale.constant}" if scale.constant else ""
    first = f" Of the first {len(chosen)}; each system's own page has its periods." if len(groups) > len(chosen) else ""
    said = f"Dots are {scale.title}, bands 95% intervals; grey marks are the others shown here{line}.{first}"
    visit.show(heading(f"{scale.title} by period", said), period_figures(results, periods, groups, scale))


def _copies(board: Board, split: SplitKey) -> Iterable[Choices]:
    """A page for each task and edition and one more for each prompt; all quarters where they are enough."""
    if split.edition == EVERY:
        return [] if too_few(fixed_rows(board, split.task)) else [{}]
    prompts = [] if board.is_open(split) or len(board.prompts(split)) < 2 else board.prompts(split)
    return [{}, *({"prompt": name} for name in prompts)]


PAGE = Page("Leaderboard", "leaderboard", _compose, LEDE, _copies, "index")
