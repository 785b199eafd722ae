"""Coverage of intervals and error rates of tests with a known truth.

    python benchmarks/coverage.py [--repeats 4000] [--resamples 1000] [--seed 1] [--json]
                                  [--only intervals|classes|means|gaps|tests|ranks|calibration|quarters|correlation]
                                  [--world NAME]

Samples are simulated in clusters. A cluster has its own share of label 1 and its own difficulty, both normal on the
probit scale; given these, samples are independent. The truth is the metric of the population of
clusters, in closed form: the mean of a probit with a normal effect is a probit, and if difficulty depends on size, the
sum over sizes weighted by samples. Sizes of clusters are 1, 5, 1 + Poisson(2), geometric with mean 3, or heavy-tailed
(Zipf with exponent 2, at most 40). Then, in the same worlds:

- coverage of the nominal 95% interval of each method, for F1 and, for the default method, for all metrics;
- the same for macro F1 (and other means over classes) of 2, 3 and 6 classes with skew: a cluster's shares of the
  classes are Dirichlet, so that the truth is in closed form, too;
- coverage of the difference's interval for two exchangeable systems, and for two with one F1 reached in
  different ways; 1 minus it is the error of the test, which uses the same t;
- family-wise error of 10, 20 and 30 equal systems (any pair found apart), coverage of rank intervals (among equals a
  rank interval is right if it contains all ranks; among others, the true rank), of the intervals of all pairs
  together, and, compared with Bonferroni, the pairs found to differ and the mean width of rank intervals;
- coverage of the intervals of means of numbers and of their differences, as `hellofresh compare` has them; of
  the means also where cells are missing (`gaps`), beside plain t;
- in ten worlds of stated probabilities, the rejection rate of the test of calibration (5% if they are true), the
  bias of ECE and its debiased form, and coverage of the intervals of the metrics of forecasts, the Brier score and AUC;
- coverage of the interval of a rank correlation, and of its paired difference for two systems;
- coverage of the limits of Brier indices over 4, 8 and 16 quarters, of which systems miss one or none.

Beside a share stands in how many of the repeats the product marks the interval as one not to be relied on (`few`, `~`).
A world that is marked in nine of ten repeats may be outside of its bounds. A share of 0.95 in 4,000 repeats has a
standard error of 0.0034, in 10,000 of 0.0022.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist
from typing import NamedTuple
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from hellofresh.results import comparison
from hellofresh.results.comparison import FEW_APART, SKEWED_PAIR
from hellofresh.results.score_files import ItemScores
from hellofresh.stats.arrays import Bools
from hellofresh.stats.calibration import calibrate
from hellofresh.stats.clusters import (
    LEVEL,
    cluster_tables,
    cluster_weights,
    effective_clusters,
    from_share,
    percentile_limits,
    shares,
)
from hellofresh.stats.draws import bca_limits
from hellofresh.stats.intervals import (
    cluster_wilson_limits,
    clusters_worth,
    few_clusters,
    jackknife_variance,
    metric_interval,
    t_quantile,
    times_too_few,
    unbounded_limits,
    wilson_limits,
)
from hellofresh.stats.metrics import (
    LEAST_CHANCE,
    Metric,
    balanced_accuracy,
    forecast_metrics,
    macro_f1,
    matthews,
    mean,
    rank_correlation,
    relative_brier_index,
    two_class_metrics,
    weighted_f1,
)
from hellofresh.stats.paired import difference_interval
from hellofresh.stats.ranking import all_differences, rank_systems
from hellofresh.stats.two_way import two_way

Array = NDArray[np.float64]
ERF = np.vectorize(NormalDist().cdf, otypes=[np.float64])
QUANTILE = NormalDist().inv_cdf
MOST = 40
NAIVE = "f1: Wilson, as if independent"
COVERS = (0.935, 0.975)
MARKED = 0.9
"""In how many of the repeats a world outside of its bounds must be marked."""
METRICS = two_class_metrics()
F1 = METRICS[0]


@dataclass(frozen=True, slots=True)
class World:
    """A population of clusters, and a system in it.

    Attributes:
        name: for the table.
        clusters: number drawn.
        sizes: `one`, `five`, `poisson`, `geometric` or `zipf`.
        hit, alarm: probabilities of saying yes where the label is 1 and 0.
        label_effect, skill_effect: standard deviations of the clusters' effects, in probits.
        harder: decrease of accuracy, in probits, in clusters of ten samples or more.
    """

    name: str
    clusters: int
    sizes: str
    hit: float
    alarm: float
    label_effect: float = 0.0
    skill_effect: float = 0.0
    harder: float = 0.0


WORLDS = (
    World("independent, n 60, F1 0.67", 60, "one", 0.70, 0.40),
    World("independent, n 60, F1 0.95", 60, "one", 0.95, 0.05),
    World("independent, n 120, F1 0.90", 120, "one", 0.90, 0.10),
    World("independent, n 200, F1 0.20", 200, "one", 0.12, 0.08),
    World("independent, n 200, F1 0.95", 200, "one", 0.95, 0.05),
    World("independent, n 3,000, F1 0.67", 3000, "one", 0.70, 0.40),
    World("12 clusters of 5, n 60, F1 0.67", 12, "five", 0.70, 0.40, 0.7, 0.7),
    World("20 clusters, n 60, F1 0.67", 20, "poisson", 0.70, 0.40, 0.7, 0.7),
    World("30 clusters, n 90, F1 0.95", 30, "poisson", 0.95, 0.05, 0.7, 0.7),
    World("40 clusters, n 120, F1 0.85", 40, "poisson", 0.85, 0.15, 0.7, 0.7),
    World("60 unequal clusters, n 180, F1 0.20", 60, "geometric", 0.12, 0.08, 0.7, 0.7),
    World("60 unequal clusters, n 180, F1 0.95", 60, "geometric", 0.95, 0.05, 0.7, 0.7),
    World("100 clusters of 5, n 500, F1 0.20", 100, "five", 0.12, 0.08, 1.0, 1.0),
    World("300 unequal clusters, n 900, larger ones harder", 300, "geometric", 0.80, 0.30, 0.7, 0.7, 0.5),
    World("600 clusters of 5, n 3,000, F1 0.80", 600, "five", 0.80, 0.20, 1.0, 1.0),
    World("1,000 unequal clusters, n 3,000, F1 0.63", 1000, "geometric", 0.60, 0.30, 0.7, 0.7),
    World("1,000 unequal clusters, n 3,000, F1 0.95", 1000, "geometric", 0.95, 0.05, 0.7, 0.7),
    World("60 heavy-tailed clusters, n 190, F1 0.67", 60, "zipf", 0.70, 0.40, 1.0, 1.0),
    World("200 heavy-tailed clusters, n 640, F1 0.20", 200, "zipf", 0.12, 0.08, 1.0, 1.0),
    World("200 heavy-tailed clusters, n 640, F1 0.95", 200, "zipf", 0.95, 0.05, 1.0, 1.0),
)


class Share(NamedTuple):
    """One line of the results: a share of repeats, its expected limits, and how often the product marks it."""

    world: str
    what: str
    share: float
    low: float
    high: float
    effective_clusters: float = 0.0
    marked: float | None = None

    @property
    def is_right(self) -> bool:
        """Whether it is within its limits, or marked."""
        return self.low <= self.share <= self.high or (self.marked or 0.0) >= MARKED


def phi(values: Array) -> Array:
    """The normal distribution function, by interpolation on a fine grid (to 1e-7)."""
    return np.interp(values, _GRID, _PHI)


_GRID = np.linspace(-8, 8, 16_001)
_PHI = ERF(_GRID)


def sizes(world: World | ClassWorld | CorrelationWorld, repeats: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Sizes of clusters, shape (repeats, clusters)."""
    shape = (repeats, world.clusters)
    match world.sizes:
        case "one":
            return np.ones(shape, dtype=np.int64)
        case "five":
            return np.full(shape, 5)
        case "poisson":
            return 1 + random.poisson(2, shape)
        case "geometric":
            return np.minimum(random.geometric(1 / 3, shape), MOST)
    return np.minimum(random.zipf(2.0, shape), MOST)


