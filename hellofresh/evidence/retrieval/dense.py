"""Dense retrieval: the vector of each document, and the query's nearest ones.

The search is exact. From a million documents on, if usearch is installed, a graph (HNSW,
https://arxiv.org/abs/1603.09320) proposes candidates that are scored exactly: recall@20 of .998 on 200,000 vectors
(docs/retrieval.md). Vectors of a corpus are stored in its folder block by block, so that an interrupted build resumes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.files import atomic_path, canonical_json, sha256_file, sha256_text
from hellofresh.evidence.retrieval.base import DocumentKeys, Parameters, best
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.encoders import Encoder
from hellofresh.tasks.outputs import Ranking

if TYPE_CHECKING:
    from usearch.index import Index

_BLOCK = 500  # texts in a block, half a minute's work on one processor


GRAPH_FROM = 1_000_000
"""Fewest documents for which a graph is searched, if usearch is installed."""
GRAPH_SETTINGS: Mapping[str, Any] = {
    "metric": "ip",
    "dtype": "i8",
    "connectivity": 16,
    "expansion_add": 128,
    "expansion_search": 400,
}
"""Eight-bit vectors take a quarter of the memory; exact scoring of the candidates corrects their errors."""
_CANDIDATES = 10  # number of exactly scored candidates as a multiple of k; at least a hundred are scored


@dataclass(frozen=True, slots=True)
class VectorGraph:
    """A searchable graph of vectors and the hash of its file, since what is found depends on the graph."""

    index: Index
    sha256: str

    @property
    def parameters(self) -> Parameters:
        """What distinguishes this graph from others."""
        return {f"graph_{name}": value for name, value in {**GRAPH_SETTINGS, "sha256": self.sha256}.items()}


@dataclass(frozen=True, slots=True)
class DenseRetriever:
    """Finds the documents whose vectors are nearest to a query's.

    Attributes:
        encoder: the encoder of documents and queries.
        keys: ids and days of the documents.
        vectors: shape (n, dimensions), each of length 1.
        corpus: hash of the documents' content.
        graph: graph of the vectors; None for exact search.
    """

    encoder: Encoder
    keys: DocumentKeys
    vectors: NDArray[np.float32]
    corpus: str = ""
    graph: VectorGraph | None = None

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.encoder.name

    @property
    def parameters(self) -> Parameters:
        """Parameters of encoder, corpus and graph."""
        graph = {} if self.graph is None else self.graph.parameters
        return {**self.encoder.parameters, "corpus": self.corpus, **graph}

    async def retrieve(self, query: str, k: int, *, before: date | None = None) -> Ranking:
        """The k nearest documents."""
        vector = self.encoder.queries([query])[0]
        if self.graph is not None and k > 0:
            near = self.graph.index.search(vector, max(_CANDIDATES * k, 100)).keys
            places = np.sort(near).astype(np.int32)
            found = best(self.vectors[places] @ vector, self.keys.some(places), k, before, above=-np.inf)
            if len(found.documents) == k:  # otherwise too few are from before the day
                return found
        return best(self.vectors @ vector, self.keys, k, before, above=-np.inf)


def _folder(corpus: RetrievalCorpus, encoder: Encoder) -> Path:
    key = sha256_text(canonical_json([dict(encoder.parameters), corpus.manifest.sha256]))[:12]
    return corpus.folder / "index" / f"dense-{encoder.name}-{key}"


def corpus_vectors(
    corpus: RetrievalCorpus, encoder: Encoder, progress: Callable[[int], None] = lambda done: None
) -> NDArray[np.float32]:
    """Vectors of a corpus's documents, shape (n, dimensions), memory-mapped from its folder and made if missing.

    Args:
        corpus: the documents.
        encoder: makes the vectors.
        progress: called with the number of encoded documents.

    Raises:
        WorkspaceError: if the folder cannot be written.
    """

    def texts(start: int, stop: int) -> list[str]:
        return [document.content for document in corpus.documents(start, stop)]

    return stored_vectors(encoder, texts, corpus.manifest.documents, _folder(corpus, encoder), progress)


def stored_vectors(
    encoder: Encoder,
    texts: Callable[[int, int], Sequence[str]],
    count: int,
    folder: Path,
    progress: Callable[[int], None],
) -> NDArray[np.float32]:
    """Vectors of texts, memory-mapped from their own folder and made if missing.

    Args:
        encoder: makes the vectors.
        texts: returns the texts from a start to a stop index.
        count: number of texts.
        folder: folder for this encoder and these texts only.
        progress: called with the number of encoded texts.
    """
    whole = folder / "vectors.npy"
    if not whole.is_file():
        blocks = {start: folder / f"block-{start:09}.npy" for start in range(0, count, _BLOCK)}
        for start, path in blocks.items():
            stop = min(start + _BLOCK, count)
            if not path.is_file():
                with atomic_path(path) as temporary, temporary.open("wb") as file:
                    np.save(file, encoder.passages(texts(start, stop)))
            progress(stop)
        with atomic_path(whole) as temporary:
            shape = (count, encoder.dimensions)
            joined = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float32, shape=shape)
            for start, path in blocks.items():
                joined[start : start + _BLOCK] = np.load(path)
            joined.flush()
        for path in blocks.values():
            path.unlink()
    vectors: NDArray[np.float32] = np.load(whole, mmap_mode="r")
    return vectors


def corpus_graph(corpus: RetrievalCorpus, encoder: Encoder, vectors: NDArray[np.float32]) -> VectorGraph | None:
    """The graph of a corpus's vectors, memory-mapped from its folder and made if missing; None for exact search.

    The same vectors give the same graph.

    Raises:
        WorkspaceError: if the folder cannot be written.
    """
    if len(vectors) < GRAPH_FROM or find_spec("usearch") is None:
        return None
    from usearch.index import Index

    path = _folder(corpus, encoder) / f"graph-{sha256_text(canonical_json(GRAPH_SETTINGS))[:12]}.usearch"
    graph = Index(ndim=encoder.dimensions, **dict[str, Any](GRAPH_SETTINGS))
    if not path.is_file():
        graph.add(np.arange(len(vectors)), vectors, threads=1)  # several threads make another graph each time
        with atomic_path(path) as temporary:
            graph.save(str(temporary))
    graph.view(str(path))
    return VectorGraph(graph, sha256_file(path))
