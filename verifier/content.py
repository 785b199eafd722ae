"""The inside of a release: samples, commitments, labels and predictions, and what is wrong with each."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from verifier.documented import ANY_SAMPLE, TASKS, Documented
from verifier.manifest import COMMITMENTS, LABELS, OUTCOMES, PREDICTIONS, SAMPLES, TOMBSTONES, Manifest
from verifier.reading import SHA256, Form, Row, by_id, canonical, few, lines, misfit, rows, text_hash

MAJORITY, SINGLE = "majority", "single"
_ALL_ROWS = "all-rows"
"""The one period of a data set."""
_LABEL = range(128)
_COMMITMENT_ROW = {"id": str, "commitment": SHA256}
_TOMBSTONE_ROW = {"id": str, "reason": str, "date": str}
_LABEL_ROW = {"id": str, "label": _LABEL, "salt": SHA256, "*": object}
_PUBLIC_LABEL_ROW = {"id": str, "label": _LABEL, "*": object}
_OUTCOME_ROW = {"id": str, "label": (_LABEL, None), "reason": (str, None), "*": object}
_PREDICTION_ROW: Form = {
    **dict.fromkeys(("entry", "system", "team", "lane", "regime", "prompt", "id", "rationale?"), str),
    **{name: [float] for name in ("probabilities?", "scores?")},
    **{name: [str] for name in ("documents?", "sources?")},
    "label?": (_LABEL, None),
    "certainty?": (float, None),
    "text?": (str, None),
}


class EntryName(NamedTuple):
    """How predictions and scores name an entry."""

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
        classes: names of the task's classes; numbers where names are not known, none where no class is chosen.
        places: the position of each sample by id.
        period_names: the periods that samples have.
        periods: of each sample, which of these.
        groups: of each sample, equal numbers for samples of one group, in the order of their names.
        labels: of each sample, its class, or -1 for none.
        judged: of each sample, whether scores are about it; those never decided are not.
        committed: number of commitments.
        tombstones: by id.
        outcomes: samples by what became of them: the reason why there is no label, or nothing.
        predictions: by entry and prompt.
        entries: by entry.
        with_more: whether predictions say more than a label, such as texts, rankings and sources.
        faults: by file.
        unchecked: what was not checked, by file.
    """

    classes: Sequence[str] = ("0", "1")
    places: dict[str, int] = field(default_factory=dict)
    period_names: list[str] = field(default_factory=list)
    periods: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    groups: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    labels: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    judged: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    committed: int = 0
    tombstones: Mapping[str, Row] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    predictions: dict[tuple[str, str], Answers] = field(default_factory=dict)
    entries: dict[str, EntryName] = field(default_factory=dict)
    with_more: bool = False
    faults: dict[str, list[str]] = field(default_factory=dict)
    unchecked: dict[str, list[str]] = field(default_factory=dict)

    @property
    def has_labels(self) -> bool:
        """Whether every sample that scores are about has a label."""
        return bool((self.labels[self.judged] >= 0).all())

    @property
    def labels_taken(self) -> int:
        """How many labels there are: one where no class is chosen."""
        return max(1, len(self.classes))

    def of(self, file: str) -> list[str]:
        """The faults of a file, which is looked at."""
        return self.faults.setdefault(file, [])


def read_content(folder: Path, manifest: Manifest) -> Content:
    """Read everything that a manifest lists but its scores, and check it against each other."""
    task = TASKS.get(manifest["task"])
    content = Content(classes=classes_of(manifest))
    if TOMBSTONES in manifest.hashes or manifest["takedowns"]:
        content.tombstones = dict(by_id(folder / TOMBSTONES, _TOMBSTONE_ROW, content.of(TOMBSTONES)))
    _read_samples(folder, manifest, task, content)
    committed: dict[str, bytes] = {}
    if COMMITMENTS in manifest.hashes or (manifest.is_main and not manifest.is_frozen):
        committed = _read_commitments(folder, content)
    _check_tombstones(manifest, content, committed)
    if manifest["dataset"] is not None:
        _read_public_labels(folder, manifest, content)
    elif manifest["revealed"]:
        _read_labels(folder, manifest, content, committed)
    if manifest["resolved"] is not None:
        _read_outcomes(folder, manifest, content)
    if PREDICTIONS in manifest.hashes:
        _read_predictions(folder, content, withheld=manifest["texts"] == "withheld")
        if content.with_more:
            content.unchecked[PREDICTIONS] = ["texts, rankings, probabilities, reasons and sources of predictions"]
    return content


