"""The layout of BEIR (Thakur et al., NeurIPS 2021), for any of its sets.

`corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`, `text`), and `qrels/<split>.tsv` with a head and the
columns query, document and score. Queries without a relevant document are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from hellofresh.core.errors import SourceError
from hellofresh.evidence.retrieval.corpora import FoundDocument
from hellofresh.evidence.retrieval.documents import CorpusDocument
from hellofresh.evidence.retrieval.judgements import Judgement, Query
from hellofresh.evidence.retrieval.sources._base import find_file, lines_of, make_query, rows_of, text_of

__all__ = ["BeirSource"]


class BeirSource:
    """A data set's folder.

    Raises:
        SourceError: if one of its three parts is missing.
    """

    name: ClassVar[str] = "beir"
    license: ClassVar[str] = "as its data set says"
    repeats: ClassVar[bool] = False

    def __init__(self, folder: Path) -> None:
        corpus, queries = find_file(folder, "corpus.jsonl"), find_file(folder, "queries.jsonl")
        self._qrels = sorted((folder / "qrels").glob("*.tsv*"))
        if corpus is None or queries is None or not self._qrels:
            raise SourceError(
                "not in the layout of BEIR",
                where=str(folder),
                expected="corpus.jsonl, queries.jsonl and qrels/test.tsv",
                code="missing-file",
            )
        self._corpus, self._queries = corpus, queries

    def documents(self) -> Iterator[FoundDocument]:
        """The documents."""
        for where, row in rows_of(self._corpus):
            title = value.strip() if isinstance(value := row.get("title"), str) else ""
            text = text_of(row, where, "text")
            yield FoundDocument(CorpusDocument(text_of(row, where, "_id"), title, text.strip(), None, self.name), where)

    @cached_property
    def _judged(self) -> dict[str, list[Judgement]]:
        found: dict[str, list[Judgement]] = {}
        for path in self._qrels:
            split = path.name.split(".")[0].lower()
            found[split] = list(_rows(path))
        return found

    @cached_property
    def _splits(self) -> dict[str, str]:
        """The split of each query that has a relevant document."""
        splits: dict[str, str] = {}
        for split, judged in self._judged.items():
            for item in judged:
                if item.relevance > 0 and splits.setdefault(item.query, split) != split:
                    raise SourceError(
                        f"query {item.query[:80]} is judged in {splits[item.query]} and in {split}",
                        where=str(self._queries),
                        expected="each query in one split",
                        code="query-in-two-splits",
                    )
        return splits

    def queries(self) -> Iterator[Query]:
        """The queries of all splits, in their order; each is a group of its own."""
        known = set()
        for where, row in rows_of(self._queries):
            name = text_of(row, where, "_id")
            if name in self._splits:
                known.add(name)
                yield make_query(where, id=name, text=text_of(row, where, "text"), split=self._splits[name], group=name)
        if missing := sorted(self._splits.keys() - known):
            raise SourceError(
                f"a judgement of the unknown query {missing[0][:80]!r}", where=str(self._queries), code="unknown-query"
            )

    def judgements(self) -> Iterator[Judgement]:
        """Those of the queries above."""
        for judged in self._judged.values():
            yield from (item for item in judged if item.query in self._splits)


def _rows(path: Path) -> Iterator[Judgement]:
    for number, (where, line) in enumerate(lines_of(path)):
        try:
            cells = line.decode().rstrip("\r\n").split("\t")
        except UnicodeDecodeError as error:
            raise SourceError(f"byte {error.start} is not UTF-8", where=where, code="bad-qrels") from None
        if number == 0 and len(cells) == 3 and not _is_whole(cells[2]):
            continue  # the head
        if len(cells) != 3 or not _is_whole(cells[2]):
            raise SourceError(
                f"not a judgement: {line[:80]!r}", where=where, expected="query, document, score", code="bad-qrels"
            )
        yield Judgement(cells[0], cells[1], int(cells[2]))


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 10
