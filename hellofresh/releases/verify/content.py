"""The inside of a release: samples, commitments, labels, predictions, scores; each line canonical and in its order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hellofresh.errors import DataError
from hellofresh.files import canonical_json, sha256_text
from hellofresh.releases.build.escrow import commitment_of
from hellofresh.releases.build.prospective import OUTCOMES
from hellofresh.releases.life.tombstones import TOMBSTONES
from hellofresh.releases.verify.files import Manifest
from hellofresh.samples import Sample, to_json
from hellofresh.tasks import TASKS, Task

__all__ = ["Content", "LabelRow", "PredictionRow", "ScoreRow", "read_content"]

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


class LabelRow(_Strict):
    """A revealed label with its salt."""

    id: str
    label: Literal[0, 1]
    salt: str = Field(pattern=_HEX)


class _Outcome(_Strict):
    """What became of a prospective sample: a label, or the reason why there is none."""

    id: str
    label: Literal[0, 1] | None
    reason: str | None


class _Tombstone(_Exact):
    id: str
    reason: str
    date: str


class PredictionRow(_Exact):
    """What an entry said of a sample with a prompt."""

    entry: str
    system: str
    team: str
    lane: str
    regime: str
    prompt: str
    id: str
    label: Literal[0, 1] | None


class ScoreRow(_Strict):
    """What checking needs of a score; see `hellofresh.results.scores.Score`."""

    quarter: str
    task: str
    system: str
    team: str
    lane: str
    regime: str
    prompt: str
    period: str
    origin: str
    headline: bool
    n: int
    n_split: int
    clusters: int
    tp: int
    fp: int
    tn: int
    fn: int
    none: int
    blocked: int
    precision: float
    precision_low: float
    precision_high: float
    recall: float
    recall_low: float
    recall_high: float
    f1: float
    f1_low: float
    f1_high: float
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    interval_method: str
    interval_seed: int = Field(ge=0)
    interval_resamples: int = Field(ge=0, le=1_000_000)


_Row = TypeVar("_Row", bound=_Strict)


@dataclass(slots=True)
class Content:
    """What the files of a release hold, and what is wrong with each.

    Attributes:
        samples: by id.
        commitments, labels, tombstones: by id; labels are empty before the reveal.
        undecided: samples of a resolved prospective split that have no label and count in no score.
        predictions: label by sample id, by entry and prompt.
        entries: of each entry's rows, the system, team, lane and regime that they name.
        scores: in the order of the file.
        faults: by file.
    """

    samples: Mapping[str, Sample] = field(default_factory=dict)
    commitments: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, LabelRow] = field(default_factory=dict)
    tombstones: Mapping[str, _Tombstone] = field(default_factory=dict)
    predictions: Mapping[tuple[str, str], Mapping[str, int | None]] = field(default_factory=dict)
    entries: Mapping[str, tuple[str, str, str, str]] = field(default_factory=dict)
    scores: Sequence[ScoreRow] = ()
    undecided: AbstractSet[str] = frozenset()
    faults: dict[str, list[str]] = field(default_factory=dict)

    @property
    def judged(self) -> Mapping[str, Sample]:
        """The samples that scores are about."""
        if not self.undecided:
            return self.samples
        return {key: sample for key, sample in self.samples.items() if key not in self.undecided}


def read_content(folder: Path, manifest: Manifest) -> Content:
    """Read everything that a manifest lists, and check it against each other."""
    content = Content()
    listed = manifest.hashes()
    task = TASKS.get(manifest.task)
    if task is None:
        content.faults["samples.jsonl"] = [f"{manifest.task[:80]!r} is no task that is known here"]
        return content
    _read_samples(folder, manifest, task, content)
    if "commitments.jsonl" in listed or folder.name != "prospective":
        _read_commitments(folder, content)
    if TOMBSTONES in listed or manifest.takedowns:
        _read_tombstones(folder, manifest, content)
    if manifest.revealed:
        _read_labels(folder, manifest, content)
    if manifest.resolved is not None:
        _read_outcomes(folder, manifest.resolved.labels, content)
    if "predictions.jsonl" in listed:
        _read_predictions(folder, content)
    if "scores.jsonl" in listed:
        faults = content.faults.setdefault("scores.jsonl", [])
        content.scores = [row for _, row in _rows(folder / "scores.jsonl", ScoreRow, faults)]
    return content


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
                canonical = f"{canonical_json(json.loads(line))}\n".encode() == line
            except (ValueError, RecursionError):
                faults.append(f"line {number} is no JSON of up to {MAX_LINE_BYTES:,} bytes")
                continue
            if not canonical:
                faults.append(f"line {number} is not canonical (sorted keys, no spaces, UTF-8, a line end)")
            yield number, line


def _rows(path: Path, kind: type[_Row], faults: list[str]) -> Iterator[tuple[int, _Row]]:
    for number, line in _lines(path, faults):
        try:
            yield number, kind.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "the line"
            faults.append(f"line {number}: {where}: {first['msg'].lower()}")


def _by_id(path: Path, kind: type[_Row], faults: list[str]) -> dict[str, _Row]:
    """Rows by id, which must be sorted by it and each be there once."""
    found: dict[str, _Row] = {}
    last = ""
    for number, row in _rows(path, kind, faults):
        last = _in_order(number, getattr(row, "id"), last, faults)  # noqa: B009 - every kind asked for has one
        found[last] = row
    return found


def _in_order(number: int, key: str, last: str, faults: list[str]) -> str:
    if key == last:
        faults.append(f"line {number}: {key[:80]!r} is there twice")
    elif key < last:
        faults.append(f"line {number}: {key[:80]!r} is not in its place (sorted by id)")
    return key


def _read_samples(folder: Path, manifest: Manifest, task: Task, content: Content) -> None:
    faults = content.faults.setdefault("samples.jsonl", [])
    parse: Callable[..., Sample] = task.parse_public if manifest.texts == "withheld" else task.parse_sample
    samples: dict[str, Sample] = {}
    last = ""
    for number, line in _lines(folder / "samples.jsonl", faults):
        try:
            sample = parse(line, where=f"line {number}")
        except DataError as error:
            faults.append(str(error))
            continue
        last = _in_order(number, sample.id, last, faults)
        samples[sample.id] = sample
        faults += _odd_sample(number, line, sample, manifest, task)
    content.samples = samples


def _odd_sample(number: int, line: bytes, sample: Sample, manifest: Manifest, task: Task) -> Iterator[str]:
    """What about a sample cannot be: form, task, quarter, period."""
    try:
        canonical, period = canonical_json(to_json(sample)), task.period_kind.of(sample.date)
    except OverflowError:
        yield f"line {number}: a time outside the calendar"
        return
    if canonical.encode() != line.rstrip(b"\n"):
        yield f"line {number}: it has more fields than a sample, or writes them otherwise"
    if not sample.id.startswith(task.id_prefix) or (sample.task, sample.quarter) != (task.name, manifest.quarter):
        yield f"line {number}: {sample.id[:80]!r} is no sample of {task.name} {manifest.quarter[:20]}"
    if sample.period != period:
        yield f"line {number}: its date is not in its period {sample.period[:20]}"


def _read_commitments(folder: Path, content: Content) -> None:
    faults = content.faults.setdefault("commitments.jsonl", [])
    rows = _by_id(folder / "commitments.jsonl", _Commitment, faults)
    content.commitments = {key: row.commitment for key, row in rows.items()}


def _read_tombstones(folder: Path, manifest: Manifest, content: Content) -> None:
    faults = content.faults.setdefault(TOMBSTONES, [])
    content.tombstones = _by_id(folder / TOMBSTONES, _Tombstone, faults)
    said = {(item.id, item.reason, item.date) for item in manifest.takedowns}
    if said != {(row.id, row.reason, row.date) for row in content.tombstones.values()}:
        faults.append("not the takedowns that the manifest names")
    faults += [
        f"{key[:80]!r} was taken down and is still a sample" for key in content.tombstones if key in content.samples
    ]
    faults += [f"{key[:80]!r} never was a sample" for key in content.tombstones if key not in content.commitments]


def _read_labels(folder: Path, manifest: Manifest, content: Content) -> None:
    faults = content.faults.setdefault("labels.jsonl", [])
    content.labels = _by_id(folder / "labels.jsonl", LabelRow, faults)
    faults += _few((key for key in content.commitments if key not in content.labels), "has no label")
    faults += _few((key for key in content.labels if key not in content.commitments), "has a label and no commitment")
    wrong = (
        key
        for key, row in content.labels.items()
        if key in content.commitments and commitment_of(key, row.label, row.salt) != content.commitments[key]
    )
    faults += _few(wrong, "has another label or salt than was committed to")
    faults += _unbalanced(manifest, content)
    draw = manifest.draw
    if draw is not None and (draw.key is None or sha256_text(draw.key) != draw.commitment):
        faults.append("the manifest's key of the draw is not the one that was committed to")


def _read_outcomes(folder: Path, labels: int, content: Content) -> None:
    """What became of the samples of a prospective split; there was nothing to commit to, so labels have no salt."""
    faults = content.faults.setdefault(OUTCOMES, [])
    rows = _by_id(folder / OUTCOMES, _Outcome, faults)
    decided = {key: row.label for key, row in rows.items() if row.label is not None}
    faults += _few((key for key in content.samples if key not in rows), "has no outcome")
    faults += _few((key for key in rows if key not in content.samples), "has an outcome and is no sample")
    both = (key for key, row in rows.items() if (row.label is None) == (row.reason is None))
    faults += _few(both, "must have either a label or the reason why there is none")
    if len(decided) != labels:
        faults.append(f"{len(decided):,} samples were decided, and the manifest says {labels:,}")
    content.labels = {key: LabelRow.model_construct(id=key, label=label, salt="") for key, label in decided.items()}
    content.undecided = rows.keys() - decided.keys()


def _few(keys: Iterator[str], what: str) -> list[str]:
    found = sorted(keys)
    more = [f"{len(found) - MAX_FAULTS:,} more like these"] if len(found) > MAX_FAULTS else []
    return [f"{key[:80]!r} {what}" for key in found[:MAX_FAULTS]] + more


def _unbalanced(manifest: Manifest, content: Content) -> Iterator[str]:
    """Periods that do not have the same number of both labels; a sample that was taken down may be missing in any."""
    if manifest.selection is None:
        return
    pairs = ((item.period, content.labels[key].label) for key, item in content.samples.items() if key in content.labels)
    found = Counter(pairs)
    for period, number in sorted(manifest.selection.periods.items()):
        missing = sum(number.taken_per_class - found[period, label] for label in (0, 1))
        over = any(found[period, label] > number.taken_per_class for label in (0, 1))
        if over or missing > len(content.tombstones):
            has = f"{found[period, 1]} and {found[period, 0]}"
            yield f"{period[:20]} has {has} samples of the two labels, not {number.taken_per_class} of each"


def _read_predictions(folder: Path, content: Content) -> None:
    faults = content.faults.setdefault("predictions.jsonl", [])
    predictions: dict[tuple[str, str], dict[str, int | None]] = {}
    entries: dict[str, tuple[str, str, str, str]] = {}
    last = ("", "", "")
    for number, row in _rows(folder / "predictions.jsonl", PredictionRow, faults):
        place = (row.entry, row.prompt, row.id)
        if place <= last:
            faults.append(f"line {number} is not in its place (sorted by entry, prompt and id) or is there twice")
        last = place
        if row.id not in content.samples:
            faults.append(f"line {number}: {row.id[:80]!r} is no sample")
        if entries.setdefault(row.entry, said := (row.system, row.team, row.lane, row.regime)) != said:
            faults.append(f"line {number}: {row.entry[:80]!r} is named otherwise before")
        predictions.setdefault((row.entry, row.prompt), {})[row.id] = row.label
    content.predictions, content.entries = predictions, entries
