"""The life of a quarter: collecting, open, closed, revealed. It is derived from files and the time, not stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from hellofresh.calendar import Calendar, CalendarRule
from hellofresh.errors import ReleaseError
from hellofresh.files import Json, read_json, read_jsonl, sha256_text, write_jsonl
from hellofresh.quarters import Quarter, utc_text
from hellofresh.releases.life.load import load_labels
from hellofresh.releases.life.manifest import DRAW_KEY, amend_manifest, calendar_of, file_entry
from hellofresh.stages import Stage
from hellofresh.tasks import Task
from hellofresh.workspace import Workspace

__all__ = ["Phase", "State", "reveal", "state_of"]


class Phase(StrEnum):
    """Where a quarter stands."""

    COLLECTING = "collecting"
    OPEN = "open"
    CLOSED = "closed"
    REVEALED = "revealed"


@dataclass(frozen=True, slots=True)
class State:
    """How far a quarter and task have come.

    Attributes:
        quarter: the quarter.
        task: name of the task.
        phase: where it stands.
        calendar: when it opens, closes and is revealed.
        samples: samples released, None without a release.
        next_step: what happens next, and when; a sentence.
    """

    quarter: Quarter
    task: str
    phase: Phase
    calendar: Calendar
    samples: int | None
    next_step: str


def state_of(
    workspace: Workspace, quarter: Quarter, task: Task, moment: datetime, rule: CalendarRule | None = None
) -> State:
    """Where a quarter and task stand at a moment.

    Args:
        workspace: where the releases are.
        quarter, task: of which release.
        moment: the time that counts as now.
        rule: how the days follow from the quarter where there is no release that has them.

    Raises:
        ReleaseError: if the release's manifest is damaged.
    """
    path = workspace.release(quarter, task.name) / "manifest.json"
    if not path.is_file():
        calendar = (rule or CalendarRule()).of(quarter)
        late = " It is late." if moment >= calendar.opens else ""
        step = f"is to be released on {utc_text(calendar.opens)}: collect it, then run 'make release'.{late}"
        return State(quarter, task.name, Phase.COLLECTING, calendar, None, step)
    manifest = read_json(path)
    calendar = calendar_of(manifest, path)
    samples = {entry["path"]: entry["rows"] for entry in manifest["files"]}["samples.jsonl"]
    phase, step = _phase(calendar, moment, revealed=bool(manifest.get("revealed")))
    return State(quarter, task.name, phase, calendar, samples, step)


def _phase(calendar: Calendar, moment: datetime, *, revealed: bool) -> tuple[Phase, str]:
    if revealed:
        return Phase.REVEALED, "is finished: labels and salts are public, scores are final."
    if moment >= calendar.reveals:
        return Phase.CLOSED, "is due to be revealed: run 'make release'."
    if moment >= calendar.deadline:
        return Phase.CLOSED, f"is revealed on {utc_text(calendar.reveals)}."
    if moment >= calendar.opens:
        return Phase.OPEN, f"takes predictions until {utc_text(calendar.deadline)}."
    return Phase.COLLECTING, f"is built and opens on {utc_text(calendar.opens)}; until then it may be built anew."


def reveal(workspace: Workspace, quarter: Quarter, task: Task, moment: datetime) -> bool:
    """Make labels, salts and the key of the draw public if it is time and they are not yet; says whether it did.

    The manifest's next version names the file of labels. What is public is the same whenever it is done.

    Raises:
        ReleaseError: if the labels are not the ones that were committed to.
        DataError: if the labels are not there.
    """
    folder = workspace.release(quarter, task.name)
    manifest = read_json(folder / "manifest.json")
    if manifest.get("revealed") or moment < calendar_of(manifest, folder / "manifest.json").reveals:
        return False
    load_labels(workspace, quarter, task)  # checks them against the commitments
    labels = folder / "labels.jsonl"
    rows = write_jsonl(labels, read_jsonl(workspace.private(quarter, task.name) / "labels.jsonl"))
    if rows != {entry["path"]: entry["rows"] for entry in manifest["files"]}["commitments.jsonl"]:
        what = "one for every commitment"
        raise ReleaseError(f"{rows} labels", where=str(labels), expected=what, code="damaged-release")
    changes = {"revealed": True, "draw": _revealed_draw(workspace.private(quarter, task.name) / DRAW_KEY, manifest)}
    written = amend_manifest(folder, changes, [file_entry(folder, labels, rows)])
    Stage.amend(workspace, f"release/{quarter}/{task.name}", [labels, *written])
    return True


def _revealed_draw(path: Path, manifest: Mapping[str, Json]) -> Json:
    """What the manifest says of the draw, with its key."""
    draw = manifest["draw"]
    try:
        key = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ReleaseError(f"the key of the draw cannot be read ({error.strerror})", where=str(path),
                           fix="Restore it from a backup.", code="missing-file") from error  # fmt: skip
    if sha256_text(key) != draw["commitment"]:
        raise ReleaseError("not the key that the samples were drawn with", where=str(path), code="bad-commitment")
    return {**draw, "key": key}
