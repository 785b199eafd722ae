"""Search in a corpus on this machine: BM25 over titles and texts, as of a day if asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING

from hellofresh.evidence.web.documents import Corpus, Document
from hellofresh.evidence.web.search._base import Hit, ProviderAnswer, ranked
from hellofresh.evidence.web.text import first_words

if TYPE_CHECKING:
    from hellofresh.evidence.retrieval.documents import CorpusDocument

__all__ = ["Offline"]

_SNIPPET_WORDS = 30


class Offline:
    """A search engine over a corpus, its index in memory; the same corpus gives the same results everywhere.

    Raises:
        UsageError: if the package tantivy is not installed.
    """

    name = "offline"

    def __init__(self, corpus: Corpus) -> None:
        self._documents = corpus.documents
        from hellofresh.evidence.retrieval.full_text import FullTextIndex  # brings polars, which few commands need

        self._index = FullTextIndex(map(_indexed, corpus.documents))
        self.parameters: Mapping[str, str | int | float | bool] = {
            "provider": "offline", "corpus": corpus.sha256, "pages": len(corpus.documents), "dated": True,
        }  # fmt: skip

    async def search(self, query: str, count: int, before: date | None) -> ProviderAnswer:
        """Search; equal scores stand by name."""
        best = self._index.search(query, before)[:count]
        found = [self._documents[number] for _, number in best]
        raw = json.dumps([[round(score, 4), self._documents[number].name] for score, number in best]).encode()
        return ProviderAnswer(ranked([_hit(document) for document in found], count, before), raw)

    async def close(self) -> None:
        """Nothing is held."""


def _hit(document: Document) -> Hit:
    return Hit(document.url, document.title, first_words(document.text, _SNIPPET_WORDS), document.date.isoformat())


def _indexed(document: Document) -> CorpusDocument:
    from hellofresh.evidence.retrieval.documents import CorpusDocument

    return CorpusDocument(document.name, document.title, document.text, document.date)
