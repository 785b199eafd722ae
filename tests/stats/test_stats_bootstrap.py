"""The bootstrap's interval is the textbook's, the same whoever stands beside, and knows nothing that is not there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as theirs

from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.draws import BOOTSTRAP_RESAMPLES, bootstrap_limits, draw_jointly
from hellofresh.stats.intervals import metric_interval
from hellofresh.stats.metrics import class_metrics, forecast_metrics, macro_f1, mean, two_class_metrics
from verifier.statistics import OwnMetric, bootstrap_interval, interval

METRICS = two_class_metrics()
ACCURACY = METRICS[3]


def tables(seed: int, systems: int = 3, clusters: int = 60, size: int = 2) -> np.ndarray:
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, clusters * size)
    said = np.where(random.random((systems, labels.size)) < 0.75, labels, 1 - labels)
    rows = np.stack([ACCURACY.statistics(labels, one) for one in said])
    return rows.reshape(systems, clusters, size, -1).sum(axis=2)


def test_limits_are_those_of_scipy_for_the_same_resamples() -> None:
    right = np.random.default_rng(1).random(80) < 0.8
    labels = np.arange(80) % 2
    table = ACCURACY.statistics(labels, np.where(right, labels, 1 - labels))[None]
    draws = draw_jointly(table, [ACCURACY], resamples=BOOTSTRAP_RESAMPLES).of(ACCURACY)[0]
    known = theirs.bootstrap((right.astype(float),), np.mean, n_resamples=9, method="percentile", vectorized=True)
    known.bootstrap_distribution = draws
    expected = theirs.bootstrap(
        (right.astype(float),), np.mean, n_resamples=0, bootstrap_result=known, method="BCa", vectorized=True
    ).confidence_interval
    assert bootstrap_limits(table, [ACCURACY])[0, 0] == pytest.approx(list(expected), abs=1e-12)


def as_verifier(table: np.ndarray) -> np.ndarray:
    """The verifier has the columns of all classes by what they count."""
    return table.reshape(len(table), -1, 3).transpose(0, 2, 1).reshape(len(table), -1)


@pytest.mark.parametrize("seed", range(6))
def test_the_verifier_has_the_same_intervals_of_its_own(seed: int) -> None:
    random, n, c = np.random.default_rng(seed), 60 + 40 * seed, 2 + seed % 3
    labels, groups, names = random.integers(0, c, n), np.sort(random.integers(0, n // 3, n)), "abcd"[:c]
    said = np.where(random.random(n) < 0.7, labels, random.integers(-1, c, n))
    chances = random.dirichlet(np.ones(c), n)
    for metric in class_metrics(names):
        table = cluster_tables(metric.statistics(labels, said), groups)
        made = metric_interval(table, metric)
        _, *limits = interval(as_verifier(table), OwnMetric.of_classes(metric.name, tuple(names)))
        assert (made.low, made.high) == pytest.approx(limits, abs=1e-9), metric.name
    for metric in forecast_metrics(c):
        table = cluster_tables(metric.statistics(labels, chances), groups)
        made = metric_interval(table, metric)
        _, *limits = interval(table, OwnMetric.of_classes(metric.name, tuple(names)))
        assert (made.low, made.high) == pytest.approx(limits, abs=1e-9), metric.name


@pytest.mark.parametrize("seed", range(4))
def test_the_verifier_computes_the_same_on_its_own(seed: int) -> None:
    classes, found = ("no", "yes"), tables(seed, clusters=25 + seed)
    mine = bootstrap_limits(found, METRICS)
    for row, metric in enumerate(METRICS):
        for number, table in enumerate(found):
            theirs_limits = bootstrap_interval(as_verifier(table), OwnMetric.of_classes(metric.name, classes))
            assert theirs_limits == pytest.approx(tuple(mine[row, number]), abs=1e-12)
    random = np.random.default_rng(seed)
    labels, said = random.integers(0, 3, 90), random.integers(0, 3, 90)
    metric = macro_f1(3)
    table = metric.statistics(labels, said)
    theirs_limits = bootstrap_interval(as_verifier(table), OwnMetric.of_classes("macro_f1", ("a", "b", "c")))
    assert theirs_limits == pytest.approx(tuple(bootstrap_limits(table[None], [metric])[0, 0]), abs=1e-12)
    ratings = random.normal(6, 2, 40).clip(0, 10)
    rows = np.stack([ratings, np.ones(40), ratings**2], axis=1)
    theirs_limits = bootstrap_interval(rows, OwnMetric("rating", (), (0.0, 10.0)))
    mine = bootstrap_limits(rows[None], [mean("rating", (0.0, 10.0))])[0, 0]
    assert theirs_limits == pytest.approx(tuple(mine), abs=1e-9)
