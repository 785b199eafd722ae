"""Dense retrieval: the vector of each document, and the query's nearest ones.

The search is exact, and from a million documents on by a graph (HNSW, https://arxiv.org/abs/1603.09320) where
usearch is installed: its candidates are scored exactly: recall@20 of .998 on 200,000 vectors (docs/retrieval.md).
Vectors of a corpus are made block by block and kept in its folder, so that an interrupted build goes on where it was.
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

from hellofresh.core.files import atomic_path, canonical_json, sha256_text
from hellofresh.evidence.retrieval.base import DocumentKeys, Parameters, best
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.encoders import Encoder
from hellofresh.tasks.outputs import Ranking

if TYPE_CHECKING:
    from usearch.index import Index

_BLOCK = 500
"""Texts in a block: half a minute's work on one processor."""


GRAPH_FROM = 1_000_000
"""Documents from which on a graph is searched where usearch is installed."""
GRAPH_SETTINGS: Mapping[str, Any] = {
    "metric": "ip",
    "dtype": "i8",
    "connectivity": 16,
    "expansion_add": 128,
    "expansion_search": 400,
}
"""Vectors in eight bits take a quarter of the memory; what they misplace is scored again."""
_CANDIDATES = 10
"""Times as many as asked for are scored exactly, and at least a hundred."""


@dataclass(frozen=True, slots=True)
class DenseRetriever:
    """Finds what is nearest to a query among vectors of documents.

    Attributes:
        encoder: made the vectors, and makes those of queries.
        keys: ids and days of the documents.
        vectors: shape (n, dimensions), each of length 1.
        corpus: hash of the documents' content.
        graph: of the vectors; None for the exact search.
    """

    encoder: Encoder
    keys: DocumentKeys
    vectors: NDArray[np.float32]
    corpus: str = ""
    graph: Index | None = None

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.encoder.name

    @property
    def parameters(self) -> Parameters:
        """Encoder and corpus, and the graph's."""
        graph = {} if self.graph is None else {f"graph_{name}": value for name, value in GRAPH_SETTINGS.items()}
        return {**self.encoder.parameters, "corpus": self.corpus, **graph}

    async def retrieve(self, query: str, k: int, *, before: date | None = None) -> Ranking:
        """The k nearest."""
        vector = self.encoder.queries([query])[0]
        if self.graph is not None and k > 0:
            near = self.graph.search(vector, max(_CANDIDATES * k, 100)).keys
            places = np.sort(near).astype(np.int32)
            found = best(self.vectors[places] @ vector, self.keys.some(places), k, before, above=-np.inf)
            if len(found.documents) == k:  # else too few are early enough
                return found
        return best(self.vectors @ vector, self.keys, k, before, above=-np.inf)


def _folder(corpus: RetrievalCorpus, encoder: Encoder) -> Path:
    key = sha256_text(canonical_json([dict(encoder.parameters), corpus.manifest.sha256]))[:12]
    return corpus.folder / "index" / f"dense-{encoder.name}-{key}"


def corpus_vectors(
    corpus: RetrievalCorpus, encoder: Encoder, progress: Callable[[int], None] = lambda done: None
) -> NDArray[np.float32]:
    """Vectors of a corpus's documents, shape (n, dimensions), mapped from its folder, where they are made if missing.

    Args:
        corpus: the documents.
        encoder: makes the vectors.
        progress: called with the number of documents that are done.

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
    """Vectors of texts, mapped from a folder of their own, where they are made if missing.

    Args:
        encoder: makes the vectors.
        texts: those from one place up to another.
        count: of the texts.
        folder: belongs to this encoder and these texts.
        progress: called with the number of texts that are done.
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


def corpus_graph(corpus: RetrievalCorpus, encoder: Encoder, vectors: NDArray[np.float32]) -> Index | None:
    """The graph of a corpus's vectors, mapped from its folder, where it is made if missing; None for an exact search.

    Raises:
        WorkspaceError: if the folder cannot be written.
    """
    if len(vectors) < GRAPH_FROM or find_spec("usearch") is None:
        return None
    from usearch.index import Index

    path = _folder(corpus, encoder) / f"graph-{sha256_text(canonical_json(GRAPH_SETTINGS))[:12]}.usearch"
    graph = Index(ndim=encoder.dimensions, **dict[str, Any](GRAPH_SETTINGS))
    if not path.is_file():
        graph.add(np.arange(len(vectors)), vectors)
        with atomic_path(path) as temporary:
            graph.save(str(temporary))
    graph.view(str(path))
    return graph
