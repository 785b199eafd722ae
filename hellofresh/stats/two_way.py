"""Scores on one scale for systems that took part in different quarters.

A two-way fixed-effects model: score = system + quarter + residual. Quarters differ in difficulty, and a system
that entered late met other quarters than one that entered early; the quarters' effects are estimated from the systems
that took part in both. That works only if systems and quarters are connected (any two linked by a chain of systems
that share quarters), which is checked, and is fair only if quarters are equally harder for all systems,
which is tested if the scores' sampling variances are given, by comparing the residuals with them.

A system's adjusted score is its expected score in the mean of all quarters. Standard errors are clustered
by quarter (all scores of a quarter use the same samples), with the factor Q / (Q - 1) * (N - 1) / (N - K) and t
of Q - 1 degrees of freedom. The effect of a quarter absorbs the shared effect of its draw of samples on all systems, so
these errors are relative to the other systems. If the scores' sampling variances are given, limits are at least as
wide as those by sampling alone: in simulations with 6 systems and 4 to 16 quarters (`python benchmarks/coverage.py
--only quarters`) limits without that held the score that is expected over draws in 75% to 85% of cases, with it in 95%
to 97%. With few quarters the errors are rough at best; `few_quarters` says so. Sources: Cameron and Miller, Journal of
Human Resources 50 (2015), 317-372; Abowd, Kramarz and Margolis, Econometrica 67 (1999), 251-333 (connected sets).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hellofresh.stats.arrays import Floats, Ints
from hellofresh.stats.clusters import LEVEL
from hellofresh.stats.intervals import normal_quantile, t_quantile

FEW_QUARTERS = 8
"""Minimum quarters; with fewer, clustered standard errors are too small on average, and intervals rough."""


@dataclass(frozen=True, slots=True)
class TwoWay:
    """Systems and quarters on one scale.

    Attributes:
        system: shape (systems,), expected score in the mean of all quarters.
        system_error: shape (systems,), clustered by quarter; nan with fewer than two quarters or no freedom left.
        sampling_error: shape (systems,), of the draw of samples alone; nan without variances.
        quarter: shape (quarters,), by how much scores are higher than in the mean of all quarters.
        excess_p_value: of the hypothesis that quarters are equally harder for all systems: the chi-squared tail of the
            squared residuals over their sampling variances; nan without variances or freedom.
    """

    system: Floats
    system_error: Floats
    sampling_error: Floats
    quarter: Floats
    excess_p_value: float

    def limits_within(self, system: int, limits: tuple[float, float] = (0.0, 1.0)) -> tuple[float, float]:
        """Limits of a system's score within those of the metric, by the logit and the delta method.

        Not meaningful if the score itself is outside of them.
        """
        least, span = limits[0], limits[1] - limits[0]
        score = (float(self.system[system]) - least) / span
        if not 0 < score < 1:
            return limits
        clustered = t_quantile((1 + LEVEL) / 2, self.quarter.size - 1) * float(self.system_error[system])
        sampled = float(normal_quantile(np.array((1 + LEVEL) / 2))) * float(np.nan_to_num(self.sampling_error[system]))
        # few quarters may agree by chance: an interval is never shorter than one of samples alone
        half = max(clustered, sampled) / span / (score * (1 - score))
        centre = float(np.log(score / (1 - score)))
        # beyond 700 the exponential overflows
        low, high = (1 / (1 + np.exp(-np.clip(centre + side * half, -700, 700))) for side in (-1, 1))
        return least + span * float(low), least + span * float(high)

    @property
    def few_quarters(self) -> bool:
        """Whether there are too few quarters for reliable standard errors."""
        return self.quarter.size < FEW_QUARTERS


def connected_parts(systems: Ints, quarters: Ints) -> Ints:
    """The connected part of each system; systems of different parts cannot be compared.

    Args:
        systems, quarters: shape (scores,), numbers from 0 without gap.

    Returns:
        Shape (number of systems,), parts numbered from 0.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = int(systems.max()) + 1
    size = count + int(quarters.max()) + 1
    met = coo_array((np.ones(systems.size), (systems, count + quarters)), shape=(size, size))
    return np.unique(connected_components(met, directed=False)[1][:count], return_inverse=True)[1]


