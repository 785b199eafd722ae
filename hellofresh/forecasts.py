"""Scores of the prospective lane: what was predicted before anybody could know, on samples that were decided since.

`scores/prospective/<quarter>.parquet` has the columns of the other scores, `lane` is `prospective`; what was said lies
in `judgements/prospective/`. The two splits hold different samples, so nothing compares their scores or ranks them
together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from hellofresh.clock import now
from hellofresh.errors import DataError
from hellofresh.quarters import Quarter
from hellofresh.releases import (
    PROSPECTIVE,
    labels_are_public,
    load_prospective,
    prospective_outcomes,
    prospective_splits,
)
from hellofresh.results.entries import Entry, entries_of_runs, entries_of_submissions
from hellofresh.results.published import check_published
from hellofresh.results.scores import VERSION, Score, Scored, cells_of, write_scores
from hellofresh.samples import to_json
from hellofresh.stages import Stage, input_key
from hellofresh.submissions import PROSPECTIVE_SPLIT
from hellofresh.submissions.intake.released import due_in
from hellofresh.tasks import Task, get_task
from hellofresh.workspace import Workspace

__all__ = ["score_prospective"]


def score_prospective(
    workspace: Workspace,
    quarter: Quarter,
    submissions: Path,
    moment: datetime | None = None,
    *,
    changes: Collection[str] = (),
) -> Scored:
    """Score what was predicted on the prospective splits of a quarter before their deadlines, by runs and by others.

    Args:
        workspace: where releases and runs are.
        quarter: the quarter.
        submissions: folder of what was handed in; only what came in in time counts, by its receipt.
        moment: the time that counts as now.
        changes: entries whose published predictions may go, change or be added.

    Raises:
        ReleaseError: if published predictions would not stay as they are.
        DataError: if no split of the quarter has labels yet, no run judged one, or a file is damaged.
    """
    tasks = [get_task(name) for known, name in prospective_splits(workspace) if known == quarter]
    resolved = [task for task in tasks if labels_are_public(workspace, quarter, task.name, PROSPECTIVE)]
    handed_in, notes = _handed_in(workspace, quarter, submissions, moment or now()) if resolved else ({}, [])
    found = {task.name: _of_task(workspace, quarter, task, handed_in.get(task.name, ())) for task in tasks}
    scores = [score for lane in found.values() for score in lane.scores]
    entries = {name: lane.entries for name, lane in found.items()}
    notes = [note for lane in found.values() for note in lane.notes] + notes
    if not scores:
        raise DataError(
            f"nothing to score in the prospective lane of {quarter}",
            fix=f"Resolve it with a later collection: hellofresh release resolve --quarter {quarter}",
            code="nothing-to-score",
        )
    public = frozenset(task.name for task in resolved)
    key = input_key({"version": VERSION, "rows": to_json(scores), "entries": to_json(entries)})
    stage = Stage(workspace, f"score-prospective/{quarter}", key)
    scored = Scored(quarter, scores, notes, entries=entries, split="prospective", public=public)
    if stage.is_current():
        return replace(scored, skipped=True)
    for name, present in entries.items():
        folder = workspace.release(quarter, name) / PROSPECTIVE
        check_published(folder, present, changes, f"hellofresh score --quarter {quarter} --split prospective")
    stage.record(write_scores(workspace, scored))
    return scored


@dataclass(frozen=True, slots=True)
class _Lane:
    """One task's scores, who they are of, and what was left out."""

    scores: Sequence[Score] = ()
    entries: Sequence[Entry] = ()
    notes: Sequence[str] = ()


def _handed_in(
    workspace: Workspace, quarter: Quarter, submissions: Path, moment: datetime
) -> tuple[Mapping[str, Sequence[Entry]], list[str]]:
    """The submissions that count, by task, and sentences about the others."""
    due = due_in(workspace, quarter, PROSPECTIVE_SPLIT)
    # No truth: the samples without an outcome would look like errors that all have in common.
    return entries_of_submissions(submissions, due, moment, {})


def _of_task(workspace: Workspace, quarter: Quarter, task: Task, handed_in: Sequence[Entry]) -> _Lane:
    labels = prospective_outcomes(workspace, quarter, task)
    if not (labels and labels_are_public(workspace, quarter, task.name, PROSPECTIVE)):
        return _Lane(notes=[f"the prospective split of {task.name} {quarter} has no labels yet"])
    split = load_prospective(workspace, quarter, task)
    entries, notes = entries_of_runs(workspace, split, split="prospective")
    lane = [replace(entry, lane="prospective") for entry in (*entries, *handed_in)]
    return _Lane(cells_of(split, labels, lane), lane, notes)