def classes_of(manifest: Manifest) -> Sequence[str]:
    """Names of the classes of a release; numbers where names are not known, none where no class is chosen."""
    task = TASKS.get(manifest["task"])
    if manifest["dataset"] is not None:
        return list(manifest["dataset"]["classes"])
    if task is not None:
        return task.classes
    number = (manifest["selection"] or {}).get("classes", 2)
    return [str(label) for label in range(number)] if number > 1 else ()


def _read_samples(folder: Path, manifest: Manifest, task: Documented | None, content: Content) -> None:
    faults = content.of(SAMPLES)
    form = ANY_SAMPLE if task is None else task.form(withheld=manifest["texts"] == "withheld")
    if task is None:
        content.unchecked[SAMPLES] = [f"the form of samples of {manifest['task'][:80]!r}"]
    periods: dict[str, int] = {}
    groups: dict[str, int] = {}
    period_of, group_of = array("i"), array("i")
    last = ""
    for number, sample in lines(folder / SAMPLES, faults):
        if isinstance(sample, dict) and _is_outside_the_calendar(sample.get("date")):
            faults.append(f"line {number}: a time outside the calendar")
        elif wrong := misfit(sample, form):
            faults.append(f"line {number}: not a sample of {manifest['task'][:80]}: {wrong}")
        else:
            faults += _odd_sample(number, sample, manifest, task)
            if sample["id"] <= last:
                place = "is there twice" if sample["id"] == last else "is not in its place (sorted by id)"
                faults.append(f"line {number}: {sample['id'][:80]!r} {place}")
                continue
            last = sample["id"]
            content.places[last] = len(period_of)
            period_of.append(periods.setdefault(sample["period"], len(periods)))
            group_of.append(groups.setdefault(sample["group"], len(groups)))
    content.period_names = list(periods)
    by_name = np.zeros(len(groups), dtype=np.int32)  # an array of names would be as wide as the longest for each
    by_name[[groups[name] for name in sorted(groups)]] = np.arange(len(groups))
    content.periods = np.array(period_of, dtype=np.int32)
    content.groups = by_name[np.array(group_of, dtype=np.int32)]
    content.labels = np.full(len(period_of), -1, dtype=np.int8)
    content.judged = np.ones(len(period_of), dtype=np.bool_)
    faults += _uneven(manifest, content)


def _is_outside_the_calendar(date: object) -> bool:
    try:
        datetime.fromisoformat(str(date)).astimezone(UTC)
    except OverflowError:
        return True
    except ValueError:
        return False
    return False


def _odd_sample(number: int, sample: Row, manifest: Manifest, task: Documented | None) -> Iterator[str]:
    """What about a sample cannot be: task, edition, period."""
    try:
        date = datetime.fromisoformat(sample["date"]).astimezone(UTC)
    except ValueError:
        yield f"line {number}: {sample['date']} is not a time"
        return
    name, edition, period = sample["id"], sample.get("edition", sample.get("quarter")), sample["period"]
    prefixed = task is None or name.startswith(task.prefix)
    if not prefixed or (sample["task"], edition) != (manifest["task"], manifest.edition):
        yield f"line {number}: {name[:80]!r} is not a sample of {manifest['task'][:80]} {manifest.edition}"
    if manifest.is_frozen:
        if period != _ALL_ROWS:
            yield f"line {number}: it is of the period {period[:20]}, and a data set has none"
        return
    year, week, _ = date.isocalendar()
    months, weeks = f"{date:%Y-%m}", f"{year:04d}-W{week:02d}"
    if period not in ({months, weeks} if task is None else {weeks if task.weekly else months}):
        yield f"line {number}: its date is not in its period {period[:20]}"
    if f"{date.year:04d}Q{(date.month + 2) // 3}" != manifest.edition:
        yield f"line {number}: {name[:80]!r} is dated {date:%Y-%m-%d}, which is not in {manifest.edition}"


def _uneven(manifest: Manifest, content: Content) -> Iterator[str]:
    """Periods that have another number of samples than were drawn; one that was taken down may be missing in any."""
    if manifest.is_frozen:
        return
    drawn, found = manifest.drawn, Counter(content.period_names[period] for period in content.periods.tolist())
    for period in sorted(found.keys() | drawn.keys()):
        if found[period] > drawn.get(period, 0):
            yield f"{period[:20]} has {found[period]} samples, and {drawn.get(period, 0)} were drawn"
    missing = sum(drawn.values()) - found.total() - len(content.tombstones)
    if missing > 0:
        yield f"{missing} samples fewer than were drawn, besides those that were taken down"


