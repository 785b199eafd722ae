"""Dense retrieval: the vector of each document, and the query's nearest ones, by an exact search.

Vectors of a corpus are made block by block and kept in its folder, so that an interrupted build goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.files import atomic_path, canonical_json, sha256_text
from hellofresh.evidence.retrieval.base import DocumentKeys, Parameters, best
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.encoders import Encoder
from hellofresh.tasks.outputs import Ranking

_BLOCK = 500
"""Documents in a block: half a minute's work on one processor."""


@dataclass(frozen=True, slots=True)
class DenseRetriever:
    """Finds what is nearest to a query among vectors of documents.

    Attributes:
        encoder: made the vectors, and makes those of queries.
        keys: ids and days of the documents.
        vectors: shape (n, dimensions), each of length 1.
        corpus: hash of the documents' content.
    """

    encoder: Encoder
    keys: DocumentKeys
    vectors: NDArray[np.float32]
    corpus: str = ""

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.encoder.name

    @property
    def parameters(self) -> Parameters:
        """Encoder and corpus."""
        return {**self.encoder.parameters, "corpus": self.corpus}

    async def retrieve(self, query: str, k: int, *, before: date | None = None) -> Ranking:
        """The k nearest."""
        scores = self.vectors @ self.encoder.queries([query])[0]
        return best(scores, self.keys, k, before, above=-np.inf)


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
    key = sha256_text(canonical_json([dict(encoder.parameters), corpus.manifest.sha256]))[:12]
    folder = corpus.folder / "index" / f"dense-{encoder.name}-{key}"
    whole = folder / "vectors.npy"
    if not whole.is_file():
        starts = range(0, corpus.manifest.documents, _BLOCK)
        blocks = [_block(corpus, encoder, folder, start, progress) for start in starts]
        with atomic_path(whole) as temporary:
            shape = (corpus.manifest.documents, encoder.dimensions)
            joined = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float32, shape=shape)
            for start, path in zip(starts, blocks, strict=True):
                joined[start : start + _BLOCK] = np.load(path)
            joined.flush()
        for path in blocks:
            path.unlink()
    vectors: NDArray[np.float32] = np.load(whole, mmap_mode="r")
    return vectors


def _block(
    corpus: RetrievalCorpus, encoder: Encoder, folder: Path, start: int, progress: Callable[[int], None]
) -> Path:
    path = folder / f"block-{start:09}.npy"
    stop = min(start + _BLOCK, corpus.manifest.documents)
    if not path.is_file():
        texts = [document.content for document in corpus.documents(start, stop)]
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.save(file, encoder.passages(texts))
    progress(stop)
    return path
