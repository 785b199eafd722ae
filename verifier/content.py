"""The contents of a release: samples, commitments, labels and predictions, and their faults."""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from verifier.manifest import COMMITMENTS, LABELS, OUTCOMES, PREDICTIONS, SAMPLES, TOMBSTONES, ManifestFile
from verifier.reading import SHA256, UTC_TIME, Form, Row, by_id, canonical, few, quoted, rows, short, text_hash
from verifier.statistics import OF_ONE, OVERALL, RANK, RANKED, FloatArray, OwnMetric, RankMetric, ranking_measures

RUN, UPLOADED = "run", "uploaded"
MAJORITY, SINGLE, ALL_ROWS = "majority", "single", "all-rows"
"""`ALL_ROWS` is the single period of a data set."""
NOT_ASKED = -3
_LABEL = range(128)  # labels are stored in one byte
_SAMPLE: Form = {
    **dict.fromkeys(("id", "task", "edition", "period", "group", "license"), str),
    "date": UTC_TIME,
    "*": object,
}
# Fields that samples must lack while texts are withheld.
_WITHHELD = {"text", "statement", "speaker", "context", "address", "description", "query", "evidence"}
_OPEN = re.compile(r"CC0-1\.0|CC-BY(-SA)?-\d\.\d|CC-MARK-1\.0")  # licences that allow publication of a claim's text
_FORMS: dict[str, Form] = {
    COMMITMENTS: {"id": str, "commitment": SHA256},
    TOMBSTONES: {"id": str, "reason": str, "date": str},
    LABELS: {"id": str, "label": _LABEL, "salt": SHA256, "*": object},
    "public labels": {"id": str, "label": _LABEL, "*": object},
    OUTCOMES: {"id": str, "label": (_LABEL, None), "reason": (str, None), "*": object},
    PREDICTIONS: {
        **dict.fromkeys(("entry", "system", "team", "provenance", "regime", "prompt", "id"), str),
        **dict.fromkeys(("rationale?", "settings?"), str),
        **{"probabilities?": [float], "scores?": [float], "documents?": [str], "sources?": [str]},
        **{"label?": (_LABEL, None), "certainty?": (float, None), "text?": (str, None)},
    },
}


class Documented(NamedTuple):
    """The documented properties of a task.

    Attributes:
        prefix: of ids.
        classes: of a living task.
        metrics: where they differ from the metrics of all classes; for rankings and ratings, the task has no classes.
        limits: the ends of the scale of ratings.
        fact: of labels; the metric is its rank correlation with stated probabilities, where it is known.
    """

    prefix: str
    classes: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    limits: tuple[float, float] = (0.0, 1.0)
    fact: str = ""


_HELPFUL, _OF_TWO = ("not helpful", "helpful"), (*OF_ONE, "accuracy")
_PREFIXES = (
    "liar li, liar-new ln, liar-binary lib, fever fe, fever-binary feb, fever-v2 fa, fever-v2-binary fab, x-fact xf, "
    "x-fact-binary xfb, faviq fq, averitec av, check-covid cc, healthver hv, covid-fact cf, post-domains pd"
)
TASKS = {point.name: point.load() for point in entry_points(group="verifier.tasks")} | {
    "x-notes": Documented("xn-", _HELPFUL, _OF_TWO, fact="intercept"),
    "x-notes-media": Documented("xnm-", _HELPFUL, _OF_TWO, fact="intercept"),
    "wikipedia-edits": Documented("we-", ("rejected", "accepted"), _OF_TWO),
    "claims": Documented("cl-", ("false", "mixed", "true")),
    "x-posts": Documented("xp-", (), ("overall",), (0.0, 10.0)),
    "corrections": Documented("mp-", (), ("overall",), (0.0, 10.0)),
    "claim-responses": Documented("cr-", (), ("refutation",), (1.0, 5.0)),
    "check-covid-retrieval": Documented("cce-", (), RANKED),
    "scifact-retrieval": Documented("sfe-", (), RANKED),
    **{name: Documented(f"{prefix}-") for name, prefix in (pair.split() for pair in _PREFIXES.split(", "))},
}
"""With those of other packages. A task that is missing here is checked only as far as a release describes itself."""


