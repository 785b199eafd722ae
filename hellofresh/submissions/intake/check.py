"""The check of a submission: everything that is wrong with it, all at once, and what deserves a second look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from hellofresh.clock import now
from hellofresh.editions import Edition
from hellofresh.errors import SubmissionError
from hellofresh.files import canonical_json, sha256_text
from hellofresh.submissions.intake.faults import MAX_FAULTS, Fault
from hellofresh.submissions.intake.names import FOLDER_NAME, vendor_in
from hellofresh.submissions.intake.predictions import Prediction, hashed_row, predictions_file, read_predictions
from hellofresh.submissions.intake.splits import MAIN, SubmissionSplit
from hellofresh.submissions.intake.system import SYSTEM, SystemInfo, read_info
from hellofresh.tasks import TASKS, get_task

__all__ = [
    "PredictionsCheck",
    "Submission",
    "SubmissionCheck",
    "check_predictions",
    "check_submission",
    "content_hash",
    "inspect_submission",
    "is_misnamed",
    "read_submission",
]

_SPARE_LINES = 1000
_MOST_OFF = 1e-6
"""How far from 1 the sum of probabilities may be."""
"""Lines beyond the number of samples that are still read, so that each extra one is named."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission that passed the check.

    Attributes:
        edition: the edition that it is for.
        team, system: its folder names.
        info: what it says of itself.
        labels: label (1, 0 or None) by sample id, all tasks together.
        sha256: hash of its canonical content: what it says of itself, and its predictions sorted by id.
        predictions: the predictions, sorted by id.
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
    labels = {item.id: item.label for item in ordered}
    submission = Submission(edition, where.parent.name, where.name, info, labels, content_hash(info, ordered), ordered)
    return SubmissionCheck(submission, (), tuple(warnings))


def content_hash(info: SystemInfo, ordered: Sequence[Prediction]) -> str:
    """SHA-256 of the canonical content: what a submission says of itself, and its predictions sorted by id."""
    content = [info.model_dump(mode="json"), [hashed_row(item) for item in ordered]]
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
    predictions = read_predictions(path, sum(map(len, known.values())) + len(taken_down) + _SPARE_LINES, faults)
    if predictions is not None:
        _check_ids(path, predictions, known, taken_down, faults)
    if predictions is None or faults:
        return PredictionsCheck((), tuple(faults))
    ordered = tuple(sorted(predictions, key=lambda item: item.id))
    return PredictionsCheck(ordered, (), tuple(_about_labels(path, ordered, known)))


def _about_labels(
    path: Path, predictions: tuple[Prediction, ...], known: Mapping[str, frozenset[str]]
) -> Iterator[Fault]:
    for task, ids in known.items():
        given = [item.label for item in predictions if item.id in ids]
        answered = {label for label in given if label is not None}
        if given and not answered:
            yield Fault("no-answers", str(path), f"no answer for any sample of {task}", "Each counts as wrong.")
        elif len(given) > 1 and len(answered) == 1:
            what = f"every answer for {task} is {answered.pop()}"
            yield Fault("one-class", str(path), what, "If this is intended, change nothing.")


def _about_names(folder: Path, team: str, info: SystemInfo) -> Iterator[Fault]:
    vendor = vendor_in(info.team) or vendor_in(team)
    if vendor:
        what = f"the team {info.team!r} bears the name of a maker of models, {vendor!r}"
        yield Fault("vendor-name", str(folder / SYSTEM), what, "The maintainers will ask whether it is theirs.")


def _check_ids(
    path: Path,
    predictions: list[Prediction],
    samples: Mapping[str, frozenset[str]],
    taken_down: Collection[str],
    faults: list[Fault],
) -> None:
    times = Counter(item.id for item in predictions)
    repeated = sorted(key for key, number in times.items() if number > 1)
    faults += _each("duplicate-id", path, repeated, "occurs more than once")
    covered = {
        name: ids for name, ids in samples.items() if any(key.startswith(TASKS[name].id_prefix) for key in times)
    }
    faults += _each_label(path, predictions, covered)
    known = set(taken_down).union(*covered.values())
    faults += _each("unknown-id", path, sorted(times.keys() - known), "is not a sample of this edition")
    for name, ids in covered.items():
        missing = sorted(ids - times.keys())
        if missing:
            what = f"{len(missing)} of {len(ids)} samples of {name} are missing, the first is {missing[0]}"
            fix = "Give every sample a line; a label of null means no answer."
            faults.append(Fault("missing-id", str(path), what, fix))


def _each_label(
    path: Path, predictions: Sequence[Prediction], covered: Mapping[str, frozenset[str]]
) -> Iterator[Fault]:
    """A fault for each label that is none of its task's classes."""
    for name, ids in covered.items():
        classes = get_task(name).classes
        wrong = [item for item in predictions if item.id in ids and item.label is not None and classes]
        for item in [item for item in wrong if item.label not in range(len(classes))][:MAX_FAULTS]:
            known = ", ".join(f"{number} ({text})" for number, text in enumerate(classes))
            fix = f"Give one of {known}, or null for no answer."
            yield Fault("bad-field", f"{path}, label", f"{item.id!r} has the label {item.label}", fix)
        yield from _each_probability(path, [item for item in predictions if item.id in ids], len(classes))


def _each_probability(path: Path, predictions: Sequence[Prediction], classes: int) -> Iterator[Fault]:
    """A fault for each list of probabilities that is not one for each class, summing to 1."""
    fix = f"Give {classes} numbers from 0 to 1 that add up to 1, in order of labels, or leave them out."
    for item in predictions[: MAX_FAULTS if classes else 0]:
        if item.confidence is not None and classes != 2:
            what = f"{item.id!r} has a confidence, which is the probability of label 1 of two classes"
            yield Fault("bad-field", f"{path}, confidence", what, f"Give certainty or probabilities instead. {fix}")
        given = item.probabilities
        if given and (len(given) != classes or abs(sum(given) - 1) > _MOST_OFF):
            what = f"{item.id!r} has {len(given)} probabilities with the sum {sum(given):g}"
            yield Fault("bad-field", f"{path}, probabilities", what, fix)
        if given and item.confidence is not None:
            yield Fault("bad-field", f"{path}, confidence", f"{item.id!r} has probabilities, too", "Give one of both.")


def _each(code: str, path: Path, ids: list[str], what: str) -> Iterator[Fault]:
    """A fault for each id, which may hold anything, and the number of those beyond the first hundred."""
    for sample_id in ids[:MAX_FAULTS]:
        yield Fault(code, str(path), f"{sample_id!r} {what}", "Take it out.")
    if len(ids) > MAX_FAULTS:
        yield Fault(code, str(path), f"{len(ids) - MAX_FAULTS:,} more ids like these", "Take them out.")
