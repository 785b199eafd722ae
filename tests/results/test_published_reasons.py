"""Rationales and sources of outputs travel on to published predictions and the board, unless they may quote texts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.files import read_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.state import reveal
from hellofresh.results.board.build import build_board
from hellofresh.results.reveal import publish_results
from hellofresh.results.scores import ScoredSplit, score_quarter, write_scores
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks.outputs import Output
from verifier.checks import verify_release

WHY, SOURCES = 'Because "<b>it</b>" says so.\nTwice.', ("https://a.example/1", "javascript:alert(1)")


def explained(output: Output, number: int) -> Output:
    """Every second output with a reason."""
    return replace(output, rationale=WHY, sources=SOURCES) if number % 2 else output


def with_reasons(scored: ScoredSplit) -> ScoredSplit:
    entries = {
        task: [
            replace(entry, outputs={
                prompt: {key: explained(output, number) for number, (key, output) in enumerate(sorted(said.items()))}
                for prompt, said in entry.outputs.items()
            })
            for entry in found
        ]
        for task, found in scored.entries.items()
    }  # fmt: skip
    return replace(scored, entries=entries)


def published(make: Any, quarter: Any, task: Any, folder: Path, **kinds: str) -> tuple[Workspace, Path]:
    """A revealed release whose systems gave reasons, with its board."""
    workspace = make.workspace()
    make.release(make.notes(5, 4), workspace=workspace, **kinds)
    evaluate(workspace, Evaluation(quarter, task, "coin"), lambda _: None)
    reveals = CalendarRule().of(quarter).reveals
    assert reveal(workspace, quarter, task, reveals)
    scored = with_reasons(score_quarter(workspace, quarter, folder / "none", reveals))
    write_scores(workspace, scored)
    publish_results(workspace, scored)
    build_board(workspace)
    return workspace, workspace.release(quarter, task.name)


def test_what_an_output_says_is_published_and_on_the_board(
    make: Any, quarter: Any, notes_task: Any, tmp_path: Path
) -> None:
    workspace, folder = published(make, quarter, notes_task, tmp_path, source="bundled-sample")
    rows = list(read_jsonl(folder / "predictions.jsonl"))
    said = [row for row in rows if "rationale" in row]
    assert len(said) == len(rows) // 2
    assert all((row["rationale"], tuple(row["sources"])) == (WHY, SOURCES) for row in said)
    assert [check.faults for check in verify_release(folder) if check.faults] == []
    answers = pl.read_parquet(workspace.board / "answers.parquet")
    assert answers.filter(pl.col("rationale") == WHY).height == len(said)


def test_where_texts_are_withheld_no_rationale_is_published_and_one_that_slipped_in_is_found(
    make: Any, quarter: Any, notes_task: Any, tmp_path: Path
) -> None:
    workspace, folder = published(make, quarter, notes_task, tmp_path)
    rows = list(read_jsonl(folder / "predictions.jsonl"))
    assert not any("rationale" in row for row in rows)
    assert any(row.get("sources") == list(SOURCES) for row in rows)
    assert [check.faults for check in verify_release(folder) if check.faults] == []
    answers = pl.read_parquet(workspace.board / "answers.parquet")
    assert answers.height and set(answers["rationale"]) == {""}
    path = folder / "predictions.jsonl"
    path.write_text(path.read_text().replace('"regime":', '"rationale":"x","regime":', 1))
    faults = [fault for check in verify_release(folder) for fault in check.faults]
    assert any("may quote the sample" in fault for fault in faults)