class EntryName(NamedTuple):
    """How predictions and scores identify an entry."""

    system: str
    team: str
    provenance: str
    regime: str


@dataclass(slots=True)
class Content:
    """The contents of a release that the checks need, and the faults of each file.

    Texts, salts and hashes are checked while a file is read, then dropped: memory grows by some 200 bytes a sample.

    Attributes:
        manifest: of the release.
        classes: names of the task's classes; numbers if names are unknown, empty if the task has no classes.
        metrics: required for every entry, the ranking one first; empty if unknown.
        places: the position of each sample by id.
        period_names: the periods that samples have.
        periods, groups: for each sample, the number of its period, and of its group in the order of names.
        labels: for each sample, its class, or -1 for none.
        judged: for each sample, whether scores include it; samples that were never decided are left out.
        parts: for each sample, the values by which ratings are broken down.
        relevance: of each query, by document.
        entries, settings: by entry.
        answers: by entry and prompt, for each sample: a class (0 if the task has no choices), -1 or `NOT_ASKED`.
        fact: name of the fact of labels that is compared with stated probabilities; empty without one.
        facts: its value for each sample, nan if unknown.
        stated: by entry and prompt, for each sample: the stated probability of class 1 and the stated confidence in the
            answer, shape (n, 2), nan if not stated; only with such a fact.
        chances: by entry and prompt of a prospective split, for each sample: a probability of each class, or nan.
        numbers: by entry, prompt and metric, for each sample: its value (nan if missing) and weight.
        responses: SHA-256 of the text, or of the documents of a ranking, by entry and sample.
        rated: names of the rated systems, and SHA-256 of their responses, of a closed study.
        tombstones: by id.
        committed: number of commitments.
        faults, unchecked: by file.
    """

    manifest: ManifestFile
    classes: Sequence[str] = ("0", "1")
    metrics: Sequence[OwnMetric] = ()
    places: dict[str, int] = field(default_factory=dict)
    period_names: list[str] = field(default_factory=list)
    periods: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    groups: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    labels: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    judged: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    parts: dict[str, dict[str, str]] = field(default_factory=lambda: {"modality": {}, "domain": {}})
    relevance: dict[str, Mapping[str, int]] = field(default_factory=dict)
    entries: dict[str, EntryName] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    answers: dict[tuple[str, str], NDArray[np.int8]] = field(default_factory=dict)
    fact: str = ""
    facts: FloatArray = field(default_factory=lambda: np.zeros(0))
    stated: dict[tuple[str, str], FloatArray] = field(default_factory=dict)
    chances: dict[tuple[str, str], FloatArray] = field(default_factory=dict)
    numbers: dict[tuple[str, str, str], FloatArray] = field(default_factory=dict)
    responses: dict[tuple[str, str], str] = field(default_factory=dict)
    rated: set[str] = field(default_factory=set)
    tombstones: Mapping[str, Row] = field(default_factory=dict)
    committed: int = 0
    faults: dict[str, list[str]] = field(default_factory=dict)
    unchecked: dict[str, list[str]] = field(default_factory=dict)

    @property
    def has_labels(self) -> bool:
        """Whether every scored sample has a label."""
        return bool((self.labels[self.judged] >= 0).all())

    @property
    def fact_metrics(self) -> list[OwnMetric]:
        """Metrics that compare stated probabilities with a fact; at least two samples must have it."""
        known = np.isfinite(self.facts[self.judged & (self.labels >= 0)]).sum()
        return [RankMetric(RANK, (), (-1.0, 1.0))] if known > 1 else []

    def leaning(self, entry: str, prompt: str) -> FloatArray:
        """For each sample the probability of class 1, stated or implied by the choice; nan without an answer."""
        said, (probability, certainty) = self.answers[entry, prompt], self.stated[entry, prompt].T
        sure = np.where(np.isnan(certainty), 1.0, certainty)
        chosen = np.where(np.isnan(probability), np.where(said == 1, sure, 1 - sure), probability)
        return np.where(said < 0, np.nan, chosen)

    def take_fact(self, key: str, row: Row) -> None:
        """Store the fact of a sample's label that a metric uses."""
        value = row.get(self.fact) if self.fact else None
        if isinstance(value, int | float) and not isinstance(value, bool) and key in self.places:
            self.facts[self.places[key]] = value

    def read(self, folder: Path, file: str, form: str = "") -> Iterator[tuple[str, Row]]:
        """The rows of a file that is sorted by id."""
        return by_id(folder / file, _FORMS[form or file], self.of(file))

    def of(self, file: str) -> list[str]:
        """The list of a file's faults; marks the file as checked."""
        return self.faults.setdefault(file, [])

    def take_label(self, file: str, key: str, label: int) -> None:
        """Store a sample's label if it is a class of the task."""
        many = max(1, len(self.classes))
        if label >= many:
            self.of(file).append(f"{quoted(key)} has the label {label}, and the task has {many} classes")
        if key in self.places:
            self.labels[self.places[key]] = min(label, many - 1)


