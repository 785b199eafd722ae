"""Rewards of a model's own responses while it is tuned: equation 2, and a judge that nothing is trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.errors import UsageError
from hellofresh.judging.reward_judges import grounded, repetition
from hellofresh.rewards.base import RewardCase, RewardModel, read_card
from hellofresh.rewards.models import open_combined, open_reward
from hellofresh.training.recipe import SampledRecipe

RULES = "rules"
"""Name of the judge by rules."""


@dataclass(frozen=True, slots=True)
class TuningRewards:
    """The reward that a tuning follows, and the judge that watches it.

    Attributes:
        reward: equation 2.
        judge: nothing is trained on it, and it is not a part of the reward.
        identity: what identifies each model.
    """

    reward: RewardModel
    judge: RewardModel
    identity: Mapping[str, str]


def open_rewards(folders: Sequence[Path], judge: str, recipe: SampledRecipe) -> TuningRewards:
    """Open reward models and the judge.

    Args:
        folders: of reward models, one a criterion.
        judge: `rules`, or the folder of a reward model that is not among them.
        recipe: says what relevance is worth.

    Raises:
        UsageError: if nothing is rewarded, or the judge is a part of the reward.
    """
    if not folders and not recipe.alpha_relevance:
        raise UsageError("nothing is rewarded", fix="Name reward models: --rewards FOLDER,FOLDER", code="no-reward")
    identity = {card.criterion: card.sha256 for card in map(read_card, folders)}
    watching: RewardModel = RuleJudge()
    if judge != RULES:
        sha256 = read_card(Path(judge)).sha256
        if sha256 in identity.values():
            what, expected = "the judge is a part of the reward", "one that nothing is trained on"
            raise UsageError(what, where=f"--judge {judge}", expected=expected, code="trained-judge")
        watching, identity["judge"] = open_reward(Path(judge)), sha256
    if recipe.alpha_relevance:
        identity["relevance"] = "minilm"
    return TuningRewards(open_combined(folders, alpha=recipe.alpha_relevance), watching, identity)


@dataclass(frozen=True, slots=True)
class RuleJudge:
    """Three plain signs of a response that only serves to get a reward, each from 0 to 1; the mean of them.

    Words do not come again and again (share of different triples of words), long words are those of the claim and the
    evidence (share of them), and the last sentence ends.
    """

    name: str = RULES

    def score(self, cases: Sequence[RewardCase]) -> NDArray[np.float64]:
        """The mean of the three; 0 for an empty response."""
        ends = [case.response.rstrip()[-1:] in (".", "!", "?") for case in cases]
        said = [(1 - repetition(case) + grounded(case) + end) / 3 for case, end in zip(cases, ends, strict=True)]
        return np.where([bool(case.response.strip()) for case in cases], said, 0.0)
