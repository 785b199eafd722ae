"""Reading a release back: samples, labels, and the part of them that a run judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hellofresh.errors import ReleaseError
from hellofresh.files import Json, read_json, read_jsonl, sha256_file, sha256_text
from hellofresh.quarters import Quarter
from hellofresh.samples import Label, Sample
from hellofresh.tasks import Task
from hellofresh.workspace import Workspace

__all__ = ["Release", "load_labels", "load_release"]


@dataclass(frozen=True, slots=True)
class Release:
    """The public side of a quarter and task.

    Attributes:
        task: the task.
        quarter: the quarter.
        samples: sorted by id.
        samples_sha256: hash of the samples file, as in the manifest.
        bundled: whether it was made from the bundled sample sources.
    """

    task: Task
    quarter: Quarter
    samples: tuple[Sample, ...]
    samples_sha256: str
    bundled: bool

    def first(self, limit: int | None) -> Sequence[Sample]:
        """The first samples in the order of SHA-256 of `limit:<id>`: the same for everybody, blind to labels."""
        ordered = sorted(self.samples, key=lambda sample: sha256_text(f"limit:{sample.id}"))
        return ordered[:limit]


def load_release(workspace: Workspace, quarter: Quarter, task: Task) -> Release:
    """Read the samples of a built release and check them against its manifest.

    Raises:
        ReleaseError: if there is none, or the samples are not those of the manifest.
    """
    folder = workspace.release(quarter, task.name)
    if not (folder / "manifest.json").is_file():
        raise ReleaseError(
            f"no release of {task.name} for {quarter}",
            where=str(folder),
            fix=f"Build it with: hellofresh release build --quarter {quarter} --task {task.name}",
            code="no-release",
        )
    manifest = read_json(folder / "manifest.json")
    path = folder / "samples.jsonl"
    sha256 = _checked_hash(path, manifest)
    with path.open("rb") as file:
        samples = [task.parse_sample(line, where=f"{path} line {number}") for number, line in enumerate(file, start=1)]
    return Release(task, quarter, tuple(samples), sha256, manifest["source"] == "bundled-sample")


def _checked_hash(path: Path, manifest: Json) -> str:
    stated = {entry["path"]: entry["sha256"] for entry in manifest["files"]}.get(path.name)
    found = sha256_file(path) if path.is_file() else "no such file"
    if stated != found:
        raise ReleaseError(
            f"the file is not the one that the manifest names ({found[:12]})",
            where=str(path),
            expected=f"SHA-256 {stated}",
            fix="Build the release again.",
            code="bad-hash",
        )
    return found


def load_labels(workspace: Workspace, quarter: Quarter, task: Task) -> Mapping[str, Label]:
    """Read the private labels of a release, by sample id.

    Raises:
        DataError: if they are not there.
    """
    path = workspace.private(quarter, task.name) / "labels.jsonl"
    labels = {}
    for row in read_jsonl(path):
        facts = {name: row.get(name) for name in task.label_facts}
        labels[row["id"]] = Label(row["id"], row["label"], facts)
    return labels
