"""Training a reward model as a whole encoder with a classifier on top: the paper's way, which wants a GPU.

Any encoder that transformers can load is trained, such as BERT-base or MiniLM. The state is written after each epoch
and every `_EVERY` steps, and an interrupted training goes on from there.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.files import atomic_path, remove_file, sha256_file
from hellofresh.evidence.retrieval.base import missing_extra
from hellofresh.evidence.retrieval.encoders import loading_of, not_at_hand
from hellofresh.rewards.base import LabelledResponse, RewardCard, write_card
from hellofresh.rewards.heads import chances
from hellofresh.rewards.transformer import encoded_pairs
from training.adam import rate_at
from training.heads import TrainingProgress
from training.judged import Parts, divide, labels_of, measure
from training.loss import balanced_cross_entropy, class_weights
from training.rewards import RewardTraining, TrainedReward

_EVERY = 50
_BATCH = 32


def train_reward_encoder(
    training: RewardTraining,
    model: str,
    folder: Path,
    progress: Callable[[TrainingProgress], None] = lambda state: None,
) -> TrainedReward:
    """Train an encoder, or go on with it, and write the best epoch's with its card.

    Args:
        training: what to train.
        model: name on the hub, or a folder.
        folder: gets the model.
        progress: told after every step.

    Raises:
        UsageError: if torch or transformers are not installed.
        DataError: if there are too few responses.
    """
    run = _Run.begin(training, model, folder)
    began, started = time.monotonic(), run.step
    if not run.scores:
        run.scores.append(run.held_out_loss())
        run.keep()
    while run.step < run.total:
        loss = run.take_step()
        if run.step % run.in_epoch == 0:
            run.close_epoch()
        if run.step % _EVERY == 0 or run.step % run.in_epoch == 0:
            run.write_state()
        left = (time.monotonic() - began) / (run.step - started) * (run.total - run.step)
        progress(TrainingProgress(run.step, run.total, loss, left))
    card = run.finish(model)
    remove_file(run.state_file)
    return TrainedReward(folder, card, tuple(run.scores), time.monotonic() - began)


@dataclass
class _Run:
    """A training under way; `Any` is what torch and transformers give."""

    training: RewardTraining
    parts: Parts
    folder: Path
    key: str
    tokenizer: Any
    model: Any
    optimizer: Any
    device: str
    step: int
    scores: list[float]

    @classmethod
    def begin(cls, training: RewardTraining, model: str, folder: Path) -> _Run:
        """Load the model, or the state that an interrupted training left."""
        try:
            import torch
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        except ImportError as error:
            raise missing_extra("training an encoder", error.name or "torch", "train") from None
        recipe = training.recipe
        torch.manual_seed(recipe.seed)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        name, loading = loading_of(model)
        try:
            loaded = AutoModelForSequenceClassification.from_pretrained(name, num_labels=1, **loading).to(device)
            tokenizer = AutoTokenizer.from_pretrained(name, **loading)
        except OSError:
            raise not_at_hand(model) from None
        run = cls(
            training, divide(training.examples, recipe), folder, training.identity({"encoder": model}),
            tokenizer, loaded,
            torch.optim.AdamW(loaded.parameters(), lr=recipe.rate, weight_decay=recipe.decay), device, 0, [],
        )  # fmt: skip
        run.read_state()
        return run

    @property
    def in_epoch(self) -> int:
        """Steps of an epoch."""
        return -(-len(self.parts.train) // self.training.recipe.batch)

    @property
    def total(self) -> int:
        """Steps in all."""
        return self.in_epoch * self.training.recipe.epochs

    @property
    def state_file(self) -> Path:
        """Where the state is kept while it is under way."""
        return self.folder / "state.pt"

    def logits(self, examples: Sequence[LabelledResponse]) -> Any:
        """Of each, as torch's tensor."""
        beside = self.training.beside
        pairs = [("\n".join(item.case.beside(beside)), item.case.response) for item in examples]
        return self.model(**encoded_pairs(self.tokenizer, pairs, beside).to(self.device)).logits[:, 0]

    def take_step(self) -> float:
        """One batch."""
        import torch

        recipe, train = self.training.recipe, self.parts.train
        epoch, place = divmod(self.step, self.in_epoch)
        order = np.random.default_rng([recipe.seed, epoch]).permutation(len(train))
        batch = [train[number] for number in order[place * recipe.batch : (place + 1) * recipe.batch]]
        # Dropout is drawn anew for each step, so that a training that goes on draws what it would have drawn.
        torch.manual_seed(recipe.seed * 1_000_003 + self.step)
        self.model.train()
        labels = torch.tensor(labels_of(batch), dtype=torch.float32, device=self.device)
        none, one = class_weights(labels_of(train))
        each = torch.where(labels > 0, one, none)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(self.logits(batch), labels, weight=each)
        for group in self.optimizer.param_groups:
            group["lr"] = rate_at(self.step, self.total, rate=recipe.rate, warm_up=recipe.warm_up)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        return float(loss.detach())

    def scored(self, examples: Sequence[LabelledResponse]) -> NDArray[np.float64]:
        """Logits without a gradient."""
        import torch

        self.model.eval()
        with torch.no_grad():
            found = [
                self.logits(examples[start : start + _BATCH]).double().cpu().numpy()
                for start in range(0, len(examples), _BATCH)
            ]
        return np.concatenate(found)

    def held_out_loss(self) -> float:
        """What chooses among epochs."""
        weights = class_weights(labels_of(self.parts.train))
        chosen = self.parts.selection
        return balanced_cross_entropy(self.scored(chosen), labels_of(chosen), weights)[0]

    def close_epoch(self) -> None:
        """Measure the epoch, and keep the model if it is the best yet."""
        loss = self.held_out_loss()
        if loss < min(self.scores):
            self.keep()
        self.scores.append(loss)

    def keep(self) -> None:
        """Write the model as it is."""
        self.model.save_pretrained(self.folder / "model")
        self.tokenizer.save_pretrained(self.folder / "model")

    def finish(self, model: str) -> RewardCard:
        """Measure the best epoch's model on what it never saw, and write the card."""
        import torch
        import transformers

        self.model = type(self.model).from_pretrained(self.folder / "model", local_files_only=True).to(self.device)
        usual = int(labels_of(self.parts.train).mean() > 0.5)
        versions = {
            "python": platform.python_version(), "torch": torch.__version__, "transformers": transformers.__version__
        }  # fmt: skip
        card = RewardCard(
            criterion=self.training.criterion,
            form="encoder",
            beside=self.training.beside,
            encoder={"encoder": model},
            training=self.training.recipe.model_dump(),
            data=self.training.data,
            versions=versions,
            rows=self.parts.sizes,
            epoch=int(np.argmin(self.scores)),
            measures=measure(self.parts.test, chances(self.scored(self.parts.test)), usual),
            sha256=sha256_file(self.folder / "model" / "model.safetensors"),
        )
        write_card(self.folder, card)
        return card

    def write_state(self) -> None:
        """Write all that going on needs."""
        import torch

        state = {
            "key": self.key, "step": self.step, "scores": self.scores,
            "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
        }  # fmt: skip
        with atomic_path(self.state_file) as temporary:
            torch.save(state, temporary)

    def read_state(self) -> None:
        """Take up what an interrupted training left, if it was this one."""
        import torch

        if not self.state_file.is_file():
            return
        state = torch.load(self.state_file, map_location=self.device, weights_only=True)
        if state["key"] != self.key:
            return
        self.step, self.scores = state["step"], state["scores"]
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
