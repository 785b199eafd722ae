"""The samples that an edition expects, and the check of a submission against them, which reports all faults at once.

`Due` is made from a release (`hellofresh.submissions.released`) or from the board's tables.
"""

from __future__ import annotations

import io
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

from hellofresh.core.calendar import Calendar
from hellofresh.core.clock import now
from hellofresh.core.editions import Edition
from hellofresh.core.errors import SubmissionError
from hellofresh.core.files import canonical_json, sha256_text
from hellofresh.core.net.addresses import links_in
from hellofresh.core.quarters import utc_text
from hellofresh.submissions.format import (
    ANSWERS,
    FILES,
    MAX_FAULTS,
    MOST_REPETITIONS,
    REGIMES,
    SYSTEM,
    Fault,
    Prediction,
    PredictionLine,
    ReadPredictions,
    SplitFiles,
    SystemInfo,
    canonical_row,
    predictions_file,
    read_info,
    read_predictions,
    system_toml,
)
from hellofresh.submissions.names import FOLDER_NAME, vendor_in
from hellofresh.tasks import TASKS, Task, get_task
from hellofresh.tasks.samples import MAIN, PROSPECTIVE, Split

_INTENDED = "If this is intended, change nothing."
_HASHED = {"id", "label", "confidence", "rationale", "sources"}  # fields that are always hashed, even if empty
_SPARE_LINES = 1000  # extra lines, beyond the number of samples, that are still read so that each can be named
_SHORT, _LONG = 8, 400  # words; the responses of the released study have 10 to 250
_DAY = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip archive can store


@dataclass(frozen=True, slots=True)
class Due:
    """The samples that an edition expects predictions for.

    Attributes:
        ids: ids of the released samples, by task.
        calendars: times of opening, deadline and reveal, by task; empty for a frozen edition, which never closes.
        taken_down: ids of samples that were taken down since: predictions on them are optional and not scored.
        split: the split of these samples.
        revealed: tasks whose labels are public according to the manifest, whatever the clock says.
        corpora: name and content hash of the corpus that a task searches.
    """

    edition: Edition
    ids: Mapping[str, tuple[str, ...]]
    calendars: Mapping[str, Calendar]
    taken_down: frozenset[str] = frozenset()
    split: Split = MAIN
    revealed: frozenset[str] = frozenset()
    corpora: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()

    @property
    def files(self) -> SplitFiles:
        """Names of the split's files in a submission's folder."""
        return FILES[self.split]

    def tasks_of(self, labels: Mapping[str, object]) -> tuple[str, ...]:
        """The tasks that these sample ids belong to."""
        return tuple(name for name, ids in self.ids.items() if any(key in labels for key in ids))

    @property
    def deadline(self) -> datetime | None:
        """The earliest deadline of all tasks; None for a frozen edition."""
        return min((calendar.deadline for calendar in self.calendars.values()), default=None)

    def takes(self, moment: datetime) -> bool:
        """Whether any task accepts predictions at a moment; a frozen edition always does."""
        if not self.edition.is_living:
            return True
        open_now = (task for task in self.calendars if task not in self.waiting)
        return any(self.calendars[task].opens <= moment < self.calendars[task].deadline for task in open_now)


DueOf = Callable[[Edition, Split], Due]
"""Returns the expected samples of an edition's split; raises an error with the code `no-release` without a release."""


def check_time(due: Due, tasks: Collection[str], moment: datetime) -> None:
    """Refuse predictions before a task opens, after its deadline, or once its labels are public.

    A frozen edition has no calendar and refuses nothing.

    Raises:
        SubmissionError: if one of the tasks accepts no predictions at the moment (`not-open`, `closed`, `revealed`).
    """
    edition = str(due.edition) if due.split is MAIN else f"{due.edition}, {due.split},"
    for task in sorted(set(tasks) & due.calendars.keys()):
        calendar = due.calendars[task]
        if task in due.revealed:
            what = f"{task} {edition} is revealed: its labels are public, and predictions are no longer accepted"
            raise SubmissionError(what, fix="Submit to the next quarter.", code="revealed")
        if task in due.waiting and moment >= calendar.opens:
            raise SubmissionError(f"{task} {edition} is not open yet", fix="Its maintainers open it.", code="not-open")
        if moment < calendar.opens:
            what = f"{task} {edition} accepts predictions from {utc_text(calendar.opens)} on"
            raise SubmissionError(what, fix="Submit it then.", code="not-open")
        if moment >= calendar.deadline:
            raise SubmissionError(
                f"{task} {edition} accepted predictions until {utc_text(calendar.deadline)}; now: {utc_text(moment)}",
                fix="Submissions already received are unchanged; submit to the next quarter.",
                code="closed",
            )


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission that passed the check.

    Attributes:
        team, system: its folder names.
        info: its `system.toml`.
        labels: label by sample id of the first repetition, for all tasks together; None for no answer.
        sha256: hash of its canonical content: `system.toml`, and the predictions sorted by id.
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
    """Result of checking a submission, or only a file of predictions.

    Attributes:
        faults: what must be corrected.
        warnings: what is allowed but may be unintended.
        predictions: sorted by id and repetition; empty where there is a fault.
        submission: None where there is a fault, or where only a file of predictions was checked.
    """

    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...] = ()
    predictions: tuple[Prediction, ...] = field(default=(), repr=False)
    submission: Submission | None = None


