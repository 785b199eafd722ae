"""Training a reward model as a head: the same bytes from one seed, and nothing lost by a kill.

Responses are divided by group into a part to learn from, one to choose among epochs and one to measure on. The state is
written every `_EVERY` steps, whole or not at all. What applies a reward model is `hellofresh.rewards`.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.files import canonical_json, remove_file, sha256_text
from hellofresh.evidence.retrieval.encoders import Encoder
from hellofresh.rewards.base import (
    Beside,
    LabelledResponse,
    RewardCard,
    RewardData,
    write_card,
)
from hellofresh.rewards.heads import WORD_COLUMNS, RewardWeights, chances, pair_features, write_weights
from training.adam import rate_at
from training.heads import TrainingProgress
from training.judged import Parts, divide, labels_of, measure
from training.loss import balanced_cross_entropy, class_weights
from training.recipe import RewardRecipe
from training.state import TrainingState, begin, read_state, write_state
from training.vectors import stored_vectors

FloatArray = NDArray[np.float64]
_EVERY = 100


@dataclass(frozen=True, slots=True)
class RewardTraining:
    """What to train, and on what.

    Attributes:
        criterion: what the model is to score.
        beside: what it reads beside the response.
        examples: responses with labels.
        data: the files that they are of.
        recipe: how.
    """

    criterion: str
    beside: Beside
    examples: Sequence[LabelledResponse]
    data: tuple[RewardData, ...]
    recipe: RewardRecipe

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """What is read of each example: the text beside the response, and the response."""
        return [("\n".join(item.case.beside(self.beside)), item.case.response) for item in self.examples]

    def identity(self, encoder: Mapping[str, str | int | float | bool]) -> str:
        """The hash of all that decides the outcome on one machine."""
        examples = [[*pair, item.label, item.group] for pair, item in zip(self.pairs, self.examples, strict=True)]
        return sha256_text(canonical_json([self.criterion, self.beside, examples, self.recipe.model_dump(), encoder]))


@dataclass(frozen=True, slots=True)
class TrainedReward:
    """What a training came to.

    Attributes:
        folder: with the model.
        card: as it was written.
        losses: on the responses for selection after each epoch; the first is that of the untrained model.
        seconds: that it took, since it was started or went on.
    """

    folder: Path
    card: RewardCard
    losses: tuple[float, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class _Features:
    """Features of the three parts, and by what they are scaled."""

    parts: Parts
    middle: FloatArray
    spread: FloatArray
    train: FloatArray
    selection: FloatArray
    test: FloatArray

    @classmethod
    def of(cls, training: RewardTraining, vectors: Mapping[str, FloatArray]) -> _Features:
        parts, paired = divide(training.examples, training.recipe), training.beside is not Beside.NOTHING

        def features(part: Sequence[LabelledResponse]) -> FloatArray:
            rows = []
            for item in part:
                beside = "\n".join(item.case.beside(training.beside))
                first = (beside, vectors[beside]) if paired else None
                rows.append(pair_features(first, (item.case.response, vectors[item.case.response])))
            return np.stack(rows)

        raw = features(parts.train)
        middle, spread = raw.mean(axis=0), raw.std(axis=0) + 1e-6
        middle[-WORD_COLUMNS:], spread[-WORD_COLUMNS:] = 0.0, 1.0 / max(training.recipe.words, 1e-6)
        scaled = [(part - middle) / spread for part in (raw, features(parts.selection), features(parts.test))]
        return cls(parts, middle, spread, *scaled)


def train_reward(
    training: RewardTraining,
    encoder: Encoder,
    folder: Path,
    *,
    vectors: Path,
    progress: Callable[[TrainingProgress], None] = lambda state: None,
    line: Callable[[str], None] = lambda text: None,
) -> TrainedReward:
    """Train a head, or go on with it, and write the best epoch's with its card.

    Args:
        training: what to train.
        encoder: makes the vectors that the head reads.
        folder: gets the model; `state.npz` while it is under way.
        vectors: folder where vectors of texts are kept.
        progress, line: told after every step, and before.

    Raises:
        DataError: if there are too few responses.
    """
    recipe, began = training.recipe, time.monotonic()
    texts = [text for pair in training.pairs for text in pair]
    read = _Features.of(training, stored_vectors(encoder, texts, vectors, line))
    path, key = folder / "state.npz", training.identity(encoder.parameters)
    state = read_state(path, key) or begin({"weights": np.zeros(read.train.shape[1]), "bias": np.zeros(1)})
    labels, chosen = labels_of(read.parts.train), labels_of(read.parts.selection)
    weights = class_weights(labels)
    in_epoch = -(-len(labels) // recipe.batch)
    total, started = in_epoch * recipe.epochs, state.step
    if not state.scores:
        state.scores.append(balanced_cross_entropy(_logits(state.values, read.selection), chosen, weights)[0])
    while state.step < total:
        state.losses.append(_step(state, read.train, labels, recipe, total))
        if state.step % in_epoch == 0:
            held = balanced_cross_entropy(_logits(state.values, read.selection), chosen, weights)[0]
            state.best = dict(state.values) if held < min(state.scores) else state.best
            state.scores.append(held)
        if state.step % _EVERY == 0 or state.step == total:
            write_state(path, key, state)
        left = (time.monotonic() - began) / (state.step - started) * (total - state.step)
        progress(TrainingProgress(state.step, total, state.losses[-1], left))
    card = _finish(training, encoder, folder, read, state)
    remove_file(path)
    return TrainedReward(folder, card, tuple(state.scores), time.monotonic() - began)


def _finish(
    training: RewardTraining, encoder: Encoder, folder: Path, read: _Features, state: TrainingState
) -> RewardCard:
    best = RewardWeights(read.middle, read.spread, state.best["weights"], float(state.best["bias"][0]))
    usual = int(labels_of(read.parts.train).mean() > 0.5)
    card = RewardCard(
        criterion=training.criterion,
        form="head",
        beside=training.beside,
        encoder=dict(encoder.parameters),
        training=training.recipe.model_dump(),
        data=training.data,
        versions={"python": platform.python_version(), "numpy": np.__version__},
        rows=read.parts.sizes,
        epoch=int(np.argmin(state.scores)),
        measures=measure(read.parts.test, chances(_logits(state.best, read.test)), usual),
        sha256=write_weights(folder, best),
    )
    write_card(folder, card)
    return card


def _logits(values: Mapping[str, FloatArray], features: FloatArray) -> FloatArray:
    found: FloatArray = features @ values["weights"] + values["bias"][0]
    return found


def _step(
    state: TrainingState, features: FloatArray, labels: NDArray[np.int64], recipe: RewardRecipe, total: int
) -> float:
    weights = class_weights(labels)
    in_epoch = -(-len(labels) // recipe.batch)
    epoch, place = divmod(state.step, in_epoch)
    order = np.random.default_rng([recipe.seed, epoch]).permutation(len(labels))
    batch = order[place * recipe.batch : (place + 1) * recipe.batch]
    loss, outer = balanced_cross_entropy(_logits(state.values, features[batch]), labels[batch], weights)
    gradient = {"weights": features[batch].T @ outer, "bias": outer.sum(keepdims=True)}
    rate = rate_at(state.step, total, rate=recipe.rate, warm_up=recipe.warm_up)
    state.step += 1
    state.values = {
        name: state.moments[name].step(value, gradient[name], state.step, rate=rate, decay=recipe.decay)
        for name, value in state.values.items()
    }
    return loss
