"""Comparing two systems, of two classes and of many: identities, and other people's code."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hellofresh.stats import paired
from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.intervals import wilson_limits
from hellofresh.stats.metrics import Metric, accuracy, macro_f1, matthews
from hellofresh.stats.ranking import differences
from tests.stats.counting import compare

ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(-1, 1), st.integers(-1, 1), st.integers(0, 5)), min_size=1, max_size=30
)


def split(rows: list[tuple[int, int, int, int]]) -> list[np.ndarray]:
    return list(np.array(rows).T)


def simulated(n: int, seed: int, *rights: float) -> tuple[np.ndarray, list[np.ndarray]]:
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, n).astype(np.int8)
    return labels, [np.where(random.random(n) < right, labels, 1 - labels).astype(np.int8) for right in rights]


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, together=st.integers(1, 200))
def test_the_interval_leaves_0_out_exactly_where_the_adjusted_p_value_is_below_5_percent(rows, together: int) -> None:
    labels, one, two, groups = split(rows)
    found = compare(labels, one, two, groups, together=together)
    assert (found.interval.low > 0 or found.interval.high < 0) == (found.adjusted < 0.05)
    assert found.adjusted == pytest.approx(min(1.0, together * found.p_value))
    alone = compare(labels, one, two, groups)
    assert found.interval.low <= alone.interval.low <= alone.interval.high <= found.interval.high


def test_with_groups_of_one_it_is_the_paired_t_test() -> None:
    labels, (one, two) = simulated(200, 5, 0.75, 0.65)
    found = compare(labels, one, two, metric="accuracy")
    theirs = stats.ttest_rel((one == labels).astype(float), (two == labels).astype(float))
    low, high = theirs.confidence_interval(0.95)
    assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-6)
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize("n", [10, 40, 400])
def test_two_that_agree_everywhere_may_still_differ_where_nobody_looked(n: int) -> None:
    labels, (said,) = simulated(n, 3, 0.8)
    found = compare(labels, said, said, metric="accuracy").interval
    _, (high,) = wilson_limits(np.zeros(1), np.full(1, n), np.full(1, stats.t.ppf(0.975, n - 1)))
    assert found.high == pytest.approx(min(high, np.bincount(2 * labels + said, minlength=4).max() / n))
    assert compare(labels, said, said, metric="f1").interval.high > 0


def test_the_detectable_difference_is_found_with_its_power() -> None:
    # A difference of this size, in standard errors, with normal noise and known error, is found in 80% of cases.
    def detectable(effective: float, power: float = 0.8) -> float:
        alone = np.full((2, 2), -1)  # a pair of no family: nothing is drawn
        error = np.array([[0.0, 0.02], [0.02, 0.0]])
        found = differences(accuracy(2), np.zeros(2), error, np.zeros((2, 1)), effective, families=alone)
        return float(found.detectable(power)[0, 1])

    assert detectable(1e8) == pytest.approx(0.02 * (1.959964 + 0.841621), rel=1e-5)
    assert detectable(10) > detectable(100) > detectable(1e8)
    assert detectable(50, power=0.9) > detectable(50)


# --- Statistics of several classes, and of means of a number: the same identities as with two classes.


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
@given(SEEDS, CLASSES)
def test_exchanging_two_systems_flips_the_sign_and_nothing_else(seed: int, c: int) -> None:
    labels, said, groups = field(seed, c, 2)
    for metric in (macro_f1(c), matthews(c)):
        one, two = tables_of(metric, labels, said, groups)
        there, back = paired.compare(one, two, metric), paired.compare(two, one, metric)
        assert there.difference == -back.difference
        assert (there.interval.low, there.interval.high) == pytest.approx((-back.interval.high, -back.interval.low))
        assert (there.interval.low > 0 or there.interval.high < 0) == (there.adjusted < 0.05)
        assert paired.compare(one, one, metric).p_value == 1
        assert paired.compare(one, one, metric).interval.high > 0  # they may differ where nobody looked
