"""A release's manifest: its type, reader and writer, and its changes after the opening.

It is never changed in place: each version names the one before it, which is kept under `manifests/`. Unknown fields are
kept through all versions. The `verifier` has its own reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import (
    ConfigDict,
    Field,
    JsonValue,
    NonNegativeInt,
    PositiveInt,
    TypeAdapter,
    ValidationError,
    field_validator,
)

from hellofresh.core.calendar import Calendar
from hellofresh.core.data_sets import DatasetFacts
from hellofresh.core.errors import DataError, ReleaseError, missing_file
from hellofresh.core.files import (
    BadJsonError,
    model_fault,
    read_models,
    sha256_file,
    strict_json,
    write_bytes,
    write_json,
)
from hellofresh.core.folders import FileEntry
from hellofresh.core.strict import Open
from hellofresh.releases.candidates import CollectionFacts, SourceFile
from hellofresh.tasks.samples import Split, SplitName

MANIFEST = "manifest.json"
FORMAT: Literal[1] = 1
"""The only supported format."""
DATASET = "dataset"
"""Value of `source` for a frozen edition."""
BUNDLED = "bundled-sample"
"""Value of `source` for the bundled sample sources."""
PREVIOUS = "manifests"
"""Folder, beside the manifest, of its earlier versions: `1.json`, `2.json` ..."""
REVEALED = ("labels.jsonl", "predictions.jsonl", "scores.jsonl")
"""Files that exist only after the reveal."""
DRAW_KEY = "draw.key"
COUNTS = "counts.json"
"""File in the release's private folder with the candidates of each label by period."""
TOMBSTONES = "tombstones.jsonl"
"""File with the tombstones of samples that were taken down, without content."""
_MAX_DEPTH = 16  # ours nests half as deep


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A sample that was taken down: its id, why, and when (UTC, ISO 8601); a row of `TOMBSTONES`."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    id: Annotated[str, Field(min_length=1, max_length=80)]
    reason: Annotated[str, Field(min_length=1, max_length=500)]
    date: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]


@dataclass(frozen=True, slots=True)
class LabelCorrection(Tombstone):
    """A public label that was wrong: the right one in place of the one that was committed to, why, and when."""

    label: NonNegativeInt
    was: NonNegativeInt


class Previous(Open):
    """The version before: its place below the release's folder, and its SHA-256."""

    path: str
    sha256: str


class PeriodCounts(Open):
    """How many samples of each label were taken in a period."""

    taken_per_class: NonNegativeInt


class LabelCounts(Open):
    """Number of candidates by label in a period; private until the reveal."""

    negatives: NonNegativeInt
    positives: NonNegativeInt | None = None
    """None for a task without classes, which has one label."""
    others: tuple[NonNegativeInt, ...] = ()
    """Counts of labels from 2, if there are more than two."""

    @property
    def by_label(self) -> tuple[int, ...]:
        """Counts in the order of labels."""
        return (self.negatives,) if self.positives is None else (self.negatives, self.positives, *self.others)


_COUNTS: TypeAdapter[dict[str, LabelCounts] | None] = TypeAdapter(dict[str, LabelCounts] | None)


class SelectionFacts(Open):
    """How the samples of a release were drawn, by period."""

    seed: str
    cap_per_class_and_period: PositiveInt
    period: str
    rule: str
    periods: dict[str, PeriodCounts]
    classes: PositiveInt = 2
    """Number of labels; written only if it is not 2."""

    @property
    def samples(self) -> int:
        """Samples drawn, of all labels together."""
        return self.classes * sum(period.taken_per_class for period in self.periods.values())


class DrawnPeriod(Open):
    """Numbers of undecided candidates of a period and of those taken."""

    pending: NonNegativeInt
    taken: NonNegativeInt


class ProspectiveDraw(Open):
    """How the samples of a prospective split were drawn, by period."""

    seed: str
    cap_per_period: PositiveInt
    period: str
    rule: str
    periods: dict[str, DrawnPeriod]
    exposed: NonNegativeInt = 0
    """Undecided candidates left out because another release has their group."""
    lineage: NonNegativeInt = 0
    """Undecided candidates left out because another one has the same lineage."""


