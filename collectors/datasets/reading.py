"""Reading a data set's files: which of the originals they are, and whether they hold what the originals hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from collectors.datasets._rows import DataSet, OriginalFile, StatementRow
from hellofresh.core.errors import SourceError, UnknownNameError
from hellofresh.core.files import sha256_file
from hellofresh.releases.candidates.rows import SourceFile

__all__ = ["ReadDataSet", "dataset_files", "read_dataset"]


@dataclass(frozen=True, slots=True)
class ReadDataSet:
    """The rows of a data set's files.

    Attributes:
        rows: in the order of files' names and of rows, keys unique.
        labels: rows by label.
        sources: every file with size and hash.
        warnings: what differs from the originals, and what could not be compared.
    """

    rows: Sequence[StatementRow]
    labels: Mapping[str, int]
    sources: Sequence[SourceFile]
    warnings: Sequence[str]


def dataset_files(dataset: DataSet, path: Path, *, part: bool = False) -> list[Path]:
    """The files to read: the file itself, or those of a folder that have an original's name.

    Raises:
        SourceError: if there is none, or a file has no original's name and is not said to be a part.
    """
    found = sorted(item for item in path.iterdir() if dataset.original(item)) if path.is_dir() else [path]
    names = ", ".join(file.name for file in dataset.files)
    if not found:
        raise SourceError(
            f"no file of {dataset.name}", where=str(path), expected=f"one of {names}, each plain or as .gz",
            fix=f"Its authors publish it at {dataset.home}.", code="missing-source",
        )  # fmt: skip
    if not path.is_dir() and dataset.original(path) is None and not part:
        raise SourceError(
            f"no file of {dataset.name} has this name", where=path.name, expected=f"one of {names}",
            fix="Rename it to the original's name, or pass --part if it is a part of one.", code="other-file",
        )  # fmt: skip
    return found


def read_dataset(dataset: DataSet, path: Path, *, language: str = "", part: bool = False) -> ReadDataSet:
    """Read a data set from a copy of its files, plain or compressed with gzip.

    Args:
        dataset: which one.
        path: a file, or a folder with some or all of its files.
        language: of the statements, where there is a choice; empty for the first.
        part: take files whose rows or label counts differ from the original's; the difference is a warning then.

    Raises:
        SourceError: if a row is malformed, or a file differs from the original and is not said to be a part.
        UnknownNameError: if the data set has no such language.
    """
    language = language or dataset.languages[0]
    if language not in dataset.languages:
        raise UnknownNameError(f"language of {dataset.name}", language, dataset.languages)
    rows: list[StatementRow] = []
    warnings: list[str] = []
    files = dataset_files(dataset, path, part=part)
    for file in files:
        of_file = list(dataset.read(file, language))
        warnings += _compare(dataset, file, Counter(row.label for row in of_file), part=part)
        rows += of_file
    unique = list(_with_unique_keys(rows))
    repeated = sum(before.key != after.key for before, after in zip(rows, unique, strict=True))
    if repeated:
        warnings.append(f"{repeated} rows have the key of an earlier row; their keys got a number.")
    sources = [SourceFile(file.name, file.stat().st_size, sha256_file(file)) for file in files]
    labels = Counter(row.label for row in unique)
    return ReadDataSet(unique, {label: labels[label] for label in dataset.labels}, sources, warnings)


def _with_unique_keys(rows: Iterable[StatementRow]) -> Iterator[StatementRow]:
    seen: Counter[str] = Counter()
    for row in rows:
        seen[row.key] += 1
        yield row if seen[row.key] == 1 else replace(row, key=f"{row.key}-{seen[row.key]}")


def _compare(dataset: DataSet, file: Path, labels: Mapping[str, int], *, part: bool) -> list[str]:
    """What differs from the original, as warnings; raises SourceError where that is not expected."""
    original = dataset.original(file)
    differences = _differences(original, labels) if original else []
    if differences and not part:
        raise SourceError(
            f"not the original: {'; '.join(differences)}", where=file.name,
            expected=f"{file.name} as its authors publish it at {dataset.home}",
            fix="Fetch it again, or pass --part if it is a part on purpose.", code="other-counts",
        )  # fmt: skip
    total = sum(labels.values())
    if original is None:
        return [f"{file.name} has no original's name: its {total:,} rows were not compared with any counts."]
    if original.rows is None:
        return [f"{file.name}: the original's counts are not known here, so its {total:,} rows were not compared."]
    return [f"{file.name} differs from the original: {'; '.join(differences)}."] if differences else []


def _differences(original: OriginalFile, labels: Mapping[str, int]) -> list[str]:
    total = sum(labels.values())
    found = [f"{total:,} rows instead of {original.rows:,}"] if original.rows not in (None, total) else []
    return found + [
        f"{labels.get(label, 0):,} rows with {label!r} instead of {count:,}"
        for label, count in original.labels.items()
        if labels.get(label, 0) != count
    ]
