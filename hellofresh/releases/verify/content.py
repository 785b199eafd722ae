"""The inside of a release: samples, commitments, labels, predictions, scores; each line canonical and in its order."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, model_validator

from hellofresh.core.editions import ALL_ROWS
from hellofresh.core.errors import DataError
from hellofresh.core.files import MAX_DEPTH, canonical_json, sha256_text, strict_json
from hellofresh.core.quarters import Quarter
from hellofresh.releases.draw.escrow import commitment_of
from hellofresh.releases.draw.prospective import OUTCOMES, PROSPECTIVE
from hellofresh.releases.life.tombstones import TOMBSTONES
from hellofresh.releases.verify.files import CheckedManifest
from hellofresh.tasks import TASKS, Task
from hellofresh.tasks.samples import Sample, to_json

__all__ = ["Answers", "Content", "EntryName", "ScoreRow", "read_content", "score_rows"]

MAX_FAULTS = 20
"""Faults named for each file; the rest is counted."""
MAX_LINE_BYTES = 10_000_000
_HEX = r"^[0-9a-f]{64}$"


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class _Exact(_Strict):
    """A row that says this and no more: a further field could give labels away, or names."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class _Commitment(_Exact):
    id: str
    commitment: str = Field(pattern=_HEX)


class _Label(_Strict):
    """A revealed label with its salt."""

    id: str
    label: int = Field(ge=0, le=127)
    salt: str = Field(pattern=_HEX)


class _PublicLabel(_Strict):
    """A label of a data set, which was public before anything could be committed to."""

    id: str
    label: int = Field(ge=0, le=127)


class _Outcome(_Strict):
    """What became of a prospective sample: a label, or the reason why there is none."""

    id: str
    label: int | None = Field(ge=0, le=127)
    reason: str | None


class _Tombstone(_Exact):
    id: str
    reason: str
    date: str


class _Prediction(_Exact):
    """What an entry said of a sample with a prompt."""

    entry: str
    system: str
    team: str
    lane: str
    regime: str
    prompt: str
    id: str
    label: int | None = Field(default=None, ge=0, le=127)
    probabilities: tuple[float, ...] = ()
    certainty: float | None = None
    text: str | None = None
    documents: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    rationale: str = ""
    sources: tuple[str, ...] = ()


class ScoreRow(_Strict):
    """What checking needs of a score; see `hellofresh.results.scores.Score`.

    Earlier versions wrote four metrics into one row; `tp` to `fn`, `interval_seed` and `interval_resamples` are theirs.
    """

    edition: str = Field(validation_alias=AliasChoices("edition", "quarter"))
    task: str
    system: str
    team: str
    lane: str
    kind: str
    regime: str
    prompt: str
    period: str
    origin: str
    headline: bool
    bundled: bool
    smoke_test: bool
    knowledge_cutoff: str
    about: str
    n: int
    n_split: int
    clusters: int
    effective_clusters: float
    none: int
    blocked: int
    metric: str
    value: float
    low: float
    high: float
    method: str = Field(validation_alias=AliasChoices("method", "interval_method"))
    settings: str = ""
    tp: int | None = None
    fp: int | None = None
    tn: int | None = None
    fn: int | None = None
    interval_seed: int = 0
    interval_resamples: int = 0


_WIDE = ("precision", "recall", "f1", "accuracy")
"""The metrics of a row of an earlier version."""


class _WideScore(BaseModel):
    """A row of an earlier version, as one score for each of its metrics."""

    model_config = ConfigDict(strict=True, frozen=True, extra="allow")
    scores: tuple[ScoreRow, ...]

    @model_validator(mode="before")
    @classmethod
    def _split(cls, row: object) -> object:
        if not isinstance(row, dict) or "metric" in row:
            return {"scores": (row,)}
        counted = {name: row.get(name) for name in ("tp", "fp", "tn", "fn")}
        if not all(type(number) is int for number in counted.values()):
            raise ValueError("a score must have a metric, or the counts tp, fp, tn and fn")
        ends = {"value": "", "low": "_low", "high": "_high"}
        return {"scores": tuple(
            {**row, "metric": metric, **{end: row.get(f"{metric}{suffix}") for end, suffix in ends.items()}}
            for metric in _WIDE
        )}  # fmt: skip