def simulate(world: World, repeats: int, random: np.random.Generator, systems: int = 1) -> Array:
    """Sums by cluster, shape (systems, repeats, clusters, 6); systems share labels and difficulty."""
    size = sizes(world, repeats, random)
    label, skill = random.standard_normal((2, *size.shape))
    positive = random.binomial(size, phi(world.label_effect * label))
    shift = world.skill_effect * skill - world.harder * (size >= 10)
    wide = np.sqrt(1 + world.skill_effect**2)
    hit, calm = (phi(QUANTILE(share) * wide + shift) for share in (world.hit, 1 - world.alarm))
    tables = np.empty((systems, *size.shape, 6))
    for table in tables:
        tp, tn = random.binomial(positive, hit), random.binomial(size - positive, calm)
        table[...] = sums(tp, size - positive - tn, tn, positive - tp)
    return tables


def sums(tp: NDArray[np.int64], fp: NDArray[np.int64], tn: NDArray[np.int64], fn: NDArray[np.int64]) -> Array:
    """True positives, false positives and false negatives of label 0, then those of label 1."""
    return np.stack([tn, fn, fp, tp, fp, fn], axis=-1).astype(np.float64)


def truth(world: World, metric: Metric) -> float:
    """The metric of the population."""
    wide = np.sqrt(1 + world.skill_effect**2)
    share = large_share(world) if world.harder else 0.0
    worse = [
        (1 - share) * rate + share * NormalDist().cdf(QUANTILE(rate) - world.harder / wide)
        for rate in (world.hit, 1 - world.alarm)
    ]
    cells = sums(*(np.array(share / 2) for share in (worse[0], 1 - worse[1], worse[1], 1 - worse[0])))
    return float(metric.value(cells))


def large_share(world: World) -> float:
    """The share of samples in clusters of ten or more, for geometric sizes only."""
    assert world.sizes == "geometric"
    values = np.arange(1, MOST + 1)
    chance = (2 / 3) ** (values - 1) / 3
    chance[-1] += 1 - chance.sum()
    return float((chance * values)[values >= 10].sum() / (chance * values).sum())


