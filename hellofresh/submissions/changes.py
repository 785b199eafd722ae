"""What is changed in the folder of submissions, against a copy of it as it was before: the review of a pull request.

Both folders are data: a path is compared with the one form that is accepted, links are not followed, and what the
check reads is bounded. Nothing in them is run.
"""

from __future__ import annotations

import filecmp
import os
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from hellofresh.core.clock import now
from hellofresh.core.editions import Edition, parse_edition
from hellofresh.core.errors import DataError, HelloFreshError, UsageError
from hellofresh.core.files import as_model, parse_toml
from hellofresh.core.quarters import parse_utc, utc_text
from hellofresh.core.strict import Strict
from hellofresh.submissions.check import Due
from hellofresh.submissions.format import FILES, SYSTEM, Fault, SystemInfo, has_split
from hellofresh.submissions.names import FOLDER_NAME
from hellofresh.submissions.receipts import Receipt, known_teams, look_alike, read_receipt
from hellofresh.submissions.standings import SubmissionStanding, standings
from hellofresh.tasks.samples import MAIN, Split

DueOf = Callable[[Edition, Split], Due]
"""Gives what is due in an edition on a split; raises an error with the code `no-release` where nothing is."""

_MOST_CHANGES = 200
_TEAMS = "TEAMS.toml"
_SPLIT_OF = {name: split for split, files in FILES.items() for name in files.names}
_HANDED_IN = frozenset({SYSTEM, *(name for files in FILES.values() for name in (files.jsonl, files.receipt))})


@dataclass(frozen=True, slots=True)
class ChangedEntry:
    """What a change does to one submission.

    Attributes:
        place: edition, team and system, as the folders are named.
        action: `new`, `changed` or `withdrawn`.
        info: what it says of itself, None where that cannot be read or it was withdrawn.
        tasks: for each task (and split but the main one), whether it counts.
        flags: signs that it was copied, or bears another's name.
    """

    place: str
    action: str
    info: SystemInfo | None = None
    tasks: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(slots=True)
class ChangeReport:
    """What changed and what is wrong with it; the change can be merged where there is no fault."""

    entries: list[ChangedEntry] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    warnings: list[Fault] = field(default_factory=list)


_Place = tuple[Edition, str, str]


class _Team(Strict):
    accounts: list[str]


def check_changes(
    after: Path, before: Path, due_of: DueOf, *, author: str = "", moment: datetime | None = None
) -> ChangeReport:
    """Check what a change does to the submissions.

    Args:
        after: the folder of all submissions with the change.
        before: the same folder without it.
        due_of: gives what is due.
        author: account that made the change; where it is given, only a team's own accounts may change its folder.
        moment: the time that counts as now.

    Raises:
        UsageError: if one of them is not a folder.
        DataError: if `TEAMS.toml` in `before` is not a table of teams.
    """
    for folder in (after, before):
        if not folder.is_dir():
            raise UsageError("no such folder", where=str(folder), expected="a folder of submissions", code="no-folder")
    report, at = ChangeReport(), moment or now()
    changed = list(_changed(after, before))
    if len(changed) > _MOST_CHANGES:
        what = f"{len(changed):,} changed files; at most {_MOST_CHANGES} are checked"
        report.faults.append(Fault("too-many-files", str(after), what, "Send them in parts."))
        return report
    dues = _Dues(due_of)
    touched: dict[_Place, set[Split]] = defaultdict(set)
    for path in changed:
        place = _place_of(path, after, report)
        if place is not None:
            splits = _splits_of(path, after, before)
            fault = next(filter(None, (_closed(dues, place[0], split, at) for split in splits)), None)
            if fault is None:
                touched[place] |= splits
            else:
                report.faults.append(Fault(fault[0], _shown(path), fault[1], "Leave the folder as it is."))
    _check_teams(before, sorted({team for _, team, _ in touched}), author, report)
    for place in sorted(touched, key=str):
        here = [dues[place[0], split] for split in Split if split in touched[place]]
        report.entries.append(_check_entry((before, after), place, here, at, report))
    return report


class _Dues(dict[tuple[Edition, Split], Due]):
    """What is due, asked for once; a split that is not released is not there."""

    def __init__(self, due_of: DueOf) -> None:
        self._due_of = due_of

    def find(self, edition: Edition, split: Split) -> Due | None:
        try:
            return self[edition, split]
        except HelloFreshError as error:
            if error.code != "no-release":
                raise
            return None

    def __missing__(self, key: tuple[Edition, Split]) -> Due:
        self[key] = due = self._due_of(*key)
        return due


def _files(root: Path) -> Iterator[str]:
    """Paths of all files, and of links to folders, below a folder."""
    for folder, folders, names in os.walk(root):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        yield from (Path(folder, name).relative_to(root).as_posix() for name in (*names, *links))


