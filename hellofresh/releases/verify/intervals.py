"""Metrics and intervals of a score, computed anew: nothing here is shared with what made the scores.

The interval is Wilson's of the share that a metric is a function of, with an effective number of samples from the
delete-one-group jackknife and a quantile of t, as `docs/method.md` describes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from math import exp, lgamma, log, pi, sqrt, tan

import numpy as np
from numpy.typing import NDArray

__all__ = ["METRIC_NAMES", "NONE", "WILSON", "ScoreValues", "f1_limits", "recompute"]

METRIC_NAMES = ("precision", "recall", "f1", "accuracy")
WILSON, NONE = "cluster Wilson", "none: one group only"
"""The methods that a score may name."""
_LEVEL = 0.95
_NOTHING = 1e-20

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScoreValues:
    """What a score must say.

    Attributes:
        counts: samples by name: n, tp, fp, tn, fn, clusters, and silent, those without an answer.
        effective_clusters: groups of one size that would weigh as much as those there are.
        method: how the intervals are made.
        metrics: value, low and high by name of the metric.
    """

    counts: Mapping[str, int]
    effective_clusters: float
    method: str
    metrics: Mapping[str, tuple[float, float, float]]


def recompute(labels: NDArray[np.int8], said: NDArray[np.int8], groups: NDArray[np.int32]) -> ScoreValues:
    """Counts, metrics and intervals of one system.

    Args:
        labels: shape (n,), n > 0, 0 or 1.
        said: shape (n,), 0, 1 or -1 for no answer, which is wrong whatever the label.
        groups: shape (n,), equal numbers for samples of one group.
    """
    member = np.unique(groups, return_inverse=True)[1]
    right = labels == said
    outcomes = {"tp": right & (labels == 1), "fp": ~right & (labels == 0), "tn": right & (labels == 0),
                "fn": ~right & (labels == 1)}  # fmt: skip
    by_group = {name: np.bincount(member, weights=there).astype(np.float64) for name, there in outcomes.items()}
    counts = {name: int(np.count_nonzero(there & (said >= 0))) for name, there in outcomes.items()}
    sizes = np.bincount(member).astype(np.float64)
    counts |= {"n": labels.size, "clusters": sizes.size, "silent": int(np.count_nonzero(said < 0))}
    metrics = {name: _metric(name, by_group) for name in METRIC_NAMES}
    return ScoreValues(counts, _kish(sizes), WILSON if sizes.size > 1 else NONE, metrics)


def f1_limits(cells: NDArray[np.float64]) -> tuple[float, float, float]:
    """F1 with its interval, of the cells tp, fp, tn and fn of each group: shape (groups, 4)."""
    return _metric("f1", dict(zip(("tp", "fp", "tn", "fn"), cells.T, strict=True)))


def _metric(name: str, cells: Mapping[str, _Floats]) -> tuple[float, float, float]:
    """A metric as a share of hits among what counts; F1 is 2j / (1 + j) of such a share j."""
    hits = cells["tp"] + cells["tn"] if name == "accuracy" else cells["tp"]
    wrong = {"precision": ("fp",), "recall": ("fn",), "f1": ("fp", "fn"), "accuracy": ("fp", "fn")}[name]
    of = hits + sum(cells[other] for other in wrong)
    share = float(hits.sum() / of.sum()) if of.sum() else 0.0
    value, low, high = (2 * part / (1 + part) if name == "f1" else part for part in (share, *_limits(hits, of)))
    return value, low, high


def _limits(hits: _Floats, of: _Floats) -> tuple[float, float]:
    """Wilson's interval of a share; all that is possible where one group has all that counts."""
    rest = of.sum() - of
    if hits.size == 1 or not rest.all():
        return 0.0, 1.0
    share = float(hits.sum() / of.sum())
    left = hits.sum() - hits
    odds = np.log((left + 1) / (rest - left + 1))  # one hit and one miss more, so that there always is a logarithm
    whole = float((hits.sum() + 1) / (of.sum() + 2))
    spread = _jackknife(odds) * whole * (1 - whole)
    weight = _kish(of)
    told = 0 < share < 1 and _jackknife(left / rest) > _NOTHING and spread > _NOTHING
    samples = 1 / spread if told else max(weight, 1.0)
    return _wilson(share, samples, _t_quantile(max(weight - 1, 1.0)))


def _jackknife(without: _Floats) -> float:
    """Variance by leaving out one group after the other."""
    return float((without.size - 1) * without.var())


def _kish(sizes: _Floats) -> float:
    return float(sizes.sum() ** 2 / (sizes @ sizes))


def _wilson(share: float, samples: float, quantile: float) -> tuple[float, float]:
    """The two shares p with (share - p)^2 = quantile^2 p (1 - p) / samples."""
    a = quantile**2 / samples
    root = sqrt(a * a + 4 * a * share * (1 - share))
    low, high = ((2 * share + a + sign * root) / (2 + 2 * a) for sign in (-1, 1))
    return (0.0 if share == 0 else max(low, 0.0)), (1.0 if share == 1 else min(high, 1.0))


@cache
def _nodes() -> tuple[_Floats, _Floats]:
    """Gauss-Legendre on (0, 1)."""
    points, weights = np.polynomial.legendre.leggauss(128)
    return (points + 1) / 2, weights / 2


@lru_cache(maxsize=100_000)
def _t_quantile(df: float) -> float:
    """The upper quantile of Student's t: with t = sqrt(df) tan(a), the density in a is that of cos(a) ** (df - 1).

    Newton's steps from 0 come from below and never leave the side, for the density falls.
    """
    points, weights = _nodes()
    scale = exp(lgamma((df + 1) / 2) - lgamma(df / 2) - log(pi) / 2)
    angle = 0.0
    for _ in range(200):
        below = scale * angle * float(weights @ np.cos(points * angle) ** (df - 1))
        step = (_LEVEL / 2 - below) / (scale * np.cos(angle) ** (df - 1))
        angle += step
        if abs(step) < 1e-15:
            break
    return sqrt(df) * tan(angle)
