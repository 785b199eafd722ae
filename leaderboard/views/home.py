"""The first page: who leads, every system on one scale, a sample to try, and a strip for each task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hellofresh.results.board.release_rows import Prospect
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import MAIN, PROSPECTIVE
from leaderboard.components.charts import trend
from leaderboard.components.labels import (
    by_state,
    day,
    is_frozen,
    quarter_title,
    question_of,
    task_order,
    task_title,
    track_title,
    until,
)
from leaderboard.components.markup import LEDE, Html, bundled_notice, el, inner_link, join
from leaderboard.components.parts import Part, TwoColumns
from leaderboard.components.quarters import forecasts_due
from leaderboard.components.ranking import Front, field, front_of, maker_colours
from leaderboard.components.scale import Scale
from leaderboard.components.standings import ONLY_UPLOADS, Line, all_lines, by_rank, group_of, only_uploads, usual
from leaderboard.data.board import Board, SplitKey
from leaderboard.views.compare import short_verdict
from leaderboard.views.guess import guesses, one_guess
from leaderboard.views.leaderboard import whole_scale
from leaderboard.views.visit import Page, Visit

_QUESTION = "Can AI predict what people decide?"
_LEDE = (
    "Every quarter we collect decisions that people have just made, and ask models to predict them before anybody "
    "publishes the answers."
)
_MOST_LINES = 6
# How to get what the bundled sample lacks, by track or split.
_WAYS = {
    "statements": "statements (hellofresh dataset import liar-new)",
    "responses": "responses (hellofresh dataset import muse-study)",
    "retrieval": "retrieval (hellofresh corpus import, then freeze)",
    PROSPECTIVE: "forecasts of undecided samples (hellofresh collect x-notes --pending, then release prospective)",
}


def _compose(visit: Visit) -> None:
    board = visit.board
    visit.header(_QUESTION, _LEDE)
    tasks = sorted({split.task for split in board.splits}, key=task_order)
    shown = [_shown_of(board, task) for task in tasks]
    first = min(shown, key=lambda split: not board.has_scores(split), default=None)
    if first is not None and board.has_scores(first):
        hero, invitation = _hero(visit, first), guesses(board, first)
        drawn = one_guess(visit, first) if invitation else None
        aside = el("aside", drawn, class_="hf-card") if drawn else None
        visit.handle(
            lambda: el("div", el("div", hero), aside, class_="hf-hero"),
            lambda: TwoColumns([hero], [_title_of_guess(), invitation]) if invitation else hero,
        )
    if board.splits and all(map(board.is_bundled, board.splits)):
        said = "All quarters here were written for the project, to try it out. Their scores are for demonstration only."
        there: set[str] = {split.kind for split in board.splits}
        there |= {TASKS[split.task].track for split in board.splits if split.task in TASKS}
        absent = "; ".join(way for what, way in _WAYS.items() if what not in there)
        visit.show(bundled_notice(True, f"{said} Not here yet: {absent}." if absent else said))
    visit.show(el("div", *(_strip(visit, split) for split in shown), class_="hf-cards"))


def _shown_of(board: Board, task: str) -> SplitKey:
    """The task's newest scored quarter, a real one before the bundled sample's."""
    ours = [one for one in board.splits if one.task == task]
    return min(ours, key=lambda one: (board.is_open(one) or not board.has_scores(one), board.is_bundled(one)))


def _title_of_guess() -> Part:
    return el("small", "Try it: what did people decide?")


def _hero(visit: Visit, split: SplitKey) -> Html:
    """Who leads, and every system on one scale."""
    board, links = visit.board, visit.links
    lines, scale = all_lines(board, split), whole_scale(board, split)
    front = front_of(lines, scale)
    ranking = links.to("leaderboard", split)
    verdict = short_verdict(lines, board, split, scale, links)
    lead = el("h2", front.title, " ", front.seal, class_="hf-lead") if front else el("p", *verdict, class_="hf-lead")
    more = el("p", front.said or join(verdict)) if front else None
    number = next((line.result.n_split for line in lines), 0)
    caption = el(
        "p", f"{scale.title} on {number:,} samples of {task_title(split.task)}, {quarter_title(board, split)}; ",
        "bars are 95% intervals. ", inner_link(ranking, "The whole ranking"), class_="hf-caption",
    )  # fmt: skip
    return el("section", el("p", question_of(split.task), class_="hf-question"), lead, more,
              field(lines, board, split, scale), caption, class_="hf-poster")  # fmt: skip


def _strip(visit: Visit, split: SplitKey) -> Html:
    """One task: question, systems on a scale, who leads, makers over the quarters, and the next deadline."""
    board, links, scale = visit.board, visit.links, whole_scale(visit.board, split)
    lines = all_lines(board, split)
    front = front_of(lines, scale)
    return el(
        "section",
        el("small", track_title(split.task)),
        el("h2", inner_link(links.to("leaderboard", split), task_title(split.task))),
        el("p", question_of(split.task), class_="hf-muted"),
        field(lines, board, split, scale, small=True),
        _said(front, lines),
        _over_time(board, split, scale),
        _deadline(visit, split),
        class_="hf-card",
    )


def _said(front: Front | None, lines: Sequence[Line]) -> Html:
    if front is not None:
        return el("p", el("strong", front.title), " ", front.seal, class_="hf-verdict")
    none = "No system has been ranked yet." if lines else "No system has been scored yet."
    return el("p", ONLY_UPLOADS if only_uploads(lines) else none)


def _over_time(board: Board, split: SplitKey, scale: Scale) -> Html | None:
    """The best score of each maker in each revealed quarter as lines, if there are several quarters."""
    quarters = [one for one in reversed(board.splits) if one.task == split.task and not is_frozen(one.edition)]
    quarters = [one for one in quarters if not board.is_open(one) and board.has_scores(one)]
    quarters = [one for one in quarters if board.is_bundled(one) == board.is_bundled(split)]
    if len(quarters) < 2:
        return None
    best: dict[str, list[tuple[float, float]]] = {}
    for place, one in enumerate(quarters):
        for line in sorted(_leading(board, one), key=by_rank(scale), reverse=True):
            maker = line.result.facts.maker or line.result.entry.name
            points = best.setdefault(maker, [])
            points[:] = [point for point in points if point[0] < place]
            points.append((place, scale.share(line.result.headline.value)))
    colours = maker_colours(board)
    several = sorted((points for points in best.items() if len(points[1]) > 1), key=lambda item: -item[1][-1][1])
    drawn = [
        el("span", trend([(at / (len(quarters) - 1), share) for at, share in points]),
           class_=f"hf-maker-{colours[maker]}" if maker in colours else "hf-maker-none", title=maker)
        for maker, points in several[:_MOST_LINES]
    ]  # fmt: skip
    if not drawn:
        return None
    said = f"Best {scale.title} of each maker, {quarters[0].edition} to {quarters[-1].edition}"
    return join([el("div", *drawn, class_="hf-trends", aria_hidden="true"), el("small", said)])


def _leading(board: Board, split: SplitKey) -> list[Line]:
    return [line for line in usual(all_lines(board, split)) if group_of(line.result) in ("system", "baseline")]


def _deadline(visit: Visit, split: SplitKey) -> Html:
    """The open quarter's deadline, and a link to submit."""
    board = visit.board
    open_now = next((one for one in board.splits if one.task == split.task and board.is_open(one)), None)
    days = board.days(open_now) if open_now else None
    way = inner_link(visit.links.to("submit", visit.chosen), "Take part")
    if open_now and days:
        name = open_now.edition
        took = f": {name} accepted predictions until {day(days.deadline)}; labels come on {day(days.reveals)}."
        takes: list[Html | str] = [
            f": {name} accepts predictions from {day(days.opens)} until ",
            until(days.deadline),
            ".",
        ]
        return el("p", way, by_state(days.deadline, takes, [took]), *_forecasts(visit, split.task))
    if is_frozen(split.edition):
        return el("p", way, ": a frozen data set accepts predictions at any time.")
    last = board.days(split._replace(kind=MAIN))
    after = f" The last quarter's answers were revealed on {day(last.reveals)}." if last else ""
    return el("p", f"No quarter is open at the moment.{after}", *_forecasts(visit, split.task))


def _forecasts(visit: Visit, task: str) -> Iterator[Html | str]:
    """The deadline and the last day of the task's prospective splits, and who leads on those that are resolved."""
    board = visit.board
    for split in (one._replace(kind=PROSPECTIVE) for one in board.splits if one.task == task):
        found, days = board.first(Prospect, split), board.days(split)
        if found is not None and days is not None and not found.resolved:
            yield join([f" {found.drawn:,} forecasts on {split.edition} ", forecasts_due(days), "."])
        elif front := front_of(all_lines(board, split), whole_scale(board, split)):
            way = inner_link(visit.links.to("forecasts", split), f"Forecasts on {split.edition}")
            yield join([" ", way, ": ", front.title, "."])


PAGE = Page("Home", "home", _compose, LEDE, file="index", once=True)
