"""Retrievers by name, for commands and runs, and the documents that are given to a model as evidence for a claim.

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

_CONSTANT = 60
_LEAST_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Fusion:
    """Reciprocal rank fusion.

    Attributes:
        parts: the retrievers.
        name: as on the command line.
    """

    parts: Sequence[Retriever]
    name: str = "hybrid"

    @property
    def parameters(self) -> Parameters:
        """Those of the parts, behind their names."""
        found = {f"{part.name}.{key}": value for part in self.parts for key, value in part.parameters.items()}
        return {"fusion": "rrf", "constant": _CONSTANT, **found}

    async def retrieve(self, query: str, k: int, *, before: date | None = None) -> Ranking:
        """The k documents with the highest sums."""
        sums: dict[str, float] = defaultdict(float)
        for part in self.parts:
            found = await part.retrieve(query, max(k, _LEAST_DEPTH), before=before)
            for rank, document in enumerate(found.documents, start=1):
                sums[document] += 1 / (_CONSTANT + rank)
        ids_last_first = sorted(sums.items(), key=lambda item: item[0], reverse=True)
        return made_ranking(sorted(ids_last_first, key=lambda item: -item[1])[:k])


RETRIEVERS = ("tf-idf", "bm25", "minilm", "hybrid", "bm25+minilm")
"""Those that need nothing but the extra `retrieval`."""


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


def _dense(name: str, corpus: RetrievalCorpus, opening: Opening) -> DenseRetriever:
    def progress(done: int) -> None:
        opening.progress(f"encoding {corpus.name}: {done:,} of {corpus.manifest.documents:,} documents")

    encoder = open_encoder(name)
    vectors = corpus_vectors(corpus, encoder, progress)
    graph = corpus_graph(corpus, encoder, vectors)
    return DenseRetriever(encoder, corpus.keys, vectors, corpus.manifest.sha256, graph)


def dense_scorer(name: str, corpus: RetrievalCorpus, opening: Opening) -> DenseScorer:
    """A second stage by the vectors of an encoder, which are made if missing."""
    dense = _dense(name, corpus, opening)
    return DenseScorer(dense.encoder, dense.vectors, corpus.rows)


@dataclass(frozen=True, slots=True)
class FoundEvidence:
    """A document that was found.

    Attributes:
        document: as in the corpus.
        address: by which it is cited.
        score: the retriever's.
    """

    document: CorpusDocument
    address: str
    score: float


async def find_evidence(
    workspace: Workspace, corpus: str, sha256: str, retriever: str, *, claim: str, count: int
) -> list[FoundEvidence]:
    """The documents that fit a claim best.

    Args:
        workspace: where corpora are.
        corpus, sha256: which corpus, with which content.
        retriever: as on the command line, such as `bm25+minilm`.
        claim: what is looked for.
        count: how many.

    Raises:
        UsageError: if the corpus has other content, or what the retriever needs is not there.
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
    """Opened once for all samples of a run."""
    found = open_exact(Workspace(root), corpus, sha256)
    return found, open_retriever(retriever, found)
