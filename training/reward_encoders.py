"""Training a reward model as a whole encoder that reads both texts together: a cross-encoder of sentence-transformers.

Any encoder that transformers can load is trained, such as BERT-base or MiniLM. A training that was killed goes on from
its last checkpoint.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import CrossEncoder
from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
from torch import Tensor, nn

from hellofresh.core.files import canonical_json, sha256_file, sha256_text
from hellofresh.rewards.base import Beside, read_card
from hellofresh.rewards.transformer import TOKENS, TransformerReward, encoded_pairs
from hellofresh.training.log import known_values, read_log
from hellofresh.training.rerankers import opened, trained_on
from hellofresh.training.reward_models import RewardTraining, TrainedReward, divide, labels_of
from hellofresh.training.run import OnRow, Run


class _Loss(nn.Module):  # type: ignore[misc]  # the library is not type-checked
    """Cross-entropy in which both classes count alike, on pairs that are cut as where the model is applied."""

    def __init__(self, model: CrossEncoder, beside: Beside, ones: float) -> None:
        super().__init__()
        self.model, self.beside = model, beside
        self.weights = 0.5 / (1 - ones), 0.5 / ones

    def forward(self, inputs: Sequence[Sequence[str]], labels: Tensor, **more: object) -> Tensor:
        pairs = encoded_pairs(self.model.tokenizer, list(zip(*inputs, strict=True)), self.beside)
        logits, labels = self.model.model(**pairs.to(self.model.device)).logits[:, 0], labels.float()
        weights = torch.where(labels > 0, self.weights[1], self.weights[0])
        loss: Tensor = nn.functional.binary_cross_entropy_with_logits(logits, labels, weight=weights)
        return loss


def train_reward_encoder(
    training: RewardTraining, model: str, device: str, folder: Path, on_row: OnRow
) -> TrainedReward:
    """Train an encoder, or go on with it, and write the best epoch's with its card.

    Args:
        training: what to train.
        model: a folder, or `hub:OWNER/NAME`.
        device: `cpu` or `cuda`.
        folder: gets the model.
        on_row: called with each row of the log.

    Raises:
        UsageError: if the model does not exist.
        DataError: if there are too few responses.
    """
    recipe, parts = training.recipe, divide(training.examples, training.recipe)
    rows = {
        name: [dict(zip(("beside", "response"), training.pair(item), strict=True), label=item.label) for item in part]
        for name, part in parts.items()
    }
    content = sha256_text(canonical_json(rows))
    decided = {"model": model, "criterion": training.criterion, "beside": training.beside, "data_sha256": content}
    run = Run("reward", recipe, decided, device, folder, on_row)
    if not run.is_finished(folder / "reward.json"):
        torch.manual_seed(recipe.seed)  # the classifier on top starts from drawn weights
        encoder = opened(CrossEncoder, model, num_labels=1, max_length=TOKENS, device=device)
        loss = _Loss(encoder, training.beside, float(labels_of(parts["train"]).mean()))
        chosen = Dataset.from_list(rows["selection"])
        trainer = partial(CrossEncoderTrainer, encoder, eval_dataset=chosen, loss=loss)
        trained_on(rows["train"], run, trainer, CrossEncoderTrainingArguments, best="held_out_loss")
        versions = {name: version(name) for name in ("torch", "transformers", "sentence-transformers")}
        card = training.card(
            parts,
            form="encoder",
            encoder={"encoder": model},
            epoch=int(np.argmin(_losses(folder))),
            versions={"python": platform.python_version(), **versions},
            sha256=sha256_file(folder / "model" / "model.safetensors"),
        )
        scores = TransformerReward.open(folder, card).score([item.case for item in parts["test"]])
        training.measured(card, parts, scores, folder)
        shutil.rmtree(run.checkpoints)
    return TrainedReward(folder, read_card(folder), _losses(folder))


def _losses(folder: Path) -> tuple[float, ...]:
    return tuple(value for _, value in known_values(read_log(folder / "log.jsonl"), "held_out_loss"))
