"""Open tasks by the board's tables, and the check of a visitor's upload.

This module needs neither browser nor server. The check reads files, so an upload is written to a private temporary
folder, under safe names, and removed afterwards. Findings name the two files as in a submission, never
their temporary place.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import polars as pl

from hellofresh.core.calendar import Calendar
from hellofresh.core.clock import now
from hellofresh.core.editions import parse_edition
from hellofresh.core.errors import WorkspaceError
from hellofresh.results.board.manifest import BoardFiles
from hellofresh.results.board.system_rows import Participant
from hellofresh.submissions.check import (
    Due,
    Submission,
    canonical_files,
    check_predictions,
    cutoff_of,
    inspect_submission,
)
from hellofresh.submissions.format import SYSTEM, Fault, SystemInfo, read_info, system_toml
from hellofresh.submissions.names import FOLDER_NAME, slug
from hellofresh.submissions.receipts import KnownTeams, look_alike
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import Split
from leaderboard.data.board import BoardEntry

_NO_NAME = "-"  # replaces, in the temporary folder, a name that no folder may have


def load_dues(folder: Path) -> list[Due]:
    """Open tasks in each quarter and split of a board, by deadline; a quarter has samples from its opening on.

    Raises:
        DataError: as `leaderboard.data.board.load_board`.
    """
    files = BoardFiles.at(folder)
    days, ids, states = (files.read(name) for name in ("quarters", "due_ids", "releases"))
    keys = {row for table in (days, ids) for row in table.select("edition", "split").unique().iter_rows()}
    found = []
    for edition, split in sorted(keys):
        mine = {"edition": edition, "split": split}
        stated = {row["task"]: row for row in days.filter(**mine).to_dicts()}
        calendars = {task: Calendar.from_json(stated[task]) for task in TASKS if task in stated}
        asked = ids.filter(**mine)
        gone = frozenset(asked.filter("taken_down")["id"].to_list())
        by_task = dict(asked.filter(~pl.col("taken_down")).group_by("task", maintain_order=True).agg("id").iter_rows())
        tasks = calendars if parse_edition(edition).is_living else [task for task in TASKS if task in by_task]
        if split not in list(Split) or not tasks:  # a split unknown to this version
            continue
        due_ids = {task: tuple(by_task.get(task, ())) for task in tasks}
        over = frozenset(states.filter("revealed").filter(**mine)["task"].to_list())
        found.append(Due(parse_edition(edition), due_ids, calendars, gone, Split(split), over & due_ids.keys()))
    never = datetime.max.replace(tzinfo=UTC)
    return sorted(found, key=lambda due: (due.deadline or never, due.edition, due.split))


class Upload(NamedTuple):
    """An uploaded file; its name matters only for the ending `.csv`."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Review:
    """The findings of the check of an upload.

    Attributes:
        faults: errors, in the order of the check; `where` is a file of the submission with line and field,
            or empty.
        warnings: for permitted but perhaps unintended content.
        submission: ready to submit, None if there are errors or missing files.
        missing: files that have not been uploaded yet.
    """

    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...] = ()
    submission: Submission | None = None
    missing: tuple[str, ...] = field(default=(), kw_only=True)


def said_toml(said: Mapping[str, str]) -> bytes:
    """The `system.toml` from the fields of a form, not yet checked; what is not known of the model may be empty."""
    size = said["size_billions"].strip()
    is_number = size.replace(".", "", 1).isdecimal() and size.isascii()
    info = SystemInfo.model_construct(
        name=said["name"],
        team=said["team"],
        contact=said["contact"],
        regime=said["regime"],
        models=[line.strip() for line in said["models"].splitlines() if line.strip()],
        knowledge_cutoff=cutoff_of(said["knowledge_cutoff"].strip()) or "unknown",
        url=said["url"].strip(),
        notes=said["notes"].replace("\r\n", "\n"),
        maker=said["maker"].strip() or None,
        weights=said["weights"] or None,
        size_billions=float(size) if is_number else size or None,
        released=said["released"].strip() or None,
    )
    return system_toml(info).encode(errors="backslashreplace")


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
    """Check an upload.

    Args:
        due: the open task.
        predictions, system: the two files, None if missing.
        team, name: folder names as typed; derived from `system.toml` if empty.
        known: existing teams, by the names of their folders.
        moment: the present time.

    Raises:
        WorkspaceError: if there is no space for temporary files.
    """
    at = moment or now()
    missing = tuple(file for file, upload in ((due.files.jsonl, predictions), (SYSTEM, system)) if upload is None)
    try:
        with TemporaryDirectory(prefix="hellofresh-") as temporary:
            root = Path(temporary)
            loose = root / "uploaded"
            loose.mkdir()
            table = loose / due.files.jsonl
            if predictions is not None:
                table = table.with_suffix(".csv") if predictions.name.lower().endswith(".csv") else table
                table.write_bytes(predictions.content)
            faults: list[Fault] = []
            info = None
            if system is not None:
                (loose / SYSTEM).write_bytes(system.content)
                info = read_info(loose / SYSTEM, at.date(), faults)
            if missing:
                alone = check_predictions(table, due, []) if predictions is not None else None
                found = Review((*faults, *(alone.faults if alone else ())), alone.warnings if alone else ())
            else:
                team = team or (slug(info.team) if info else "")
                name = name or (slug(info.name) if info else "")
                found = _whole(root, due, (team, name), known or {}, at)
                found = replace(found, faults=(*_about_names(team, name, info), *found.faults))
            found = replace(found, faults=_placed(found.faults, root), warnings=_placed(found.warnings, root))
            return replace(found, missing=missing)
    except OSError as error:
        raise WorkspaceError(
            f"files cannot be checked at the moment ({error.strerror or 'no temporary folder'})",
            fix="Try again later.",
            code="unwritable",
        ) from error


