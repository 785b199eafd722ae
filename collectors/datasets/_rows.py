"""What every data set is read into: statements with their labels, and where the originals are from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from hellofresh.tasks.samples import Fact

__all__ = ["DataSet", "OriginalFile", "StatementRow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementRow:
    """One statement of a data set with its label.

    Attributes:
        key: names the row within the data set; the same in a part of the data set as in the whole.
        statement: the text that is true or false.
        label: as the authors write it, one of `DataSet.labels`.
        language: ISO 639-1 code of the statement.
        speaker: who said it; empty where not known.
        context: where or when it was said; empty where not known.
        day: when it was said or checked; None where the authors give no date.
        group: rows of one group are not independent; empty where the statement itself is the group.
        evidence: texts that the label is about, where it is not about the statement alone.
        facts: what else is known, published with the label.
    """

    key: str
    statement: str
    label: str
    language: str = "en"
    speaker: str = ""
    context: str = ""
    day: date | None = None
    group: str = ""
    evidence: tuple[str, ...] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalFile:
    """A file as its authors publish it.

    Attributes:
        name: of the file; a copy may be compressed with gzip and then ends in `.gz`.
        rows: rows in the original; None where that is not known to us.
        labels: rows by label in the original; empty where that is not known to us.
        url: where a copy with that hash can be fetched; empty where none is known.
        sha256: of its bytes, uncompressed.
    """

    name: str
    rows: int | None = None
    labels: Mapping[str, int] = field(default_factory=dict)
    url: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A frozen data set: where it is from, what may be done with it, and how its files are read.

    Attributes:
        name: as on the command line.
        title: as its authors call it, with the paper.
        home: where its authors publish it.
        licence: SPDX name, or a phrase that says what holds.
        published: stands for the date of statements that have none.
        labels: every label that the authors use.
        files: the original files.
        read: gives the rows of one file.
        tasks: by name of a task that asks about it, the class of each label; rows with another label are left out.
        languages: the statements' languages to choose from, the first by default; `read` gets the code.
        texts: whether the licence lets releases hold the texts; else they hold hashes.
    """

    name: str
    title: str
    home: str
    licence: str
    published: date
    labels: tuple[str, ...]
    files: tuple[OriginalFile, ...]
    read: Callable[[Path, str], Iterator[StatementRow]]
    tasks: Mapping[str, Mapping[str, int]]
    languages: tuple[str, ...] = ("en",)
    texts: bool = True

    def original(self, path: Path) -> OriginalFile | None:
        """The original that a file claims to be by its name; None where it is none of them."""
        name = path.name.removesuffix(".gz")
        return next((file for file in self.files if file.name == name), None)
