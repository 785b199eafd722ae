"""Two stages: the first m documents of one retriever, put in order by a model that reads query and document.

Documents below the first m follow in the order of the first stage, so that recall at m and beyond is the first stage's:
the ceiling of what the second can reach.

A trained head says how well a document fits a query, from their frozen vectors and the first stage's scores:

    f(x, d) = cos(A x, B d) + w * s(x, d)

x and d are the encoder's vectors, A and B square matrices that start as the identity, s the first stage's score over
that of its best document, and w a number that starts at 0: untrained, the head is the encoder itself. A head is the
CPU's way of training a reranker: a step takes milliseconds, and the encoder reads each document once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
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
from hellofresh.evidence.retrieval.encoders import Encoder, loading_of, not_at_hand
from hellofresh.tasks.outputs import Ranking

FIRST_STAGE = 20
"""Documents that the second stage reads, as in the paper."""


class Scorer(Protocol):
    """Says how well documents fit a query: a score for each that the first stage found, in its order.

    `name` is as on the command line; `parameters` are all that decides the scores.
    """

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> Parameters: ...
    def scores(self, query: str, found: Ranking) -> NDArray[np.float64]: ...


@dataclass(frozen=True, slots=True)
class DenseScorer:
    """The product of the vectors of query and document.

    Attributes:
        encoder: makes the query's vector.
        vectors: of the corpus's documents.
        rows: the row of each document.
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
        """The encoder's."""
        return self.encoder.parameters

    def scores(self, query: str, found: Ranking) -> NDArray[np.float64]:
        """The products."""
        rows = self.vectors[[self.rows[document] for document in found.documents]]
        scores: NDArray[np.float64] = (rows @ self.encoder.queries([query])[0]).astype(np.float64)
        return scores


class CrossEncoderScorer:
    """A cross-encoder of sentence-transformers, which reads query and document together.

    Raises:
        UsageError: if sentence-transformers is not installed.
    """

    def __init__(self, model: str, corpus: RetrievalCorpus) -> None:
        if find_spec("sentence_transformers") is None:
            raise missing_extra(model, "sentence-transformers", "sentence-transformers")
        self._model, self._corpus = model, corpus
        self._texts: dict[str, str] = {}
        self._loaded: Any = None

    @property
    def name(self) -> str:
        """The last part of the model's name."""
        return self._model.rsplit("/", 1)[-1].lower()

    @property
    def parameters(self) -> Parameters:
        """The model."""
        return {"cross_encoder": self._model}

    def scores(self, query: str, found: Ranking) -> NDArray[np.float64]:
        """What the model says of each pair."""
        if self._loaded is None:
            from sentence_transformers import CrossEncoder

            name, loading = loading_of(self._model)
            try:
                self._loaded = CrossEncoder(name, **loading)
            except OSError:
                raise not_at_hand(self._model) from None
            self._texts = {document.id: document.content for document in self._corpus.documents()}
        pairs = [(query, self._texts[document]) for document in found.documents]
        return np.asarray(self._loaded.predict(pairs), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class TwoStage:
    """A retriever whose first documents are put in order by a scorer.

    Attributes:
        first: finds.
        second: puts in order.
        depth: how many documents the second stage reads.
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
        """Both stages', behind their places."""
        stages: Sequence[tuple[str, Parameters]] = (
            ("first", self.first.parameters),
            ("second", self.second.parameters),
        )
        return {"depth": self.depth, **{f"{place}.{key}": item for place, own in stages for key, item in own.items()}}

    async def retrieve(self, query: str, k: int, *, before: date | None = None) -> Ranking:
        """The first stage's documents, the first `depth` of them by the second stage."""
        found = await self.first.retrieve(query, max(k, self.depth), before=before)
        read = made_ranking(list(zip(found.documents, found.scores, strict=True))[: self.depth])
        if not read.documents:
            return found
        scores = self.second.scores(query, read)
        order = sorted(range(len(scores)), key=lambda place: -scores[place])
        ranked = [(read.documents[place], float(scores[place])) for place in order]
        # Whatever follows stands below, in its order.
        lowest = ranked[-1][1]
        rest = [(name, lowest - 1 - place) for place, name in enumerate(found.documents[self.depth :])]
        return made_ranking([*ranked, *rest][:k])


FloatArray = NDArray[np.float64]
_WEIGHTS = "head.npz"


@dataclass(frozen=True)
class Head:
    """The numbers that are trained.

    Attributes:
        query, document: A and B, shape (dimensions, dimensions).
        lexical: w.
    """

    query: FloatArray
    document: FloatArray
    lexical: float

    def fits(self, query: FloatArray, documents: FloatArray, lexical: FloatArray) -> FloatArray:
        """f of one query, shape (dimensions,), and documents, shape (n, dimensions), with s of shape (n,)."""
        asked, read = self.query @ query, documents @ self.document.T
        lengths = np.maximum(np.linalg.norm(asked) * np.linalg.norm(read, axis=1), 1e-12)
        found: FloatArray = read @ asked / lengths + self.lexical * lexical
        return found


class HeadRecord(Strict):
    """What a head was trained with: `head.json`.

    Attributes:
        format: of this file.
        encoder: the encoder's parameters.
        training: recipe, corpus and seed.
        sha256: of the weights.
    """

    format: int = 1
    encoder: dict[str, str | int | float | bool]
    training: dict[str, str | int | float | bool]
    sha256: str


def untrained(dimensions: int) -> Head:
    """The head that is the encoder itself."""
    return Head(np.eye(dimensions), np.eye(dimensions), 0.0)


def lexical_scores(found: Ranking) -> FloatArray:
    """The first stage's scores over that of its best document."""
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
        DataError: if there is none, or the weights are not those of the record.
    """
    record = read_model(folder / "head.json", HeadRecord, fix="Train again.", code="bad-head")
    with np.load(checked_weights(folder / _WEIGHTS, record.sha256), allow_pickle=False) as stored:
        return Head(stored["query"], stored["document"], float(stored["lexical"])), record


def write_weights(path: Path, **arrays: FloatArray | float) -> str:
    """Write the numbers of a head; returns the file's SHA-256."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **{name: np.asarray(array) for name, array in arrays.items()})
    return sha256_file(path)


def checked_weights(path: Path, sha256: str) -> Path:
    """The file of what was trained; raises DataError if it is missing or another one."""
    if not path.is_file() or sha256_file(path) != sha256:
        raise DataError("not the weights of its card", where=str(path), fix="Train again.", code="changed-file")
    return path


@dataclass(frozen=True)
class TrainedScorer:
    """Puts documents in order by a trained head.

    Attributes:
        head, record: the head, and what it was trained with.
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
        """`trained`, with the corpus that it was trained on."""
        return f"trained-{self.record.training.get('corpus', 'head')}"

    @property
    def parameters(self) -> Parameters:
        """The encoder's, and the hash of the weights."""
        return {**self.dense.parameters, "head_sha256": self.record.sha256}

    def scores(self, query: str, found: Ranking) -> FloatArray:
        """What the head says of each document."""
        rows = [self.dense.rows[document] for document in found.documents]
        asked = self.dense.encoder.queries([query])[0].astype(np.float64)
        return self.head.fits(asked, self.dense.vectors[rows].astype(np.float64), lexical_scores(found))
