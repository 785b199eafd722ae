"""Figures of a ranking: scores before and after cutoffs, by period and over quarters, and calibration in one frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from hellofresh.results.board.system_rows import CalibrationRow, ReliabilityBin
from hellofresh.tasks.samples import PROSPECTIVE
from leaderboard.components.charts import curves
from leaderboard.components.labels import day, is_frozen
from leaderboard.components.markup import Html, el, heading, join, named
from leaderboard.components.open_quarter import same_system
from leaderboard.components.scale import Scale, figure
from leaderboard.components.standings import heat_map
from leaderboard.components.tables import Cell, Column, scrolled, table
from leaderboard.data.board import Board, BoardEntry, SplitKey

_MOST_LINES = 6
_MOST_ROWS = 20
_SIDES = ("before", "after")


def before_and_after(board: Board, split: SplitKey, scale: Scale) -> Html | None:
    """Each model's score on samples before and after its knowledge cutoff; None without such scores."""
    found = next((one for one in board.analyses(split) if one.text.name == "contamination"), None)
    rows = found.table() if found else pl.DataFrame()
    if not {*_SIDES, "difference", "low", "high"} <= set(rows.columns):
        return None
    both = rows.drop_nulls([*_SIDES, "difference"]).to_dicts()
    if not both:
        return None
    sign = 1 if scale.rising else -1
    better = sum(sign * row["difference"] > 0 for row in both)
    surely = sum(min(sign * row["low"], sign * row["high"]) > 0 for row in both)
    said = (
        f"{better} of {len(both)} models with samples on both sides of their knowledge cutoff do better before it, "
        f"{surely} of them significantly. Memory is one reason, easier samples another."
    )
    both.sort(key=lambda row: scale.order(row["after"]))
    shown = [(row["system"], [(k / 2 + 0.25, row[side]) for k, side in enumerate(_SIDES)]) for row in both]
    ends = [(0.25, "until the cutoff"), (0.75, "after the cutoff")]
    columns: list[Column] = [("name", "System"), ("text", "Cutoff"), ("number", "Until"), ("number", "After")]
    columns += [("number", "Difference")]
    lines: list[list[Cell]] = [
        [named(row["system"], 60), named(row["knowledge_cutoff"], 30),
         *((figure(row[side], scale.title), f"{row[f'{side}_n']:,} samples") for side in _SIDES),
         (f"{row['difference']:+.3f}", f"{row['low']:+.2f} to {row['high']:+.2f}")]
        for row in both
    ]  # fmt: skip
    numbers = el("details", el("summary", "The numbers"), scrolled(table("Cutoffs", columns, lines, "hf-wide")))
    return join([heading("Before and after the cutoff", said), curves(shown, ends, scale, most=_MOST_LINES), numbers])


def by_period(board: Board, split: SplitKey, groups: Mapping[BoardEntry, str], scale: Scale) -> Html | None:
    """Systems by periods as a heat map; None for fewer than two periods."""
    results = {entry: board.by_period(split, entry) for entry in list(groups)[:_MOST_ROWS]}
    periods = [balance.period for balance in board.balance(split) if balance.taken_per_class]
    if split.kind == PROSPECTIVE:
        periods = sorted({result.period for theirs in results.values() for result in theirs})
    if len(periods) < 2:
        return None
    first = f" Of the first {_MOST_ROWS} of {len(groups)} systems." if len(groups) > _MOST_ROWS else ""
    said = f"Stronger colours are better. Point at a cell for its interval, which is also on each system's page.{first}"
    return join([heading(f"{scale.title} by period", said), heat_map(results, periods, scale)])


def by_quarter(board: Board, split: SplitKey, chosen: Sequence[BoardEntry], scale: Scale) -> Html | None:
    """The first systems over all revealed quarters; None for a single quarter."""
    alike = [one._replace(kind=split.kind) for one in reversed(board.splits) if one.task == split.task]
    living = [one for one in alike if not is_frozen(one.edition) and not board.is_open(one) and board.has_scores(one)]
    quarters = [one for one in living if board.is_bundled(one) == board.is_bundled(split)]
    if len(quarters) < 2:
        return None
    names = {same_system(entry): entry.name for entry in chosen[:_MOST_LINES]}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names.values()}
    ticks = []
    for k, one in enumerate(quarters):
        across, days = (k + 0.5) / len(quarters), board.days(one)
        ticks.append((across, f"{one.edition}, {day(days.reveals)}" if days else one.edition))
        for result in board.headlines(one):
            if same_system(result.entry) in names:
                found[names[same_system(result.entry)]].append((across, result.headline.value))
    if all(len(points) < 2 for points in found.values()):
        return None
    drawn = curves([(name, points) for name, points in found.items() if points], ticks, scale)
    said = "Samples differ from quarter to quarter, for all systems. Dates: when labels were revealed."
    return join([heading(f"{scale.title} by quarter", said), drawn])


def calibration(board: Board, split: SplitKey, entries: Iterable[BoardEntry]) -> Html | None:
    """Stated probabilities of the first systems against outcomes, in one frame; None if no system states any."""
    rows = {row.origin: row for row in reversed(board.rows(CalibrationRow, split, pl.col("headline"))) if row.brier}
    stated = [entry for entry in entries if entry.origin in rows][:_MOST_LINES]
    shown = []
    for entry in stated:
        row = rows[entry.origin]
        bins = board.rows(ReliabilityBin, split, origin=entry.origin, prompt=row.prompt, subject=row.subject)
        shown.append((entry.name, [(step.confidence, step.share) for step in bins]))
    if not shown:
        return None
    said = "Stated probability to the right, share that came true upwards. On the diagonal the two agree."
    return join([heading("Calibration", said), curves(shown, Scale().marks, Scale(), square=True)])
