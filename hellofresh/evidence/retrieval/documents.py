"""Documents of a corpus: one table with one schema, written and read in bounded memory.

`documents.parquet` has the columns `id`, `title`, `text`, `date` (null where not known) and `source`. An id has no
white space, since TREC's files are columns of words.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl

from hellofresh.core.errors import DataError
from hellofresh.core.files import canonical_json
from hellofresh.core.parquet import join_parquet, write_parquet

__all__ = ["SCHEMA", "CorpusDocument", "DocumentWriter", "check_document", "document_columns", "read_documents"]

SCHEMA = {"id": pl.String, "title": pl.String, "text": pl.String, "date": pl.Date, "source": pl.String}
_PART = 20_000
"""Documents held in memory at once."""
_MOST_ID_CHARACTERS = 200
_MOST_CHARACTERS = 1_000_000


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """A document that can be evidence.

    Attributes:
        id: unique in its corpus, without white space.
        title, text: one of them may be empty.
        date: day of publication, None where not known.
        source: where it comes from, such as `cord-19`.
    """

    id: str
    title: str
    text: str
    date: date | None = None
    source: str = ""

    @property
    def content(self) -> str:
        """Title and text: what retrievers read."""
        return f"{self.title}\n{self.text}".strip()


def check_document(document: CorpusDocument, where: str) -> None:
    """Refuse what no corpus may hold.

    Raises:
        DataError: bad-document-id, nul-character, empty-document or document-too-large.
    """
    name = document.id
    if not name or len(name) > _MOST_ID_CHARACTERS or not name.isprintable() or name.split() != [name]:
        raise DataError(
            f"the document id {name[:80]!r} cannot be used",
            where=where,
            expected=f"1 to {_MOST_ID_CHARACTERS} visible characters without a space",
            code="bad-document-id",
        )
    if "\0" in document.title or "\0" in document.text:
        raise DataError(f"document {name} has a NUL character", where=where, expected="text", code="nul-character")
    if not document.content:
        raise DataError(
            f"document {name} has neither title nor text", where=where, expected="one of them", code="empty-document"
        )
    if len(document.title) + len(document.text) > _MOST_CHARACTERS:
        raise DataError(
            f"document {name} has {len(document.title) + len(document.text):,} characters",
            where=where,
            expected=f"at most {_MOST_CHARACTERS:,}",
            fix="Split it into passages.",
            code="document-too-large",
        )


class DocumentWriter:
    """Writes `documents.parquet` part by part; the file appears when the block ends without an error.

    Attributes:
        rows: documents written so far.
        digest: SHA-256 over the documents in order, whatever the version of the Parquet library.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: list[CorpusDocument] = []
        self.rows = 0
        self.digest = hashlib.sha256()

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._folder = tempfile.TemporaryDirectory(prefix=f".{self._path.name}.", dir=self._path.parent)
        self._parts: list[Path] = []
        return self

    def add(self, document: CorpusDocument) -> None:
        """Add one document."""
        day = None if document.date is None else document.date.isoformat()
        row = [document.id, document.title, document.text, day, document.source]
        self.digest.update(f"{canonical_json(row)}\n".encode())
        self._waiting.append(document)
        self.rows += 1
        if len(self._waiting) == _PART:
            self._write_part()

    def _write_part(self) -> None:
        part = Path(self._folder.name) / f"{len(self._parts):06}.parquet"
        rows = [astuple(document) for document in self._waiting]
        write_parquet(part, pl.DataFrame(rows, schema=SCHEMA, orient="row"))
        self._parts.append(part)
        self._waiting.clear()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._write_part()
                join_parquet(self._parts, self._path, rows=_PART)
        finally:
            self._folder.cleanup()


def read_documents(path: Path, start: int = 0, stop: int | None = None) -> Iterator[CorpusDocument]:
    """Read documents in order, a part at a time; `start` and `stop` are places in the table.

    Raises:
        DataError: if the file is missing, no Parquet, or has other columns.
    """
    end = stop if stop is not None else _height(path)
    for first in range(start, end, _PART):
        table = _read(path, tuple(SCHEMA), first, min(_PART, end - first))
        for row in table.iter_rows():
            yield CorpusDocument(*row)


def document_columns(path: Path, *columns: str) -> pl.DataFrame:
    """Some columns of all documents.

    Raises:
        DataError: as `read_documents`.
    """
    return _read(path, columns, 0, None)


def _height(path: Path) -> int:
    table = _read(path, ("id",), 0, None)
    return table.height


def _read(path: Path, columns: Sequence[str], start: int, rows: int | None) -> pl.DataFrame:
    try:
        found = pl.scan_parquet(path)
        if dict(found.collect_schema()) != SCHEMA:
            raise DataError(
                "other columns than documents have",
                where=str(path),
                expected=", ".join(f"{name} ({kind})" for name, kind in SCHEMA.items()),
                fix="Import the corpus again.",
                code="bad-documents",
            )
        return found.select(columns).slice(start, rows).collect()
    except FileNotFoundError:
        raise DataError("no such file", where=str(path), code="missing-file") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"not a readable Parquet file ({error})", where=str(path), code="bad-parquet") from error
