"""A trained head: how well a document fits a query, from their frozen vectors and the first stage's scores.

    f(x, d) = cos(A x, B d) + w * s(x, d)

x and d are the encoder's vectors, A and B square matrices that start as the identity, s the first stage's score over
that of its best document, and w a number that starts at 0: untrained, the head is the encoder itself. A head is the
CPU's way of training a reranker: a step takes milliseconds, and the encoder reads each document once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from hellofresh.core.errors import DataError
from hellofresh.core.files import atomic_path, canonical_json, read_json, sha256_file, write_json
from hellofresh.evidence.retrieval.base import Parameters
from hellofresh.evidence.retrieval.rerank import DenseScorer
from hellofresh.tasks.outputs import Ranking

__all__ = ["Head", "HeadRecord", "TrainedScorer", "lexical_scores", "read_head", "untrained", "write_head"]

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


class HeadRecord(BaseModel):
    """What a head was trained with: `head.json`.

    Attributes:
        format: of this file.
        encoder: the encoder's parameters.
        training: recipe, corpus and seed.
        sha256: of the weights.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

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
    with atomic_path(folder / _WEIGHTS) as temporary, temporary.open("wb") as file:
        np.savez(file, query=head.query, document=head.document, lexical=np.float64(head.lexical))
    record = HeadRecord(encoder=dict(encoder), training=dict(training), sha256=sha256_file(folder / _WEIGHTS))
    write_json(folder / "head.json", record.model_dump())


def read_head(folder: Path) -> tuple[Head, HeadRecord]:
    """Read a head.

    Raises:
        DataError: if there is none, or the weights are not those of the record.
    """
    try:
        record = HeadRecord.model_validate_json(canonical_json(read_json(folder / "head.json")))
    except ValidationError as error:
        raise DataError(
            f"not a record of a head ({error.error_count()} faults)", where=str(folder / "head.json"), code="bad-head"
        ) from None
    path = folder / _WEIGHTS
    if not path.is_file() or sha256_file(path) != record.sha256:
        raise DataError("not the weights of the record", where=str(path), fix="Train again.", code="changed-file")
    with np.load(path, allow_pickle=False) as stored:
        return Head(stored["query"], stored["document"], float(stored["lexical"])), record


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