class Draw(Open):
    """The commitment to the key by which samples were drawn, and the key once it is public."""

    commitment: str
    key: str | None = None


class ResolvedFrom(Open):
    """The collection that decided a prospective split."""

    source: str
    sources: tuple[SourceFile, ...]
    parameters: dict[str, JsonValue]


class Resolution(Open):
    """The resolution of a prospective split: its time, samples decided, and samples dropped by reason."""

    at: str
    labels: NonNegativeInt
    dropped: dict[str, NonNegativeInt]
    reasons: dict[str, str]
    collection: ResolvedFrom


class Manifest(Open):
    """The description of a release.

    Attributes:
        version: grows with every change, from 1.
        task, edition, split: those of the samples.
        code: the version of the code that wrote the first version.
        source: kind of source, `BUNDLED` for the bundled sample.
        collection: the facts of the candidates' collection.
        commitments: definition of a commitment; empty if labels were public from the start.
        calendar: times of opening, deadline and reveal, as text; frozen editions have no calendar.
        texts: whether texts are in the public samples.
        files: the published files.
        selection, draw: how the samples of the main split were drawn.
        prospective: how the samples of a prospective split were drawn.
        previous: the version before.
        revealed: whether labels are public.
        resolved: the resolution of a prospective split.
        counts: candidates of each label by period, once labels are public.
        samples_at_opening: SHA-256 of the samples before the first takedown.
        dataset: the data set of a frozen edition.
        takedowns: samples that were taken down.
        corrections: labels that were wrong; of several of a sample the last one holds.
    """

    format: Literal[1]
    version: PositiveInt
    task: str
    edition: str
    split: SplitName = Split.MAIN
    code: str
    source: str
    collection: CollectionFacts
    commitments: str = ""
    calendar: dict[str, str] | None = None
    texts: Literal["included", "withheld"] = "included"
    files: tuple[FileEntry, ...]
    selection: SelectionFacts | None = None
    draw: Draw | None = None
    prospective: ProspectiveDraw | None = None
    previous: Previous | None = None
    revealed: bool = False
    resolved: Resolution | None = None
    counts: dict[str, LabelCounts] | None = None
    samples_at_opening: str | None = None
    dataset: DatasetFacts | None = None
    takedowns: tuple[Tombstone, ...] = ()
    corrections: tuple[LabelCorrection, ...] = ()

    @field_validator("calendar")
    @classmethod
    def _is_calendar(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        if value is not None:
            Calendar.from_json(value)
        return value

    @property
    def bundled(self) -> bool:
        """Whether it was made from the bundled sample sources."""
        return self.source == BUNDLED

    @property
    def withheld(self) -> bool:
        """Whether the public samples lack their texts."""
        return self.texts == "withheld"

    @property
    def has_labels(self) -> bool:
        """Whether labels are public: a release's after its reveal, a prospective split's after its resolution."""
        return self.revealed if self.split is Split.MAIN else self.resolved is not None

    @property
    def corrected(self) -> dict[str, int]:
        """The right labels, by sample."""
        return {one.id: one.label for one in self.corrections}

    def file(self, path: str) -> FileEntry | None:
        """The entry of a file, None if it is not listed."""
        return next((entry for entry in self.files if entry.path == path), None)

    @property
    def samples_sha256(self) -> str:
        """Hash of the file of samples before any takedown, which identifies the split in runs."""
        entry = self.file("samples.jsonl")
        return self.samples_at_opening or (entry.sha256 if entry else "")

    def amended(self, **changes: object) -> Manifest:
        """A copy with new values for some fields."""
        return self.model_copy(update=changes)


def file_entry(folder: Path, path: Path, rows: int) -> FileEntry:
    """The manifest's entry for a file below the release's folder."""
    name = path.relative_to(folder).as_posix()
    return FileEntry(path=name, size=path.stat().st_size, sha256=sha256_file(path), rows=rows)


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest in a release's folder.

    Raises:
        DataError: if it is missing, or not JSON.
        ReleaseError: if it has another format or is damaged.
    """
    return read_version(folder / MANIFEST)


def read_version(path: Path) -> Manifest:
    """Read one version of a manifest; raises like `read_manifest`."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise missing_file(path) from None
    return _parsed(content, path)


@lru_cache(maxsize=64)  # a day of the pipeline reads each manifest a dozen times; files never change in place
def _parsed(content: bytes, path: Path) -> Manifest:
    try:
        said = strict_json(content, most_depth=_MAX_DEPTH)
    except BadJsonError as error:
        raise DataError(f"not JSON ({error})", where=str(path), code="bad-json") from None
    if isinstance(said, dict) and said.get("format", FORMAT) != FORMAT:
        raise ReleaseError(
            f"a manifest of format {str(said['format'])[:40]}",
            where=str(path),
            expected=f"format {FORMAT}",
            fix="It was written by another version of hellofresh: use that version.",
            code="unknown-format",
        )
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        raise ReleaseError(
            model_fault(error), where=str(path), fix="Build the release again.", code="damaged-release"
        ) from None


def read_tombstones(folder: Path) -> list[Tombstone]:
    """The tombstones in a release's folder, sorted by id; empty if the file is missing.

    Raises:
        ReleaseError: if a line is not a tombstone.
        DataError: if a line is not JSON.
    """
    path = folder / TOMBSTONES
    rows = read_models(path, Tombstone, error=ReleaseError, code="damaged-release") if path.is_file() else ()
    return sorted(rows, key=lambda item: item.id)


def tombstone_rows(tombstones: Iterable[Tombstone]) -> list[dict[str, object]]:
    """The rows of `tombstones.jsonl`, sorted by id."""
    return [asdict(item) for item in sorted(tombstones, key=lambda item: item.id)]


def read_counts(private: Path) -> dict[str, LabelCounts] | None:
    """Read the number of candidates of each label by period, from the private folder of a release.

    None for a release that was restored from its publication, which does not tell them.

    Raises:
        ReleaseError: if they are missing or damaged.
    """
    path = private / COUNTS
    try:
        return _COUNTS.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        raise ReleaseError(
            "the counts of candidates cannot be read",
            where=str(path),
            fix="Restore it from a backup.",
            code="missing-file",
        ) from None


def write_manifest(folder: Path, manifest: Manifest) -> Path:
    """Write a manifest into its release's folder, without fields that are not set."""
    path = folder / MANIFEST
    write_json(path, manifest.model_dump(mode="json", exclude_unset=True))
    return path


def calendar_of(manifest: Manifest, where: Path) -> Calendar:
    """The calendar that the build of the release fixed; raises ReleaseError if the manifest has no calendar."""
    if manifest.calendar is None:
        raise ReleaseError(
            "the manifest has no calendar",
            where=str(where),
            expected="the times at which the quarter opens, closes and is revealed",
            fix="Build the release again.",
            code="damaged-release",
        )
    return Calendar.from_json(manifest.calendar)


def amend_manifest(folder: Path, amended: Manifest, files: Sequence[FileEntry]) -> list[Path]:
    """Write the next version of a manifest; the present one is moved to `manifests/` and referenced by its hash.

    Args:
        folder: the release's folder.
        amended: the present manifest with changed values.
        files: entries of new or changed files; all others stay.

    Returns:
        The files written.
    """
    kept = folder / PREVIOUS / f"{amended.version}.json"
    write_bytes(kept, (folder / MANIFEST).read_bytes())
    entries = {entry.path: entry for entry in (*amended.files, *files)}
    previous = Previous(path=f"{PREVIOUS}/{amended.version}.json", sha256=sha256_file(kept))
    new = amended.amended(version=amended.version + 1, previous=previous, files=tuple(entries.values()))
    return [write_manifest(folder, new), kept]
