"""The review of a pull request that brings submissions: by git's objects alone, without checking anything out.

Paths and contents of the request are data: a path is compared with the one form that is taken, a content is read only
where the path has that form, it is a plain file, and it is not too large. Nothing of it is run.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from hellofresh.core.clock import now
from hellofresh.core.editions import Edition, is_edition, parse_edition
from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.quarters import parse_utc, utc_text
from hellofresh.submissions.intake.check import Submission
from hellofresh.submissions.intake.due import Due
from hellofresh.submissions.intake.faults import MAX_BYTES, MAX_INFO_BYTES, MAX_RECEIPT_BYTES, Fault
from hellofresh.submissions.intake.names import FOLDER_NAME
from hellofresh.submissions.intake.splits import MAIN, SPLITS, SubmissionSplit
from hellofresh.submissions.intake.system import SYSTEM
from hellofresh.submissions.receipts.receipt import Receipt, read_receipt
from hellofresh.submissions.receipts.standing import SubmissionStanding, standings
from hellofresh.submissions.receipts.store import KnownTeams, known_teams, look_alike

__all__ = ["Dues", "FileChange", "ReviewReport", "ReviewedEntry", "changes_between", "merged_at", "review"]

_TIMEOUT_S = 120
_MOST_CHANGES = 200
_PLACE = re.compile(r"submissions/([^/]+)/([^/]+)/([^/]+)/([^/]+)", re.DOTALL)
_SIZES = {
    SYSTEM: MAX_INFO_BYTES,
    **{split.jsonl: MAX_BYTES for split in SPLITS},
    **{split.receipt: MAX_RECEIPT_BYTES for split in SPLITS},
}
_SPLIT_OF = {name: split for split in SPLITS for name in split.files}
_TEAMS = "TEAMS.toml"
_ABSENT = "000000"
_PLAIN = "100644"
_COMMIT = re.compile(r"[0-9a-f]{40,64}")

Dues = Mapping[Edition, Due]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One path that differs; modes are git's, `000000` where there is nothing."""

    path: str
    old_mode: str
    new_mode: str
    new_object: str


@dataclass(frozen=True, slots=True)
class ReviewedEntry:
    """What a request does to one submission."""

    edition: Edition
    team: str
    system: str
    action: str
    submission: Submission | None = None
    tasks: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewReport:
    """What the review found; the request is fit to be merged where there is no fault."""

    entries: tuple[ReviewedEntry, ...]
    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...]


