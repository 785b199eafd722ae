"""The folder of submissions: taking one in, with its receipt, and taking one out before the deadline."""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Literal

from hellofresh.core.clock import now
from hellofresh.core.editions import is_edition, parse_edition
from hellofresh.core.errors import SubmissionError, WorkspaceError
from hellofresh.core.files import write_bytes, write_jsonl
from hellofresh.submissions.intake.check import Submission, as_error, content_hash, in_order, inspect_submission
from hellofresh.submissions.intake.due import Due, check_time
from hellofresh.submissions.intake.faults import MAX_BYTES, Fault
from hellofresh.submissions.intake.names import FOLDER_NAME, skeleton
from hellofresh.submissions.intake.package import canonical_files
from hellofresh.submissions.intake.predictions import canonical_row, predictions_file, read_predictions
from hellofresh.submissions.intake.splits import SPLITS, SubmissionSplit
from hellofresh.submissions.intake.system import SYSTEM, SystemInfo, read_info
from hellofresh.submissions.receipts.receipt import Receipt, new_receipt, read_receipt, write_receipt
from hellofresh.submissions.receipts.standing import find_submissions, is_linked

__all__ = ["KnownTeams", "StoredSubmission", "add_submission", "known_teams", "look_alike", "withdraw_submission"]

_OURS, _OUR_NAME = "hellofresh", "HelloFresh"
"""The team under which the board shows what the evaluator ran itself."""

KnownTeams = Mapping[str, frozenset[str]]
"""The names that each team goes by, by its folder's name."""


@dataclass(frozen=True, slots=True)
class StoredSubmission:
    """A submission that was taken in.

    Attributes:
        folder: where it lies.
        submission: what it says.
        receipt: what came in, and when.
        state: whether the folder is new, had another content, or had this one (then the first time stands).
        warnings: what deserves a second look.
    """

    folder: Path
    submission: Submission
    receipt: Receipt
    state: Literal["added", "replaced", "unchanged"]
    warnings: tuple[Fault, ...]


def known_teams(root: Path) -> KnownTeams:
    """The teams of all quarters, by their folders; what cannot be read there names nobody."""
    found: dict[str, set[str]] = defaultdict(set, {_OURS: {_OUR_NAME}})
    names = {path.name for path in root.glob("*") if path.is_dir() and is_edition(path.name)}
    for name in sorted(names):
        for folder in find_submissions(root, parse_edition(name)):
            info = read_info(folder / SYSTEM, date.max, [])
            found[folder.parent.name] |= {info.team} if info is not None else set()
    return {team: frozenset(names) for team, names in found.items()}


def look_alike(team: str, name: str, known: KnownTeams) -> str:
    """The folder of another team that this one's folder or name looks like, or nothing."""
    mine = {skeleton(team), skeleton(name)} - {""}
    for other, names in sorted(known.items()):
        if other != team and mine & {skeleton(other), *map(skeleton, names)}:
            return other
    return ""


def add_submission(folder: Path, due: Due, root: Path, moment: datetime | None = None) -> StoredSubmission:
    """Check a submission to a split and take it in with a receipt, whole or not at all; the other split's files stay.

    Args:
        folder: the submission; its last two parts name team and system. It may lie in its place already.
        due: what is due in the quarter.
        root: the folder of all submissions.
        moment: the time that counts as now.

    Raises:
        SubmissionError: if it has a fault, its quarter takes no predictions at the moment, or what came in on the
            other split would not be the same with its `system.toml`.
        WorkspaceError: if the folder cannot be written.
    """
    moment = moment or now()
    checked = inspect_submission(folder, due.edition, due.ids, moment, taken_down=due.taken_down, split=due.split)
    if checked.submission is None:
        fix = f"See all with: hellofresh submission check {folder} --edition {due.edition}"
        raise as_error(checked.faults, fix)
    submission = checked.submission
    _check_team(submission, known_teams(root))
    place = _place(root, submission)
    if is_linked(place):
        raise WorkspaceError("a link", where=str(place), expected="folders", code="linked-folder")
    faults: list[Fault] = []
    before = read_receipt(place, faults, due.split)
    if faults:
        raise as_error(faults, "")
    tasks = due.tasks_of(submission.labels)
    check_time(due, {*tasks, *(before.tasks if before is not None else ())}, moment)
    for split in SPLITS:
        if split is not due.split:
            _check_other(place, split, submission.info)
    receipt = new_receipt(due.edition, tasks, submission.sha256, moment, before)
    there = place.is_dir()
    _put(folder, root, submission, receipt, due.split)
    state: Literal["added", "replaced", "unchanged"]
    state = "unchanged" if receipt is before else "replaced" if there and before is not None else "added"
    return StoredSubmission(place, submission, receipt, state, checked.warnings)


