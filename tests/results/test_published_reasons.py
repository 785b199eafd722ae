"""Rationales and sources of outputs travel on to published predictions and the board, unless they may quote texts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.files import read_jsonl
from hellofresh.core.stages import Stage
from hellofresh.releases.life.state import reveal
from hellofresh.results.board.build import build_board
from hellofresh.results.scoring.reveal import publish_results
from hellofresh.results.scoring.scores import ScoredSplit, score_quarter, write_scores
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from verifier.checks import verify_release

WHY, SOURCES = 'Because "<b>it</b>" says so.\nTwice.', ("https://a.example/1", "javascript:alert(1)")


def with_reasons(scored: ScoredSplit, task: str) -> ScoredSplit:
    """Every second output with a reason."""
    (entry,) = scored.entries[task]
    ((prompt, outputs),) = entry.outputs.items()
    said = {
        key: replace(output, rationale=WHY, sources=SOURCES) if number % 2 else output
        for number, (key, output) in enumerate(sorted(outputs.items()))
    }
    return replace(scored, entries={task: [replace(entry, outputs={prompt: said})]})


@pytest.mark.parametrize(("source", "why"), [("bundled-sample", WHY), ("dump", "")])
def test_what_an_output_says_is_published_and_on_the_board_unless_texts_are_withheld(
    make: Any, quarter: Any, notes_task: Any, tmp_path: Path, source: str, why: str
) -> None:
    workspace, reveals = make.workspace(), CalendarRule().of(quarter).reveals
    make.release(make.notes(5, 4), workspace=workspace, source=source)
    evaluate(workspace, Evaluation(quarter, notes_task, "coin"), lambda _: None)
    assert reveal(workspace, quarter, notes_task, reveals)
    scored = with_reasons(score_quarter(workspace, quarter, tmp_path / "none", reveals), notes_task.name)
    Stage.amend_all(workspace, write_scores(workspace, scored))
    publish_results(workspace, scored)
    build_board(workspace)
    folder = workspace.release(quarter, notes_task.name)
    rows = list(read_jsonl(folder / "predictions.jsonl"))
    said = [(row.get("rationale", ""), tuple(row["sources"])) for row in rows if "sources" in row]
    assert said == [(why, SOURCES)] * (len(rows) // 2)
    assert [check.faults for check in verify_release(folder) if check.faults] == []
    answers = pl.read_parquet(workspace.board / "answers.parquet")
    assert answers.height and set(answers["rationale"]) == {"", why}
