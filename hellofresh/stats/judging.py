"""Whether a judge can replace people: how often it agrees with their preferences, and its biases.

All comparisons are within groups (posts), so that a hard post cannot look like a bias. Intervals are those of
`hellofresh.stats.multiway`, with groups as clusters. Prediction-powered estimates use a judge's scores on all samples
and people's on a part, with intervals that account for both.
Sources: Zheng and others, Judging LLM-as-a-judge (2023), for the biases; Angelopoulos, Duchi and Zrnic, PPI++ (2023),
for the estimates and their tuning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hellofresh.stats.arrays import Bools, Floats, Ints
from hellofresh.stats.draws import spearman
from hellofresh.stats.intervals import jackknife_variance, t_limits
from hellofresh.stats.multiway import ClusteredMean, clustered_mean


@dataclass(frozen=True, slots=True)
class PoweredMean:
    """A mean by people on a part and a judge on the rest.

    Attributes:
        value, low, high: the estimate and its limits.
        standard_error: of the estimate.
        classical_error: standard error of people's mean alone, which the judge should reduce.
        tuning: weight of the judge, from 0 to 1.
        labelled, predicted: number of samples with people's scores, and with the judge's alone.
    """

    value: float
    low: float
    high: float
    standard_error: float
    classical_error: float
    tuning: float
    labelled: int
    predicted: int


@dataclass(frozen=True, slots=True)
class OrderedPairs:
    """Pairs of responses to one post with different ratings by people.

    Attributes:
        better, worse: shape (pairs,), indices of the two.
        groups: shape (pairs,), equal for pairs of one post.
    """

    better: Ints
    worse: Ints
    groups: Ints

    @classmethod
    def of(cls, people: Floats, groups: Ints) -> OrderedPairs:
        """The pairs by people's scores of each response, shape (n,), and equal numbers for responses to one post."""
        found: list[Ints] = [np.zeros((3, 0), dtype=np.int64)]
        for group in np.unique(groups).tolist():
            rows = np.flatnonzero(groups == group)
            one, two = (rows[index] for index in np.triu_indices(rows.size, 1))
            wanted = np.sign(people[one] - people[two])
            pairs = np.where(wanted > 0, one, two), np.where(wanted > 0, two, one), np.full(one.size, group)
            found.append(np.stack(pairs)[:, wanted != 0])
        return cls(*np.concatenate(found, axis=1))

    def right(self, scores: Floats) -> Floats:
        """For each pair, 1 if the scores, shape (n,), order it as people do, 1/2 if they are equal, else 0."""
        return (np.sign(scores[self.better] - scores[self.worse]) + 1) / 2

    def mean(self, values: Floats, among: Bools | None = None, *, least: float = 0.0) -> ClusteredMean | None:
        """The mean over the pairs in `among` of values between `least` and 1, clustered by post; None without pairs."""
        chosen = np.ones(values.size, dtype=np.bool_) if among is None else among
        return clustered_mean(values[chosen], self.groups[chosen], limits=(least, 1.0)) if chosen.any() else None


def rank_correlation(judge: Floats, people: Floats, groups: Ints) -> tuple[float, float, float]:
    """Spearman's coefficient over all responses, with limits by leaving out one group at a time.

    The limits are the whole scale for a single group, or if the judge or people give constant scores.
    """
    value = float(spearman(judge, people))
    names = np.unique(groups)
    if names.size < 2 or np.ptp(judge) == 0 or np.ptp(people) == 0:
        return value, -1.0, 1.0
    without = np.array([spearman(judge[groups != name], people[groups != name]) for name in names.tolist()])
    error = float(np.sqrt(jackknife_variance(without)))
    return value, *t_limits(value, error, names.size - 1, (-1.0, 1.0))


def position_bias(first: Ints, second: Ints, groups: Ints) -> ClusteredMean | None:
    """A judge's preference for the response shown first, from -0.5 to 0.5; 0 without bias.

    Args:
        first: shape (pairs,), the choice of each pair: 1 the one shown first, 2 the other, 0 neither.
        second: the same in the reverse order.
        groups: shape (pairs,), equal for pairs of one post.

    Returns:
        None if nothing was chosen.
    """
    both, owners = np.concatenate([first, second]), np.concatenate([groups, groups])
    chosen = both > 0
    return clustered_mean((both[chosen] == 1) - 0.5, owners[chosen], limits=(-0.5, 0.5)) if chosen.any() else None


def length_bias(judge: Floats, people: Floats, words: Floats, groups: Ints) -> ClusteredMean | None:
    """A judge's extra points for a response of twice the length to the same post with the same score by people.

    The slope of the judge's score on the binary logarithm of the words, with people's score held fixed, all taken as
    deviations from the mean of their post. The error is the sandwich by post.

    Returns:
        None if length does not vary independently of people's scores.
    """
    scores, held = _within(judge, groups), _within(people, groups)
    length = _without(_within(np.log2(np.maximum(words, 1)), groups), held)
    square = float(length @ length)
    if square < 1e-9:
        return None
    slope = float(length @ scores) / square
    rest = _without(scores - slope * length, held)
    # The slope as a mean of contributions: their mean is the slope, their sandwich is that of the regression.
    return clustered_mean(slope + length * rest * length.size / square, groups)


def _without(values: Floats, held: Floats) -> Floats:
    """The residuals of a regression on one variable."""
    square = float(held @ held)
    return values if square == 0 else values - held * (float(held @ values) / square)


def self_preference(judge: Floats, people: Floats, own: Bools, groups: Ints) -> ClusteredMean | None:
    """A judge's extra points, relative to people, for its own response over others to the same post.

    Returns:
        None if no post has both.
    """
    differences, names = [], []
    for group in np.unique(groups).tolist():
        rows = groups == group
        if (rows & own).any() and (rows & ~own).any():
            excess = judge - people
            differences.append(float(excess[rows & own].mean() - excess[rows & ~own].mean()))
            names.append(group)
    return clustered_mean(np.array(differences), np.array(names)) if differences else None


def _within(values: Floats, groups: Ints) -> Floats:
    _, member = np.unique(groups, return_inverse=True)
    means = np.bincount(member, values) / np.bincount(member)
    return values - means[member]


def powered_mean(
    people: Floats, judged: Floats, rest: Floats, *, limits: tuple[float, float] | None = None
) -> PoweredMean:
    """The mean score, from people on a part and a judge on all samples.

    Args:
        people: shape (n,), people's scores of the part; independent of each other.
        judged: shape (n,), the judge's scores of the same part.
        rest: shape (m,), the judge's scores of all others.
        limits: the lowest and the highest possible score; None without limits.

    Raises:
        ValueError: if people scored fewer than two, or shapes differ.
    """
    n, m = people.size, rest.size
    if n < 2 or judged.shape != people.shape:
        raise ValueError("people must have scored at least two, and the judge the same ones")
    classical = float(np.sqrt(people.var(ddof=1) / n))
    spread = float(np.concatenate([judged, rest]).var(ddof=1))
    tuning = 0.0
    if m > 1 and spread > 0:
        tuning = float(np.clip(np.cov(people, judged)[0, 1] / ((1 + n / m) * spread), 0, 1))
    corrected = people - tuning * judged
    value = float(corrected.mean()) + (tuning * float(rest.mean()) if m else 0.0)
    variance = float(corrected.var(ddof=1)) / n + (tuning**2 * float(rest.var(ddof=1)) / m if m > 1 else 0.0)
    error = float(np.sqrt(variance))
    return PoweredMean(value, *t_limits(value, error, n - 1, limits), error, classical, tuning, n, m)