def _place(root: Path, submission: Submission) -> Path:
    return root / str(submission.edition) / submission.team / submission.system


def _check_team(submission: Submission, known: KnownTeams) -> None:
    other = look_alike(submission.team, submission.info.team, known)
    if other:
        raise SubmissionError(
            f"the team {submission.info.team!r} in the folder {submission.team!r} looks like the team {other!r}",
            fix=f"If it is your team, use the folder {other!r}; else choose another name.",
            code="look-alike",
        )


def _check_other(place: Path, split: SubmissionSplit, info: SystemInfo) -> None:
    """Refuse a `system.toml` with which the receipt of another split would not hold any more."""
    faults: list[Fault] = []
    receipt = read_receipt(place, faults, split)
    given = read_predictions(predictions_file(place, faults, split), MAX_BYTES, faults) if receipt is not None else None
    if faults:
        raise as_error(faults, "")
    if receipt is None or given is None:
        return
    if content_hash(info, in_order(line.prediction for line in given.lines)) != receipt.sha256:
        raise SubmissionError(
            f"changing {SYSTEM} would invalidate the receipt of the {split.name} split",
            where=str(place / split.receipt),
            fix="Submit from a new folder, or withdraw the first entry before its deadline.",
            code="other-split",
        )


def _put(source: Path, root: Path, submission: Submission, receipt: Receipt, split: SubmissionSplit) -> None:
    """Make the folder of a submission; what lies in its place already only gets its receipt."""
    place = _place(root, submission)
    if place.exists() and source.resolve() == place.resolve():
        if not (place / split.jsonl).exists():
            write_jsonl(place / split.jsonl, map(canonical_row, submission.predictions))
            (place / split.csv).unlink()
        write_receipt(place, receipt, split)
        return
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=".adding-", dir=root))
    except OSError as error:
        raise _unwritable(root, error) from error
    try:
        new.chmod(0o755)
        # Written anew from what was checked: nothing else of what was handed in gets into the folder.
        for name, content in canonical_files(submission, split).items():
            write_bytes(new / name, content)
        write_receipt(new, receipt, split)
        _carry_over(place, new, split)
        _swap(new, place)
    except OSError as error:
        raise _unwritable(place, error) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _carry_over(place: Path, new: Path, split: SubmissionSplit) -> None:
    """Copy the plain files of the other splits that lie in the place already."""
    for name in (name for other in SPLITS if other is not split for name in other.files):
        if (place / name).is_file() and not (place / name).is_symlink():
            write_bytes(new / name, (place / name).read_bytes())


def _swap(new: Path, place: Path) -> None:
    """Put the new folder in its place and leave the old one, if any, where the new one was."""
    if not place.exists():
        new.rename(place)
        return
    old = new.with_name(f"{new.name}-old")
    place.rename(old)
    try:
        new.rename(place)
    except OSError:
        old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _unwritable(path: Path, error: OSError) -> WorkspaceError:
    fix = "Check the folder's permissions and free space."
    return WorkspaceError(f"cannot write: {error.strerror or error}", where=str(path), fix=fix, code="unwritable")


def withdraw_submission(root: Path, due: Due, team: str, system: str, moment: datetime | None = None) -> Path:
    """Take a submission to a split out, with its folder where nothing else is in it; returns the folder.

    Raises:
        SubmissionError: if there is none, or the deadline has passed: then it stays.
        WorkspaceError: if the folder cannot be written.
    """
    place = root / str(due.edition) / team / system
    named = FOLDER_NAME.fullmatch(team) and FOLDER_NAME.fullmatch(system)
    others = [split for split in SPLITS if split is not due.split and split.is_in(place)]
    if not named or is_linked(place) or not place.is_dir() or (others and not due.split.is_in(place)):
        raise SubmissionError(
            f"no submission {team!r} / {system!r} for {due.edition}",
            where=str(root),
            fix=f"See them with: hellofresh submission list --edition {due.edition}",
            code="no-submission",
        )
    check_time(due, set(due.calendars), moment or now())
    try:
        if others:
            for name in due.split.files:
                (place / name).unlink(missing_ok=True)
            return place
        gone = Path(tempfile.mkdtemp(prefix=".withdrawing-", dir=root))
        place.rename(gone / system)
        shutil.rmtree(gone)
        with suppress(OSError):
            place.parent.rmdir()  # the team's folder, if nothing else is in it
    except OSError as error:
        raise _unwritable(place, error) from error
    return place
