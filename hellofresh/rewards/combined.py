"""Equation 2 as a reward model: criteria and relevance together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.rewards.base import RewardCase, RewardModel
from hellofresh.rewards.equations import summed_reward
from hellofresh.rewards.relevance import ResponseRelevance

__all__ = ["CombinedReward", "RewardParts"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RewardParts:
    """What the rewards of n responses are made of.

    Attributes:
        criteria: scores by criterion, each of shape (n,).
        claim_relevance, evidence_relevance: f(x, y) and the highest f(e, y), shape (n,).
        total: equation 2, shape (n,).
    """

    criteria: dict[str, FloatArray]
    claim_relevance: FloatArray
    evidence_relevance: FloatArray
    total: FloatArray


@dataclass(frozen=True)
class CombinedReward:
    """Equation 2.

    Attributes:
        models: one for each criterion.
        relevance: f; without it, relevance counts nothing.
        alpha: what relevance is worth.
    """

    models: Sequence[RewardModel]
    relevance: ResponseRelevance | None = None
    alpha: float = 1.0
    name: str = "reward"

    def parts(self, cases: Sequence[RewardCase]) -> RewardParts:
        """Every part and the sum."""
        criteria = {model.name: model.score(cases) for model in self.models}
        nothing = np.zeros(len(cases))
        claims, evidence = self.relevance.score(cases) if self.relevance is not None else (nothing, nothing)
        scores = list(criteria.values()) or [nothing]
        return RewardParts(criteria, claims, evidence, summed_reward(scores, claims, evidence, alpha=self.alpha))

    def score(self, cases: Sequence[RewardCase]) -> FloatArray:
        """The sum."""
        return self.parts(cases).total
