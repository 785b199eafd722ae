"""AdamW, and the rate's course: up in a line, then down by a cosine.

Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization (ICLR 2019).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
_FIRST, _SECOND, _SMALL = 0.9, 0.999, 1e-8


def rate_at(step: int, total: int, *, rate: float, warm_up: int) -> float:
    """The learning rate of a step, counted from 0."""
    if step < warm_up:
        return rate * (step + 1) / warm_up
    left = (step - warm_up) / max(1, total - warm_up)
    return rate * 0.5 * (1 + math.cos(math.pi * min(1.0, left)))


@dataclass(slots=True)
class AdamW:
    """The state of one array of parameters.

    Attributes:
        first, second: moving means of the gradient and of its square.
    """

    first: FloatArray
    second: FloatArray

    def step(self, value: FloatArray, gradient: FloatArray, number: int, *, rate: float, decay: float) -> FloatArray:
        """The parameters after step `number`, counted from 1."""
        self.first = _FIRST * self.first + (1 - _FIRST) * gradient
        self.second = _SECOND * self.second + (1 - _SECOND) * gradient**2
        mean, square = self.first / (1 - _FIRST**number), self.second / (1 - _SECOND**number)
        moved: FloatArray = value - rate * (mean / (np.sqrt(square) + _SMALL) + decay * value)
        return moved
