"""The inbox: a folder where a site keeps visitors' submissions until a maintainer accepts them.

Every arrival has its own folder, named by time, number and hash: no visitor's text becomes part of a path, and no
arrival is ever changed. Visitors are anonymous. An arrival for an existing team is therefore refused until a
maintainer, having asked the team, accepts exactly this content by its hash; otherwise a stranger could replace a
team's entries or submit a later version under the team's name.
"""

from __future__ import annotations

import hmac
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from secrets import token_bytes
from tempfile import TemporaryDirectory, mkdtemp
from typing import Annotated, Literal

from pydantic import AfterValidator

from hellofresh.core.clock import Event, check_clock, now
from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError, SubmissionError, UsageError, unwritable
from hellofresh.core.files import BadJsonError, as_model, strict_json, sync_folder, write_bytes, write_json
from hellofresh.core.net.lock import locked
from hellofresh.core.quarters import utc_text
from hellofresh.core.strict import Strict
from hellofresh.submissions.check import (
    Due,
    DueOf,
    Submission,
    as_error,
    canonical_files,
    check_time,
    inspect_submission,
)
from hellofresh.submissions.format import FILES, MAX_BYTES, MAX_INFO_BYTES, SYSTEM, Fault, read_plain
from hellofresh.submissions.names import FOLDER_NAME
from hellofresh.submissions.receipts import (
    Receipt,
    add_submission,
    is_linked,
    known_teams,
    new_receipt,
    read_receipt,
    write_receipt,
)
from hellofresh.submissions.standings import copied_from, standings
from hellofresh.tasks.samples import Split, SplitName

VARIABLE = "HELLOFRESH_INBOX"
"""Environment variable with the path of a site's inbox; without it the site accepts no submissions."""

_ARRIVAL = re.compile(r"\d{8}T\d{6}Z-\d{6}-[0-9a-f]{16}", re.ASCII)
_ABOUT = "arrival.json"
_HALF_DONE = ".arriving-"
_LOCK_S = 10.0  # a check of one arrival takes less
LEAST_HASH = 8
"""Fewest characters of a hash that name an arrival; two arrivals that share them are reported as ambiguous."""
_SHOWN_HASH = 12  # enough to be unique in an inbox, and to type


ARRIVAL_BYTES = MAX_BYTES + MAX_INFO_BYTES
"""Largest arrival; the reverse proxy in front of the site limits the rate of requests (docs/site.md)."""
INBOX_BYTES, INBOX_ARRIVALS = 1_000_000_000, 1_000
"""Limits of a whole inbox, so that arrivals cannot fill the disk."""
VISITOR_ARRIVALS = 20
"""Most arrivals from one visitor's address in a day, so that one visitor cannot fill the inbox."""
_MOST_ABOUT_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class Arrival:
    """A submission in the inbox: its folder, the team, system and split that it asks for, and its receipt."""

    folder: Path
    team: str
    system: str
    split: Split
    receipt: Receipt
    visitor: str = ""

    @property
    def entry(self) -> tuple[str, str, str, str]:
        """The entry that it would become: quarter, split, team and system."""
        return str(self.receipt.edition), self.split, self.team, self.system

    @property
    def event(self) -> Event:
        """Its arrival as an event with a time, for checks of the clock."""
        return Event(self.receipt.received, f"the arrival {self.folder.name}", str(self.folder.parent))

    @property
    def hash(self) -> str:
        """The first characters of the content's hash, for lists; the visitor's receipt has the whole hash."""
        return self.receipt.sha256[:_SHOWN_HASH]

    def matches(self, text: str) -> bool:
        """Whether a text is a prefix of the content's hash, or the name of the arrival's folder."""
        return text == self.folder.name or (len(text) >= LEAST_HASH and self.receipt.sha256.startswith(text))


@dataclass(frozen=True, slots=True)
class HandedIn:
    """The receipt of an arrival, and whether the arrival is new or was in the inbox already."""

    receipt: Receipt
    new: bool


def _folder_name(value: str) -> str:
    if not FOLDER_NAME.fullmatch(value):
        raise ValueError("not a folder's name")
    return value