def two_way(scores: Floats, systems: Ints, quarters: Ints, *, variances: Floats | None = None) -> TwoWay:
    """Fit system and quarter effects by least squares.

    Args:
        scores: shape (scores,), one for each system and its quarters.
        systems, quarters: shape (scores,), numbers from 0 without gap.
        variances: shape (scores,), squared standard errors of the scores, for the test of additivity and the least
            width of limits; not used as weights, since large quarters would dominate.

    Raises:
        ValueError: if shapes differ, numbers have gaps, a score occurs twice, or the systems fall into parts that share
            no quarter.
    """
    _check(scores, systems, quarters, variances)
    design, to_system, to_quarter = _design(systems, quarters)
    inverse = np.asarray(np.linalg.inv(design.T @ design), dtype=np.float64)
    effects = inverse @ design.T @ scores
    residuals = scores - design @ effects
    covariance = to_system @ _clustered(design, residuals, quarters, inverse) @ to_system.T
    variance = np.diag(covariance)
    usable = quarters.max() > 0 and len(scores) > design.shape[1]
    error = np.sqrt(np.maximum(variance, 0)) if usable else np.full(variance.shape, np.nan)
    parts = to_system @ inverse @ design.T  # of each score in each system's effect
    sampled = np.full(error.shape, np.nan) if variances is None else np.sqrt(parts**2 @ variances)
    excess = _excess(residuals, design, variances)
    return TwoWay(to_system @ effects, error, sampled, to_quarter @ effects, excess)


def _check(scores: Floats, systems: Ints, quarters: Ints, variances: Floats | None) -> None:
    if scores.ndim != 1 or scores.size == 0 or not scores.shape == systems.shape == quarters.shape:
        raise ValueError("scores, systems and quarters must be vectors of one length, not empty")
    if variances is not None and (variances.shape != scores.shape or not (variances > 0).all()):
        raise ValueError("variances must be above 0, one for each score")
    for name, numbers in (("systems", systems), ("quarters", quarters)):
        if not np.array_equal(np.unique(numbers), np.arange(numbers.max() + 1)):
            raise ValueError(f"{name} must be numbered from 0 without gap")
    if len(np.unique(np.stack([systems, quarters]), axis=1).T) < len(scores):
        raise ValueError("each system must have at most one score per quarter")
    if connected_parts(systems, quarters).max() > 0:
        raise ValueError("the systems must be linked: some share no quarter with the others, not even by a chain")


def _design(systems: Ints, quarters: Ints) -> tuple[Floats, Floats, Floats]:
    """The design with quarters adding up to 0, and the maps from its parameters to systems and to quarters."""
    s, q = int(systems.max()) + 1, int(quarters.max()) + 1
    sum_to_zero = np.concatenate([np.eye(q - 1), -np.ones((1, q - 1))]) if q > 1 else np.zeros((1, 0))
    to_system = np.concatenate([np.eye(s), np.zeros((s, q - 1))], axis=1)
    to_quarter = np.concatenate([np.zeros((q, s)), sum_to_zero], axis=1)
    return to_system[systems] + to_quarter[quarters], to_system, to_quarter


def _clustered(design: Floats, residuals: Floats, clusters: Ints, inverse: Floats) -> Floats:
    """Covariance of the parameters, robust to any dependence within clusters."""
    n, k = design.shape
    names = np.unique(clusters)
    sums = np.stack([design[clusters == name].T @ residuals[clusters == name] for name in names])
    freedom = len(names) / max(len(names) - 1, 1) * (n - 1) / max(n - k, 1)  # Stata's correction for few clusters (CR1)
    found: Floats = freedom * inverse @ (sums.T @ sums) @ inverse
    return found


def _excess(residuals: Floats, design: Floats, variances: Floats | None) -> float:
    """The p-value of the hypothesis that residuals are sampling error alone."""
    from scipy.special import chdtrc

    freedom = len(residuals) - design.shape[1]
    if variances is None or freedom < 1:
        return float("nan")
    root = 1 / np.sqrt(variances)
    weighted, target = design * root[:, None], residuals * root
    rest = target - weighted @ np.linalg.lstsq(weighted, target, rcond=None)[0]
    return float(chdtrc(freedom, rest @ rest))
