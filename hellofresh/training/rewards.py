"""Training of reward models: classifiers of responses by one criterion. What applies them is `hellofresh.rewards`."""

from __future__ import annotations

from hellofresh.rewards.base import RewardCase, RewardModel
from hellofresh.rewards.combined import CombinedReward

__all__ = ["CombinedReward", "RewardCase", "RewardModel"]
