"""Receipts, and the folder of submissions: adding a submission with a receipt, and withdrawing it before the deadline.

`receipt.json` holds the SHA-256 of the canonical content and the time (UTC, to the second). Any later change gives
another hash, which the receipt does not cover. When a submission is replaced, its earlier receipts stay in `earlier`,
the oldest first.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from hellofresh import __version__
from hellofresh.core.clock import Event, now
from hellofresh.core.editions import MAX_EDITION, Edition, is_edition, parse_edition
from hellofresh.core.errors import SubmissionError, UsageError, WorkspaceError, unwritable
from hellofresh.core.files import BadJsonError, strict_json, write_bytes, write_json, write_jsonl
from hellofresh.core.folders import put_in_place
from hellofresh.core.quarters import parse_utc, utc_text
from hellofresh.core.strict import Strict
from hellofresh.submissions.check import (
    Due,
    Submission,
    as_error,
    canonical_files,
    check_time,
    content_hash,
    in_order,
    inspect_submission,
    is_misnamed,
    place_of,
)
from hellofresh.submissions.format import (
    FILES,
    MAX_BYTES,
    MAX_RECEIPT_BYTES,
    SYSTEM,
    Fault,
    SystemInfo,
    canonical_row,
    has_split,
    predictions_file,
    problems,
    read_info,
    read_plain,
    read_predictions,
)
from hellofresh.submissions.names import FOLDER_NAME, skeleton
from hellofresh.tasks.samples import MAIN, Split

_MOST_EARLIER = 400  # a receipt stays well below `MAX_RECEIPT_BYTES`
_OURS, _OUR_NAME = "hellofresh", "HelloFresh"  # the team under which the board shows the evaluator's own runs

KnownTeams = Mapping[str, frozenset[str]]
"""The names of each team, by its folder's name."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of a submission's content and time.

    Attributes:
        edition: the edition for which it was submitted.
        tasks: the tasks that it takes part in.
        sha256: hash of the canonical content (see `Submission.sha256`).
        received: when, in UTC, to the second.
        code: the version that wrote the receipt.
        earlier: the receipts that this one replaces, the oldest first; their own `earlier` is empty.
    """

    edition: Edition
    tasks: tuple[str, ...]
    sha256: str
    received: datetime
    code: str
    earlier: tuple[Receipt, ...] = ()

    @property
    def history(self) -> set[tuple[str, datetime]]:
        """Content hash and time of this receipt and of those that it replaced."""
        return {(one.sha256, one.received) for one in (*self.earlier, self)}

    def to_json(self) -> dict[str, object]:
        """The fields as written to the file."""
        said = {"edition": str(self.edition), "tasks": list(self.tasks), "sha256": self.sha256, "code": self.code}
        earlier = [{name: value for name, value in one.to_json().items() if name != "earlier"} for one in self.earlier]
        return {**said, "received": utc_text(self.received), "earlier": earlier}


class _One(Strict):
    edition: Annotated[str, StringConstraints(max_length=MAX_EDITION)]
    tasks: list[Annotated[str, StringConstraints(max_length=80)]] = Field(max_length=20)
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    received: Annotated[str, StringConstraints(max_length=20)]
    code: Annotated[str, StringConstraints(max_length=80)]

    def receipt(self) -> Receipt:
        """The receipt with parsed times and edition; raises ValueError where one cannot be parsed."""
        moment = parse_utc(self.received)
        if utc_text(moment) != self.received:
            raise ValueError(f"{self.received!r} is not a time to the second in UTC")
        try:
            edition = parse_edition(self.edition)
        except UsageError as error:
            raise ValueError(str(error)) from None
        return Receipt(edition, tuple(self.tasks), self.sha256, moment, self.code)


class _File(_One):
    earlier: list[_One] = Field(default=[], max_length=_MOST_EARLIER)


def new_receipt(
    edition: Edition, tasks: tuple[str, ...], sha256: str, moment: datetime, before: Receipt | None
) -> Receipt:
    """A receipt for this content, with the earlier ones; unchanged content keeps its first time.

    Raises:
        SubmissionError: if `moment` is before the time of the receipt that this one would replace.
    """
    if before is not None and before.sha256 == sha256 and before.edition == edition:
        return before
    earlier = (*before.earlier, replace(before, earlier=())) if before is not None else ()
    to_the_second = moment.replace(microsecond=0)
    if before is not None and to_the_second < before.received:
        raise SubmissionError(
            f"the existing receipt is of {utc_text(before.received)}, but the clock says {utc_text(moment)}",
            expected="a later time: a newer version comes after the one that it replaces",
            fix="Set the clock right.",
            code="clock-behind",
        )
    return Receipt(edition, tasks, sha256, to_the_second, f"hellofresh {__version__}", earlier[-_MOST_EARLIER:])


def read_receipt(folder: Path, faults: list[Fault], split: Split = MAIN) -> Receipt | None:
    """The receipt of a split in a folder; None, with faults added, if it is missing or invalid."""
    path = folder / FILES[split].receipt
    if not path.exists() and not path.is_symlink():
        return None
    content = read_plain(path, MAX_RECEIPT_BYTES, faults)
    if content is None:
        return None
    fix = "Remove it and submit again: hellofresh submission add"
    try:
        value = _File.model_validate(strict_json(content))
        receipt = replace(value.receipt(), earlier=tuple(one.receipt() for one in value.earlier))
        for before, after in pairwise(one.received for one in (*receipt.earlier, receipt)):
            if after < before:
                raise ValueError(f"{utc_text(after)} follows {utc_text(before)}: receipt times must not decrease")
        return receipt
    except BadJsonError as error:
        faults.append(Fault(error.code, str(path), str(error), fix))
    except ValidationError as error:
        faults += (Fault("bad-receipt", f"{path}, {field}", what, fix) for field, what in problems(error))
    except ValueError as error:
        faults.append(Fault("bad-receipt", str(path), str(error), fix))
    return None


def write_receipt(folder: Path, receipt: Receipt, split: Split = MAIN) -> None:
    """Write the receipt of a split into a folder."""
    write_json(folder / FILES[split].receipt, receipt.to_json())


def find_submissions(root: Path, edition: Edition) -> list[Path]:
    """Folders of all submissions for a quarter, in order; links and misnamed folders are left out."""
    folders = (folder for folder in root.glob(f"{edition}/*/*") if folder.is_dir() and any(folder.iterdir()))
    return sorted(folder for folder in folders if not is_misnamed(folder) and not is_linked(folder))


def is_linked(folder: Path) -> bool:
    return any(path.is_symlink() for path in (folder, folder.parent, folder.parent.parent))


def receipt_events(root: Path) -> Iterator[Event]:
    """The receipts of all quarters as events, including those of invalid entries; unreadable receipts are skipped."""
    folders = (path for path in root.glob("*/*/*") if is_edition(path.parents[1].name))
    for folder in sorted(path for path in folders if path.is_dir() and not is_linked(path)):
        for split in Split:
            receipt = read_receipt(folder, [], split)
            if receipt is not None:
                what = f"the receipt of {folder.parent.name}/{folder.name} for {receipt.edition}"
                yield Event(receipt.received, what, str(folder / FILES[split].receipt))


@dataclass(frozen=True, slots=True)
class StoredSubmission:
    """An accepted submission: new, replacing other content, or unchanged (it then keeps its first time)."""

    folder: Path
    submission: Submission
    receipt: Receipt
    state: Literal["added", "replaced", "unchanged"]
    warnings: tuple[Fault, ...]


def known_teams(root: Path) -> KnownTeams:
    """The teams of all quarters, by folder; names from an unreadable `system.toml` are left out."""
    found: dict[str, set[str]] = defaultdict(set, {_OURS: {_OUR_NAME}})
    names = {path.name for path in root.glob("*") if path.is_dir() and is_edition(path.name)}
    for name in sorted(names):
        for folder in find_submissions(root, parse_edition(name)):
            info = read_info(folder / SYSTEM, date.max, [])
            found[folder.parent.name] |= {info.team} if info is not None else set()
    return {team: frozenset(names) for team, names in found.items()}


def look_alike(team: str, name: str, known: KnownTeams, where: str = "") -> list[Fault]:
    """A fault if another team looks like this team's folder or name."""
    mine = {skeleton(team), skeleton(name)} - {""}
    for other, names in sorted(known.items()):
        if other != team and mine & {skeleton(other), *map(skeleton, names)}:
            what = f"the team {name!r} in the folder {team!r} looks like the team {other!r}"
            fix = f"If it is your team, use the folder {other!r} (--folder {other}/SYSTEM); else choose another name."
            return [Fault("look-alike", where, what, fix)]
    return []