def is_misnamed(folder: Path) -> bool:
    """Whether the name of a submission's folder or of its team's folder is not allowed."""
    return not all(FOLDER_NAME.fullmatch(name) for name in (folder.name, folder.parent.name))


def as_error(faults: list[Fault] | tuple[Fault, ...], fix: str) -> SubmissionError:
    """An error for the first fault, with the number of the others."""
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    first = faults[0]
    return SubmissionError(f"{first.what}{more}", where=first.where, fix=first.fix or fix, code=first.code)


def inspect_submission(folder: Path, due: Due, moment: datetime | None = None) -> SubmissionCheck:
    """Check a submission to the split of `due`.

    Args:
        folder: holds `system.toml` and the split's predictions, as JSON lines or as a table.
    """
    faults: list[Fault] = []
    where = folder.absolute()
    if is_misnamed(where):
        what = f"folders {where.parent.name!r} / {where.name!r}"
        faults.append(Fault("bad-folder", str(folder), what, "Name them in lower-case letters, digits and hyphens."))
    info = read_info(folder / SYSTEM, (moment or now()).date(), faults)
    checked = check_predictions(predictions_file(folder, faults, due.split), due, faults)
    if faults or info is None:
        return SubmissionCheck(tuple(faults), checked.warnings)
    ordered, team = checked.predictions, where.parent.name
    labels = {item.id: item.label for item in ordered if item.repetition == 1}
    submission = Submission(due.edition, team, where.name, info, labels, content_hash(info, ordered), ordered)
    named = []
    if vendor := vendor_in(info.team) or vendor_in(team):
        what = f"the team {info.team!r} bears the name of a maker of models, {vendor!r}"
        fix = "The maintainers will ask whether it is theirs."
        named.append(Fault("vendor-name", str(folder / SYSTEM), what, fix))
    return SubmissionCheck((), (*checked.warnings, *named), ordered, submission)


def content_hash(info: SystemInfo, ordered: Sequence[Prediction]) -> str:
    """SHA-256 of the canonical content: `system.toml`, and the predictions sorted by id."""
    rows = [
        item.model_dump(mode="json", include=_HASHED) | item.model_dump(mode="json", exclude_defaults=True)
        for item in ordered
    ]
    return sha256_text(canonical_json([info.model_dump(mode="json", exclude_none=True), rows]))


def check_predictions(path: Path, due: Due, faults: list[Fault]) -> SubmissionCheck:
    """Check a file of predictions without its `system.toml`; faults are added to those that were found before."""
    known = {task: frozenset(ids) for task, ids in due.ids.items()}
    once = sum(map(len, known.values())) + len(due.taken_down)
    read = read_predictions(path, once * MOST_REPETITIONS + _SPARE_LINES, faults)
    if read is not None:
        _check_ids(path, read, known, due.taken_down, faults)
        if due.split is PROSPECTIVE:
            faults += _first_of(_without_forecast(path, read.lines, known), path)
        if read.lines and not faults and all(line.prediction.answer is None for line in read.lines):
            what, fix = "no answer for any sample: each is null", "Fill in the answers."
            faults.append(Fault("no-answers", str(path), what, fix))
    if read is None or faults:
        return SubmissionCheck(tuple(faults))
    ordered = in_order(line.prediction for line in read.lines)
    warnings = (*_about_labels(path, ordered, known), *about_responses(path, ordered))
    return SubmissionCheck((), warnings, ordered)


def in_order(predictions: Iterable[Prediction]) -> tuple[Prediction, ...]:
    """Predictions sorted by id and repetition, the order in which they are stored and hashed."""
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
            only = answered.pop()
            what = f"every answer for {task} is {only if isinstance(only, int) else 'the same'}"
            yield Fault("one-class", str(path), what, _INTENDED)