def _changed(after: Path, before: Path) -> Iterator[str]:
    there, was = set(_files(after)), set(_files(before))
    yield from sorted(
        path for path in there | was if path not in there or path not in was or not _same(after / path, before / path)
    )


def _same(one: Path, other: Path) -> bool:
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and one.readlink() == other.readlink()
    return filecmp.cmp(one, other, shallow=False)


def _place_of(path: str, after: Path, report: ChangeReport) -> _Place | None:
    """The submission that a file belongs to, or None and what is wrong with the path."""
    parts = path.split("/")
    if len(parts) != 4 or parts[0] == "example":
        fix = "Change only submissions/<edition>/<team>/<system>/; anything else is for another request."
        report.faults.append(Fault("outside-submissions", _shown(path), "a file that is not part of a submission", fix))
        return None
    edition, team, system, name = parts
    fault: tuple[str, str, str] | None = None
    if not (FOLDER_NAME.fullmatch(team) and FOLDER_NAME.fullmatch(system)):
        fault = "bad-folder", "a folder with another name", "Name folders in lower-case letters, digits and hyphens."
    elif name not in _HANDED_IN:
        files = FILES[_SPLIT_OF.get(name, MAIN)]
        made = f", which also makes {files.jsonl} of {files.csv}." if name == files.csv else "."
        fix = f"A submission has {files.jsonl} and {SYSTEM}, and {files.receipt} from 'hellofresh submission add'{made}"
        fault = "unknown-file", "not a file of a submission", fix
    elif (after / path).is_symlink() or ((after / path).is_file() and os.access(after / path, os.X_OK)):
        what = "a link" if (after / path).is_symlink() else "a program"
        fault = "not-a-file", what, "Submit plain files."
    try:
        if fault is None:
            return parse_edition(edition), team, system
    except UsageError as error:
        fault = "bad-quarter", error.what, f"Expected {error.expected}."
    report.faults.append(Fault(fault[0], _shown(path), *fault[1:]))
    return None


def _splits_of(path: str, *roots: Path) -> set[Split]:
    """The splits that a change of a file touches: what a system says of itself is part of all that it handed in."""
    folder, _, name = path.rpartition("/")
    if name in _SPLIT_OF:
        return {_SPLIT_OF[name]}
    return {split for split in Split if any(has_split(root / folder, split) for root in roots)} or {MAIN}


def _closed(dues: _Dues, edition: Edition, split: Split, moment: datetime) -> tuple[str, str] | None:
    """Code and reason why nothing of an edition's split may be changed now."""
    what = str(edition) if split is MAIN else f"the {split} split of {edition}"
    due = dues.find(edition, split)
    if due is None:
        return "no-release", f"{what} has no public samples"
    if not due.edition.is_living:
        return None
    if due.revealed:
        return "revealed", f"{what} is revealed: predictions are no longer accepted"
    if moment < min(calendar.opens for calendar in due.calendars.values()):
        return "not-open", f"{what} has not opened"
    if due.deadline is not None and moment >= due.deadline:
        return "closed", f"{what} accepted predictions until {utc_text(due.deadline)}"
    return None


def _shown(path: str) -> str:
    """A path from outside as one printable line."""
    return ascii(f"submissions/{path}")[1:-1][:200]


def _check_teams(before: Path, teams: Sequence[str], author: str, report: ChangeReport) -> None:
    """One team at a time; one that is there already is changed by its own accounts only, as `TEAMS.toml` names them."""
    if len(teams) > 1:
        what = f"the folders of {len(teams)} teams: {', '.join(teams)[:200]}"
        report.faults.append(Fault("several-teams", "the request", what, "Send a request for each team."))
    if not author:
        return
    owners, known = _accounts(before / _TEAMS), known_teams(before)
    for team in teams:
        if author.casefold() in owners.get(team, ()):
            continue
        if team in known or team in owners:
            what = f"the account {author[:80]!r} is not one of the team's in submissions/{_TEAMS}"
            report.faults.append(Fault("other-team", team, what, "The team, or a maintainer, has to send it."))
        else:
            what = f"a new team: on merging, add its account to submissions/{_TEAMS}"
            report.warnings.append(Fault("new-team", team, what))


def _accounts(path: Path) -> Mapping[str, Sequence[str]]:
    """Accounts by team. The file is the maintainers' own, so what is wrong with it is an error."""
    if not path.is_file() or path.is_symlink():
        return {}
    where, expected = f"submissions/{_TEAMS}", '[team] with accounts = ["name"]'
    try:
        table = parse_toml(path.read_bytes())
        teams = as_model(dict[str, _Team], table, where=where, fix=f"Write {expected}", code="bad-teams")
    except ValueError as error:
        raise DataError(f"not TOML ({error})", where=where, expected=expected, code="bad-teams") from None
    return {team: tuple(name.casefold() for name in row.accounts) for team, row in teams.items()}


