"""An export of LitCovid (Chen et al., Nucleic Acids Research 2021): PubMed ids and titles on COVID-19.

A table with tabs between columns: `pmid`, `title_e` or `title`, and, where the export has it, `abstract`; comments
begin with `#`. Its titles serve as distractors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from hellofresh.core.errors import SourceError
from hellofresh.evidence.retrieval.corpora import FoundDocument
from hellofresh.evidence.retrieval.documents import CorpusDocument
from hellofresh.evidence.retrieval.judgements import Judgement, Query
from hellofresh.evidence.retrieval.sources._base import day_or_none, lines_of

__all__ = ["LitCovidSource"]


class LitCovidSource:
    """The table, packed by gzip or not, or the folder that holds one.

    Raises:
        SourceError: if it is not there.
    """

    name: ClassVar[str] = "litcovid"
    license: ClassVar[str] = "public domain (US government work)"
    repeats: ClassVar[bool] = True

    def __init__(self, path: Path) -> None:
        files = sorted(path.glob("*.tsv*")) if path.is_dir() else [path]
        if len(files) != 1 or not files[0].is_file():
            raise SourceError("not one table", where=str(path), expected="an export as .tsv", code="missing-file")
        self._path = files[0]

    def documents(self) -> Iterator[FoundDocument]:
        """The papers."""
        columns: list[str] = []
        for where, line in lines_of(self._path):
            try:
                text = line.decode().rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise SourceError(f"byte {error.start} is not UTF-8", where=where, code="not-utf8") from None
            if text.startswith("#"):
                continue
            cells = text.split("\t")
            if not columns:
                columns = _head(cells, where)
                continue
            if len(cells) != len(columns):
                raise SourceError(f"{len(cells)} columns", where=where, expected=f"{len(columns)}", code="bad-row")
            row = dict(zip(columns, (cell.strip() for cell in cells), strict=True))
            title = row.get("title_e") or row.get("title", "")
            document = CorpusDocument(
                row["pmid"], title, row.get("abstract", ""), day_or_none(row.get("date")), self.name
            )
            yield FoundDocument(document, where, row.get("doi", ""))

    def queries(self) -> Iterator[Query]:
        """None."""
        return iter(())

    def judgements(self) -> Iterator[Judgement]:
        """None."""
        return iter(())


def _head(cells: list[str], where: str) -> list[str]:
    if "pmid" not in cells or not {"title_e", "title"} & set(cells):
        raise SourceError("no column pmid or title_e", where=where, expected="the head", code="missing-columns")
    return cells