def _read_commitments(folder: Path, content: Content) -> dict[str, bytes]:
    """The commitments by id."""
    faults = content.of(COMMITMENTS)
    found = {key: bytes.fromhex(row["commitment"]) for key, row in by_id(folder / COMMITMENTS, _COMMITMENT_ROW, faults)}
    content.committed = len(found)
    asked = content.places.keys() | content.tombstones.keys()
    faults += few(content.places.keys() - found.keys(), "has no commitment")
    faults += few(found.keys() - asked, "has a commitment and is not a sample")
    return found


def _check_tombstones(manifest: Manifest, content: Content, committed: Mapping[str, bytes]) -> None:
    if TOMBSTONES not in content.faults:
        return
    faults, gone = content.of(TOMBSTONES), content.tombstones.keys()
    if sorted(map(canonical, manifest["takedowns"])) != sorted(map(canonical, content.tombstones.values())):
        faults.append("not the takedowns that the manifest names")
    faults += few(gone & content.places.keys(), "was taken down and is still a sample")
    if COMMITMENTS in content.faults:
        faults += few(gone - committed.keys(), "never was a sample")


def _read_labels(folder: Path, manifest: Manifest, content: Content, committed: dict[str, bytes]) -> None:
    """Labels with salts; each takes its commitment away, and what is left has no label."""
    faults = content.of(LABELS)
    strange, wrong = [], []
    for key, row in by_id(folder / LABELS, _LABEL_ROW, faults):
        commitment = committed.pop(key, None)
        if commitment is None:
            strange.append(key)
            continue
        faults += _no_class(row["label"], key, content)
        if key in content.places:
            content.labels[content.places[key]] = min(row["label"], content.labels_taken - 1)
        if text_hash(canonical({"id": key, "label": row["label"], "salt": row["salt"]})) != commitment.hex():
            wrong.append(key)
    faults += few(committed, "has no label")
    faults += few(strange, "has a label and no commitment")
    faults += few(wrong, "has another label or salt than was committed to")
    faults += _unbalanced(manifest, content)
    content.unchecked[LABELS] = ["facts of labels"]
    draw = manifest["draw"]
    if draw is not None and text_hash(str(draw.get("key"))) != draw["commitment"]:
        faults.append("the manifest's key of the draw is not the one that was committed to")


def _read_public_labels(folder: Path, manifest: Manifest, content: Content) -> None:
    """The labels of a data set, which its manifest's content hash covers."""
    faults, dataset = content.of(LABELS), manifest["dataset"]
    strange, found, counts = [], Counter[int](), dataset["labels"]
    for key, row in by_id(folder / LABELS, _PUBLIC_LABEL_ROW, faults):
        found[row["label"]] += 1
        place = content.places.get(key)
        if place is not None:
            content.labels[place] = row["label"]
        elif key not in content.tombstones:
            strange.append(key)
    faults += few((key for key, place in content.places.items() if content.labels[place] < 0), "has no label")
    faults += few(strange, "has a label and is not a sample")
    content.unchecked[LABELS] = ["facts of labels"]
    if counts and [found[label] for label in range(len(counts))] != counts:
        said = ", ".join(f"{found[label]:,}" for label in range(len(counts)))
        faults.append(f"there are {said} labels of each class, and the manifest says {counts}")
    if counts and max(found, default=0) >= len(counts):
        faults.append(f"a label is {max(found)}, and there are {len(counts)} classes")
    if dataset["content"] != manifest.opening_content:
        faults.append("samples and labels do not have the content hash that the manifest names")


def _read_outcomes(folder: Path, manifest: Manifest, content: Content) -> None:
    """What became of the samples of a prospective split; there was nothing to commit to, so labels have no salt."""
    faults, resolved = content.of(OUTCOMES), manifest["resolved"]
    strange, both = [], []
    seen = np.zeros(content.labels.size, dtype=np.bool_)
    for key, row in by_id(folder / OUTCOMES, _OUTCOME_ROW, faults):
        label, reason = row["label"], row["reason"]
        if (label is None) == (reason is None):
            both.append(key)
        content.outcomes[reason or ""] += 1
        place = content.places.get(key)
        if place is None:
            strange += [] if key in content.tombstones else [key]
            continue
        seen[place] = True
        faults += [] if label is None else _no_class(label, key, content)
        content.labels[place] = -1 if label is None else min(label, content.labels_taken - 1)
        content.judged[place] = label is not None
    faults += few((key for key, place in content.places.items() if not seen[place]), "has no outcome")
    faults += few(strange, "has an outcome and is not a sample")
    faults += few(both, "must have either a label or the reason why there is none")
    content.unchecked[OUTCOMES] = ["facts of outcomes"]
    dropped = {reason: number for reason, number in content.outcomes.items() if reason}
    stated = {reason: number for reason, number in resolved["dropped"].items() if number}
    if content.outcomes[""] != resolved["labels"]:
        faults.append(f"{content.outcomes['']:,} samples were decided, and the manifest says {resolved['labels']:,}")
    if stated != dropped:
        faults.append(f"dropped are {_counted(dropped)}, and the manifest says {_counted(stated)}")