def _wrongly_gone(content: Content, committed: Mapping[str, bytes]) -> Iterator[str]:
    gone = content.tombstones.keys()
    if sorted(map(canonical, content.manifest["takedowns"])) != sorted(map(canonical, content.tombstones.values())):
        yield "not the takedowns that the manifest names"
    yield from few(gone & content.places.keys(), "was taken down and is still a sample")
    yield from few(gone - committed.keys(), "never was a sample") if committed else ()


def read_content(folder: Path, manifest: ManifestFile) -> Content:
    """Read all files in a manifest except scores, and check them against each other."""
    task, dataset = TASKS.get(manifest["task"]), manifest["dataset"]
    numbered = tuple(map(str, range(manifest.labels_drawn))) if manifest.labels_drawn > 1 else ()
    content = Content(manifest, tuple(dataset["classes"]) if dataset else task.classes if task else numbered)
    if task is not None and task.metrics and (task.limits != (0.0, 1.0) or task.metrics == RANKED):
        content.metrics = [OwnMetric(name, (), task.limits) for name in task.metrics]
    elif task is not None:
        single = (f"{kind}:{name}" for kind in OF_ONE for name in content.classes)
        content.metrics = [OwnMetric.of_classes(name, content.classes) for name in task.metrics or (*OVERALL, *single)]
    content.fact = task.fact if task is not None else ""
    if TOMBSTONES in manifest.hashes or manifest["takedowns"]:
        content.tombstones = dict(content.read(folder, TOMBSTONES))
    _read_samples(folder, content)
    committed: dict[str, bytes] = {}
    if COMMITMENTS in manifest.hashes or (manifest.is_main and not manifest.is_frozen):
        committed = {key: bytes.fromhex(row["commitment"]) for key, row in content.read(folder, COMMITMENTS)}
        content.committed, asked = len(committed), content.places.keys() | content.tombstones.keys()
        content.of(COMMITMENTS).extend(few(content.places.keys() - committed.keys(), "has no commitment"))
        content.of(COMMITMENTS).extend(few(committed.keys() - asked, "has a commitment and is not a sample"))
    if TOMBSTONES in content.faults:
        content.of(TOMBSTONES).extend(_wrongly_gone(content, committed))
    if dataset is not None or manifest["revealed"]:
        _read_labels(folder, content, committed)
        _correct_labels(content)
    if manifest["resolved"] is not None:
        _read_outcomes(folder, content)
    if PREDICTIONS in manifest.hashes:
        _read_predictions(folder, content)
    return content


