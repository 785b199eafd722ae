"""Review of a pull request: compare the folder of submissions with a copy from before the change.

Both folders are untrusted: only one form of path is accepted, links are not followed, and the amount that is read is
bounded. Nothing in them is run.
"""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path

from pydantic import Field

from hellofresh.core.children import plain_environment
from hellofresh.core.clock import now
from hellofresh.core.editions import Edition, parse_edition
from hellofresh.core.errors import DataError, HelloFreshError, UsageError
from hellofresh.core.files import as_model, parse_toml, sha256_file
from hellofresh.core.quarters import parse_utc, utc_text
from hellofresh.core.strict import Strict
from hellofresh.submissions.check import Due, DueOf
from hellofresh.submissions.format import FILES, SYSTEM, Fault, SystemInfo, has_split
from hellofresh.submissions.names import FOLDER_NAME
from hellofresh.submissions.receipts import Receipt, known_teams, look_alike, read_receipt
from hellofresh.submissions.standings import SubmissionStanding, standings
from hellofresh.tasks.samples import MAIN, Split

TEAMS = "TEAMS.toml"
_MOST_CHANGES = 200
_SPLIT_OF = {name: split for split, files in FILES.items() for name in files}
_HANDED_IN = frozenset({SYSTEM, *(name for files in FILES.values() for name in (files.jsonl, files.receipt))})
_Place = tuple[Edition, str, str]


@dataclass(frozen=True, slots=True)
class ChangedEntry:
    """What a change does to one submission.

    Attributes:
        place: edition, team and system, as the folders are named.
        action: `new`, `changed` or `withdrawn`.
        info: its `system.toml`, None where that cannot be read or the submission was withdrawn.
        tasks: whether it counts, by task (splits other than the main one are named too).
        flags: signs that it was copied or uses another team's name.
    """

    place: str
    action: str
    info: SystemInfo | None = None
    tasks: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(slots=True)
class ChangeReport:
    """The changed entries and their faults; the change can be merged if there are no faults."""

    entries: list[ChangedEntry] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    warnings: list[Fault] = field(default_factory=list)


def check_changes(
    after: Path, before: Path, due_of: DueOf, *, author: str = "", moment: datetime | None = None
) -> ChangeReport:
    """Check a change to the folder of submissions.

    Args:
        after: the folder of all submissions after the change.
        before: the same folder before it.
        due_of: returns the expected samples of an edition and split.
        author: account that made the change; where it is given, only a team's own accounts may change its folder.

    Raises:
        UsageError: if `after` or `before` is not a folder.
        DataError: if `TEAMS.toml` in `before` is not a table of teams.
    """
    for folder in (after, before):
        if not folder.is_dir():
            raise UsageError("no such folder", where=str(folder), expected="a folder of submissions", code="no-folder")
    report, at, dues = ChangeReport(), moment or now(), cache(due_of)
    there, was = _files(after), _files(before)
    changed = sorted(path for path in there.keys() | was.keys() if there.get(path) != was.get(path))
    if len(changed) > _MOST_CHANGES:
        what = f"{len(changed):,} changed files; at most {_MOST_CHANGES} are checked"
        report.faults.append(Fault("too-many-files", str(after), what, "Send them in parts."))
        return report
    touched: dict[_Place, set[Split]] = defaultdict(set)
    for path in changed:
        place = _place_of(path, after, report)
        if place is None:
            continue
        # `system.toml` belongs to the content of every split.
        below, _, name = path.rpartition("/")
        both = {split for split in Split if has_split(after / below, split) or has_split(before / below, split)}
        splits = {_SPLIT_OF[name]} if name in _SPLIT_OF else both or {MAIN}
        faults = [fault for split in sorted(splits) if (fault := _closed(dues, place[0], split, at)) is not None]
        report.faults += (Fault(code, _shown(path), what, "Leave the folder as it is.") for code, what in faults[:1])
        touched[place] |= set() if faults else splits
    touched = {place: splits for place, splits in touched.items() if splits}
    _check_teams(before, sorted({team for _, team, _ in touched}), author, report)
    for place in sorted(touched, key=str):
        here = [dues(place[0], split) for split in Split if split in touched[place]]
        report.entries.append(_check_entry((before, after), place, here, at, report))
    return report


def _files(root: Path) -> dict[str, object]:
    """Content of all files and folder links below a folder, by path: the target of a link, or the hash of a file."""
    found: dict[str, object] = {}
    for folder, folders, names in os.walk(root):
        for path in (Path(folder, name) for name in (*names, *folders)):
            if path.is_symlink():
                found[path.relative_to(root).as_posix()] = path.readlink()
            elif path.is_file():
                found[path.relative_to(root).as_posix()] = sha256_file(path)
    return found


