"""Frozen data sets of other authors: download their files, read them, and make editions of them.

The package contains no data set. A file is downloaded where a copy with a known hash is public, or read from the
user's own copy; each module of `hellofresh.tasks` with a `DATASET` says where its authors publish it and under which
licence. Other packages add data sets by an entry point of the group `hellofresh.datasets` or by
`register_dataset`.
"""

from __future__ import annotations

import asyncio
import csv
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from pathlib import Path

from hellofresh.core.editions import ALL_ROWS, Frozen
from hellofresh.core.errors import SourceError, UnknownNameError, UsageError
from hellofresh.core.executors import completed
from hellofresh.core.files import sha256_file, sha256_text
from hellofresh.core.net.lock import locked
from hellofresh.core.net.transfer import DownloadPolicy, Transfer, download_session
from hellofresh.core.plugins import Registry
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates import Collection, Drop, Funnel, SourceFile
from hellofresh.releases.draw.frozen import DatasetSource, FrozenRelease, freeze
from hellofresh.tasks import DATASETS as _BUNDLED
from hellofresh.tasks import (
    CheckedStatement,
    DataSet,
    OriginalFile,
    Statement,
    StatementRow,
    Task,
    get_task,
    with_evidence,
)
from hellofresh.tasks.samples import Candidate, Label

__all__ = ["DATASETS", "DataSet", "OriginalFile", "StatementRow", "get_dataset", "register_dataset"]

DATASETS: Registry[DataSet] = Registry("data set", "hellofresh.datasets", _BUNDLED.values())
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
FULL = "full"


def get_dataset(name: str) -> DataSet:
    """Return the data set of that name; raises UnknownNameError if it is unknown.

    >>> get_dataset("liar-new").name
    'liar-new'
    """
    try:
        return DATASETS[name]
    except KeyError:
        raise UnknownNameError("data set", name, DATASETS) from None


def register_dataset(dataset: DataSet) -> None:
    """Add a data set from outside; adding the same one again changes nothing.

    Raises:
        UsageError: if another data set has its name.
    """
    DATASETS.add(dataset)


@dataclass(frozen=True, slots=True)
class ReadDataSet:
    """The rows of a data set in order, keys unique, counts by label, the files, and differences from the originals."""

    rows: Sequence[StatementRow]
    labels: Mapping[str, int]
    sources: Sequence[SourceFile]
    warnings: Sequence[str]


def dataset_files(dataset: DataSet, path: Path, *, part: bool = False) -> list[Path]:
    """The files to read: the file itself, or the files of a folder that have an original's name.

    Raises:
        SourceError: if no file is found, or a name differs from the originals' and `part` is not set.
    """
    found = sorted(item for item in path.iterdir() if dataset.original(item)) if path.is_dir() else [path]
    names = ", ".join(file.name for file in dataset.files)
    if not found:
        raise SourceError(
            f"no file of {dataset.name}",
            where=str(path),
            expected=f"one of {names}, each plain or as .gz",
            fix=f"Its authors publish it at {dataset.home}.",
            code="missing-source",
        )
    if not path.is_dir() and dataset.original(path) is None and not part:
        raise SourceError(
            f"no file of {dataset.name} has this name",
            where=path.name,
            expected=f"one of {names}",
            fix="Rename it to the original's name, or pass --part if it is a part of one.",
            code="other-file",
        )
    return found


def read_dataset(dataset: DataSet, path: Path, *, language: str = "", part: bool = False) -> ReadDataSet:
    """Read a data set from a copy of its files, plain or compressed with gzip.

    Args:
        path: a file, or a folder with some or all of its files.
        language: of the statements, where the data set has several; empty for the first.
        part: accept files whose rows or label counts differ from the original's, with a warning.

    Raises:
        SourceError: if a row is malformed, or a file differs from the original and `part` is not set.
        UnknownNameError: if the data set has no such language.
    """
    language = language or dataset.languages[0]
    if language not in dataset.languages:
        raise UnknownNameError(f"language of {dataset.name}", language, dataset.languages)
    rows: list[StatementRow] = []
    warnings: list[str] = []
    files = dataset_files(dataset, path, part=part)
    for file in files:
        of_file = _rows_of(dataset, file, language)
        warnings += _compare(dataset, file, Counter(row.label for row in of_file), part=part)
        rows += of_file
    seen: Counter[str] = Counter()
    unique: list[StatementRow] = []
    for row in rows:
        seen[row.key] += 1
        unique.append(row if seen[row.key] == 1 else replace(row, key=f"{row.key}-{seen[row.key]}"))
    if repeated := len(rows) - len(seen):
        warnings.append(f"{repeated} rows have the key of an earlier row; a number was added to their keys.")
    sources = [SourceFile(file.name, file.stat().st_size, sha256_file(file)) for file in files]
    labels = Counter(row.label for row in unique)
    return ReadDataSet(unique, {label: labels[label] for label in dataset.labels}, sources, warnings)


