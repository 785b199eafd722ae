"""Equations 2 and 3 of "Evidence-Driven Retrieval Augmented Response Generation" (RARG, section 3.3) on arrays.

    equation 2:  R(x, y) = refutation + factuality + politeness + alpha * (f(x, y) + max over evidence e of f(e, y))
    equation 3:  R(x, y) - beta * log(p(y | x) / q(y | x))

f is the relevance that the retriever's encoder gives, p the policy that is tuned, q the one that tuning began with. The
expectation of the logarithm over responses of p is the Kullback-Leibler divergence of p from q.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["penalised_reward", "summed_reward"]

FloatArray = NDArray[np.float64]


def summed_reward(
    criteria: Sequence[FloatArray], claim_relevance: FloatArray, evidence_relevance: FloatArray, *, alpha: float
) -> FloatArray:
    """Equation 2 for n responses.

    Args:
        criteria: scores of each criterion, each of shape (n,).
        claim_relevance: f(x, y), shape (n,).
        evidence_relevance: f(e, y) of the evidence that fits best, shape (n,); 0 where there is no evidence.
        alpha: what relevance is worth.
    """
    summed: FloatArray = np.sum(criteria, axis=0, initial=0.0) + alpha * (claim_relevance + evidence_relevance)
    return summed


def penalised_reward(reward: FloatArray, policy: FloatArray, start: FloatArray, *, beta: float) -> FloatArray:
    """Equation 3 for n responses.

    Args:
        reward: R(x, y), shape (n,).
        policy: log-probability of each token of the response by the policy, shape (n, tokens); 0 after its end.
        start: the same by the policy that tuning began with.
        beta: what a divergence costs.
    """
    penalised: FloatArray = reward - beta * (policy - start).sum(axis=-1)
    return penalised
