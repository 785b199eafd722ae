"""What was asked, and who was right: a list to filter, and one sample opened with every system's answer."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from hellofresh.results.board.schema import SAMPLES, SampleRow, TranscriptStep
from hellofresh.results.tables import AnswerRow
from leaderboard.components.labels import EVERY, day, entry_label
from leaderboard.components.markup import DASH, Html, el, inner_link, join, visible
from leaderboard.components.pieces import notice
from leaderboard.components.sample import opened_sample, sample_list
from leaderboard.components.scale import class_names
from leaderboard.data.board import Board, BoardEntry, SplitKey
from leaderboard.views.visit import Page, Visit, no_copy

_LEDE = "What systems were asked, what people decided, and what each system said."
_MOST_ROWS = 10
_HARD = {
    "all were right": pl.col("right") == pl.col("judged"),
    "some were right": (pl.col("right") > 0) & (pl.col("right") < pl.col("judged")),
    "none was right": (pl.col("right") == 0) & (pl.col("judged") > 0),
}


def _compose(visit: Visit) -> None:
    visit.header("Samples", _LEDE)
    board = visit.board
    split = visit.split()
    rows = board.frame(SampleRow, split).sort("period", "id")
    if rows.is_empty():
        visit.show(el("p", "The board has no samples of this task and quarter. Run: ", el("code", "make release")))
        return
    revealed = bool(rows["revealed"].all())
    files = inner_link(visit.links.to("data", split), "as files")
    taken = el("p", "All of them ", files, ", on the page Data.") if board.released(split) else None
    visit.show(_standing_of(rows, split, board, revealed=revealed), taken)
    entries = board.entries(split)
    found = _filtered(visit, rows, split, entries, revealed=revealed)
    visit.show(el("p", f"{found.height:,} of {rows.height:,} samples."))
    if found.is_empty():
        return
    page = _page(visit, found.height)
    shown = SAMPLES.rows(found[page * _MOST_ROWS : (page + 1) * _MOST_ROWS])
    visit.show(sample_list(shown, split.task, lambda key: visit.address_with("sample", key)))
    ids = [row.id for row in shown]
    opened = visit.asked("sample")
    asked = [opened] if opened not in ids and opened in set(rows["id"]) else []
    chosen = visit.one("sample", "Open a sample", [*asked, *ids], lambda key: _short(rows, key), width=640)
    sample = board.first(SampleRow, split, id=chosen)
    if sample is not None:
        answers = board.rows(AnswerRow, split, id=chosen)
        steps = sorted(board.rows(TranscriptStep, split, id=chosen), key=lambda step: (step.origin, step.place))
        visit.show(opened_sample(sample, split.task, answers, steps, entries))


def _standing_of(rows: pl.DataFrame, split: SplitKey, board: Board, *, revealed: bool) -> Html:
    """What may be seen of this quarter, and why."""
    parts: list[Html | None] = []
    if not revealed:
        days = board.days(split)
        when = f" on {day(days.reveals)}" if days else ""
        said = f"Its labels and the systems' answers are shown once the labels are revealed{when}."
        parts.append(notice("Labels are not revealed yet.", said))
    if not rows["published"].any():
        said = "The terms of the source allow sharing ids, not texts; samples link to the original where there is one."
        parts.append(notice("Texts withheld.", said))
    return join(parts)


def _filtered(
    visit: Visit, rows: pl.DataFrame, split: SplitKey, entries: Mapping[str, BoardEntry], *, revealed: bool
) -> pl.DataFrame:
    """The samples that fit what the visitor chose."""
    labels = {EVERY: "Any label"}
    labels |= {str(label): name for label, name in reversed(list(enumerate(class_names(split.task))))}
    systems = {EVERY: "Any system", **{origin: entry_label(entry) for origin, entry in entries.items()}}
    periods = {EVERY: "Every period", **{name: visible(name, 20) for name in rows["period"].unique().sort()}}
    hard = {EVERY: "Any system", **{name: name for name in _HARD}}

    def chosen(name: str, label: str, titles: Mapping[str, str], width: int) -> str:
        return visit.one(name, label, list(titles), titles.__getitem__, width=width, default=EVERY)

    with visit.row():
        period = chosen("period", "Period", periods, 150)
        text = visit.search("search", "Search in texts")
        label = right = wrong = EVERY
        if revealed:
            label = chosen("label", "Label", labels, 150)
            right = chosen("right", "Who was right", hard, 190)
            wrong = chosen("wrong", "Where this one was wrong", systems, 260)
    kept = rows if period == EVERY else rows.filter(period=period)
    kept = kept if label == EVERY else kept.filter(label=int(label))
    kept = kept if right == EVERY else kept.filter(_HARD[right])
    if wrong != EVERY:
        kept = kept.filter(pl.col("id").is_in(_wrong_ids(visit.board, rows, split, wrong)))
    return kept.filter(_holds(text)) if text else kept


def _holds(text: str) -> pl.Expr:
    columns = (pl.col("id"), pl.col("title"), pl.col("texts").list.join("\n"))
    return pl.any_horizontal(column.str.to_lowercase().str.contains(text.lower(), literal=True) for column in columns)


def _wrong_ids(board: Board, rows: pl.DataFrame, split: SplitKey, origin: str) -> list[str]:
    said = board.frame(AnswerRow, split, pl.col("headline"), origin=origin)
    truth = rows.select("id", truth="label")
    return said.join(truth, on="id").filter(~pl.col("label").eq_missing(pl.col("truth")))["id"].to_list()


def _page(visit: Visit, count: int) -> int:
    """Which part of the list is shown, from 0."""
    last = (count - 1) // _MOST_ROWS
    if not last:
        return 0
    titles = [f"{k * _MOST_ROWS + 1}{DASH}{min(count, (k + 1) * _MOST_ROWS)}" for k in range(last + 1)]
    return titles.index(visit.one("part", "Samples shown", titles, width=150, default=titles[0]))


def _short(rows: pl.DataFrame, key: str) -> str:
    row = rows.row(by_predicate=pl.col("id") == key, named=True)
    text = row["title"] or next(iter(row["texts"]), "")
    return f"{row['id']} \N{MIDDLE DOT} {visible(text, 60)}" if text else str(row["id"])


PAGE = Page("Samples", "samples", _compose, _LEDE, no_copy)
