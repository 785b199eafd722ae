"""Every number of the statistics over many small inputs, as the file beside has them: any change of a line shows here.
See `tests/values.py`.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from hellofresh.stats import (
    agreement,
    calibration,
    clusters,
    draws,
    equal_exposure,
    intervals,
    judging,
    multiway,
    paired,
    ranking,
    retrieval,
    two_way,
)
from hellofresh.stats.metrics import (
    ClassCounts,
    Forecasts,
    Metric,
    RankPairs,
    WeightedValues,
    class_metrics,
    forecast_metrics,
    macro_f1,
    matthews,
    mean,
    rank_correlation,
    two_class_metrics,
)
from tests.values import Cases, refused

case = Cases(Path(__file__).with_suffix(".json"))
F1, PRECISION, RECALL, RIGHT, *_ = two_class_metrics()
THREE = class_metrics(("a", "b", "c"))
RATING, ERRORS, SHARE = (
    mean("rating", (1.0, 10.0)),
    mean("errors", (0.0, 4.0), higher_is_better=False),
    mean("s", (0, 1)),
)
INDEX, EVEN, LOGS = forecast_metrics(2)
RANKED = rank_correlation("age", "how old")


def described(metric: Metric) -> list[object]:
    return [metric.name, metric.title, metric.meaning, metric.fact, metric.limits, metric.sign, metric.span,
            metric.of_numbers, metric.of_forecasts]  # fmt: skip


def panel(c: int, n: int, seed: int, systems: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, what systems said, some of it nothing, and groups of different sizes."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, c, n)
    right = random.random((systems, n)) < np.linspace(0.8, 0.5, systems)[:, None]
    said = np.where(right, labels, random.integers(-1, c, (systems, n)))
    return labels, said, np.sort(random.integers(0, max(n // 3, 1), n))


def tables(metric: Metric, c: int, n: int, seed: int, systems: int = 1) -> np.ndarray:
    """Sums by cluster, shape (systems, g, k)."""
    labels, said, groups = panel(c, n, seed, systems)
    return np.stack([clusters.cluster_tables(metric.statistics(labels, one), groups) for one in said])


def numbers(metric: Metric, n: int, seed: int, systems: int = 1) -> np.ndarray:
    """Sums by cluster of weighted numbers within the metric's limits."""
    random = np.random.default_rng(seed)
    weights, groups = random.choice([0.5, 1.0, 2.0], n), np.sort(random.integers(0, n // 2, n))
    values = metric.limits[0] + metric.span * random.random((systems, n)).round(2)
    return np.stack([clusters.cluster_tables(metric.statistics(weights, one), groups) for one in values])


def chances(c: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.integers(0, c, n), random.dirichlet(np.ones(c), n)


WIDE = mean("wide", (0.0, 1000.0))
STEP = 1e-11  # below what counts as equal on so wide a scale
NEARLY = np.stack([WIDE.statistics(np.ones(6), 5 + k * STEP * (np.arange(6) + 1)) for k in range(4)])
"""Systems that differ by rounding."""


# --- Metrics


@case
def class_counts() -> object:
    found = []
    for c in (2, 3, 4):
        counts = ClassCounts(c)
        labels, said = (side.ravel() for side in np.meshgrid(np.arange(c), np.arange(-1, c)))
        rows = counts(labels, said)
        total = rows[1:].sum(axis=0)
        sizes = counts.size(rows), counts.by_class(total)
        found.append([rows, sizes, *(counts.moved(total, size) for size in (0.25, 1.0, 1.5, 9.0))])
        found.append(counts.moved(rows[labels == said].sum(axis=0), 0.5))
    return found


@case
def metrics_of_classes() -> object:
    found = []
    two = [F1, PRECISION, RECALL, RIGHT]
    for metrics, c in ((two, 2), (THREE, 3), (class_metrics("ab"), 2), ([macro_f1(4), matthews(4)], 4)):
        for metric in metrics:
            rows = tables(metric, c, 23, c)[0]
            sums = np.stack([rows.sum(axis=0), *rows[:4], 0 * rows[0]])
            parts = metric.share and [metric.share.parts(sums), metric.share.value(np.array([0.0, 0.3, 1.0]))]
            found.append([described(metric), metric.value(sums), parts])
    return found


@case
def means_of_numbers() -> object:
    found = []
    weights, values = np.array([0.0, 1.0, 2.5, 1.0, 0.5]), np.array([1.0, 4.0, np.nan, 2.0, 3.5])
    for metric in (RATING, ERRORS, mean("wide", (-4.0, 6.0), title="Wide")):
        rows = metric.statistics(weights, values)
        sums = rows.sum(axis=0)
        parts = metric.share and [metric.share.parts(rows), metric.share.value(np.array([0.25]))]
        moved = [metric.statistics.moved(sums, size) for size in (0.5, 3.0, 50.0)]
        found.append([described(metric), rows, metric.value(rows), metric.statistics.size(rows), parts, moved])
    return found


@case
def equal_numbers() -> object:
    """Spreads on either side of what counts as none, and the ends of a share's scale."""
    found = []
    for limits, value in (
        ((0.0, 50.0), 7.0),
        ((-50.0, 5.0), 2.0),
        ((0.0, 1.0), 0.3),
        ((0.0, 1.0), 0.0),
        ((0.0, 1.0), 1.0),
    ):
        edge = 1e-12 * max(map(abs, limits)) ** 2
        sums = [
            [w * value, w, w * (value**2 + apart * edge)] for w in (0.0, 0.5, 4.0) for apart in (0.0, 0.9, 1.1, 9.0)
        ]
        found.append(WeightedValues(limits, limits[0]).constant(np.array(sums)))
    return found


@case
def rank_pairs() -> object:
    counts, found = RankPairs(), []
    for x, y in (
        ([3.0, 1.0, 2.0, 2.0, np.nan], [0.1, 0.5, np.nan, 0.5, 0.2]),
        ([1.0, 2.0, 3.0], [0.2, np.nan, 0.1]),
        ([1.0, 2.0, 3.0, 4.0], [np.nan, 1.0, 2.0, np.nan]),
        ([np.nan, np.nan], [1.0, 2.0]),
        ([5.0], [1.0]),
    ):
        rows = counts(np.array(x), np.array(y))
        sums = rows.sum(axis=0)
        found.append([rows, counts.size(rows), RANKED.value(sums), *(counts.moved(sums, size) for size in (0.5, 99.0))])
    return [
        described(RANKED),
        found,
        RANKED.value(np.array([[9.0, 1.0, 1.0, 2.0], [-1.0, 0.0, 1.0, 2.0], [1.0, 4.0, -1.0, 2.0]])),
    ]


@case
def forecasts() -> object:
    found: list[object] = []
    for c in (2, 3, 4):
        labels, said = chances(c, 7, c)
        said[:4] = [[0.0] * c, [np.nan] * c, [1.0] + [0.0] * (c - 1), [0.006] + [0.9] * (c - 1)]
        counts = Forecasts(c)
        rows = counts(labels, said)
        sums = np.stack([rows.sum(axis=0), *rows[2:], 0 * rows[0], [9.0, -3.0, 0.4, *[0.0] * (c - 1)]])
        moved = [counts.moved(rows.sum(axis=0), size) for size in (0.5, 40.0)]
        found.append([rows, counts.size(rows), moved])
        for metric in forecast_metrics(c):
            parts = metric.share and [metric.share.parts(sums), metric.share.value(np.array([0.25]))]
            found.append([described(metric), metric.value(sums), parts])
    return found


@case
def metrics_refuse() -> object:
    two, one = np.zeros(2), np.zeros(1)
    square = np.zeros((2, 2))
    counts, of_chances = ClassCounts(3), Forecasts(3)
    return refused(
        lambda: counts(two, one), lambda: counts(square, square), lambda: counts(two + 3, two),
        lambda: counts(two, two - 2), lambda: counts(two, two + 3), lambda: RATING.statistics(two, one),
        lambda: RATING.statistics(square, square), lambda: RATING.statistics(two, two + 0.9),
        lambda: RATING.statistics(two, two + 10.1), lambda: RATING.statistics(two - 0.1, two + 1),
        lambda: RankPairs()(two, one), lambda: RankPairs()(square, square), lambda: RankPairs()(two + np.inf, two),
        lambda: RankPairs()(two, two - np.inf), lambda: of_chances(two, square), lambda: of_chances(square, square),
        lambda: of_chances(two + 3, np.full((2, 3), 0.3)), lambda: of_chances(two, np.full((2, 3), -0.1)),
        lambda: of_chances(two, np.full((2, 3), 1.1)), lambda: of_chances(two[:0], np.zeros((1, 3))),
    )  # fmt: skip


@case
def rankings_measured() -> object:
    found = []
    for documents, scores, relevance in (
        ("abcdef", [0.9, 0.8, 0.7, 0.6, 0.5, 0.4], {"a": 1, "c": 3, "f": 2, "x": 1}),
        ("abcdefghijklmnopqrstuvwxyz", [], {"d": 2, "e": -1, "j": 1, "k": 4, "u": 1, "z": 1, "a": 0}),
        ("ab", [0.5, 0.5], {"a": 1}), ("ab", [0.5, 0.5], {"b": -2}), ("ab", [], {}), ("", [], {"a": 1}),
    ):  # fmt: skip
        found.append(retrieval.measures(documents, scores, relevance))
    return [[described(metric) for metric in retrieval.METRICS], found, retrieval.trec_order("bacd", [1.0, 1.0, 2.0,
    -1.0]),
            refused(lambda: retrieval.trec_order("ab", [1.0]), lambda: retrieval.trec_order("ab", [1.0,
            np.nan]))]  # fmt: skip


# --- Clusters and intervals


@case
def groups_and_shares() -> object:
    groups, rows = np.array([7, 3, 7, 9]), np.arange(8.0).reshape(4, 2)
    found = [clusters.members(groups, 4), clusters.members(None, 3), clusters.cluster_tables(rows, groups),
             clusters.cluster_tables(rows), clusters.cluster_sums(rows[:, :0], groups, 10),
             clusters.effective_clusters(np.array([[1.0, 1.0, 2.0], [0.0, 0.0, 0.0]]))]  # fmt: skip
    for metric, table in (
        (F1, tables(F1, 2, 14, 1)), (THREE[0], tables(THREE[0], 3, 14, 1)), (RATING, numbers(RATING, 8, 1)),
        (PRECISION, np.array([[[0.0, 0, 0, 0, 0, 1], [0, 0, 0, 2, 1, 0], [1, 0, 0, 0, 0, 0]]])),
        (THREE[0], np.array([[np.eye(9)[0], 0 * np.eye(9)[0]]])),
    ):  # fmt: skip
        found.append([clusters.shares(table, metric), clusters.from_share(np.array([0.0, 0.4, 1.0]), metric)])
    for chunk in (4_000_000, 10, 4):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(clusters, "_CHUNK", chunk)
            found.append(list(clusters.cluster_weights(5, 3, np.random.default_rng(3))))
    found.append(clusters.percentile_limits(np.arange(81.0) ** 2))
    return found, refused(lambda: clusters.members(groups, 3), lambda: clusters.members(None, 0))


@case
def metric_intervals() -> object:
    found: list[object] = []
    for metric, c in (
        (F1, 2),
        (PRECISION, 2),
        (RIGHT, 2),
        (THREE[0], 3),
        (THREE[4], 3),
        (THREE[-1], 3),
        (macro_f1(2), 2),
    ):
        for n, seed in ((5, 1), (40, 2), (90, 3)):
            table = tables(metric, c, n, seed)[0]
            made = intervals.metric_interval(table, metric)
            found.append([made, made.few])
    for metric in (RATING, ERRORS, SHARE):
        found += [intervals.metric_interval(numbers(metric, n, n)[0], metric, n=n) for n in (2, 9, 60)]
    for metric in (INDEX, EVEN, LOGS):
        for n in (9, 95, 96, 130):
            found.append(intervals.metric_interval(metric.statistics(*chances(2, n, n)), metric))
    return found


@case
def intervals_of_ranks() -> object:
    found = []
    for n, noise in ((3, 1.0), (12, 0.0), (12, 0.5), (30, 2.0), (30, 0.001)):
        random = np.random.default_rng(n)
        fact = random.normal(size=n)
        for said in (
            fact + noise * random.normal(size=n),
            -fact,
            np.full(n, 0.5),
            np.where(np.arange(n) < 2, np.nan, fact),
        ):
            found += [intervals.metric_interval(RANKED.statistics(fact, said), RANKED)]
    return found


@case
def edges_of_rank_intervals() -> object:
    """A correlation that is 1, -1 or undefined without some cluster, and clusters that all move it as much."""
    found = []
    for products in (
        [1, 1, -0.5],
        [-1, -1, 0.5],
        [0.5, 0.7, 0.5, 0.7],
        [0.5, 0.7],
        [0.2, 0.3, 0.9],
        [1, 1, 1],
        [0, 0, 0],
    ):
        rows = np.stack([products, *np.ones((3, len(products)))], axis=1)
        found.append(intervals.metric_interval(rows, RANKED))
    alone = np.array([[0.5, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    return [*found, intervals.metric_interval(alone, RANKED)]


@case
def edges_of_intervals() -> object:
    """All right, all wrong, one cluster off, none asked: where a formula's usual case ends."""
    right, wrong, quiet = np.array([3.0, 0, 0, 3, 0, 0]), np.array([0.0, 3, 3, 0, 3, 3]), np.zeros(6)
    found = []
    for rows in ([right] * 2, [right] * 12, [wrong] * 13, [right, wrong], [right] * 11 + [wrong], [right, quiet],
                 [right + wrong] * 12, [right] * 47 + [wrong], [quiet] * 3, [right],
                 [5 * right] + [wrong] * 40):  # fmt: skip
        found += [[intervals.metric_interval(np.array(rows), metric) for metric in (F1, PRECISION, RIGHT, macro_f1(2))]]
    # A class in one cluster alone, or in just enough; leaving out a cluster moves the share and not the smoothed one.
    zero, half = np.array([3.0, 0, 0, 0, 0, 0]), np.array([0.0, 3, 0, 0, 0, 3])
    for rows in ([zero] * 11 + [right], [half] * 11 + [wrong], [right] * 12 + [zero] * 8, [right] * 11 + [zero] * 8,
                 [[0, 1, 0, 0, 0, 1], [0, 3, 0, 1, 0, 3]], [5 * right, right], [5 * wrong, wrong]):  # fmt: skip
        found += [[intervals.metric_interval(np.array(rows), metric) for metric in (RIGHT, macro_f1(2), matthews(2))]]
    ends = [SHARE.statistics(np.ones(4), np.full(4, value)) for value in (0.0, 0.3, 1.0)]
    found.append([intervals.metric_interval(rows, SHARE) for rows in ends])
    found.append(
        [intervals.few_clusters(*pair) for pair in ((12, 12.0), (11, 11.9), (48, 12.0), (49, 12.0), (60, 15.0))]
    )
    for share, n in ((0.0, 5.0), (1.0, 5.0), (0.2, 0.5), (0.999, 7.0)):
        found.append(intervals.wilson_limits(np.array(share), np.array(n), np.array(2.0)))
    return found


@case
def jackknives() -> object:
    made = partial(intervals.jackknife_interval, limits=(-1.0, 1.0))
    some = np.array([0.4, 0.5, 0.45, 0.6])
    return [
        made(0.5, some, 9, np.array([2.0, 3.0, 1.0, 3.0])), made(0.5, some, 9, np.array([2.0, 0.0, 0.0, 0.0])),
        made(0.5, some[:2], 2, np.array([1.0, 1.0])), made(np.nan, some, 9, np.ones(4)), made(0.95, some, 4,
        np.ones(4)),
        made(0.5, some * [1, np.nan, 1, 1], 9, np.ones(4)), made(-0.95, some, 4, np.ones(4)),
        intervals.jackknife_variance(some, np.array([True, False, True, True])), intervals.jackknife_variance(some),
        [intervals.repetition_interval(np.array(values)) for values in ([0.5], [0.5, 0.7], [0.1, 0.2, 0.9], [0.99,
        1.0])],
        refused(lambda: intervals.repetition_interval(np.zeros(0))), intervals.t_quantile(0.9, 2.5),
        intervals.t_quantiles(0.975, np.array([1.0, 7.5])), intervals.t_two_sided(np.array([0.0, -2.0, 1e200]), 3.5),
        intervals.normal_quantile(np.array([1e-30, 0.5])), intervals.normal_below(np.array([-9.0, 0.0, 1.0])),
    ]  # fmt: skip


# --- Comparisons


@case
def comparisons() -> object:
    found: list[object] = []
    for metric, c in ((F1, 2), (RIGHT, 2), (THREE[0], 3), (THREE[4], 3)):
        for n, seed in ((4, 1), (30, 2), (120, 5)):
            one, two = tables(metric, c, n, seed, 2)
            for together in (1, 4):
                made = paired.compare(one, two, metric, together=together)
                found.append([made, made.difference])
            found.append(paired.compare(one, one, metric, n=3))
            found.append(paired.compare_parts(one * (np.arange(len(one)) % 2 == 0)[:, None], one, metric, n=5))
            found.append(paired.compare_parts(np.stack([one, two]), np.stack([two, one])[:, ::-1], metric))
    one, two = numbers(RATING, 40, 3, 2)
    found += [
        paired.compare(one, two, RATING),
        paired.compare(one, one, RATING),
        paired.compare(one[:1], two[:1], RATING),
    ]
    for metric in (INDEX, LOGS):
        rows = metric.statistics(*chances(2, 30, 4))
        found += [paired.compare(rows, rows, metric), paired.compare(rows, rows[::-1], metric)]
    for a, b in ((tables(F1, 2, 30, 2, 2)), NEARLY[:2], NEARLY[[0, 3]]):
        found.append(paired.difference_interval(a, b, F1 if a.shape[1] == 6 else WIDE))
    ranked = RANKED.statistics(np.arange(9.0), np.arange(9.0) % 4)
    found.append(paired.compare(ranked, ranked, RANKED))
    return found


@case
def comparisons_without_spread() -> object:
    right, wrong = np.array([3.0, 0, 0, 3, 0, 0]), np.array([0.0, 3, 3, 0, 3, 3])
    found: list[object] = []
    for one, two in (([right] * 5, [wrong] * 5), ([right + wrong] * 5, [2 * right] * 5), ([right] * 2, [right] * 2)):
        made = paired.difference_interval(np.array(one), np.array(two), RIGHT)
        found += [made, paired.compare(np.array(two), np.array(one), F1), paired.pair_sizes(np.array([one, two]), F1)]
    part = np.array([right, right, 0 * right, 0 * right])
    rest = np.array([0 * right, 0 * right, right, wrong])
    alone = np.array([right, *[0 * right] * 3])
    found += [paired.compare_parts(a, b, RIGHT) for a, b in ((part, rest), (alone, rest), (rest, alone), (part, part))]
    return found, refused(
        lambda: paired.compare_parts(part, 0 * rest, RIGHT), lambda: paired.compare_parts(part, rest[:2], RIGHT)
    )


@case
def all_pairs() -> object:
    found: list[object] = []
    for metric, c, n, systems in ((F1, 2, 60, 4), (THREE[0], 3, 90, 3), (RIGHT, 2, 3, 2), (RIGHT, 2, 400, 5)):
        table = tables(metric, c, n, n, systems)
        table = np.concatenate([table, table[:1]])  # one stands there twice, and no cluster tells the two apart
        kind = np.arange(systems + 1) % 2
        for families in (None, np.where(kind[:, None] == kind, 1, -1)):
            made = ranking.all_differences(table, metric, families=families)
            found.append([made, made.ahead, made.separable, made.detectable(), ranking.rank_systems(made)])
    nearly = ranking.all_differences(NEARLY, WIDE)
    found += [nearly.standard_error, nearly.p_value, nearly.low]
    table = numbers(ERRORS, 30, 2, 3)
    made = ranking.all_differences(table, ERRORS)
    return [*found, made, ranking.rank_systems(made), ranking.halves_agree(table, ERRORS)]


@case
def pairs_of_known_errors() -> object:
    """With few parts and many, few systems and many: errors are drawn otherwise, of the same distribution."""
    random, found = np.random.default_rng(6), []
    for systems, parts in ((3, 4), (3, 12), (3, 13), (5, 4), (6, 4), (2, 1)):
        values, influence = random.normal(0, 1, systems).round(1), random.normal(0, 0.2, (systems, parts))
        error, blind = (
            np.sqrt(((influence[:, None] - influence) ** 2).sum(axis=2)),
            np.zeros((systems, systems), dtype=bool),
        )
        blind[0, 1] = True
        with pytest.MonkeyPatch.context() as patch:
            for name, number in (
                ("_MANY", 6),
                ("_MANY_CLUSTERS", 12),
                ("_DRAWS", 99),
                ("_FEWER_DRAWS", 49),
                ("_CHUNK", 100),
            ):
                patch.setattr(ranking, name, number)
            for hidden in (None, blind):
                made = ranking.differences(SHARE, values, error, influence, 9.0, blind=hidden)
                found.append([made.low, made.high, made.p_value, made.adjusted])
    return found


@case
def ranks_and_leads() -> object:
    found: list[object] = []
    for seed in range(4):
        one, two = tables(RIGHT, 2, 40, seed, 2)
        for metric in (RIGHT, F1):
            found += [ranking.samples_to_overtake(a, b, metric) for a, b in ((one, two), (two, one), (one, one))]
        found.append(ranking.halves_agree(np.stack([one, two, one]), RIGHT))
    labels = np.ones(6, dtype=int)
    better, worse, once = (RIGHT.statistics(labels, np.arange(6) < right) for right in (6, 3, 1))
    found += [
        ranking.samples_to_overtake(better, worse, RIGHT),
        ranking.samples_to_overtake(better, once, RIGHT),
        ranking.samples_to_overtake(better, 0 * worse, RIGHT),
    ]
    found += [ranking.halves_agree(np.stack([better, worse])[:, :size], RIGHT) for size in (1, 2, 3, 6)]
    found += [ranking.samples_to_overtake(one, NEARLY[0], WIDE) for one in NEARLY[1:]]
    found.append(ranking.halves_agree(NEARLY, WIDE))
    apart = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) > 2
    for values in ([0.5, 0.5, 0.9, 0.1, 0.7], [1.0, 2.0, 3.0, 4.0, 5.0]):
        found += [ranking.ranks(np.array(values)), ranking.tie_groups(np.array(values), apart)]
    return found


# --- Draws


@case
def bootstraps() -> object:
    found: list[object] = []
    for metrics, table in (
        ((F1, RIGHT), tables(F1, 2, 30, 1, 3)), ((THREE[0],), tables(THREE[0], 3, 40, 2, 2)), ((RATING,),
        numbers(RATING, 20, 3, 2)),
    ):  # fmt: skip
        made = draws.draw_jointly(table, metrics, resamples=7, seed=5)
        found += [made, made.of(metrics[-1]), made.value(metrics[-1]), made.interval(made.of(metrics[0])[0])]
        found += [draws.bootstrap_limits(table, metrics), draws.bootstrap_limits(table[:, :1], metrics)]
        found += [draws.first_place(made, metrics[0]), draws.draw_jointly(table, metrics, resamples=2, n=77).n]
    low = draws.draw_jointly(numbers(ERRORS, 20, 3, 3), [ERRORS], resamples=9)
    table = tables(F1, 2, 30, 1, 3)[[0, 0, 1, 2]]
    twins = draws.draw_jointly(table, [F1], resamples=30)
    with pytest.MonkeyPatch.context() as patch:  # in pieces
        patch.setattr(clusters, "_CHUNK", 30)
        patch.setattr(draws, "_AT_ONCE", 4_000)
        pieces = [draws.draw_jointly(table, [F1], resamples=30).resampled, draws.bootstrap_limits(table, [F1, RIGHT])]
    return [*found, draws.first_place(low, ERRORS), draws.first_place(twins, F1), pieces]


@case
def corrected_limits() -> object:
    random = np.random.default_rng(8)
    drawn, without = random.normal(0.5, 0.1, (6, 60)).round(2), random.normal(0.5, 0.02, (6, 8))
    drawn[2], without[3] = 0.5, 0.5
    value = np.array([0.5, 0.6, 0.5, 0.5, 0.0, 1.0])
    without[4] = 0.5 + 1e-3 * np.arange(8)
    lowest, second = np.sort(drawn, axis=1)[:, [0, 2]].T
    values = (value, lowest + 1e-9, second, np.full(6, 0.51))
    return [draws.bca_limits(drawn, one, without, same) for one in values for same in (0.0, 0.011)]


@case
def periods_and_wordings() -> object:
    pairs = [np.array(side) for side in ([1.0, 2, 3, 4], [1.0, 1, 2, 2], [5.0, 5, 5, 5], [4.0, 1, 3, 2])]
    found: list[object] = [[draws.kendall_tau_b(one, two), draws.spearman(one, two)] for one in pairs for two in pairs]
    one, two = (draws.draw_jointly(tables(F1, 2, 80, seed, 4), (F1, RIGHT), resamples=20, seed=seed) for seed in (1, 2))
    turned = replace(two, values=-two.values, resampled=-two.resampled)
    even = [draws.draw_jointly(numbers(RATING, 20, seed, 5), [RATING], resamples=40, seed=seed) for seed in range(5)]
    found += [draws.compare_periods(even[k], even[k + 1], RATING) for k in range(4)]
    found += [
        draws.compare_periods(one, other, metric)
        for other in (two, turned, replace(one, seed=9))
        for metric in (F1, RIGHT)
    ]
    found += [
        draws.order_held(np.array(scores))
        for scores in ([[0.5, 0.6], [0.9, 0.8], [0.7, 0.81], [0.4, 0.6]], [[0.1, 0.2]])
    ]
    found += [draws.wording_share(one, metric) for metric in (F1, RIGHT)]
    same_prompt = replace(one, values=one.values[:, [0, 0]], resampled=one.resampled[:, [0, 0]])
    still = replace(same_prompt, resampled=0 * same_prompt.resampled)
    found += [draws.wording_share(same_prompt, F1), draws.wording_share(still, F1)]
    found += [
        draws.joint_region(one, system, x, y) for system in (0, 2) for x, y in ((F1, RIGHT), (RIGHT, F1), (F1, F1))
    ]
    return found, refused(
        lambda: draws.compare_periods(one, one, F1), lambda: draws.compare_periods(one, same_prompt, F1),
        lambda: draws.wording_share(replace(one, values=one.values[:, :1], resampled=one.resampled[:, :1]), F1),
    )  # fmt: skip


# --- Raters, judges, writers, quarters


@case
def means_by_posts_and_raters() -> object:
    random = np.random.default_rng(2)
    values, posts, raters = random.normal(4, 2, 24).round(1), np.repeat(np.arange(8), 3), np.arange(24) % 5
    weights = random.choice([0.5, 1.0, 3.0], 24)
    found = []
    for second in (None, raters, raters % 4, raters % 3, raters % 2, posts):
        for groups in (None, posts, posts % 5, posts % 4, 0 * posts):
            made = multiway.clustered_mean(values, groups, second, weights=weights, limits=(2.5, 5.0))
            plain_mean = multiway.clustered_mean(values - 4, groups, second)
            found.append([made, made.few, made.over, plain_mean])
    for level in (0.0, 3.0):
        found += [multiway.clustered_mean(np.full(6, level), np.arange(6) // 2, np.arange(6) % 3)]
    crossed = np.array(
        [1.0, -1, 0, -1, 0, 1, 0, 1, -1]
    )  # posts and raters add up to the same: nothing but cells differs
    found.append(multiway.clustered_mean(crossed + 1, np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)))
    short = np.ones(2)
    return found, refused(
        lambda: multiway.clustered_mean(short, weights=np.ones(3)), lambda: multiway.clustered_mean(np.ones((2, 2))),
        lambda: multiway.clustered_mean(short, weights=0 * short), lambda: multiway.clustered_mean(short[:0]),
    )  # fmt: skip


@case
def metrics_by_samples_and_people() -> object:
    found = []
    for metric, c, n, seed in (
        (RIGHT, 2, 40, 1),
        (F1, 2, 60, 2),
        (macro_f1(3), 3, 90, 3),
        (matthews(3), 3, 90, 4),
        (RIGHT, 2, 6, 5),
    ):
        labels, said, _ = panel(c, n, seed)
        samples, people = np.arange(n) // 4, np.arange(n) % 7
        rows = metric.statistics(labels, said[0])
        for one, two in ((samples, people), (people, samples), (people, people), (0 * people, people)):
            found.append(multiway.clustered_metric(rows, metric, one, two))
        found.append(multiway.clustered_metric(metric.statistics(labels, labels), metric, samples, people))
    return found


@case
def rank_tests() -> object:
    one, two = np.array([1.0, 2, 2, 5, 7]), np.array([2.0, 3, 8])
    found = [
        multiway.mann_whitney(one, two, ties=ties, continuity=step) for ties in (True, False) for step in (True, False)
    ]
    found += [multiway.mann_whitney(one * 0, two * 0), multiway.mann_whitney(one, two[:1])]
    found += [
        multiway.wilcoxon(np.array(values)) for values in ([1.0, -2, 0, 3, 3], [0.0, 0.0], [-1.0], [2.0, 5, -1, 4])
    ]
    adjusted = [multiway.holm(np.array(values)) for values in ([0.01, 0.04, 0.03], [0.5, 0.9, 0.001], [0.2], [])]
    return (
        found,
        adjusted,
        refused(lambda: multiway.mann_whitney(one, two[:0]), lambda: multiway.mann_whitney(one[:0], two)),
    )


@case
def agreement_of_answers() -> object:
    found: list[object] = []
    for seed, n in ((1, 12), (2, 30), (3, 2)):
        random = np.random.default_rng(seed)
        one = random.integers(-1, 3, n)
        two = np.where(random.random(n) < 0.6, one, random.integers(-1, 3, n))
        for groups in (None, np.arange(n) // 2, np.arange(n) // 5):
            found += [agreement.answer_agreement(one, two, groups), agreement.share_interval(one == two, groups)]
        found.append(agreement.answer_agreement(one, one))
    yes = np.ones(4, dtype=np.int8)
    table = np.array([[4.0, 1, 0], [2, 3, 1], [0, 0, 5]])
    found += [
        agreement.answer_agreement(yes, yes),
        agreement.answer_agreement(yes, np.array([1, 0, 1, 1], dtype=np.int8)),
    ]
    for weighting in agreement.Weighting:
        found += [
            weighting.of(3),
            agreement.weighted_kappa(np.stack([table, table.T, 0 * table, np.diag([3.0, 0, 0])]), weighting),
        ]
        found.append(agreement.expected_disagreement(table, weighting))
    return found, refused(
        lambda: agreement.answer_agreement(yes, yes[:3]), lambda: agreement.answer_agreement(yes[:0], yes[:0]),
        lambda: agreement.answer_agreement(yes[None], yes[None]),
    )  # fmt: skip


@case
def agreement_of_raters() -> object:
    found: list[object] = []
    for seed in range(4):
        random = np.random.default_rng(seed)
        one, pairs = random.integers(0, 4, 26), np.sort(random.integers(3, 6, 26))
        two = np.clip(one + random.integers(-1, 2, 26), 0, 3)
        one[pairs == 5] = two[pairs == 5] = 2
        made = agreement.rater_agreement(one, two, 4, pairs=pairs, groups=np.arange(26) // 3)
        found += [
            made,
            made.skewed,
            agreement.rater_agreement(one, two, 4),
            agreement.rater_agreement(two[pairs == 5], one[pairs == 5], 4),
        ]
    edge = np.array([0, 1, 1, 1, 1])
    found.append(
        [agreement.rater_agreement(edge, side, 2).skewed for side in (edge, np.array([0, 0, 1, 1, 1]), edge * 0 + 1)]
    )
    return found, refused(
        lambda: agreement.rater_agreement(edge, edge[:2], 2), lambda: agreement.rater_agreement(edge[None],
        edge[None], 2),
        lambda: agreement.rater_agreement(edge[:0], edge[:0], 2),
    )  # fmt: skip


@case
def alphas() -> object:
    found: list[object] = []
    for seed in range(4):
        random = np.random.default_rng(seed)
        units = random.integers(0, 9, 25)
        answers = np.clip(units % 4 + random.integers(-1, 2, 25), 0, 4)
        for distance in agreement.Distance:
            for groups in (None, units // 2, units * 0):
                found += [agreement.krippendorff_alpha(units, answers, distance=distance, groups=groups)]
    one = np.array([0, 0, 1, 2])
    found += [agreement.krippendorff_alpha(one, answers) for answers in (one, one * 0, np.array([1, 2, 3, 4]))]
    return found, refused(
        lambda: agreement.krippendorff_alpha(one, one[:2]), lambda: agreement.krippendorff_alpha(one[None], one[None])
    )


@case
def judges() -> object:
    found: list[object] = []
    for seed in range(3):
        random = np.random.default_rng(seed)
        posts = np.sort(random.integers(0, 6, 20))
        people, judge = random.integers(0, 5, 20) * 1.0, random.integers(0, 5, 20) * 1.0
        words, own = random.integers(0, 40, 20) * 1.0, random.random(20) < 0.4
        pairs = judging.OrderedPairs.of(people, posts)
        right = pairs.right(judge)
        found += [
            pairs,
            right,
            pairs.mean(right),
            pairs.mean(2 * right - 1, right < 1, least=-1.0),
            pairs.mean(right, right > 1),
        ]
        found += [judging.rank_correlation(judge, people, groups) for groups in (posts, posts * 0, posts % 2)]
        found += [
            judging.rank_correlation(judge * 0, people, posts),
            judging.rank_correlation(judge, people * 0, posts),
        ]
        found += [
            judging.length_bias(judge, people, words, posts),
            judging.length_bias(judge, people * 0, words, posts),
        ]
        found += [
            judging.length_bias(judge, people, words * 0 + 9, posts),
            judging.self_preference(judge, people, own, posts),
        ]
        found += [
            judging.self_preference(judge, people, side, posts)
            for side in (own & (posts == 2), own | True, own & False)
        ]
        first, second = random.integers(0, 3, 20), random.integers(0, 3, 20)
        found += [judging.position_bias(first, second, posts), judging.position_bias(first * 0, second * 0, posts)]
        for rest in (random.normal(2, 1, 30), random.normal(2, 1, 2), np.array([2.0]), np.zeros(0)):
            found += [judging.powered_mean(people, judge + people, rest), judging.powered_mean(people, -people, rest)]
            found.append(judging.powered_mean(people[:2], judge[:2] * 0 + 1, rest * 0 + 1, limits=(1.0, 2.0)))
    two = np.ones(2)
    return found, refused(
        lambda: judging.powered_mean(two[:1], two[:1], two), lambda: judging.powered_mean(two, two[:1], two)
    )


@case
def writers() -> object:
    found: list[object] = []
    for seed, n in ((1, 400), (2, 700)):
        random = np.random.default_rng(seed)
        post, rater, writer = random.integers(0, 8, n), random.integers(0, 12, n), random.integers(0, 5, n)
        writer = np.where(post < 6, np.minimum(writer, 2), np.maximum(writer, 3))  # two islands
        both = equal_exposure.rated_both(post, rater, writer)
        values, beside = random.normal(size=both.place.size).round(2), random.integers(0, 2, both.place.size) * 1.0
        for reference, other in ((0, None), (1, beside), (4, beside), (2, (both.writer == 1) * 1.0)):
            made = equal_exposure.writer_effects(both, values, 6, reference=reference, beside=other)
            parts = made.parts @ made.parts.T  # the sides of its vectors are free
            found += [both.place[:9], [getattr(made, f.name) for f in fields(made) if f.name != "parts"], parts,
                      made.compared, made.limits(), made.limits(0.5)]  # fmt: skip
    least = np.repeat(np.arange(5), 2)
    for raters in (4, 5):
        once = equal_exposure.rated_both(
            np.zeros(10, int)[: 2 * raters], least[: 2 * raters], np.arange(10)[: 2 * raters] % 2
        )
        found += [
            once.place,
            equal_exposure.writer_effects(once, np.arange(2.0 * raters), 2, reference=0) if raters > 4 else 0,
        ]
    whole = equal_exposure.rated_both(*(np.ravel(part) for part in np.mgrid[:3, :6, :2]))
    still = equal_exposure.writer_effects(whole, 1.0 - whole.writer, 2, reference=0)
    return (
        found,
        still.value,
        still.error,
        still.limits(),
        refused(lambda: equal_exposure.rated_both(least, least[:2], least)),
    )


@case
def quarters() -> object:
    found: list[object] = []
    for seed, systems, count in ((1, 5, 4), (2, 3, 2), (3, 4, 9), (4, 2, 1)):
        random = np.random.default_rng(seed)
        there = random.random((systems, count)) < 0.7
        there[:, 0] = there[0] = True
        s, q = np.nonzero(there)
        scores = random.uniform(0.3, 0.9, s.size).round(3)
        for variances in (None, random.uniform(1e-4, 1e-2, s.size)):
            fit = two_way.two_way(scores, s, q, variances=variances)
            found += [
                fit,
                fit.few_quarters,
                *(fit.limits_within(0, ends) for ends in ((0.0, 1.0), (-1.0, 1.0), (0.0, 0.1))),
            ]
    sure = two_way.two_way(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    found += [sure.limits_within(0), sure.limits_within(1)]
    found.append(
        [two_way.connected_parts(np.array(s), np.array(q)) for s, q in (([0, 1, 2], [0, 1, 0]), ([0, 1, 1], [1, 1, 0]))]
    )
    one = np.ones(2)
    zero, up = np.zeros(2, dtype=int), np.arange(2)
    return found, refused(
        lambda: two_way.two_way(one[:0], zero[:0], zero[:0]), lambda: two_way.two_way(one[:1], up, zero),
        lambda: two_way.two_way(one[None], up[None], zero[None]), lambda: two_way.two_way(one, up, zero[:1]),
        lambda: two_way.two_way(one, 2 * up, zero), lambda: two_way.two_way(one, up, zero + 1),
        lambda: two_way.two_way(one, zero, zero), lambda: two_way.two_way(one, up, up),
        lambda: two_way.two_way(one, up, zero, variances=0 * one), lambda: two_way.two_way(one, up, zero,
        variances=one[:1]),
    )  # fmt: skip


# --- Calibration


@case
def calibrations() -> object:
    found: list[object] = []
    for seed, n in ((1, 12), (2, 40), (3, 5)):
        random = np.random.default_rng(seed)
        said = random.choice([random.random(n).round(2), random.integers(0, 11, n) / 10])
        labels = (random.random(n) < said).astype(np.int8)
        for groups in (None, np.arange(n) // 2, np.zeros(n, dtype=np.int64)):
            found += [calibration.calibrate(labels, said, groups, seed=seed, bins=b) for b in (10, 4)]
            found.append(calibration.compare_calibrations((labels, said), (1 - labels, said**2), groups, bins=5))
        found += [calibration.area_under_curve(labels, said), calibration.area_under_curve(labels * 0, said)]
    sure = np.array([0, 1] * 6, dtype=np.int8)
    found += [calibration.calibrate(sure, 0.8 * sure + 0.1, np.arange(12) // k) for k in (1, 2, 6)]
    half = np.full(2, 0.5)
    return found, refused(
        lambda: calibration.calibrate(sure, half), lambda: calibration.calibrate(sure[:2], half + 0.6),
        lambda: calibration.calibrate(sure[:2], half - 0.6), lambda: calibration.calibrate(sure[:2] + 1, half),
        lambda: calibration.compare_calibrations((sure, 1.0 * sure), (sure[:2], half)),
        lambda: calibration.compare_calibrations((sure[:2], half), (sure[:2], half + 1)),
    )  # fmt: skip


@pytest.mark.parametrize("name", case.named)
def test_every_value_is_as_written_down(name: str) -> None:
    case.check(name)


if __name__ == "__main__":
    case.write()
