"""Two-stage retrieval: a model reranks the first m documents of a retriever.

Documents below the first m keep the order of the first stage, so recall at m and beyond is the first stage's: an upper
bound for the second.

A trained head scores a document for a query from their frozen vectors and the first stage's scores:

    f(x, d) = cos(A x, B d) + w * s(x, d)

x and d are the encoder's vectors, A and B square matrices that start as the identity, s the first stage's score divided
by that of its best document, and w a number that starts at 0: the untrained head equals the encoder. A head makes
training on a CPU possible: a step takes milliseconds, and the encoder reads each document once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.errors import DataError, missing_extra
from hellofresh.core.files import atomic_path, read_model, sha256_file, write_json
from hellofresh.core.strict import Strict
from hellofresh.evidence.retrieval.base import Parameters, Retriever, made_ranking
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.encoders import Encoder, opened_model
from hellofresh.tasks.outputs import Ranking

FIRST_STAGE = 20
"""Number of documents that the second stage reads, as in the paper."""
FloatArray = NDArray[np.float64]
_WEIGHTS = "head.npz"


class Scorer(Protocol):
    """Scores documents for a query: one score per document of the first stage, in its order.

    `name` is the one on the command line; `parameters` are all settings that determine the scores.
    """

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> Parameters: ...
    def scores(self, query: str, found: Ranking) -> NDArray[np.float64]: ...


@dataclass(frozen=True, slots=True)
class DenseScorer:
    """Scores by the inner product of the vectors of query and document.

    Attributes:
        encoder: encoder of queries.
        vectors: vectors of the corpus's documents.
        rows: the row of each document, by id.
    """

    encoder: Encoder
    vectors: NDArray[np.float32]
    rows: Mapping[str, int]

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.encoder.name

    @property
    def parameters(self) -> Parameters:
        """The encoder's parameters."""
        return self.encoder.parameters

    def scores(self, query: str, found: Ranking) -> NDArray[np.float64]:
        """The inner products, shape (documents,)."""
        rows = self.vectors[[self.rows[document] for document in found.documents]]
        scores: NDArray[np.float64] = (rows @ self.encoder.queries([query])[0]).astype(np.float64)
        return scores


