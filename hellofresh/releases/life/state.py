"""The life of a quarter: collecting, open, closed, revealed. It follows from what was done, and then from the time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from hellofresh.core.calendar import Calendar, CalendarRule
from hellofresh.core.clock import Event
from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError, ReleaseError
from hellofresh.core.files import read_jsonl, sha256_text, write_jsonl
from hellofresh.core.quarters import Quarter, parse_utc, utc_text
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
from hellofresh.releases.life.record import has_opened, refuse_another
from hellofresh.tasks import Task
from hellofresh.tasks.samples import MAIN


class Phase(StrEnum):
    """The phase of a quarter."""

    COLLECTING = "collecting"
    OPEN = "open"
    CLOSED = "closed"
    REVEALED = "revealed"


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
    phase, step = _phase(workspace, folder, manifest, moment)
    if phase is Phase.CLOSED and moment >= calendar.reveals:
        until = waits(workspace, quarter, task.name)
        step = "is due to be revealed: run 'hellofresh release run'."
        if until is not None and moment < until:
            step = f"waits until {utc_text(until)}: until then an open split has some of its groups."
    return QuarterState(quarter, task.name, phase, calendar, samples.rows if samples else 0, step)


def phase_of(workspace: Workspace, edition: Edition, task: Task, moment: datetime) -> Phase:
    """The phase of an edition of a task; a frozen data set is revealed from the start.

    Raises:
        ReleaseError: if the release's manifest is damaged.
    """
    folder = workspace.release(edition, task.name)
    if not isinstance(edition, Quarter):
        return Phase.REVEALED
    if not (folder / MANIFEST).is_file():
        return Phase.COLLECTING
    return _phase(workspace, folder, read_manifest(folder), moment)[0]


def _phase(workspace: Workspace, folder: Path, manifest: Manifest, moment: datetime) -> tuple[Phase, str]:
    calendar = calendar_of(manifest, folder)
    if manifest.revealed:
        return Phase.REVEALED, "is finished: labels and salts are public, scores are final."
    if not has_opened(workspace, folder, manifest, moment):
        if moment >= calendar.opens:
            return Phase.COLLECTING, f"waits for its opening: hellofresh quarter open {manifest.edition}"
        return Phase.COLLECTING, f"is built and opens on {utc_text(calendar.opens)}; until then it may be rebuilt."
    if moment >= calendar.deadline:
        return Phase.CLOSED, f"is revealed on {utc_text(calendar.reveals)}."
    return Phase.OPEN, f"accepts predictions until {utc_text(calendar.deadline)}."


def labels_are_public(workspace: Workspace, edition: Edition, task: str, split: str = MAIN) -> bool:
    """Whether the labels of a split are public; the only rule by which results may be shown.

    The manifest decides, not the clock: a quarter whose reveal is due but not done counts as closed. False without a
    release.

    Raises:
        DataError, ReleaseError: if the manifest is damaged.
    """
    folder = workspace.release(edition, task, split)
    return (folder / MANIFEST).is_file() and read_manifest(folder).has_labels


def not_public(task: Task, edition: Edition) -> ReleaseError:
    """The error of asking for labels that are not public."""
    return ReleaseError(
        f"the labels of {task.name} {edition} are not public",
        expected="a quarter that is revealed, or a frozen data set",
        fix="See when it is revealed: hellofresh quarter status",
        code="not-revealed",
    )


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


def release_events(workspace: Workspace) -> Iterator[Event]:
    """The dated events of manifests: publications of prospective splits, takedowns, resolutions and reveals.

    A reveal is dated by the calendar, its earliest possible time. Unreadable manifests are skipped.
    """
    for path in sorted((workspace.root / "releases").glob(f"*/*/**/{MANIFEST}")):
        with suppress(DataError, ReleaseError, ValueError):
            yield from _events(path, read_manifest(path.parent))


def _events(path: Path, manifest: Manifest) -> Iterator[Event]:
    name = f"{manifest.task} {manifest.edition}"
    if manifest.revealed and manifest.dataset is None:
        yield Event(calendar_of(manifest, path).reveals, f"the reveal of {name}", str(path))
    if manifest.prospective is not None:
        yield Event(calendar_of(manifest, path).opens, f"the prospective split of {name}", str(path))
    if manifest.resolved is not None:
        yield Event(parse_utc(manifest.resolved.at), f"the resolution of {name}", str(path))
    for item in manifest.takedowns:
        yield Event(parse_utc(item.date), f"the takedown of {item.id}", str(path))
