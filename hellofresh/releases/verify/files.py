"""The outside of a release: its manifest, the files that it lists, and the manifests before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from hellofresh.core.files import canonical_json, sha256_file, sha256_text, strict_json
from hellofresh.core.quarters import parse_utc
from hellofresh.releases.draw.prospective import OUTCOMES, PROSPECTIVE
from hellofresh.releases.life.manifest import PREVIOUS

__all__ = [
    "MANIFEST",
    "MAX_HISTORY_BYTES",
    "MAX_MANIFEST_BYTES",
    "MAX_VERSIONS",
    "CheckedFile",
    "CheckedManifest",
    "History",
    "ManifestFile",
    "bad_path",
    "file_faults",
    "history",
    "read_manifest",
    "unlisted",
]

MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 50_000_000
MAX_HISTORY_BYTES = 200_000_000
"""Of all earlier versions of a manifest together."""
MAX_VERSIONS = 1000
_MAX_DEPTH = 16
_PATH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}(/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}){0,3}")
EDITION = r"^([12][0-9]{3}Q[1-4]|[a-z0-9]+(-[a-z0-9]+)*@[a-z0-9]+([.-][a-z0-9]+)*)$"
"""A quarter, or a version of a data set; manifests of format 1 call the edition `quarter`."""
_SHA256 = r"^[0-9a-f]{64}$"


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class CheckedFile(_Strict):
    """What a manifest says of a file."""

    path: str
    size: int = Field(ge=0)
    sha256: str = Field(pattern=_SHA256)
    rows: int = Field(ge=0)


class _Previous(_Strict):
    path: str
    sha256: str = Field(pattern=_SHA256)


class _Extensible(_Strict):
    """What may say more, which is kept to be compared."""

    model_config = ConfigDict(strict=True, frozen=True, extra="allow")


class _Counts(_Extensible):
    positives: int | None = Field(default=None, ge=0)
    negatives: int = Field(ge=0)
    others: list[int] = []


class _Period(_Extensible):
    positives: int | None = Field(default=None, ge=0)
    negatives: int | None = Field(default=None, ge=0)
    others: list[int] = []
    taken_per_class: int = Field(ge=0)


class _Selection(_Extensible):
    cap_per_class_and_period: int = Field(ge=1)
    periods: dict[str, _Period]
    classes: int = Field(default=2, ge=1, le=127)


class _Pending(_Extensible):
    pending: int = Field(ge=0)
    taken: int = Field(ge=0)


class _Prospective(_Extensible):
    cap_per_period: int = Field(ge=1)
    periods: dict[str, _Pending]


class _Draw(_Strict):
    commitment: str
    key: str | None = None


class _Takedown(_Strict):
    id: str
    reason: str
    date: str


class _Dataset(_Extensible):
    name: str
    address: str
    published: str
    licence: str
    classes: list[str]
    labels: list[int]
    content: str = Field(pattern=_SHA256)


class _Resolution(_Extensible):
    labels: int
    dropped: dict[str, int]


class CheckedManifest(_Extensible):
    """What checking needs of a manifest; it may say more."""

    format: Literal[1, 2]
    version: int = Field(ge=1)
    task: str
    edition: str = Field(pattern=EDITION, validation_alias=AliasChoices("edition", "quarter"))
    source: str
    split: Literal["main", "prospective"] = "main"
    files: list[CheckedFile]
    previous: _Previous | None = None
    revealed: bool = False
    texts: Literal["included", "withheld"] = "included"
    calendar: dict[str, str] | None = None
    selection: _Selection | None = None
    counts: dict[str, _Counts] | None = None
    prospective: _Prospective | None = None
    draw: _Draw | None = None
    samples_at_opening: str | None = None
    takedowns: list[_Takedown] = []
    resolved: _Resolution | None = None
    dataset: _Dataset | None = None

    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of each file by path."""
        return {entry.path: entry.sha256 for entry in self.files}

    @property
    def name(self) -> str:
        """Quarter and task, and the split where it is not the main one."""
        return f"{self.edition}/{self.task[:80]}" + ("" if self.split == "main" else f"/{self.split}")

    def statement_faults(self) -> Iterator[str]:
        """What the manifest says of calendar and samples that cannot be."""
        if self.is_frozen or self.dataset is not None:
            yield from self._frozen_faults()
            return
        yield from _calendar_faults(self.calendar)
        kinds = (self.selection is not None, self.prospective is not None)
        if kinds != (self.split == "main", self.split == PROSPECTIVE):
            yield f"a release of the {self.split} split must say how that split was drawn, and nothing of another"
        if self.split == PROSPECTIVE and self.revealed:
            yield "a prospective split is resolved, never revealed"
        if self.selection is not None:
            yield from self._selection_faults(self.selection)
        if self.prospective is not None:
            cap = self.prospective.cap_per_period
            yield from (
                f"{period[:20]} says that {item.taken} were taken, of {item.pending} with a cap of {cap}"
                for period, item in self.prospective.periods.items()
                if item.taken != min(cap, item.pending)
            )

    @property
    def is_frozen(self) -> bool:
        """Whether it is a version of a data set: no calendar, no draw, labels public from the start."""
        return "@" in self.edition

    def _frozen_faults(self) -> Iterator[str]:
        """What the manifest of a data set says that cannot be, and what it does not say."""
        if self.dataset is None:
            yield "it does not say which data set it holds"
            return
        if not self.is_frozen:
            yield f"{self.edition} is a quarter, and it says that it holds a data set"
        drawn = (self.calendar, self.selection, self.prospective, self.draw, self.counts, self.resolved)
        if self.split != "main" or any(part is not None for part in drawn):
            yield "a data set has no calendar, draw, counts by period or prospective split"
        if not self.revealed:
            yield "the labels of a data set are public from the start"
        if len(self.dataset.labels) != len(self.dataset.classes):
            yield "it does not say how many samples each class has"

    @property
    def opening_content(self) -> str:
        """The hash of its content by its own account: of samples as they were first published, and labels."""
        hashes = self.hashes()
        samples = self.samples_at_opening or hashes.get("samples.jsonl", "")
        return sha256_text(canonical_json({"labels": hashes.get("labels.jsonl", ""), "samples": samples}))

    def _selection_faults(self, selection: _Selection) -> Iterator[str]:
        """What of each label was there is private until the reveal; releases of earlier versions said it at once."""
        if self.counts is not None and not self.revealed:
            yield "the counts by label are there before the reveal"
        if self.counts is not None and self.counts.keys() != selection.periods.keys():
            yield "the counts by label are not of the periods that were drawn from"
        for period, item in selection.periods.items():
            found = (self.counts or {}).get(period, item)
            if found.negatives is None or (found.positives is None and selection.classes > 1):
                if self.revealed:
                    yield f"{period[:20]} does not say how many candidates of each label there were"
                continue
            offered = [count for count in (found.positives, found.negatives, *found.others) if count is not None]
            if len(offered) != selection.classes:
                yield f"{period[:20]} has counts of {len(offered)} labels, and there are {selection.classes}"
            if item.taken_per_class != min(selection.cap_per_class_and_period, *offered):
                yield (
                    f"{period[:20]} says that {item.taken_per_class} of each label were taken, of "
                    f"{' and '.join(map(str, offered))} with a cap of {selection.cap_per_class_and_period}"
                )

    @property
    def drawn(self) -> Mapping[str, int]:
        """Samples drawn by period."""
        if self.selection is not None:
            classes = self.selection.classes
            return {name: classes * period.taken_per_class for name, period in self.selection.periods.items()}
        periods = {} if self.prospective is None else self.prospective.periods
        return {name: period.taken for name, period in periods.items()}


