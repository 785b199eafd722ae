"""A reward model that is a head: a logistic regression on what `features` reads of frozen vectors and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.errors import DataError
from hellofresh.core.files import atomic_path, sha256_file
from hellofresh.evidence.retrieval.encoders import Encoder
from hellofresh.rewards.base import Beside, RewardCase
from hellofresh.rewards.card import RewardCard
from hellofresh.rewards.features import pair_features
from hellofresh.rewards.relevance import unique_vectors

__all__ = ["HeadReward", "RewardWeights", "chances", "read_weights", "write_weights"]

FloatArray = NDArray[np.float64]
_WEIGHTS = "reward.npz"


@dataclass(frozen=True)
class RewardWeights:
    """The numbers of a head.

    Attributes:
        middle, spread: by which features are centred and scaled, shape (width,).
        weights: shape (width,).
        bias: added.
    """

    middle: FloatArray
    spread: FloatArray
    weights: FloatArray
    bias: float

    def logits(self, features: FloatArray) -> FloatArray:
        """Of n responses, from features of shape (n, width)."""
        found: FloatArray = (features - self.middle) / self.spread @ self.weights + self.bias
        return found


def chances(logits: FloatArray) -> FloatArray:
    """Probabilities."""
    found: FloatArray = 0.5 * (1 + np.tanh(0.5 * logits))
    return found


def write_weights(folder: Path, weights: RewardWeights) -> str:
    """Write the weights; returns their SHA-256."""
    with atomic_path(folder / _WEIGHTS) as temporary, temporary.open("wb") as file:
        np.savez(
            file, middle=weights.middle, spread=weights.spread, weights=weights.weights, bias=np.float64(weights.bias)
        )
    return sha256_file(folder / _WEIGHTS)


def read_weights(folder: Path, card: RewardCard) -> RewardWeights:
    """Read the weights that belong to a card.

    Raises:
        DataError: if they are missing or others.
    """
    path = folder / _WEIGHTS
    if not path.is_file() or sha256_file(path) != card.sha256:
        raise DataError("not the weights of the card", where=str(path), fix="Train again.", code="changed-file")
    with np.load(path, allow_pickle=False) as stored:
        return RewardWeights(stored["middle"], stored["spread"], stored["weights"], float(stored["bias"]))


@dataclass(frozen=True)
class HeadReward:
    """Scores responses by a head.

    Attributes:
        card, weights: the head.
        encoder: makes the vectors.

    Raises:
        DataError: if the head was trained on vectors of another encoder.
    """

    card: RewardCard
    weights: RewardWeights
    encoder: Encoder

    def __post_init__(self) -> None:
        if dict(self.encoder.parameters) != dict(self.card.encoder):
            raise DataError(
                "the reward model was trained on vectors of another encoder",
                where=str(self.card.encoder.get("encoder", "")),
                expected=str(self.encoder.parameters.get("encoder", "")),
                fix="Train again.",
                code="other-encoder",
            )

    @property
    def name(self) -> str:
        """The criterion."""
        return self.card.criterion

    def score(self, cases: Sequence[RewardCase]) -> FloatArray:
        """Of several texts of evidence the one that supports the response best counts; without any the score is 0."""
        beside = self.card.beside
        texts = [text for case in cases for text in (*case.beside(beside), case.response)]
        vectors = unique_vectors(self.encoder, texts)
        found = np.zeros(len(cases))
        for number, case in enumerate(cases):
            response = case.response, vectors[case.response]
            rows = [
                pair_features(None if beside is Beside.NOTHING else (text, vectors[text]), response)
                for text in case.beside(beside)
            ]
            if rows:
                found[number] = chances(self.weights.logits(np.stack(rows))).max()
        return found
