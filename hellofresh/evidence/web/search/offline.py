"""Search in a corpus on this machine: BM25 over titles and texts, as of a day if asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date

import numpy as np

from hellofresh.evidence.web.documents import Corpus, Document
from hellofresh.evidence.web.search._base import Hit, ProviderAnswer, ranked
from hellofresh.evidence.web.text import first_words

__all__ = ["Offline"]

_SNIPPET_WORDS = 30


class Offline:
    """A search engine over a corpus, its index in memory; the same corpus gives the same results everywhere.

    Raises:
        UsageError: if the stemmer (PyStemmer) is not installed.
    """

    name = "offline"

    def __init__(self, corpus: Corpus) -> None:
        self._documents = corpus.documents
        from hellofresh.evidence.retrieval.sparse import SparseRetriever  # brings polars, which few commands need

        # Titles count double.
        texts = [f"{document.title}\n{document.title}\n{document.text}" for document in corpus.documents]
        names, days = zip(*((document.name, document.date) for document in corpus.documents), strict=True)
        self._index = SparseRetriever.of_texts(names, texts, days)
        self.parameters: Mapping[str, str | int | float | bool] = {
            "provider": "offline",
            "engine": "bm25",
            "corpus": corpus.sha256,
            "pages": len(corpus.documents),
            "dated": True,
        }

    async def search(self, query: str, count: int, before: date | None) -> ProviderAnswer:
        """Search; equal scores stand by name."""
        scores = self._index.scores(query)
        if before is not None:
            scores[~self._index.keys.early(before)] = 0.0
        best = [number for number in np.argsort(-scores, kind="stable")[:count].tolist() if scores[number] > 0]
        found = [self._documents[number] for number in best]
        raw = json.dumps([[round(float(scores[number]), 4), self._documents[number].name] for number in best]).encode()
        return ProviderAnswer(ranked([_hit(document) for document in found], count, before), raw)

    async def close(self) -> None:
        """Nothing is held."""


def _hit(document: Document) -> Hit:
    return Hit(document.url, document.title, first_words(document.text, _SNIPPET_WORDS), document.date.isoformat())