def _calendar_faults(calendar: Mapping[str, str] | None) -> Iterator[str]:
    if calendar is None:  # releases of early versions have none
        return
    try:
        opens, deadline, reveals = (parse_utc(calendar[name]) for name in ("opens", "deadline", "reveals"))
    except (KeyError, ValueError, OverflowError):
        yield "the calendar must have opens, deadline and reveals, each a time in UTC"
        return
    if not opens < deadline <= reveals:
        yield "the calendar must have the opening before the deadline, and the reveal not before the deadline"


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A manifest and the hash of its bytes."""

    manifest: CheckedManifest
    sha256: str


def read_manifest(path: Path) -> ManifestFile:
    """Read a manifest that may be anything.

    Raises:
        ValueError: with a phrase that says what is wrong.
    """
    if path.is_symlink() or not path.is_file():
        raise ValueError("no such file")
    if path.stat().st_size > MAX_MANIFEST_BYTES:
        raise ValueError(f"larger than {MAX_MANIFEST_BYTES:,} bytes")
    try:
        return ManifestFile(
            CheckedManifest.model_validate(strict_json(path.read_bytes(), most_depth=_MAX_DEPTH)), sha256_file(path)
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])[:200] or "a value"
        raise ValueError(f"{field}: {first['msg'].lower()}") from None


def bad_path(path: str) -> str:
    """What is wrong with a path that a manifest names; empty if nothing."""
    if not _PATH.fullmatch(path):
        return f"{path[:100]!r} is no path of plain names below the release's folder"
    if path == MANIFEST or path.startswith(f"{PREVIOUS}/"):
        return f"{path!r} is listed, but is the manifest itself or one of its versions"
    return ""


def file_faults(folder: Path, entry: CheckedFile) -> Iterator[str]:
    """What about a file is not as listed."""
    if wrong := bad_path(entry.path):
        yield wrong
        return
    path = folder / entry.path
    if _leaves(folder, path) or not path.is_file():
        yield f"{entry.path} is listed, but there is no such plain file"
        return
    if (size := path.stat().st_size) != entry.size:
        yield f"{entry.path} has {size:,} bytes, not {entry.size:,}"
    elif sha256_file(path) != entry.sha256:
        yield f"{entry.path} has other bytes than the manifest says"
    if entry.path.endswith(".jsonl") and (rows := _lines(path)) != entry.rows:
        yield f"{entry.path} has {rows:,} rows, not {entry.rows:,}"


def _leaves(folder: Path, path: Path) -> bool:
    """Whether a link is on the way."""
    while path != folder:
        if path.is_symlink():
            return True
        path = path.parent
    return False


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def unlisted(folder: Path, manifest: CheckedManifest, kept: int) -> Iterator[str]:
    """Files that nothing lists; the prospective split of a release has a manifest of its own that lists its files.

    Args:
        folder: the release's folder.
        manifest: its manifest.
        kept: number of earlier manifests that were found.
    """
    last = manifest.version
    known = {MANIFEST, *manifest.hashes(), *(f"{PREVIOUS}/{last - 1 - k}.json" for k in range(kept))}
    beside = folder / PROSPECTIVE if _has_prospective(folder, manifest) else None
    for path in sorted(folder.rglob("*")):
        inside = beside is not None and (path == beside or beside in path.parents)
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or (not inside and not path.is_dir() and name not in known):
            yield f"{name[:200]!r} is not listed{' and is a link' if path.is_symlink() else ''}"


def _has_prospective(folder: Path, manifest: CheckedManifest) -> bool:
    """Whether the folder below is this release's own prospective split, which is checked for itself."""
    try:
        other = read_manifest(folder / PROSPECTIVE / MANIFEST).manifest
    except ValueError:
        return False
    same = (other.edition, other.task, other.split) == (manifest.edition, manifest.task, PROSPECTIVE)
    return same and manifest.split == "main"


