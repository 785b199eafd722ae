"""Two stages: the first m documents of one retriever, put in order by a model that reads query and document.

Documents below the first m follow in the order of the first stage, so that recall at m and beyond is the first stage's:
the ceiling of what the second can reach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hellofresh.evidence.retrieval.base import Parameters, Retriever, made_ranking, missing_extra
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.encoders import Encoder
from hellofresh.tasks.outputs import Ranking

__all__ = ["FIRST_STAGE", "CrossEncoderScorer", "DenseScorer", "Scorer", "TwoStage"]

FIRST_STAGE = 20
"""Documents that the second stage reads, as in the paper."""


class Scorer(Protocol):
    """Says how well documents fit a query."""

    @property
    def name(self) -> str:
        """As on the command line."""

    @property
    def parameters(self) -> Parameters:
        """All that decides the scores."""

    def scores(self, query: str, found: Ranking) -> NDArray[np.float64]:
        """A score for each document that the first stage found, in its order."""


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

            self._loaded = CrossEncoder(self._model)
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