def _read_samples(folder: Path, content: Content) -> None:
    manifest, faults, task = content.manifest, content.of(SAMPLES), TASKS.get(content.manifest["task"])
    if task is None:
        content.unchecked[SAMPLES] = [f"the form of samples of {quoted(manifest['task'])}"]
    periods: dict[str, int] = {}
    groups: dict[str, int] = {}
    period_of, group_of = array("i"), array("i")
    shapes: tuple[dict[str, object], dict[str, object]] = ({}, {})  # withheld samples have other fields
    for key, sample in by_id(folder / SAMPLES, _SAMPLE, faults):
        faults += (f"{quoted(key)} {what}" for what in _odd_sample(sample, manifest, task, shapes))
        content.places[key] = len(period_of)
        period_of.append(periods.setdefault(sample["period"], len(periods)))
        group_of.append(groups.setdefault(sample["group"], len(groups)))
        for name, values in content.parts.items() if "modality" in sample else ():
            values[key] = str(sample.get(name, ""))
    content.period_names = list(periods)
    by_name = np.zeros(len(groups), dtype=np.int32)  # an array of names would be as wide as the longest for each
    by_name[[groups[name] for name in sorted(groups)]] = np.arange(len(groups))
    content.periods = np.array(period_of, dtype=np.int32)
    content.groups = by_name[np.array(group_of, dtype=np.int32)]
    content.labels = np.full(len(period_of), -1, dtype=np.int8)
    content.facts = np.full(len(period_of), np.nan)
    content.judged = np.ones(len(period_of), dtype=np.bool_)
    _check_drawn(content)


def _odd_sample(
    sample: Row, manifest: ManifestFile, task: Documented | None, shapes: Sequence[dict[str, object]]
) -> Iterator[str]:
    """Faults of a sample: task, edition, period, or fields that differ from the samples before it."""
    is_withheld = manifest["texts"] == "withheld"
    shows_text = is_withheld and manifest["task"] == "claims" and _OPEN.fullmatch(sample["license"]) is not None
    if fields := _other_shape(sample, shapes[shows_text], ""):
        yield f"has other fields than the samples before: {short(fields)}"
    if is_withheld and not shows_text and (shown := _names(sample) & _WITHHELD):
        yield f"has the field {min(shown)}, and texts are withheld"
    if manifest["texts"] == "included" and "text_sha256" in _names(sample):
        yield "has the hash of a text in its place, and texts are included"
    try:
        date = datetime.fromisoformat(sample["date"]).astimezone(UTC)
    except (ValueError, OverflowError):
        yield "has a time outside the calendar"
        return
    period = sample["period"]
    prefixed = task is None or sample["id"].startswith(task.prefix)
    if not prefixed or (sample["task"], sample["edition"]) != (manifest["task"], manifest.edition):
        yield f"is not a sample of {short(manifest['task'])} {manifest.edition}"
    year, week, _ = date.isocalendar()
    months, weeks = f"{date:%Y-%m}", f"{year:04d}-W{week:02d}"
    drawn = str((manifest["selection"] or manifest["prospective"] or {}).get("period"))
    if manifest.is_frozen:
        if period != ALL_ROWS:
            yield f"is of the period {short(period)}, and a data set has none"
    elif period not in {"month": {months}, "week": {weeks}}.get(drawn, {months, weeks}):
        yield f"has a date that is not in its period {short(period)}"
    elif f"{date.year:04d}Q{(date.month + 2) // 3}" != manifest.edition:
        yield f"is dated {date:%Y-%m-%d}, which is not in {manifest.edition}"


def _names(value: object) -> set[str]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set(value if isinstance(value, dict) else ()).union(*map(_names, inside))


def _other_shape(value: object, shape: dict[str, object], place: str) -> str:
    """The place where a value has a different type than in earlier samples; null and empty values match any type."""
    if isinstance(value, dict):
        known = shape.setdefault(place, sorted(value))
        inside = [(item, f"{place}.{name}") for name, item in value.items()]
    elif isinstance(value, list):
        known, inside = shape.setdefault(place, list), [(item, f"{place}[]") for item in value]
    else:
        kind = type(value)
        return "" if value is None or shape.setdefault(place, kind) is kind else place
    if known != (sorted(value) if isinstance(value, dict) else list):
        return place or ".".join(sorted(set(known) ^ set(value)) if isinstance(known, list) else [])
    return next(filter(None, (_other_shape(item, shape, where) for item, where in inside)), "")