class _About(Strict):
    visitor: str = ""
    split: SplitName
    team: Annotated[str, AfterValidator(_folder_name)]
    system: Annotated[str, AfterValidator(_folder_name)]


@dataclass(frozen=True, slots=True)
class Inbox:
    """An inbox on disk, which several processes may use at once; its folder is made with the first arrival."""

    folder: Path

    def hand_in(
        self, submission: Submission, due: Due, moment: datetime | None = None, *, visitor: str = ""
    ) -> HandedIn:
        """Store a submission with a receipt, atomically.

        If the latest arrival of the same team and system has the same content, its receipt is returned. Only a keyed
        hash of the visitor's address is kept; the key is deleted the next day.

        Raises:
            SubmissionError: if the quarter accepts no predictions at the moment (`not-open`, `closed`), the submission
                is too large, or the inbox is full.
            UsageError: if the clock is behind the newest arrival.
            WorkspaceError: if the inbox cannot be used.
        """
        files = canonical_files(submission, due.split)
        with self._locked():
            at = (moment or now()).replace(microsecond=0)
            lying, _ = self.arrivals()
            entry = (str(due.edition), due.split, submission.team, submission.system)
            before = next((item for item in reversed(lying) if item.entry == entry), None)
            if before is not None and before.receipt.sha256 == submission.sha256:
                return HandedIn(before.receipt, new=False)
            tasks = due.tasks_of(submission.labels)
            check_time(due, tasks, at)
            check_clock(at, (item.event for item in lying))
            size = sum(map(len, files.values()))
            if size > ARRIVAL_BYTES:
                what = f"{size:,} bytes; at most {ARRIVAL_BYTES:,} are accepted"
                raise SubmissionError(what, fix="Shorten the rationales.", code="too-large")
            kept = sum(path.stat().st_size for item in lying for path in item.folder.iterdir())
            if len(lying) >= INBOX_ARRIVALS or kept + size > INBOX_BYTES:
                fix = "Try again tomorrow, or send the package to the maintainers as a pull request."
                raise SubmissionError("the inbox is full", fix=fix, code="inbox-full")
            mark = self._mark(visitor, at)
            if mark and sum(item.visitor == mark for item in lying) >= VISITOR_ARRIVALS:
                what = f"{VISITOR_ARRIVALS} arrivals from your address today are the most accepted"
                raise SubmissionError(what, fix="Try again tomorrow.", code="too-many")
            receipt = new_receipt(due.edition, tasks, submission.sha256, at, None)
            self._keep(files, submission, due.split, receipt, mark)
            return HandedIn(receipt, new=True)

    def arrivals(self) -> tuple[list[Arrival], list[Fault]]:
        """All arrivals in order of their time, and the faults of those that cannot be read."""
        faults: list[Fault] = []
        found = [_read(folder, faults) for folder in self._folders()]
        return [arrival for arrival in found if arrival is not None], faults

    def remove(self, arrivals: Sequence[Arrival]) -> None:
        """Delete arrivals from the inbox; raises WorkspaceError if that fails."""
        with self._locked():
            for arrival in arrivals:
                shutil.rmtree(arrival.folder)

    def _folders(self) -> list[Path]:
        """Folders of arrivals by name, which is by time, as names begin with the time and a number."""
        if not self.folder.is_dir():
            return []
        return sorted(
            path
            for path in self.folder.iterdir()
            if _ARRIVAL.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
        )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the inbox for this thread, and remove what an interrupted arrival left behind."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with locked(self.folder / ".lock", what="using the inbox", wait_s=_LOCK_S, code="inbox-busy"):
                for path in self.folder.glob(f"{_HALF_DONE}*"):
                    shutil.rmtree(path, ignore_errors=True)
                yield
        except OSError as error:
            raise unwritable(self.folder, error) from error

    def _mark(self, visitor: str, at: datetime) -> str:
        """A keyed hash of the visitor's address that is the same for one day; empty if the address is unknown."""
        key = self.folder / f".visitors-{at:%Y-%m-%d}"
        for old in self.folder.glob(".visitors-*"):
            if old != key:
                old.unlink()
        if not key.is_file():
            write_bytes(key, token_bytes(32), mode=0o600)
        return hmac.digest(key.read_bytes(), visitor.encode(), "sha256").hex()[:16] if visitor else ""

    def _keep(
        self, files: Mapping[str, bytes], submission: Submission, split: Split, receipt: Receipt, visitor: str
    ) -> None:
        """Write the arrival's folder under a temporary name and rename it."""
        numbers = [int(folder.name.split("-")[1]) for folder in self._folders()]
        time_text = receipt.received.strftime("%Y%m%dT%H%M%SZ")
        name = f"{time_text}-{max(numbers, default=0) + 1:06d}-{receipt.sha256[:16]}"
        new = Path(mkdtemp(prefix=_HALF_DONE, dir=self.folder))
        for file, content in files.items():
            write_bytes(new / file, content, mode=0o600)
        write_receipt(new, receipt, split)
        about = {"split": split, "team": submission.team, "system": submission.system, "visitor": visitor}
        write_json(new / _ABOUT, about, mode=0o600)
        new.rename(self.folder / name)
        sync_folder(self.folder)