def _check_ids(
    path: Path,
    read: ReadPredictions,
    samples: Mapping[str, frozenset[str]],
    taken_down: Collection[str],
    faults: list[Fault],
) -> None:
    places: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for number, item in read.lines:
        places[item.id, item.repetition].append(number)
    ordered = sorted(places.items())
    names = {name for name, _ in places} | (read.faulty or set())
    covered = {
        task: ids for task, ids in samples.items() if any(name.startswith(TASKS[task].id_prefix) for name in names)
    }
    known = set(taken_down).union(*covered.values())
    repeated = {name: numbers for (name, _), numbers in ordered if len(numbers) > 1}
    unknown = {name: numbers for (name, _), numbers in ordered if name not in known}
    answers = (
        fault for task, ids in covered.items() for fault in _wrong_answers(path, read.lines, get_task(task), ids)
    )
    faults += _first_of(_each("duplicate-id", path, repeated, "occurs more than once"), path)
    faults += _first_of(answers, path)
    faults += _first_of(_each("unknown-id", path, unknown, "is not a sample of this edition"), path)
    if read.faulty is None:  # a missing sample may be on an unreadable line
        return
    for task, ids in covered.items():
        repetitions = sorted({number for name, number in places if name in ids} | {1})
        for number in repetitions:
            missing = sorted(name for name in ids if (name, number) not in places and name not in read.faulty)
            if missing:
                which = f" in repetition {number}" if len(repetitions) > 1 else ""
                what = f"{len(missing)} of {len(ids)} samples of {task} are missing{which}, the first is {missing[0]}"
                fix = f"Give every sample a line; a {ANSWERS[get_task(task).output]} of null means no answer."
                faults.append(Fault("missing-id", str(path), what, fix))


def _first_of(faults: Iterable[Fault], path: Path) -> Iterator[Fault]:
    """The first `MAX_FAULTS` faults of a kind, then the number of the others."""
    found = list(faults)
    yield from found[:MAX_FAULTS]
    if len(found) > MAX_FAULTS:
        what = f"{len(found) - MAX_FAULTS:,} more lines like these"
        yield Fault(found[0].code, str(path), what, "Fix these faults and check again.")


def _wrong_answers(path: Path, lines: Sequence[PredictionLine], task: Task, ids: Collection[str]) -> Iterator[Fault]:
    """A fault, with line and field, for each answer that its task does not accept."""
    wanted, many = ANSWERS[task.output], len(task.classes)
    known = ", ".join(f"{number} ({text})" for number, text in enumerate(task.classes))
    for number, item in lines:
        odd: list[tuple[str, str, str]] = []
        if item.id in ids and item.field != wanted:
            odd = [(item.field, f"{item.field}, but {task.name} takes {wanted}", f"Give {wanted} instead.")]
        elif item.id in ids:
            if item.label is not None and item.label >= many:
                odd.append(("label", f"the label {item.label}", f"Give one of {known}, or null for no answer."))
            if item.probabilities and len(item.probabilities) != many:
                what = f"{len(item.probabilities)} probabilities, but {task.name} has {many} classes"
                odd.append(("probabilities", what, f"Give one for each of {known}." if many else "Leave them out."))
            if item.confidence is not None and many != 2:
                fix = f"Give probabilities of {known} instead." if many else "Leave it out."
                odd.append(("confidence", f"a confidence, but {task.name} does not have two classes", fix))
            if item.certainty is not None and not many:
                odd.append(("certainty", f"a certainty, but {task.name} has no classes", "Leave it out."))
        for name, what, fix in odd:
            yield Fault("bad-field", f"{path} line {number}, {name}", f"{item.id!r} has {what}", fix)


def _without_forecast(
    path: Path, lines: Sequence[PredictionLine], known: Mapping[str, frozenset[str]]
) -> Iterator[Fault]:
    """A fault for each forecast without probabilities, which its score needs."""
    for task, ids in known.items():
        asked = get_task(task)
        fix = f"Give a list with {probabilities_wanted(asked)}."
        for number, item in lines if asked.classes else ():
            if item.id in ids and not item.probabilities and item.confidence is None and item.label is not None:
                where = f"{path} line {number}, probabilities"
                yield Fault("no-probabilities", where, f"{item.id!r} has none, and forecasts are scored by them", fix)


