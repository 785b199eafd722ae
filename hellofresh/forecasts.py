"""Scores of the prospective lane: what was predicted before anybody could know, on samples that were decided since.

`scores/prospective/<quarter>.parquet` has the columns of the other scores, `lane` is `prospective`. It is no part of
the board's tables: the two splits hold different samples, and their scores are not to be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

import polars as pl

from hellofresh.entries import entries_of_runs
from hellofresh.errors import DataError
from hellofresh.files import atomic_path, canonical_json, sha256_text
from hellofresh.quarters import Quarter
from hellofresh.releases import load_prospective, prospective_labels, prospective_splits
from hellofresh.samples import to_json
from hellofresh.scoring import VERSION, Score, Scored, cells_of
from hellofresh.stages import Stage, input_key
from hellofresh.tasks import Task, get_task
from hellofresh.workspace import Workspace

__all__ = ["score_prospective"]


def score_prospective(workspace: Workspace, quarter: Quarter) -> Scored:
    """Score the runs that our own evaluator made on the prospective splits of a quarter before their deadlines.

    Raises:
        DataError: if no split of the quarter has labels yet, no run judged one, or a file is damaged.
    """
    tasks = [get_task(name) for known, name in prospective_splits(workspace) if known == quarter]
    found = [_of_task(workspace, quarter, task) for task in tasks]
    scores = [score for scores, _ in found for score in scores]
    notes = [note for _, notes in found for note in notes]
    if not scores:
        raise DataError(
            f"nothing to score in the prospective lane of {quarter}",
            fix=f"Resolve it with a later collection: hellofresh release resolve --quarter {quarter}",
            code="nothing-to-score",
        )
    table = workspace.root / "scores" / "prospective" / f"{quarter}.parquet"
    rows = [asdict(score) for score in scores]
    content = sha256_text(canonical_json(to_json(rows)))
    stage = Stage(workspace, f"score-prospective/{quarter}", input_key({"version": VERSION, "rows": content}))
    if stage.is_current():
        return Scored(quarter, scores, notes, skipped=True)
    with atomic_path(table) as temporary:
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(temporary)
    stage.record([table])
    return Scored(quarter, scores, notes)


def _of_task(workspace: Workspace, quarter: Quarter, task: Task) -> tuple[Sequence[Score], list[str]]:
    labels = prospective_labels(workspace, quarter, task)
    if not labels:
        return [], [f"the prospective split of {task.name} {quarter} has no labels yet"]
    split = load_prospective(workspace, quarter, task)
    entries, notes = entries_of_runs(workspace, split, split="prospective")
    decided = replace(split, samples=tuple(sample for sample in split.samples if sample.id in labels))
    lane = [replace(entry, lane="prospective") for entry in entries]
    return cells_of(decided, labels, lane), notes
