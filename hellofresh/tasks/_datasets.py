"""The types of a frozen data set and its rows, and readers for its authors' files.

Files are read line by line: plain or gzip, bounded, with errors that name file and line.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import IO

from hellofresh.core.errors import SourceError
from hellofresh.core.files import BadJsonError, strict_json
from hellofresh.tasks.samples import Fact

_MOST_BYTES, _MOST_ARRAY = 8 * 2**30, 2 * 2**30  # an array is parsed whole, lines one by one
MOST_LINE = 4 * 2**20
_MOST_DEPTH = 12  # files of all ten data sets nest less
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementRow:
    """One statement of a data set with its label.

    Attributes:
        key: unique name of the row in the data set; a part of the data set has the same keys.
        statement: the text that is true or false.
        label: the authors' label, one of `DataSet.labels`.
        language: ISO 639-1 code of the statement.
        speaker: who said it; empty where not known.
        context: where or when it was said; empty where not known.
        day: when it was said or checked; None where the authors give no date.
        group: rows of one group are dependent; empty where the statement itself is the group.
        evidence: texts that the label refers to besides the statement.
        facts: further facts, published with the label.
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
    """An original file of a data set.

    Attributes:
        name: its file name; a copy compressed with gzip ends in `.gz`.
        rows: rows in the original; None if unknown.
        labels: rows by label in the original; empty if unknown.
        url: address of a copy with that hash; empty if unknown.
        sha256: of its bytes, uncompressed.
    """

    name: str
    rows: int | None = None
    labels: Mapping[str, int] = field(default_factory=dict)
    url: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A frozen data set: its source, its licence, and how its files are read.

    Attributes:
        name: its name on the command line.
        title: its authors' name for it, with the paper.
        home: where its authors publish it.
        licence: SPDX name, or a phrase that states the terms.
        published: date for statements without their own.
        labels: every label that the authors use.
        files: the original files.
        read: returns the rows of one file.
        tasks: by task name, the class of each label; the task leaves out rows with other labels.
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
        """The original that a file's name matches, or None."""
        name = path.name.removesuffix(".gz")
        return next((file for file in self.files if file.name == name), None)


