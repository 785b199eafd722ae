"""Training of reward models: labelled responses, split and measured, and heads on frozen vectors (scikit-learn).

A head is a logistic regression on frozen vectors and hashed words. It takes seconds once vectors exist, which are
cached, and the same seed gives the same bytes. `training.encoders` trains whole encoders; `hellofresh.rewards`
applies both.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.errors import DataError, missing_extra
from hellofresh.core.files import canonical_json, sha256_text
from hellofresh.evidence.retrieval.dense import stored_vectors
from hellofresh.evidence.retrieval.encoders import Encoder
from hellofresh.evidence.retrieval.rerank import write_weights
from hellofresh.rewards.base import (
    Beside,
    LabelledResponse,
    RewardCard,
    RewardData,
    RewardMeasure,
    RewardModel,
    write_card,
)
from hellofresh.rewards.heads import WEIGHTS, WORD_COLUMNS, HeadReward, RewardWeights, chances, pair_features
from hellofresh.rewards.probes import negatives_of, probe
from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.intervals import metric_interval
from hellofresh.stats.metrics import accuracy, balanced_accuracy, class_f1, class_precision, class_recall
from hellofresh.stats.paired import compare
from training.recipe import RewardRecipe

FloatArray = NDArray[np.float64]
_METRICS = (balanced_accuracy(2), accuracy(2), class_f1(2), class_precision(2), class_recall(2))
_STRENGTHS = tuple(float(f"1e{power}") for power in range(-6, 2))  # inverse regularisation strengths to try


@dataclass(frozen=True, slots=True)
class RewardTraining:
    """Data and recipe of a reward model's training.

    Attributes:
        criterion: scored by the model.
        beside: the text read beside the response.
        examples: responses with labels.
        data: source files of the examples.
        recipe: settings.
    """

    criterion: str
    beside: Beside
    examples: Sequence[LabelledResponse]
    data: tuple[RewardData, ...]
    recipe: RewardRecipe

    def pair(self, item: LabelledResponse) -> tuple[str, str]:
        """The text read beside a response, and the response."""
        return "\n".join(item.case.beside(self.beside)), item.case.response

    def card(self, parts: Mapping[str, Sequence[LabelledResponse]], **more: object) -> RewardCard:
        """The card without its measures; `more` has the fields that differ between heads and encoders."""
        rows = {name: len(part) for name, part in parts.items()}
        known = {"criterion": self.criterion, "beside": self.beside, "data": self.data, "rows": rows, "measures": ()}
        return RewardCard.model_validate({**known, "training": self.recipe.model_dump(), **more})

    def with_negatives(self, part: Sequence[LabelledResponse]) -> list[LabelledResponse]:
        """Training responses: for refutation, replies that refute nothing are added, since a policy would find them."""
        return [*part, *(negatives_of(part) if self.criterion == "refutation" else [])]

    def measured(
        self, card: RewardCard, parts: Mapping[str, Sequence[LabelledResponse]], model: RewardModel, folder: Path
    ) -> RewardCard:
        """Add the measures and probes of the test part to the card and write it to a folder."""
        usual, test = int(labels_of(parts["train"]).mean() > 0.5), parts["test"]
        probes = probe(model, [item for item in test if item.label]) if self.criterion == "refutation" else None
        measures = measure(test, model.score([item.case for item in test]), usual)
        card = card.model_copy(update={"measures": measures, "probes": probes})
        write_card(folder, card)
        return card


@dataclass(frozen=True, slots=True)
class TrainedReward:
    """The outcome of a training.

    Attributes:
        folder: with the model.
        card: as written.
        losses: on the responses for selection, of the untrained model and of each candidate or epoch.
    """

    folder: Path
    card: RewardCard
    losses: tuple[float, ...]


def labels_of(examples: Sequence[LabelledResponse]) -> NDArray[np.int64]:
    """Their labels, shape (n,)."""
    return np.array([example.label for example in examples], dtype=np.int64)


def divide(examples: Sequence[LabelledResponse], recipe: RewardRecipe) -> dict[str, list[LabelledResponse]]:
    """Split by group into train, selection and test, each with its share of either class.

    Groups are taken in a seeded order, the largest first; each goes to the part that lacks most of its classes.

    Raises:
        DataError: if a part lacks a class.
    """
    shares = {"train": 1 - recipe.selection - recipe.test, "selection": recipe.selection, "test": recipe.test}
    counts: dict[str, FloatArray] = {}
    for example in examples:
        counts.setdefault(example.group, np.zeros(2))[example.label] += 1
    total = sum(counts.values(), np.zeros(2))
    missing = {name: share * total / np.maximum(total, 1) for name, share in shares.items()}
    place: dict[str, str] = {}
    for group in sorted(counts, key=lambda name: (-counts[name].sum(), sha256_text(f"{recipe.seed}:{name}"))):
        wanted = counts[group] / np.maximum(total, 1)
        place[group] = max(shares, key=lambda name: float(missing[name] @ wanted))
        missing[place[group]] -= wanted
    found = {name: [item for item in examples if place[item.group] == name] for name in shares}
    if any({item.label for item in part} != {0, 1} for part in found.values()):
        what = f"{len(examples)} responses in {len(counts)} groups cannot be divided"
        expected = "both labels in at least three groups each"
        raise DataError(what, where="training", expected=expected, code="too-few-responses")
    return found


def measure(test: Sequence[LabelledResponse], chances: FloatArray, usual: int) -> tuple[RewardMeasure, ...]:
    """Every metric with its interval by groups, and its paired difference from a constant answer.

    Args:
        test: responses that were not used for training.
        chances: the model's probabilities of class 1, shape (n,).
        usual: the majority class of the training part.
    """
    labels = labels_of(test).astype(np.int8)
    said = (chances > 0.5).astype(np.int8)
    _, groups = np.unique([example.group for example in test], return_inverse=True)
    found = []
    for metric in _METRICS:
        own = cluster_tables(metric.statistics(labels, said), groups)
        other = cluster_tables(metric.statistics(labels, np.full_like(labels, usual)), groups)
        interval, against = metric_interval(own, metric), compare(own, other, metric)
        found.append(
            RewardMeasure(
                metric=metric.name, value=against.first, low=interval.low, high=interval.high, usual=against.second,
                difference=against.difference, difference_low=against.interval.low,
                difference_high=against.interval.high,
            )
        )  # fmt: skip
    return tuple(found)


def _fitted(
    raw: FloatArray, labels: NDArray[np.int64], words: float, line: Callable[[str], None]
) -> list[RewardWeights]:
    """The untrained weights, then those of each strength, from features of shape (n, width)."""
    from sklearn.linear_model import LogisticRegression

    middle, spread = raw.mean(axis=0), raw.std(axis=0) + 1e-6
    middle[-WORD_COLUMNS:], spread[-WORD_COLUMNS:] = 0.0, 1.0 / max(words, 1e-6)
    found = [RewardWeights(middle, spread, np.zeros(raw.shape[1]), 0.0)]
    for strength in _STRENGTHS:
        model = LogisticRegression(C=strength, class_weight="balanced", max_iter=1000, tol=1e-6)
        model.fit((raw - middle) / spread, labels)
        found.append(RewardWeights(middle, spread, model.coef_[0], float(model.intercept_[0])))
        line(f"fitted with {len(found) - 1} of {len(_STRENGTHS)} strengths")
    return found


def _balanced_losses(
    candidates: Sequence[RewardWeights], features: FloatArray, labels: NDArray[np.int64]
) -> tuple[float, ...]:
    """The cross-entropy of each, with equal weights of both classes."""
    from sklearn.metrics import log_loss
    from sklearn.utils.class_weight import compute_sample_weight

    alike = compute_sample_weight("balanced", labels)
    return tuple(float(log_loss(labels, chances(one.logits(features)), sample_weight=alike)) for one in candidates)


def train_head(
    training: RewardTraining, encoder: Encoder, folder: Path, *, vectors: Path, line: Callable[[str], None]
) -> TrainedReward:
    """Train a head with each strength and write the best on the selection part, with its card.

    Args:
        training: data and recipe.
        encoder: makes the vectors that the head reads.
        folder: gets the model.
        vectors: cache folder of vectors.
        line: called with the progress.

    Raises:
        UsageError: if scikit-learn is not installed.
        DataError: if there are too few responses.
    """
    if find_spec("sklearn") is None:
        raise missing_extra("training a head", "scikit-learn", "baselines")
    parts, paired = divide(training.examples, training.recipe), training.beside is not Beside.NOTHING
    learnt, choosing = (training.with_negatives(parts[name]) for name in ("train", "selection"))
    texts = sorted({text for item in (*learnt, *choosing) for text in training.pair(item)})
    own = vectors / sha256_text(canonical_json([dict(encoder.parameters), texts]))[:32]

    def progress(done: int) -> None:
        line(f"vectors of {done:,} of {len(texts):,} texts")

    made = stored_vectors(encoder, lambda start, stop: texts[start:stop], len(texts), own, progress)
    read = dict(zip(texts, made.astype(np.float64), strict=True))

    def features(part: Sequence[LabelledResponse]) -> FloatArray:
        pairs = [training.pair(item) for item in part]
        return np.stack(
            [pair_features((text, read[text]) if paired else None, (said, read[said])) for text, said in pairs]
        )

    candidates = _fitted(features(learnt), labels_of(learnt), training.recipe.words, line)
    losses = _balanced_losses(candidates, features(choosing), labels_of(choosing))
    kept = int(np.argmin(losses))
    card = training.card(
        parts,
        form="head",
        encoder=dict(encoder.parameters),
        epoch=kept,
        sha256=write_weights(folder / WEIGHTS, **asdict(candidates[kept])),
        versions={"python": platform.python_version(), **{name: version(name) for name in ("numpy", "scikit-learn")}},
    )
    model = HeadReward(card, candidates[kept], encoder)
    return TrainedReward(folder, training.measured(card, parts, model, folder), losses)
