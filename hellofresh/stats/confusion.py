"""Samples by label and prediction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.metrics import NO_ANSWER

__all__ = ["confusion"]


def confusion(labels: NDArray[np.int8], predictions: NDArray[np.int8], classes: int) -> NDArray[np.int64]:
    """How many samples have each label and each prediction.

    Args:
        labels: shape (n,), 0 to classes - 1.
        predictions: shape (n,), 0 to classes - 1, or -1 for no answer.
        classes: how many there are.

    Returns:
        Shape (classes, classes + 1), rows by label; the last column counts samples without an answer.
    """
    said = np.where(predictions == NO_ANSWER, classes, predictions).astype(np.int64)
    cells = np.bincount(labels.astype(np.int64) * (classes + 1) + said, minlength=classes * (classes + 1))
    return cells.reshape(classes, classes + 1)
