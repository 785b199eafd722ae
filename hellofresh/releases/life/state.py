"""The life of a quarter: what was done, what is due next, and its reveal."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hellofresh.core.calendar import Calendar, CalendarRule
from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import read_jsonl, sha256_text, write_jsonl
from hellofresh.core.quarters import Quarter, utc_text
from hellofresh.core.stages import Stage
from hellofresh.core.workspace import Workspace
from hellofresh.releases.exposure import record, waits
from hellofresh.releases.life.load import load_labels
from hellofresh.releases.life.manifest import (
    DRAW_KEY,
    MANIFEST,
    Draw,
    Manifest,
    amend_manifest,
    calendar_of,
    file_entry,
    read_counts,
    read_manifest,
)
from hellofresh.releases.life.phases import Phase, phase_and_step, phase_of
from hellofresh.releases.life.record import refuse_another
from hellofresh.tasks import Task


@dataclass(frozen=True, slots=True)
class QuarterState:
    """The phase of a quarter and task, a sentence about what happens next, and whether its opening is overdue."""

    quarter: Quarter
    task: str
    phase: Phase
    calendar: Calendar
    samples: int | None
    next_step: str
    late: bool = False


def state_of(
    workspace: Workspace, quarter: Quarter, task: Task, moment: datetime, rule: CalendarRule | None = None
) -> QuarterState:
    """The state of a quarter and task at a moment, by the calendar of the release or else by the rule.

    Raises:
        ReleaseError: if the release's manifest is damaged.
    """
    folder = workspace.release(quarter, task.name)
    if not (folder / MANIFEST).is_file():
        calendar = (rule or CalendarRule()).of(quarter)
        late = moment >= calendar.opens
        step = f"is to be released on {utc_text(calendar.opens)}: collect it, then run 'hellofresh release run'."
        step += " It is late." if late else ""
        return QuarterState(quarter, task.name, Phase.COLLECTING, calendar, None, step, late)
    manifest = read_manifest(folder)
    calendar = calendar_of(manifest, folder)
    samples = manifest.file("samples.jsonl")
    phase, step = phase_and_step(workspace, folder, manifest, moment)
    if phase is Phase.CLOSED and moment >= calendar.reveals:
        until = waits(workspace, quarter, task.name)
        step = "is due to be revealed: run 'hellofresh release run'."
        if until is not None and moment < until:
            step = f"waits until {utc_text(until)}: until then an open split has some of its groups."
    return QuarterState(quarter, task.name, phase, calendar, samples.rows if samples else 0, step)


def reveal(workspace: Workspace, quarter: Quarter, task: Task, moment: datetime) -> bool:
    """Publish labels, salts and the key of the draw if this is due and not done; returns whether it did.

    A reveal is due by the calendar, and once no open split has a group of this one (`exposure.waits`). The manifest's
    next version names the file of labels. The published files do not depend on the time of the reveal.

    Raises:
        ReleaseError: if the labels do not match the commitments.
        DataError: if the labels are missing.
    """
    folder = workspace.release(quarter, task.name)
    manifest = read_manifest(folder)
    if manifest.revealed or phase_of(workspace, quarter, task, moment) is not Phase.CLOSED:
        return False
    refuse_another(workspace, folder)
    if moment < calendar_of(manifest, folder).reveals:
        return False
    until = waits(workspace, quarter, task.name)
    if until is not None and moment < until:
        return False
    load_labels(workspace, quarter, task)  # checks them against the commitments
    labels = folder / "labels.jsonl"
    rows = write_jsonl(labels, read_jsonl(workspace.private(quarter, task.name) / "labels.jsonl"))
    commitments = manifest.file("commitments.jsonl")
    if commitments is None or rows != commitments.rows:
        what = "one for every commitment"
        raise ReleaseError(f"{rows} labels", where=str(labels), expected=what, code="damaged-release")
    draw = _revealed_draw(workspace.private(quarter, task.name) / DRAW_KEY, manifest)
    counts = read_counts(workspace.private(quarter, task.name))
    amended = manifest.amended(revealed=True, draw=draw, **({} if counts is None else {"counts": counts}))
    written = amend_manifest(folder, amended, [file_entry(folder, labels, rows)])
    Stage.amend(workspace, f"release/{quarter}/{task.name}", [labels, *written])
    record(workspace)
    return True


def _revealed_draw(path: Path, manifest: Manifest) -> Draw:
    """The manifest's draw with its key."""
    try:
        key = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ReleaseError(
            f"the key of the draw cannot be read ({error.strerror})",
            where=str(path),
            fix="Restore it from a backup.",
            code="missing-file",
        ) from error
    if manifest.draw is None or sha256_text(key) != manifest.draw.commitment:
        raise ReleaseError("not the key that the samples were drawn with", where=str(path), code="bad-commitment")
    return manifest.draw.model_copy(update={"key": key})
