"""The region in which two metrics of a system lie together, as an ellipse.

The covariance of the two metrics over joint resamples, stretched so that a normal distribution would have the nominal
share of its mass inside: by the square root of the quantile of chi-squared with two degrees of freedom, which is
-2 log(1 - level). Near the edges of the unit square a normal distribution is a rough picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atan2, degrees, log, sqrt

import numpy as np

from hellofresh.stats.metrics import Metric
from hellofresh.stats.ranking import Draws

__all__ = ["Ellipse", "joint_region"]


@dataclass(frozen=True, slots=True)
class Ellipse:
    """An ellipse in the plane of two metrics.

    Attributes:
        x, y: its centre, the values of the metrics.
        width, height: whole lengths of its axes, the longer first.
        angle: of the longer axis from the first metric's direction, in degrees.
    """

    x: float
    y: float
    width: float
    height: float
    angle: float


def joint_region(draws: Draws, system: int, x: Metric, y: Metric, *, level: float = 0.95) -> Ellipse:
    """The ellipse of one system.

    Args:
        draws: from `draw_jointly`, with both metrics.
        system: its number in the draws.
        x, y: the metrics.
        level: nominal coverage.
    """
    covariance = np.cov(draws.of(x)[system], draws.of(y)[system])
    sizes, directions = np.linalg.eigh(covariance)
    reach = 2 * sqrt(-2 * log(1 - level))
    height, width = (reach * sqrt(max(float(size), 0.0)) for size in sizes)
    angle = degrees(atan2(float(directions[1, 1]), float(directions[0, 1]))) % 180
    return Ellipse(float(draws.value(x)[system]), float(draws.value(y)[system]), width, height, angle)
