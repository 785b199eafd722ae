"""The check of a submission: everything that is wrong with it, all at once, and what deserves a second look."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path

from hellofresh.core.clock import now
from hellofresh.core.editions import Edition
from hellofresh.core.errors import SubmissionError
from hellofresh.core.files import canonical_json, sha256_text
from hellofresh.submissions.intake.faults import MAX_FAULTS, Fault
from hellofresh.submissions.intake.names import FOLDER_NAME, vendor_in
from hellofresh.submissions.intake.predictions import (
    ANSWERS,
    MOST_REPETITIONS,
    Prediction,
    PredictionLine,
    ReadPredictions,
    hashed_row,
    predictions_file,
    read_predictions,
)
from hellofresh.submissions.intake.responses import about_responses
from hellofresh.submissions.intake.splits import MAIN, SubmissionSplit
from hellofresh.submissions.intake.system import SYSTEM, SystemInfo, read_info
from hellofresh.tasks import TASKS, Task, get_task

__all__ = [
    "PredictionsCheck",
    "Submission",
    "SubmissionCheck",
    "check_predictions",
    "check_submission",
    "content_hash",
    "in_order",
    "inspect_submission",
    "is_misnamed",
    "read_submission",
]

_SPARE_LINES = 1000
"""Lines beyond the number of samples that are still read, so that each extra one is named."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission that passed the check.

    Attributes:
        edition: the edition that it is for.
        team, system: its folder names.
        info: what it says of itself.
        labels: label by sample id, all tasks together, of the first repetition; None where there is none.
        sha256: hash of its canonical content: what it says of itself, and its predictions sorted by id.
        predictions: the predictions, sorted by id and repetition.
    """

    edition: Edition
    team: str
    system: str
    info: SystemInfo
    labels: Mapping[str, int | None]
    sha256: str
    predictions: tuple[Prediction, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class SubmissionCheck:
    """What the check of a submission found.

    Attributes:
        submission: None where there is a fault.
        faults: what must be mended.
        warnings: what is allowed, and may not be meant.
    """

    submission: Submission | None
    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class PredictionsCheck:
    """What the check of a file of predictions found; `predictions` is empty where there is a fault."""

    predictions: tuple[Prediction, ...]
    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...] = ()


def is_misnamed(folder: Path) -> bool:
    """Whether the names of a submission's folder and of the team's above it are none that are taken."""
    return not all(FOLDER_NAME.fullmatch(name) for name in (folder.name, folder.parent.name))


def read_submission(
    folder: Path, edition: Edition, samples: Mapping[str, Iterable[str]], taken_down: Collection[str] = ()
) -> Submission:
    """Read a submission that must be without fault.

    Raises:
        SubmissionError: naming the first fault and the number of others.
    """
    submission, faults = check_submission(folder, edition, samples, taken_down)
    if submission is None:
        raise as_error(faults, f"See all with: hellofresh submission check {folder} --edition {edition}")
    return submission


def as_error(faults: list[Fault] | tuple[Fault, ...], fix: str) -> SubmissionError:
    """The first fault as an error that names the number of others."""
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    first = faults[0]
    return SubmissionError(f"{first.what}{more}", where=first.where, fix=first.fix or fix, code=first.code)


def check_submission(
    folder: Path, edition: Edition, samples: Mapping[str, Iterable[str]], taken_down: Collection[str] = ()
) -> tuple[Submission | None, list[Fault]]:
    """Check a submission and name all its faults; `inspect_submission` also gives warnings.

    Returns:
        The submission, or None where there is a fault; and the faults.
    """
    checked = inspect_submission(folder, edition, samples, taken_down=taken_down)
    return checked.submission, list(checked.faults)


def inspect_submission(
    folder: Path,
    edition: Edition,
    samples: Mapping[str, Iterable[str]],
    moment: datetime | None = None,
    *,
    taken_down: Collection[str] = (),
    split: SubmissionSplit = MAIN,
) -> SubmissionCheck:
    """Check what a submission says on one split.

    Args:
        folder: holds `system.toml` and the split's predictions, as JSON lines or as a table.
        edition: the edition that it is for.
        samples: ids of the released samples, by task.
        moment: the time that counts as now.
        taken_down: ids of samples that were taken down since: they may be there or not.
        split: which of the folder's predictions.
    """
    faults: list[Fault] = []
    where = folder.absolute()
    if is_misnamed(where):
        what = f"folders {where.parent.name!r} / {where.name!r}"
        faults.append(Fault("bad-folder", str(folder), what, "Name them in lower-case letters, digits and hyphens."))
    info = read_info(folder / SYSTEM, (moment or now()).date(), faults)
    checked = _check_file(predictions_file(folder, faults, split), samples, taken_down, faults)
    if faults or info is None:
        return SubmissionCheck(None, tuple(faults), checked.warnings)
    warnings = [*checked.warnings, *_about_names(folder, where.parent.name, info)]
    ordered = checked.predictions
    labels = {item.id: item.label for item in ordered if item.repetition == 1}
    submission = Submission(edition, where.parent.name, where.name, info, labels, content_hash(info, ordered), ordered)
    return SubmissionCheck(submission, (), tuple(warnings))


def content_hash(info: SystemInfo, ordered: Sequence[Prediction]) -> str:
    """SHA-256 of the canonical content: what a submission says of itself, and its predictions sorted by id."""
    content = [info.model_dump(mode="json"), list(map(hashed_row, ordered))]
    return sha256_text(canonical_json(content))


def check_predictions(
    path: Path, samples: Mapping[str, Iterable[str]], taken_down: Collection[str] = ()
) -> PredictionsCheck:
    """Check a file of predictions alone, without what it should say of itself."""
    return _check_file(path, samples, taken_down, [])


def _check_file(
    path: Path, samples: Mapping[str, Iterable[str]], taken_down: Collection[str], faults: list[Fault]
) -> PredictionsCheck:
    known = {task: frozenset(ids) for task, ids in samples.items()}
    once = sum(map(len, known.values())) + len(taken_down)
    read = read_predictions(path, once * MOST_REPETITIONS + _SPARE_LINES, faults)
    if read is not None:
        _check_ids(path, read, known, taken_down, faults)
    if read is None or faults:
        return PredictionsCheck((), tuple(faults))
    ordered = in_order(line.prediction for line in read.lines)
    return PredictionsCheck(ordered, (), (*_about_labels(path, ordered, known), *about_responses(path, ordered)))


def in_order(predictions: Iterable[Prediction]) -> tuple[Prediction, ...]:
    """Predictions by id and repetition, as they are kept and hashed."""
    return tuple(sorted(predictions, key=lambda item: (item.id, item.repetition)))


def _about_labels(
    path: Path, predictions: tuple[Prediction, ...], known: Mapping[str, frozenset[str]]
) -> Iterator[Fault]:
    for task, ids in known.items():
        given = [item.answer for item in predictions if item.id in ids]
        answered = {answer for answer in given if answer is not None}
        if given and not answered:
            yield Fault("no-answers", str(path), f"no answer for any sample of {task}", "Each counts as wrong.")
        elif len(given) > 1 and len(answered) == 1:
            what = f"every answer for {task} is {_short(answered.pop())}"
            yield Fault("one-class", str(path), what, "If this is intended, change nothing.")


def _about_names(folder: Path, team: str, info: SystemInfo) -> Iterator[Fault]:
    vendor = vendor_in(info.team) or vendor_in(team)
    if vendor:
        what = f"the team {info.team!r} bears the name of a maker of models, {vendor!r}"
        yield Fault("vendor-name", str(folder / SYSTEM), what, "The maintainers will ask whether it is theirs.")


def _short(answer: int | str | tuple[str, ...]) -> str:
    return str(answer) if isinstance(answer, int) else "the same"


def _check_ids(
    path: Path,
    read: ReadPredictions,
    samples: Mapping[str, frozenset[str]],
    taken_down: Collection[str],
    faults: list[Fault],
) -> None:
    places: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for line in read.lines:
        places[line.prediction.id, line.prediction.repetition].append(line.number)
    repeated = {name: numbers for (name, _), numbers in sorted(places.items()) if len(numbers) > 1}
    faults += _each("duplicate-id", path, repeated, "occurs more than once")
    names = {name for name, _ in places} | (read.faulty or set())
    covered = {
        task: ids for task, ids in samples.items() if any(name.startswith(TASKS[task].id_prefix) for name in names)
    }
    faults += _wrong_answers(path, read.lines, covered)
    known = set(taken_down).union(*covered.values())
    unknown = {name: numbers for (name, _), numbers in sorted(places.items()) if name not in known}
    faults += _each("unknown-id", path, unknown, "is not a sample of this edition")
    if read.faulty is None:  # a sample may be on a line that could not be read
        return
    for task, ids in covered.items():
        faults += _missing(path, task, ids, places.keys(), read.faulty)


def _missing(
    path: Path, task: str, ids: frozenset[str], there: Collection[tuple[str, int]], faulty: Collection[str]
) -> Iterator[Fault]:
    """A fault for each repetition of a task that has not all samples; those on faulty lines are there."""
    repetitions = sorted({number for name, number in there if name in ids} | {1})
    for number in repetitions:
        missing = sorted(name for name in ids if (name, number) not in there and name not in faulty)
        if missing:
            which = f" in repetition {number}" if len(repetitions) > 1 else ""
            what = f"{len(missing)} of {len(ids)} samples of {task} are missing{which}, the first is {missing[0]}"
            fix = f"Give every sample a line; a {ANSWERS[get_task(task).output]} of null means no answer."
            yield Fault("missing-id", str(path), what, fix)


def _wrong_answers(
    path: Path, lines: Sequence[PredictionLine], covered: Mapping[str, frozenset[str]]
) -> Iterator[Fault]:
    """A fault for each answer that is none of what its task takes, with line and field; the rest is only counted."""
    for name, ids in covered.items():
        task = get_task(name)
        found = [
            Fault("bad-field", f"{path} line {line.number}, {field}", f"{line.prediction.id!r} {what}", fix)
            for line in lines
            if line.prediction.id in ids
            for field, what, fix in _unfitting(line.prediction, task)
        ]
        yield from found[:MAX_FAULTS]
        if len(found) > MAX_FAULTS:
            what = f"{len(found) - MAX_FAULTS:,} more lines like these"
            yield Fault("many-faults", str(path), what, "Fix these faults and check again.")


def _unfitting(item: Prediction, task: Task) -> Iterator[tuple[str, str, str]]:
    """Field, fault and remedy of what a task does not take."""
    wanted, classes = ANSWERS[task.output], task.classes
    if item.field != wanted:
        yield item.field, f"has {item.field}, and {task.name} takes {wanted}", f"Give {wanted} instead."
        return
    known = ", ".join(f"{number} ({text})" for number, text in enumerate(classes))
    if item.label is not None and item.label >= len(classes):
        yield "label", f"has the label {item.label}", f"Give one of {known}, or null for no answer."
    if item.probabilities and len(item.probabilities) != len(classes):
        what = f"has {len(item.probabilities)} probabilities, and {task.name} has {len(classes)} classes"
        yield "probabilities", what, f"Give one for each of {known}." if classes else "Leave them out."
    if item.confidence is not None and len(classes) != 2:
        fix = f"Give probabilities of {known} instead." if classes else "Leave it out."
        yield "confidence", f"has a confidence, and {task.name} has not two classes", fix
    if item.certainty is not None and not classes:
        yield "certainty", f"has a certainty, and {task.name} has no classes", "Leave it out."


def _each(code: str, path: Path, places: Mapping[str, Sequence[int]], what: str) -> Iterator[Fault]:
    """A fault for each id, which may hold anything, with its lines; those beyond the first hundred are counted."""
    for sample_id, numbers in islice(places.items(), MAX_FAULTS):
        where = f"{path} line{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers[:5]))}"
        yield Fault(code, where, f"{sample_id!r} {what}", "Take it out." if len(numbers) == 1 else "Keep one line.")
    if len(places) > MAX_FAULTS:
        yield Fault(code, str(path), f"{len(places) - MAX_FAULTS:,} more ids like these", "Take them out.")
