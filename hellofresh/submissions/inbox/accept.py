"""Taking what lies in an inbox into the folder of submissions, by all rules, with the time at which it arrived.

Nobody knows who handed an arrival in. So one for a team that is there already is refused until a maintainer, who has
asked the team, accepts that very content by its hash; else a stranger could push a team's entries out, or hand in a
later version that comes along with the team's own.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from hellofresh.core.clock import now
from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError, SubmissionError, UsageError
from hellofresh.core.files import write_bytes
from hellofresh.core.quarters import utc_text
from hellofresh.submissions.inbox.arrivals import LEAST_HASH, Arrival, Inbox
from hellofresh.submissions.intake.check import Submission, as_error, inspect_submission
from hellofresh.submissions.intake.due import Due
from hellofresh.submissions.intake.faults import Fault
from hellofresh.submissions.intake.splits import SubmissionSplit
from hellofresh.submissions.intake.system import SYSTEM
from hellofresh.submissions.receipts.receipt import read_receipt
from hellofresh.submissions.receipts.standing import copied_from, is_linked, standings
from hellofresh.submissions.receipts.store import add_submission, known_teams

__all__ = ["ArrivalReport", "DueOf", "collect_inbox"]

DueOf = Callable[[Edition, SubmissionSplit], Due]
"""Gives what is due in a quarter on a split."""


@dataclass(frozen=True, slots=True)
class ArrivalReport:
    """What became of an arrival.

    Attributes:
        arrival: the arrival.
        state: `taken-before` is what lies among the submissions already, or did until it was replaced.
        fault: why it was refused.
        contact: where whoever handed it in says that the maintainers can reach them.
        remarks: what deserves a second look.
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
    """Take in all arrivals, in the order in which they came. Once is as good as twice.

    Args:
        inbox: where they lie; it stays as it is.
        due_of: gives what is due.
        root: the folder of all submissions.
        quarter: only its arrivals.
        accepted: hashes of arrivals that may come in although the team is there already, or beginnings of them
            (see `Arrival.matches`); each must fit one content of one entry.
        rehearse: find out what would become of each, and leave the submissions as they are.
        moment: the time that counts as now.

    Returns:
        What became of each, and what in the inbox cannot be read.

    Raises:
        UsageError: if an accepted hash fits no arrival, or more than one.
        WorkspaceError: if the folder of submissions cannot be written.
    """
    arrivals, faults = inbox.arrivals()
    welcome = {named for text in accepted for named in _accepted(text, arrivals)}
    wanted = [item for item in arrivals if edition is None or item.receipt.edition == edition]
    with _place_to_work(root, rehearse=rehearse) as place:
        found = [_collect(item, due_of, place, welcome, moment or now()) for item in wanted]
    return found, faults


def _accepted(text: str, arrivals: Sequence[Arrival]) -> list[str]:
    """The names of the arrivals that a maintainer accepts: one content of one entry, however often it came."""
    matching = [item for item in arrivals if item.matches(text)]
    if not matching:
        raise UsageError(
            f"no arrival with the hash {text[:80]!r}",
            expected=f"the beginning of a hash, at least {LEAST_HASH} characters of those that --list shows",
            fix="List the arrivals again: hellofresh submission collect --list",
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


@contextmanager
def _place_to_work(root: Path, *, rehearse: bool) -> Iterator[Path]:
    """The folder of submissions, or a copy that is thrown away."""
    if not rehearse:
        yield root
        return
    with tempfile.TemporaryDirectory(prefix="hellofresh-") as temporary:
        copy = Path(temporary) / "submissions"
        if root.is_dir():
            shutil.copytree(root, copy, symlinks=True)
        yield copy


def _collect(arrival: Arrival, due_of: DueOf, root: Path, accepted: Collection[str], moment: datetime) -> ArrivalReport:
    place = root / str(arrival.receipt.edition) / arrival.team / arrival.system
    contact = ""
    try:
        if _was_taken(arrival, place):
            return ArrivalReport(arrival, "taken-before")
        due = due_of(arrival.receipt.edition, arrival.split)
        with _laid_out(arrival) as folder:
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


def _was_taken(arrival: Arrival, place: Path) -> bool:
    """Whether it is the entry that lies there, or one that this entry replaced."""
    receipt = None if is_linked(place) else read_receipt(place, [], arrival.split)
    if receipt is None:
        return False
    mine = arrival.receipt.sha256, arrival.receipt.received
    return any((item.sha256, item.received) == mine for item in (receipt, *receipt.earlier))


@contextmanager
def _laid_out(arrival: Arrival) -> Iterator[Path]:
    """A copy of the arrival's two files in folders named as the check wants them."""
    with tempfile.TemporaryDirectory(prefix="hellofresh-") as temporary:
        folder = Path(temporary) / str(arrival.receipt.edition) / arrival.team / arrival.system
        for name in (arrival.split.jsonl, SYSTEM):
            source = arrival.folder / name
            if source.is_file() and not source.is_symlink():
                write_bytes(folder / name, source.read_bytes())
        yield folder


def _checked(arrival: Arrival, folder: Path, due: Due) -> Submission:
    """What it says, if it is without fault and still what the receipt is for."""
    edition, received = arrival.receipt.edition, arrival.receipt.received
    checked = inspect_submission(folder, edition, due.ids, received, taken_down=due.taken_down, split=due.split)
    if checked.submission is None:
        error = as_error(tuple(replace(fault, where=arrival.folder.name) for fault in checked.faults), "")
        raise SubmissionError(error.what, fix=error.fix or "It passed when it arrived: see what changed.",
                              code=error.code)  # fmt: skip
    if checked.submission.sha256 != arrival.receipt.sha256:
        raise SubmissionError("its receipt is for other content", fix="It was changed in the inbox.", code="altered")
    return checked.submission


def _check_claim(arrival: Arrival, place: Path, root: Path, accepted: Collection[str], moment: datetime) -> None:
    """Refuse what a maintainer has to say yes to, and what would put an older content in place of a newer one."""
    if arrival.receipt.received > moment:
        when = utc_text(arrival.receipt.received)
        raise SubmissionError(
            f"it arrived at {when}, which is in the future", fix="Set the clock right.", code="bad-time"
        )
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
