"""Reading a release back: samples, labels, and the part of them that a run judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from hellofresh.errors import ReleaseError
from hellofresh.files import Json, read_json, read_jsonl, sha256_file, sha256_text
from hellofresh.quarters import Quarter
from hellofresh.releases.escrow import commitment_of
from hellofresh.samples import Label, Sample
from hellofresh.tasks import Task
from hellofresh.workspace import Workspace

__all__ = ["Release", "load_labels", "load_release"]


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)
    path: str
    sha256: str


class _Manifest(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)
    source: str
    files: list[_Entry]


class _Commitment(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)
    id: str
    commitment: str


class _LabelRow(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)
    id: str
    label: Literal[0, 1]
    salt: str


_Row = TypeVar("_Row", bound=BaseModel)


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
    manifest = _parse(_Manifest, read_json(folder / "manifest.json"), folder / "manifest.json")
    path = folder / "samples.jsonl"
    sha256 = _checked_hash(path, manifest)
    with path.open("rb") as file:
        samples = [task.parse_sample(line, where=f"{path} line {number}") for number, line in enumerate(file, start=1)]
    return Release(task, quarter, tuple(samples), sha256, manifest.source == "bundled-sample")


def _parse(kind: type[_Row], value: Json, path: Path) -> _Row:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "a value"
        raise ReleaseError(
            f"{field}: {first['msg'].lower()}", where=str(path), fix="Build the release again.", code="damaged-release"
        ) from None


def _checked_hash(path: Path, manifest: _Manifest) -> str:
    stated = {entry.path: entry.sha256 for entry in manifest.files}.get(path.name)
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
    """Read the private labels of a release, by sample id, and check them against the public commitments.

    Raises:
        DataError: if they are not there.
        ReleaseError: if they are not the ones that were committed to.
    """
    path = workspace.private(quarter, task.name) / "labels.jsonl"
    public = workspace.release(quarter, task.name) / "commitments.jsonl"
    committed = {row.id: row.commitment for row in (_parse(_Commitment, line, public) for line in read_jsonl(public))}
    labels, kept = {}, {}
    for line in read_jsonl(path):
        row = _parse(_LabelRow, line, path)
        labels[row.id] = Label(row.id, row.label, {name: line.get(name) for name in task.label_facts})
        kept[row.id] = commitment_of(row.id, row.label, row.salt)
    if kept != committed:
        raise ReleaseError(
            "the labels are not the ones that were committed to",
            where=str(path),
            expected=f"labels and salts for the {len(committed)} commitments in {public}",
            fix="Build the release again.",
            code="bad-commitment",
        )
    return labels
