"""Rewards from frozen vectors: features and weights of a head, and the relevance of a response.

A head is a logistic regression on the vectors of a pair of texts, and on their words in a fixed number of columns:

    [u, v, |u - v|, u * v, relation, words]   u: vector of the text beside the response; v: of the response
    [v, words]                                without a text beside it

The relation distinguishes a reply that is on topic and adds something from an echo and from a reply that is
off topic: the cosine, the share of the response's words that are new, the share of the text's words it repeats,
the minimum and the product of the first two, and the square of the cosine.

Words and word pairs are hashed with a sign into columns and divided by their length (Weinberger et al., Feature
Hashing for Large Scale Multitask Learning, ICML 2009). Words of the response and words that only the other text has
get different columns.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from hellofresh.core.errors import DataError
from hellofresh.evidence.retrieval.encoders import Encoder
from hellofresh.evidence.retrieval.rerank import checked_weights
from hellofresh.rewards.base import Beside, FloatArray, RewardCard, RewardCase

WORD_COLUMNS = 2048  # a power of two; a response has about a hundred words, so that few of them meet
_TIMES = 20  # copies of each number of the relation, so that the penalty shrinks it less than a dimension of a vector
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*|[?!.]")
WEIGHTS = "reward.npz"


def pair_features(beside: tuple[str, FloatArray] | None, response: tuple[str, FloatArray]) -> FloatArray:
    """The features of a pair, or of a response alone; each text is given with its vector."""
    said, unsaid = _WORD.findall(response[0].lower()), _WORD.findall(beside[0].lower()) if beside is not None else []
    pairs = (f"{first} {second}" for first, second in pairwise(said))
    hashed = np.zeros(WORD_COLUMNS)
    for word in (*said, *pairs, *(f"not said: {word}" for word in unsaid if word not in said)):
        code = zlib.crc32(word.encode())
        hashed[code % WORD_COLUMNS] += 1 if code >> 31 else -1
    hashed /= max(float(np.linalg.norm(hashed)), 1e-12)
    v = response[1]
    u = v if beside is None else beside[1]
    if beside is None:
        return np.concatenate([v, hashed])
    near = _cosine(u, v)
    own, other = set(said), set(unsaid)
    new, again = len(own - other) / max(len(own), 1), len(own & other) / max(len(other), 1)
    relation = np.repeat([near, new, again, min(near, new), near * new, near * near], _TIMES)
    return np.concatenate([u, v, np.abs(u - v), u * v, relation, hashed])


def _cosine(u: FloatArray, v: FloatArray) -> float:
    return float(u @ v) / max(float(np.linalg.norm(u) * np.linalg.norm(v)), 1e-12)  # 0 for a text without words


def unique_vectors(encoder: Encoder, texts: Sequence[str]) -> dict[str, FloatArray]:
    """The vectors by text, each computed once."""
    unique = list(dict.fromkeys(texts))
    return dict(zip(unique, encoder.passages(unique).astype(np.float64), strict=True))


@dataclass(frozen=True)
class ResponseRelevance:
    """f of equation 2: the cosine of two vectors of the encoder."""

    encoder: Encoder

    def score(self, cases: Sequence[RewardCase]) -> tuple[FloatArray, FloatArray]:
        """f(x, y), and the highest f(e, y), or 0 without evidence; each of shape (n,)."""
        vectors = unique_vectors(
            self.encoder, [text for case in cases for text in (case.claim, case.response, *case.evidence)]
        )

        def fit(texts: Sequence[str], response: FloatArray) -> float:
            return max((_cosine(vectors[text], response) for text in texts), default=0.0)

        claims = np.array([fit([case.claim], vectors[case.response]) for case in cases], dtype=np.float64)
        return claims, np.array([fit(case.evidence, vectors[case.response]) for case in cases], dtype=np.float64)


@dataclass(frozen=True)
class RewardWeights:
    """The numbers of a head.

    Attributes:
        middle, spread: centre and scale of the features, shape (width,).
        weights: shape (width,).
        bias: the intercept.
    """

    middle: FloatArray
    spread: FloatArray
    weights: FloatArray
    bias: float

    def logits(self, features: FloatArray) -> FloatArray:
        """Logits of n responses, from features of shape (n, width)."""
        return (features - self.middle) / self.spread @ self.weights + self.bias


def chances(logits: FloatArray) -> FloatArray:
    """Probabilities."""
    return 0.5 * (1 + np.tanh(0.5 * logits))


def read_weights(path: Path, sha256: str) -> RewardWeights:
    """Read the weights of a head; raises DataError if they are missing or have another hash."""
    with np.load(checked_weights(path, sha256), allow_pickle=False) as stored:
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
            where, expected = (str(of.get("encoder", "")) for of in (self.card.encoder, self.encoder.parameters))
            what = "the reward model was trained on vectors of another encoder"
            raise DataError(what, where=where, expected=expected, fix="Train again.", code="other-encoder")

    @property
    def name(self) -> str:
        """The criterion."""
        return self.card.criterion

    def score(self, cases: Sequence[RewardCase]) -> FloatArray:
        """Score by the evidence that supports the response best; 0 without evidence."""
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
