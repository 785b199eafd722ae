"""Overview of all tasks: question, leader, scores of people and chance, and deadline of each."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from hellofresh.results.board.schema import Prospect, SampleRow
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import PROSPECTIVE
from leaderboard.components.charts import dots, trend
from leaderboard.components.labels import day, is_frozen, quarter_title, task_order, task_title, track_title, until
from leaderboard.components.markup import LEDE, Html, bundled_notice, el, inner_link, join
from leaderboard.components.scale import Scale, class_name, figure, scale_of
from leaderboard.components.standings import all_lines, by_rank, group_of, solid
from leaderboard.data.board import Board, SplitKey
from leaderboard.views.compare import short_verdict
from leaderboard.views.leaderboard import with_ceiling, with_people
from leaderboard.views.samples import sample_body
from leaderboard.views.visit import Page, Visit

_SHORT, _LONG = 40, 300
"""Minimal characters of an example text, and maximal ones."""


def _compose(visit: Visit) -> None:
    visit.header("HelloFresh leaderboard", LEDE)
    if visit.board.splits and all(map(visit.board.is_bundled, visit.board.splits)):
        said = "All quarters here were written for the project, to try it out. Their scores are for demonstration only."
        visit.show(bundled_notice(True, said))
    tasks = sorted({split.task for split in visit.board.splits}, key=task_order)
    visit.show(el("div", *(_card(visit, name) for name in tasks), class_="hf-cards"))


def _card(visit: Visit, task: str) -> Html:
    """One task: question, example, leader, scores of people and chance, quarters so far, and the next deadline."""
    board, links = visit.board, visit.links
    ours = [one for one in board.splits if one.task == task]
    split = min(ours, key=lambda one: (board.is_open(one) or not board.has_scores(one), board.is_bundled(one)))
    lines, scale, known = all_lines(board, split), scale_of(board, split), TASKS.get(task)
    ranking, guess = links.to("leaderboard", split), links.to("guess", split)
    verdict = short_verdict(lines, board, split, scale, links)
    return el(
        "section",
        el("small", track_title(task)),
        el("h2", inner_link(ranking, task_title(task))),
        el("p", known.question) if known else None,
        _example(board, split),
        el("p", inner_link(guess, "Guess five yourself")) if guess else None,
        el("p", *verdict, class_="hf-verdict") if verdict else el("p", "No system has been scored yet."),
        _beside(board, split, scale) if lines else None,
        _over_time(board, split, scale),
        _deadline(visit, task, split),
        el("p", inner_link(ranking, f"Ranking of {quarter_title(board, split)}")),
        class_="hf-card",
    )


def _example(board: Board, split: SplitKey) -> Html | None:
    """A sample of the newest quarter with public texts and labels: the first of suitable length."""
    texts = pl.col("texts").list.join(" ").str.len_chars()
    public = pl.col("published") & pl.col("revealed") & texts.is_between(_SHORT, _LONG)
    sample = next(iter(board.rows(SampleRow, split, public)), None)
    if sample is None:
        return None
    answer = el("details", el("summary", "The answer"), el("strong", class_name(split.task, sample.label or 0)))
    return el("div", sample_body(sample), answer if sample.label is not None else None, class_="hf-example")


def _beside(board: Board, split: SplitKey, scale: Scale) -> Html:
    """The leader, one person, the best constant answer and the ceiling as dots on the whole scale."""
    drawn, people = with_people(board, split, scale)
    drawn, _ = with_ceiling(board, split, drawn)
    shown = sorted(
        solid(all_lines(board, split)), key=lambda line: (group_of(line.result) != "system", by_rank(scale)(line))
    )
    found = [("leader", one.result.entry.name, one.result.headline.value) for one in shown[:1]]
    found += [] if drawn.people is None else [("person", "One person", drawn.people.value)]
    found += [] if drawn.reference is None else [("chance", scale.constant.capitalize(), drawn.reference)]
    found += [] if drawn.ceiling is None else [("top", "Ceiling (all voters known)", drawn.ceiling.value)]
    missing = ["People: not asked yet"] if people is None and scale.classes else []
    missing += ["Ceiling: not known"] if drawn.ceiling is None and scale.classes else []
    return join([el("small", f"{scale.title}:"), dots(scale, found, missing)])


def _over_time(board: Board, split: SplitKey, scale: Scale) -> Html | None:
    """The best score of each revealed quarter as a small line, if there are several."""
    best = []
    for one in reversed([other for other in board.splits if other.task == split.task and not is_frozen(other.edition)]):
        lines = [] if board.is_open(one) or board.is_bundled(one) != board.is_bundled(split) else all_lines(board, one)
        values = [line.result.headline.value for line in solid(lines) if group_of(line.result) == "system"]
        best += [(one.edition, min(values, key=scale.order))] if values else []
    if len(best) < 2:
        return None
    (first, low), *_, (last, high) = best
    line = trend([(k / (len(best) - 1), scale.share(value)) for k, (_, value) in enumerate(best)])
    said = f"Best {scale.title}: {figure(low, scale.title)} in {first}, {figure(high, scale.title)} in {last}"
    return el("p", el("span", line, class_="hf-spark", aria_hidden="true"), el("small", said), class_="hf-beside-spark")


def _deadline(visit: Visit, task: str, split: SplitKey) -> Html:
    """The open quarter's deadline, and a link to submit."""
    board = visit.board
    open_now = next((one for one in board.splits if one.task == task and board.is_open(one)), None)
    days = board.days(open_now) if open_now else None
    way = inner_link(visit.links.to("submit", visit.chosen), "Take part")
    if open_now and days:
        accepts = f": {open_now.edition} accepts predictions from {day(days.opens)} until "
        return el("p", way, accepts, until(days.deadline), ".", *_forecasts(visit, task))
    if is_frozen(split.edition):
        return el("p", way, ": a frozen data set accepts predictions at any time.")
    return el("p", "No quarter is open at the moment.", *_forecasts(visit, task))


def _forecasts(visit: Visit, task: str) -> Iterator[Html | str]:
    """The deadline and the last day of the task's prospective splits that are not resolved."""
    board = visit.board
    for split in (one._replace(kind=PROSPECTIVE) for one in board.splits if one.task == task):
        found, days = board.first(Prospect, split), board.days(split)
        if found is not None and days is not None and not found.resolved:
            yield f" Forecasts on {split.edition} are due before "
            yield until(days.deadline)
            yield f"; outcomes come by {day(days.reveals)}."


PAGE = Page("All tasks", "home", _compose, LEDE, file="index", once=True)
