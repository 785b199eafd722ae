"""The phase of an edition: collecting, open, closed, revealed. It follows from its manifest, and then from the time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from hellofresh.core.clock import Event
from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError, ReleaseError
from hellofresh.core.quarters import Quarter, parse_utc, utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.manifest import MANIFEST, Manifest, calendar_of, read_manifest
from hellofresh.releases.life.record import has_opened
from hellofresh.tasks import Task
from hellofresh.tasks.samples import MAIN


class Phase(StrEnum):
    """The phase of a quarter."""

    COLLECTING = "collecting"
    OPEN = "open"
    CLOSED = "closed"
    REVEALED = "revealed"


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
    return phase_and_step(workspace, folder, read_manifest(folder), moment)[0]


def phase_and_step(workspace: Workspace, folder: Path, manifest: Manifest, moment: datetime) -> tuple[Phase, str]:
    """The phase of a released quarter, and a sentence about what happens next."""
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
