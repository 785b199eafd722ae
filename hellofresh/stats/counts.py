"""Confusion counts with no-answer as a column of its own, and the metrics made of them.

A sample without an answer is wrong, whichever its label: with label 1 it counts as a false negative, with label 0 as a
false positive. So silence lowers recall or precision, and always F1 and accuracy; it can never pay.

Where a denominator is zero the metric is 0: precision of a system that never says yes, recall where no label is 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["METRICS", "NO_ANSWER", "Counts", "count", "indicator_matrix", "metric_values"]

METRICS = ("precision", "recall", "f1", "accuracy")
NO_ANSWER = -1


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
    def metrics(self) -> dict[str, float]:
        """Precision, recall, F1 and accuracy, each between 0 and 1."""
        cells = [self.tp, self.fp + self.none_negative, self.tn, self.fn + self.none_positive]
        values = metric_values(np.array([cells], dtype=np.float64))[0]
        return dict(zip(METRICS, values.tolist(), strict=True))


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
    """The metrics of many confusion tables at once.

    Args:
        cells: shape (m, 4), columns tp, fp, tn, fn, not negative.

    Returns:
        Shape (m, 4), columns in the order of `METRICS`.
    """
    tp, fp, tn, fn = cells.T
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.stack(
            [tp / (tp + fp), tp / (tp + fn), 2 * tp / (2 * tp + fp + fn), (tp + tn) / (tp + fp + tn + fn)], axis=1
        )
    finite: NDArray[np.float64] = np.nan_to_num(values, nan=0.0)
    return finite