def _each(code: str, path: Path, places: Mapping[str, Sequence[int]], what: str) -> Iterator[Fault]:
    """A fault for each id, with its lines; an id is untrusted text."""
    for sample_id, numbers in places.items():
        where = f"{path} line{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers[:5]))}"
        yield Fault(code, where, f"{sample_id!r} {what}", "Take it out." if len(numbers) == 1 else "Keep one line.")


def about_responses(path: Path, predictions: Sequence[Prediction]) -> Iterator[Fault]:
    """Warnings about unusual texts: one per kind, with the number of texts and the first of them."""
    texts = {item.id: item for item in predictions if item.text is not None and item.repetition == 1}
    words = {name: (item.text or "").split() for name, item in texts.items()}
    cited = {name: {address.rstrip("/") for address in item.sources} for name, item in texts.items()}
    links = {name: {link.rstrip("/") for link in links_in(item.text or "")} for name, item in texts.items()}
    kinds = {
        ("short-response", f"fewer than {_SHORT} words"): [name for name in texts if len(words[name]) < _SHORT],
        ("long-response", f"more than {_LONG} words"): [name for name in texts if len(words[name]) > _LONG],
        ("uncited-link", "a link in the text that is not among sources"): [
            name for name in texts if links[name] - cited[name]
        ],
    }
    for (code, what), found in kinds.items():
        if found:
            said = f"{len(found)} responses have {what}, the first is that to {found[0]}"
            yield Fault(code, str(path), said, _INTENDED)
    times = Counter(" ".join(said).casefold() for said in words.values())
    if repeated := sum(count for count in times.values() if count > 1):
        what = f"{repeated} responses are word by word the same as another one"
        yield Fault("repeated-response", str(path), what, _INTENDED)


def canonical_files(submission: Submission, split: Split = MAIN) -> Mapping[str, bytes]:
    """The two files of a submission by name, written anew from the checked values."""
    lines = (canonical_json(canonical_row(item)) + "\n" for item in submission.predictions)
    return {FILES[split].jsonl: "".join(lines).encode(), SYSTEM: system_toml(submission.info).encode()}


def place_of(submission: Submission) -> str:
    """Its path in the folder of submissions: quarter, team and system."""
    return f"{submission.edition}/{submission.team}/{submission.system}"


def zipped(submission: Submission, split: Split = MAIN) -> bytes:
    """A zip archive of the two files with their paths, to be unpacked in the folder of submissions.

    It is uncompressed, since two builds of a compressor may give different bytes.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(canonical_files(submission, split).items()):
            entry = zipfile.ZipInfo(f"{place_of(submission)}/{name}", _DAY)
            entry.create_system = 3  # Unix on every system, for the same bytes
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def blank_rows(due: Due, tasks: Iterable[str]) -> list[dict[str, object]]:
    """Rows without answers for all samples of the tasks, by id; rows of forecasts have a field for probabilities."""
    rows: dict[str, dict[str, object]] = {}
    for task in map(get_task, tasks):
        needed = {"probabilities": list[float]()} if due.split is PROSPECTIVE and task.classes else {}
        rows |= {key: {"id": key, ANSWERS[task.output]: None, **needed} for key in due.ids[task.name]}
    return [rows[key] for key in sorted(rows)]


def probabilities_wanted(task: Task) -> str:
    """A description of the field `probabilities` for a task, with an example."""
    named = ", ".join(f"{number} ({text})" for number, text in enumerate(task.classes))
    example = [0.1] * (len(task.classes) - 1)
    example.append(round(1 - sum(example), 3))
    return f"the probability of each of {named}, in this order; they add up to 1, such as {example}"


def blank_predictions(due: Due, tasks: Iterable[str]) -> bytes:
    """The rows of `blank_rows` as a file of JSON lines."""
    return "".join(canonical_json(row) + "\n" for row in blank_rows(due, tasks)).encode()


def blank_info() -> bytes:
    """A `system.toml` with every field; it is valid once the required ones are filled in."""
    info = SystemInfo.model_construct(
        name="", team="", contact="", regime="other", models=[""], knowledge_cutoff="unknown", url="", notes=""
    )
    said = (
        "# name, team, contact (where the maintainers can reach you) and models are needed.\n"
        f'# regime: {", ".join(REGIMES)}. knowledge_cutoff: a date such as 2026-01-31 without quotes, or "unknown".\n'
        "# Facts on the main model, if you know them, each in a line of its own:\n"
        '# maker = "Who trained it", weights = "open" or "closed", size_billions = 0.135, released = 2024-11-30.\n'
    )
    return f"{said}{system_toml(info)}".encode()


def cutoff_of(text: str) -> date | str:
    """A knowledge cutoff as a date, or the typed text if it is not a date."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return text