def _whole(root: Path, due: Due, names: tuple[str, str], known: KnownTeams, moment: datetime) -> Review:
    """Check both files, in folders with these names of team and system."""
    folder = root / str(due.edition)
    for name in names:
        folder /= name if FOLDER_NAME.fullmatch(name) else _NO_NAME
    folder.parent.mkdir(parents=True)
    (root / "uploaded").rename(folder)
    checked, team = inspect_submission(folder, due, moment), names[0]
    faults = [fault for fault in checked.faults if fault.code != "bad-folder"]
    submission, warnings = checked.submission, [*checked.warnings]
    if submission is not None:
        other = look_alike(team, submission.info.team, known)
        if other:
            what = f"the team {submission.info.team!r} in the folder {team!r} looks like the team {other!r}"
            fix = f"If it is your team, use the folder {other!r}; else choose another name."
            faults.append(Fault("look-alike", f"{SYSTEM}, team", what, fix))
        elif team in known:
            what = f"a team with the folder {team!r} is on the board already"
            fix = "The maintainers ask that team before they accept this."
            warnings.insert(0, Fault("known-team", f"{SYSTEM}, team", what, fix))
        # The canonical files may be longer than the uploaded ones.
        again = root.joinpath("canonical", *names)
        again.mkdir(parents=True)
        for file, content in canonical_files(submission, due.split).items():
            (again / file).write_bytes(content)
        faults += inspect_submission(again, due, moment).faults
    return Review(tuple(faults), tuple(warnings), None if faults else submission)


def _placed(faults: Sequence[Fault], root: Path) -> tuple[Fault, ...]:
    """The faults without the temporary folder's path; fields are plain names without a slash."""
    return tuple(
        replace(
            fault,
            where=fault.where.rpartition("/")[2],
            what=fault.what.replace(str(root), ""),
            fix=fault.fix.replace(str(root), ""),
        )
        for fault in faults
    )


def _about_names(team: str, name: str, info: SystemInfo | None) -> Iterator[Fault]:
    """Faults of the folder names; without a readable `system.toml`, missing names are not reported."""
    allowed = "Type one in lower-case letters, digits and hyphens, at most 40."
    for folder, kind, said in ((team, "team", info and info.team), (name, "system", info and info.name)):
        if folder and not FOLDER_NAME.fullmatch(folder):
            yield Fault("bad-folder", "", f"no folder of a {kind} can be named {folder[:80]!r}", allowed)
        elif not folder and said:
            yield Fault("bad-folder", "", f"no folder name can be made from the {kind} {said!r}", allowed)


def known_teams_on(entries: Iterable[BoardEntry | Participant]) -> KnownTeams:
    """The teams of the submissions on a board, and the benchmark's own, by the names of their folders."""
    found: dict[str, set[str]] = {"hellofresh": {"HelloFresh"}}
    for entry in entries:
        folder, slash, _ = entry.origin.partition("/")
        if slash and FOLDER_NAME.fullmatch(folder):
            found.setdefault(folder, set()).add(entry.team)
    return {folder: frozenset(names) for folder, names in found.items()}


def visitor_of(address: str | None, named: str | None) -> str:
    """The address of a visitor, for the quota; empty if unknown.

    A proxy names it in `X-Real-IP`; it is believed on this machine, where there is no address, and from those in
    `HELLOFRESH_PROXIES`.
    """
    if not address or address in os.environ.get("HELLOFRESH_PROXIES", "").split():
        return named or address or ""
    return address
