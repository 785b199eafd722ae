"""Loading an edition of a task from a workspace, a published folder or the hub."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import polars as pl

from hellofresh.core.editions import Edition, parse_edition
from hellofresh.core.errors import UsageError
from hellofresh.core.net.lock import locked
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.load import Release, load_labels, load_release
from hellofresh.releases.life.manifest import MANIFEST
from hellofresh.releases.life.phases import labels_are_public, not_public
from hellofresh.tasks import Task, get_task
from hellofresh.tasks.samples import Label, Sample, to_json


@dataclass(frozen=True, slots=True)
class LoadedEdition:
    """The samples of an edition of a task, with their labels where these are public.

    Attributes:
        task, edition: the task and the edition.
        samples: one row per sample, as in `samples.jsonl`.
        release, workspace: where the samples were read from.
        public_labels: labels with their facts by id, None while they are not public.
    """

    task: Task
    edition: Edition
    samples: pl.DataFrame = field(repr=False)
    release: Release = field(repr=False)
    workspace: Workspace = field(repr=False)
    public_labels: Mapping[str, Label] | None = field(repr=False)

    @property
    def labels(self) -> pl.DataFrame | None:
        """Id and label of each sample, or judged documents of each query; None while labels are not public."""
        if self.public_labels is None:
            return None
        known = sorted(self.public_labels.items())
        if not self.task.classes:
            return pl.DataFrame([{"id": key, **label.facts} for key, label in known])
        rows = [(key, label.label) for key, label in known]
        return pl.DataFrame(rows, schema={"id": pl.String, "label": pl.Int64}, orient="row")

    def need_labels(self) -> Mapping[str, Label]:
        """The labels with their facts, by id.

        Raises:
            ReleaseError: if they are not public yet.
        """
        if self.public_labels is None:
            raise not_public(self.task, self.edition)
        return self.public_labels

    def __len__(self) -> int:
        return len(self.release.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.release.samples)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.samples.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        labels = "labels are public" if self.public_labels is not None else "labels are not public yet"
        return f"{self.task.name} {self.edition}: {len(self):,} samples, {labels}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.samples.head(5)._repr_html_()}"


def load(edition: str, task: str, *, source: str | Path | None = None) -> LoadedEdition:
    """Load an edition of a task.

    Args:
        edition: a quarter such as `2026Q2`, or a data set such as `liar-new@588`.
        task: name of the task.
        source: a workspace or a published folder; `hub:OWNER/NAME` for a data set of the Hugging Face hub; the
            workspace that HELLOFRESH_DATA names, or `data`, if left out.

    Raises:
        UsageError: if the edition or the task does not exist.
        ReleaseError: if the release does not exist, or its files are not the ones that its manifest names.
    """
    workspace, chosen, which = _opened(source, edition, task), get_task(task), parse_edition(edition)
    release = load_release(workspace, which, chosen)
    labels = load_labels(workspace, which, chosen) if labels_are_public(workspace, which, chosen.name) else None
    rows = pl.DataFrame([to_json(sample) for sample in release.samples], infer_schema_length=None)
    return LoadedEdition(chosen, which, rows, release, workspace, labels)


def _opened(source: str | Path | None, edition: str, task: str) -> Workspace:
    if source is None:
        return Workspace.from_environment()
    if isinstance(source, str) and source.startswith("hub:"):
        from huggingface_hub import snapshot_download  # the import takes a third of a second

        files = [f"releases/{edition}/{task}/**"]
        folder = snapshot_download(source.removeprefix("hub:"), repo_type="dataset", allow_patterns=files)
        return Workspace(Path(folder))
    return Workspace(Path(source))


def workspace_for_runs(edition: LoadedEdition) -> Workspace:
    """The workspace that holds runs and this edition's release."""
    workspace = Workspace.from_environment()
    source = edition.workspace.release(edition.edition, edition.task.name)
    target = workspace.release(edition.edition, edition.task.name)
    if source.resolve() == target.resolve():
        return workspace
    with locked(workspace.root / "locks" / "loaded.lock", what="copying a release", wait_s=60):
        if not (target / MANIFEST).is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".loaded.", dir=target.parent) as folder:
                copy = Path(folder) / "release"
                shutil.copytree(source, copy)
                copy.rename(target)
    if load_release(workspace, edition.edition, edition.task).samples_sha256 != edition.release.samples_sha256:
        raise UsageError(
            f"the workspace's samples of {edition.task.name} {edition.edition} are not those loaded",
            where=str(target),
            fix="Load the edition from the workspace, or set HELLOFRESH_DATA to another folder.",
            code="other-release",
        )
    return workspace
