"""The standing of each submission of an edition: whether it counts on each task, why not, and what looks copied.

A submission counts only if it was received before the deadline, by its receipt, and has not changed since. Of a team's
entries for a task and quarter, the two with the latest receipts count. Teams that look alike count as one.

A flag is a question to the maintainers, not a verdict. Two entries on a task are flagged if

- all labels are the same (`same-labels`);
- Cohen's kappa of their labels is 0.95 or more on at least 100 samples (`nearly-same-labels`);
- nine in ten confidences are equal to the digit, with at least ten values among them (`same-confidences`);
- of the samples on which either errs, at least 20, both err alike on nine in ten (`same-errors`; needs the truth).

Texts and rankings are compared for equality, like labels. Entries whose labels agree by chance on nine in ten samples,
such as those that always say yes, are not compared by labels. Between entries of one team only the first sign counts,
since variants of a system err alike.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.calendar import Calendar
from hellofresh.core.clock import now
from hellofresh.core.editions import Edition, is_edition
from hellofresh.core.intake import Intake
from hellofresh.core.quarters import utc_text
from hellofresh.submissions.check import Due, Submission, inspect_submission, is_misnamed
from hellofresh.submissions.format import Fault, has_split
from hellofresh.submissions.names import skeleton
from hellofresh.submissions.receipts import Receipt, find_submissions, is_linked, read_receipt
from hellofresh.tasks import MOST_CLASSES
from hellofresh.tasks.samples import MAIN, Split

_FEWEST = 20  # below, equal answers are chance
_FEWEST_NEARLY = 100  # near copies need more, since good systems agree too
_KAPPA = 0.95  # beyond chance, independent systems hardly agree this often
_CHANCE = 0.9  # where almost all agreement is by chance, kappa is noise
_SHARE = 0.9  # a copy with a few changed values
_FEWEST_VALUES = 10  # a few round confidences are equal by chance
_VALUES = range(-1, MOST_CLASSES)  # codes of no answer and of labels, which may agree by chance

_Floats = NDArray[np.float32]
MOST_ENTRIES = 2
"""Most entries of a team that count on a task and quarter."""
# Other files and folders that may be in the folder of submissions.
_OTHER_NAMES = frozenset({"README.md", "TEAMS.toml", "example"})


@dataclass(frozen=True, slots=True)
class GivenAnswers:
    """An entry's answers on one task.

    Attributes:
        origin: team and system.
        received: when it was received, None if unknown.
        answers: by sample id, a label or a text; None means no answer.
        confidences: confidence by sample id, where given.
    """

    origin: str
    team: str
    received: datetime | None
    answers: Mapping[str, int | str | None] = field(repr=False)
    confidences: Mapping[str, float] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Copy:
    """Two entries (team and system) that agree beyond chance, the sign that shows it, and the finding as a phrase."""

    later: str
    earlier: str
    sign: str
    what: str


def find_copies(
    entries: Sequence[GivenAnswers], ids: Sequence[str], truth: Mapping[str, int] | None = None
) -> list[Copy]:
    """All pairs of entries that look copied, with one sign each, the strongest first; `truth` is label by sample id."""
    if len(entries) < 2 or len(ids) < _FEWEST:
        return []
    ordered = sorted(entries, key=lambda entry: (entry.received or datetime.max.replace(tzinfo=UTC), entry.origin))
    tests = _Tests(ordered, ids, truth)
    found = []
    for later in range(1, len(ordered)):
        for earlier in np.flatnonzero(tests.any_sign[later, :later]):
            sign, what = tests.strongest(later, int(earlier))
            found.append(Copy(ordered[later].origin, ordered[int(earlier)].origin, sign, what))
    return found


class _Tests:
    """The four signs for every pair; matrices have shape (entries, entries)."""

    def __init__(self, entries: Sequence[GivenAnswers], ids: Sequence[str], truth: Mapping[str, int] | None) -> None:
        said = np.array([[_code(entry.answers.get(key)) for key in ids] for entry in entries], dtype=np.int64)
        self.size = len(ids)
        self.texts = any(isinstance(answer, str) for entry in entries for answer in entry.answers.values())
        self.agree: _Floats = np.stack([(said == row).sum(axis=1, dtype=np.float32) for row in said])
        share = [(said == value).mean(axis=1, dtype=np.float32) for value in _VALUES]
        chance: _Floats = np.sum([np.outer(part, part) for part in share], axis=0)
        teams = np.array([entry.team for entry in entries])
        others = teams[:, None] != teams[None, :]
        meant = chance <= _CHANCE
        self.kappa = np.where(meant, (self.agree / self.size - chance) / np.maximum(1 - chance, 1e-6), 0)
        self.same = (self.agree >= self.size) & meant
        self.nearly = (self.kappa >= _KAPPA) & others & (self.size >= _FEWEST_NEARLY)
        self.confidences = _equal_confidences(entries, ids) & others
        self.errors = _same_errors(said, ids, truth) & meant & others if truth else np.zeros_like(self.same)
        self.any_sign = self.same | self.nearly | self.confidences | self.errors

    def strongest(self, one: int, other: int) -> tuple[str, str]:
        """The strongest sign of a pair, and the finding."""
        what = "answer" if self.texts else "label"
        if self.same[one, other]:
            return "same-labels", f"has the same {what} on all {self.size} samples as"
        if self.confidences[one, other]:
            return "same-confidences", "has the same confidences, nine in ten to the digit, as"
        if self.nearly[one, other]:
            equal = int(self.agree[one, other])
            return "nearly-same-labels", f"has the same {what} on {equal} of {self.size} samples as"
        return "same-errors", "errs on the same samples, nine in ten of them, as"


def _code(answer: int | str | None) -> int:
    """A code for an answer; texts get numbers above all labels."""
    if isinstance(answer, str):
        return MOST_CLASSES + int.from_bytes(hashlib.sha256(answer.encode()).digest()[:6])
    return -1 if answer is None else answer


def _equal_confidences(entries: Sequence[GivenAnswers], ids: Sequence[str]) -> NDArray[np.bool_]:
    given = np.array([[entry.confidences.get(key, np.nan) for key in ids] for entry in entries])
    rich = np.array([len(np.unique(row[~np.isnan(row)])) >= _FEWEST_VALUES for row in given])
    found = np.zeros((len(entries), len(entries)), dtype=bool)
    for number in np.flatnonzero(rich):
        found[number] = rich & ((given == given[number]).mean(axis=1) >= _SHARE)
    return found


def _same_errors(said: NDArray[np.int64], ids: Sequence[str], truth: Mapping[str, int]) -> NDArray[np.bool_]:
    wrong = said != np.array([truth.get(key, -2) for key in ids], dtype=np.int64)
    # An answer equal to a wrong one is wrong too.
    alike: _Floats = np.stack([(wrong & (said == row)).sum(axis=1, dtype=np.float32) for row in said])
    marks = wrong.astype(np.float32)
    either = marks.sum(axis=1)[:, None] + marks.sum(axis=1)[None, :] - marks @ marks.T
    found: NDArray[np.bool_] = (either >= _FEWEST) & (alike >= _SHARE * either)
    return found


class EntryOutcome(StrEnum):
    """Whether an entry counts on a task, or why not."""

    COUNTS = "counts"
    NO_RECEIPT = "no receipt"
    ALTERED = "altered after its receipt"
    IMPOSSIBLE = "its receipt is of a time when nothing was accepted"
    LATE = "late"
    OVER_LIMIT = "beyond the team's limit"


@dataclass(frozen=True, slots=True)
class SubmissionStanding:
    """The standing of one submission.

    Attributes:
        submission: None where it has a fault.
        receipt: None where it is missing or cannot be read.
        faults: what is wrong with it.
        warnings: what a maintainer should look at.
        tasks: whether it counts, by task.
        flags: signs that it was copied or uses another team's name.
    """

    folder: Path
    submission: Submission | None
    receipt: Receipt | None
    faults: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()
    tasks: Mapping[str, EntryOutcome] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """Team and system, as the folders are named."""
        return f"{self.folder.parent.name}/{self.folder.name}"


@dataclass(frozen=True, slots=True)
class SubmissionStandings:
    """All submissions of a quarter, in order, and sentences about files that were skipped."""

    entries: tuple[SubmissionStanding, ...]
    passed_over: tuple[str, ...]

    @property
    def ledger(self) -> Intake:
        """Of the entries, one a task that it takes part in; faulty ones, which take part in none, count once."""
        outcomes = Counter(str(one) for item in self.entries for one in (item.tasks.values() or ["faulty"]))
        outcomes["passed over"] += len(self.passed_over)
        return Intake("entries", outcomes.total(), outcomes.pop(EntryOutcome.COUNTS, 0), outcomes)


def passed_over(root: Path, edition: Edition) -> Iterator[str]:
    """Sentences about files and folders that are not submissions, because of their place or name."""
    found: dict[Path, str] = {}
    for path in root.iterdir() if root.is_dir() else ():
        plain = path.name in _OTHER_NAMES or path.name.startswith(".") or is_edition(path.name)
        if not plain or (path.name == str(edition) and path.is_symlink()):
            found[path] = "is not an edition's folder"
    for depth, whose in (("*", "team"), ("*/*", "system")):
        for path in root.glob(f"{edition}/{depth}"):
            if path.is_symlink() or not path.is_dir():
                found[path] = f"is not a {whose}'s folder"
            elif whose == "system" and (is_misnamed(path) or is_linked(path)):
                found[path] = "is misnamed or behind a link"
            elif whose == "system":
                found |= {deeper: "is nested too deeply" for deeper in path.iterdir() if deeper.is_dir()}
    for path, what in found.items():
        yield f"{path.relative_to(root).as_posix()[:200]!r} {what}, so it is ignored"


def standings(
    root: Path, due: Due, moment: datetime | None = None, truth: Mapping[str, Mapping[str, int]] | None = None
) -> SubmissionStandings:
    """The standing of every submission of a quarter on the split of `due`.

    Args:
        root: the folder of all submissions.
        moment: the time to use as now, for knowledge cutoffs and receipts.
        truth: label by sample id, by task, where it may be used to find copies.
    """
    read = []
    for folder in find_submissions(root, due.edition):
        # a folder without files of any split is a faulty submission to the main one
        if has_split(folder, due.split) or (due.split is MAIN and not any(has_split(folder, one) for one in Split)):
            about_receipt = list[Fault]()
            receipt = read_receipt(folder, about_receipt, due.split)
            checked = inspect_submission(folder, due, moment)
            faults, submission = (*checked.faults, *about_receipt), None if about_receipt else checked.submission
            read.append(SubmissionStanding(folder, submission, receipt, faults, checked.warnings))
    outcomes = _outcomes(read, due, moment or now())
    flags = _flags(read, due, truth or {})
    entries = (replace(item, tasks=outcomes[item.folder], flags=tuple(flags[item.origin])) for item in read)
    return SubmissionStandings(tuple(entries), tuple(sorted(passed_over(root, due.edition))))


def _outcomes(
    read: Sequence[SubmissionStanding], due: Due, moment: datetime
) -> Mapping[Path, Mapping[str, EntryOutcome]]:
    """Whether each entry counts, by task."""
    found: dict[Path, dict[str, EntryOutcome]] = {item.folder: {} for item in read}
    teams = _teams(read)
    for task in due.ids:
        in_time: dict[str, list[SubmissionStanding]] = defaultdict(list)
        for item in read:
            if item.submission is None or task not in due.tasks_of(item.submission.labels):
                continue
            outcome = _by_receipt(item.submission, item.receipt, due.calendars.get(task), moment)
            found[item.folder][task] = outcome
            if outcome is EntryOutcome.COUNTS:
                in_time[teams[item.folder]].append(item)
        for entries in in_time.values():
            ordered = sorted(entries, key=lambda item: item.origin)
            for item in sorted(ordered, key=_time_of, reverse=True)[MOST_ENTRIES:]:
                found[item.folder][task] = EntryOutcome.OVER_LIMIT
    return found


def _by_receipt(
    submission: Submission, receipt: Receipt | None, calendar: Calendar | None, moment: datetime
) -> EntryOutcome:
    if receipt is None:
        return EntryOutcome.NO_RECEIPT
    if receipt.sha256 != submission.sha256 or receipt.edition != submission.edition:
        return EntryOutcome.ALTERED
    if calendar is not None and receipt.received >= calendar.deadline:
        return EntryOutcome.LATE
    early = calendar is not None and receipt.received < calendar.opens
    return EntryOutcome.IMPOSSIBLE if early or receipt.received > moment else EntryOutcome.COUNTS


def _teams(read: Sequence[SubmissionStanding]) -> Mapping[Path, str]:
    """The team of each folder, by path; folders or names that look alike are one team."""
    same: dict[str, str] = {}

    def root_of(name: str) -> str:
        while same.setdefault(name, name) != name:
            name = same[name]
        return name

    folders = {item.folder: f"folder {skeleton(item.folder.parent.name)}" for item in read}
    for item in read:
        if item.submission is not None:
            same[root_of(f"name {skeleton(item.submission.info.team)}")] = root_of(folders[item.folder])
    return {folder: root_of(name) for folder, name in folders.items()}


def given_on(
    submission: Submission, task: str, due: Due, received: datetime | None, *, team: str | None = None
) -> GivenAnswers:
    """A submission's answers on one task."""
    known = frozenset(due.ids[task])
    rows = [item for item in submission.predictions if item.id in known and item.repetition == 1]
    answers: dict[str, int | str | None] = {}
    confidences: dict[str, float] = {}
    for item in rows:  # a label, or a text or ranking as text with white space normalized
        said = "\n".join(item.answer) if isinstance(item.answer, tuple) else item.answer
        answers[item.id] = " ".join(said.split()) if isinstance(said, str) else said
        stated = [one for one in (*item.probabilities[-1:], item.confidence, item.certainty) if one is not None]
        confidences |= {item.id: stated[0]} if stated else {}
    return GivenAnswers(
        f"{submission.team}/{submission.system}", team or submission.team, received, answers, confidences
    )