class _Git:
    """Reads a repository; every argument that comes from outside is a full object name."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository

    def _run(self, *arguments: str, none_if_1: bool = False) -> bytes:
        """What git prints; with `none_if_1`, nothing where its exit code 1 says that there is nothing."""
        command = ["git", "-C", str(self._repository), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, check=True, timeout=_TIMEOUT_S)  # noqa: S603 - no shell
        except FileNotFoundError:
            raise UsageError("git is not installed", code="no-git") from None
        except subprocess.TimeoutExpired:
            raise DataError(f"git {arguments[0]} took too long", code="git-failed") from None
        except subprocess.CalledProcessError as error:
            if none_if_1 and error.returncode == 1:
                return b""
            said = error.stderr.decode(errors="replace").strip()[:300]
            raise UsageError(
                f"git {arguments[0]} failed: {said!r}", where=str(self._repository), code="git-failed"
            ) from None
        return done.stdout

    def commit(self, name: str) -> str:
        """The full name of a commit."""
        named = ("--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        found = self._run("rev-parse", *named, none_if_1=True).decode().strip()
        if not _COMMIT.fullmatch(found):
            fix = "Fetch it first: git fetch, or name another with --base and --head."
            raise UsageError(f"no commit {name[:80]!r}", where=str(self._repository), fix=fix, code="no-commit")
        return found

    def merge_base(self, base: str, head: str) -> str:
        """Where the request left the base."""
        found = self._run("merge-base", base, head, none_if_1=True).decode().split()
        if not found:
            raise UsageError(
                f"the commits {base[:12]} and {head[:12]} have no history in common",
                where=str(self._repository),
                expected="a request that began at a commit of the base",
                fix="Fetch the whole history (git fetch --unshallow); or send it from a branch of the base.",
                code="unrelated-history",
            )
        return found[0]

    def changes(self, before: str, after: str) -> list[FileChange]:
        """All paths that differ; a rename is a removal and an addition."""
        raw = self._run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after)
        parts = raw.decode("utf-8", "surrogateescape").split("\0")
        found = []
        for about, path in zip(parts[::2], parts[1::2], strict=False):
            old_mode, new_mode, _, new_object, _ = about.lstrip(":").split(" ")
            found.append(FileChange(path, old_mode, new_mode, new_object))
        return found

    def files(self, commit: str, folder: str) -> Iterator[FileChange]:
        """All files below a folder of a commit."""
        raw = self._run("ls-tree", "-r", "-z", "--full-tree", commit, "--", folder)
        for row in raw.decode("utf-8", "surrogateescape").split("\0"):
            if row:
                about, path = row.split("\t", 1)
                mode, _, name = about.split(" ")
                yield FileChange(path, _ABSENT, mode, name)

    def is_changed(self) -> bool:
        """Whether anything in this folder is not committed, or nothing is."""
        changed = self._run("status", "--porcelain", "-z", "--ignored", "--", ".")
        return bool(changed) or not self._run("ls-files", "-z", "--", ".")

    def last_change(self) -> datetime:
        """When the first parents' line last changed this folder."""
        return parse_utc(self._run("log", "-1", "--first-parent", "--format=%cI", "--", ".").decode().strip())

    def size(self, name: str) -> int:
        """Bytes of an object."""
        return int(self._run("cat-file", "-s", name))

    def content(self, name: str) -> bytes:
        """Content of a file's object."""
        return self._run("cat-file", "blob", name)


@dataclass(slots=True)
class _Found:
    """The case that is looked into, and what was found so far."""

    git: _Git
    author: str
    moment: datetime
    faults: list[Fault] = field(default_factory=list)
    warnings: list[Fault] = field(default_factory=list)
    teams: KnownTeams = field(default_factory=dict)
    held: dict[str, set[SubmissionSplit]] = field(default_factory=lambda: defaultdict(set))
    """The splits that each folder has files of, on one side or the other."""


def merged_at(folder: Path) -> datetime:
    """When the present content of a folder came into the branch that is checked out, by its own line of commits.

    The time is that of the merge, not the one that a contributor's commit claims, where requests are merged by a merge
    commit, or squashed or rebased by the host.

    Raises:
        UsageError: if the folder is in no repository, or has changes that are not committed.
    """
    git = _Git(folder)
    if git.is_changed():
        fix = "Commit or undo the changes first."
        raise UsageError("there are uncommitted changes", where=str(folder), fix=fix, code="not-committed")
    return git.last_change()


def changes_between(repository: Path, base: str, head: str) -> list[FileChange]:
    """What a request changes, against where it left the base.

    Raises:
        UsageError: if one of them is no commit there.
    """
    git = _Git(repository)
    first, last = git.commit(base), git.commit(head)
    return git.changes(git.merge_base(first, last), last)