def _check_drawn(content: Content) -> None:
    """Periods whose number of samples differs from the number drawn; each sample taken down may explain one missing."""
    manifest, drawn = content.manifest, content.manifest.drawn
    if manifest.is_frozen:
        return
    pairs = zip(content.period_names, np.bincount(content.periods, minlength=len(content.period_names)), strict=True)
    found, faults = Counter({name: int(number) for name, number in pairs}), content.of(SAMPLES)
    for period in sorted(found.keys() | drawn.keys()):
        if found[period] > drawn.get(period, 0) or (not content.tombstones and found[period] != drawn.get(period, 0)):
            faults.append(f"{short(period)} has {found[period]} samples, and {drawn.get(period, 0)} were drawn")
    if (missing := sum(drawn.values()) - found.total() - len(content.tombstones)) > 0:
        faults.append(f"{missing} samples fewer than were drawn, besides those that were taken down")


def _correct_labels(content: Content) -> None:
    """Put in the labels that the manifest corrects, one after the other."""
    for one in content.manifest["corrections"]:
        if (at := content.places.get(one["id"])) is not None:
            if content.labels[at] != one["was"] or one["label"] >= content.manifest.labels_drawn:
                content.of(LABELS).append(f"{quoted(one['id'])} is not corrected from its label to another one")
            content.labels[at] = one["label"]


def _read_labels(folder: Path, content: Content, committed: dict[str, bytes]) -> None:
    """Read labels; labels of a quarter have salts and use up their commitments; the content hash covers others."""
    manifest, faults, dataset = content.manifest, content.of(LABELS), content.manifest["dataset"]
    strange, wrong, seen = [], [], Counter[int]()
    for key, row in content.read(folder, LABELS, LABELS if dataset is None else "public labels"):
        commitment = committed.pop(key, None)
        if (commitment is None) if dataset is None else key not in content.places and key not in content.tombstones:
            strange.append(key)
            continue
        seen[row["label"]] += 1
        content.take_label(LABELS, key, row["label"])
        content.take_fact(key, row)
        if content.metrics and content.metrics[0].name in RANKED:
            content.relevance[key] = _relevance(row, faults)
        sealed = {"id": key, "label": row["label"], "salt": row.get("salt")}
        if commitment is not None and text_hash(canonical(sealed)) != commitment.hex():
            wrong.append(key)
    content.unchecked[LABELS] = ["facts of labels except relevance" if content.relevance else "facts of labels"]
    if content.fact_metrics:
        from_ratings = f"whether {content.fact} and the other facts of ratings follow from the source's ratings"
        content.unchecked[LABELS].append(f"{from_ratings}, which are not in a release: they name people")
    faults += few((key for key, at in content.places.items() if content.labels[at] < 0), "has no label")
    faults += few(strange, "has a label and is not a sample" if dataset else "has a label and no commitment")
    faults += few(wrong, "has another label or salt than was committed to")
    if dataset is None:
        faults += few(committed.keys() & content.tombstones.keys(), "has no label")
        faults += _unbalanced(content)
        draw = manifest["draw"]
        if draw is not None and text_hash(str(draw.get("key"))) != draw["commitment"]:
            faults.append("the manifest's key of the draw is not the one that was committed to")
    else:
        faults += _otherwise_than_stated(manifest, seen)


def _otherwise_than_stated(manifest: ManifestFile, seen: Mapping[int, int]) -> Iterator[str]:
    """Label counts of a data set that differ from those in the manifest."""
    dataset = manifest["dataset"]
    counts = dataset["labels"]
    if counts and [seen[label] for label in range(len(counts))] != counts:
        said = ", ".join(f"{seen[label]:,}" for label in range(len(counts)))
        yield f"there are {said} labels of each class, and the manifest says {counts}"
    if dataset["content"] != manifest.opening_content:
        yield "samples and labels do not have the content hash that the manifest names"


def _relevance(row: Row, faults: list[str]) -> Mapping[str, int]:
    try:
        found: dict[str, int] = json.loads(row["relevance"])
        if not all(type(value) is int for value in found.values()):
            raise ValueError
    except (KeyError, ValueError, TypeError, AttributeError):
        faults.append(f"{quoted(row['id'])} does not say which documents are relevant")
        return {}
    return found