_Row = TypeVar("_Row", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class EntryName:
    """How the rows of predictions name an entry."""

    system: str
    team: str
    lane: str
    regime: str


@dataclass(frozen=True, slots=True)
class Answers:
    """What an entry said with a prompt.

    Attributes:
        at: positions of samples.
        labels: classes, or -1 for no answer, in the same order.
    """

    at: array[int] = field(default_factory=lambda: array("i"))
    labels: array[int] = field(default_factory=lambda: array("b"))

    @property
    def positions(self) -> NDArray[np.int32]:
        """Positions of samples as an array."""
        return np.frombuffer(self.at, dtype=np.int32)

    @property
    def answers(self) -> NDArray[np.int8]:
        """What was said of them, as an array."""
        return np.frombuffer(self.labels, dtype=np.int8)


@dataclass(slots=True)
class Content:
    """What the files of a release hold, as little of it as the checks need, and what is wrong with each.

    Texts, salts and hashes are looked at while a file is read, and not kept: memory grows by some 200 bytes a sample.

    Attributes:
        places: the position of each sample by id.
        period_names: the periods that samples have.
        periods: of each sample, which of these.
        groups: of each sample, equal numbers for samples of one group, in the order of their names.
        classes: of the task, how many.
        labels: of each sample, its class, or -1 for none.
        judged: of each sample, whether scores are about it; those never decided are not.
        committed: number of commitments.
        tombstones: by id.
        outcomes: samples by what became of them: the reason why there is no label, or nothing.
        predictions: by entry and prompt.
        entries: by entry.
        faults: by file.
    """

    classes: int = 2
    places: dict[str, int] = field(default_factory=dict)
    period_names: list[str] = field(default_factory=list)
    periods: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    groups: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    labels: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    judged: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    committed: int = 0
    tombstones: Mapping[str, _Tombstone] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    predictions: dict[tuple[str, str], Answers] = field(default_factory=dict)
    entries: dict[str, EntryName] = field(default_factory=dict)
    faults: dict[str, list[str]] = field(default_factory=dict)

    @property
    def has_labels(self) -> bool:
        """Whether every sample that scores are about has a label."""
        return bool((self.labels[self.judged] >= 0).all())

    def of(self, file: str) -> list[str]:
        """The faults of a file, which is looked at."""
        return self.faults.setdefault(file, [])


def read_content(folder: Path, manifest: CheckedManifest) -> Content:
    """Read everything that a manifest lists but its scores, and check it against each other."""
    content = Content()
    listed = manifest.hashes()
    task = TASKS.get(manifest.task)
    if task is None:
        content.of("samples.jsonl").append(f"{manifest.task[:80]!r} is no task that is known here")
        return content
    content.classes = max(1, len(task.classes))  # a task that chooses no class has one label
    if TOMBSTONES in listed or manifest.takedowns:
        content.tombstones = dict(_by_id(folder / TOMBSTONES, _Tombstone, content.of(TOMBSTONES)))
    _read_samples(folder, manifest, task, content)
    hashes = _Hashes()
    if "commitments.jsonl" in listed or not (manifest.split == PROSPECTIVE or manifest.is_frozen):
        hashes = _read_commitments(folder, content)
    _check_tombstones(manifest, content, hashes)
    if manifest.dataset is not None:
        _read_public_labels(folder, manifest, manifest.dataset.labels, content)
    elif manifest.revealed:
        _read_labels(folder, manifest, content, hashes)
    if manifest.resolved is not None:
        _read_outcomes(folder, manifest, content)
    if "predictions.jsonl" in listed:
        _read_predictions(folder, content, withheld=manifest.texts == "withheld")
    return content


def score_rows(folder: Path, faults: list[str]) -> Iterator[ScoreRow]:
    """The scores of a release, one after the other; what is none is a fault."""
    for _, line in _rows(folder / "scores.jsonl", _WideScore, faults):
        yield from line.scores


def _lines(path: Path, faults: list[str]) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that is canonical JSONL; what is not is a fault."""
    if path.is_symlink() or not path.is_file():
        faults.append("no such file")
        return
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES), b""), start=1):
            if len(faults) > MAX_FAULTS:
                faults.append("and more")
                return
            try:
                canonical = f"{canonical_json(_parsed(line))}\n".encode() == line
            except ValueError as error:
                faults.append(f"line {number} is no JSON of up to {MAX_LINE_BYTES:,} bytes: {error}")
                continue
            if not canonical:
                faults.append(f"line {number} is not canonical (sorted keys, no spaces, UTF-8, a line end)")
            yield number, line


def _parsed(line: bytes) -> object:
    """A line's value. What strict parsing refuses is not canonical either, but for the depth of its brackets."""
    return json.loads(line) if line.count(b"[") + line.count(b"{") <= MAX_DEPTH else strict_json(line)


def _rows(path: Path, kind: type[_Row], faults: list[str]) -> Iterator[tuple[int, _Row]]:
    for number, line in _lines(path, faults):
        try:
            yield number, kind.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "the line"
            faults.append(f"line {number}: {where[:200]}: {first['msg'].lower()}")


def _by_id(path: Path, kind: type[_Row], faults: list[str]) -> Iterator[tuple[str, _Row]]:
    """Rows with their ids, by which they must be sorted; each may be there once."""
    last = ""
    for number, row in _rows(path, kind, faults):
        key: str = getattr(row, "id")  # noqa: B009 - every kind asked for has one
        if _in_order(number, key, last, faults):
            yield key, row
            last = key


def _in_order(number: int, key: str, last: str, faults: list[str]) -> bool:
    if key == last:
        faults.append(f"line {number}: {key[:80]!r} is there twice")
    elif key < last:
        faults.append(f"line {number}: {key[:80]!r} is not in its place (sorted by id)")
    return key > last


def _read_samples(folder: Path, manifest: CheckedManifest, task: Task, content: Content) -> None:
    faults = content.of("samples.jsonl")
    parse: Callable[..., Sample] = task.parse_public if manifest.texts == "withheld" else task.parse_sample
    periods: dict[str, int] = {}
    groups: dict[str, int] = {}
    period_of, group_of = array("i"), array("i")
    last = ""
    for number, line in _lines(folder / "samples.jsonl", faults):
        try:
            sample = parse(line, where=f"line {number}")
        except DataError as error:
            faults.append(str(error))
            continue
        faults += _odd_sample(number, line, sample, manifest, task)
        if _in_order(number, sample.id, last, faults):
            last = sample.id
            content.places[last] = len(period_of)
            period_of.append(periods.setdefault(sample.period, len(periods)))
            group_of.append(groups.setdefault(sample.group, len(groups)))
    content.period_names = list(periods)
    by_name = np.zeros(len(groups), dtype=np.int32)  # an array of names would be as wide as the longest for each
    by_name[[groups[name] for name in sorted(groups)]] = np.arange(len(groups))
    content.periods = np.array(period_of, dtype=np.int32)
    content.groups = by_name[np.array(group_of, dtype=np.int32)]
    content.labels = np.full(len(period_of), -1, dtype=np.int8)
    content.judged = np.ones(len(period_of), dtype=np.bool_)
    faults += _uneven(manifest, content)


def _odd_sample(number: int, line: bytes, sample: Sample, manifest: CheckedManifest, task: Task) -> Iterator[str]:
    """What about a sample cannot be: form, task, quarter, period."""
    try:
        canonical, period = _canonical(sample, line), task.period_kind.of(sample.date)
        edition = Quarter.containing(sample.date)
    except OverflowError:
        yield f"line {number}: a time outside the calendar"
        return
    if canonical.encode() != line.rstrip(b"\n"):
        yield f"line {number}: it has more fields than a sample, or writes them otherwise"
    if not sample.id.startswith(task.id_prefix) or (sample.task, sample.edition) != (task.name, manifest.edition):
        yield f"line {number}: {sample.id[:80]!r} is no sample of {task.name} {manifest.edition}"
    if manifest.is_frozen:
        if sample.period != ALL_ROWS:
            yield f"line {number}: it is of the period {sample.period[:20]}, and a data set has none"
        return
    if sample.period != period:
        yield f"line {number}: its date is not in its period {sample.period[:20]}"
    if str(edition) != manifest.edition:
        yield f"line {number}: {sample.id[:80]!r} is dated {sample.date:%Y-%m-%d}, which is not in {manifest.edition}"


def _canonical(sample: Sample, line: bytes) -> str:
    """The one spelling of a sample; lines of earlier versions call the edition `quarter`."""
    said = to_json(sample)
    if b'"quarter":' in line:
        said["quarter"] = said.pop("edition")
    return canonical_json(said)


def _uneven(manifest: CheckedManifest, content: Content) -> Iterator[str]:
    """Periods that have another number of samples than were drawn; one that was taken down may be missing in any."""
    if manifest.is_frozen:
        return
    found = Counter(content.period_names[period] for period in content.periods.tolist())
    for period in sorted(found.keys() | manifest.drawn.keys()):
        if found[period] > manifest.drawn.get(period, 0):
            yield f"{period[:20]} has {found[period]} samples, and {manifest.drawn.get(period, 0)} were drawn"
    missing = sum(manifest.drawn.values()) - found.total() - len(content.tombstones)
    if missing > 0:
        yield f"{missing} samples fewer than were drawn, besides those that were taken down"


@dataclass(slots=True)
class _Hashes:
    """Commitments, 32 bytes each, of samples by their positions and then of what was taken down."""

    digests: bytearray = field(default_factory=bytearray)
    places: dict[str, int] = field(default_factory=dict)
    there: bytearray = field(default_factory=bytearray)

    def place(self, key: str, content: Content) -> int | None:
        """Where the commitment to a sample, there or taken down, has its place."""
        return content.places.get(key, self.places.get(key))

    def has(self, key: str, content: Content) -> bool:
        """Whether there is a commitment to a sample."""
        place = self.place(key, content)
        return place is not None and bool(self.there[place])


def _read_commitments(folder: Path, content: Content) -> _Hashes:
    faults = content.of("commitments.jsonl")
    gone = [key for key in content.tombstones if key not in content.places]
    n = len(content.places) + len(gone)
    places = {key: len(content.places) + k for k, key in enumerate(gone)}
    hashes = _Hashes(bytearray(32 * n), places, bytearray(n))
    strange: list[str] = []
    for key, row in _by_id(folder / "commitments.jsonl", _Commitment, faults):
        content.committed += 1
        place = hashes.place(key, content)
        if place is None:
            strange.append(key)
        else:
            hashes.digests[32 * place : 32 * place + 32] = bytes.fromhex(row.commitment)
            hashes.there[place] = 1
    everything = (*content.places.items(), *places.items()) if not all(hashes.there) else ()
    faults += _few((key for key, place in everything if not hashes.there[place]), "has no commitment")
    faults += _few(strange, "has a commitment and is no sample")
    return hashes


def _check_tombstones(manifest: CheckedManifest, content: Content, hashes: _Hashes) -> None:
    if TOMBSTONES not in content.faults:
        return
    faults = content.of(TOMBSTONES)
    said = {(item.id, item.reason, item.date) for item in manifest.takedowns}
    if said != {(row.id, row.reason, row.date) for row in content.tombstones.values()}:
        faults.append("not the takedowns that the manifest names")
    faults += _few((key for key in content.tombstones if key in content.places), "was taken down and is still a sample")
    if "commitments.jsonl" in content.faults:
        never = (key for key in content.tombstones if not hashes.has(key, content))
        faults += _few(never, "never was a sample")


def _read_labels(folder: Path, manifest: CheckedManifest, content: Content, hashes: _Hashes) -> None:
    faults = content.of("labels.jsonl")
    strange, wrong = [], []
    labelled = bytearray(len(hashes.there))
    for key, row in _by_id(folder / "labels.jsonl", _Label, faults):
        place = hashes.place(key, content)
        if place is None or not hashes.there[place]:
            strange.append(key)
            continue
        labelled[place] = 1
        faults += _no_class(row.label, key, content)
        if place < content.labels.size:
            content.labels[place] = min(row.label, content.classes - 1)
        if commitment_of(key, row.label, row.salt) != hashes.digests[32 * place : 32 * place + 32].hex():
            wrong.append(key)
    names = (*content.places.items(), *hashes.places.items()) if labelled != hashes.there else ()
    faults += _few((key for key, place in names if hashes.there[place] and not labelled[place]), "has no label")
    faults += _few(strange, "has a label and no commitment")
    faults += _few(wrong, "has another label or salt than was committed to")
    faults += _unbalanced(manifest, content)
    draw = manifest.draw
    if draw is not None and (draw.key is None or sha256_text(draw.key) != draw.commitment):
        faults.append("the manifest's key of the draw is not the one that was committed to")


def _read_public_labels(folder: Path, manifest: CheckedManifest, counts: Sequence[int], content: Content) -> None:
    """The labels of a data set, which its manifest's content hash covers."""
    faults = content.of("labels.jsonl")
    strange, found = [], Counter[int]()
    for key, row in _by_id(folder / "labels.jsonl", _PublicLabel, faults):
        found[row.label] += 1
        place = content.places.get(key)
        if place is not None:
            content.labels[place] = row.label
        elif key not in content.tombstones:
            strange.append(key)
    faults += _few((key for key, place in content.places.items() if content.labels[place] < 0), "has no label")
    faults += _few(strange, "has a label and is no sample")
    if counts and [found[label] for label in range(len(counts))] != list(counts):
        said = ", ".join(f"{found[label]:,}" for label in range(len(counts)))
        faults.append(f"there are {said} labels of each class, and the manifest says {counts}")
    if counts and max(found, default=0) >= len(counts):
        faults.append(f"a label is {max(found)}, and there are {len(counts)} classes")
    if manifest.dataset is not None and manifest.dataset.content != manifest.opening_content:
        faults.append("samples and labels do not have the content hash that the manifest names")


def _read_outcomes(folder: Path, manifest: CheckedManifest, content: Content) -> None:
    """What became of the samples of a prospective split; there was nothing to commit to, so labels have no salt."""
    faults = content.of(OUTCOMES)
    strange, both = [], []
    seen = np.zeros(content.labels.size, dtype=np.bool_)
    for key, row in _by_id(folder / OUTCOMES, _Outcome, faults):
        if (row.label is None) == (row.reason is None):
            both.append(key)
        content.outcomes[row.reason or ""] += 1
        place = content.places.get(key)
        if place is None:
            strange += [] if key in content.tombstones else [key]
            continue
        seen[place] = True
        faults += [] if row.label is None else _no_class(row.label, key, content)
        content.labels[place] = -1 if row.label is None else min(row.label, content.classes - 1)
        content.judged[place] = row.label is not None
    faults += _few((key for key, place in content.places.items() if not seen[place]), "has no outcome")
    faults += _few(strange, "has an outcome and is no sample")
    faults += _few(both, "must have either a label or the reason why there is none")
    resolved = manifest.resolved
    dropped = {reason: number for reason, number in content.outcomes.items() if reason}
    stated = {} if resolved is None else {reason: number for reason, number in resolved.dropped.items() if number}
    if resolved is not None and content.outcomes[""] != resolved.labels:
        faults.append(f"{content.outcomes['']:,} samples were decided, and the manifest says {resolved.labels:,}")
    if stated != dropped:
        faults.append(f"dropped are {_counted(dropped)}, and the manifest says {_counted(stated)}")


def _counted(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {reason[:40]!r}" for reason, number in sorted(reasons.items())[:5]) or "none"


def _few(keys: Iterable[str], what: str) -> list[str]:
    found = sorted(keys)
    more = [f"{len(found) - MAX_FAULTS:,} more like these"] if len(found) > MAX_FAULTS else []
    return [f"{key[:80]!r} {what}" for key in found[:MAX_FAULTS]] + more


def _no_class(label: int, key: str, content: Content) -> list[str]:
    if label < content.classes:
        return []
    return [f"{key[:80]!r} has the label {label:.6g}, and the task has {content.classes} classes"]


def _unbalanced(manifest: CheckedManifest, content: Content) -> Iterator[str]:
    """Periods that do not have the same number of each label; a sample that was taken down may be missing in any."""
    if manifest.selection is None:
        return
    labels = range(manifest.selection.classes)
    if content.labels.size and content.labels.max() >= len(labels):
        yield f"a label is {content.labels.max()}, and there are {len(labels)} labels"
    pairs = zip(content.periods.tolist(), content.labels.tolist(), strict=True)
    found = Counter((content.period_names[period], label) for period, label in pairs)
    for period, number in sorted(manifest.selection.periods.items()):
        missing = sum(number.taken_per_class - found[period, label] for label in labels)
        over = any(found[period, label] > number.taken_per_class for label in labels)
        if over or missing > len(content.tombstones):
            has = " and ".join(str(found[period, label]) for label in reversed(labels))
            yield f"{period[:20]} has {has} samples of the {len(labels)} labels, not {number.taken_per_class} of each"


def _read_predictions(folder: Path, content: Content, *, withheld: bool) -> None:
    faults = content.of("predictions.jsonl")
    last = ("", "", "")
    for number, row in _rows(folder / "predictions.jsonl", _Prediction, faults):
        place = (row.entry, row.prompt, row.id)
        if place <= last:
            faults.append(f"line {number} is not in its place (sorted by entry, prompt and id) or is there twice")
            continue
        last = place
        if withheld and (row.rationale or row.text):
            faults.append(f"line {number}: a text that may quote the sample, whose texts are withheld")
        named = EntryName(row.system, row.team, row.lane, row.regime)
        if content.entries.setdefault(row.entry, named) != named:
            faults.append(f"line {number}: {row.entry[:80]!r} is named otherwise before")
        sample = content.places.get(row.id)
        if sample is None:
            faults.append(f"line {number}: {row.id[:80]!r} is no sample")
        else:
            faults += [] if row.label is None else _no_class(row.label, row.id, content)
            said = content.predictions.setdefault((row.entry, row.prompt), Answers())
            said.at.append(sample)
            said.labels.append(-1 if row.label is None or row.label >= content.classes else row.label)
