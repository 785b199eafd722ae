"""Search in a corpus on this machine: BM25 over titles and texts, as of a day if asked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING

from hellofresh.errors import UsageError
from hellofresh.web._base import Found
from hellofresh.web.documents import Corpus, Document
from hellofresh.web.search._base import Hit, ProviderAnswer, ranked
from hellofresh.web.text import first_words

if TYPE_CHECKING:
    from tantivy import Index, Query

__all__ = ["Offline"]

_WORD = re.compile(r"\w+")
_TITLE_WEIGHT = 2.0
_SNIPPET_WORDS = 30
_WRITER_BYTES = 15_000_000


class Offline:
    """A search engine over a corpus, its index in memory; the same corpus gives the same results everywhere.

    Raises:
        UsageError: if the package tantivy is not installed.
    """

    name = "offline"

    def __init__(self, corpus: Corpus) -> None:
        self._documents = corpus.documents
        self._index = _index(corpus)
        self.parameters: Mapping[str, str | int | float | bool] = {
            "provider": "offline", "corpus": corpus.sha256, "pages": len(corpus.documents), "dated": True,
        }  # fmt: skip

    async def search(self, query: str, count: int, before: date | None) -> ProviderAnswer:
        """Search; equal scores stand by name."""
        words = _WORD.findall(query.lower())
        if not words:
            return ProviderAnswer(Found(()), b"[]")
        searcher = self._index.searcher()
        # All that match are taken, so that ties are broken by name and not by where the engine stops.
        hits = searcher.search(self._query(words, before), max(1, len(self._documents))).hits
        numbered = [(score, int(searcher.doc(place)["n"][0])) for score, place in hits]
        best = sorted(numbered, key=lambda hit: (-hit[0], hit[1]))[:count]
        found = [self._documents[number] for _, number in best]
        raw = json.dumps([[round(score, 4), self._documents[number].name] for score, number in best]).encode()
        return ProviderAnswer(ranked([_hit(document) for document in found], count, before), raw)

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

    async def close(self) -> None:
        """Nothing is held."""


def _hit(document: Document) -> Hit:
    return Hit(document.url, document.title, first_words(document.text, _SNIPPET_WORDS), document.date.isoformat())


def _index(corpus: Corpus) -> Index:
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
    index = tantivy.Index(builder.build())
    # One thread: documents come into one segment in their order.
    writer = index.writer(heap_size=_WRITER_BYTES, num_threads=1)
    for number, document in enumerate(corpus.documents):
        row = tantivy.Document()
        row.add_integer("n", number)
        row.add_integer("day", document.date.toordinal())
        row.add_text("title", document.title)
        row.add_text("text", document.text)
        writer.add_document(row)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index
