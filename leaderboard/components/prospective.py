"""The prospective lane: what it is, how many of its samples were decided, and that it compares with nothing else."""

from __future__ import annotations

from hellofresh.core.clock import now
from hellofresh.core.quarters import parse_utc
from hellofresh.results.board.schema import Prospect
from hellofresh.tasks import TASKS
from leaderboard.components.labels import day
from leaderboard.components.links import Links
from leaderboard.components.markup import Html, el, inner_link, join
from leaderboard.components.scale import class_name
from leaderboard.data.records import Days, Records
from leaderboard.data.tables import PROSPECTIVE, Board, SplitKey

__all__ = ["outcomes", "prospective_hint", "prospective_introduction"]


def prospective_introduction(records: Records, split: SplitKey) -> Html:
    """What the table holds: how many samples, when published, due and resolved."""
    prospect, days, task = records.prospect(split), records.days(split), TASKS.get(split.task)
    question = el("strong", task.question) if task else None
    if prospect is None:
        return el("p", question, " Prospective samples.", class_="hf-question")
    found = f" ({outcomes(prospect, split.task)})" if task else ""
    parts = (
        question,
        f" {prospect.drawn:,} samples that were undecided when they were published",
        f" on {day(days.opens)}; predictions were due before {day(days.deadline)}" if days else "",
        f". {prospect.decided:,} were decided by {day(parse_utc(prospect.resolved))}{found}."
        if prospect.resolved
        else ".",
        " No system can have seen an outcome.",
    )
    apart = (
        "These samples differ from those of the main table: do not compare ranks or scores of the two tables. "
        "Labels are not balanced here."
    )
    return join([el("p", *parts, class_="hf-question"), el("p", el("small", apart))])


def outcomes(prospect: Prospect, task: str) -> str:
    """How many of the decided samples have label 1; of more than two classes, how many have each."""
    counts = prospect.outcomes or (0, 0)
    if len(counts) == 2:
        return f"{counts[1]:,} of them {class_name(task, 1)}"
    return ", ".join(f"{counts[label]:,} {class_name(task, label)}" for label in reversed(range(len(counts))))


def prospective_hint(board: Board, records: Records, split: SplitKey, links: Links) -> Html | None:
    """On the main table, that there is another one for samples that nobody had decided."""
    others, prospect = split._replace(kind=PROSPECTIVE), records.prospect(split)
    if prospect is None:
        return None
    if board.has_scores(others):
        said = f" has {prospect.decided:,} samples that were undecided when systems predicted them."
        return el("p", inner_link(links.board(others), "A prospective table"), said, class_="hf-days")
    days = records.days(others)
    if days is None:
        return None
    said = f"Prospective lane: {prospect.drawn:,} samples that were undecided at publication {_state(prospect, days)}."
    return el("p", said, class_="hf-days")


def _state(prospect: Prospect, days: Days) -> str:
    if now() < days.deadline:
        return f"accept predictions until {day(days.deadline)}"
    return "have been decided since; nobody predicted them" if prospect.resolved else "wait for decisions"
