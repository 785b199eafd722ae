"""What a quarter asks and when the next one opens; and all quarters on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hellofresh.core.clock import now
from hellofresh.core.quarters import Quarter
from hellofresh.results.board.schema import OverQuartersRow
from hellofresh.tasks import TASKS
from leaderboard.components.charts import interval_bar, interval_scale
from leaderboard.components.labels import day
from leaderboard.components.markup import DASH, Html, el, join, named, visible
from leaderboard.components.pieces import cell, heading, metric_cell, notice, table
from leaderboard.components.scale import Scale, class_names, plain_scale
from leaderboard.components.standings import LANES, Value, or_dash
from leaderboard.data.records import Records
from leaderboard.data.tables import Board, MetricValue, SplitKey

__all__ = ["FEWEST_QUARTERS", "every_quarter", "fixed_rows", "introduction", "next_days", "plain_fixed", "too_few"]

FEWEST_QUARTERS = 5
"""Quarters are the clusters of a score over all quarters: of fewer, an interval says nothing."""


def next_days(board: Board, records: Records, task: str, moment: datetime | None = None) -> Html | None:
    """When the next quarter opens, and until when the open one takes predictions.

    Args:
        board, records: where the days are.
        task: whose quarters.
        moment: as seen from when; now if None.
    """
    found = [(split, records.days(split)) for split in board.splits if split.task == task]
    latest = max(((split, days) for split, days in found if days), key=lambda item: item[1].opens, default=None)
    if latest is None:
        return None
    split, days = latest
    moment, following = moment or now(), Quarter.parse(split.edition).next()
    parts = [f"{split.edition} accepts predictions until {day(days.deadline)}."] if moment < days.deadline else []
    soon = "opens" if moment < days.reveals else "was to open"
    return el("p", " ".join([*parts, f"The next quarter, {following}, {soon} on {day(days.reveals)}."]),
              class_="hf-days")  # fmt: skip


def introduction(board: Board, split: SplitKey) -> Html:
    """What the task asks, of how many samples, and whether the quarter is real."""
    samples = sum(balance.taken for balance in board.balance(split))
    task, names = TASKS.get(split.task), class_names(split.task)[::-1]
    two = f"half of them {names[0]}, half {names[-1]}"
    shares = two if len(names) == 2 else f"as many of each class: {', '.join(names)}"
    has_classes = task is not None and bool(task.classes)
    number = f"{samples:,} samples, {shares}." if has_classes else f"{samples:,} samples."
    question = (el("strong", task.question), f" {number}") if task else (f"{samples:,} samples.",)
    bundled = notice(
        "Bundled sample.",
        "This quarter was written for the project, so that everything can be tried. It ranks nobody.",
    )
    return join([el("p", *question, class_="hf-question"), bundled if board.is_bundled(split) else None])


def fixed_rows(records: Records, task: str) -> list[OverQuartersRow]:
    """All systems over all real quarters; those of the bundled sample only where there is nothing else."""
    return records.fixed(task, bundled=False) or records.fixed(task, bundled=True)


def too_few(rows: Sequence[OverQuartersRow]) -> Html | None:
    """What stands in place of the table over all quarters while there are too few of them."""
    quarters = rows[0].of_quarters if rows else 0
    if quarters >= FEWEST_QUARTERS:
        return None
    said = f"Scores over all quarters need at least {FEWEST_QUARTERS} quarters with ranked systems"
    return el("p", f"{said}; so far there {'is' if quarters == 1 else 'are'} {quarters or 'none'}.")


def every_quarter(rows: Sequence[OverQuartersRow], task: str, *, bundled: bool) -> Html:
    """The table over all quarters, and how it was made."""
    scale = plain_scale(task)
    said = notice(
        "Bundled sample.",
        "These quarters were written for the project, so that everything can be tried. They rank nobody.",
    )
    explained = (
        f"{scale.title} that each system would have in the mean of the quarters here ({rows[0].of_quarters} so far): a "
        "model with an effect for every system and every quarter takes out that quarters differ in how hard they are. "
        "Intervals are clustered by quarter. A system gets a score once it has taken part in two quarters that it "
        "shares with others; baselines and controls get none."
    )
    doubt = rows[0].additivity_p
    if doubt is not None and doubt < 0.05:
        explained += f" Careful: systems differ from quarter to quarter by more than chance (p = {doubt:.3f})."
    bodies = [el("tbody", *(_fixed_row(row, scale) for row in rows), role="rowgroup")]
    columns: list[tuple[str, Html | str]] = [
        ("name", "System"), ("number", scale.title), ("drawn", interval_scale(scale)), ("number", "Quarters"),
        ("text", "Regime"), ("text", "Latest"),
    ]  # fmt: skip
    body = table("Systems over all quarters", columns, bodies, "hf-standings")
    return join([said if bundled else None, heading("All quarters", explained), body])


def plain_fixed(row: OverQuartersRow, task: str) -> dict[str, Value]:
    """A row for downloads."""
    known = TASKS.get(task)
    name = known.headline.name if known else "score"
    return {
        "task": task, "system": row.system, "team": row.team, "regime": row.regime, "lane": row.lane, name: row.score,
        f"{name}_low": row.low, f"{name}_high": row.high, "quarters": row.quarters, "of_quarters": row.of_quarters,
        "reason": row.reason or None,
    }  # fmt: skip


def _fixed_row(row: OverQuartersRow, scale: Scale) -> Html:
    score, drawn = cell(scale.title, DASH, visible(row.reason, 120)), None
    if row.score is not None and row.low is not None and row.high is not None:
        value = MetricValue(scale.title, row.score, row.low, row.high)
        score, drawn = metric_cell(scale.title, value), interval_bar(value, scale)
    return el(
        "tr",
        cell("System", named(row.system), named(row.team, 60), "name"),
        score,
        el("td", drawn, class_="hf-drawn", role="cell"),
        cell("Quarters", str(row.quarters), f"of {row.of_quarters}"),
        cell("Regime", or_dash(row.regime), LANES.get(row.lane, visible(row.lane, 20)), "text"),
        cell("Latest", visible(row.latest, 10), None, "text"),
        role="row",
    )
