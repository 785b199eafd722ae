"""Retrievers by name, for commands and runs, and retrieval of evidence for a claim.

`tf-idf`, `bm25`, `minilm` (or any model of sentence-transformers by its name), `hybrid` (BM25 and MiniLM by reciprocal
rank fusion), and two stages as FIRST+SECOND: `bm25+minilm`, `bm25+cross:MODEL`, `bm25+trained:FOLDER` with a trained
head.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path

from hellofresh.core.errors import UnknownNameError, UsageError
from hellofresh.core.executors import Pool
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.base import Parameters, Retriever, made_ranking
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus, document_address, open_exact
from hellofresh.evidence.retrieval.dense import DenseRetriever, corpus_graph, corpus_vectors
from hellofresh.evidence.retrieval.documents import CorpusDocument
from hellofresh.evidence.retrieval.encoders import MINILM, open_encoder
from hellofresh.evidence.retrieval.rerank import (
    CrossEncoderScorer,
    DenseScorer,
    TrainedScorer,
    TwoStage,
    read_head,
)
from hellofresh.evidence.retrieval.sparse import Bm25, SparseRetriever, TfIdf
from hellofresh.tasks.outputs import Ranking

_CONSTANT = 60  # of reciprocal rank fusion, as in Cormack et al. (2009)
_LEAST_DEPTH = 100  # a document far down in each list may lead when they are fused
RETRIEVERS = ("tf-idf", "bm25", "minilm", "hybrid", "bm25+minilm")
"""Retrievers that need only the extra `retrieval`."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """Reciprocal rank fusion.

    Attributes:
        parts: the retrievers.
        name: name on the command line.
    """

    parts: Sequence[Retriever]
    name: str = "hybrid"

    @property
    def parameters(self) -> Parameters:
        """Parameters of the parts, prefixed with their names."""
        found = {f"{part.name}.{key}": value for part in self.parts for key, value in part.parameters.items()}
        return {"fusion": "rrf", "constant": _CONSTANT, **found}

    async def retrieve(self, query: str, k: int, *, before: date | None = None) -> Ranking:
        """The k documents with the highest sums of reciprocal ranks."""
        sums: dict[str, float] = defaultdict(float)
        for part in self.parts:
            found = await part.retrieve(query, max(k, _LEAST_DEPTH), before=before)
            for rank, document in enumerate(found.documents, start=1):
                sums[document] += 1 / (_CONSTANT + rank)
        ids_last_first = sorted(sums.items(), key=lambda item: item[0], reverse=True)
        return made_ranking(sorted(ids_last_first, key=lambda item: -item[1])[:k])


@dataclass(frozen=True, slots=True)
class IndexBuild:
    """How missing indexes are built.

    Attributes:
        pool: pool of processes that count words.
        progress: called with a line about the current step.
    """

    pool: Pool | None = None
    progress: Callable[[str], None] = lambda line: None


def open_retriever(name: str, corpus: RetrievalCorpus, opening: IndexBuild | None = None) -> Retriever:
    """Open a retriever over a corpus; a missing index is built.

    Raises:
        UnknownNameError: if there is no such retriever.
        UsageError: if a required package is not installed.
    """
    chosen = opening or IndexBuild()
    if "+" in name:
        first, _, second = name.partition("+")
        found = open_retriever(first, corpus, chosen)
        kind, _, rest = second.partition(":")
        if kind == "cross" and rest:
            return TwoStage(found, CrossEncoderScorer(rest, corpus))
        if kind == "trained" and rest:
            return TwoStage(found, TrainedScorer(*read_head(Path(rest)), dense_scorer(MINILM, corpus, chosen)))
        if second == MINILM or "/" in second:
            return TwoStage(found, dense_scorer(second, corpus, chosen))
        raise UsageError(
            f"unknown second stage {second!r}",
            expected="minilm, a model of sentence-transformers, cross:MODEL or trained:FOLDER",
            code="unknown-name",
        )
    if name in {"tf-idf", "bm25"}:
        weighting = TfIdf() if name == "tf-idf" else Bm25()
        return SparseRetriever.open(corpus, weighting, pool=chosen.pool, progress=chosen.progress)
    if name == "hybrid":
        return Fusion([open_retriever(part, corpus, chosen) for part in ("bm25", MINILM)])
    if name == MINILM or "/" in name:
        return _dense(name, corpus, chosen)
    raise UnknownNameError("retriever", name, RETRIEVERS)


def _dense(name: str, corpus: RetrievalCorpus, opening: IndexBuild) -> DenseRetriever:
    def progress(done: int) -> None:
        opening.progress(f"encoding {corpus.name}: {done:,} of {corpus.manifest.documents:,} documents")

    encoder = open_encoder(name)
    vectors = corpus_vectors(corpus, encoder, progress)
    graph = corpus_graph(corpus, encoder, vectors)
    return DenseRetriever(encoder, corpus.keys, vectors, corpus.manifest.sha256, graph)


def dense_scorer(name: str, corpus: RetrievalCorpus, opening: IndexBuild) -> DenseScorer:
    """A second stage by an encoder's vectors, which are made if missing."""
    dense = _dense(name, corpus, opening)
    return DenseScorer(dense.encoder, dense.vectors, corpus.rows)


@dataclass(frozen=True, slots=True)
class FoundEvidence:
    """A retrieved document.

    Attributes:
        document: the document in the corpus.
        address: the address to cite it by.
        score: the retriever's score.
    """

    document: CorpusDocument
    address: str
    score: float


async def find_evidence(
    workspace: Workspace, corpus: str, sha256: str, retriever: str, *, claim: str, count: int
) -> list[FoundEvidence]:
    """Retrieve the best documents for a claim.

    Args:
        workspace: the workspace with the corpus.
        corpus, sha256: name and content hash of the corpus.
        retriever: name on the command line, such as `bm25+minilm`.
        claim: the query.
        count: number of documents.

    Raises:
        UsageError: if the corpus has other content, or a requirement of the retriever is missing.
        UnknownNameError: if there is no such retriever.
    """
    opened, finder = _opened(workspace.root, corpus, sha256, retriever)
    found = await finder.retrieve(claim, count)
    return [
        FoundEvidence(opened.document(name), document_address(corpus, name), score)
        for name, score in zip(found.documents, found.scores, strict=True)
    ]


@lru_cache(maxsize=4)
def _opened(root: Path, corpus: str, sha256: str, retriever: str) -> tuple[RetrievalCorpus, Retriever]:
    """Corpus and retriever, cached so that a run opens them once."""
    found = open_exact(Workspace(root), corpus, sha256)
    return found, open_retriever(retriever, found)