def add_submission(folder: Path, due: Due, root: Path, moment: datetime | None = None) -> StoredSubmission:
    """Check a submission to a split and add it with a receipt, atomically; the other split's files stay.

    The last two parts of the folder's path name team and system; it may be in its final place already.

    Raises:
        SubmissionError: if it has a fault, its quarter accepts no predictions at the moment, or its `system.toml`
            would invalidate the receipt of the other split.
        WorkspaceError: if the folder cannot be written.
    """
    moment = moment or now()
    checked = inspect_submission(folder, due, moment)
    if checked.submission is None:
        fix = f"See all with: hellofresh submission check {folder} --edition {due.edition}"
        raise as_error(checked.faults, fix)
    submission = checked.submission
    if alike := look_alike(submission.team, submission.info.team, known_teams(root)):
        raise as_error(alike, "")
    place = root / place_of(submission)
    if is_linked(place):
        raise WorkspaceError("a link", where=str(place), expected="folders", code="linked-folder")
    faults: list[Fault] = []
    before = read_receipt(place, faults, due.split)
    if faults:
        raise as_error(faults, "")
    tasks = due.tasks_of(submission.labels)
    check_time(due, {*tasks, *(before.tasks if before is not None else ())}, moment)
    for split in Split:
        if split is not due.split:
            _check_other(place, split, submission.info)
    receipt = new_receipt(due.edition, tasks, submission.sha256, moment, before)
    there = place.is_dir()
    _put(folder, root, submission, receipt, due.split)
    state: Literal["added", "replaced", "unchanged"]
    state = "unchanged" if receipt is before else "replaced" if there and before is not None else "added"
    return StoredSubmission(place, submission, receipt, state, checked.warnings)


