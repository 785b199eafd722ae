"""Scores of systems over quarters that not all of them took part in, brought onto one scale.

A two-way fixed-effects model: score = system + quarter + the rest. Quarters differ in how hard they are, and a system
that entered late met other quarters than one that entered early; the quarters' effects are taken out with the systems
that were there in both. That works only if systems and quarters hang together (any two linked by a chain of systems
that share quarters), which is checked, and is fair only if quarters are as much harder for one system as for another,
which is tested: by Tukey's one degree of freedom, and, where the scores' sampling variances are given, by what the
rest should be if it were sampling alone.

A system's adjusted score is what the model expects of it in the mean of all quarters. Standard errors are clustered
by quarter (all scores of a quarter rest on the same samples), with the factor Q / (Q - 1) * (N - 1) / (N - K) and t
of Q - 1 degrees of freedom. With few quarters they are rough at best; `few_quarters` says so. Sources: Cameron and
Miller, Journal of Human Resources 50 (2015), 317-372; Tukey, Biometrics 5 (1949), 232-242; Abowd, Kramarz and
Margolis, Econometrica 67 (1999), 251-333 (connected sets).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats._tails import t_quantile

FEW_QUARTERS = 8
"""Below so many quarters the clustered standard errors are too small on average, and their intervals rough."""


@dataclass(frozen=True, slots=True)
class Additivity:
    """Whether quarters are as much harder for one system as for another.

    Attributes:
        statistic, p_value: Tukey's test, F with 1 and `df` degrees of freedom; nan where nothing is left to test with.
        df: of its denominator.
        excess, excess_p_value: the rest's squares over their sampling variances, and its tail of chi-squared with
            `excess_df` degrees of freedom; nan without variances. A small p-value: more than sampling is in the rest.
        excess_df: scores less parameters.
    """

    statistic: float
    p_value: float
    df: int
    excess: float
    excess_p_value: float
    excess_df: int


@dataclass(frozen=True, slots=True)
class TwoWay:
    """Systems and quarters on one scale.

    Attributes:
        system: shape (systems,), expected score in the mean of all quarters.
        system_error: shape (systems,), clustered by quarter; nan with fewer than two quarters or no freedom left.
        low, high: shape (systems,), limits by t.
        quarter: shape (quarters,), by how much scores are higher than in the mean of all quarters.
        covariance: shape (systems, systems), of `system`; for differences between systems.
        residuals: shape (scores,), in the order given.
        additivity: the assumption's test.
        level: nominal coverage of the limits.
    """

    system: NDArray[np.float64]
    system_error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    quarter: NDArray[np.float64]
    covariance: NDArray[np.float64]
    residuals: NDArray[np.float64]
    additivity: Additivity
    level: float

    def limits_within(self, system: int, limits: tuple[float, float] = (0.0, 1.0)) -> tuple[float, float]:
        """Limits of a system's score that stay between those of the metric: by the logit and the delta method.

        Without meaning where the score itself is not between them.
        """
        least, span = limits[0], limits[1] - limits[0]
        score, error = (float(self.system[system]) - least) / span, float(self.system_error[system]) / span
        if not 0 < score < 1:
            return limits
        half = t_quantile((1 + self.level) / 2, self.quarter.size - 1) * error / (score * (1 - score))
        centre = float(np.log(score / (1 - score)))
        low, high = (1 / (1 + np.exp(-np.clip(centre + side * half, -700, 700))) for side in (-1, 1))
        return least + span * float(low), least + span * float(high)

    @property
    def few_quarters(self) -> bool:
        """Whether the standard errors are to be read with care."""
        return self.quarter.size < FEW_QUARTERS


def connected_parts(systems: NDArray[np.int64], quarters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which part each system belongs to; systems of different parts cannot be compared.

    Args:
        systems, quarters: shape (scores,), numbers from 0 without gap.

    Returns:
        Shape (number of systems,), parts numbered from 0.
    """
    met = np.zeros((systems.max() + 1, quarters.max() + 1), dtype=np.int64)
    met[systems, quarters] = 1
    part = np.full(len(met), -1)
    for system in range(len(met)):
        if part[system] < 0:
            reached = np.zeros(len(met), dtype=np.bool_)
            reached[system] = True
            while True:
                wider = met[:, (met[reached].sum(axis=0) > 0)].sum(axis=1) > 0
                if (wider == reached).all():
                    break
                reached = wider
            part[reached] = part.max() + 1
    return part


