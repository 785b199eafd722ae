"""Documents, queries and relevance judgements (qrels) of a corpus, with their readers and writers.

`documents.parquet` has the columns `id`, `title`, `text`, `date` (null if unknown) and `source`, written and read in
bounded memory. Ids have no white space, since TREC's files are columns of words. Each line of `queries.jsonl` has `id`,
`text`, `split` and `group`; `qrels` has TREC's four columns: query, 0, document, relevance.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field
from datetime import date
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl
from pydantic import Field

from hellofresh.core.errors import DataError, missing_file
from hellofresh.core.files import canonical_json, read_models
from hellofresh.core.parquet import sink_parquet, write_parquet
from hellofresh.core.strict import Strict

SCHEMA = {"id": pl.String, "title": pl.String, "text": pl.String, "date": pl.Date, "source": pl.String}
_PART = 20_000  # documents held in memory at once
_MOST_ID_CHARACTERS = 200
_MOST_CHARACTERS = 1_000_000  # of one document; what is longer is a whole dump in one line
_MOST_QUERY_CHARACTERS = 20_000  # a long post with its quoted posts has fewer
_NO_WORD = re.compile(r"[\W_]+")
_DOI_PREFIX = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """A document of a corpus.

    Attributes:
        id: unique in its corpus, without white space.
        title, text: one of them may be empty.
        date: day of publication, None if unknown.
        source: its origin, such as `cord-19`.
    """

    id: str
    title: str
    text: str
    date: date | None = None
    source: str = ""

    @property
    def content(self) -> str:
        """Title and text, as retrievers read them."""
        return f"{self.title}\n{self.text}".strip()


def check_document(document: CorpusDocument, where: str) -> None:
    """Refuse an invalid document.

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
    """Writes `documents.parquet` in parts; the file appears when the `with` block ends without an error.

    Attributes:
        rows: documents written so far.
        digest: SHA-256 over the documents in order, independent of the Parquet library.
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
                sink_parquet(self._path, pl.scan_parquet(self._parts), rows=_PART)
        finally:
            self._folder.cleanup()


def read_documents(path: Path, start: int = 0, stop: int | None = None) -> Iterator[CorpusDocument]:
    """Read documents in order and in parts; `start` and `stop` are row numbers.

    Raises:
        DataError: if the file is missing, not Parquet, or has other columns.
    """
    end = stop if stop is not None else document_columns(path, "id").height
    for first in range(start, end, _PART):
        table = document_columns(path, *SCHEMA, start=first, rows=min(_PART, end - first))
        for row in table.iter_rows():
            yield CorpusDocument(*row)


def document_columns(path: Path, *columns: str, start: int = 0, rows: int | None = None) -> pl.DataFrame:
    """Some columns of all documents, or of `rows` documents from `start` on.

    Raises:
        DataError: like `read_documents`.
    """
    try:
        found = pl.scan_parquet(path)
        if dict(found.collect_schema()) != SCHEMA:
            raise DataError(
                "the columns are not those of documents",
                where=str(path),
                expected=", ".join(f"{name} ({kind})" for name, kind in SCHEMA.items()),
                fix="Import the corpus again.",
                code="bad-documents",
            )
        return found.select(columns).slice(start, rows).collect()
    except FileNotFoundError:
        raise missing_file(path) from None
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"not a readable Parquet file ({error})", where=str(path), code="bad-parquet") from error


class Query(Strict):
    """A query, such as a claim to find evidence for.

    Attributes:
        id: unique in its corpus, without white space.
        text: text of the query.
        split: `train`, `dev`, `test` or the source's own name.
        group: cluster for statistics; queries of one group (on one article or document) are not independent.
    """

    id: str = Field(min_length=1, max_length=200, pattern=r"^\S+$")
    text: str = Field(min_length=1, max_length=_MOST_QUERY_CHARACTERS, pattern=r"^[^\x00]*$")
    split: str = Field(min_length=1, max_length=40, pattern=r"^[a-z0-9][a-z0-9_-]*$")
    group: str = Field(min_length=1, max_length=200)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The relevance of a document to a query; 0 or less means not relevant."""

    query: str
    document: str
    relevance: int


def read_queries(path: Path) -> list[Query]:
    """Read the queries of a corpus.

    Raises:
        DataError: if the file is missing or a line is not a query.
    """
    return list(read_models(path, Query, code="bad-query"))


def read_qrels(path: Path) -> list[Judgement]:
    """Read judgements in TREC's four columns.

    Raises:
        DataError: if the file is missing, or a line has other columns.
    """
    try:
        content = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise missing_file(path) from None
    except UnicodeDecodeError as error:
        raise DataError(f"byte {error.start} is not UTF-8", where=str(path), code="bad-qrels") from None
    found = []
    for number, line in enumerate(content.split("\n"), start=1):
        words = line.split()
        score = words[-1].lstrip("-") if words else ""
        if words and (len(words) != 4 or not score.isascii() or not score.isdigit()):
            raise DataError(
                f"not a judgement: {line[:80]!r}",
                where=f"{path} line {number}",
                expected="QUERY 0 DOCUMENT RELEVANCE",
                code="bad-qrels",
            )
        found += [Judgement(words[0], words[2], int(words[3]))] if words else []
    return found


def by_query(judgements: Iterable[Judgement]) -> Mapping[str, Mapping[str, int]]:
    """Relevance by query and document."""
    found: dict[str, dict[str, int]] = {}
    for item in judgements:
        found.setdefault(item.query, {})[item.document] = item.relevance
    return found


class SameBy(StrEnum):
    """The property by which two documents are duplicates."""

    ID = "duplicate-id"
    DOI = "duplicate-doi"
    TEXT = "duplicate-text"


def normalised(text: str) -> str:
    """Letters and digits in lower case, words separated by one space."""
    return _NO_WORD.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


@dataclass(slots=True)
class Duplicates:
    """Detects duplicate documents by 64-bit hashes of their keys, in about 120 bytes of memory per document.

    Attributes:
        by_id_alone: whether only documents with the same id are duplicates.
        kept: id of the kept document, by the id of the dropped one.
    """

    by_id_alone: bool = False
    kept: dict[str, str] = field(default_factory=dict)
    _ids: list[str] = field(default_factory=list)
    _seen: dict[int, int] = field(default_factory=dict)

    @property
    def ids(self) -> set[str]:
        """Ids of the kept documents."""
        return set(self._ids)

    def find(self, document: CorpusDocument, doi: str = "") -> SameBy | None:
        """The property by which the document is a duplicate; None if it is new, which adds it."""
        keys = {SameBy.ID: _hash("id", document.id)}
        if not self.by_id_alone:
            if name := _DOI_PREFIX.sub("", doi.strip()).casefold():
                keys[SameBy.DOI] = _hash("doi", name)
            keys[SameBy.TEXT] = _hash("text", f"{normalised(document.title)}\n{normalised(document.text)}")
        for same_by, key in keys.items():
            if key in self._seen:
                first = self._ids[self._seen[key]]
                if document.id != first:
                    self.kept.setdefault(document.id, first)
                return same_by
        self._seen.update(dict.fromkeys(keys.values(), len(self._ids)))
        self._ids.append(document.id)
        return None


def _hash(kind: str, text: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{kind}:{text}".encode(), digest_size=8).digest())
