"""Read a release: samples, labels, and the part of the samples that a run uses.

Withheld texts are filled in on the reader's machine and checked against the release's hashes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import cast

from pydantic import NonNegativeInt

from hellofresh.core.calendar import Calendar
from hellofresh.core.editions import Edition, quarter_of
from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import as_model, read_jsonl, read_models, sha256_file, sha256_text, write_jsonl
from hellofresh.core.strict import Lenient
from hellofresh.core.texts import without_hidden
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.escrow import commitment_of
from hellofresh.releases.life.manifest import (
    MANIFEST,
    LabelCorrection,
    Manifest,
    calendar_of,
    read_manifest,
    read_tombstones,
)
from hellofresh.releases.life.record import has_opened
from hellofresh.tasks import Task, get_task
from hellofresh.tasks.samples import MAIN, PROSPECTIVE, Fact, Label, Sample, to_json

_IMPORT = "import your own copy of the data set as the same version, hellofresh dataset import NAME PATH"
_REBUILD = "Build the release again."
Fill = Callable[[Sequence[Sample]], Mapping[str, Sample | str]]
"""Returns, by id, each public sample with its texts, or the reason why they are unavailable."""


class _Commitment(Lenient):
    id: str
    commitment: str


class _LabelRow(Lenient):
    id: str
    label: NonNegativeInt
    salt: str = ""


def facts_of(row: Mapping[str, object], task: Task) -> Mapping[str, Fact]:
    """The facts in a label's row, without values that are neither numbers nor texts."""
    found = ((name, row.get(name)) for name in task.label_facts)
    return {name: fact if isinstance(fact, int | float | str) else None for name, fact in found}


@dataclass(frozen=True, slots=True, order=True)
class Published:
    """A published split: its edition and task, `main` or `prospective`, the folder of its files, and its manifest.

    It is opened once and handed down: who has it reads no manifest.
    """

    edition: Edition
    task: str
    split: str
    folder: Path = field(compare=False)
    manifest: Manifest = field(compare=False, repr=False)

    @classmethod
    def open(cls, workspace: Workspace, edition: Edition, task: str, split: str = MAIN) -> Published:
        """Read a split's manifest.

        Raises:
            ReleaseError: if the split is missing, or its manifest is damaged.
            UsageError: if the split is the prospective one, and the edition is frozen.
        """
        folder = workspace.release(edition, task, split)
        if split == PROSPECTIVE:
            quarter_of(edition, "a prospective split")
        if not (folder / MANIFEST).is_file():
            what, verb = ("release", "build") if split == MAIN else ("prospective split", "prospective")
            raise ReleaseError(
                f"no {what} of {task} for {edition}",
                where=str(folder),
                fix=f"Build it with: hellofresh release {verb} --quarter {edition} --task {task}",
                code="no-release",
            )
        return cls(edition, task, split, folder, read_manifest(folder))

    @property
    def calendar(self) -> Calendar | None:
        """Times of opening, deadline and reveal; None for a frozen edition."""
        return calendar_of(self.manifest, self.folder) if self.edition.is_living else None

    def has_opened(self, workspace: Workspace, moment: datetime) -> bool:
        """Whether its samples are public at a moment; a quarter without a calendar never opens."""
        return has_opened(workspace, self.folder, self.manifest, moment)

    @property
    def keys(self) -> dict[str, str]:
        """Its key columns in every table."""
        return {"edition": str(self.edition), "task": self.task, "split": self.split}

    def texts(self, workspace: Workspace) -> list[Path]:
        """Files of this machine that may hold its unpublished texts."""
        kept = workspace.private(self.edition, self.task, self.split) / "samples.jsonl"
        return [kept] if self.split == PROSPECTIVE else [kept, workspace.hydrated(self.edition, self.task)]

    def samples(self, task: Task) -> Sequence[Sample]:
        """Its samples as published; raises ReleaseError if they are not those of the manifest."""
        path = self.folder / "samples.jsonl"
        _check_hash(path, self.manifest)
        return _read(path, task, withheld=self.manifest.withheld)

    def release(self, workspace: Workspace, task: Task) -> Release:
        """Its samples with the texts that are on this machine, and its days; raises like `samples`."""
        public, taken_down = self.samples(task), tuple(item.id for item in read_tombstones(self.folder))
        full: Mapping[str, Sample] = {}
        if self.manifest.withheld and (kept := next(filter(Path.is_file, self.texts(workspace)), None)) is not None:
            full = _full_samples(kept, task, public, taken_down)
        return Release(
            task,
            self.edition,
            tuple(full.get(sample.id, sample) for sample in public),
            self.manifest.samples_sha256,
            self.manifest.bundled,
            self.calendar,
            frozenset(item.id for item in public if item.id not in full and not isinstance(item, task.sample_type)),
            taken_down,
            self.manifest.has_labels,
            self.manifest.corrections,
        )


