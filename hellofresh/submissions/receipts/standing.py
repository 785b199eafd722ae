"""Where each submission of a quarter stands: which ones count on which task, and why the others do not.

Only what came in before the deadline counts, by its receipt, and only as it came in. Of a team's entries for a task and
quarter the two with the latest receipts count. Teams that look alike count as one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from hellofresh.core.calendar import Calendar
from hellofresh.core.clock import Event
from hellofresh.core.editions import Edition, is_edition
from hellofresh.core.quarters import utc_text
from hellofresh.submissions.intake.check import Submission, inspect_submission, is_misnamed
from hellofresh.submissions.intake.due import Due
from hellofresh.submissions.intake.faults import Fault
from hellofresh.submissions.intake.names import skeleton
from hellofresh.submissions.intake.predictions import Prediction
from hellofresh.submissions.intake.splits import MAIN, SPLITS, SubmissionSplit
from hellofresh.submissions.receipts.copies import GivenAnswers, find_copies
from hellofresh.submissions.receipts.receipt import Receipt, read_receipt

__all__ = [
    "MOST_ENTRIES",
    "EntryOutcome",
    "SubmissionStanding",
    "SubmissionStandings",
    "copied_from",
    "find_submissions",
    "given_on",
    "passed_over",
    "receipt_events",
    "standings",
]

MOST_ENTRIES = 2
"""Entries of a team that count on a task and quarter."""
_OTHER_NAMES = frozenset({"README.md", "TEAMS.toml", "example"})
"""What else may lie in the folder of submissions."""


class EntryOutcome(StrEnum):
    """Whether an entry counts on a task, or why not."""

    COUNTS = "counts"
    NO_RECEIPT = "no receipt"
    ALTERED = "altered after its receipt"
    LATE = "late"
    OVER_LIMIT = "beyond the team's limit"


@dataclass(frozen=True, slots=True)
class SubmissionStanding:
    """Where one submission stands.

    Attributes:
        folder: its folder.
        submission: None where it has a fault.
        receipt: None where there is none that can be read.
        faults: what is wrong with it.
        warnings: what deserves a second look.
        tasks: by task that it takes part in, whether it counts.
        flags: signs that it was copied, or bears another's name.
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
    """All submissions of a quarter, in order, and what was passed over."""

    entries: tuple[SubmissionStanding, ...]
    passed_over: tuple[str, ...]


def find_submissions(root: Path, edition: Edition) -> list[Path]:
    """Folders of all submissions for a quarter, in order; links and misnamed folders are left out."""
    folders = (folder for folder in root.glob(f"{edition}/*/*") if folder.is_dir() and any(folder.iterdir()))
    return sorted(folder for folder in folders if not is_misnamed(folder) and not is_linked(folder))


def receipt_events(root: Path) -> Iterator[Event]:
    """The receipts of all quarters, whatever became of their entries; what is no receipt records nothing."""
    folders = (path for path in root.glob("*/*/*") if is_edition(path.parents[1].name))
    for folder in sorted(path for path in folders if path.is_dir() and not is_linked(path)):
        for split in SPLITS:
            receipt = read_receipt(folder, [], split)
            if receipt is not None:
                what = f"the receipt of {folder.parent.name}/{folder.name} for {receipt.edition}"
                yield Event(receipt.received, what, str(folder / split.receipt))


def is_linked(folder: Path) -> bool:
    return any(path.is_symlink() for path in (folder, folder.parent, folder.parent.parent))


def passed_over(root: Path, edition: Edition) -> list[str]:
    """Sentences about what lies among the submissions and is none, by where it lies or how it is named."""
    return sorted(_passed_over(root, edition))


def _passed_over(root: Path, edition: Edition) -> Iterator[str]:
    if not root.is_dir():
        return
    for path in root.iterdir():
        plain = path.name in _OTHER_NAMES or path.name.startswith(".") or is_edition(path.name)
        if not plain or (path.name == str(edition) and path.is_symlink()):
            yield f"{path.name!r} among the submissions is no edition's folder, and is passed over"
    for path in root.glob(f"{edition}/*"):
        if path.is_symlink() or not path.is_dir():
            yield f"{_below(path, root)} is no team's folder, and is passed over"
    for path in root.glob(f"{edition}/*/*"):
        if path.is_symlink() or not path.is_dir():
            yield f"{_below(path, root)} is no system's folder, and is passed over"
        elif is_misnamed(path) or is_linked(path):
            yield f"{_below(path, root)} is misnamed or behind a link, and is passed over"
        else:
            yield from (
                f"{_below(deeper, root)} lies too deep, and is passed over"
                for deeper in path.iterdir()
                if deeper.is_dir()
            )


def _below(path: Path, root: Path) -> str:
    return repr(path.relative_to(root).as_posix()[:200])


