"""What may be published: the files that manifests of opened quarters name, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from hellofresh.core.editions import Edition, split_name
from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import read_jsonl, sha256_file
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.prospective import OUTCOMES, PROSPECTIVE, prospective_splits
from hellofresh.releases.life.manifest import MANIFEST, Manifest, calendar_of, read_manifest, read_version
from hellofresh.releases.life.state import Phase, phase_of
from hellofresh.releases.publish._tables import Column, answer_columns, columns_of
from hellofresh.tasks import Task, get_task, relevance_of
from hellofresh.tasks.outputs import Ranking

__all__ = ["ACCOUNT", "PublishedAccount", "PublishedFile", "PublishedPart", "opened_parts"]

ACCOUNT = "publication.json"
"""Lists the files of a publication."""


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file of a publication: its path below the folder, its size in bytes and its SHA-256."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PublishedAccount:
    """What `ACCOUNT` holds.

    Attributes:
        format: of the publication.
        made_from: key of all that decides its content.
        files: every file but this one.
    """

    format: int
    made_from: str
    files: tuple[PublishedFile, ...]


_SAMPLES = "samples.jsonl"


@dataclass(frozen=True, slots=True)
class PublishedPart:
    """One task in one opened quarter: its release, or the prospective samples beside it.

    Attributes:
        task: the task.
        edition: the edition.
        prospective: whether these are the samples that nobody had decided at the opening.
        folder: where its files are.
        manifest: what the release's manifest says.
        manifest_sha256: hash of the manifest's bytes.
        phase: where the quarter stands.
    """

    task: Task
    edition: Edition
    prospective: bool
    folder: Path
    manifest: Manifest
    manifest_sha256: str
    phase: Phase

    @property
    def bundled(self) -> bool:
        """Whether it was made from the bundled sample sources."""
        return self.manifest.bundled

    @property
    def config(self) -> str:
        """Name of the configuration that it belongs to."""
        return f"{self.task.name}-{PROSPECTIVE}" if self.prospective else self.task.name

    @property
    def split(self) -> str:
        """Name of the split: the quarter; of a data set its name and version, in word characters as the hub wants."""
        return split_name(str(self.edition))

    @property
    def opened(self) -> datetime:
        """When it became public: the quarter's opening, or the publication of the data set."""
        if self.manifest.dataset is not None:
            return datetime.fromisoformat(self.manifest.dataset.published).replace(tzinfo=UTC)
        return calendar_of(self.manifest, self.folder).opens

    @property
    def table(self) -> PurePosixPath:
        """The Parquet file; its name says where the bundled sample was used."""
        return PurePosixPath("data", self.config, f"{self.split}{'.bundled-sample' if self.bundled else ''}.parquet")

    @property
    def place(self) -> PurePosixPath:
        """The folder of its released files."""
        below = PurePosixPath("releases", str(self.edition), self.task.name)
        return below / PROSPECTIVE if self.prospective else below

    @property
    def has_labels(self) -> bool:
        """Whether its labels are public."""
        return self.manifest.file(self._labels) is not None

    @property
    def _labels(self) -> str:
        return OUTCOMES if self.prospective else "labels.jsonl"

    def rows(self) -> Iterator[dict[str, object]]:
        """The samples as they were released, with their answers where labels are public; null for one that has none."""
        answers, unknown = dict(self._answers()), {column.name: None for column in self._answer_columns}
        for row in read_jsonl(self.folder / _SAMPLES):
            named = {"edition" if name == "quarter" else name: value for name, value in row.items()}
            yield {**named, **unknown, **answers.get(str(row["id"]), {})}

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of its table: those of the samples, and of their answers where these are public."""
        return (*columns_of(self.task), *self._answer_columns)

    @property
    def _answer_columns(self) -> tuple[Column, ...]:
        return answer_columns(self.task) if self.has_labels else ()

    def _answers(self) -> Iterator[tuple[str, dict[str, object]]]:
        """Id and answer of each sample, as far as labels are public."""
        for row in read_jsonl(self.folder / self._labels) if self.has_labels else ():
            if self.task.classes:
                yield str(row["id"]), {"label": row["label"]}
            elif self.task.output is Ranking:
                judged = sorted(relevance_of(row).items())
                yield str(row["id"]), {"relevance": [{"document": name, "relevance": value} for name, value in judged]}

    def files(self) -> Iterator[tuple[PurePosixPath, str]]:
        """Every released file with the SHA-256 that it must have: the manifest, its earlier versions, what it lists."""
        yield PurePosixPath(MANIFEST), self.manifest_sha256
        for entry in self.manifest.files:
            yield _below(entry.path, self.folder), entry.sha256
        previous = self.manifest.previous
        while previous is not None:
            path = _below(previous.path, self.folder)
            yield path, previous.sha256
            previous = read_version(self.folder / path).previous


def _below(name: str, folder: Path) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or not path.parts:
        raise ReleaseError(
            f"the manifest names {name[:80]!r}",
            where=str(folder / MANIFEST),
            expected="files below its own folder",
            fix="Build the release again.",
            code="damaged-release",
        )
    return path


def opened_parts(workspace: Workspace, moment: datetime, quarters: Sequence[Edition] = ()) -> list[PublishedPart]:
    """What the quarters that have opened by then hold, in order of quarter and task.

    Args:
        workspace: where the releases are.
        moment: the time that counts as now.
        quarters: only these; all where none is named.

    Raises:
        ReleaseError: if no quarter has opened, or a manifest is damaged.
    """
    parts: list[PublishedPart] = []
    for edition, name in workspace.released():
        task = get_task(name)
        phase = phase_of(workspace, edition, task, moment)
        if phase is Phase.COLLECTING or (quarters and edition not in quarters):
            continue
        folder = workspace.release(edition, name)
        parts.append(_part(task, edition, folder, phase, prospective=False))
    for edition, name in prospective_splits(workspace):
        if not quarters or edition in quarters:
            folder = workspace.release(edition, name) / PROSPECTIVE
            parts.append(_part(get_task(name), edition, folder, _phase(folder, moment), prospective=True))
    parts.sort(key=lambda part: (part.edition, part.task.name, part.prospective))
    if not parts:
        named = ", ".join(str(edition) for edition in quarters)
        raise ReleaseError(
            f"no release of {named or 'any edition'} has opened",
            where=str(workspace.root / "releases"),
            fix="See when it opens with: hellofresh quarter status",
            code="nothing-open",
        )
    return parts


def _phase(folder: Path, moment: datetime) -> Phase:
    """Where a prospective split stands; it is public from the beginning."""
    manifest = read_manifest(folder)
    if manifest.resolved is not None:
        return Phase.REVEALED
    return Phase.CLOSED if moment >= calendar_of(manifest, folder).deadline else Phase.OPEN


def _part(task: Task, edition: Edition, folder: Path, phase: Phase, *, prospective: bool) -> PublishedPart:
    return PublishedPart(
        task, edition, prospective, folder, read_manifest(folder), sha256_file(folder / MANIFEST), phase
    )