def _flags(
    read: Sequence[SubmissionStanding], due: Due, truth: Mapping[str, Mapping[str, int]]
) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    teams = _teams(read)
    for task, ids in due.ids.items():
        entries = [
            given_on(
                item.submission, task, due, item.receipt.received if item.receipt else None, team=teams[item.folder]
            )
            for item in read
            if item.submission is not None and task in due.tasks_of(item.submission.labels)
        ]
        for copy in find_copies(entries, ids, truth.get(task)):
            found[copy.later].append(f"{task}: {copy.what} {copy.earlier} [{copy.sign}]")
    for item in read:
        found[item.origin] += [f"{fault.what} [{fault.code}]" for fault in item.warnings if fault.code == "vendor-name"]
        found[item.origin] += _alike(item, read)
    return found


def copied_from(submission: Submission, others: SubmissionStandings, due: Due) -> list[str]:
    """Flags that a submission would get among the other submissions, its own earlier version excluded."""
    mine = f"{submission.team}/{submission.system}"
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
    found: list[str] = []
    for task in due.tasks_of(submission.labels):
        entries = [
            given_on(item.submission, task, due, item.receipt.received if item.receipt else first)
            for item in others.entries
            if item.submission is not None and item.origin != mine and task in item.tasks
        ]
        copies = find_copies([*entries, given_on(submission, task, due, last)], due.ids[task])
        found += (f"{task}: {copy.what} {copy.earlier} [{copy.sign}]" for copy in copies if copy.later == mine)
    return found


def _alike(item: SubmissionStanding, read: Sequence[SubmissionStanding]) -> list[str]:
    """Earlier folders of other teams whose names look like this one's."""
    if item.submission is None:
        return []
    mine = skeleton(item.submission.info.team)
    others = {
        other.folder.parent.name
        for other in read
        if other.submission is not None
        and other.folder.parent != item.folder.parent
        and skeleton(other.submission.info.team) == mine
        and (_time_of(other), other.origin) < (_time_of(item), item.origin)
    }
    return [f"its team's name looks like that of {name} [look-alike]" for name in sorted(others)]


def _time_of(item: SubmissionStanding) -> str:
    return utc_text(item.receipt.received) if item.receipt else "without receipt"