def _read(folder: Path, faults: list[Fault]) -> Arrival | None:
    try:
        content = read_plain(folder / _ABOUT, _MOST_ABOUT_BYTES, faults)  # refuses pipes and devices, which never end
        if content is None:
            return None
        about = as_model(_About, strict_json(content), where=str(folder / _ABOUT))
    except (DataError, BadJsonError, OSError):
        faults.append(Fault("bad-arrival", str(folder), f"{_ABOUT} is missing or has been changed"))
        return None
    before = len(faults)
    receipt = read_receipt(folder, faults, about.split)
    if receipt is None and len(faults) == before:
        faults.append(Fault("bad-arrival", str(folder), f"no {FILES[about.split].receipt}"))
    return (
        Arrival(folder, about.team, about.system, about.split, receipt, about.visitor) if receipt is not None else None
    )


@dataclass(frozen=True, slots=True)
class ArrivalReport:
    """The outcome of collecting one arrival.

    Attributes:
        state: `taken-before` means that this content is a submission already, or was one until it was replaced.
        fault: why it was refused.
        contact: the contact address given with the submission.
        remarks: what a maintainer should look at.
    """

    arrival: Arrival
    state: Literal["added", "replaced", "unchanged", "taken-before", "refused"]
    fault: Fault | None = None
    contact: str = ""
    remarks: tuple[str, ...] = ()


def collect_inbox(
    inbox: Inbox,
    due_of: DueOf,
    root: Path,
    *,
    edition: Edition | None = None,
    accepted: Collection[str] = (),
    rehearse: bool = False,
    moment: datetime | None = None,
) -> tuple[list[ArrivalReport], list[Fault]]:
    """Accept all arrivals in order of their time; running it again changes nothing.

    Args:
        inbox: the inbox, which is not changed.
        due_of: returns the expected samples of an edition and split.
        root: the folder of all submissions.
        quarter: only its arrivals.
        accepted: hashes, or prefixes of hashes, of arrivals to accept for teams that exist already (see
            `Arrival.matches`); each must match one content of one entry.
        rehearse: report the outcome of each arrival without changing the submissions.

    Returns:
        The outcome of each arrival, and the faults of unreadable ones.

    Raises:
        UsageError: if an accepted hash matches no arrival, or more than one.
        WorkspaceError: if the folder of submissions cannot be written.
    """
    arrivals, faults = inbox.arrivals()
    welcome = {named for text in accepted for named in _accepted(text, arrivals)}
    wanted = [item for item in arrivals if edition is None or item.receipt.edition == edition]
    with TemporaryDirectory(prefix="hellofresh-") as temporary:
        place = Path(temporary) / "submissions" if rehearse else root
        if rehearse and root.is_dir():
            shutil.copytree(root, place, symlinks=True)
        return [_collect(item, due_of, place, welcome, moment or now()) for item in wanted], faults


