"""CORD-19's `metadata.csv` (Wang et al., 2020): titles and abstracts of papers on coronaviruses, without queries.

One paper stands in several rows, by its id or its DOI: the first stays. Rows without title and abstract are left out.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, TextIO

from hellofresh.core.errors import SourceError
from hellofresh.evidence.retrieval.corpora import FoundDocument
from hellofresh.evidence.retrieval.documents import CorpusDocument
from hellofresh.evidence.retrieval.judgements import Judgement, Query
from hellofresh.evidence.retrieval.sources._base import MOST_LINE_BYTES, day_or_none

__all__ = ["Cord19Source"]

_COLUMNS = ("cord_uid", "title", "abstract", "doi", "publish_time")


class Cord19Source:
    """The file `metadata.csv`, packed by gzip or not, or the folder that holds it.

    Raises:
        SourceError: if it is not there.
    """

    name: ClassVar[str] = "cord-19"
    license: ClassVar[str] = "as each paper's license says"
    repeats: ClassVar[bool] = True

    def __init__(self, path: Path) -> None:
        self._path = path / "metadata.csv" if path.is_dir() else path
        if not self._path.is_file():
            raise SourceError(
                "no such file", where=str(self._path), expected="CORD-19's metadata.csv", code="missing-file"
            )

    def documents(self) -> Iterator[FoundDocument]:
        """The papers, a row at a time."""
        columns: list[str] = []
        for where, row in self._rows():
            if not columns:
                columns = self._head(row)
                continue
            cells = dict(zip(columns, (cell.strip() for cell in row), strict=False))
            name, title, abstract, doi, day = (cells.get(column, "") for column in _COLUMNS)
            yield FoundDocument(CorpusDocument(name, title, abstract, day_or_none(day), self.name), where, doi)

    def _head(self, row: list[str]) -> list[str]:
        if missing := sorted(set(_COLUMNS) - set(row)):
            raise SourceError(
                f"no column {missing[0]}",
                where=str(self._path),
                expected=f"the columns {', '.join(_COLUMNS)}",
                code="missing-columns",
            )
        return row

    def _rows(self) -> Iterator[tuple[str, list[str]]]:
        csv.field_size_limit(MOST_LINE_BYTES)
        with self._opened() as file:
            rows = csv.reader(file)
            while True:
                where = f"{self._path} line {rows.line_num + 1}"
                try:
                    row = next(rows, None)
                except csv.Error as error:
                    code = "document-too-large" if "field limit" in str(error) else "bad-csv"
                    raise SourceError(f"not a row ({error})", where=where, code=code) from None
                except UnicodeDecodeError as error:
                    raise SourceError(f"byte {error.start} is not UTF-8", where=where, code="not-utf8") from None
                except (EOFError, gzip.BadGzipFile) as error:
                    raise SourceError(f"a damaged archive ({error})", where=where, code="bad-archive") from None
                if row is None:
                    return
                if row:
                    yield where, row

    def _opened(self) -> TextIO:
        if self._path.suffix == ".gz":
            return io.TextIOWrapper(gzip.open(self._path), encoding="utf-8", newline="")
        return self._path.open(encoding="utf-8", newline="")

    def queries(self) -> Iterator[Query]:
        """None."""
        return iter(())

    def judgements(self) -> Iterator[Judgement]:
        """None."""
        return iter(())
