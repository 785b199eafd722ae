"""The board's table of what is due: the ids that predictions must have.

With it and the days of each split (`quarters`, see `hellofresh.results.board.schema`) the site checks what is handed in
by the same rules as the command line, without the releases. Ids of a split are there from its opening on.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from hellofresh.core.editions import Edition, is_edition, parse_edition
from hellofresh.core.files import sha256_file
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.manifest import MANIFEST, calendar_of, read_manifest
from hellofresh.results.board.rows import BoardRows
from hellofresh.results.board.schema import DueId
from hellofresh.submissions import SPLITS
from hellofresh.submissions.intake.released import due_in
from hellofresh.submissions.intake.splits import PROSPECTIVE_SPLIT, SubmissionSplit
from hellofresh.tasks import TASKS

__all__ = ["add_due", "due_inputs"]


def add_due(rows: BoardRows, workspace: Workspace, moment: datetime) -> None:
    """Add the table `due_ids` of all quarters that have days, and of all frozen editions.

    Raises:
        DataError: if a release is damaged.
    """
    for edition, split in _splits(workspace):
        due = due_in(workspace, edition, split)
        keys = {"edition": str(edition), "split": split.name}
        for task, ids in due.ids.items():
            if task not in due.calendars or moment >= due.calendars[task].opens:
                rows.add("due_ids", {**keys, "task": task}, (DueId(key, taken_down=False) for key in sorted(ids)))
        rows.add("due_ids", {**keys, "task": ""}, (DueId(key, taken_down=True) for key in sorted(due.taken_down)))


def due_inputs(workspace: Workspace, moment: datetime) -> object:
    """What decides these tables: the releases' manifests, and whether each split has opened at the moment."""
    return [
        [path.relative_to(workspace.root).as_posix(), sha256_file(path), _has_opened(path.parent, moment)]
        for edition in _editions(workspace)
        for split in SPLITS
        for path in _manifests(workspace, edition, split)
    ]


def _has_opened(folder: Path, moment: datetime) -> bool:
    """Whether a release has opened; a quarter that says nothing of it never does."""
    manifest = read_manifest(folder)
    return manifest.dataset is not None or (
        manifest.calendar is not None and moment >= calendar_of(manifest, folder).opens
    )


def _editions(workspace: Workspace) -> list[Edition]:
    """Every edition that has something released; the prospective split often comes before the main one."""
    names = (path.name for path in (workspace.root / "releases").glob("*"))
    return sorted(parse_edition(name) for name in names if is_edition(name))


def _manifests(workspace: Workspace, edition: Edition, split: SubmissionSplit) -> list[Path]:
    below = split.name if split is PROSPECTIVE_SPLIT else ""
    paths = (workspace.release(edition, task) / below / MANIFEST for task in TASKS)
    return [path for path in paths if path.is_file()]


def _splits(workspace: Workspace) -> Iterator[tuple[Edition, SubmissionSplit]]:
    """Every split that takes or took predictions; quarters of early versions say nothing of their days."""
    for edition in _editions(workspace):
        for split in SPLITS:
            manifests = [read_manifest(path.parent) for path in _manifests(workspace, edition, split)]
            if manifests and all(manifest.calendar or manifest.dataset for manifest in manifests):
                yield edition, split