def _check_entry(
    roots: tuple[Path, Path], place: _Place, dues: Sequence[Due], moment: datetime, report: ChangeReport
) -> ChangedEntry:
    (before, after), name = roots, "/".join(map(str, place))
    was = (before / name).is_dir()
    if not any((after / name).glob("*")):
        return ChangedEntry(name, "withdrawn")
    info: SystemInfo | None = None
    tasks: list[str] = []
    flags: list[str] = []
    for due in dues:
        on = "" if due.split is MAIN else f", {due.split}"
        earlier = read_receipt(before / name, [], due.split) if was else None
        there = [item for item in standings(after, due, moment).entries if item.folder == after / name]
        tasks += [] if there else [f"{due.split} split: withdrawn"]
        for standing in there:
            report.faults += (item for item in _within(after, standing.faults) if item not in report.faults)
            report.warnings += (item for item in _within(after, standing.warnings) if item not in report.warnings)
            _check_receipt(standing, FILES[due.split].receipt, earlier, moment, report)
            _check_name(standing, before, report)
            info = info or (standing.submission.info if standing.submission is not None else None)
            tasks += (f"{task}{on}: {outcome}" for task, outcome in standing.tasks.items())
            flags += standing.flags
    return ChangedEntry(name, "changed" if was else "new", info, tuple(tasks), tuple(flags))


def _within(after: Path, faults: Sequence[Fault]) -> Iterator[Fault]:
    """Faults with the place in the folder of submissions, wherever the copy lies that was checked."""
    return (
        Fault(fault.code, fault.where.replace(str(after), "submissions"), fault.what, fault.fix) for fault in faults
    )


def _check_name(standing: SubmissionStanding, before: Path, report: ChangeReport) -> None:
    submission = standing.submission
    other = look_alike(submission.team, submission.info.team, known_teams(before)) if submission is not None else ""
    if submission is not None and other:
        what = f"the team {submission.info.team!r} looks like the team {other!r}"
        fix = "Take another name, or the team's folder."
        report.faults.append(Fault("look-alike", standing.origin, what, fix))


def _check_receipt(
    standing: SubmissionStanding, name: str, earlier: Receipt | None, moment: datetime, report: ChangeReport
) -> None:
    """What a single folder cannot show: receipts that were taken out, or do not fit."""
    submission, receipt, where = standing.submission, standing.receipt, f"{standing.origin}/{name}"
    fix = "Take it out; 'hellofresh submission add' gives a new one."
    if receipt is None:
        if earlier is not None:
            report.faults.append(Fault("lost-receipt", where, "the earlier receipt is missing", "Leave it in."))
        else:
            what = "no receipt: without one it is not scored"
            report.warnings.append(Fault("no-receipt", where, what, "A maintainer runs 'hellofresh submission add'."))
        return
    if submission is not None and receipt.sha256 != submission.sha256:
        report.faults.append(Fault("altered", where, "the receipt is for other content", fix))
    if receipt.received > moment:
        what = f"received {utc_text(receipt.received)}, which is in the future"
        report.faults.append(Fault("future-receipt", where, what, fix))
    if earlier is not None and not _history(earlier) <= _history(receipt):
        report.faults.append(Fault("lost-receipt", where, "earlier receipts are missing from its history", fix))


def _history(receipt: Receipt) -> set[tuple[str, datetime]]:
    """Content and time of a receipt and of those that it replaced."""
    return {(one.sha256, one.received) for one in (*receipt.earlier, receipt)}


def merged_at(folder: Path) -> datetime:
    """When the present content of a folder came into the branch that is checked out, by its own line of commits.

    The time is that of the merge, not the one that a contributor's commit claims, where requests are merged by a merge
    commit, or squashed or rebased by the host.

    Raises:
        UsageError: if the folder is in no repository, or has changes that are not committed.
    """
    changed = _git(folder, "status", "--porcelain", "-z", "--ignored", "--", ".")
    if changed or not _git(folder, "ls-files", "-z", "--", "."):
        fix = "Commit or undo the changes first."
        raise UsageError("there are uncommitted changes", where=str(folder), fix=fix, code="not-committed")
    return parse_utc(_git(folder, "log", "-1", "--first-parent", "--format=%cI", "--", ".").strip())


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=120)  # noqa: S603 - no shell
    except FileNotFoundError:
        raise UsageError("git is not installed", code="no-git") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git {arguments[0]} took too long", where=str(folder), code="git-failed") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()[:300]
        raise UsageError(f"git {arguments[0]} failed: {said!r}", where=str(folder), code="git-failed") from None
    return done.stdout.decode(errors="replace")
