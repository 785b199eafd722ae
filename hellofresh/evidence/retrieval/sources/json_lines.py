"""Documents as JSON lines: `id`, `title`, `text`, and, where known, `date`, `source` and `doi`.

A folder may hold beside `documents.jsonl` also `queries.jsonl` and `qrels` in the project's own formats.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from hellofresh.core.errors import SourceError
from hellofresh.evidence.retrieval.corpora import FoundDocument
from hellofresh.evidence.retrieval.documents import CorpusDocument
from hellofresh.evidence.retrieval.judgements import Judgement, Query, read_qrels, read_queries
from hellofresh.evidence.retrieval.sources._base import day_or_none, find_file, rows_of, text_of

__all__ = ["JsonLinesSource"]


class JsonLinesSource:
    """The file of documents, or a folder.

    Raises:
        SourceError: if there are no documents.
    """

    name: ClassVar[str] = "jsonl"
    license: ClassVar[str] = "as its owner says"
    repeats: ClassVar[bool] = False

    def __init__(self, path: Path) -> None:
        documents = find_file(path, "documents.jsonl") if path.is_dir() else path
        if documents is None or not documents.is_file():
            raise SourceError("no such file", where=str(path), expected="documents.jsonl", code="missing-file")
        self._documents = documents
        self._queries, self._qrels = (documents.parent / name for name in ("queries.jsonl", "qrels"))

    def documents(self) -> Iterator[FoundDocument]:
        """The documents."""
        for where, row in rows_of(self._documents):
            title, doi, source, day = (
                value if isinstance(value := row.get(name), str) else "" for name in ("title", "doi", "source", "date")
            )
            name, text = text_of(row, where, "id"), text_of(row, where, "text")
            yield FoundDocument(CorpusDocument(name, title, text, day_or_none(day), source or self.name), where, doi)

    def queries(self) -> list[Query]:
        """Those of `queries.jsonl`."""
        return read_queries(self._queries) if self._queries.is_file() else []

    def judgements(self) -> list[Judgement]:
        """Those of `qrels`."""
        return read_qrels(self._qrels) if self._qrels.is_file() else []