def _place_of(path: str, after: Path, report: ChangeReport) -> _Place | None:
    """The submission that a file belongs to; None if the path is wrong, with the fault added to the report."""
    parts = path.split("/")
    code, fix = "", "Change only submissions/<edition>/<team>/<system>/; anything else is for another request."
    if len(parts) != 4 or parts[0] == "example":
        report.faults.append(Fault("outside-submissions", _shown(path), "a file that is not part of a submission", fix))
        return None
    edition, team, system, name = parts
    if not (FOLDER_NAME.fullmatch(team) and FOLDER_NAME.fullmatch(system)):
        code, what = "bad-folder", "a folder with another name"
        fix = "Name folders in lower-case letters, digits and hyphens."
    elif name not in _HANDED_IN:
        code, what, files = "unknown-file", "not a file of a submission", FILES[_SPLIT_OF.get(name, MAIN)]
        made = f", which also makes {files.jsonl} of {files.csv}." if name == files.csv else "."
        fix = f"A submission has {files.jsonl} and {SYSTEM}, and {files.receipt} from 'hellofresh submission add'{made}"
    elif (after / path).is_symlink() or ((after / path).is_file() and os.access(after / path, os.X_OK)):
        code, what = "not-a-file", "a link" if (after / path).is_symlink() else "a program"
        fix = "Submit plain files."
    try:
        if not code:
            return parse_edition(edition), team, system
    except UsageError as error:
        code, what, fix = "bad-quarter", error.what, f"Expected {error.expected}."
    report.faults.append(Fault(code, _shown(path), what, fix))
    return None


def _closed(dues: DueOf, edition: Edition, split: Split, moment: datetime) -> tuple[str, str] | None:
    """Code and reason if an edition's split may not be changed now, else None."""
    what = str(edition) if split is MAIN else f"the {split} split of {edition}"
    try:
        due = dues(edition, split)
    except HelloFreshError as error:
        if error.code != "no-release":
            raise
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
    """An untrusted path as one printable line."""
    return ascii(f"submissions/{path}")[1:-1][:200]


class _Team(Strict):
    """A table of `TEAMS.toml`: the accounts that may change the team's folder."""

    accounts: list[str] = Field(default_factory=list)


def _read_teams(root: Path) -> Mapping[str, _Team]:
    """The maintainers' list of teams, empty without a file.

    Raises:
        DataError: if it is not a table of teams.
    """
    path, where, expected = root / TEAMS, f"submissions/{TEAMS}", '[team] with accounts = ["name"]'
    try:
        table = parse_toml(path.read_bytes()) if path.is_file() and not path.is_symlink() else {}
    except ValueError as error:
        raise DataError(f"not TOML ({error})", where=where, expected=expected, code="bad-teams") from None
    return as_model(dict[str, _Team], table, where=where, fix=f"Write {expected}", code="bad-teams")


def _check_teams(before: Path, teams: Sequence[str], author: str, report: ChangeReport) -> None:
    """Require a single team per change; an existing team may be changed only by its accounts in `TEAMS.toml`."""
    if len(teams) > 1:
        what = f"the folders of {len(teams)} teams: {', '.join(teams)[:200]}"
        report.faults.append(Fault("several-teams", "the request", what, "Send a request for each team."))
    owners = _read_teams(before) if author else {}
    known = known_teams(before)
    for team in teams if author else ():
        accounts = owners[team].accounts if team in owners else []
        if author.casefold() in map(str.casefold, accounts):
            continue
        if team in known or team in owners:
            what = f"the account {author[:80]!r} is not one of the team's in submissions/{TEAMS}"
            report.faults.append(Fault("other-team", team, what, "The team, or a maintainer, has to send it."))
        else:
            what = f"a new team: on merging, add its account to submissions/{TEAMS}"
            report.warnings.append(Fault("new-team", team, what))


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
            for found, kept in ((standing.faults, report.faults), (standing.warnings, report.warnings)):
                within = (replace(one, where=one.where.replace(str(after), "submissions")) for one in found)
                kept.extend(fault for fault in within if fault not in kept)
            _check_receipt(standing, FILES[due.split].receipt, earlier, moment, report)
            if (submission := standing.submission) is not None:
                info = info or submission.info
                report.faults += look_alike(submission.team, submission.info.team, known_teams(before), standing.origin)
            tasks += (f"{task}{on}: {outcome}" for task, outcome in standing.tasks.items())
            flags += standing.flags
    return ChangedEntry(name, "changed" if was else "new", info, tuple(tasks), tuple(flags))


def _check_receipt(
    standing: SubmissionStanding, name: str, earlier: Receipt | None, moment: datetime, report: ChangeReport
) -> None:
    """Report receipts that were removed or do not match, which needs both folders."""
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
    if earlier is not None and not earlier.history <= receipt.history:
        report.faults.append(Fault("lost-receipt", where, "earlier receipts are missing from its history", fix))


def merged_at(folder: Path) -> datetime:
    """When the present content of a folder was merged into the current branch, by first-parent history.

    This is the time of the merge rather than the time in a contributor's commit, provided that requests are merged by a
    merge commit, or squashed or rebased by the host.

    Raises:
        UsageError: if the folder is in no repository, or has changes that are not committed.
    """
    changed = _git(folder, "status", "--porcelain", "-z", "--ignored", "--", ".")
    if changed or not _git(folder, "ls-files", "-z", "--", "."):
        fix = "Commit or undo the changes first."
        raise UsageError("there are uncommitted changes", where=str(folder), fix=fix, code="not-committed")
    return parse_utc(_git(folder, "log", "-1", "--first-parent", "--format=%cI", "--", ".").strip())


def _git(folder: Path, *arguments: str) -> str:
    # A submitted folder may be the bare repository that git finds first, whose settings name programs to run.
    command = ["git", "-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - no shell
            command, capture_output=True, check=True, timeout=120, env=plain_environment("GIT_", "XDG_")
        )
    except FileNotFoundError:
        raise UsageError("git is not installed", code="no-git") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git {arguments[0]} took too long", where=str(folder), code="git-failed") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()[:300]
        raise UsageError(f"git {arguments[0]} failed: {said!r}", where=str(folder), code="git-failed") from None
    return done.stdout.decode(errors="replace")
