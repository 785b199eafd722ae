"""Running a collector and storing its result: the candidates and an account of all other rows.

`candidates/<task>/<quarter>.parquet` has one row per candidate, sorted by id: `id`, `task`, `edition`, `period`,
`date` (ISO 8601, UTC), `group`, `license`, `label`, the task's label facts, its extra columns (not released), then the
sample's own fields (nested ones as structs).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import Field, ValidationError

from hellofresh.core.errors import DataError, ReleaseError, SourceError, WorkspaceError
from hellofresh.core.files import canonical_json, model_fault, read_sealed, sha256_file, write_jsonl, write_sealed
from hellofresh.core.makers import makers, plugin_makers
from hellofresh.core.net.lock import locked
from hellofresh.core.parquet import write_parquet
from hellofresh.core.quarters import Quarter
from hellofresh.core.stages import Stage
from hellofresh.core.texts import without_hidden
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates import LEFT_OUT, UNKNOWN_LABEL, Collection, CollectionFacts, Drop, Funnel
from hellofresh.tasks import Task, task_makers
from hellofresh.tasks.samples import Candidate, Label, Sample, to_json

Progress = Callable[[str], None]


class CollectionAccount(CollectionFacts):
    """The account of a collection: task, quarter, kind of source, facts, and SHA-256 of the files written."""

    task: str
    quarter: str
    source: str
    files: dict[str, str] = Field(default_factory=dict)

    def facts_without(self, left_out: Mapping[str, Sequence[Sample]]) -> CollectionFacts:
        """The facts that a release publishes, without anything computed from labels.

        Args:
            left_out: candidates that the release leaves out, by reason; they are added as the funnel's last filters.
        """
        gone = Counter(sample.period for samples in left_out.values() for sample in samples)
        kept = {name: {UNKNOWN_LABEL: sum(labels.values()) - gone[name]} for name, labels in self.funnel.kept.items()}
        drops = (Drop(reason, LEFT_OUT[reason], len(samples)) for reason, samples in left_out.items() if samples)
        funnel = replace(self.funnel, kept=kept, drops=(*self.funnel.drops, *drops))
        return CollectionFacts(sources=self.sources, parameters=self.parameters, funnel=funnel, warnings=self.warnings)

    def write(self, path: Path) -> None:
        """Write the account with a hash of its content, so that a damaged one is not copied into a release."""
        write_sealed(path, self.model_dump(mode="json"), mode=0o600)


def write_candidates(path: Path, task: Task, candidates: Iterable[Candidate]) -> None:
    """Write candidates sorted by id; raises DataError on a duplicate id."""
    rows = sorted((_row(task, item) for item in candidates), key=lambda row: row["id"])
    for before, after in pairwise(rows):
        if before["id"] == after["id"]:
            raise DataError(f"candidate {after['id']} appears twice", where=str(path), code="duplicate-id")
    write_parquet(path, pl.DataFrame(rows, infer_schema_length=None), mode=0o600)


def _row(task: Task, item: Candidate) -> dict[str, Any]:
    sample = without_hidden(to_json(item.sample))
    common = {name: sample.pop(name) for name in ("id", "task", "edition", "period", "date", "group", "license")}
    facts = {name: item.label.facts.get(name) for name in task.label_facts}
    extras = {name: item.extras.get(name) for name in task.extra_columns}
    return {**common, "label": item.label.label, **facts, **extras, **sample}


def read_candidates(path: Path, task: Task) -> list[Candidate]:
    """Read candidates; raises DataError if the file is missing, not Parquet, or of another task."""
    if not path.is_file():
        raise DataError("no candidates", where=str(path), code="missing-file", fix="Run 'hellofresh collect' first.")
    try:
        rows = pl.read_parquet(path).to_dicts()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"not a readable Parquet file ({error})", where=str(path), code="bad-parquet") from error
    found = []
    for row in rows:
        try:
            label = Label(row["id"], row.pop("label"), {name: row.pop(name, None) for name in task.label_facts})
            extras = {name: value for name in task.extra_columns if (value := row.pop(name, None)) is not None}
        except KeyError as error:
            raise DataError(
                f"no column {error.args[0]}",
                where=str(path),
                expected=f"candidates of {task.name}",
                fix="Run 'hellofresh collect' again.",
                code="missing-column",
            ) from None
        found.append(Candidate(task.parse_sample(canonical_json(row), where=f"{path}: {row['id']}"), label, extras))
    return found


def read_account_file(path: Path) -> CollectionAccount:
    """Read an account; raises DataError if it is missing or damaged."""
    fix = "Collect again with --force."
    content = read_sealed(path, fix=fix, code="bad-account")
    try:
        return CollectionAccount.model_validate_json(canonical_json(content))
    except ValidationError as error:
        raise DataError(model_fault(error), where=str(path), fix=fix, code="bad-account") from None


@dataclass(frozen=True, slots=True)
class CollectionJob:
    """A collector with its source and settings, ready to run for a quarter.

    Attributes:
        source: `dump`, or the name of the bundled sample sources in releases.
        files: every file that it will read.
        parameters: every setting that decides the outcome.
        collect: runs the collector; may report lines of progress.
    """

    task: Task
    quarter: Quarter
    source: str
    files: Sequence[Path]
    parameters: Mapping[str, Any]
    collect: Callable[[Progress], Collection]


@dataclass(frozen=True, slots=True)
class CollectionReport:
    """The result of a job: its funnel and warnings, whether it was skipped, and what changed since the last run."""

    task: str
    quarter: Quarter
    funnel: Funnel
    warnings: Sequence[str]
    skipped: bool
    why: str = ""


def collect_quarter(
    workspace: Workspace, job: CollectionJob, *, force: bool = False, progress: Progress
) -> CollectionReport:
    """Run a job, or skip it if nothing has changed since its last run.

    Raises:
        SourceError: if the sources are faulty, or have no candidate of the quarter.
        WorkspaceError: if another process collects for the same task and quarter, or files cannot be written.
    """
    inputs = {
        "source": job.source,
        "files": [stamp(path) for path in job.files],
        "parameters": to_json(job.parameters),
    }
    code = getattr(job.collect, "func", job.collect).__module__
    made_by = makers(__name__, code) | plugin_makers("hellofresh.collectors", [job.task.name]) | task_makers(job.task)
    stage = Stage.of(workspace, f"collect/{job.task.name}/{job.quarter}", inputs, made_by)
    with locked(stage.lock_file, what=f"collecting {job.task.name} for {job.quarter}"):
        return _collect_alone(workspace, job, stage, force=force, progress=progress)


def _collect_alone(
    workspace: Workspace, job: CollectionJob, stage: Stage, *, force: bool, progress: Progress
) -> CollectionReport:
    account = workspace.collection(job.task.name, job.quarter)
    changes = stage.changes()
    if not force and changes == []:
        stored = read_account_file(account)
        return CollectionReport(job.task.name, job.quarter, stored.funnel, stored.warnings, skipped=True)
    # Skips a dump without candidates, which takes hours to read again; an API's answers are not known from files.
    without = replace(stage, name=f"{stage.name}/none")
    if job.files and not force and without.is_current():
        raise _no_candidates(job, "as when this source was last read")
    found = job.collect(progress)
    if not found.candidates and not found.pending:
        if job.files:
            without.record([])
        none = f"the source has no {found.funnel.unit}"
        raise _no_candidates(job, str(found.funnel.ledger()) if found.funnel.rows_in else none)
    if Funnel.count_kept(found.candidates) != found.funnel.kept:
        raise SourceError(
            f"the funnel says that {found.funnel.total_kept} {found.funnel.unit} were kept, but "
            f"there are {len(found.candidates)} candidates, or of other periods or labels",
            fix="This is a fault of the collector, please report it.",
            code="funnel",
        )
    stage.record(_write(workspace, job, found, account))
    return CollectionReport(
        job.task.name, job.quarter, found.funnel, found.warnings, skipped=False, why="; ".join(changes or ())
    )


def _write(workspace: Workspace, job: CollectionJob, found: Collection, account: Path) -> list[Path]:
    """Write candidates, undecided samples and their account; returns the files."""
    table, pending = (place(job.task.name, job.quarter) for place in (workspace.candidates, workspace.pending))
    write_candidates(table, job.task, found.candidates)
    pending.unlink(missing_ok=True)
    if found.pending is not None:
        ordered = sorted(found.pending, key=lambda sample: sample.id)
        write_jsonl(pending, (without_hidden(to_json(sample)) for sample in ordered))
    CollectionAccount(
        task=job.task.name,
        quarter=str(job.quarter),
        source=job.source,
        sources=tuple(found.sources),
        parameters=to_json(found.parameters),
        funnel=found.funnel,
        warnings=tuple(found.warnings),
        files=_hashes(workspace, job.task.name, job.quarter),
    ).write(account)
    return [path for path in (table, pending, account) if path.is_file()]


def _no_candidates(job: CollectionJob, why: str) -> SourceError:
    return SourceError(
        f"no candidates of {job.task.name} for {job.quarter}: {why}",
        fix="Check that the source covers the quarter.",
        code="no-candidates",
    )


def stamp(path: Path) -> list[str | int]:
    """Name, size and time of a source file, to detect changes without hashing gigabytes."""
    try:
        status = path.stat()
    except OSError as error:
        raise WorkspaceError(
            f"cannot be read ({error.strerror})", where=str(path), fix="Check the path.", code="missing-source"
        ) from error
    return [path.name, status.st_size, status.st_mtime_ns]


def _hashes(workspace: Workspace, task: str, quarter: Quarter) -> dict[str, str]:
    """SHA-256 of the existing files of candidates, by name."""
    files = (workspace.candidates(task, quarter), workspace.pending(task, quarter))
    return {file.name: sha256_file(file) for file in files if file.is_file()}


def read_account(workspace: Workspace, task: Task, quarter: Quarter) -> CollectionAccount:
    """Read the account of a collection and check its hashes of the candidates beside it.

    Raises:
        ReleaseError: if a hash differs, such as after a collection that was interrupted between its files.
        DataError: if the account is missing or damaged.
    """
    path = workspace.collection(task.name, quarter)
    account = read_account_file(path)
    if _hashes(workspace, task.name, quarter) != account.files:
        raise ReleaseError(
            f"the candidates of {task.name} for {quarter} and the account of their collection do not match",
            where=str(path),
            expected="files of candidates with the SHA-256 in the account",
            fix=f"Collect again: hellofresh collect {task.name} --quarter {quarter} --force ...",
            code="other-candidates",
        )
    return account


def amend_account(workspace: Workspace, task: str, quarter: Quarter) -> Path:
    """Update the hashes of candidates in their account after rows were erased; returns the account's path."""
    path = workspace.collection(task, quarter)
    read_account_file(path).model_copy(update={"files": _hashes(workspace, task, quarter)}).write(path)
    return path