def _rows_of(dataset: DataSet, file: Path, language: str) -> list[StatementRow]:
    """The rows of a file, checked: another package's reader may take what it should not."""

    def fault(what: str, expected: str, fix: str, code: str) -> SourceError:
        return SourceError(what, where=file.name, expected=expected, fix=fix, code=code)

    reader = f"Correct the file, or the reader of {dataset.name}."
    try:
        rows = list(dataset.read(file, language))
    except KeyError as error:
        raise fault(f"no column {error.args[0]!r}", "every column that is read", reader, "missing-column") from error
    except (ValueError, TypeError, AttributeError, IndexError, csv.Error) as error:
        what = f"cannot be read ({type(error).__name__}: {error})"
        raise fault(what, "rows as its reader expects", reader, "unreadable-rows") from error
    for number, row in enumerate(rows, start=1):
        if not (isinstance(row.key, str) and isinstance(row.statement, str) and row.key and row.statement.strip()):
            raise fault(f"row {number} has no key or no statement", "a text for both", reader, "empty-row")
    strange = Counter(str(row.label) for row in rows if row.label not in dataset.labels)
    if strange:
        shown = ", ".join(f"{label[:60]!r} ({count:,})" for label, count in strange.most_common(5))
        raise fault(
            f"{strange.total():,} of {len(rows):,} rows have a label that {dataset.name} does not declare: {shown}",
            f"one of {', '.join(dataset.labels)}",
            "Correct the rows, or add the label to `labels` of the data set: without a class its rows are left out.",
            "unknown-label",
        )
    return rows


def _compare(dataset: DataSet, file: Path, labels: Mapping[str, int], *, part: bool) -> list[str]:
    """Differences from the original, as warnings; raises SourceError unless `part` allows them."""
    original = dataset.original(file)
    total = sum(labels.values())
    differences = []
    if original is not None and original.rows not in (None, total):
        differences.append(f"{total:,} rows instead of {original.rows:,}")
    for label, count in original.labels.items() if original else ():
        if labels.get(label, 0) != count:
            differences.append(f"{labels.get(label, 0):,} rows with {label!r} instead of {count:,}")
    if differences and not part:
        raise SourceError(
            f"not the original: {'; '.join(differences)}",
            where=file.name,
            expected=f"{file.name} as its authors publish it at {dataset.home}",
            fix="Fetch it again, or pass --part if it is a part on purpose.",
            code="other-counts",
        )
    if original is None:
        return [f"{file.name} has no original's name: its {total:,} rows were not compared with any counts."]
    if original.rows is None:
        return [f"{file.name}: the original's counts are not known here, so its {total:,} rows were not compared."]
    return [f"{file.name} differs from the original: {'; '.join(differences)}."] if differences else []


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """Which part of a data set becomes an edition, and under which name.

    Attributes:
        labels: `full` for the classes of the data set's own task, or the end of another's name: `binary`, `six`.
        language: of the statements; empty for the data set's first.
        size: how many samples to draw; None for all rows.
        seed: decides which samples are drawn.
        part: whether files may differ from the originals.
        version: of the edition; empty for the number of samples, and the language unless it is the first.
    """

    labels: str = FULL
    language: str = ""
    size: int | None = None
    seed: str = "hellofresh"
    part: bool = False
    version: str = ""


def task_of(dataset: DataSet, labels: str) -> Task:
    """The task of a data set with its usual classes, or with those of the setting.

    Raises:
        UnknownNameError: if the data set does not have this setting.
    """
    known = {name.removeprefix(dataset.name).removeprefix("-") or FULL: name for name in dataset.tasks}
    if labels not in known:
        raise UnknownNameError(f"setting labels= of {dataset.name}", labels, known)
    return get_task(known[labels])


