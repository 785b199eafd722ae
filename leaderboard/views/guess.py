"""Guess yourself: five samples with public texts and labels, the people's decisions, and the systems' results."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from hellofresh.core.files import sha256_text
from hellofresh.results.board.sample_rows import SampleRow
from hellofresh.tasks import TASKS
from leaderboard.components.labels import question_of
from leaderboard.components.markup import Html, bundled_notice, el, heading, inner_link, join
from leaderboard.components.parts import GuessPart
from leaderboard.components.scale import class_name, class_names
from leaderboard.data.board import Board, SplitKey, kept
from leaderboard.views.samples import Marks, marks_of, sample_body
from leaderboard.views.visit import Page, Visit, where

_LEDE = "Five samples: decide yourself, then see what people decided and how systems did. Nothing is sent."
_NUMBER = 5  # a minute of a visitor's time
_LONGEST = 1200  # a sample that a phone shows without much scrolling


@kept
def _chosen(board: Board, split: SplitKey) -> Sequence[SampleRow]:
    """The first public and short samples, by a hash of their ids; empty if there are few."""
    if split.task not in TASKS or not TASKS[split.task].classes or not board.has(SampleRow, split):
        return ()
    length = pl.col("texts").list.join(" ").str.len_chars()
    public = pl.col("published") & pl.col("revealed") & length.is_between(1, _LONGEST)
    rows = sorted(board.rows(SampleRow, split, public), key=lambda row: sha256_text(row.id))
    return rows[:_NUMBER] if len(rows) >= _NUMBER else ()


def guesses(board: Board, split: SplitKey) -> GuessPart | None:
    """The samples as an interactive part; None if there are few."""
    rows = _chosen(board, split)
    if not rows:
        return None
    entries, marks = board.entries(split), _marks(board, split)
    origin, line = next(iter(marks.lines.items()), ("", ""))
    best = (entries[origin].name, [mark == "1" for mark in line]) if origin else None
    samples = [(sample_body(row), row.label or 0, _answer(row, split.task, marks)) for row in rows]
    return GuessPart(class_names(split.task), samples, best)


def _marks(board: Board, split: SplitKey) -> Marks:
    """Who was right on these samples."""
    return marks_of(board, split).among([row.id for row in _chosen(board, split)])


def _answer(row: SampleRow, task: str, marks: Marks) -> Html:
    """What people decided, and how many systems were right."""
    at = marks.ids.index(row.id)
    systems = f"{marks.right[at]} of {marks.judged[at]} systems were right. " if marks.judged[at] else ""
    return join([f"People decided: {class_name(task, row.label or 0)}. {systems}"])


def one_guess(visit: Visit, split: SplitKey) -> Html:
    """The first sample with buttons, for the static copy, and a link to the others."""
    row = _chosen(visit.board, split)[0]
    more = el("p", inner_link(visit.links.to("guess", split), f"Guess on {_NUMBER} samples"))
    shown = _folds(row, 1, split.task, None, _marks(visit.board, split))
    return join([el("small", "Try it: what did people decide?"), shown, more])


def _compose(visit: Visit) -> None:
    visit.header("Guess yourself", _LEDE)
    board, split = visit.board, visit.split()
    rows = _chosen(board, split)
    visit.show(bundled_notice(board.is_bundled(split)), el("p", el("strong", question_of(split.task))))
    visit.handle(lambda: _all_folds(visit, split, rows), lambda: guesses(board, split))


def _all_folds(visit: Visit, split: SplitKey, rows: Sequence[SampleRow]) -> Html:
    """All samples, and a line in which the script counts right answers."""
    parts = []
    for number, row in enumerate(rows, start=1):
        way = inner_link(visit.links.to("samples", split, sample=row.id), "What each system said")
        shown = _folds(row, number, split.task, way, _marks(visit.board, split))
        parts.append(el("section", heading(f"{number} of {_NUMBER}"), shown, class_="hf-guess"))
    return join([*parts, el("p", role="status", class_="hf-guessed", data_hf="guessed")])


def _folds(row: SampleRow, number: int, task: str, way: Html | None, marks: Marks) -> Html:
    """A sample, with a fold for each class that says whether it is right; opening one closes the other."""
    truth, folds = row.label or 0, []
    for label in reversed(range(len(class_names(task)))):
        right = label == truth
        verdict = el("strong", "\N{CHECK MARK} Right. " if right else "Wrong. ", class_="hf-right" if right else None)
        said = [_answer(row, task, marks), way, "." if way else None]
        folds.append(el("details", el("summary", class_name(task, label)), el("p", verdict, *said),
                        name=f"guess-{number}", data_right=int(right)))  # fmt: skip
    return join([sample_body(row), el("div", *folds, class_="hf-two-buttons")])


PAGE = Page("Guess", "guess", _compose, _LEDE, where(_chosen))
