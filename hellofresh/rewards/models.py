"""Whole encoders and equation 2 as reward models, opened from the folders that training writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hellofresh.core.errors import UsageError, missing_extra
from hellofresh.evidence.retrieval.encoders import MINILM, Encoder, open_encoder
from hellofresh.evidence.retrieval.rerank import checked_weights
from hellofresh.rewards.base import FloatArray, RewardCard, RewardCase, RewardModel, read_card, summed_reward
from hellofresh.rewards.heads import WEIGHTS, HeadReward, ResponseRelevance, read_weights

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

TOKENS = 256
"""Maximum tokens of a pair that an encoder reads."""


@dataclass(frozen=True)
class EncoderReward:
    """Scores responses by an encoder trained as a whole, with a classifier on top.

    Attributes:
        card: its card.
        model: loaded by sentence-transformers.
    """

    card: RewardCard
    model: CrossEncoder

    @classmethod
    def open(cls, folder: Path, card: RewardCard) -> EncoderReward:
        """Load it.

        Raises:
            UsageError: if sentence-transformers is not installed.
            DataError: if the weights are not those of the card.
        """
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise missing_extra("this reward model", error.name or "sentence-transformers", "train") from None
        weights = checked_weights(folder / "model" / "model.safetensors", card.sha256)
        # Local files only: nothing is downloaded, whatever the folder's files refer to.
        loading = {"local_files_only": True, "trust_remote_code": False}
        return cls(card, CrossEncoder(str(weights.parent), max_length=TOKENS, device="cpu", **loading))

    @property
    def name(self) -> str:
        """The criterion."""
        return self.card.criterion

    def score(self, cases: Sequence[RewardCase]) -> FloatArray:
        """Score as a head does: by the best evidence; 0 without evidence."""
        read = [(n, (text, case.response)) for n, case in enumerate(cases) for text in case.beside(self.card.beside)]
        found = np.zeros(len(cases))
        if read:
            owners, pairs = zip(*read, strict=True)
            np.maximum.at(found, list(owners), self.model.predict(list(pairs), show_progress_bar=False))
        return found


@dataclass(frozen=True, slots=True)
class RewardParts:
    """The parts of the rewards of n responses.

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
        relevance: f; None leaves relevance out.
        alpha: weight of relevance.
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


def open_reward(folder: Path, encoder: Encoder | None = None) -> RewardModel:
    """Open the reward model in a folder.

    Args:
        folder: of its card and weights.
        encoder: makes the vectors for a head; the one that it was trained with if left out.

    Raises:
        DataError: if the model is missing or damaged.
        UsageError: if a required package is not installed.
    """
    card = read_card(folder)
    if card.form == "encoder":
        return EncoderReward.open(folder, card)
    return HeadReward(
        card, read_weights(folder / WEIGHTS, card.sha256), encoder or open_encoder(str(card.encoder["encoder"]))
    )


def open_combined(folders: Sequence[Path], *, alpha: float = 1.0, encoder: Encoder | None = None) -> CombinedReward:
    """Open equation 2 from the folders of its criteria's models.

    Args:
        folders: one per criterion.
        alpha: weight of relevance; with 0 no vectors are computed for it.
        encoder: makes vectors; MiniLM if left out.

    Raises:
        DataError: if a folder has no reward model.
        UsageError: if two are for one criterion, or a required package is not installed.
    """
    vectors = encoder or open_encoder(MINILM)
    models = [open_reward(folder, vectors) for folder in folders]
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        raise UsageError("two reward models for one criterion", expected="one for each", code="same-criterion")
    return CombinedReward(models, ResponseRelevance(vectors) if alpha else None, alpha)
