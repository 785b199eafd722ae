"""Forecasts: the best systems, their calibration, the hardest samples, and the next deadlines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
import polars as pl

from hellofresh.core.parquet import Estimate
from hellofresh.results.board.release_rows import Prospect
from hellofresh.results.board.sample_rows import SampleRow
from hellofresh.results.board.system_rows import CalibrationRow
from hellofresh.results.split.tables import AnswerRow
from hellofresh.stats.metrics import Forecasts
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import MAIN, PROSPECTIVE
from leaderboard.components.labels import day, question_of
from leaderboard.components.markup import DASH, Html, el, heading, inner_link, join, named, notice, visible
from leaderboard.components.parts import DataColumn, DataTable, drawn_table
from leaderboard.components.quarters import every_quarter, fixed_rows, forecasts_due, outcomes, too_few
from leaderboard.components.scale import Scale, class_name, scale_of
from leaderboard.components.standings import (
    Line,
    all_lines,
    by_rank,
    group_of,
    ranked_data,
)
from leaderboard.components.tables import Cell, Column, scrolled, table
from leaderboard.data.board import Board, SplitKey
from leaderboard.views.leaderboard import show_front
from leaderboard.views.pictures import calibration
from leaderboard.views.visit import Choices, Page, Visit

_LEDE = "How well systems forecast what people will decide: probabilities submitted before anyone had decided."
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
_BASE_RATE = 50.0  # the relative Brier index of the shares of the classes


def _compose(visit: Visit) -> None:
    board, split = visit.board, visit.chosen
    coming, past = (_prospects(board, split.task, resolved=resolved) for resolved in (False, True))
    if split.kind == MAIN:
        visit.header(question_of(split.task), _LEDE)
        visit.show(coming)
        visit.choose()
        return
    lines = show_front(visit, _LEDE, coming)
    visit.show(_below_base_rate(lines))
    _show_results(visit, split)
    visit.show(
        _hardest(visit, split),
        past,
        None if too_few(fixed_rows(board, split.task, PROSPECTIVE)) else every_quarter(board, split.task, PROSPECTIVE),
    )


def _below_base_rate(lines: Sequence[Line]) -> Html | None:
    """A sentence if no system beats the shares of the classes."""
    values = [line.result.headline.value for line in lines if group_of(line.result) == "system"]
    if not values or max(values) > _BASE_RATE:
        return None
    said = "Giving each class its share among the outcomes scores 50; no system scores more."
    return notice("No forecast beats the base rate.", said)


def _prospects(board: Board, task: str, *, resolved: bool) -> Html | None:
    """The task's forecasts that are open or wait for outcomes, or those that are resolved; None without any."""
    rows: list[list[Cell]] = []
    for main in (one for one in board.splits if one.task == task):
        split = main._replace(kind=PROSPECTIVE)
        found, days = board.first(Prospect, split), board.days(split)
        if found is None or days is None or bool(found.resolved) is not resolved:
            continue
        state: Html | str = join(["forecasts ", forecasts_due(days)])
        if found.resolved:
            came = outcomes(found, split.task) if found.outcomes else ""
            state = f"resolved on {day(datetime.fromisoformat(found.resolved))}: {found.decided:,} decided, {came}"
        main_days = board.days(main)
        then = f"labels on {day(main_days.reveals)}" if main_days and board.is_open(main) else DASH
        rows.append([split.edition, f"{found.drawn:,}", state, then])
    columns: list[Column] = [("name", "Quarter"), ("number", "Samples"), ("text", "State"), ("text", "Main samples")]
    said = "Samples that were undecided when they were published, the newest quarter first."
    shown = scrolled(table("Prospective samples", columns, rows, "hf-small"))
    return join([heading("Resolved" if resolved else "What comes next", said), shown]) if rows else None


def _show_results(visit: Visit, split: SplitKey) -> None:
    """Show the ranking with the parts of the Brier score, and the reliability of each system."""
    board, scale = visit.board, scale_of(visit.board, split)
    lines = all_lines(board, split)
    parts = {row.origin: row for row in board.rows(CalibrationRow, split, pl.col("headline")) if row.brier is not None}
    visit.show(heading("All forecasters"))
    values = _forecasts_data(sorted(lines, key=by_rank(scale)), scale, parts)
    visit.handle(lambda: drawn_table(values), lambda: values)
    systems = [line.result.entry for line in lines if group_of(line.result) == "system"]
    formulas = el("details", el("summary", "What the scores mean"), el("p", _INDEX), el("p", _PARTS))
    visit.show(formulas, calibration(board, split, systems))


def _forecasts_data(lines: Sequence[Line], scale: Scale, parts: Mapping[str, CalibrationRow]) -> DataTable:
    """The ranking as values: the usual table with the parts of the Brier score."""
    usual = ranked_data(lines, scale)
    found = zip(*(_parts_of(parts.get(origin)) for origin in usual.keys), strict=True)
    added = [
        DataColumn(name, [None if part is None else part.value for part in of_all], "%.3f")
        for name, of_all in zip(_PART_NAMES, found, strict=True)
    ]
    further = [replace(one, shown=one.shown or one.title in dict(scale.others).values()) for one in usual.columns[4:]]
    columns = [*usual.columns[:4], *added, *further]
    return replace(usual, title="Systems by relative Brier index", charts=(), columns=columns)


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
    """Resolved splits with scores of forecasts (earlier versions had other scores), and quarters with open ones."""
    prospect, others = board.first(Prospect, split._replace(kind=PROSPECTIVE)), split._replace(kind=PROSPECTIVE)
    if split.kind == MAIN:
        return [{}] if prospect and not prospect.resolved and not board.has_scores(others) else []
    known = TASKS.get(split.task)
    headline = None if known is None or split.kind != PROSPECTIVE else known.on(split.kind).headline
    scored = board.headlines(split) if headline is not None and headline.of_forecasts else ()
    return [{}] if headline is not None and any(one.metric(headline.name) for one in scored) else []


PAGE = Page("Forecasts", "forecasts", _compose, _LEDE, _copies)