def _check_other(place: Path, split: Split, info: SystemInfo) -> None:
    """Refuse a `system.toml` that would invalidate the receipt of another split."""
    faults: list[Fault] = []
    receipt = read_receipt(place, faults, split)
    given = read_predictions(predictions_file(place, faults, split), MAX_BYTES, faults) if receipt is not None else None
    if faults:
        raise as_error(faults, "")
    if receipt is None or given is None:
        return
    if content_hash(info, in_order(line.prediction for line in given.lines)) != receipt.sha256:
        raise SubmissionError(
            f"changing {SYSTEM} would invalidate the receipt of the {split} split",
            where=str(place / FILES[split].receipt),
            fix="Submit from a new folder, or withdraw the first entry before its deadline.",
            code="other-split",
        )


def _put(source: Path, root: Path, submission: Submission, receipt: Receipt, split: Split) -> None:
    """Make the folder of a submission, or only write the receipt if the folder is in its place already."""
    place = root / place_of(submission)
    if place.exists() and source.resolve() == place.resolve():
        if not (place / FILES[split].jsonl).exists():
            write_jsonl(place / FILES[split].jsonl, map(canonical_row, submission.predictions))
            (place / FILES[split].csv).unlink()
        write_receipt(place, receipt, split)
        return
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=".adding-", dir=root))
    except OSError as error:
        raise unwritable(root, error) from error
    try:
        new.chmod(0o755)
        # Written anew from the checked values, so that nothing unchecked gets into the folder.
        for name, content in canonical_files(submission, split).items():
            write_bytes(new / name, content)
        write_receipt(new, receipt, split)
        for name in (name for other in Split if other is not split for name in FILES[other]):
            if (place / name).is_file() and not (place / name).is_symlink():
                write_bytes(new / name, (place / name).read_bytes())
        put_in_place(new, place)
    except OSError as error:
        raise unwritable(place, error) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def withdraw_submission(root: Path, due: Due, team: str, system: str, moment: datetime | None = None) -> Path:
    """Remove a submission to a split, and its folder if that is empty then; returns the folder.

    Raises:
        SubmissionError: if the submission does not exist, or the deadline has passed.
        WorkspaceError: if the folder cannot be written.
    """
    place = root / str(due.edition) / team / system
    named = FOLDER_NAME.fullmatch(team) and FOLDER_NAME.fullmatch(system)
    others = [split for split in Split if split is not due.split and has_split(place, split)]
    if not named or is_linked(place) or not place.is_dir() or (others and not has_split(place, due.split)):
        raise SubmissionError(
            f"no submission {team!r} / {system!r} for {due.edition}",
            where=str(root),
            fix=f"See them with: hellofresh submission list --edition {due.edition}",
            code="no-submission",
        )
    check_time(due, set(due.calendars), moment or now())
    try:
        if others:
            for name in due.files:
                (place / name).unlink(missing_ok=True)
            return place
        gone = Path(tempfile.mkdtemp(prefix=".withdrawing-", dir=root))
        place.rename(gone / system)
        shutil.rmtree(gone)
        with suppress(OSError):
            place.parent.rmdir()  # the team's folder, if nothing else is in it
    except OSError as error:
        raise unwritable(place, error) from error
    return place
