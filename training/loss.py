"""The losses of the reranker (RARG, equation 1) and of reward models, and their gradients.

    loss = max(0, max over positives of f(x, p) - f(x, e) + tau) - lambda * share
    share = exp f(x, e) / (exp f(x, e) + sum over negatives of exp f(x, n))

The evidence e is to stand above each document that BM25 finds (p) by tau, and to have the larger part of the mass among
those that BM25 puts last (n). The paper's equation has no logarithm; with `logarithm` the share's logarithm is taken,
which is the usual contrastive loss. Of several equal positives the first has the gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LossGradient:
    """The loss of each claim, and how it moves with each score.

    Attributes:
        loss: shape (n,).
        evidence: shape (n,).
        positives, negatives: shape (n, k).
    """

    loss: FloatArray
    evidence: FloatArray
    positives: FloatArray
    negatives: FloatArray


def reranker_loss(
    evidence: FloatArray,
    positives: FloatArray,
    negatives: FloatArray,
    *,
    tau: float,
    weight: float,
    logarithm: bool = False,
) -> LossGradient:
    """Equation 1 for n claims.

    Args:
        evidence: f(x, e), shape (n,).
        positives, negatives: f(x, p) and f(x, n), each of shape (n, k).
        tau: the margin.
        weight: lambda.
        logarithm: whether the share's logarithm is taken.
    """
    rows = np.arange(len(evidence))
    hardest = positives.argmax(axis=1)
    margin = positives[rows, hardest] - evidence + tau
    active = (margin > 0).astype(np.float64)
    scores = np.concatenate([evidence[:, None], negatives], axis=1)
    mass = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = mass / mass.sum(axis=1, keepdims=True)
    share = shares[:, 0]
    # d share / d score is share * (1 - share) for the evidence and -share * shares for a negative.
    outer = weight * (np.ones_like(share) if logarithm else share)
    gradient_positives = np.zeros_like(positives)
    gradient_positives[rows, hardest] = active
    return LossGradient(
        loss=np.maximum(margin, 0.0) - weight * (np.log(np.maximum(share, 1e-300)) if logarithm else share),
        evidence=-active - outer * (1 - share),
        positives=gradient_positives,
        negatives=outer[:, None] * shares[:, 1:],
    )


def balanced_cross_entropy(
    logits: FloatArray, labels: NDArray[np.int64], weights: tuple[float, float]
) -> tuple[float, FloatArray]:
    """The mean cross-entropy of n two-class logits, each sample weighted by its class, and its gradient, shape (n,).

    Args:
        logits: shape (n,).
        labels: 0 or 1, shape (n,).
        weights: of class 0 and of class 1, such as `class_weights` gives.
    """
    share = 0.5 * (1 + np.tanh(0.5 * logits))
    each = np.where(labels == 1, weights[1], weights[0])
    # log(1 + exp(-z)) for label 1 and log(1 + exp(z)) for label 0, without overflow.
    losses = np.logaddexp(0.0, np.where(labels == 1, -logits, logits))
    return float((each * losses).mean()), each * (share - labels) / max(1, len(labels))


def class_weights(labels: NDArray[np.int64]) -> tuple[float, float]:
    """Weights under which both classes count alike and the mean weight is 1."""
    ones = int((labels == 1).sum())
    return len(labels) / (2 * (len(labels) - ones)), len(labels) / (2 * ones)
