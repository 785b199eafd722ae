"""Opening reward models by the folders that training writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hellofresh.core.errors import UsageError
from hellofresh.evidence.retrieval.encoders import MINILM, Encoder, open_encoder
from hellofresh.evidence.retrieval.trained import read_head
from hellofresh.rewards.base import RewardModel
from hellofresh.rewards.card import read_card
from hellofresh.rewards.combined import CombinedReward
from hellofresh.rewards.heads import HeadReward, read_weights
from hellofresh.rewards.relevance import ResponseRelevance

__all__ = ["open_combined", "open_reward"]


def open_reward(folder: Path, encoder: Encoder | None = None) -> RewardModel:
    """The reward model of a folder.

    Args:
        folder: with its card and weights.
        encoder: whose vectors a head reads; the one that it was trained with if left out.

    Raises:
        DataError: if there is none, or it is damaged.
        UsageError: if what it needs is not installed.
    """
    card = read_card(folder)
    if card.form == "encoder":
        from hellofresh.rewards.transformer import TransformerReward

        return TransformerReward.open(folder, card)
    return HeadReward(card, read_weights(folder, card), encoder or open_encoder(str(card.encoder["encoder"])))


def open_combined(
    folders: Sequence[Path], *, alpha: float = 1.0, head: Path | None = None, encoder: Encoder | None = None
) -> CombinedReward:
    """Equation 2 from the folders of its criteria's models.

    Args:
        folders: one for each criterion.
        alpha: what relevance is worth; with 0 no vectors are made for it.
        head: folder of a trained reranker, whose f is taken; else that of the encoder itself.
        encoder: makes vectors; MiniLM if left out.

    Raises:
        DataError: if a folder has no reward model.
        UsageError: if two are for one criterion, or what they need is not installed.
    """
    vectors = encoder or open_encoder(MINILM)
    models = [open_reward(folder, vectors) for folder in folders]
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        raise UsageError("two reward models for one criterion", expected="one for each", code="same-criterion")
    relevance = ResponseRelevance(vectors, None if head is None else read_head(head)[0]) if alpha else None
    return CombinedReward(models, relevance, alpha)
