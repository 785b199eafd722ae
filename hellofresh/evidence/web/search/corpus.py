"""Search in a corpus of the workspace by one of its retrievers, dense ones among them, in place of the web.

A document's address is `https://NAME.corpus.invalid/ID`, a name that no server can have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from urllib.parse import unquote

from hellofresh.core.net.addresses import AddressError, PageAddress
from hellofresh.core.texts import visible as clean
from hellofresh.evidence.retrieval.base import Retriever
from hellofresh.evidence.retrieval.corpora import ADDRESS_ENDING, RetrievalCorpus, document_address
from hellofresh.evidence.web import PageStatus
from hellofresh.evidence.web.fetch import FetchResult
from hellofresh.evidence.web.search import Hit, ProviderAnswer, ranked
from hellofresh.evidence.web.text import MainText, first_words

_SNIPPET_WORDS = 30


class CorpusSearch:
    """Finds documents by a retriever; documents known to be from `before` or later are left out."""

    name = "corpus"

    def __init__(self, corpus: RetrievalCorpus, retriever: Retriever) -> None:
        self._corpus, self._retriever = corpus, retriever
        self.parameters: Mapping[str, str | int | float | bool] = {
            "provider": "corpus",
            "corpus": corpus.name,
            "corpus_sha256": corpus.manifest.sha256,
            "dated": True,
            **{f"retriever_{name}": value for name, value in retriever.parameters.items()},
        }

    async def search(self, query: str, count: int, before: date | None) -> ProviderAnswer:
        """The nearest documents."""
        ranking = await self._retriever.retrieve(query, count, before=before)
        hits = [
            Hit(
                url=document_address(self._corpus.name, document.id),
                title=document.title,
                snippet=first_words(document.text, _SNIPPET_WORDS),
                date=None if document.date is None else document.date.isoformat(),
            )
            for document in map(self._corpus.document, ranking.documents)
        ]
        raw = json.dumps([list(ranking.documents), [round(score, 6) for score in ranking.scores]]).encode()
        return ProviderAnswer(ranked(hits, count, before), raw)

    async def fetch(self, url: str) -> FetchResult:
        """The document with that address as if it had been fetched, else `dead`."""
        try:
            address = PageAddress.parse(url)
        except AddressError as error:
            return FetchResult(url, PageStatus.UNSAFE, str(error))
        name = unquote(address.target.removeprefix("/"))
        if address.host != f"{self._corpus.name}{ADDRESS_ENDING}" or name not in self._corpus.rows:
            return FetchResult(address.url, PageStatus.DEAD, "not in the corpus")
        document = self._corpus.document(name)
        day = "" if document.date is None else document.date.isoformat()
        text = MainText(clean(document.title), clean(document.text or document.title), day)
        return FetchResult(address.url, PageStatus.OK, "", "text/plain; charset=utf-8", text.text.encode(), text)

    async def close(self) -> None:
        """Nothing is held."""