@dataclass
class CrossEncoderScorer:
    """A sentence-transformers cross-encoder, which reads query and document together.

    Raises:
        UsageError: if sentence-transformers is not installed.
    """

    model: str
    corpus: RetrievalCorpus

    def __post_init__(self) -> None:
        if find_spec("sentence_transformers") is None:
            raise missing_extra(self.model, "sentence-transformers", "sentence-transformers")

    @property
    def name(self) -> str:
        """The last part of the model's name."""
        return self.model.rsplit("/", 1)[-1].lower()

    @property
    def parameters(self) -> Parameters:
        """The model."""
        return {"cross_encoder": self.model}

    @cached_property
    def _loaded(self) -> Any:
        from sentence_transformers import CrossEncoder

        return opened_model(CrossEncoder, self.model)

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        return {document.id: document.content for document in self.corpus.documents()}

    def scores(self, query: str, found: Ranking) -> NDArray[np.float64]:
        """The model's score of each pair."""
        pairs = [(query, self._texts[document]) for document in found.documents]
        return np.asarray(self._loaded.predict(pairs), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class TwoStage:
    """A retriever whose first documents are reranked by a scorer.

    Attributes:
        first: the retriever.
        second: the scorer.
        depth: number of documents that the second stage reads.
    """

    first: Retriever
    second: Scorer
    depth: int = FIRST_STAGE

    @property
    def name(self) -> str:
        """Both stages' names."""
        return f"{self.first.name}+{self.second.name}"

    @property
    def parameters(self) -> Parameters:
        """Parameters of both stages, prefixed with `first` or `second`."""
        stages: Sequence[tuple[str, Parameters]] = (
            ("first", self.first.parameters),
            ("second", self.second.parameters),
        )
        return {"depth": self.depth, **{f"{place}.{key}": item for place, own in stages for key, item in own.items()}}

    async def retrieve(self, query: str, k: int, *, before: date | None = None) -> Ranking:
        """The first stage's documents, with the first `depth` of them reranked."""
        found = await self.first.retrieve(query, max(k, self.depth), before=before)
        read = made_ranking(list(zip(found.documents, found.scores, strict=True))[: self.depth])
        if not read.documents:
            return found
        scores = self.second.scores(query, read)
        order = sorted(range(len(scores)), key=lambda place: -scores[place])
        ranked = [(read.documents[place], float(scores[place])) for place in order]
        # Documents after the first `depth` stay below them, in the first stage's order.
        lowest = ranked[-1][1]
        rest = [(name, lowest - 1 - place) for place, name in enumerate(found.documents[self.depth :])]
        return made_ranking([*ranked, *rest][:k])


@dataclass(frozen=True)
class Head:
    """The trained parameters.

    Attributes:
        query, document: A and B, shape (dimensions, dimensions).
        lexical: w.
    """

    query: FloatArray
    document: FloatArray
    lexical: float

    def fits(self, query: FloatArray, documents: FloatArray, lexical: FloatArray) -> FloatArray:
        """f for one query, shape (dimensions,), and documents, shape (n, dimensions), with s of shape (n,)."""
        asked, read = self.query @ query, documents @ self.document.T
        lengths = np.maximum(np.linalg.norm(asked) * np.linalg.norm(read, axis=1), 1e-12)
        found: FloatArray = read @ asked / lengths + self.lexical * lexical
        return found


class HeadRecord(Strict):
    """The training of a head: `head.json`.

    Attributes:
        format: format of this file.
        encoder: the encoder's parameters.
        training: recipe, corpus and seed.
        sha256: hash of the weights.
    """

    format: int = 1
    encoder: dict[str, str | int | float | bool]
    training: dict[str, str | int | float | bool]
    sha256: str


def lexical_scores(found: Ranking) -> FloatArray:
    """The first stage's scores divided by that of its best document."""
    scores = np.array(found.scores, dtype=np.float64)
    return scores / max(float(scores.max(initial=0.0)), 1e-12)


def write_head(folder: Path, head: Head, encoder: Parameters, training: Parameters) -> None:
    """Write a head: `head.npz`, then `head.json`."""
    sha256 = write_weights(folder / _WEIGHTS, query=head.query, document=head.document, lexical=head.lexical)
    record = HeadRecord(encoder=dict(encoder), training=dict(training), sha256=sha256)
    write_json(folder / "head.json", record.model_dump())


def read_head(folder: Path) -> tuple[Head, HeadRecord]:
    """Read a head.

    Raises:
        DataError: if it is missing, or the weights do not match the record.
    """
    record = read_model(folder / "head.json", HeadRecord, fix="Train again.", code="bad-head")
    with np.load(checked_weights(folder / _WEIGHTS, record.sha256), allow_pickle=False) as stored:
        return Head(stored["query"], stored["document"], float(stored["lexical"])), record


def write_weights(path: Path, **arrays: FloatArray | float) -> str:
    """Write the parameters of a head; returns the file's SHA-256."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **{name: np.asarray(array) for name, array in arrays.items()})
    return sha256_file(path)


def checked_weights(path: Path, sha256: str) -> Path:
    """The path of trained weights; raises DataError if the file is missing or its hash differs."""
    if not path.is_file() or sha256_file(path) != sha256:
        raise DataError("not the weights that its card names", where=str(path), fix="Train again.", code="changed-file")
    return path


@dataclass(frozen=True)
class TrainedScorer:
    """Scores documents by a trained head.

    Attributes:
        head, record: the head and its training.
        dense: the encoder and the documents' vectors.

    Raises:
        DataError: if the head was trained on vectors of another encoder.
    """

    head: Head
    record: HeadRecord
    dense: DenseScorer

    def __post_init__(self) -> None:
        if dict(self.dense.parameters) != self.record.encoder:
            raise DataError(
                "the head was trained on vectors of another encoder",
                where=str(self.record.encoder.get("encoder", "")),
                expected=str(self.dense.parameters.get("encoder", "")),
                fix="Train again.",
                code="other-encoder",
            )

    @property
    def name(self) -> str:
        """`trained`, with the training corpus."""
        return f"trained-{self.record.training.get('corpus', 'head')}"

    @property
    def parameters(self) -> Parameters:
        """The encoder's parameters and the hash of the weights."""
        return {**self.dense.parameters, "head_sha256": self.record.sha256}

    def scores(self, query: str, found: Ranking) -> FloatArray:
        """The head's score of each document."""
        rows = [self.dense.rows[document] for document in found.documents]
        asked = self.dense.encoder.queries([query])[0].astype(np.float64)
        return self.head.fits(asked, self.dense.vectors[rows].astype(np.float64), lexical_scores(found))
