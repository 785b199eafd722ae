"""Guess yourself: five samples with public texts and labels, the people's decisions, and the systems' results."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from hellofresh.core.files import sha256_text
from hellofresh.results.board.schema import SampleRow
from hellofresh.tasks import TASKS
from leaderboard.components.labels import entry_label
from leaderboard.components.markup import Html, bundled_notice, el, heading, inner_link, named
from leaderboard.components.scale import class_name, class_names
from leaderboard.components.tables import Column, table
from leaderboard.data.board import Board, SplitKey, kept
from leaderboard.views.samples import right_of, sample_body
from leaderboard.views.visit import Page, Visit, where

_LEDE = "Five samples: decide yourself, then see what people decided and how systems did. Nothing is sent."
_NUMBER = 5
_LONGEST = 1200


@kept
def _chosen(board: Board, split: SplitKey) -> Sequence[SampleRow]:
    """The first public and short samples, by a hash of their ids; empty if there are few."""
    if split.task not in TASKS or not TASKS[split.task].classes or not board.has(SampleRow, split):
        return ()
    length = pl.col("texts").list.join(" ").str.len_chars()
    public = pl.col("published") & pl.col("revealed") & length.is_between(1, _LONGEST)
    rows = sorted(board.rows(SampleRow, split, public), key=lambda row: sha256_text(row.id))
    return rows[:_NUMBER] if len(rows) >= _NUMBER else ()


def _compose(visit: Visit) -> None:
    visit.header("Guess yourself", _LEDE)
    board, split = visit.board, visit.split()
    rows, entries = _chosen(board, split), board.entries(split)
    visit.show(bundled_notice(board.is_bundled(split)), el("p", el("strong", TASKS[split.task].question)))
    for number, row in enumerate(rows, start=1):
        way = inner_link(visit.links.to("samples", split, sample=row.id), "What each system said")
        visit.show(_question(row, number, split.task, way))
    visit.show(el("p", role="status", class_="hf-guessed", data_hf="guessed"))
    marks = zip(entries.values(), right_of(board, split, entries, rows), strict=False)
    did = sorted(((line.count("1"), entry_label(entry)) for entry, line in marks), reverse=True)
    columns: list[Column] = [("name", "System"), ("number", f"Right, of {len(rows)}")]
    listed = table(
        "Systems on these samples", columns, ([named(name, 120), str(right)] for right, name in did), "hf-small"
    )
    said = "Five samples tell little; the ranking has all."
    visit.show(el("details", el("summary", "How systems did on these five"), el("p", said), listed) if did else None)


def _question(row: SampleRow, number: int, task: str, way: Html) -> Html:
    """A sample, with a fold for each class that says whether it is right; opening one closes the other."""
    truth = row.label or 0
    systems = f"{row.right} of {row.judged} systems were right. " if row.judged and row.right is not None else ""
    folds = []
    for label in reversed(range(len(class_names(task)))):
        right = label == truth
        verdict = el("strong", "\N{CHECK MARK} Right. " if right else "Wrong. ", class_="hf-right" if right else None)
        said = f"People decided: {class_name(task, truth)}. {systems}"
        summary = el("summary", f"I say: {class_name(task, label)}")
        folds.append(el("details", summary, el("p", verdict, said, way, "."), name=f"guess-{number}",
                        data_right=int(right)))  # fmt: skip
    return el("section", heading(f"{number} of {_NUMBER}"), sample_body(row), *folds, class_="hf-guess")


PAGE = Page("Guess", "guess", _compose, _LEDE, where(_chosen))
