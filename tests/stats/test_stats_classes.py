"""Statistics of several classes, and of means of a number: the same identities as with two classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.draws import draw_jointly, first_place
from hellofresh.stats.intervals import metric_interval
from hellofresh.stats.metrics import Metric, class_metrics, macro_f1, matthews, mean
from hellofresh.stats.paired import compare
from hellofresh.stats.ranking import all_differences, rank_systems

METRICS = {c: class_metrics([str(number) for number in range(c)]) for c in range(2, 8)}
ERRORS = mean("errors", (0.0, 4.0), higher_is_better=False)


def field(seed: int, c: int, systems: int = 3, n: int = 90) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels with skew, what systems said with silence, and groups."""
    random = np.random.default_rng(seed)
    labels = random.choice(c, n, p=random.dirichlet(np.full(c, 2.0))).astype(np.int8)
    right = random.random((systems, n)) < np.linspace(0.4, 0.8, systems)[:, None]
    said = np.where(right, labels, random.integers(0, c, (systems, n))).astype(np.int8)
    said[random.random(said.shape) < 0.05] = -1
    return labels, said, random.integers(0, 30, n)


def tables_of(metric: Metric, labels: np.ndarray, said: np.ndarray, groups: np.ndarray) -> np.ndarray:
    return np.stack([cluster_tables(metric.statistics(labels, one), groups) for one in said])


CLASSES = st.integers(2, 7)
SEEDS = st.integers(0, 10**6)


@settings(max_examples=20, deadline=None)
@given(SEEDS, CLASSES, st.randoms(use_true_random=False))
def test_the_order_of_classes_and_samples_changes_neither_macro_f1_nor_its_interval(seed: int, c: int, random) -> None:
    labels, said, groups = field(seed, c, 1)
    order, places = list(range(c)), list(range(labels.size))
    random.shuffle(order)
    random.shuffle(places)
    renamed = np.array([*order, -1], dtype=np.int8)  # the last stands for silence, -1
    metric = macro_f1(c)
    (one,), (two,) = (tables_of(metric, labels, said, groups),
                      tables_of(metric, renamed[labels][places], renamed[said][:, places], groups[places]))  # fmt: skip
    first, second = (metric_interval(table, metric) for table in (one, two))
    assert (first.low, first.high) == pytest.approx((second.low, second.high), abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(SEEDS, CLASSES)
def test_exchanging_two_systems_flips_the_sign_and_nothing_else(seed: int, c: int) -> None:
    labels, said, groups = field(seed, c, 2)
    for metric in (macro_f1(c), matthews(c)):
        one, two = tables_of(metric, labels, said, groups)
        there, back = compare(one, two, metric), compare(two, one, metric)
        assert there.difference == -back.difference
        assert (there.interval.low, there.interval.high) == pytest.approx((-back.interval.high, -back.interval.low))
        assert (there.interval.low > 0 or there.interval.high < 0) == (there.adjusted < 0.05)
        assert compare(one, one, metric).p_value == 1
        assert compare(one, one, metric).interval.high > 0  # they may differ where nobody looked


@settings(max_examples=15, deadline=None)
@given(SEEDS, CLASSES)
def test_all_differences_are_those_of_pairs_and_first_places_add_up_to_one(seed: int, c: int) -> None:
    labels, said, groups = field(seed, c, 3)
    metric = macro_f1(c)
    tables = tables_of(metric, labels, said, groups)
    found = all_differences(tables, metric)
    pair = compare(tables[0], tables[1], metric, together=3)
    alone = all_differences(tables[:2], metric)
    single = compare(tables[0], tables[1], metric)
    assert (alone.low[0, 1], alone.high[0, 1]) == pytest.approx((single.interval.low, single.interval.high))
    assert alone.adjusted[0, 1] == pytest.approx(single.adjusted) == pytest.approx(found.p_value[0, 1])
    assert pair.interval.low - 1e-9 <= found.low[0, 1] <= found.high[0, 1] <= pair.interval.high + 1e-9
    assert found.adjusted[0, 1] <= pair.adjusted + 1e-12
    assert (found.detectable()[0, 1] > found.standard_error[0, 1]) and found.detectable()[0, 0] == 0
    draws = draw_jointly(tables, [metric], resamples=100)
    assert first_place(draws, metric).sum() == pytest.approx(1)
    assert draws.value(metric) == pytest.approx([float(metric.value(table.sum(axis=0))) for table in tables])


def test_where_lower_is_better_the_lowest_is_first() -> None:
    random = np.random.default_rng(1)
    values = np.clip(np.array([[3.0], [1.0], [2.0]]) + random.normal(0, 0.2, (3, 120)), 0, 4)
    tables = np.stack([cluster_tables(ERRORS.statistics(np.ones(120), own), np.arange(120) // 2) for own in values])
    ranking = rank_systems(all_differences(tables, ERRORS))
    assert ranking.rank.tolist() == [3, 1, 2]
    assert (ranking.low.tolist(), ranking.high.tolist()) == ([3, 1, 2], [3, 1, 2])
    assert ranking.tie_group.tolist() == [3, 1, 2]
    assert first_place(draw_jointly(tables, [ERRORS], resamples=50), ERRORS).tolist() == [0, 1, 0]


def test_the_interval_of_a_mean_is_that_of_t_where_no_limit_is_near() -> None:
    values = np.random.default_rng(2).normal(2.0, 0.3, 2_000).clip(0, 4)
    made = metric_interval(cluster_tables(ERRORS.statistics(np.ones(2_000), values)), ERRORS)
    low, high = scipy_stats.t.interval(0.95, 1_999, values.mean(), values.std(ddof=1) / np.sqrt(2_000))
    assert (made.low, made.high) == pytest.approx((low, high), abs=2e-3)
