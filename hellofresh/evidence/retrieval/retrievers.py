"""Retrievers by name, for commands and runs.

`tf-idf`, `bm25`, `tantivy`, `minilm` (or any model of sentence-transformers by its name), `hybrid` (BM25 and MiniLM),
and two stages as FIRST+SECOND: `bm25+minilm`, `bm25+cross:MODEL`, `bm25+trained:FOLDER` with a trained head.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hellofresh.core.errors import UnknownNameError, UsageError
from hellofresh.core.executors import Pool
from hellofresh.evidence.retrieval.base import Retriever
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.dense import DenseRetriever, corpus_vectors
from hellofresh.evidence.retrieval.encoders import MINILM, open_encoder
from hellofresh.evidence.retrieval.full_text import FullTextRetriever
from hellofresh.evidence.retrieval.fusion import Fusion
from hellofresh.evidence.retrieval.rerank import CrossEncoderScorer, DenseScorer, Scorer, TwoStage
from hellofresh.evidence.retrieval.sparse import Bm25, SparseRetriever, TfIdf
from hellofresh.evidence.retrieval.trained import TrainedScorer, read_head

__all__ = ["RETRIEVERS", "Opening", "dense_scorer", "open_retriever"]

RETRIEVERS = ("tf-idf", "bm25", "tantivy", "minilm", "hybrid", "bm25+minilm")
"""Those that need nothing but the extra `retrieval`, and `web` for tantivy."""


@dataclass(frozen=True, slots=True)
class Opening:
    """How indexes are built where they are missing.

    Attributes:
        pool: where words are counted.
        progress: called with what is being done.
    """

    pool: Pool | None = None
    progress: Callable[[str], None] = lambda line: None


def open_retriever(name: str, corpus: RetrievalCorpus, opening: Opening | None = None) -> Retriever:
    """A retriever over a corpus; its index is built if missing.

    Raises:
        UnknownNameError: if there is no such retriever.
        UsageError: if what it needs is not installed.
    """
    chosen = opening or Opening()
    if "+" in name:
        first, _, second = name.partition("+")
        return TwoStage(open_retriever(first, corpus, chosen), _scorer(second, corpus, chosen))
    if name in {"tf-idf", "bm25"}:
        weighting = TfIdf() if name == "tf-idf" else Bm25()
        return SparseRetriever.open(corpus, weighting, pool=chosen.pool, progress=chosen.progress)
    if name == "tantivy":
        return FullTextRetriever.open(corpus)
    if name == "hybrid":
        return Fusion([open_retriever(part, corpus, chosen) for part in ("bm25", MINILM)])
    if name == MINILM or "/" in name:
        return _dense(name, corpus, chosen)
    raise UnknownNameError("retriever", name, RETRIEVERS)


def _dense(name: str, corpus: RetrievalCorpus, opening: Opening) -> DenseRetriever:
    encoder = open_encoder(name)
    vectors = corpus_vectors(corpus, encoder, lambda done: opening.progress(_encoded(corpus, done)))
    return DenseRetriever(encoder, corpus.keys, vectors, corpus.manifest.sha256)


def _encoded(corpus: RetrievalCorpus, done: int) -> str:
    return f"encoding {corpus.name}: {done:,} of {corpus.manifest.documents:,} documents"


def _scorer(name: str, corpus: RetrievalCorpus, opening: Opening) -> Scorer:
    kind, _, rest = name.partition(":")
    if kind == "cross" and rest:
        return CrossEncoderScorer(rest, corpus)
    if kind == "trained" and rest:
        return TrainedScorer(*read_head(Path(rest)), dense_scorer(MINILM, corpus, opening))
    if name == MINILM or "/" in name:
        return dense_scorer(name, corpus, opening)
    raise UsageError(
        f"unknown second stage {name!r}",
        expected="minilm, a model of sentence-transformers, cross:MODEL or trained:FOLDER",
        code="unknown-name",
    )


def dense_scorer(name: str, corpus: RetrievalCorpus, opening: Opening) -> DenseScorer:
    """A second stage by the vectors of an encoder, which are made if missing."""
    dense = _dense(name, corpus, opening)
    return DenseScorer(dense.encoder, dense.vectors, corpus.rows)