def _counted(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {reason[:40]!r}" for reason, number in sorted(reasons.items())[:5]) or "none"


def _no_class(label: int, key: str, content: Content) -> list[str]:
    if label < content.labels_taken:
        return []
    return [f"{key[:80]!r} has the label {label}, and the task has {content.labels_taken} classes"]


def _unbalanced(manifest: Manifest, content: Content) -> Iterator[str]:
    """Periods that do not have the same number of each label; a sample that was taken down may be missing in any."""
    if (selection := manifest["selection"]) is None:
        return
    labels = range(selection.get("classes", 2))
    if content.labels.size and content.labels.max() >= len(labels):
        yield f"a label is {content.labels.max()}, and there are {len(labels)} labels"
    pairs = zip(content.periods.tolist(), content.labels.tolist(), strict=True)
    found = Counter((content.period_names[period], label) for period, label in pairs)
    for period, item in sorted(selection["periods"].items()):
        number = item["taken_per_class"]
        missing = sum(number - found[period, label] for label in labels)
        if any(found[period, label] > number for label in labels) or missing > len(content.tombstones):
            has = " and ".join(str(found[period, label]) for label in reversed(labels))
            yield f"{period[:20]} has {has} samples of the {len(labels)} labels, not {number} of each"


def _read_predictions(folder: Path, content: Content, *, withheld: bool) -> None:
    faults = content.of(PREDICTIONS)
    last = ("", "", "")
    for number, row in rows(folder / PREDICTIONS, _PREDICTION_ROW, faults):
        place = (row["entry"], row["prompt"], row["id"])
        if place <= last:
            faults.append(f"line {number} is not in its place (sorted by entry, prompt and id) or is there twice")
            continue
        last = place
        if withheld and (row.get("rationale") or row.get("text")):
            faults.append(f"line {number}: a text that may quote the sample, whose texts are withheld")
        named = EntryName(row["system"], row["team"], row["lane"], row["regime"])
        if content.entries.setdefault(row["entry"], named) != named:
            faults.append(f"line {number}: {row['entry'][:80]!r} is named otherwise before")
        content.with_more |= len(row) > 8
        sample, label = content.places.get(row["id"]), row.get("label")
        if sample is None:
            faults.append(f"line {number}: {row['id'][:80]!r} is not a sample")
            continue
        faults += [] if label is None else _no_class(label, row["id"], content)
        said = content.predictions.setdefault((row["entry"], row["prompt"]), Answers())
        said.at.append(sample)
        said.labels.append(-1 if label is None or label >= content.labels_taken else label)
    faults += vote_faults(content)


def vote_faults(content: Content) -> Iterator[str]:
    """Majority votes that are not those of the prompts: the class with most votes, none where there is no one such.

    The vote is over the samples that every prompt was asked.
    """
    by_entry: dict[str, dict[str, Answers]] = defaultdict(dict)
    for (entry, prompt), said in content.predictions.items():
        by_entry[entry][prompt] = said
    for entry, prompts in by_entry.items():
        vote = prompts.pop(MAJORITY, None)
        if vote is not None and not _is_vote(vote, list(prompts.values()), content.labels_taken):
            yield f"{entry[:80]!r}: the majority is not that of its prompts"


def _is_vote(vote: Answers, prompts: Sequence[Answers], classes: int) -> bool:
    if not prompts:
        return False
    asked, which, times = np.unique(
        np.concatenate([said.positions for said in prompts]), return_inverse=True, return_counts=True
    )
    answers = np.concatenate([said.answers for said in prompts])
    votes = np.stack([np.bincount(which, weights=answers == label, minlength=asked.size) for label in range(classes)])
    ordered, by_all = np.sort(votes, axis=0), times == len(prompts)
    second = ordered[-2] if classes > 1 else 0
    outcome = np.where(ordered[-1] > second, votes.argmax(axis=0), -1)[by_all]
    return np.array_equal(vote.positions, asked[by_all]) and np.array_equal(vote.answers, outcome)