def review(
    repository: Path,
    base: str,
    head: str,
    dues: Dues,
    *,
    prospective: Dues | None = None,
    author: str = "",
    moment: datetime | None = None,
) -> ReviewReport:
    """Review what a request does to the submissions.

    Args:
        repository: a folder in the repository.
        base: commit that the request would be merged into.
        head: its last commit.
        dues: what is due, for each quarter that takes or took predictions.
        prospective: the same on prospective splits.
        author: account that sent it; where it is given, only a team's own accounts may change its folder.
        moment: the time that counts as now.

    Raises:
        UsageError: if git cannot be asked, or knows no such commits.
    """
    git = _Git(repository)
    first, last = git.commit(base), git.commit(head)
    found = _Found(git, author, moment or now())
    changes = git.changes(git.merge_base(first, last), last)
    if len(changes) > _MOST_CHANGES:
        what = f"{len(changes):,} files, at most {_MOST_CHANGES} are looked at"
        return ReviewReport((), (Fault("too-many-files", "the request", what, "Send it in parts."),), ())
    at_base, at_head = (list(git.files(commit, "submissions")) for commit in (first, last))
    for file in (*at_base, *at_head):
        folder, _, name = file.path.rpartition("/")
        found.held[folder] |= {_SPLIT_OF[name]} if name in _SPLIT_OF else set()
    known = {**{(edition, MAIN): due for edition, due in dues.items()},
             **{(edition, due.split): due for edition, due in (prospective or {}).items()}}  # fmt: skip
    touched = _by_entry(changes, known, found)
    with TemporaryDirectory(prefix="hellofresh-") as name:
        before, after = Path(name) / "base", Path(name) / "head"
        _lay_out(at_base, before, None, found)
        _lay_out(at_head, after, touched.keys(), found)
        found.teams = known_teams(before)
        _check_owner(at_base, {key[1] for key in touched}, found)
        entries = tuple(
            _review_entry((before, after), key, [known[key[0], split] for split in SPLITS if split in splits], found)
            for key, splits in sorted(touched.items())
        )
    faults, warnings = (
        tuple(_in_request(item, Path(name)) for item in some) for some in (found.faults, found.warnings)
    )
    return ReviewReport(entries, faults, warnings)


def _in_request(fault: Fault, folder: Path) -> Fault:
    """The fault with the place in the request instead of the one it was looked at."""
    where = fault.where
    for part in ("base", "head"):
        where = where.replace(str(folder / part), "submissions")
    return replace(fault, where=where)


_Key = tuple[Edition, str, str]


_Known = Mapping[tuple[Edition, SubmissionSplit], Due]


def _by_entry(changes: Iterable[FileChange], dues: _Known, found: _Found) -> Mapping[_Key, set[SubmissionSplit]]:
    """The submissions that are looked into, and on which splits; other changes are faults."""
    touched: dict[_Key, set[SubmissionSplit]] = defaultdict(set)
    for change in changes:
        key = _key_of(change, found)
        if key is None:
            continue
        splits = _splits_of(change, found)
        problems = [_closed(dues.get((key[0], split)), key[0], split, found.moment) for split in splits]
        refused = next((problem for problem in problems if problem is not None), None)
        if refused is not None:
            found.faults.append(Fault(refused[0], _shown(change.path), refused[1], "Leave the folder as it is."))
        else:
            touched[key] |= set(splits)
    teams = sorted({team for _, team, _ in touched})
    if len(teams) > 1:
        what = f"the folders of {len(teams)} teams: {', '.join(teams)[:200]}"
        found.faults.append(Fault("several-teams", "the request", what, "Send a request for each team."))
    return touched


def _splits_of(change: FileChange, found: _Found) -> Sequence[SubmissionSplit]:
    """The splits that a change touches: what a system says of itself is part of all that it handed in."""
    folder, _, name = change.path.rpartition("/")
    if name in _SPLIT_OF:
        return (_SPLIT_OF[name],)
    return [split for split in SPLITS if split in found.held.get(folder, ())] or (MAIN,)