def _unbalanced(content: Content) -> Iterator[str]:
    """Periods with unequal label counts; each sample taken down may explain one missing."""
    manifest, many = content.manifest, content.manifest.labels_drawn
    found = Counter(zip(content.periods.tolist(), content.labels.tolist(), strict=True))
    for period, item in sorted((manifest["selection"] or {"periods": {}})["periods"].items()):
        place = content.period_names.index(period) if period in content.period_names else -1
        has, number = [found[place, label] for label in range(many)], item["taken_per_class"]
        if max(has) > number or many * number - sum(has) > len(content.tombstones):
            yield (
                f"{short(period)} has {' and '.join(map(str, reversed(has)))} samples of the {many} labels, "
                f"not {number} of each"
            )


def _read_outcomes(folder: Path, content: Content) -> None:
    """Read outcomes of the samples of a prospective split; without commitments, these labels have no salt."""
    faults, resolved, outcomes = content.of(OUTCOMES), content.manifest["resolved"], Counter[str]()
    seen, both = set(), []
    for key, row in content.read(folder, OUTCOMES):
        seen.add(key)
        if (row["label"] is None) == (row["reason"] is None):
            both.append(key)
        outcomes[row["reason"] or ""] += 1
        if row["label"] is not None:
            content.take_label(OUTCOMES, key, row["label"])
            content.take_fact(key, row)
        elif key in content.places:
            content.judged[content.places[key]] = False
    faults += few(content.places.keys() - seen, "has no outcome")
    faults += few(seen - content.places.keys() - content.tombstones.keys(), "has an outcome and is not a sample")
    faults += few(both, "must have either a label or the reason why it is missing")
    content.unchecked[OUTCOMES] = ["facts of outcomes"]
    dropped = {reason: number for reason, number in outcomes.items() if reason}
    stated = {reason: number for reason, number in resolved["dropped"].items() if number}
    if outcomes[""] != resolved["labels"]:
        faults.append(f"{outcomes['']:,} samples were decided, and the manifest says {resolved['labels']:,}")
    if stated != dropped:
        faults.append(f"dropped are {short(canonical(dropped))}, and the manifest says {short(canonical(stated))}")


def _read_predictions(folder: Path, content: Content) -> None:
    faults, last, more = content.of(PREDICTIONS), ("", "", ""), set[str]()
    withheld, many = content.manifest["texts"] == "withheld", max(1, len(content.classes))
    labelled: bool | None = None
    for number, row in rows(folder / PREDICTIONS, _FORMS[PREDICTIONS], faults):
        entry, prompt, key = place = (row["entry"], row["prompt"], row["id"])
        if place <= last:
            faults.append(f"line {number} is not in its place (sorted by entry, prompt and id) or appears twice")
            continue
        last, labelled = place, "label" in row if labelled is None else labelled
        label, at = row.get("label"), content.places.get(key)
        named, settings = EntryName(*(row[name] for name in EntryName._fields)), row.get("settings", "")
        statements = (
            ("a text that may quote the sample, whose texts are withheld",
             withheld and bool(row.get("rationale") or row.get("text"))),
            (f"{quoted(entry)} has another name or settings before", content.entries.setdefault(entry, named) != named
             or content.settings.setdefault(entry, settings) != settings),
            (f"{quoted(key)} is not a sample", at is None),
            (f"the label {label}, and the task has {many} classes", (label or 0) >= many),
            ("a label is missing or present, unlike before", ("label" in row) != labelled),
        )  # fmt: skip
        faults += (f"line {number}: {what}" for what, is_so in statements if is_so)
        more |= row.keys() & {"probabilities", "certainty", "rationale", "sources", "text", "documents", "scores"}
        if at is None:
            continue
        whole = np.full(len(content.places), NOT_ASKED, np.int8)
        answers = content.answers.setdefault((entry, prompt), whole)
        said = label is not None and label < many if content.classes else withheld or row.keys() & {"text", "documents"}
        answers[at] = (label or 0) if said else -1
        if content.fact:
            stated = content.stated.setdefault((entry, prompt), np.full((len(content.places), 2), np.nan))
            of_class, sure = row.get("probabilities") or [], row.get("certainty")
            stated[at] = of_class[1] if len(of_class) == many else np.nan, np.nan if sure is None else sure
        if not content.manifest.is_main and content.classes:
            _take_chances(content, row, at, faults)
        if content.metrics and content.metrics[0].name in RANKED:
            content.responses[entry, key] = text_hash(canonical(row.get("documents", [])))
            _measure(content, row, at, faults)
        elif not content.classes:
            content.responses[entry, key] = text_hash(row.get("text") or "")
    faults += _vote_faults(content)
    if more:
        content.unchecked[PREDICTIONS] = [f"{', '.join(sorted(more))} of predictions, but for what scores rest on"]


