"""From the rows of a data set to the samples of a frozen edition of one of its tasks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from pathlib import Path

from collectors.datasets._rows import DataSet, StatementRow
from collectors.datasets.reading import ReadDataSet, read_dataset
from hellofresh.core.editions import ALL_ROWS, Frozen
from hellofresh.core.errors import UnknownNameError, UsageError
from hellofresh.core.files import sha256_text
from hellofresh.core.workspace import Workspace
from hellofresh.releases import DatasetSource, FrozenRelease, freeze
from hellofresh.releases.candidates.funnel import Drop, Funnel
from hellofresh.releases.candidates.rows import Collection
from hellofresh.tasks import CheckedStatement, Statement, Task, get_task, with_evidence
from hellofresh.tasks.samples import Candidate, Label

__all__ = ["ImportRequest", "import_dataset", "task_of"]

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
FULL, BINARY = "full", "binary"


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What of a data set becomes an edition, and under which name.

    Attributes:
        labels: `full` for all classes of the data set, `binary` for two, where there is such a task.
        language: of the statements; empty for the data set's first.
        size: how many samples to draw; None for all rows.
        seed: decides which are drawn.
        part: whether files may differ from the originals.
        version: of the edition; empty for the number of samples, and the language where it is not the first.
    """

    labels: str = FULL
    language: str = ""
    size: int | None = None
    seed: str = "hellofresh"
    part: bool = False
    version: str = ""


def task_of(dataset: DataSet, labels: str) -> Task:
    """The task that asks about a data set with all its classes, or with two.

    Raises:
        UnknownNameError: if there is no such setting for the data set.
    """
    known = {BINARY if name.endswith(f"-{BINARY}") else FULL: name for name in dataset.tasks}
    if labels not in known:
        raise UnknownNameError(f"setting labels= of {dataset.name}", labels, known)
    return get_task(known[labels])


def import_dataset(
    workspace: Workspace, dataset: DataSet, path: Path, request: ImportRequest
) -> tuple[FrozenRelease, ReadDataSet]:
    """Read a copy of a data set and freeze it as an edition; the same content again changes nothing.

    Raises:
        SourceError: if a row is malformed, or a file differs from the original.
        UsageError: if more samples are asked for than there are.
        ReleaseError: if the version is there with other content.
    """
    task = task_of(dataset, request.labels)
    read = read_dataset(dataset, path, language=request.language, part=request.part)
    rows = [row for row in read.rows if row.label in dataset.tasks[task.name]]
    chosen = _drawn(rows, task, request)
    candidates = [_candidate(dataset, task, row) for row in chosen]
    source = DatasetSource(
        dataset.title, dataset.home, dataset.published, dataset.licence, dataset.texts or task.public_type is None
    )
    found = Collection(
        candidates=candidates,
        funnel=_funnel(read, len(rows), candidates),
        parameters=_parameters(read, request, chosen),
        sources=read.sources,
        warnings=read.warnings,
    )
    return freeze(workspace, _edition(dataset, request, len(chosen)), task, found, source), read


def _edition(dataset: DataSet, request: ImportRequest, size: int) -> Frozen:
    """Named by the number of samples unless a version is given."""
    first = request.language in ("", dataset.languages[0])
    return Frozen(dataset.name, request.version or (str(size) if first else f"{size}-{request.language}"))


def _drawn(rows: Sequence[StatementRow], task: Task, request: ImportRequest) -> Sequence[StatementRow]:
    """All rows, or those with the smallest SHA-256 of `<seed>:<key>`: a uniform draw with the rows' own skew."""
    if request.size is None:
        return rows
    if not 1 <= request.size <= len(rows):
        raise UsageError(
            f"a sample of {request.size:,} of {len(rows):,} rows", where=task.name,
            expected=f"1 to {len(rows):,}", code="bad-size",
        )  # fmt: skip
    return sorted(rows, key=lambda row: sha256_text(f"{request.seed}:{row.key}"))[: request.size]


def _candidate(dataset: DataSet, task: Task, row: StatementRow) -> Candidate:
    plain = row.key if _PLAIN.fullmatch(row.key) else sha256_text(row.key)[:16]
    group = row.group or f"statement {sha256_text(row.statement.casefold())[:16]}"
    statement = Statement(
        id=f"{task.id_prefix}{plain}",
        task=task.name,
        edition=dataset.name,
        period=ALL_ROWS,
        date=datetime.combine(row.day or dataset.published, time(), UTC),
        group=group if len(group) <= 80 else f"{group.split()[0]} {sha256_text(group)[:16]}",
        license=dataset.licence,
        statement=row.statement,
        language=row.language,
        speaker=row.speaker,
        context=row.context,
    )
    checked = task.sample_type is CheckedStatement
    sample = with_evidence(statement, row.evidence) if checked else statement
    known = {"original_label": row.label, **row.facts}
    facts = {name: known.get(name) for name in task.label_facts}
    return Candidate(sample, Label(sample.id, dataset.tasks[task.name][row.label], facts))


def _funnel(read: ReadDataSet, with_class: int, candidates: Sequence[Candidate]) -> Funnel:
    drops = (
        Drop("no-class", "label that the task has no class for", len(read.rows) - with_class),
        Drop("not-drawn", "not in the sample that was drawn", with_class - len(candidates)),
    )
    return Funnel("rows", len(read.rows), drops, Funnel.count_kept(candidates))


def _parameters(read: ReadDataSet, request: ImportRequest, chosen: Sequence[StatementRow]) -> dict[str, object]:
    """What decided the samples, and the skew of the original's labels and of the sample's."""
    skew = Counter(row.label for row in chosen)
    return {
        "labels": request.labels,
        "language": request.language,
        "part": request.part,
        "size": request.size,
        "seed": request.seed if request.size is not None else None,
        "rows_by_label": dict(read.labels),
        "samples_by_label": {label: skew[label] for label in read.labels if skew[label]},
    }
