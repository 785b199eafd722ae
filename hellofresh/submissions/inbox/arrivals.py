"""The inbox: a folder in which a site keeps what visitors hand in, until a maintainer takes it into the submissions.

Every arrival has a folder of its own, named by time, number and hash: nothing that a visitor says becomes part of a
path, and nothing that came in is ever changed. Who handed it in is not known: whether an arrival is really its team's
is for the maintainers to say. How often somebody came is counted by a keyed hash of the address, whose key lies in the
inbox; what is older than an hour is dropped whenever the inbox is used.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, StringConstraints, ValidationError

from hellofresh.core.clock import Event, check_clock, now
from hellofresh.core.errors import ConfigError, DataError, SubmissionError, WorkspaceError
from hellofresh.core.files import parse_toml, read_json, write_bytes, write_json
from hellofresh.core.net.lock import locked
from hellofresh.core.quarters import utc_text
from hellofresh.submissions.inbox.visits import WINDOW, Visit, Visits
from hellofresh.submissions.intake.check import Submission
from hellofresh.submissions.intake.content import problems
from hellofresh.submissions.intake.due import Due, check_time
from hellofresh.submissions.intake.faults import MAX_BYTES, MAX_INFO_BYTES, Fault
from hellofresh.submissions.intake.names import FOLDER_NAME
from hellofresh.submissions.intake.package import canonical_files
from hellofresh.submissions.intake.splits import SPLITS, SubmissionSplit
from hellofresh.submissions.receipts.receipt import Receipt, new_receipt, read_receipt, write_receipt

__all__ = ["LEAST_HASH", "VARIABLE", "Arrival", "HandedIn", "Inbox", "InboxLimits"]

VARIABLE = "HELLOFRESH_INBOX"
"""Environment variable that names the inbox of a site; without it nothing can be submitted there."""

_ARRIVAL = re.compile(r"\d{8}T\d{6}Z-\d{6}-[0-9a-f]{16}", re.ASCII)
_ABOUT, _LIMITS = "arrival.json", "limits.toml"
_HALF_DONE = ".arriving-"
_LOCK_S = 10.0
LEAST_HASH = 8
"""Characters of a hash by which an arrival can be named; who has the same ones by chance or effort makes it unclear."""
_SHOWN_HASH = 12


@dataclass(frozen=True, slots=True)
class InboxLimits:
    """How much an inbox takes.

    Attributes:
        arrival_bytes: of one arrival.
        inbox_bytes, inbox_arrivals: of all that lie in it.
        visitor_per_hour, all_per_hour: arrivals within an hour, of one visitor and of all together.
    """

    arrival_bytes: int = MAX_BYTES + MAX_INFO_BYTES
    inbox_bytes: int = 1_000_000_000
    inbox_arrivals: int = 1_000
    visitor_per_hour: int = 6
    all_per_hour: int = 60


@dataclass(frozen=True, slots=True)
class Arrival:
    """Something that was handed in.

    Attributes:
        folder: where it lies.
        team, system: the names of folders that it asks for.
        split: the split that it is for.
        receipt: what came in, and when.
    """

    folder: Path
    team: str
    system: str
    split: SubmissionSplit
    receipt: Receipt

    @property
    def entry(self) -> tuple[str, str, str, str]:
        """What it would be an entry of: quarter, split, team and system."""
        return str(self.receipt.edition), self.split.name, self.team, self.system

    @property
    def event(self) -> Event:
        """When it came in, for who holds a clock against it."""
        return Event(self.receipt.received, f"the arrival {self.folder.name}", str(self.folder.parent))

    @property
    def hash(self) -> str:
        """The beginning of the content's hash, as lists show it; the visitor's receipt has the whole."""
        return self.receipt.sha256[:_SHOWN_HASH]

    def matches(self, text: str) -> bool:
        """Whether a text is the beginning of the content's hash, or the name of the arrival's folder."""
        return text == self.folder.name or (len(text) >= LEAST_HASH and self.receipt.sha256.startswith(text))


@dataclass(frozen=True, slots=True)
class HandedIn:
    """The receipt for what was handed in, and whether it was new or lay there already."""

    receipt: Receipt
    new: bool


class _LimitsFile(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    arrival_bytes: int = Field(default=InboxLimits().arrival_bytes, ge=1, le=InboxLimits().arrival_bytes)
    inbox_bytes: PositiveInt = InboxLimits().inbox_bytes
    inbox_arrivals: int = Field(default=InboxLimits().inbox_arrivals, ge=1, le=100_000)
    visitor_per_hour: PositiveInt = InboxLimits().visitor_per_hour
    all_per_hour: PositiveInt = InboxLimits().all_per_hour


class _About(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    split: Annotated[str, StringConstraints(max_length=40)]
    team: Annotated[str, StringConstraints(max_length=40)]
    system: Annotated[str, StringConstraints(max_length=40)]


@dataclass(frozen=True, slots=True)
class Inbox:
    """An inbox on disk, which several processes may use at once.

    Attributes:
        folder: made when something comes in.
        limits: how much it takes.
    """

    folder: Path
    limits: InboxLimits = field(default_factory=InboxLimits)

    @classmethod
    def at(cls, folder: Path) -> Self:
        """The inbox with the limits that its `limits.toml` names; the usual ones where it says nothing.

        Raises:
            ConfigError: if that file cannot be read or says something unknown.
        """
        path = folder / _LIMITS
        try:
            return cls(folder, InboxLimits(**_LimitsFile.model_validate(parse_toml(path.read_bytes())).model_dump()))
        except FileNotFoundError:
            return cls(folder)
        except ValidationError as error:
            said = "; ".join(f"{name}: {what}" for name, what in problems(error))
            fix = f"The limits are {', '.join(_LimitsFile.model_fields)}: whole numbers above 0."
            raise ConfigError(said, where=str(path), fix=fix, code="config") from None
        except (OSError, ValueError) as error:
            raise ConfigError(f"cannot be read ({error})", where=str(path), code="config") from error

    def hand_in(
        self, submission: Submission, due: Due, visitor: str | None, moment: datetime | None = None
    ) -> HandedIn:
        """Keep a submission with a receipt, whole or not at all.

        What lies there already as the latest of its team and system keeps its receipt.

        Args:
            submission: what passed the check.
            due: what it was checked against.
            visitor: the address that it came from, None where that is not known.
            moment: the time that counts as now.

        Raises:
            SubmissionError: if the quarter takes no predictions at the moment (`not-open`, `closed`), it is too large,
                or too much came in (`too-often`, `inbox-full`).
            UsageError: if the clock is behind the newest arrival.
            WorkspaceError: if the inbox cannot be used.
        """
        files = canonical_files(submission, due.split)
        with self._locked():
            at = (moment or now()).replace(microsecond=0)
            lying, _ = self.arrivals()
            entry = (str(due.edition), due.split.name, submission.team, submission.system)
            before = next((item for item in reversed(lying) if item.entry == entry), None)
            if before is not None and before.receipt.sha256 == submission.sha256:
                return HandedIn(before.receipt, new=False)
            tasks = due.tasks_of(submission.labels)
            check_time(due, tasks, at)
            check_clock(at, (item.event for item in lying))
            visits = Visits(self.folder)
            recent, who = visits.recent(at), visits.visitor(visitor)
            self._check_size(files, lying)
            self._check_often(recent, who, at)
            receipt = new_receipt(due.edition, tasks, submission.sha256, at, None)
            self._keep(files, submission, due.split, receipt)
            visits.write([*recent, Visit(at, who)])
            return HandedIn(receipt, new=True)

    def arrivals(self) -> tuple[list[Arrival], list[Fault]]:
        """All that lies in the inbox, in the order in which it came, and what in it cannot be read."""
        found: list[Arrival] = []
        faults: list[Fault] = []
        for folder in self._folders():
            arrival = _read(folder, faults)
            found += [arrival] if arrival is not None else []
        return found, faults

    def forget_visits(self, moment: datetime | None = None) -> None:
        """Drop the hashes of those who came more than an hour ago."""
        if self.folder.is_dir():
            with self._locked():
                Visits(self.folder).recent(moment or now())

    def remove(self, arrivals: Sequence[Arrival]) -> None:
        """Take arrivals out of the inbox.

        Raises:
            WorkspaceError: if they cannot be removed.
        """
        with self._locked():
            for arrival in arrivals:
                shutil.rmtree(arrival.folder)

    def _folders(self) -> list[Path]:
        """Folders of arrivals; their names begin with the time and a number, so that their order is that of coming."""
        if not self.folder.is_dir():
            return []
        return sorted(
            path
            for path in self.folder.iterdir()
            if _ARRIVAL.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
        )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the inbox for this thread of this process; what an interrupted arrival left behind is removed."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with locked(self.folder / ".lock", what="using the inbox", wait_s=_LOCK_S, code="inbox-busy"):
                for path in self.folder.glob(f"{_HALF_DONE}*"):
                    shutil.rmtree(path, ignore_errors=True)
                yield
        except OSError as error:
            raise WorkspaceError(
                f"the inbox cannot be used ({error.strerror or error})",
                where=str(self.folder),
                fix="Check the folder's permissions and free space.",
                code="unwritable",
            ) from error

    def _check_size(self, files: Mapping[str, bytes], lying: Sequence[Arrival]) -> None:
        size = sum(map(len, files.values()))
        if size > self.limits.arrival_bytes:
            what = f"{size:,} bytes; at most {self.limits.arrival_bytes:,} are accepted"
            raise SubmissionError(what, fix="Shorten the rationales.", code="too-large")
        kept = sum(path.stat().st_size for item in lying for path in item.folder.iterdir())
        if len(lying) >= self.limits.inbox_arrivals or kept + size > self.limits.inbox_bytes:
            raise SubmissionError(
                "the inbox is full",
                fix="Try again tomorrow, or send the package to the maintainers as a pull request.",
                code="inbox-full",
            )

    def _check_often(self, recent: Sequence[Visit], who: str, at: datetime) -> None:
        mine = [visit for visit in recent if visit.visitor == who]
        for visits, most, whose in (
            (mine, self.limits.visitor_per_hour, "from your address"),
            (recent, self.limits.all_per_hour, "from everybody together"),
        ):
            if len(visits) >= most:
                free = visits[len(visits) - most].at + WINDOW
                minutes = -int((at - free).total_seconds() // 60)
                raise SubmissionError(
                    f"{len(visits)} arrivals {whose} within the last hour; at most {most} are accepted",
                    fix=f"Try again from {utc_text(free)} on, in {minutes} min.",
                    code="too-often",
                )

    def _keep(
        self, files: Mapping[str, bytes], submission: Submission, split: SubmissionSplit, receipt: Receipt
    ) -> None:
        """Write the arrival's folder beside its place and rename it."""
        numbers = [int(folder.name.split("-")[1]) for folder in self._folders()]
        time_text = receipt.received.strftime("%Y%m%dT%H%M%SZ")
        name = f"{time_text}-{max(numbers, default=0) + 1:06d}-{receipt.sha256[:16]}"
        new = Path(tempfile.mkdtemp(prefix=_HALF_DONE, dir=self.folder))
        for file, content in files.items():
            write_bytes(new / file, content, mode=0o600)
        write_receipt(new, receipt, split)
        about = {"split": split.name, "team": submission.team, "system": submission.system}
        write_json(new / _ABOUT, about, mode=0o600)
        new.rename(self.folder / name)
        _sync(self.folder)


def _read(folder: Path, faults: list[Fault]) -> Arrival | None:
    try:
        about = _About.model_validate(read_json(folder / _ABOUT))
    except (DataError, ValidationError, OSError):
        faults.append(Fault("bad-arrival", str(folder), f"{_ABOUT} is missing or not as it was written"))
        return None
    split = next((item for item in SPLITS if item.name == about.split), None)
    if split is None or not (FOLDER_NAME.fullmatch(about.team) and FOLDER_NAME.fullmatch(about.system)):
        faults.append(Fault("bad-arrival", str(folder), f"{_ABOUT} names no split, team and system that are taken"))
        return None
    before = len(faults)
    receipt = read_receipt(folder, faults, split)
    if receipt is None and len(faults) == before:
        faults.append(Fault("bad-arrival", str(folder), f"no {split.receipt}"))
    return Arrival(folder, about.team, about.system, split, receipt) if receipt is not None else None


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