def standings(
    root: Path, due: Due, moment: datetime | None = None, truth: Mapping[str, Mapping[str, int]] | None = None
) -> SubmissionStandings:
    """Where every submission of a quarter stands on the split that is due.

    Args:
        root: the folder of all submissions.
        due: what is due in the quarter.
        moment: the time that counts as now; only knowledge cutoffs are held against it.
        truth: label by sample id, by task, where it is known and may be used to find copies.
    """
    read = [_read(folder, due, moment) for folder in _folders(root, due)]
    outcomes = _outcomes(read, due)
    flags = _flags(read, due, truth or {})
    entries = tuple(
        SubmissionStanding(item.folder, item.submission, item.receipt, item.faults, item.warnings,
                 outcomes[item.folder], tuple(flags[item.origin]))
        for item in read
    )  # fmt: skip
    return SubmissionStandings(entries, tuple(passed_over(root, due.edition)))


def _folders(root: Path, due: Due) -> list[Path]:
    """The folders with something for the split; one with nothing for any is a faulty submission to the main one."""

    def is_for(folder: Path, split: SubmissionSplit) -> bool:
        return split.is_in(folder) or (split is MAIN and not any(other.is_in(folder) for other in SPLITS))

    return [folder for folder in find_submissions(root, due.edition) if is_for(folder, due.split)]


def _read(folder: Path, due: Due, moment: datetime | None) -> SubmissionStanding:
    checked = inspect_submission(folder, due.edition, due.ids, moment, taken_down=due.taken_down, split=due.split)
    about_receipt: list[Fault] = []
    receipt = read_receipt(folder, about_receipt, due.split)
    faults = (*checked.faults, *about_receipt)
    return SubmissionStanding(folder, None if faults else checked.submission, receipt, faults, checked.warnings)


def _outcomes(read: Sequence[SubmissionStanding], due: Due) -> Mapping[Path, Mapping[str, EntryOutcome]]:
    """Whether each entry counts, by task."""
    found: dict[Path, dict[str, EntryOutcome]] = {item.folder: {} for item in read}
    teams = _teams(read)
    for task in due.ids:
        in_time: dict[str, list[SubmissionStanding]] = defaultdict(list)
        for item in read:
            if item.submission is None or task not in due.tasks_of(item.submission.labels):
                continue
            outcome = _by_receipt(item.submission, item.receipt, due.calendars.get(task))
            found[item.folder][task] = outcome
            if outcome is EntryOutcome.COUNTS:
                in_time[teams[item.folder]].append(item)
        for entries in in_time.values():
            for item in sorted(entries, key=_latest_first)[MOST_ENTRIES:]:
                found[item.folder][task] = EntryOutcome.OVER_LIMIT
    return found


def _by_receipt(submission: Submission, receipt: Receipt | None, calendar: Calendar | None) -> EntryOutcome:
    if receipt is None:
        return EntryOutcome.NO_RECEIPT
    if receipt.sha256 != submission.sha256 or receipt.edition != submission.edition:
        return EntryOutcome.ALTERED
    late = calendar is not None and receipt.received >= calendar.deadline
    return EntryOutcome.LATE if late else EntryOutcome.COUNTS


def _latest_first(item: SubmissionStanding) -> tuple[float, str]:
    return (-item.receipt.received.timestamp() if item.receipt else 0.0, item.origin)


def _teams(read: Sequence[SubmissionStanding]) -> Mapping[Path, str]:
    """One name for all entries of a team: folders or names that look alike are the same team."""
    same: dict[str, str] = {}

    def root_of(name: str) -> str:
        while same.setdefault(name, name) != name:
            name = same[name]
        return name

    for item in read:
        if item.submission is not None:
            same[root_of(f"name {skeleton(item.submission.info.team)}")] = root_of(f"folder {_folder_of(item)}")
    return {item.folder: root_of(f"folder {_folder_of(item)}") for item in read}


def _folder_of(item: SubmissionStanding) -> str:
    return skeleton(item.folder.parent.name)


def given_on(
    submission: Submission, task: str, due: Due, received: datetime | None, *, team: str | None = None
) -> GivenAnswers:
    """What a submission said on one task."""
    known = frozenset(due.ids[task])
    rows = [item for item in submission.predictions if item.id in known and item.repetition == 1]
    return GivenAnswers(
        origin=f"{submission.team}/{submission.system}",
        team=team or submission.team,
        received=received,
        answers={item.id: _compared(item) for item in rows},
        confidences={item.id: stated for item in rows if (stated := _stated(item)) is not None},
    )


def _compared(item: Prediction) -> int | str | None:
    """A label, or a text or ranking as text, white space apart."""
    answer = item.answer
    if isinstance(answer, tuple):
        return "\n".join(answer)
    return " ".join(answer.split()) if isinstance(answer, str) else answer


def _stated(item: Prediction) -> float | None:
    """A number that it states about its answer, if it states one."""
    if item.probabilities:
        return item.probabilities[-1]
    return item.confidence if item.confidence is not None else item.certainty


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
    """Flags that a submission would get beside the others that are there, itself left out."""
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
    """Other teams' folders under a name that looks like this one's, where those came in before."""
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
