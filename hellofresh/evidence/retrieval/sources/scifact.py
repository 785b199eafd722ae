"""SciFact (Wadden et al., EMNLP 2020): scientific claims, each with the abstracts that it cites.

Read are `corpus.jsonl` and `claims_<split>.jsonl` in one folder, as released or in the hub's form. Every cited abstract
is relevant, as BEIR has it. Claims without one, as in the released test set, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from hellofresh.core.errors import SourceError
from hellofresh.evidence.retrieval.corpora import FoundDocument
from hellofresh.evidence.retrieval.documents import CorpusDocument
from hellofresh.evidence.retrieval.judgements import Judgement, Query
from hellofresh.evidence.retrieval.sources._base import find_file, make_query, rows_of, text_of, words_of

__all__ = ["SciFactSource"]

_CLAIMS = re.compile(r"claims_([a-z0-9_-]+)\.jsonl(?:\.gz)?")


class SciFactSource:
    """The data set's folder.

    Raises:
        SourceError: if there is no corpus or no claim in it.
    """

    name: ClassVar[str] = "scifact"
    license: ClassVar[str] = "CC-BY-4.0 AND ODC-By-1.0"
    repeats: ClassVar[bool] = False

    def __init__(self, folder: Path) -> None:
        corpus = find_file(folder, "corpus.jsonl")
        files = sorted(folder.glob("claims_*.jsonl*"))
        self._claims = [(match[1], path) for path in files if (match := _CLAIMS.fullmatch(path.name))]
        if corpus is None or not self._claims:
            raise SourceError(
                "not a folder of SciFact",
                where=str(folder),
                expected="corpus.jsonl, and claims_train.jsonl or claims_dev.jsonl",
                code="missing-file",
            )
        self._corpus = corpus

    def documents(self) -> Iterator[FoundDocument]:
        """The abstracts."""
        for where, row in rows_of(self._corpus):
            name, title = text_of(row, where, "doc_id", "_id"), text_of(row, where, "title")
            text = text_of(row, where, "text", "abstract")
            yield FoundDocument(CorpusDocument(name, title.strip(), text.strip(), None, self.name), where)

    @cached_property
    def _rows(self) -> list[tuple[str, str, Mapping[str, object]]]:
        return [
            (split, where, row)
            for split, path in self._claims
            for where, row in rows_of(path)
            if row.get("cited_doc_ids")
        ]

    def queries(self) -> Iterator[Query]:
        """The claims; those on the same abstracts are a group."""
        for split, where, row in self._rows:
            group = "+".join(sorted(words_of(row, where, "cited_doc_ids")))[:200]
            yield make_query(
                where, id=text_of(row, where, "id"), text=text_of(row, where, "claim"), split=split, group=group
            )

    def judgements(self) -> Iterator[Judgement]:
        """One for each cited abstract."""
        for _, where, row in self._rows:
            for name in words_of(row, where, "cited_doc_ids"):
                yield Judgement(text_of(row, where, "id"), name, 1)