def _take_chances(content: Content, row: Row, at: int, faults: list[str]) -> None:
    stated, many = row.get("probabilities", []), len(content.classes)
    empty = np.full((len(content.places), many), np.nan)
    chances = content.chances.setdefault((row["entry"], row["prompt"]), empty)
    if stated and (len(stated) != many or not all(0 <= one <= 1 for one in stated) or abs(sum(stated) - 1) > 0.02):
        faults.append(f"{short(row['entry'])}/{short(row['id'])}: not a probability of each of {many} classes")
    elif stated:
        chances[at] = stated


def _measure(content: Content, row: Row, at: int, faults: list[str]) -> None:
    """Compute the metrics of a ranking; an empty ranking finds nothing."""
    documents, scores = row.get("documents", []), row.get("scores", [])
    if (scores and len(scores) != len(documents)) or len(set(documents)) < len(documents):
        faults.append(
            f"{short(row['entry'])}/{short(row['id'])}: not a ranking of different documents, each with a score"
        )
        return
    for name, value in ranking_measures(documents, scores, content.relevance.get(row["id"], {})).items():
        empty = np.full((len(content.places), 2), (np.nan, 1.0))
        content.numbers.setdefault((row["entry"], row["prompt"], name), empty)[at, 0] = value


def _vote_faults(content: Content) -> Iterator[str]:
    """Majority votes that differ from the prompts: the class with most votes, or none after a tie.

    The vote covers the samples that every prompt was asked.
    """
    by_entry: dict[str, dict[str, NDArray[np.int8]]] = defaultdict(dict)
    for (entry, prompt), answers in content.answers.items():
        by_entry[entry][prompt] = answers
    for entry, prompts in by_entry.items():
        vote = prompts.pop(MAJORITY, None)
        if vote is not None and not (prompts and np.array_equal(vote, majority(list(prompts.values()), content))):
            yield f"{quoted(entry)}: the majority is not that of its prompts"
        # In a prospective split, the vote's probabilities are checked as a forecast.
        stated = vote if prompts and content.fact and content.manifest.is_main else None
        if stated is not None and not _is_mean(content, entry, stated, list(prompts)):
            yield f"{quoted(entry)}: the majority's probabilities are not the means of those of its prompts"


def _is_mean(content: Content, entry: str, vote: NDArray[np.int8], prompts: Sequence[str]) -> bool:
    """Whether a vote states the mean probability wherever all prompts state one."""
    mean = np.mean([content.stated[entry, prompt][:, 0] for prompt in prompts], axis=0)
    there = content.stated[entry, MAJORITY][:, 0]
    return bool(np.allclose(there, np.where(vote >= 0, mean, np.nan), rtol=0, atol=1e-9, equal_nan=True))


def majority(prompts: Sequence[NDArray[np.int8]], content: Content) -> NDArray[np.int8]:
    """The majority vote of some prompts."""
    said = np.stack(prompts)
    votes = np.stack([(said == label).sum(axis=0) for label in range(max(2, len(content.classes)))])
    ordered = np.sort(votes, axis=0)
    outcome = np.where(ordered[-1] > ordered[-2], votes.argmax(axis=0), -1)
    return np.where((said == NOT_ASKED).any(axis=0), NOT_ASKED, outcome).astype(np.int8)