def _key_of(change: FileChange, found: _Found) -> _Key | None:
    """The submission that a path belongs to, or None and what is wrong with the path."""
    where = _shown(change.path)
    place = _PLACE.fullmatch(change.path)
    if place is None or place[1] == "example":
        fix = "Change only submissions/<edition>/<team>/<system>/; anything else is for another request."
        found.faults.append(Fault("outside-submissions", where, "a file that is not part of a submission", fix))
        return None
    edition, team, system, name = place.groups()
    if not (FOLDER_NAME.fullmatch(team) and FOLDER_NAME.fullmatch(system)):
        fix = "Name folders in lower-case letters, digits and hyphens."
        found.faults.append(Fault("bad-folder", where, "a folder with another name", fix))
        return None
    if name not in _SIZES:
        split = _SPLIT_OF.get(name, MAIN)
        fix = f"A submission has {split.jsonl} and {SYSTEM}, and {split.receipt} from 'hellofresh submission add'"
        fix += f", which also makes {split.jsonl} of {split.csv}." if name == split.csv else "."
        found.faults.append(Fault("unknown-file", where, "not a file of a submission", fix))
        return None
    if change.new_mode not in (_ABSENT, _PLAIN):
        what = {"120000": "a link", "160000": "another repository", "100755": "a program"}.get(
            change.new_mode, "no file"
        )
        found.faults.append(Fault("not-a-file", where, what, "Submit plain files."))
        return None
    try:
        return parse_edition(edition), team, system
    except UsageError as error:
        found.faults.append(Fault("bad-quarter", where, error.what, f"Expected {error.expected}."))
        return None


def _closed(due: Due | None, edition: Edition, split: SubmissionSplit, moment: datetime) -> tuple[str, str] | None:
    """Code and reason why nothing of a quarter's split may be changed now."""
    what = str(edition) if split is MAIN else f"the {split.name} split of {edition}"
    if due is None:
        return "no-release", f"{what} has no public samples"
    if not due.edition.is_living:
        return None
    if due.revealed:
        return "revealed", f"{what} is revealed, and takes no predictions any more"
    if moment < min(calendar.opens for calendar in due.calendars.values()):
        return "not-open", f"{what} has not opened"
    if due.deadline is not None and moment >= due.deadline:
        return "closed", f"{what} took predictions until {utc_text(due.deadline)}"
    return None


def _shown(path: str) -> str:
    """A path from outside as one printable line."""
    return ascii(path)[1:-1][:200]


def _lay_out(files: Sequence[FileChange], folder: Path, only: Iterable[_Key] | None, found: _Found) -> None:
    """Write the submissions of a commit into an empty folder; only names of the one form come so far."""
    wanted = None if only is None else set(only)
    for file in files:
        place = _PLACE.fullmatch(file.path)
        if place is None or file.new_mode != _PLAIN or place[4] not in _SIZES:
            continue
        edition, team, system, name = place.groups()
        if not (is_edition(edition) and FOLDER_NAME.fullmatch(team)):
            continue
        if not FOLDER_NAME.fullmatch(system) or (
            wanted is not None and (parse_edition(edition), team, system) not in wanted
        ):
            continue
        size = found.git.size(file.new_object)
        if size > _SIZES[name]:
            if wanted is not None:
                what, fix = f"{size:,} bytes", f"At most {_SIZES[name]:,} bytes are accepted."
                found.faults.append(Fault("too-large", _shown(file.path), what, fix))
            continue
        target = folder / edition / team / system / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(found.git.content(file.new_object))


def _check_owner(at_base: Sequence[FileChange], touched: set[str], found: _Found) -> None:
    """A team that is there already is changed by its own accounts only, as the base's TEAMS.toml names them."""
    author = found.author
    if not author:
        return
    listed = [file.new_object for file in at_base if file.path == f"submissions/{_TEAMS}" and file.new_mode == _PLAIN]
    accounts = _accounts(found.git.content(listed[0])) if listed else {}
    for team in sorted(touched):
        owners = accounts.get(team, ())
        if author.casefold() in owners:
            continue
        if team in found.teams or owners:
            what = f"the account {author[:80]!r} is not one of the team's in submissions/{_TEAMS}"
            found.faults.append(Fault("other-team", team, what, "The team, or a maintainer, has to send it."))
        else:
            what = f"a new team: on merging, add its account to submissions/{_TEAMS}"
            found.warnings.append(Fault("new-team", team, what))