@dataclass(frozen=True, slots=True)
class Release:
    """The public samples and calendar of an edition and task.

    Attributes:
        samples: sorted by id; with their texts if these are available, else as published.
        samples_sha256: hash of the public samples file before any takedown; identifies the split in runs.
        bundled: whether it was made from the bundled sample sources.
        calendar: times of opening, deadline and reveal; None for a frozen edition.
        without_texts: ids of the samples whose texts are unavailable.
        taken_down: ids of the samples that were taken down, sorted; `samples` does not contain them.
        revealed: whether the manifest records that labels are public.
        corrections: of labels.
    """

    task: Task
    edition: Edition
    samples: tuple[Sample, ...]
    samples_sha256: str
    bundled: bool
    calendar: Calendar | None
    without_texts: frozenset[str] = frozenset()
    taken_down: tuple[str, ...] = ()
    revealed: bool = False
    corrections: tuple[LabelCorrection, ...] = ()

    @property
    def days(self) -> Calendar:
        """The calendar of a quarter; raises UsageError for a frozen edition."""
        quarter_of(self.edition, "a calendar")
        return cast("Calendar", self.calendar)

    def is_over(self, moment: datetime) -> bool:
        """Whether submissions may be scored: the deadline has passed, or the manifest says that labels are public."""
        return self.revealed or (self.calendar is not None and moment >= self.calendar.deadline)

    def first(self, limit: int | None, classes: Mapping[str, int] | None = None) -> Sequence[Sample]:
        """The first samples in the order of SHA-256 of `limit:<id>`, which is reproducible and independent of labels.

        Samples without texts are left out and not replaced by later ones. With `classes` (class by id, once public),
        classes take turns, so that any number of samples has about the class balance of the whole.
        """
        ordered = sorted(self.samples, key=lambda sample: sha256_text(f"limit:{sample.id}"))
        if classes is not None:
            of_class = defaultdict(list)
            for sample in ordered:
                of_class[classes.get(sample.id)].append(sample.id)
            # where in its class each sample is, 0 to 1: merged by it, classes take turns by their shares
            turns = {key: (n + 0.5) / len(ids) for ids in of_class.values() for n, key in enumerate(ids)}
            ordered.sort(key=lambda sample: turns[sample.id])
        return [sample for sample in ordered[:limit] if sample.id not in self.without_texts]

    def with_texts(self) -> Sequence[Sample]:
        """The samples with available texts; raises ReleaseError if there are none."""
        found = [sample for sample in self.samples if sample.id not in self.without_texts]
        if not found:
            how = f"hellofresh hydrate --quarter {self.edition} --dump DIR --posts-from ..."
            raise ReleaseError(
                f"the samples of {self.task.name} for {self.edition} have ids and hashes, but no texts",
                fix=f"Fill the texts in: {how if self.edition.is_living else _IMPORT}",
                code="no-texts",
            )
        return found


def released_tasks(workspace: Workspace, edition: Edition) -> list[Task]:
    """The tasks of an edition's releases.

    Raises:
        ReleaseError: if nothing is released.
    """
    tasks = [get_task(name) for released, name in workspace.released() if released == edition]
    if not tasks:
        raise ReleaseError(
            f"no release of {edition}",
            where=str(workspace.root),
            fix=f"Build one: hellofresh release build --quarter {edition}",
            code="no-release",
        )
    return tasks


def load_release(workspace: Workspace, edition: Edition, task: Task, split: str = MAIN) -> Release:
    """Read the samples of a split of a built release and check them against its manifest.

    Raises:
        ReleaseError: if it is missing, or the samples do not match the manifest.
        UsageError: if the split is the prospective one, and the edition is frozen.
    """
    return Published.open(workspace, edition, task.name, split).release(workspace, task)


def load_labelled(workspace: Workspace, edition: Edition, task: Task) -> tuple[Release, Mapping[str, Label]]:
    """A release with its labels; raises like `load_release` and `load_labels`."""
    published = Published.open(workspace, edition, task.name)
    return published.release(workspace, task), load_labels(workspace, edition, task, published.manifest)


def _read(path: Path, task: Task, *, withheld: bool) -> list[Sample]:
    with path.open("rb") as file:
        lines = ((f"{path} line {number}", line) for number, line in enumerate(file, start=1))
        return [task.parse_sample(line, where=where, withheld=withheld) for where, line in lines]


def _full_samples(
    path: Path, task: Task, public: Sequence[Sample], taken_down: Collection[str]
) -> Mapping[str, Sample]:
    """Samples with texts by id, as collected or filled in on this machine."""
    published = {sample.id: sample for sample in public}
    found = {sample.id: sample for sample in _read(path, task, withheld=False) if sample.id not in taken_down}
    for sample in found.values():
        if task.public(sample) != published.get(sample.id):
            raise ReleaseError(
                f"the texts of sample {sample.id} are not those released",
                where=str(path),
                expected="texts with the hashes of the public samples",
                fix="Build the release again, or run 'hellofresh hydrate' again.",
                code="bad-texts",
            )
    return found


