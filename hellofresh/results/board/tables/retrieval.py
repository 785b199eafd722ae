"""The board's table of documents: what systems found, and what they should have found."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from hellofresh.releases.publish import searched_corpus
from hellofresh.results.board.schema import FoundDocument
from hellofresh.results.board.splits import BoardSplit
from hellofresh.tasks import EvidenceQuery, get_task, relevance_of

__all__ = ["DEPTH", "documents"]

DEPTH = 10
"""How many documents of each ranking are shown."""
_MOST_CHARACTERS = 2_000


def documents(split: BoardSplit) -> Iterator[FoundDocument]:
    """Relevant documents and the first of each ranking, where labels are shown and the licence lets texts be shown."""
    queries = [sample for sample in split.samples if isinstance(sample, EvidenceQuery)]
    if not split.shown or not queries or get_task(split.place.task).track != "retrieval":
        return
    wanted = {document for label in split.labels.values() for document in relevance_of(label.facts)}
    ranked = split.said.filter("headline", pl.col("documents").is_not_null())["documents"]
    wanted.update(ranked.list.head(DEPTH).explode().drop_nulls().to_list())
    for name, sha256 in sorted({(query.corpus, query.corpus_sha256) for query in queries}):
        found = searched_corpus(split.workspace, name, sha256)
        if found.corpus is not None and found.is_published:
            for document in found.corpus.documents():
                if document.id in wanted:
                    yield FoundDocument(document.id, document.title, document.text[:_MOST_CHARACTERS])