def _accepted(text: str, arrivals: Sequence[Arrival]) -> list[str]:
    """Names of the arrivals that match an accepted hash; all must have one content and entry."""
    matching = [item for item in arrivals if item.matches(text)]
    if not matching:
        raise UsageError(
            f"no arrival with the hash {text[:80]!r}",
            expected=f"the beginning of a hash, at least {LEAST_HASH} characters of those that --list shows",
            fix="List the arrivals again: hellofresh submission add --inbox --list",
            code="unknown-arrival",
        )
    if len({(item.entry, item.receipt.sha256) for item in matching}) > 1:
        raise UsageError(
            f"{len(matching)} arrivals have a hash that begins with {text[:80]!r}",
            expected="one content of one entry",
            fix=f"Name one of them in full: {', '.join(item.folder.name for item in matching)}",
            code="ambiguous-arrival",
        )
    return [item.folder.name for item in matching]


def _collect(arrival: Arrival, due_of: DueOf, root: Path, accepted: Collection[str], moment: datetime) -> ArrivalReport:
    name = f"{arrival.receipt.edition}/{arrival.team}/{arrival.system}"
    place, contact = root / name, ""
    try:
        there = None if is_linked(place) else read_receipt(place, [], arrival.split)
        if there is not None and (arrival.receipt.sha256, arrival.receipt.received) in there.history:
            return ArrivalReport(arrival, "taken-before")
        due = due_of(arrival.receipt.edition, arrival.split)
        with TemporaryDirectory(prefix="hellofresh-") as temporary:
            folder = Path(temporary) / name  # the check expects this name
            for source in (arrival.folder / file for file in (FILES[arrival.split].jsonl, SYSTEM)):
                if source.is_file() and not source.is_symlink() and source.stat().st_size <= ARRIVAL_BYTES:
                    write_bytes(folder / source.name, source.read_bytes())
            submission = _checked(arrival, folder, due)
            contact = submission.info.contact
            _check_claim(arrival, place, root, accepted, moment)
            added = add_submission(folder, due, root, arrival.receipt.received)
    except DataError as error:
        fault = Fault(error.code, arrival.folder.name, error.what, error.fix)
        return ArrivalReport(arrival, "refused", fault, contact)
    remarks = [f"{fault.what} [{fault.code}]" for fault in added.warnings]
    remarks += copied_from(added.submission, standings(root, due), due)
    return ArrivalReport(arrival, added.state, None, contact, tuple(remarks))


def _checked(arrival: Arrival, folder: Path, due: Due) -> Submission:
    """The arrival's submission, if it has no fault and its content matches the receipt."""
    checked = inspect_submission(folder, due, arrival.receipt.received)
    if checked.submission is None:
        error = as_error(tuple(replace(fault, where=arrival.folder.name) for fault in checked.faults), "")
        fix = error.fix or "It passed when it arrived: see what changed."
        raise SubmissionError(error.what, fix=fix, code=error.code)
    if checked.submission.sha256 != arrival.receipt.sha256:
        raise SubmissionError("its receipt is for other content", fix="It was changed in the inbox.", code="altered")
    return checked.submission


def _check_claim(arrival: Arrival, place: Path, root: Path, accepted: Collection[str], moment: datetime) -> None:
    """Refuse an arrival that needs a maintainer's approval, or that would replace newer content by older."""
    if arrival.receipt.received > moment:
        what = f"it arrived at {utc_text(arrival.receipt.received)}, which is in the future"
        raise SubmissionError(what, fix="Set the clock right.", code="bad-time")
    there = read_receipt(place, [], arrival.split)
    if there is not None and there.sha256 == arrival.receipt.sha256:
        return
    if arrival.folder.name not in accepted and arrival.team in known_teams(root):
        what = "an entry of that name" if place.exists() else f"the team {arrival.team!r}"
        raise SubmissionError(
            f"{what} already exists, and the sender of this arrival is unknown",
            fix=f"Ask the team whether its receipt has this hash. If it has: --accept {arrival.hash}",
            code="known-entry" if place.exists() else "known-team",
        )
    if there is not None and there.received > arrival.receipt.received:
        what = f"the present entry arrived later, at {utc_text(there.received)}"
        raise SubmissionError(what, fix="Nothing to do: the newer one is kept.", code="older")
