"""A full-text index by tantivy, in memory: BM25 over titles and texts, as of a day if asked.

Local search of pages and the retriever `tantivy` are both this index; the same documents give the same results
everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from hellofresh.core.errors import UsageError
from hellofresh.evidence.retrieval.base import Parameters, made_ranking
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.documents import CorpusDocument
from hellofresh.tasks.outputs import Ranking

if TYPE_CHECKING:
    from tantivy import Index, Query

__all__ = ["FullTextIndex", "FullTextRetriever"]

_WORD = re.compile(r"\w+")
_TITLE_WEIGHT = 2.0
_WRITER_BYTES = 15_000_000


class FullTextIndex:
    """An index of titles and texts, in the order in which they come.

    Raises:
        UsageError: if the package tantivy is not installed.
    """

    def __init__(self, documents: Iterable[CorpusDocument]) -> None:
        try:
            import tantivy
        except ImportError:
            raise UsageError(
                "the package tantivy is not installed", where="provider offline", fix="Install hellofresh[web].",
                code="missing-extra",
            ) from None  # fmt: skip
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("n", stored=True)
        builder.add_integer_field("day", indexed=True)
        builder.add_text_field("title", tokenizer_name="en_stem")
        builder.add_text_field("text", tokenizer_name="en_stem")
        self._index: Index = tantivy.Index(builder.build())
        # One thread: documents come into one segment in their order.
        writer = self._index.writer(heap_size=_WRITER_BYTES, num_threads=1)
        self.size = 0
        for document in documents:
            row = tantivy.Document()
            row.add_integer("n", self.size)
            row.add_integer("day", 0 if document.date is None else document.date.toordinal())
            row.add_text("title", document.title)
            row.add_text("text", document.text)
            writer.add_document(row)
            self.size += 1
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()

    def search(self, text: str, before: date | None = None) -> list[tuple[float, int]]:
        """Score and place of all documents that match, the best first; of equal scores the earlier place.

        With `before`, only documents that are not known to be from that day or later.
        """
        words = _WORD.findall(text.lower())
        if not words:
            return []
        searcher = self._index.searcher()
        # All that match are taken, so that ties are broken by place and not by where the engine stops.
        hits = searcher.search(self._query(words, before), max(1, self.size)).hits
        numbered = [(float(score), int(searcher.doc(place)["n"][0])) for score, place in hits]
        return sorted(numbered, key=lambda hit: (-hit[0], hit[1]))

    def _query(self, words: list[str], before: date | None) -> Query:
        from tantivy import FieldType, Occur, Query

        # Words alone, in lower case: nothing in a model's query is an operator or names a field.
        query, _ = self._index.parse_query_lenient(
            " ".join(words), ["title", "text"], field_boosts={"title": _TITLE_WEIGHT}
        )
        if before is None:
            return query
        days = Query.range_query(
            self._index.schema, "day", FieldType.Integer, 0, before.toordinal(), include_upper=False
        )
        # A filter gives no score: the order is that of a search without it.
        return Query.boolean_query([(Occur.Must, query), (Occur.Must, Query.const_score_query(days, 0.0))])


@dataclass(frozen=True)
class FullTextRetriever:
    """tantivy over a corpus; the index is made when it is opened, so it is for corpora of some ten thousand documents.

    Attributes:
        corpus: the documents.
        index: over them.
    """

    corpus: RetrievalCorpus
    index: FullTextIndex = field(repr=False)
    name: str = field(default="tantivy", init=False)

    @classmethod
    def open(cls, corpus: RetrievalCorpus) -> FullTextRetriever:
        """Over a corpus."""
        return cls(corpus, FullTextIndex(corpus.documents()))

    @property
    def parameters(self) -> Parameters:
        """The title's weight, and the corpus."""
        return {"engine": self.name, "title_weight": _TITLE_WEIGHT, "corpus": self.corpus.manifest.sha256}

    async def retrieve(self, query: str, k: int, *, before: date | None = None) -> Ranking:
        """The k documents with the highest score; equal ones as trec_eval reads them."""
        found = [(self.corpus.ids[place], score) for score, place in self.index.search(query, before)]
        last_first = sorted(found, key=lambda hit: hit[0], reverse=True)
        return made_ranking(sorted(last_first, key=lambda hit: -hit[1])[:k])