@dataclass(frozen=True, slots=True)
class History:
    """The versions of a manifest before the present one, newest first, as far as they can be followed.

    Attributes:
        hashes: SHA-256 of each.
        faults: what is wrong with them.
    """

    hashes: tuple[str, ...]
    faults: tuple[str, ...] = ()


def history(folder: Path, now: ManifestFile) -> History:
    """Follow the manifests before this one."""
    chain: list[str] = []
    faults: list[str] = []
    newer, size = now.manifest, 0
    while newer.version > 1:
        try:
            older = _before(folder, newer)
        except ValueError as error:
            return History(tuple(chain), (*faults, str(error)))
        chain.append(older.sha256)
        size += (folder / PREVIOUS / f"{newer.version - 1}.json").stat().st_size
        if len(chain) > MAX_VERSIONS or size > MAX_HISTORY_BYTES:
            too_many = f"more than {MAX_VERSIONS:,} earlier versions, or {MAX_HISTORY_BYTES:,} bytes of them"
            return History(tuple(chain), (*faults, too_many))
        between = f"from version {newer.version - 1} to {newer.version}"
        faults += (f"{between}: {what}" for what in _changes(older.manifest, newer))
        newer = older.manifest
    return History(tuple(chain), (*faults, *(["version 1 names one before it"] if newer.previous else [])))


