"""A reward model that is a whole encoder with a classifier on top, applied by torch and transformers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.errors import DataError
from hellofresh.core.files import sha256_file
from hellofresh.evidence.retrieval.base import missing_extra
from hellofresh.rewards.base import Beside, RewardCase
from hellofresh.rewards.card import RewardCard
from hellofresh.rewards.heads import chances

__all__ = ["TOKENS", "TransformerReward", "encoded_pairs"]

TOKENS = 256
"""Of a pair that are read."""
_BATCH = 32


def encoded_pairs(tokenizer: Any, pairs: Sequence[tuple[str, str]], beside: Beside) -> Any:
    """Pairs as the model reads them; `Any` is what transformers takes and gives."""
    first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    texts = (second,) if beside is Beside.NOTHING else (first, second)
    return tokenizer(*texts, padding=True, truncation=True, max_length=TOKENS, return_tensors="pt")


@dataclass(frozen=True)
class TransformerReward:
    """Scores responses by an encoder that was trained whole; `Any` is what transformers gives.

    Attributes:
        card: what it was trained with.
        tokenizer, model: as loaded.
    """

    card: RewardCard
    tokenizer: Any
    model: Any

    @classmethod
    def open(cls, folder: Path, card: RewardCard) -> TransformerReward:
        """Load it.

        Raises:
            UsageError: if torch or transformers are not installed.
            DataError: if the weights are not those of the card.
        """
        try:
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        except ImportError as error:
            raise missing_extra("this reward model", error.name or "transformers", "train") from None
        path = folder / "model"
        weights = path / "model.safetensors"
        if not weights.is_file() or sha256_file(weights) != card.sha256:
            raise DataError("not the weights of the card", where=str(weights), fix="Train again.", code="changed-file")
        # Local files only: nothing is fetched, whatever the folder's files name.
        tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        model = AutoModelForSequenceClassification.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        return cls(card, tokenizer, model.eval())

    @property
    def name(self) -> str:
        """The criterion."""
        return self.card.criterion

    def score(self, cases: Sequence[RewardCase]) -> NDArray[np.float64]:
        """As a head: the best of several texts of evidence counts, and without any the score is 0."""
        import torch

        beside = self.card.beside
        pairs = [(text, case.response) for case in cases for text in case.beside(beside)]
        owners = np.array([number for number, case in enumerate(cases) for _ in case.beside(beside)], dtype=np.int64)
        found = np.zeros(len(cases))
        for start in range(0, len(pairs), _BATCH):
            with torch.no_grad():
                logits = self.model(**encoded_pairs(self.tokenizer, pairs[start : start + _BATCH], beside)).logits
            scores = chances(logits[:, 0].double().cpu().numpy())
            np.maximum.at(found, owners[start : start + _BATCH], scores)
        return found