def import_dataset(
    workspace: Workspace, dataset: DataSet, path: Path, request: ImportRequest
) -> tuple[FrozenRelease, Collection]:
    """Read a copy of a data set and freeze it as an edition; freezing the same content again changes nothing.

    Raises:
        SourceError: if a row is malformed, or a file differs from the original.
        UsageError: if more samples are asked for than there are.
        ReleaseError: if the version exists with other content.
    """
    task = task_of(dataset, request.labels)
    read = read_dataset(dataset, path, language=request.language, part=request.part)
    rows = [row for row in read.rows if row.label in dataset.tasks[task.name]]
    chosen = _drawn(rows, task, request)
    candidates = [_candidate(dataset, task, row) for row in chosen]
    skew = Counter(row.label for row in chosen)
    drops = (
        Drop("no-class", "label that the task has no class for", len(read.rows) - len(rows)),
        Drop("not-drawn", "not in the sample that was drawn", len(rows) - len(candidates)),
    )
    found = Collection(
        candidates=candidates,
        funnel=Funnel("rows", len(read.rows), drops, Funnel.count_kept(candidates)),
        # The settings that decided the samples, and the class balance of the original and of the sample.
        parameters={
            "labels": request.labels,
            "language": request.language,
            "part": request.part,
            "size": request.size,
            "seed": request.seed if request.size is not None else None,
            "rows_by_label": dict(read.labels),
            "samples_by_label": {label: skew[label] for label in read.labels if skew[label]},
        },
        sources=read.sources,
        warnings=read.warnings,
    )
    texts = dataset.texts or task.public_type is None
    source = DatasetSource(dataset.title, dataset.home, dataset.published, dataset.licence, texts)
    first = request.language in ("", dataset.languages[0])
    version = request.version or (str(len(chosen)) if first else f"{len(chosen)}-{request.language}")
    return freeze(workspace, Frozen(dataset.name, version), task, found, source), found


def _drawn(rows: Sequence[StatementRow], task: Task, request: ImportRequest) -> Sequence[StatementRow]:
    """All rows, or those with the smallest SHA-256 of `<seed>:<key>`: a uniform draw that keeps the class balance."""
    if request.size is None:
        return rows
    if not 1 <= request.size <= len(rows):
        raise UsageError(
            f"a sample of {request.size:,} of {len(rows):,} rows",
            where=task.name,
            expected=f"1 to {len(rows):,}",
            code="bad-size",
        )
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


def fetch_dataset(
    dataset: DataSet, folder: Path, *, progress: Callable[[str], None], policy: DownloadPolicy | None = None
) -> list[Path]:
    """Download a data set's files into a folder; existing files with the right hash are not downloaded again.

    Raises:
        SourceError: if no file has a known address and hash, the server keeps failing, or a file has another hash.
        WorkspaceError: if files cannot be written, or another process is fetching them.
    """
    wanted = [file for file in dataset.files if file.url and file.sha256]
    if not wanted:
        raise SourceError(
            f"no file of {dataset.name} has a known address with a known hash",
            where=dataset.name,
            fix=f"Its authors publish it at {dataset.home}. Fetch it there and name its path: "
            f"hellofresh dataset import {dataset.name} PATH",
            code="no-download",
        )
    with locked(folder / ".lock", what=f"fetching {dataset.name}", code="busy"):
        completed(_fetch(wanted, folder, policy or DownloadPolicy(), progress))
    return [folder / file.name for file in wanted]


async def _fetch(
    wanted: Sequence[OriginalFile], folder: Path, policy: DownloadPolicy, progress: Callable[[str], None]
) -> None:
    expected = {file.name: file.sha256 for file in wanted}

    def check(path: Path, name: str) -> None:
        if (found := sha256_file(path)) != expected[name]:
            fix = "It is not the original."
            raise SourceError(f"SHA-256 {found}", where=name, expected=expected[name], fix=fix, code="bad-hash")

    async with download_session(policy) as session:
        transfer = Transfer(session, policy, asyncio.sleep, progress, check)
        for file in wanted:
            target = folder / file.name
            if target.is_file() and sha256_file(target) == file.sha256:
                continue
            if not await transfer.fetch(file.url, target):
                raise SourceError("the file no longer exists", where=file.url, code="missing-source")