def _accounts(content: bytes) -> Mapping[str, Sequence[str]]:
    """Accounts by team. The file is the maintainers' own, so what is wrong with it is an error."""
    try:
        table = tomllib.loads(content.decode())
        return {team: tuple(name.casefold() for name in row["accounts"]) for team, row in table.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"not a table of teams ({error!r})",
            where=f"submissions/{_TEAMS}",
            expected='[team] with accounts = ["name"]',
            code="bad-teams",
        ) from None


def _review_entry(roots: tuple[Path, Path], key: _Key, dues: Sequence[Due], found: _Found) -> ReviewedEntry:
    edition, team, system = key
    before, after = (root / str(edition) / team / system for root in roots)
    if not after.is_dir():
        return ReviewedEntry(edition, team, system, "withdrawn")
    # Beside the others of the quarter, so that copies and limits show.
    target = roots[0] / str(edition) / team / system
    earlier = {due.split: read_receipt(before, [], due.split) if before.is_dir() else None for due in dues}
    action = "changed" if before.is_dir() else "new"
    target.mkdir(parents=True, exist_ok=True)
    for name in _SIZES:
        (target / name).unlink(missing_ok=True)
        if (after / name).exists():
            (after / name).rename(target / name)
    entry = ReviewedEntry(edition, team, system, action)
    for due in dues:
        some = [item for item in standings(roots[0], due, found.moment).entries if item.folder == target]
        if not some:
            entry = replace(entry, tasks=(*entry.tasks, f"{due.split.name} split: withdrawn"))
        for standing in some:
            found.faults += (fault for fault in standing.faults if fault not in found.faults)
            found.warnings += (warning for warning in standing.warnings if warning not in found.warnings)
            _check_entry(standing, due.split, earlier[due.split], found)
            entry = _with(entry, standing, due.split)
    return entry


def _with(entry: ReviewedEntry, standing: SubmissionStanding, split: SubmissionSplit) -> ReviewedEntry:
    """The entry with how it stands on a split."""
    on = "" if split is MAIN else f", {split.name}"
    tasks = (*entry.tasks, *(f"{task}{on}: {outcome}" for task, outcome in standing.tasks.items()))
    submission = entry.submission or standing.submission
    return replace(entry, submission=submission, tasks=tasks, flags=(*entry.flags, *standing.flags))


def _check_entry(standing: SubmissionStanding, split: SubmissionSplit, earlier: Receipt | None, found: _Found) -> None:
    """What a single folder cannot show: another's name, and receipts that do not fit."""
    submission, receipt, where = standing.submission, standing.receipt, f"{standing.origin}/{split.receipt}"
    if submission is not None:
        other = look_alike(submission.team, submission.info.team, found.teams)
        if other:
            what = f"the team {submission.info.team!r} looks like the team {other!r}"
            found.faults.append(Fault("look-alike", standing.origin, what, "Take another name, or the team's folder."))
    fix = "Take it out; 'hellofresh submission add' gives a new one."
    if receipt is None:
        if earlier is not None:
            found.faults.append(Fault("lost-receipt", where, "the earlier receipt is missing", "Leave it in."))
        else:
            what = "no receipt: without one it is not scored"
            found.warnings.append(Fault("no-receipt", where, what, "A maintainer runs 'hellofresh submission add'."))
        return
    if submission is not None and receipt.sha256 != submission.sha256:
        found.faults.append(Fault("altered", where, "the receipt is for other content", fix))
    if receipt.received > found.moment:
        found.faults.append(
            Fault("future-receipt", where, f"received {utc_text(receipt.received)}, which is in the future", fix)
        )
    if earlier is not None and not _history(earlier) <= _history(receipt):
        found.faults.append(Fault("lost-receipt", where, "earlier receipts are missing from its history", fix))


def _history(receipt: Receipt) -> set[tuple[str, datetime]]:
    """Content and time of a receipt and of those that it replaced."""
    return {(one.sha256, one.received) for one in (*receipt.earlier, receipt)}
