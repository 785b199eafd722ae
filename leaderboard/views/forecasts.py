"""Forecasts: the best systems, their calibration, the hardest samples, and the next deadlines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
import polars as pl

from hellofresh.core.parquet import Estimate
from hellofresh.results.board.schema import CalibrationRow, Prospect, SampleRow
from hellofresh.results.split.tables import AnswerRow
from hellofresh.stats.metrics import Forecasts
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import PROSPECTIVE
from leaderboard.components.labels import day, task_title
from leaderboard.components.markup import DASH, Html, el, heading, inner_link, join, named, visible
from leaderboard.components.parts import DataColumn, DataTable
from leaderboard.components.quarters import every_quarter, fixed_rows, outcomes, too_few
from leaderboard.components.scale import class_name, scale_of
from leaderboard.components.standings import (
    Line,
    View,
    all_lines,
    by_rank,
    group_of,
    headline_cells,
    headline_columns,
    ranked_data,
)
from leaderboard.components.tables import Cell, Column, estimated, score, scrolled, table
from leaderboard.data.board import Board, SplitKey
from leaderboard.views.pictures import calibration
from leaderboard.views.visit import Choices, Page, Visit

_LEDE = "How well systems forecast what people will decide: probabilities handed in before anyone had decided."
_INDEX = (
    "The relative Brier index is 100 for perfect forecasts and 50 for always giving each class its share among the "
    "samples that were decided: 100 (1 - √(B/C)/2) with the Brier scores B of the forecasts and C of those shares, and "
    "at least 0. The Brier index, as ForecastBench has it, is 50 for always giving every class the same chance: with "
    "two classes 100 (1 - √B). The log score is the mean logarithm of the probability that was given to what came "
    "true, taken as 1% where it is lower. Systems that state no probabilities count by the certainty of their answer, "
    "or by how their repeated answers are divided."
)
_PARTS = (
    "The Brier score is reliability minus resolution plus uncertainty, apart from differences within a bin. "
    "Reliability: how far stated probabilities are from what came true (0 is best). Resolution: how well they separate "
    "samples (more is better). Uncertainty: how open the outcomes were. Small figures are 95% intervals by groups."
)
_PART_NAMES = ("Reliability", "Resolution", "Uncertainty")
_MOST_SAMPLES = 10


def _compose(visit: Visit) -> None:
    visit.header("Forecasts", _LEDE)
    board, split = visit.board, visit.split()
    visit.show(_next(board))
    _show_results(visit, split)
    visit.show(
        _hardest(visit, split),
        None if too_few(fixed_rows(board, split.task, PROSPECTIVE)) else every_quarter(board, split.task, PROSPECTIVE),
    )


def _next(board: Board) -> Html | None:
    """Open forecasts and those that wait for outcomes; None if no task has a prospective split."""
    rows: list[list[Cell]] = []
    for main in board.splits:
        split = main._replace(kind=PROSPECTIVE)
        found, days = board.first(Prospect, split), board.days(split)
        if found is None or days is None:
            continue
        state = f"forecasts until {day(days.deadline)}"
        state += f", outcomes by {day(days.reveals)}" if days.reveals > days.deadline else ""
        if found.resolved:
            came = outcomes(found, split.task) if found.outcomes else ""
            state = f"resolved on {day(datetime.fromisoformat(found.resolved))}: {found.decided:,} decided, {came}"
        main_days = board.days(main)
        then = f"labels on {day(main_days.reveals)}" if main_days and board.is_open(main) else DASH
        rows.append([task_title(split.task), split.edition, f"{found.drawn:,}", state, then])
    columns: list[Column] = [("name", "Task"), ("text", "Quarter"), ("number", "Samples")]
    columns += [("text", "State"), ("text", "Main samples")]
    said = "Samples that were undecided when they were published, the newest quarter first."
    shown = scrolled(table("Prospective samples", columns, rows, "hf-small"))
    return join([heading("What comes next", said), shown]) if rows else None


def _show_results(visit: Visit, split: SplitKey) -> None:
    """Show the ranking with the parts of the Brier score, and the reliability of each system."""
    board, scale = visit.board, scale_of(visit.board, split)
    lines = sorted(all_lines(board, split), key=by_rank(scale))
    parts = {row.origin: row for row in board.rows(CalibrationRow, split, pl.col("headline")) if row.brier is not None}
    visit.show(heading(f"Best forecasters: {task_title(split.task)}, {split.edition}", _INDEX))
    view = View(split, scale, visit.links)
    visit.handle(lambda: _ranked(lines, view, parts), lambda: _forecasts_data(lines, view, parts))
    systems = [line.result.entry for line in lines if group_of(line.result) == "system"]
    visit.show(el("p", el("small", _PARTS)), calibration(board, split, systems))


def _forecasts_data(lines: Sequence[Line], view: View, parts: Mapping[str, CalibrationRow]) -> DataTable:
    """The ranking as values: the usual table with the parts of the Brier score."""
    usual = ranked_data(lines, view.scale)
    found = zip(*(_parts_of(parts.get(origin)) for origin in usual.keys), strict=True)
    added = [
        DataColumn(name, [None if part is None else part.value for part in of_all], "%.3f")
        for name, of_all in zip(_PART_NAMES, found, strict=True)
    ]
    return replace(
        usual, title="Systems by relative Brier index", columns=[*usual.columns[:4], *added, *usual.columns[4:]]
    )


def _ranked(lines: Sequence[Line], view: View, parts: Mapping[str, CalibrationRow]) -> Html:
    scale = view.scale
    columns: list[Column] = [("rank", "#"), ("name", "System"), *headline_columns(scale), ("number", "Brier index")]
    columns += [("number", name) for name in ("Log score", *_PART_NAMES)]
    rows: list[list[Cell]] = []
    for line in lines:
        entry, found = line.result.entry, parts.get(line.result.entry.origin)
        address = view.links.to("system", view.split, system=entry.origin)
        own = [estimated(part) for part in _parts_of(found)]
        name = inner_link(address, named(entry.name)), named(entry.team, 60)
        place = str(line.rank) if line.rank and group_of(line.result) == "system" else DASH
        others = [score(line.result.metric(metric)) for metric in ("brier_index", "log_score")]
        rows.append([place, name, *headline_cells(line.result, scale), *others, *own])
    return scrolled(table("Systems by relative Brier index", columns, rows, "hf-standings"))


def _parts_of(found: CalibrationRow | None) -> tuple[Estimate | None, ...]:
    """The parts of the Brier score, as `_PART_NAMES` names them."""
    return (None, None, None) if found is None else (found.reliability, found.resolution, found.uncertainty)


def _hardest(visit: Visit, split: SplitKey) -> Html | None:
    """The samples that ranked systems forecast worst, by the mean squared error of their forecasts."""
    board = visit.board
    ranked = [line.result.entry.origin for line in all_lines(board, split) if group_of(line.result) == "system"]
    samples = {row.id: row for row in board.rows(SampleRow, split) if row.label is not None}
    said = board.frame(AnswerRow, split, pl.col("headline"), pl.col("origin").is_in(ranked))
    said = said.filter(pl.col("id").is_in(list(samples)), pl.col("probabilities").list.len() > 0)
    if said.is_empty():
        return None
    labels = np.array([samples[key].label for key in said["id"]], dtype=np.int64)
    chances = np.array(said["probabilities"].to_list(), dtype=np.float64)
    errors = Forecasts(chances.shape[1])(labels, chances)[:, 0]
    own = said.select("id").with_columns(error=pl.Series(errors), given=pl.Series(chances[range(len(labels)), labels]))
    by_sample = own.group_by("id").agg(pl.col("error").mean(), pl.col("given").mean(), pl.len())
    hardest = by_sample.sort(["error", "id"], descending=[True, False]).head(_MOST_SAMPLES)
    columns: list[Column] = [("name", "Sample"), ("text", "Came true"), ("number", "Probability given")]
    columns += [("number", "Squared error"), ("number", "Systems")]
    rows = [
        [_sample(visit, split, samples[key]), class_name(split.task, samples[key].label or 0), f"{given:.0%}",
         f"{error:.3f}", str(number)]
        for key, error, given, number in hardest.iter_rows()
    ]  # fmt: skip
    explained = "Means over the ranked systems that gave a forecast."
    return join([heading("The hardest samples", explained), table("Hardest samples", columns, rows, "hf-small")])


def _sample(visit: Visit, split: SplitKey, row: SampleRow) -> Cell:
    address = visit.links.to("samples", split, sample=row.id)
    text = row.title or next(iter(row.texts), "")
    return inner_link(address, visible(row.id, 40)), named(text, 90) if text else None


def _copies(board: Board, split: SplitKey) -> Iterable[Choices]:
    """Resolved splits with scores of forecasts; earlier versions had other scores."""
    known = TASKS.get(split.task)
    headline = None if known is None or split.kind != PROSPECTIVE else known.on(split.kind).headline
    scored = board.headlines(split) if headline is not None and headline.of_forecasts else ()
    return [{}] if headline is not None and any(one.metric(headline.name) for one in scored) else []


PAGE = Page("Forecasts", "forecasts", _compose, _LEDE, _copies)
