"""Whether orders hold over periods."""

from __future__ import annotations

import numpy as np
import pytest
from counting import M, draw_jointly
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hellofresh.stats.draws import Draws, compare_periods, kendall_tau_b, order_held, spearman
from hellofresh.stats.intervals import Method

SCORES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=15)


@given(SCORES)
def test_both_coefficients_are_those_of_scipy_and_0_where_all_are_equal(pairs: list[tuple[int, int]]) -> None:
    one, two = np.array(pairs, dtype=np.float64).T
    if np.ptp(one) == 0 or np.ptp(two) == 0:
        assert (kendall_tau_b(one, two), spearman(one, two)) == (0, 0)
    else:
        assert kendall_tau_b(one, two) == pytest.approx(stats.kendalltau(one, two).statistic, abs=1e-9)
        assert spearman(one, two) == pytest.approx(stats.spearmanr(one, two).statistic, abs=1e-9)


@given(SCORES)
def test_reversing_an_order_flips_the_sign_and_many_are_computed_as_one(pairs: list[tuple[int, int]]) -> None:
    one, two = np.array(pairs, dtype=np.float64).T
    for coefficient in (kendall_tau_b, spearman):
        assert coefficient(one, -two) == pytest.approx(-coefficient(one, two))
        both = coefficient(np.stack([one, two]), np.stack([two, two]))
        assert both == pytest.approx([float(coefficient(one, two)), float(coefficient(two, two))])


def period(rights: list[float], seed: int, n: int = 800) -> Draws:
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, n).astype(np.int8)
    said = [np.where(random.random(n) < right, labels, 1 - labels) for right in rights]
    groups = random.integers(0, n // 3, n)
    return draw_jointly(labels, np.array(said, dtype=np.int8), groups, resamples=1000, seed=seed)


def test_systems_far_apart_keep_their_order_and_the_intervals_hold_the_estimates() -> None:
    rights = [0.55, 0.65, 0.75, 0.85, 0.95]
    found = compare_periods(period(rights, 1), period(rights, 2), M["f1"])
    assert (found.kendall, found.spearman) == (1, 1)
    assert 0.5 < found.kendall_interval.low <= found.kendall_interval.high <= 1
    assert (found.kendall_interval.method, found.kendall_interval.n) == (Method.MIRRORED, 1600)
    turned = compare_periods(period(rights, 1), period(rights[::-1], 2), M["f1"])
    assert (turned.kendall, turned.spearman) == (-1, -1)


def test_equal_systems_agree_on_nothing_for_sure() -> None:
    found = compare_periods(period([0.7] * 8, 3), period([0.7] * 8, 4), M["f1"])
    assert found.kendall_interval.low < 0 < found.kendall_interval.high


def test_periods_that_do_not_belong_together_are_refused() -> None:
    one = period([0.5, 0.6], 1, 60)
    with pytest.raises(ValueError, match="same systems"):
        compare_periods(one, period([0.5, 0.6, 0.7], 2, 60), M["f1"])
    with pytest.raises(ValueError, match="different seeds"):
        compare_periods(one, period([0.5, 0.6], 1, 60), M["f1"])


def test_neighbours_hold_where_the_better_is_better_in_every_period() -> None:
    found = order_held(np.array([[0.5, 0.6], [0.9, 0.8], [0.7, 0.81], [0.4, 0.6]]))
    assert found.tolist() == [False, True, False]  # crossed; always better; equal once
    assert order_held(np.array([[0.5, 0.6]])).size == 0


@given(st.lists(st.floats(0, 1), min_size=2, max_size=10, unique=True))
def test_one_period_holds_every_neighbour(scores: list[float]) -> None:
    assert order_held(np.array(scores)[:, None]).all()