def two_way(
    scores: NDArray[np.float64],
    systems: NDArray[np.int64],
    quarters: NDArray[np.int64],
    *,
    variances: NDArray[np.float64] | None = None,
    level: float = 0.95,
) -> TwoWay:
    """Fit system and quarter effects by least squares.

    Args:
        scores: shape (scores,), one for each system and quarter it took part in.
        systems, quarters: shape (scores,), numbers from 0 without gap.
        variances: shape (scores,), squared standard errors of the scores, for the test of additivity only: weights
            would let large quarters decide.
        level: nominal coverage.

    Raises:
        ValueError: if shapes differ, numbers have gaps, a score occurs twice, or the systems fall into parts that share
            no quarter.
    """
    _check(scores, systems, quarters, variances)
    design, to_system, to_quarter = _design(systems, quarters)
    inverse = np.asarray(np.linalg.inv(design.T @ design), dtype=np.float64)
    effects = inverse @ design.T @ scores
    residuals = scores - design @ effects
    system, quarter = to_system @ effects, to_quarter @ effects
    covariance = to_system @ _clustered(design, residuals, quarters, inverse) @ to_system.T
    count, q = design.shape[1], int(quarters.max()) + 1
    variance = np.diag(covariance)
    usable = q > 1 and len(scores) > count
    error = np.sqrt(np.maximum(variance, 0)) if usable else np.full(variance.shape, np.nan)
    half = (t_quantile((1 + level) / 2, q - 1) if q > 1 else np.nan) * error
    product = (system - system.mean())[systems] * quarter[quarters]
    tested = _additivity(residuals, design, product, variances)
    return TwoWay(system, error, system - half, system + half, quarter, covariance, residuals, tested, level)


def _check(
    scores: NDArray[np.float64],
    systems: NDArray[np.int64],
    quarters: NDArray[np.int64],
    variances: NDArray[np.float64] | None,
) -> None:
    if scores.ndim != 1 or scores.size == 0 or not scores.shape == systems.shape == quarters.shape:
        raise ValueError("scores, systems and quarters must be vectors of one length, not empty")
    if variances is not None and (variances.shape != scores.shape or not (variances > 0).all()):
        raise ValueError("variances must be above 0, one for each score")
    for name, numbers in (("systems", systems), ("quarters", quarters)):
        if not np.array_equal(np.unique(numbers), np.arange(numbers.max() + 1)):
            raise ValueError(f"{name} must be numbered from 0 without gap")
    if len(np.unique(np.stack([systems, quarters]), axis=1).T) < len(scores):
        raise ValueError("each system must have one score a quarter at most")
    if connected_parts(systems, quarters).max() > 0:
        raise ValueError("the systems must hang together: some share no quarter with the others, nor by a chain")


def _design(
    systems: NDArray[np.int64], quarters: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The design with quarters adding up to 0, and what leads from its parameters to systems and to quarters."""
    s, q = int(systems.max()) + 1, int(quarters.max()) + 1
    sum_to_zero = np.concatenate([np.eye(q - 1), -np.ones((1, q - 1))]) if q > 1 else np.zeros((1, 0))
    to_system = np.concatenate([np.eye(s), np.zeros((s, q - 1))], axis=1)
    to_quarter = np.concatenate([np.zeros((q, s)), sum_to_zero], axis=1)
    return to_system[systems] + to_quarter[quarters], to_system, to_quarter


def _clustered(
    design: NDArray[np.float64],
    residuals: NDArray[np.float64],
    clusters: NDArray[np.int64],
    inverse: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Covariance of the parameters, robust to any dependence within clusters."""
    n, k = design.shape
    names = np.unique(clusters)
    sums = np.stack([design[clusters == name].T @ residuals[clusters == name] for name in names])
    freedom = len(names) / max(len(names) - 1, 1) * (n - 1) / max(n - k, 1)
    found: NDArray[np.float64] = freedom * inverse @ (sums.T @ sums) @ inverse
    return found


def _additivity(
    residuals: NDArray[np.float64],
    design: NDArray[np.float64],
    product: NDArray[np.float64],
    variances: NDArray[np.float64] | None,
) -> Additivity:
    """Tukey's test by the product of the two effects, and the excess over sampling."""
    from scipy.special import chdtrc, fdtrc

    freedom = len(residuals) - design.shape[1]
    product = product - design @ np.linalg.lstsq(design, product, rcond=None)[0]
    length, left = float(product @ product), float(residuals @ residuals)
    statistic = p_value = np.nan
    if freedom > 1 and length > 1e-18 and left > 1e-24:
        explained = float(product @ residuals) ** 2 / length
        statistic = explained / (max(left - explained, 1e-300) / (freedom - 1))
        p_value = float(fdtrc(1, freedom - 1, statistic))
    excess = excess_p = np.nan
    if variances is not None and freedom > 0:
        root = 1 / np.sqrt(variances)
        weighted, target = design * root[:, None], residuals * root
        rest = target - weighted @ np.linalg.lstsq(weighted, target, rcond=None)[0]
        excess = float(rest @ rest)
        excess_p = float(chdtrc(freedom, excess))
    return Additivity(statistic, p_value, max(freedom - 1, 0), excess, excess_p, max(freedom, 0))
