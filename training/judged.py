"""Responses with labels, divided for training, and what a reward model reaches on those that it never saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.errors import DataError
from hellofresh.core.files import sha256_text
from hellofresh.rewards.base import LabelledResponse, RewardMeasure
from hellofresh.stats import cluster_tables, compare, metric_interval
from hellofresh.stats.metrics import accuracy, balanced_accuracy, class_f1, class_precision, class_recall
from training.recipe import RewardRecipe

METRICS = (balanced_accuracy(2), accuracy(2), class_f1(2), class_precision(2), class_recall(2))
"""What a card holds; the first is what the paper compares."""
_PARTS = ("train", "selection", "test")


@dataclass(frozen=True, slots=True)
class Parts:
    """Judged responses in three parts; no group is in two of them.

    Attributes:
        train: to learn from.
        selection: to choose among epochs.
        test: to measure on.
    """

    train: Sequence[LabelledResponse]
    selection: Sequence[LabelledResponse]
    test: Sequence[LabelledResponse]

    @property
    def sizes(self) -> Mapping[str, int]:
        """Responses by part."""
        return {name: len(getattr(self, name)) for name in _PARTS}


def labels_of(examples: Sequence[LabelledResponse]) -> NDArray[np.int64]:
    """Their labels, shape (n,)."""
    return np.array([example.label for example in examples], dtype=np.int64)


def divide(examples: Sequence[LabelledResponse], recipe: RewardRecipe) -> Parts:
    """Divide by group so that each part has its share of either class.

    Groups come in an order by the seed, the largest first; each goes where most of its classes is still missing.

    Raises:
        DataError: if a part would lack a class.
    """
    shares = {"train": 1 - recipe.selection - recipe.test, "selection": recipe.selection, "test": recipe.test}
    counts: dict[str, NDArray[np.float64]] = {}
    for example in examples:
        counts.setdefault(example.group, np.zeros(2))[example.label] += 1
    total = sum(counts.values(), np.zeros(2))
    missing = {name: share * total / np.maximum(total, 1) for name, share in shares.items()}
    place: dict[str, str] = {}
    for group in sorted(counts, key=lambda name: (-counts[name].sum(), sha256_text(f"{recipe.seed}:{name}"))):
        wanted = counts[group] / np.maximum(total, 1)
        place[group] = max(_PARTS, key=lambda name: float(missing[name] @ wanted))
        missing[place[group]] -= wanted
    found = {name: [item for item in examples if place[item.group] == name] for name in _PARTS}
    if any({item.label for item in part} != {0, 1} for part in found.values()):
        raise DataError(
            f"{len(examples)} responses in {len(counts)} groups cannot be divided",
            where="training",
            expected="both labels in at least three groups each",
            code="too-few-responses",
        )
    return Parts(**found)


def measure(test: Sequence[LabelledResponse], chances: NDArray[np.float64], usual: int) -> tuple[RewardMeasure, ...]:
    """Every metric with its interval by groups, and paired against always choosing one class.

    Args:
        test: responses that nothing was learnt from.
        chances: what the model gives them, shape (n,).
        usual: the more frequent class of the training part.
    """
    labels = labels_of(test).astype(np.int8)
    said = (chances > 0.5).astype(np.int8)
    _, groups = np.unique([example.group for example in test], return_inverse=True)
    found = []
    for metric in METRICS:
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
