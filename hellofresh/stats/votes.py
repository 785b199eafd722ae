"""The majority vote of several sets of predictions on the same samples.

Only 0 and 1 vote; a tie is no answer. Where nobody voted it is blocked if all were blocked, else no answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.counts import NO_ANSWER

__all__ = ["BLOCKED", "majority_vote"]

BLOCKED = -2
"""A refusal, where it is told apart from other silence; to be turned into -1 before counting."""


def majority_vote(predictions: NDArray[np.int8]) -> NDArray[np.int8]:
    """What most of the voters say.

    Args:
        predictions: shape (voters, n), 0, 1, -1 for no answer or -2 for blocked.

    Returns:
        Shape (n,), 0, 1, -1 (a tie, or no vote) or -2 (all blocked).

    Raises:
        ValueError: if there is no voter or a value is none of these.
    """
    if predictions.ndim != 2 or len(predictions) == 0:
        raise ValueError(f"predictions {predictions.shape} must have a row for each of one or more voters")
    if not np.isin(predictions, (0, 1, NO_ANSWER, BLOCKED)).all():
        raise ValueError("predictions must be 0, 1, -1 or -2")
    ahead = (predictions == 1).sum(axis=0) - (predictions == 0).sum(axis=0)
    silent = np.where((predictions == BLOCKED).all(axis=0), BLOCKED, NO_ANSWER)
    return np.where(ahead > 0, 1, np.where(ahead < 0, 0, silent)).astype(np.int8)