def _check_hash(path: Path, manifest: Manifest) -> None:
    entry = manifest.file(path.name)
    stated = entry.sha256 if entry else None
    found = sha256_file(path) if path.is_file() else "no such file"
    if stated != found:
        raise ReleaseError(
            f"the file is not the one in the manifest ({found[:12]})",
            where=str(path),
            expected=f"SHA-256 {stated}",
            fix="Build the release again, or restore the file: a prospective split cannot be drawn again.",
            code="bad-hash",
        )


def load_labels(
    workspace: Workspace, edition: Edition, task: Task, manifest: Manifest | None = None
) -> Mapping[str, Label]:
    """Read the labels of a release, by sample id, and check them against the public commitments.

    They are private until the quarter is revealed; then the public file is used if there is no private one. Labels of
    a frozen edition are checked against the manifest.

    Raises:
        DataError: if the labels are missing.
        ReleaseError: if a published file is not the manifest's, or the labels do not match the commitments.
    """
    path, folder = workspace.private(edition, task.name) / "labels.jsonl", workspace.release(edition, task.name)
    revealed, public = folder / "labels.jsonl", folder / "commitments.jsonl"
    manifest = manifest or Published.open(workspace, edition, task.name).manifest
    for listed in (revealed, public):
        if manifest.file(listed.name) is not None:
            _check_hash(listed, manifest)
    if not edition.is_living or (not path.is_file() and revealed.is_file()):
        path = revealed
    labels, kept = {}, {}
    for line in read_jsonl(path):
        row = _label(line, task, path)
        labels[row.id] = Label(row.id, row.label, facts_of(line, task))
        kept[row.id] = commitment_of(row.id, row.label, row.salt)
    if edition.is_living:
        rows = read_models(public, _Commitment, error=ReleaseError, fix=_REBUILD, code="damaged-release")
        committed = {row.id: row.commitment for row in rows}
        if kept != committed:
            raise ReleaseError(
                "the labels are not the ones that were committed to",
                where=str(path),
                expected=f"labels and salts for the {len(committed)} commitments in {public}",
                fix=_REBUILD,
                code="bad-commitment",
            )
    return {key: replace(one, label=manifest.corrected.get(key, one.label)) for key, one in labels.items()}


def _label(line: object, task: Task, path: Path) -> _LabelRow:
    row = as_model(_LabelRow, line, where=str(path), error=ReleaseError, fix=_REBUILD, code="damaged-release")
    if task.classes and row.label >= len(task.classes):
        raise ReleaseError(
            f"{row.id[:80]} has the label {row.label}",
            where=str(path),
            expected=f"0 to {len(task.classes) - 1}",
            fix=_REBUILD,
            code="damaged-release",
        )
    return row


@dataclass(frozen=True, slots=True)
class UnfilledSample:
    """A sample that stays without texts, with the reason or the parts that differ from the release."""

    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Hydration:
    """Samples that were filled in and their file (None if the release has its texts), and those gone or changed."""

    task: str
    edition: Edition
    path: Path | None
    samples: int
    filled: int
    gone: tuple[UnfilledSample, ...] = ()
    changed: tuple[UnfilledSample, ...] = ()


def hydrate(workspace: Workspace, edition: Edition, task: Task, fill: Fill) -> Hydration:
    """Fill in texts; write the samples that match the release and, beside them, the missing ones (mode 0600).

    Raises:
        ReleaseError: if the release is missing or damaged.
        SourceError: if a source of texts fails; nothing is written then.
    """
    published = Published.open(workspace, edition, task.name)
    public = published.samples(task)
    if not published.manifest.withheld:
        return Hydration(task.name, edition, None, len(public), len(public))
    found = fill(public)
    filled, gone, changed = [], [], []
    for sample in public:
        item = found[sample.id]
        if isinstance(item, str):
            gone.append(UnfilledSample(sample.id, item))
        elif (parts := _different(sample, task.public(item))) and not _different(
            sample, task.public(plain := as_model(task.sample_type, without_hidden(to_json(item)), where=sample.id))
        ):
            filled.append(plain)  # in the form of candidates
        elif parts:
            changed.append(UnfilledSample(sample.id, " and ".join(parts)))
        else:
            filled.append(item)
    path = workspace.hydrated(edition, task.name)
    write_jsonl(path, (to_json(sample) for sample in filled), mode=0o600)
    write_jsonl(workspace.gone(edition, task.name), (to_json(item) for item in gone), mode=0o600)
    return Hydration(task.name, edition, path, len(public), len(filled), tuple(gone), tuple(changed))


def _different(released: Sample, now: Sample) -> list[str]:
    return [field.name for field in fields(released) if getattr(released, field.name) != getattr(now, field.name)]