def pieces(repeats: int, world: World | ClassWorld, budget: int = 2_000_000) -> Iterator[int]:
    """Split repeats into pieces that fit in memory."""
    step = max(1, min(repeats, budget // (world.clusters * 4)))
    for start in range(0, repeats, step):
        yield min(step, repeats - start)


def coverage(world: World, repeats: int, resamples: int, random: np.random.Generator) -> list[Share]:
    """Coverage of every method for F1, and of the default method for all metrics."""
    held: dict[str, int] = {}
    few: dict[str, int] = {}
    effective = 0.0

    def note(what: str, metric: Metric, low: Array, high: Array) -> None:
        value = truth(world, metric)
        inside = (low <= value + 1e-12) & (value - 1e-12 <= high)
        held[what] = held.get(what, 0) + int(inside.sum())

    for number in pieces(repeats, world):
        tables = simulate(world, number, random)[0]
        effective += float(effective_clusters(F1.statistics.size(tables)).sum())
        for metric in METRICS:
            name = f"{metric.name}: cluster Wilson"
            note(name, metric, *cluster_wilson_limits(tables, metric))
            few[name] = few.get(name, 0) + sum(marked(table, metric) for table in tables)
        note("f1: logit jackknife", F1, *jackknifed(tables, F1))
        note(NAIVE, F1, *naive(tables))
        for name, (low, high) in bootstrap(tables, resamples, random).items():
            note(f"f1: {name}", F1, low, high)
    mean = effective / repeats
    return [
        Share(
            world.name, what, count / repeats, *(COVERS if what in few else (0.0, 1.0)), mean,
            few[what] / repeats if what in few else None,
        )
        for what, count in held.items()
    ]  # fmt: skip


def marked(table: Array, metric: Metric) -> bool:
    """Whether the product marks the interval."""
    return few_clusters(len(table), clusters_worth(table, metric))


def jackknifed(tables: Array, metric: Metric) -> tuple[Array, Array]:
    """The jackknife on the logit, or the default where it is undefined."""
    low, high = logit_jackknife_limits(tables, metric)
    fallback, undefined = cluster_wilson_limits(tables, metric), np.isnan(low)
    return np.where(undefined, fallback[0], low), np.where(undefined, fallback[1], high)


def logit_jackknife_limits(tables: Array, metric: Metric) -> tuple[Array, Array]:
    """The delete-one-cluster jackknife of the logit with t of clusters - 1 degrees of freedom.

    Args:
        tables: shape (..., g, k), sums of two clusters or more.
        metric: which metric.

    Returns:
        Low and high, each of shape (...); NaN if the metric is at a limit with or without some cluster.
    """
    total = tables.sum(axis=-2)
    sums = (total, total[..., None, :] - tables)
    value, without = ((metric.value(part) - metric.limits[0]) / metric.span for part in sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre, apart = logit(value), logit(without)
        half = t_quantile((1 + LEVEL) / 2, tables.shape[-2] - 1) * np.sqrt(jackknife_variance(apart))
        low, high = 1 / (1 + np.exp(half - centre)), 1 / (1 + np.exp(-half - centre))
    undefined = ~np.isfinite(half) | ~np.isfinite(centre)
    low, high = (metric.limits[0] + metric.span * limit for limit in (low, high))
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def logit(share: Array) -> Array:
    """Logit of a share between 0 and 1."""
    found: Array = np.log(share) - np.log1p(-share)
    return found


@dataclass(frozen=True, slots=True)
class ClassWorld:
    """A population of clusters with several classes, and a system in it.

    Attributes:
        name: for the table.
        clusters, sizes: as of `World`.
        shares: of the classes.
        rights: accuracy on samples of each class; wrong answers are the other classes
            by their shares.
        alike: concentration of the clusters' shares of the classes: the smaller, the more alike samples of a cluster.
        skill_effect: standard deviation of the clusters' difficulty, in probits.
    """

    name: str
    clusters: int
    sizes: str
    shares: tuple[float, ...]
    rights: tuple[float, ...]
    alike: float = 2.0
    skill_effect: float = 0.7


_SIX = (0.40, 0.25, 0.15, 0.10, 0.05, 0.05)
_RIGHT_SIX = (0.80, 0.70, 0.60, 0.60, 0.50, 0.40)
CLASS_WORLDS = (
    ClassWorld("2 classes 50:50, 40 clusters, n 120", 40, "poisson", (0.5, 0.5), (0.7, 0.6)),
    ClassWorld("2 classes 80:20, 60 unequal clusters, n 180", 60, "geometric", (0.8, 0.2), (0.85, 0.6)),
    ClassWorld("2 classes 95:5, 300 clusters of 5, n 1,500", 300, "five", (0.95, 0.05), (0.95, 0.5)),
    ClassWorld("3 classes, equal, 40 clusters, n 120", 40, "poisson", (1 / 3,) * 3, (0.7, 0.6, 0.5)),
    ClassWorld("3 classes 70:20:10, 60 unequal clusters, n 180", 60, "geometric", (0.7, 0.2, 0.1), (0.8, 0.6, 0.5)),
    ClassWorld("3 classes 70:20:10, 20 clusters of 5, n 100", 20, "five", (0.7, 0.2, 0.1), (0.8, 0.6, 0.5)),
    ClassWorld("3 classes 50:45:5, 100 clusters of 5, n 500", 100, "five", (0.5, 0.45, 0.05), (0.8, 0.8, 0.4)),
    ClassWorld("3 classes 80:15:5, 200 unequal clusters, n 600", 200, "geometric", (0.8, 0.15, 0.05), (0.9, 0.6, 0.4)),
    ClassWorld("6 classes, equal, 60 clusters of 5, n 300", 60, "five", (1 / 6,) * 6, _RIGHT_SIX),
    ClassWorld("6 classes 40:...:5, 100 unequal clusters, n 300", 100, "geometric", _SIX, _RIGHT_SIX),
    ClassWorld("6 classes 40:...:5, 600 clusters of 5, n 3,000", 600, "five", _SIX, _RIGHT_SIX),
    ClassWorld("6 classes 40:...:5, 1,000 independent samples", 1000, "one", _SIX, _RIGHT_SIX, 1e6, 0.0),
)


def wrong_shares(world: ClassWorld) -> Array:
    """The distribution of wrong answers, shape (classes, classes), rows by label."""
    shares = np.tile(np.array(world.shares), (len(world.shares), 1))
    np.fill_diagonal(shares, 0.0)
    return shares / shares.sum(axis=1, keepdims=True)


def class_truth(world: ClassWorld, metric: Metric) -> float:
    """The metric of the population."""
    shares, rights = np.array(world.shares), np.array(world.rights)
    cells = (shares * (1 - rights))[:, None] * wrong_shares(world)
    return float(metric.value(by_class(shares * rights, cells)))


def by_class(true: Array, wrong: Array) -> Array:
    """Sums of `hellofresh.stats.metrics.ClassCounts` from what was right, shape (..., c), and wrong, shape (..., c,
    c)."""
    unit = true.shape[-1] - 1
    cells = np.stack([true, unit * wrong.sum(axis=-2), wrong.sum(axis=-1)], axis=-1)
    return cells.reshape(*true.shape[:-1], -1)


def simulate_classes(world: ClassWorld, repeats: int, random: np.random.Generator) -> Array:
    """Sums by cluster, shape (repeats, clusters, 3 classes)."""
    size = sizes(world, repeats, random)
    mix = random.dirichlet(world.alike * np.array(world.shares), size.shape)
    labels = random.multinomial(size, mix)
    wide, skill = np.sqrt(1 + world.skill_effect**2), random.standard_normal(size.shape)
    hit = np.stack([phi(QUANTILE(share) * wide + world.skill_effect * skill) for share in world.rights], axis=-1)
    true = random.binomial(labels, hit)
    wrong = random.multinomial(labels - true, wrong_shares(world))
    return by_class(true.astype(np.float64), wrong.astype(np.float64))


def class_coverage(world: ClassWorld, repeats: int, _: int, random: np.random.Generator) -> list[Share]:
    """Coverage for means over classes."""
    c = len(world.shares)
    metrics = (macro_f1(c), balanced_accuracy(c), weighted_f1(c), matthews(c))
    held: dict[str, int] = {}
    few: dict[str, int] = {}
    effective = 0.0
    for number in pieces(repeats, world, 6_000_000 // c):
        tables = simulate_classes(world, number, random)
        effective += float(effective_clusters(metrics[0].statistics.size(tables)).sum())
        found = {
            f"{metric.name}: cluster Wilson": (metric, cluster_wilson_limits(tables, metric)) for metric in metrics
        }
        found["macro_f1: logit jackknife"] = metrics[0], jackknifed(tables, metrics[0])
        for what, (metric, (low, high)) in found.items():
            value = class_truth(world, metric)
            held[what] = held.get(what, 0) + int(((low <= value + 1e-12) & (value - 1e-12 <= high)).sum())
            few[what] = few.get(what, 0) + sum(marked(table, metric) for table in tables)
    return [
        Share(world.name, what, count / repeats, *(COVERS if "Wilson" in what else (0.0, 1.0)), effective / repeats,
              few[what] / repeats)
        for what, count in held.items()
    ]  # fmt: skip


Draw = Callable[[np.random.Generator, tuple[int, int]], Array]


@dataclass(frozen=True, slots=True)
class MeanWorld:
    """Independent numbers.

    Attributes:
        name: for the table.
        items: number drawn.
        draw: a generator and a shape to numbers.
        mean: the truth; drawn if left out.
        limits: the scale; None if there is none.
    """

    name: str
    items: int
    draw: Draw
    mean: float | None = None
    limits: tuple[float, float] | None = (0.0, 1.0)


def ones(share: float, scale: float = 1.0) -> Draw:
    """The highest value in so many of the cases, else 0."""
    return lambda random, shape: scale * (random.random(shape) < share)


def capped(of: Draw) -> Draw:
    """The same, at most 100."""
    return lambda random, shape: np.minimum(of(random, shape), 100.0)


def seconds(spread: float) -> Draw:
    """Lognormal numbers."""
    return lambda random, shape: random.lognormal(0, spread, shape)


def waits(random: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Exponential numbers."""
    return random.exponential(3, shape)


def reciprocal_ranks(random: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Mostly 0; else one over a rank from 1 to 10."""
    return np.where(random.random(shape) < 0.85, 0, 1 / random.integers(1, 11, shape))


def low_ratings(random: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Mostly 0 of 10."""
    return np.where(random.random(shape) < 0.8, 0.0, random.integers(1, 11, shape))


@dataclass(frozen=True, slots=True)
class PairWorld:
    """Numbers of two systems, independent of each other, and the truth about their difference."""

    name: str
    items: int
    first: Draw
    second: Draw
    difference: float
    limits: tuple[float, float] = (-1e9, 1e9)


PLAIN: dict[str, tuple[Draw, float | None, tuple[float, float] | None]] = {
    "half ones, 0-100": (ones(0.5, 100.0), 50.0, (0.0, 100.0)),
    "normal (.8, .1)": (lambda random, shape: random.normal(0.8, 0.1, shape).clip(0, 1), None, (0.0, 1.0)),
    "beta (1, 20)": (lambda random, shape: random.beta(1, 20, shape), 1 / 21, (0.0, 1.0)),
    "ratings mostly 0 of 10": (low_ratings, 1.1, (0.0, 10.0)),
    "reciprocal ranks, mean .04": (reciprocal_ranks, 0.15 * float(np.mean(1 / np.arange(1, 11))), (0.0, 1.0)),
    "exponential in 0-100": (capped(waits), None, (0.0, 100.0)),
    "lognormal (0, 1) in 0-100": (capped(seconds(1.0)), None, (0.0, 100.0)),
    "normal, no scale": (lambda random, shape: random.normal(0, 1, shape), 0.0, None),
    "t with 3 degrees, no scale": (lambda random, shape: random.standard_t(3, shape), 0.0, None),
    "exponential, no scale": (waits, 3.0, None),
    "gamma (.3), no scale": (lambda random, shape: random.gamma(0.3, 1, shape), 0.3, None),
    "lognormal (0, 1), no scale": (seconds(1.0), float(np.exp(0.5)), None),
    "lognormal (0, 1.5), no scale": (seconds(1.5), float(np.exp(1.125)), None),
}
MEAN_WORLDS = (
    *(MeanWorld(f"{share:.1%} ones, {items} items", items, ones(share), share)
      for share, items in ((0.05, 20), (0.05, 60), (0.05, 150), (0.5, 20), (0.97, 100), (0.99, 100), (0.99, 400))),
    *(MeanWorld(f"{name}, {items} items", items, *of) for name, of in PLAIN.items() for items in (20, 60, 200)),
)  # fmt: skip
PAIR_WORLDS = (
    *(PairWorld(f"{one:.1%} against {two:.1%} right, {items} items", items, ones(one), ones(two), one - two, (0.0, 1.0))
      for one, two, items in ((0.999, 0.99, 400), (0.98, 0.95, 200), (0.9, 0.8, 100), (0.6, 0.5, 100))),
    *(PairWorld(f"lognormal (0, 1) against (0, .5), {items} items", items, seconds(1.0), seconds(0.5),
                float(np.exp(0.5) - np.exp(0.125))) for items in (20, 60, 200)),
)  # fmt: skip


def means(world: MeanWorld | PairWorld, repeats: int, _: int, random: np.random.Generator) -> Iterator[Share]:
    """Coverage of the interval of a mean of numbers, or of a difference of two, and how often it is marked."""
    measured = differed if isinstance(world, PairWorld) else held_mean
    parts = [measured(world, min(500, repeats - start), random) for start in range(0, repeats, 500)]
    held, marks = (np.concatenate(part) for part in zip(*parts, strict=True))
    bounds = (COVERS[0], 1.0 if "ones" in world.name or "right" in world.name else COVERS[1])  # counts are discrete
    yield Share(world.name, "interval", float(held.mean()), *bounds, world.items, float(marks.mean()))
    if marks.any() and (~marks).mean() >= 0.1:
        yield Share(world.name, "interval, where it is not marked", float(held[~marks].mean()), 0.0, 1.0)


def held_mean(world: MeanWorld, repeats: int, random: np.random.Generator) -> tuple[Bools, Bools]:
    """Whether the interval of a mean holds the truth, and is marked."""
    truth = world.mean if world.mean is not None else drawn_mean(world)
    drawn = world.draw(random, (repeats, world.items))
    sizes = np.ones_like(drawn)
    if world.limits is None:
        low, high = unbounded_limits(drawn, sizes)
        marks = times_too_few(drawn, sizes) > 1
    else:
        metric, tables = mean("mean", world.limits), np.stack([drawn, sizes, drawn**2], axis=-1)
        low, high = cluster_wilson_limits(tables, metric)
        marks = np.array([marked(table, metric) for table in tables])
    return (low <= truth + 1e-12) & (truth - 1e-12 <= high), marks


@dataclass(frozen=True, slots=True)
class GapWorld:
    """A world of means in which cells of three systems are missing at random; the others have half of their scores
    in common with the first.
    """

    of: MeanWorld
    gone: float

    @property
    def name(self) -> str:
        """For the table."""
        return f"{self.of.name}, {self.gone:.0%} missing"


GAP_WORLDS = [GapWorld(world, gone) for world in MEAN_WORLDS for gone in (0.05, 0.15, 0.3)]


def with_gaps(world: GapWorld, repeats: int, _: int, random: np.random.Generator) -> Iterator[Share]:
    """Coverage of the interval of the first system's mean by `hellofresh compare`, how often it is marked, and coverage
    of plain t.
    """
    of, held, counts = world.of, np.zeros((2, repeats), dtype=np.bool_), "ones" in world.name
    marks, truth = np.zeros(repeats, dtype=np.bool_), of.mean if of.mean is not None else drawn_mean(of)

    def limits(scores: ItemScores, metric: Metric, _: None, mean_of: Array, errors: comparison._Errors) -> list[float]:
        half = t_quantile((1 + LEVEL) / 2, float(errors.freedom[0]) - 1) * float((errors.of_means[0] ** 2).sum() ** 0.5)
        low, high = (float(ends[0]) for ends in comparison._limits_of(scores, metric, mean_of, errors))
        own = float(mean_of[0])
        return [min(low, own), max(high, own), own - half, own + half]

    same = np.ones((3, 3))
    with (mock.patch.object(comparison, "_by_influence", limits),
          mock.patch.object(comparison, "_pair_worth", lambda *_: (same, same))):  # fmt: skip
        for number in range(repeats):
            values = of.draw(random, (3, of.items)).astype(float)
            values[1:] = np.where(random.random((2, of.items)) < 0.5, values[0], values[1:])
            values[random.random(values.shape) < world.gone] = np.nan
            ends = of.limits or (float(np.nanmin(values)), float(np.nanmax(values)))
            scores = ItemScores([*"abc"], [*map(str, range(of.items))], values, None, ends, "", [of.limits] * 3)
            scores, metric = comparison._kept(scores, np.isfinite(values).sum(axis=0) > 1), mean("mean", ends)
            low, high, *plain = comparison._fitted(scores, metric, None)  # type: ignore[misc]  # gives `limits`
            held[:, number] = low - 1e-12 <= truth <= high + 1e-12, plain[0] <= truth <= plain[1]
            marks[number] = comparison._rough(scores, comparison._tables(scores, metric), metric)[0][0]
    often = float(marks.mean())
    yield Share(world.name, "interval", float(held[0].mean()), COVERS[0], 1.0 if counts else COVERS[1], of.items, often)
    if 0.1 <= often <= 0.9:
        yield Share(world.name, "interval, where it is not marked", float(held[0][~marks].mean()), 0.0, 1.0)
    yield Share(world.name, "plain t", float(held[1].mean()), 0.0, 1.0)


@cache
def drawn_mean(world: MeanWorld) -> float:
    """The mean of twenty million numbers."""
    return float(np.mean([world.draw(np.random.default_rng(k), (1000, 1000)).mean() for k in range(20)]))


def differed(world: PairWorld, repeats: int, random: np.random.Generator) -> tuple[Bools, Bools]:
    """The same of the interval of a difference."""
    metric, held = mean("mean", world.limits), []
    both = [draw(random, (repeats, world.items)) for draw in (world.first, world.second)]
    for one, two in zip(*(np.stack([drawn, np.ones_like(drawn), drawn**2], axis=-1) for drawn in both), strict=True):
        made = difference_interval(one, two, metric)[0]
        held.append(made.low - 1e-12 <= world.difference <= made.high + 1e-12)
    few = (both[0] != both[1]).sum(axis=1) < FEW_APART
    sizes = np.ones_like(both[0])
    skewed = times_too_few(both[0] - both[1], sizes) > SKEWED_PAIR
    skewed |= (times_too_few(both[0], sizes) > 1) | (times_too_few(both[1], sizes) > 1)
    return np.array(held), few if world.limits == (0.0, 1.0) else skewed


def naive(tables: Array) -> tuple[Array, Array]:
    """Wilson's interval of F1's share, treating samples as independent."""
    share = shares(tables, F1)
    relevant = share.weights.sum(axis=-1)
    low, high = wilson_limits(share.value, np.maximum(relevant, 1), np.array(QUANTILE(0.975)))
    return from_share(low, F1), from_share(high, F1)


def bootstrap(tables: Array, resamples: int, random: np.random.Generator) -> dict[str, tuple[Array, Array]]:
    """Percentile, BCa and bootstrap-t limits; each piece of the repeats gets new weights.

    The bootstrap-t is of the logit of F1's share with one hit and one miss added; its error in each resample is that of
    the linear part of a ratio of sums over clusters.
    """
    repeats, clusters, k = tables.shape
    assert F1.share is not None
    hits, relevant = F1.share.parts(tables)
    squares = np.stack([hits**2, hits * relevant, relevant**2], axis=-1)
    flat = np.concatenate([tables, squares], axis=-1).transpose(1, 0, 2).reshape(clusters, -1)
    drawn = np.concatenate([weights @ flat for weights in cluster_weights(clusters, resamples, random)])
    parts = drawn.reshape(resamples, repeats, k + 3)
    draws, total = F1.value(parts[..., :k]), tables.sum(axis=1)
    value, without = F1.value(total), F1.value(total[:, None] - tables)
    odds, errors = logits_with_errors(parts[..., :k], parts[..., k:])
    centre, error = logits_with_errors(total, squares.sum(axis=1))
    low, high = np.quantile((odds - centre) / errors, [(1 + LEVEL) / 2, (1 - LEVEL) / 2], axis=0)
    logistic = [1 / (1 + np.exp(-(centre - quantile * error))) for quantile in (low, high)]
    return {
        "percentile bootstrap": percentile_limits(draws),
        "BCa bootstrap": bca_limits(draws.T, value, without),
        "bootstrap-t of the logit": (from_share(logistic[0], F1), from_share(logistic[1], F1)),
    }


def logits_with_errors(total: Array, squares: Array) -> tuple[Array, Array]:
    """The logit of F1's share, shape (...), and its standard error.

    Args:
        total: shape (..., k), sums.
        squares: shape (..., 3), sums over clusters of hits squared, hits times relevant, and relevant squared.
    """
    assert F1.share is not None
    hits, relevant = F1.share.parts(total)
    share, n = (hits + 1) / (relevant + 2), np.maximum(relevant, 1.0)
    plain = hits / n
    variance = np.maximum(squares[..., 0] - 2 * plain * squares[..., 1] + plain**2 * squares[..., 2], 1e-3) / n**2
    return logit(share), np.sqrt(variance) / (share * (1 - share))


PAIRS = (
    World("independent, n 60", 60, "one", 0.70, 0.40),
    World("12 clusters of 5, n 60", 12, "five", 0.70, 0.40, 0.7, 0.7),
    World("40 clusters, n 120", 40, "poisson", 0.70, 0.40, 0.7, 0.7),
    World("150 unequal clusters, n 450", 150, "geometric", 0.80, 0.30, 0.7, 0.7),
    World("600 clusters of 5, n 3,000", 600, "five", 0.70, 0.40, 1.0, 1.0),
    World("200 heavy-tailed clusters, n 640", 200, "zipf", 0.70, 0.40, 1.0, 1.0),
)
OTHER_WAY = (0.90, 0.80)
"""Hit and false-alarm rates with the same F1 as 0.70 and 0.40: two thirds."""


def paired(world: World, repeats: int, _: int, random: np.random.Generator) -> Iterator[Share]:
    """Coverage of the difference's interval for a difference of 0: 1 minus the error of the test by the same t."""
    held, effective = 0, 0.0
    for number in pieces(repeats, world):
        for one, two in simulate(world, number, random, systems=2).transpose(1, 0, 2, 3):
            interval, _made = difference_interval(one, two, F1)
            held += interval.low <= 0 <= interval.high
            effective += interval.effective_clusters
    yield Share(world.name, "f1, interval holds 0", held / repeats, *COVERS, effective / repeats)


def other_way(world: World, repeats: int, _: int, random: np.random.Generator) -> Iterator[Share]:
    """The same for two systems that reach one F1 in different ways, in a world of hits 0.70 and false alarms 0.40."""
    assert (world.hit, world.alarm) == (0.70, 0.40)
    held = 0
    for number in pieces(repeats, world):
        for one, two in different(world, number, random):
            interval, _made = difference_interval(one, two, F1)
            held += interval.low <= 0 <= interval.high
    yield Share(world.name, "f1, interval, one F1 by different ways", held / repeats, *COVERS)


def different(world: World, repeats: int, random: np.random.Generator) -> Iterator[tuple[Array, Array]]:
    """Tables of two systems that reach one F1 in different ways, on the same clusters and labels."""
    size = sizes(world, repeats, random)
    label, skill = random.standard_normal((2, *size.shape))
    positive = random.binomial(size, phi(world.label_effect * label))
    wide = np.sqrt(1 + world.skill_effect**2)
    both = []
    for rates in ((world.hit, world.alarm), OTHER_WAY):
        hit, calm = (phi(QUANTILE(share) * wide + world.skill_effect * skill) for share in (rates[0], 1 - rates[1]))
        tp, tn = random.binomial(positive, hit), random.binomial(size - positive, calm)
        both.append(sums(tp, size - positive - tn, tn, positive - tp))
    yield from zip(*both, strict=True)


def seed(random: np.random.Generator) -> int:
    """Draw a seed."""
    return int(random.integers(2**31))


MANY = (
    World("40 clusters, n 120", 40, "poisson", 0.70, 0.40, 0.7, 0.7),
    World("150 unequal clusters, n 450", 150, "geometric", 0.70, 0.40, 0.7, 0.7),
    World("600 independent samples", 600, "one", 0.70, 0.40),
)
LEVELS = (10, 20, 30)


def ranked(world: World, repeats: int, _: int, random: np.random.Generator) -> Iterator[Share]:
    """Family-wise error and rank intervals of equal systems; and of different systems, compared with Bonferroni."""
    for systems in LEVELS:
        held = dict.fromkeys(("apart", "equal", "rank", "ranks", "pairs", "found", "bonferroni", "width", "wider"), 0.0)
        worse, above = np.arange(systems) * 0.24 / systems, np.triu_indices(systems, 1)
        kept = [(world.hit * (1 - part), 1 - (1 - world.alarm) * (1 - part)) for part in worse.tolist()]
        value = np.array([truth(replace(world, hit=hit, alarm=alarm), F1) for hit, alarm in kept])
        real, order = np.subtract.outer(value, value)[above], np.arange(1, systems + 1)
        for _ in range(repeats):
            tables = simulate(world, 1, random, systems=systems)[:, 0]
            found = all_differences(tables, F1)
            held["apart"] += found.separable.any()
            ranking = rank_systems(found)
            held["equal"] += ((ranking.low == 1) & (ranking.high == systems)).mean()
            found = all_differences(degraded(tables, worse, random), F1)
            ranking = rank_systems(found)
            right = (ranking.low <= order) & (ranking.high >= order)
            held["rank"] += right.mean()
            held["ranks"] += right.all()
            held["pairs"] += ((found.low[above] <= real) & (real <= found.high[above])).all()
            bonferroni = replace(found, adjusted=np.minimum(1.0, real.size * found.p_value))
            for kind, width, made in (("found", "width", found), ("bonferroni", "wider", bonferroni)):
                held[kind] += made.separable[above].mean()
                ranking = rank_systems(made)
                held[width] += (ranking.high - ranking.low + 1).mean() / systems
        shares = {key: float(count) / repeats for key, count in held.items()}
        yield Share(world.name, f"{systems} equal: any pair found apart", shares["apart"], 0.0, 0.065)
        yield Share(world.name, f"{systems} equal: rank interval holds all ranks", shares["equal"], 0.94, 1.0)
        yield Share(world.name, f"{systems} graded: rank interval holds the rank", shares["rank"], 0.94, 1.0)
        yield Share(world.name, f"{systems} graded: all rank intervals hold their ranks", shares["ranks"], 0.94, 1.0)
        yield Share(world.name, f"{systems} graded: all intervals of pairs hold", shares["pairs"], 0.935, 1.0)
        yield Share(world.name, f"{systems} graded: pairs found apart", shares["found"], 0.0, 1.0)
        yield Share(world.name, f"{systems} graded: the same by Bonferroni, pairs", shares["bonferroni"], 0.0, 1.0)
        yield Share(world.name, f"{systems} graded: mean rank interval, of all ranks", shares["width"], 0.0, 1.0)
        yield Share(world.name, f"{systems} graded: the same by Bonferroni, ranks", shares["wider"], 0.0, 1.0)


def degraded(tables: Array, worse: Array, random: np.random.Generator) -> Array:
    """The systems with some right answers made wrong, so that each is truly worse than the one before."""
    hits, calm = (random.binomial(tables[..., i].astype(np.int64), 1 - worse[:, None]) for i in (3, 0))
    positive, negative = tables[..., 3] + tables[..., 5], tables[..., 0] + tables[..., 2]
    return sums(hits, negative - calm, calm, positive - hits)


@dataclass(frozen=True, slots=True)
class StatedWorld:
    """Stated probabilities, and how often they come true.

    Attributes:
        name: for the table.
        clusters, size: number of clusters, and samples in each.
        stated: distribution: `spread` is uniform; `high`: most near 1; `six`: one of six values.
        slope: of true on stated probabilities, in probits; below 1 is overconfident.
        less: how much lower true probabilities are.
        alike: correlation of the samples of a cluster, in probits.
    """

    name: str
    clusters: int
    size: int
    stated: str
    slope: float = 1.0
    less: float = 0.0
    alike: float = 0.3

    def draw(self, n: int, random: np.random.Generator) -> tuple[Array, Array]:
        """Stated and true probabilities."""
        if self.stated == "six":
            said = random.choice([0.5, 0.6, 0.7, 0.8, 0.9, 0.95], n, p=[0.05, 0.1, 0.15, 0.3, 0.3, 0.1])
        else:
            said = random.random(n) if self.stated == "spread" else random.beta(8, 2, n)
        probits = np.interp(np.clip(said, 1e-9, 1 - 1e-9), _PHI, _GRID)
        return said, np.clip(phi(self.slope * probits) - self.less, 0, 1)


PARTS = ("reliability", "resolution", "uncertainty")
STATED_WORLDS = (
    StatedWorld("calibrated, 200 samples", 200, 1, "spread", alike=0.0),
    StatedWorld("calibrated, 60 clusters of 5, near 1", 60, 5, "high"),
    StatedWorld("calibrated, 20 clusters of 5, six values", 20, 5, "six"),
    StatedWorld("1,000 samples, a little overconfident", 1000, 1, "spread", 0.85, alike=0.0),
    StatedWorld("100 clusters of 3, six values, 10 points too high", 100, 3, "six", less=0.1),
    StatedWorld("400 clusters of 5, overconfident", 400, 5, "spread", 0.5),
    StatedWorld("calibrated, 12 clusters of 5", 12, 5, "spread"),
    StatedWorld("20 samples, underconfident", 20, 1, "spread", 2.0, alike=0.0),
    StatedWorld("40 samples, near 1", 40, 1, "high", alike=0.0),
    StatedWorld("12 clusters of 10, underconfident", 12, 10, "spread", 3.0),
)


def stated(world: StatedWorld, repeats: int, _: int, random: np.random.Generator) -> Iterator[Share]:
    """The rejection rate of the test of calibration, the remaining bias of ECE, and coverage of forecasts' metrics."""
    groups, n = np.repeat(np.arange(world.clusters), world.size), world.clusters * world.size
    said, true = world.draw(400_000, random)
    where = np.searchsorted(np.arange(1, 10) / 10, said, side="right")
    is_true = (world.slope, world.less) == (1.0, 0.0)
    ece = 0.0 if is_true else float(np.abs(np.bincount(where, said - true)).sum()) / said.size
    found, values, metrics = 0, np.zeros(2), forecast_metrics(2)
    truths = [*expected_forecasts(said, true), *expected_parts(said, true)]
    names = [*(metric.name for metric in metrics), "brier", "auc", *PARTS]
    held, few = np.zeros(len(names)), np.zeros(len(names))
    for number in range(repeats):
        said, true = world.draw(n, random)
        own, common = random.standard_normal(n), random.standard_normal(world.clusters)
        luck = np.sqrt(world.alike) * common[groups] + np.sqrt(1 - world.alike) * own
        labels = (phi(luck) < true).astype(np.int8)
        found_now = calibrate(labels, said, groups, seed=number)
        error = found_now.ece
        tables = cluster_tables(metrics[0].statistics(labels, np.stack([1 - said, said], axis=1)), groups)
        made = [metric_interval(tables, metric) for metric in metrics]
        made += [found_now.brier_interval, found_now.auc_interval]
        made += [found_now.reliability_interval, found_now.resolution_interval, found_now.uncertainty_interval]
        few += [one.few for one in made]
        held += [one.low <= value <= one.high for one, value in zip(made, truths, strict=True)]
        found += error.p_value < 0.05
        values += np.array([error.value, error.debiased])
    bounds = (0.03, 0.07) if is_true else (0.05, 1.0)
    yield Share(world.name, "test of calibration: p below 0.05", found / repeats, *bounds)
    for what, value in zip(
        ("ECE less truth", "debiased ECE less truth"), (values / repeats - ece).tolist(), strict=True
    ):
        yield Share(world.name, what, value, -1.0, 1.0)
    for name, share, often in zip(names, (held / repeats).tolist(), (few / repeats).tolist(), strict=True):
        most = 1.0 if name == "reliability" else COVERS[1]  # often at 0, where nothing is below
        yield Share(world.name, f"{name}: interval", share, COVERS[0], most, world.clusters, often)


def expected_parts(said: Array, true: Array) -> list[float]:
    """Reliability, resolution and uncertainty in ten bins of a population."""
    where = np.searchsorted(np.arange(1, 10) / 10, said, side="right")
    share = np.bincount(where, minlength=10) / said.size
    stated_there, comes = (np.bincount(where, part, 10)[share > 0] / said.size for part in (said, true))
    share, base = share[share > 0], float(true.mean())
    gaps = [float((share * (part / share) ** 2).sum()) for part in (stated_there - comes, comes - share * base)]
    return [*gaps, base * (1 - base)]


def expected_forecasts(said: Array, true: Array) -> list[float]:
    """The metrics of forecasts for a population with these stated and true probabilities."""
    error = float((true * (1 - said) ** 2 + (1 - true) * said**2).mean())
    logs = true * np.log(np.maximum(said, LEAST_CHANCE)) + (1 - true) * np.log(np.maximum(1 - said, LEAST_CHANCE))
    uninformed = float(true.mean() * (1 - true.mean()))
    yes, no = true.sum(), (1 - true).sum()
    order = np.argsort(said, kind="stable")
    starts = np.unique(said[order], return_index=True)[1]
    positive, negative = (np.add.reduceat(part[order], starts) for part in (true, 1 - true))
    auc = float((positive * (negative.cumsum() - negative / 2)).sum() / (yes * no))
    return [100 * (1 - (error / uninformed) ** 0.5 / 2), 100 * (1 - error**0.5), float(logs.mean()), error, auc]


@dataclass(frozen=True, slots=True)
class CorrelationWorld:
    """Facts and two systems' statements: normal with these correlations; then only ranks count.

    Attributes:
        name, clusters, sizes: as of `World`.
        first, second: correlations.
        stated: `exactly`, in `halves` of a standard deviation, or as one of two `choices`.
    """

    name: str
    clusters: int
    sizes: str
    first: float
    second: float
    stated: str

    def draw(self, groups: NDArray[np.int64], random: np.random.Generator) -> Array:
        """The fact and both systems' statements, shape (3, n)."""
        alike = 0.4 if self.sizes != "one" else 0.0
        shared = random.standard_normal((3, int(groups.max()) + 1))[:, groups]
        normal = np.sqrt(alike) * shared + np.sqrt(1 - alike) * random.standard_normal((3, groups.size))
        for place, rho in ((1, self.first), (2, self.second)):
            normal[place] = rho * normal[0] + np.sqrt(1 - rho**2) * normal[place]
        if self.stated != "exactly":
            normal[1:] = np.round(2 * normal[1:]) if self.stated == "halves" else normal[1:] > 0
        return normal


CORRELATION_WORLDS = [
    CorrelationWorld(
        f"{clusters} posts, {size}, {stated}: {first:g} and {second:g}", clusters, size, first, second, stated
    )
    for clusters in (20, 50, 300)
    for size in ("one", "geometric")
    for stated, first, second in (
        *(("exactly", rho, rho - 0.1) for rho in (0.1, 0.5, 0.8, 0.95)),
        *(("halves", rho, rho - 0.1) for rho in (0.5, 0.95)),
        ("choices", 0.9, 0.5),
        ("exactly", 0.95, 0.95),
    )
]


def correlated(world: CorrelationWorld, repeats: int, _: int, random: np.random.Generator) -> Iterator[Share]:
    """Coverage of the interval of a rank correlation, and of that of the difference of two."""
    metric, held = rank_correlation("fact", ""), np.zeros(2)
    many = replace(world, sizes="one").draw(np.arange(200_000), np.random.default_rng(0))
    first, second = (float(metric.value(metric.statistics(many[0], said).sum(axis=0))) for said in many[1:])
    for _ in range(repeats):
        groups = np.repeat(np.arange(world.clusters), sizes(world, 1, random)[0])
        fact, *both = world.draw(groups, random)
        one, two = (cluster_tables(metric.statistics(fact, said), groups) for said in both)
        made, apart = metric_interval(one, metric), difference_interval(one, two, metric)[0]
        held += made.low <= first <= made.high, apart.low <= first - second <= apart.high
    for what, share in zip(("interval", "difference"), (held / repeats).tolist(), strict=True):
        yield Share(world.name, f"rank_correlation: {what}", share, 0.93, 0.97)


@dataclass(frozen=True, slots=True)
class QuartersWorld:
    """Six systems that forecast 100 clusters of 2 samples in each of some quarters, some of which they miss."""

    name: str
    quarters: int
    missing: float

    def draw(self, random: np.random.Generator) -> tuple[Array, Array]:
        """The Brier indices of all systems in all quarters, shape (systems, quarters), and their variances."""
        metric, groups = relative_brier_index(2), np.repeat(np.arange(100), 2)
        found = np.zeros((2, 6, self.quarters))
        for quarter, hard in enumerate(np.linspace(0.7, 1.3, self.quarters)):
            probits = 2 * hard * (0.5 * random.standard_normal(100)[groups] + 0.87 * random.standard_normal(200))
            labels = (random.random(200) < 1 / (1 + np.exp(-probits))).astype(np.int8)
            for system, noise in enumerate(np.linspace(0.3, 1.5, 6)):
                said = 1 / (1 + np.exp(-probits - noise * random.standard_normal(200)))
                tables = cluster_tables(metric.statistics(labels, np.stack([1 - said, said], axis=1)), groups)
                total = tables.sum(axis=0)
                found[:, system, quarter] = metric.value(total), jackknife_variance(metric.value(total - tables))
        return found[0], found[1]


QUARTERS_WORLDS = [
    QuartersWorld(f"{quarters} quarters, {missing:.0%} missing", quarters, missing)
    for quarters in (4, 8, 16)
    for missing in (0.0, 0.25)
]


EXPECTED_OVER = 1000
"""Draws whose mean stands for the expectation."""


def over_quarters(world: QuartersWorld, repeats: int, _: int, random: np.random.Generator) -> Iterator[Share]:
    """How often limits of systems over quarters contain the expectation over draws of the samples."""
    expected = np.mean([world.draw(random)[0] for _ in range(EXPECTED_OVER)], axis=0)
    held = 0
    for _ in range(repeats):
        there = random.random(expected.shape) >= world.missing
        there[:, :2] = there[0] = True
        value, variance = world.draw(random)
        which = np.nonzero(there)
        truth = two_way(expected[which], *which).system
        found = two_way(value[which], *which, variances=variance[which])
        limits = [found.limits_within(system, (0.0, 100.0)) for system in range(len(truth))]
        held += sum(low <= one <= high for (low, high), one in zip(limits, truth.tolist(), strict=True))
    yield Share(world.name, "relative_brier_index over quarters: limits", held / repeats / 6, 0.93, 0.975)


_PARTS = ("intervals", "classes", "means", "gaps", "tests", "ranks", "calibration", "quarters", "correlation")


def main() -> None:
    """Run the requested parts and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=4000)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=_PARTS)
    parser.add_argument("--world", default="", help="only worlds whose name holds this")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results: list[Share] = []
    parts = {
        "intervals": (WORLDS, coverage, options.resamples),
        "classes": (CLASS_WORLDS, class_coverage, 0),
        "means": ((*MEAN_WORLDS, *PAIR_WORLDS), means, 0),
        "gaps": (GAP_WORLDS, with_gaps, 0),
        "tests": (PAIRS, lambda *given: [*paired(*given), *(other_way(*given) if given[0].hit == 0.7 else ())], 999),
        "ranks": (MANY, ranked, 0),
        "calibration": (STATED_WORLDS, stated, 0),
        "quarters": (QUARTERS_WORLDS, over_quarters, 0),
        "correlation": (CORRELATION_WORLDS, correlated, 0),
    }
    for part, (worlds, measure, draws) in parts.items():
        for index, world in enumerate(worlds):
            if options.only not in (None, part) or options.world not in world.name:
                continue
            begin = time.perf_counter()
            found = list(measure(world, options.repeats, draws, np.random.default_rng([options.seed, index])))
            results += found
            if not options.json:
                show(found, time.perf_counter() - begin)
    missed = sum(not item.is_right for item in results)
    if options.json:
        print(json.dumps({"repeats": options.repeats, "shares": [item._asdict() for item in results]}, indent=1))
    else:
        print(f"{len(results)} shares of {options.repeats} repeats, {missed} outside of their bounds (*)")


def show(found: Sequence[Share], seconds: float) -> None:
    """Print a block for one world."""
    print(f"{found[0].world} ({found[0].effective_clusters:.0f} effective clusters; {seconds:.0f} s)")
    for item in found:
        often = "" if item.marked is None else f" (marked in {item.marked:.0%})"
        print(f"  {' ' if item.is_right else '*'} {100 * item.share:5.1f}%  {item.what}{often}")


if __name__ == "__main__":
    main()