class FileRow:
    """A row with its file and line, and typed access to its fields.

    Args:
        path: the file.
        line: number of its line, from 1.
        fields: by name.
    """

    __slots__ = ("_line", "_path", "fields")

    def __init__(self, path: Path, line: int, fields: Mapping[str, object]) -> None:
        self._path, self._line, self.fields = path, line, fields

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return f"{self._path.name} line {self._line}"

    def __getitem__(self, name: str) -> object:
        try:
            return self.fields[name]
        except KeyError:
            raise self.fault(f"no field {name!r}", "missing-field") from None

    def get(self, name: str) -> object:
        """The field, or None."""
        return self.fields.get(name)

    def fault(self, what: str, code: str, expected: str = "") -> SourceError:
        """An error about this row."""
        return SourceError(
            what, where=self.where, expected=expected, fix="Use the file as its authors publish it.", code=code
        )

    def text(self, name: str) -> str:
        """A text that must not be empty; a number becomes its text."""
        value = self[name]
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or not (text := " ".join(value.split())):
            raise self.fault(f"the field {name!r} is empty or not a text", "bad-field", "a text")
        return text

    def optional_text(self, name: str) -> str:
        """A text that may be missing."""
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            raise self.fault(f"the field {name!r} is not a text", "bad-field", "a text or nothing")
        return " ".join((value or "").split())

    def label(self, name: str, labels: Sequence[str]) -> str:
        """The label, checked against those that the authors use."""
        label = self.text(name)
        if label not in labels:
            raise self.fault(f"unknown label {label[:60]!r}", "unknown-label", f"one of {', '.join(labels)}")
        return label

    def listed(self, name: str) -> Sequence[object]:
        """A list, empty if absent."""
        value = self.get(name) or []
        if not isinstance(value, list):
            raise self.fault(f"the field {name!r} is not a list", "bad-field", "a list")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, which must be present."""
        value = self[name]
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fault(f"the field {name!r} is not a list of texts", "bad-field", "a list of texts")
        return tuple(" ".join(item.split()) for item in value)

    def day(self, name: str, form: str) -> date | None:
        """A date in a form of `strptime`; None if absent."""
        text = self.optional_text(name)
        if not text:
            return None
        try:
            return datetime.strptime(text, form).date()  # noqa: DTZ007 - a day without a time
        except ValueError:
            raise self.fault(
                f"the field {name!r} is not a date: {text[:40]!r}", "bad-date", f"a date as {form}"
            ) from None


def json_rows(path: Path) -> Iterator[FileRow]:
    """The objects of a JSONL file, or of a file that is one JSON array."""
    with unpacked(path) as file:
        start = file.peek(1)[:1] if isinstance(file, io.BufferedReader) else b""
        if start == b"[":
            value = _parse(path, 1, file.read(_MOST_ARRAY))
            for number, item in enumerate(value if isinstance(value, list) else [value], start=1):
                yield _object(path, number, item)
            return
        for number, line in _lines(path, file):
            if line.strip():
                yield _object(path, number, _parse(path, number, line.strip()))


def _parse(path: Path, number: int, content: bytes) -> object:
    try:
        return strict_json(content, most_depth=_MOST_DEPTH)
    except BadJsonError as error:
        raise FileRow(path, number, {}).fault(str(error), error.code, "one JSON object per line") from None


def _object(path: Path, number: int, value: object) -> FileRow:
    if not isinstance(value, dict):
        raise FileRow(path, number, {}).fault("no JSON object", "not-an-object", "a row with named fields")
    return FileRow(path, number, value)


def tsv_rows(path: Path, columns: Sequence[str], *, header: bool) -> Iterator[FileRow]:
    """The rows of a tab-separated file without quoting; quotes in it are part of the text."""
    for number, line in text_lines(path):
        cells = line.rstrip("\r\n").split("\t")
        if not any(cells):
            continue
        _check_width(path, number, cells, columns)
        if header and number == 1:
            _check_header(path, cells, columns)
            continue
        yield FileRow(path, number, dict(zip(columns, cells, strict=True)))


def table_rows(path: Path, columns: Sequence[str] = ()) -> Iterator[FileRow]:
    """The rows of a table with named columns: JSONL, or CSV or TSV with a header, by the file's suffix.

    The header must have the given columns, if any.
    """
    name = path.name.removesuffix(".gz")
    if name.endswith((".jsonl", ".json")):
        yield from json_rows(path)
        return
    with closing(plain_rows(path)) as rows:
        _, header = next(rows, (1, []))
        if len(set(header)) < len(header) or not header:
            raise FileRow(path, 1, {}).fault("no header with different names of columns", "bad-columns")
        if columns:
            _check_header(path, header, columns)
        for number, row in rows:
            _check_width(path, number, row, header)
            yield FileRow(path, number, dict(zip(header, row, strict=True)))


def plain_rows(path: Path) -> Generator[tuple[int, list[str]], None, None]:
    """The line number and cells of each row of a CSV file, or of a TSV file by its suffix."""
    tabs = path.name.removesuffix(".gz").endswith(".tsv")
    with closing(text_lines(path)) as lines:
        reader = csv.reader((text for _, text in lines), strict=True, delimiter="\t" if tabs else ",")
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
        except csv.Error as error:
            raise FileRow(path, reader.line_num, {}).fault(f"not CSV ({error})", "bad-csv") from None


def _check_width(path: Path, number: int, cells: Sequence[str], columns: Sequence[str]) -> None:
    if len(cells) != len(columns):
        raise FileRow(path, number, {}).fault(
            f"{len(cells)} columns", "bad-columns", f"{len(columns)}: {', '.join(columns)}"
        )


def _check_header(path: Path, cells: Sequence[str], columns: Sequence[str]) -> None:
    if list(cells) != list(columns):
        raise FileRow(path, 1, {}).fault("other columns", "bad-columns", ", ".join(columns))


def text_lines(path: Path) -> Generator[tuple[int, str], None, None]:
    """The lines of a plain or gzip file with their numbers, one at a time in memory.

    Raises:
        SourceError: not-utf8, nul-byte, too-long, bad-gzip, missing-source.
    """
    with unpacked(path) as file:
        for number, line in _lines(path, file):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise FileRow(path, number, {}).fault(f"byte {error.start} is not UTF-8", "not-utf8") from None
            if "\0" in text:
                raise FileRow(path, number, {}).fault("a NUL byte", "nul-byte", "text")
            yield number, text


def _lines(path: Path, file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    read, number = 0, 0
    while line := file.readline(MOST_LINE + 1):
        number, read = number + 1, read + len(line)
        if len(line) > MOST_LINE or read > _MOST_BYTES:
            raise FileRow(path, number, {}).fault(
                "too long", "too-long", f"at most {MOST_LINE:,} bytes per line and {_MOST_BYTES:,} in all"
            )
        yield number, line


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked if it is gzip."""
    try:
        with path.open("rb") as raw:
            if raw.peek(2)[:2] != _GZIP:
                yield raw
                return
            with gzip.open(raw) as unpacked, io.BufferedReader(unpacked) as file:
                yield file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SourceError(
            f"not a complete gzip file ({error})", where=path.name, fix="Fetch it again.", code="bad-gzip"
        ) from None
    except OSError as error:
        raise SourceError(
            f"cannot be read ({error.strerror or error})", where=str(path), fix="Check the path.", code="missing-source"
        ) from error
