"""Confusion counts with no-answer as a column of its own, and the metrics made of them.

A sample without an answer is wrong, whichever its label: with label 1 it counts as a false negative, with label 0 as a
false positive. So silence lowers recall or precision, and always F1 and accuracy; it can never pay.

Where a denominator is zero the metric is 0: precision of a system that never says yes, recall where no label is 1. The
same holds for the class of label 0, whose precision, recall and F1 are those of class 1 with the two labels exchanged.
Balanced accuracy is the mean of the two recalls and macro F1 that of the two F1s, always over both classes: a class
that does not occur counts with 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ALL_METRICS",
    "BLOCKED",
    "METRICS",
    "NO_ANSWER",
    "ClassScore",
    "Counts",
    "count",
    "evaluate",
    "hits_and_relevant",
    "indicator_matrix",
    "metric_values",
    "ratio",
]

METRICS = ("precision", "recall", "f1", "accuracy")
"""What the board shows."""
ALL_METRICS = (*METRICS, "balanced_accuracy", "macro_f1", "negative_precision", "negative_recall", "negative_f1")
"""What `evaluate` knows; the last three are those of the class of label 0."""
NO_ANSWER = -1
BLOCKED = -2
"""A refusal, where it is told apart from other silence; to be turned into -1 before counting."""


@dataclass(frozen=True, slots=True)
class ClassScore:
    """One class for itself: `support` samples have its label."""

    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Samples by label and prediction.

    Attributes:
        tp, fn: label 1, predicted 1 and 0.
        tn, fp: label 0, predicted 0 and 1.
        none_positive, none_negative: no answer, on label 1 and on label 0.
    """

    tp: int
    fp: int
    tn: int
    fn: int
    none_positive: int = 0
    none_negative: int = 0

    @property
    def n(self) -> int:
        """All samples."""
        return self.tp + self.fp + self.tn + self.fn + self.none

    @property
    def none(self) -> int:
        """Samples without an answer."""
        return self.none_positive + self.none_negative

    @property
    def cells(self) -> NDArray[np.float64]:
        """Shape (4,): tp, fp, tn, fn, each no answer in the wrong one."""
        cells = [self.tp, self.fp + self.none_negative, self.tn, self.fn + self.none_positive]
        return np.array(cells, dtype=np.float64)

    @property
    def metrics(self) -> dict[str, float]:
        """Precision, recall, F1 and accuracy, each between 0 and 1."""
        return dict(zip(METRICS, metric_values(self.cells).tolist(), strict=True))

    @property
    def all_metrics(self) -> dict[str, float]:
        """Every metric of `ALL_METRICS`."""
        return {name: float(evaluate(self.cells, name)) for name in ALL_METRICS}

    @property
    def per_class(self) -> tuple[ClassScore, ClassScore]:
        """The class of label 0, then that of label 1."""
        of = self.all_metrics
        negatives, positives = self.tn + self.fp + self.none_negative, self.tp + self.fn + self.none_positive
        return (
            ClassScore(of["negative_precision"], of["negative_recall"], of["negative_f1"], negatives),
            ClassScore(of["precision"], of["recall"], of["f1"], positives),
        )


def count(labels: NDArray[np.int8], predictions: NDArray[np.int8]) -> Counts:
    """Count samples by label and prediction.

    Args:
        labels: shape (n,), 0 or 1.
        predictions: shape (n,), 0, 1 or -1 for no answer.

    Raises:
        ValueError: if the shapes differ or a value is none of these.
    """
    _check(labels, predictions)

    def pairs(label: int, prediction: int) -> int:
        return int(np.count_nonzero((labels == label) & (predictions == prediction)))

    return Counts(
        tp=pairs(1, 1), fp=pairs(0, 1), tn=pairs(0, 0), fn=pairs(1, 0),
        none_positive=pairs(1, NO_ANSWER), none_negative=pairs(0, NO_ANSWER),
    )  # fmt: skip


def indicator_matrix(labels: NDArray[np.int8], predictions: NDArray[np.int8]) -> NDArray[np.float64]:
    """One row a sample with a single 1 in the column tp, fp, tn or fn; no answer stands in the wrong one.

    Args:
        labels: shape (n,), 0 or 1.
        predictions: shape (n,), 0, 1 or -1 for no answer.

    Returns:
        Shape (n, 4).
    """
    _check(labels, predictions)
    positive, right = labels == 1, labels == predictions
    columns = (positive & right, ~positive & ~right, ~positive & right, positive & ~right)
    return np.stack(columns, axis=1).astype(np.float64)


def _check(labels: NDArray[np.int8], predictions: NDArray[np.int8]) -> None:
    if labels.shape != predictions.shape or labels.ndim != 1:
        raise ValueError(f"labels {labels.shape} and predictions {predictions.shape} must be vectors of one length")
    if not np.isin(labels, (0, 1)).all():
        raise ValueError("labels must be 0 or 1")
    if not np.isin(predictions, (0, 1, NO_ANSWER)).all():
        raise ValueError("predictions must be 0, 1 or -1")


def metric_values(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """The board's metrics of many confusion tables at once.

    Args:
        cells: shape (..., 4), columns tp, fp, tn, fn, not negative.

    Returns:
        Shape (..., 4), in the order of `METRICS`.
    """
    return np.stack([evaluate(cells, name) for name in METRICS], axis=-1)


def evaluate(cells: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
    """One metric of many confusion tables at once.

    Args:
        cells: shape (..., 4), columns tp, fp, tn, fn, not negative.
        metric: a name in `ALL_METRICS`.

    Returns:
        Shape (...).

    Raises:
        ValueError: if the metric is not known.
    """
    if metric == "balanced_accuracy":
        return (evaluate(cells, "recall") + evaluate(cells, "negative_recall")) / 2
    if metric == "macro_f1":
        return (evaluate(cells, "f1") + evaluate(cells, "negative_f1")) / 2
    hits, relevant = hits_and_relevant(cells, metric)
    if metric.endswith("f1"):
        hits, relevant = 2 * hits, hits + relevant
    return ratio(hits, relevant)


def hits_and_relevant(cells: NDArray[np.float64], metric: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of which samples a metric is the share, and how many of them are hits.

    F1 is no share itself, but 2j / (1 + j), where j is the share of true positives among all samples that are labelled
    1 or predicted 1; it is j whose parts are given.

    Args:
        cells: shape (..., 4).
        metric: a name in `ALL_METRICS` that is made of one share, so neither balanced accuracy nor macro F1.

    Returns:
        Two arrays of shape (...).

    Raises:
        ValueError: if the metric is none of these.
    """
    tp, fp, tn, fn = (cells[..., column] for column in range(4))
    if metric.startswith("negative_"):
        tp, fp, tn, fn, metric = tn, fn, tp, fp, metric.removeprefix("negative_")
    match metric:
        case "precision":
            return tp, tp + fp
        case "recall":
            return tp, tp + fn
        case "f1":
            return tp, tp + fp + fn
        case "accuracy":
            return tp + tn, tp + fp + tn + fn
    raise ValueError(f"metric {metric!r} must be one of {', '.join(ALL_METRICS)}")


def ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """A quotient that is 0 where the denominator is 0."""
    return np.divide(above, below, out=np.zeros(np.broadcast(above, below).shape), where=below != 0)
