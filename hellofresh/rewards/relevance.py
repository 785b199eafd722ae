"""How well a response fits its claim and its evidence, by the vectors of the retriever's encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.evidence.retrieval.encoders import Encoder
from hellofresh.evidence.retrieval.trained import Head, untrained
from hellofresh.rewards.base import RewardCase

__all__ = ["ResponseRelevance", "unique_vectors"]

FloatArray = NDArray[np.float64]


def unique_vectors(encoder: Encoder, texts: Sequence[str]) -> dict[str, FloatArray]:
    """The vector of each text, each made once, by text."""
    unique = list(dict.fromkeys(texts))
    return dict(zip(unique, encoder.passages(unique).astype(np.float64), strict=True))


@dataclass(frozen=True)
class ResponseRelevance:
    """f of equation 2: the cosine of two vectors, or what a trained head makes of them.

    Attributes:
        encoder: makes vectors.
        head: trained for documents that fit claims; None for the encoder itself.
    """

    encoder: Encoder
    head: Head | None = None

    def score(self, cases: Sequence[RewardCase]) -> tuple[FloatArray, FloatArray]:
        """f(x, y), and the highest f(e, y), or 0 without evidence; each of shape (n,)."""
        vectors = unique_vectors(
            self.encoder, [text for case in cases for text in (case.claim, case.response, *case.evidence)]
        )
        claims = [self._fit([vectors[case.claim]], vectors[case.response]) for case in cases]
        evidence = [
            self._fit([vectors[text] for text in case.evidence], vectors[case.response]) if case.evidence else 0.0
            for case in cases
        ]
        return np.array(claims, dtype=np.float64), np.array(evidence, dtype=np.float64)

    def _fit(self, first: Sequence[FloatArray], response: FloatArray) -> float:
        head = self.head or untrained(len(response))
        nothing = np.zeros(1)
        return max(float(head.fits(vector, response[None], nothing)[0]) for vector in first)