def _before(folder: Path, newer: CheckedManifest) -> ManifestFile:
    """The manifest that another names as the one before it; raises ValueError with a phrase."""
    path = f"{PREVIOUS}/{newer.version - 1}.json"
    if newer.previous is None or newer.previous.path != path:
        raise ValueError(f"version {newer.version} does not name {path} as the one before it")
    try:
        older = read_manifest(folder / path)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if older.sha256 != newer.previous.sha256:
        raise ValueError(f"{path} is not the manifest that version {newer.version} names")
    return older


_FIXED = ("task", "edition", "source", "split", "texts", "calendar", "selection", "prospective", "dataset")


def _changes(older: CheckedManifest, newer: CheckedManifest) -> Iterator[str]:
    """What must not change from one version to the next, and has."""
    if older.version != newer.version - 1:
        yield f"the one before says that it is version {older.version}"
    yield from (f"{name} has changed" for name in _FIXED if getattr(older, name) != getattr(newer, name))
    more = newer.model_extra or {}
    yield from (
        f"{name[:80]} has changed"
        for name, said in (older.model_extra or {}).items()
        if name not in more or canonical_json(more[name]) != canonical_json(said)
    )
    if (older.draw and older.draw.commitment) != (newer.draw and newer.draw.commitment):
        yield "the commitment to the draw has changed"
    if older.revealed and not newer.revealed:
        yield "what was revealed is not any more"
    if older.resolved is not None and newer.resolved != older.resolved:
        yield "resolved has changed"
    if any(item not in newer.takedowns for item in older.takedowns):
        yield "a takedown has been taken back"
    yield from _file_changes(older, newer)


def _file_changes(older: CheckedManifest, newer: CheckedManifest) -> Iterator[str]:
    """Files that must stay as they are, and do not."""
    before, after = older.hashes(), newer.hashes()
    fixed = {"commitments.jsonl", "labels.jsonl", OUTCOMES} | (
        {"samples.jsonl"} if older.takedowns == newer.takedowns else set()
    )
    yield from (f"{name} has changed" for name in sorted(before.keys() & fixed) if after.get(name) != before[name])
    yield from (f"{name} is not listed any more" for name in sorted(before.keys() - after.keys()))
    if newer.takedowns and not older.takedowns and newer.samples_at_opening != before.get("samples.jsonl"):
        yield "samples_at_opening is not the hash of the samples before the first takedown"
    yield from _lost_rows(older, newer)


def _lost_rows(older: CheckedManifest, newer: CheckedManifest) -> Iterator[str]:
    """Predictions and scores are only added; of a sample that was taken down one goes for each entry and prompt.

    Of an entry and prompt there are two scores at least: of a period, and of all.
    """
    if newer.is_frozen:  # whoever takes part may submit again, or leave
        return
    before, after = ({entry.path: entry.rows for entry in one.files} for one in (older, newer))
    most = len(newer.takedowns) * (before.get("scores.jsonl", 0) // 2)
    for name in ("predictions.jsonl", "scores.jsonl"):
        lost = before.get(name, 0) - after.get(name, 0)
        if lost > most:
            yield f"{lost:,} rows of {name} are missing, with {len(newer.takedowns):,} samples taken down"
