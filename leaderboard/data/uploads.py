"""What a visitor uploads, put through the check of submissions; nothing here needs a browser or a server.

The check reads files, so what was uploaded is written to a private temporary folder, under names that are ours, and
removed afterwards. Findings name the two files as a submission has them, never where they lay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from hellofresh.core.clock import now
from hellofresh.core.errors import WorkspaceError
from hellofresh.results.board.schema import Participant
from hellofresh.submissions.check import (
    Due,
    Submission,
    SubmissionCheck,
    canonical_files,
    check_predictions,
    cutoff_of,
    inspect_submission,
)
from hellofresh.submissions.format import MAX_BYTES, MAX_INFO_BYTES, SYSTEM, Fault, SystemInfo, read_info, system_toml
from hellofresh.submissions.names import FOLDER_NAME, slug
from hellofresh.submissions.receipts import KnownTeams, look_alike
from leaderboard.data.board import BoardEntry

_PLACE = re.compile(
    r"(?P<file>predictions\.(?:jsonl|csv)|prospective\.(?:jsonl|csv)|system\.toml)"
    r"(?: lines? (?P<line>\d+)(?:, \d+)*)?(?:, (?P<field>.*))?",
    re.DOTALL,
)
_NO_NAME = "-"
"""Stands in the temporary folder for a name that no folder may have."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as it came.

    Attributes:
        name: whatever the visitor's machine calls it; only whether it ends in `.csv` is looked at.
        size: in bytes.
        read: gives the content; what is too large is never read.
    """

    name: str
    size: int
    read: Callable[[], bytes] = field(repr=False)

    @classmethod
    def of(cls, name: str, content: bytes) -> Upload:
        """A file whose content is at hand."""
        return cls(name, len(content), lambda: content)

    @property
    def is_table(self) -> bool:
        """Whether it is to be read as CSV."""
        return self.name.lower().endswith(".csv")


@dataclass(frozen=True, slots=True)
class SystemForm:
    """What a visitor says of a system in a form: the texts of its fields as they were typed."""

    name: str = ""
    team: str = ""
    contact: str = ""
    regime: str = "other"
    models: str = ""
    knowledge_cutoff: str = ""
    url: str = ""
    notes: str = ""


@dataclass(frozen=True, slots=True)
class UploadFinding:
    """One fault or warning of the check.

    Attributes:
        file: the file of a submission that it is in, or empty where it is in none.
        line: its line there, None where it is about the whole.
        place: the field, or empty.
        code: stable name.
        what, fix: what is wrong and what to do, sentences that may quote what was uploaded.
        fault: whether it must be mended.
    """

    file: str
    line: int | None
    place: str
    code: str
    what: str
    fix: str
    fault: bool = True


@dataclass(frozen=True, slots=True)
class Review:
    """What the check says of an upload.

    Attributes:
        findings: faults first, each kind in the order of the check.
        submission: what would be handed in, None where something must be mended or is missing.
        team, system: the names of folders that it would have, empty where none can be made.
        files: sizes of its canonical files in bytes, by name.
        missing: files that have not been given yet.
    """

    findings: tuple[UploadFinding, ...]
    submission: Submission | None
    team: str = ""
    system: str = ""
    files: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @property
    def faults(self) -> tuple[UploadFinding, ...]:
        """What must be mended."""
        return tuple(finding for finding in self.findings if finding.fault)


def said_toml(said: SystemForm) -> bytes:
    """The `system.toml` that a form makes; whether it is taken is for the check to say."""
    info = SystemInfo.model_construct(
        name=said.name,
        team=said.team,
        contact=said.contact,
        regime=said.regime,
        models=[line.strip() for line in said.models.splitlines() if line.strip()],
        knowledge_cutoff=cutoff_of(said.knowledge_cutoff.strip()) or "unknown",
        url=said.url.strip(),
        notes=said.notes.replace("\r\n", "\n"),
    )
    return system_toml(info).encode(errors="backslashreplace")


def fingerprint(due: Due, predictions: Upload | None, system: Upload | None, *names: str) -> str:
    """A hash that changes whenever the check could say something else, the day aside."""
    sizes = {task: len(ids) for task, ids in due.ids.items()}
    whole = sha256(repr((str(due.edition), due.split, sizes, len(due.taken_down), names)).encode())
    for upload, most in ((predictions, MAX_BYTES), (system, MAX_INFO_BYTES)):
        content = b"" if upload is None or upload.size > most else sha256(upload.read()).digest()
        whole.update(repr((upload and (upload.size, upload.is_table), content)).encode())
    return whole.hexdigest()


def review(
    due: Due,
    predictions: Upload | None,
    system: Upload | None,
    *,
    team: str = "",
    name: str = "",
    known: KnownTeams | None = None,
    moment: datetime | None = None,
) -> Review:
    """Check what was uploaded.

    Args:
        due: what is due.
        predictions, system: the two files, None where one is not there yet.
        team, name: names of folders as they were typed; made of what `system.toml` says where nothing was.
        known: teams that are there already, by the names of their folders.
        moment: the time that counts as now.

    Raises:
        WorkspaceError: if there is no room to work in.
    """
    at = moment or now()
    missing = tuple(file for file, upload in ((due.files.jsonl, predictions), (SYSTEM, system)) if upload is None)
    too_large = tuple(_too_large(due, predictions, system))
    if too_large or len(missing) == 2:
        return Review(too_large, None, missing=missing)
    try:
        with TemporaryDirectory(prefix="hellofresh-") as temporary:
            found = _Check(Path(temporary), due, at).run(predictions, system, team, name, known or {})
    except OSError as error:
        raise WorkspaceError(
            f"files cannot be checked at the moment ({error.strerror or 'no temporary folder'})",
            fix="Try again later.",
            code="unwritable",
        ) from error
    return Review(found.findings, found.submission, found.team, found.system, found.files, missing)


def _too_large(due: Due, predictions: Upload | None, system: Upload | None) -> Iterator[UploadFinding]:
    for file, upload, most in ((due.files.jsonl, predictions, MAX_BYTES), (SYSTEM, system, MAX_INFO_BYTES)):
        if upload is not None and upload.size > most:
            what, fix = f"{upload.size:,} bytes", f"At most {most:,} bytes are taken."
            yield UploadFinding(_file_name(file, due, upload), None, "", "too-large", what, fix)


def _file_name(file: str, due: Due, upload: Upload) -> str:
    return due.files.csv if file == due.files.jsonl and upload.is_table else file


@dataclass(frozen=True, slots=True)
class _Check:
    root: Path
    due: Due
    moment: datetime

    def run(self, predictions: Upload | None, system: Upload | None, team: str, name: str, known: KnownTeams) -> Review:
        """Write the files and have them checked."""
        loose = self.root / "uploaded"
        loose.mkdir()
        if predictions is not None:
            table = self.due.files.csv if predictions.is_table else self.due.files.jsonl
            (loose / table).write_bytes(predictions.read())
        if system is None:
            (table_path,) = loose.iterdir()
            alone = check_predictions(table_path, self.due)
            return Review(self._findings(loose, alone.faults, alone.warnings), None)
        (loose / SYSTEM).write_bytes(system.read())
        about: list[Fault] = []
        info = read_info(loose / SYSTEM, self.moment.date(), about)
        if predictions is None:
            return Review(self._findings(loose, about, ()), None)
        team = team or (slug(info.team) if info else "")
        name = name or (slug(info.name) if info else "")
        return self._whole(loose, team, name, info, known)

    def _whole(self, loose: Path, team: str, name: str, info: SystemInfo | None, known: KnownTeams) -> Review:
        names = list(_about_names(team, name, info))
        folder = self.root / str(self.due.edition) / _safe(team) / _safe(name)
        folder.parent.mkdir(parents=True)
        loose.rename(folder)
        checked = self._inspect(folder)
        faults = [fault for fault in checked.faults if fault.code != "bad-folder"]
        if checked.submission is not None:
            names += _about_team(checked.submission, known)
            faults += self._again(checked.submission)
        found = (*names, *self._findings(folder, faults, checked.warnings))
        if checked.submission is None or any(finding.fault for finding in found):
            return Review(found, None, team, name)
        files = {file: len(content) for file, content in canonical_files(checked.submission, self.due.split).items()}
        return Review(found, checked.submission, team, name, files)

    def _inspect(self, folder: Path) -> SubmissionCheck:
        return inspect_submission(folder, self.due, self.moment)

    def _again(self, submission: Submission) -> list[Fault]:
        """What is wrong with the canonical files, which may be longer than what was uploaded."""
        folder = self.root / "canonical" / submission.team / submission.system
        folder.mkdir(parents=True)
        for file, content in canonical_files(submission, self.due.split).items():
            (folder / file).write_bytes(content)
        return list(self._inspect(folder).faults)

    def _findings(self, folder: Path, faults: Sequence[Fault], warnings: Sequence[Fault]) -> tuple[UploadFinding, ...]:
        found = [self._finding(fault, fault=True) for fault in faults]
        return (*found, *(self._finding(warning, fault=False) for warning in warnings))

    def _finding(self, item: Fault, *, fault: bool) -> UploadFinding:
        """A fault of the check, without the folder in which it was found."""
        what, fix = (text.replace(str(self.root), "") for text in (item.what, item.fix))
        parts = _PLACE.fullmatch(item.where.rpartition("/")[2])  # fields are plain names, they have no slash
        if parts is None:
            return UploadFinding("", None, "", item.code, what, fix, fault)
        line = int(parts["line"]) if parts["line"] else None
        return UploadFinding(parts["file"], line, parts["field"] or "", item.code, what, fix, fault)


def _safe(name: str) -> str:
    return name if FOLDER_NAME.fullmatch(name) else _NO_NAME


def _about_names(team: str, name: str, info: SystemInfo | None) -> Iterator[UploadFinding]:
    """What is wrong with the names of folders; where `system.toml` cannot be read, none is missed."""
    allowed = "Type one in lower-case letters, digits and hyphens, at most 40."
    for folder, kind, said in ((team, "team", info and info.team), (name, "system", info and info.name)):
        if folder and not FOLDER_NAME.fullmatch(folder):
            yield UploadFinding(
                "", None, "", "bad-folder", f"no folder of a {kind} can be named {folder[:80]!r}", allowed
            )
        elif not folder and said:
            yield UploadFinding(
                "", None, "", "bad-folder", f"no folder's name can be made of the {kind} {said!r}", allowed
            )


def _about_team(submission: Submission, known: KnownTeams) -> Iterator[UploadFinding]:
    """Whether the team is, or looks like, one that is there already."""
    team, name = submission.team, submission.info.team
    other = look_alike(team, name, known)
    if other:
        what = f"the team {name!r} in the folder {team!r} looks like the team {other!r}"
        fix = f"If it is your team, use the folder {other!r}; else choose another name."
        yield UploadFinding(SYSTEM, None, "team", "look-alike", what, fix)
    elif team in known:
        what = f"a team with the folder {team!r} is on the board already"
        fix = "The maintainers ask that team before they take this in."
        yield UploadFinding(SYSTEM, None, "team", "known-team", what, fix, fault=False)


def known_teams_on(entries: Iterable[BoardEntry | Participant]) -> KnownTeams:
    """The teams behind the submissions on a board, and the benchmark's own, by the names of their folders."""
    found: dict[str, set[str]] = {"hellofresh": {"HelloFresh"}}
    for entry in entries:
        folder, slash, _ = entry.origin.partition("/")
        if slash and FOLDER_NAME.fullmatch(folder):
            found.setdefault(folder, set()).add(entry.team)
    return {folder: frozenset(names) for folder, names in found.items()}
