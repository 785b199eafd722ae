"""Agreement, parts of the samples, periods, repetitions and wordings, and quarters that not all took part in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.api import OLS

from hellofresh.stats.agreement import answer_agreement
from hellofresh.stats.draws import (
    joint_region,
    kendall_tau_b,
    spearman,
)
from hellofresh.stats.intervals import repetition_interval
from hellofresh.stats.two_way import two_way
from tests.stats.counting import M, draw_jointly

answers = st.lists(st.sampled_from([-2, -1, 0, 1]), min_size=4, max_size=30)


@settings(max_examples=25)
@given(first=answers, seed=st.integers(0, 99))
def test_agreement_is_that_of_scikit_learn_and_the_same_both_ways(first: list[int], seed: int) -> None:
    one = np.array(first, dtype=np.int8)
    two = np.random.default_rng(seed).permutation(one)
    found, back = answer_agreement(one, two), answer_agreement(two, one)
    assert found.raw == pytest.approx((one == two).mean())
    assert (found.raw, found.kappa) == pytest.approx((back.raw, back.kappa))
    if len(set(first)) > 1:
        assert found.kappa == pytest.approx(cohen_kappa_score(one, two), abs=1e-9)
    assert found.kappa_interval.low <= found.kappa <= found.kappa_interval.high


def test_the_ellipse_holds_its_share_of_resamples() -> None:
    random = np.random.default_rng(5)
    labels = random.integers(0, 2, 600).astype(np.int8)
    said = np.where(random.random(600) < 0.75, labels, 1 - labels).astype(np.int8)
    draws = draw_jointly(labels, said[None], metrics=("precision", "recall"), resamples=4_000)
    region = joint_region(draws, 0, M["recall"], M["precision"])
    turn = np.deg2rad(region.angle)
    x, y = draws.of(M["recall"])[0] - region.x, draws.of(M["precision"])[0] - region.y
    along, across = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
    inside = (2 * along / region.width) ** 2 + (2 * across / region.height) ** 2 <= 1
    assert inside.mean() == pytest.approx(0.95, abs=0.015)
    assert region.width >= region.height > 0


# --- Whether orders hold over periods.


SCORES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=15)


@given(SCORES)
def test_both_coefficients_are_those_of_scipy_and_0_where_all_are_equal(pairs: list[tuple[int, int]]) -> None:
    one, two = np.array(pairs, dtype=np.float64).T
    if np.ptp(one) == 0 or np.ptp(two) == 0:
        assert (kendall_tau_b(one, two), spearman(one, two)) == (0, 0)
    else:
        assert kendall_tau_b(one, two) == pytest.approx(stats.kendalltau(one, two).statistic, abs=1e-9)
        assert spearman(one, two) == pytest.approx(stats.spearmanr(one, two).statistic, abs=1e-9)


# --- The interval over repetitions is Student's, and says how a run differs from itself.


VALUES = st.lists(st.floats(0.0, 1.0).map(lambda value: round(value, 6)), min_size=2, max_size=20)


@given(VALUES)
def test_it_is_the_interval_of_scipy(values: list[float]) -> None:
    found = repetition_interval(np.array(values), limits=(-100, 100))
    assert found.low is not None and found.high is not None
    spread = stats.sem(values)
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), spread) if spread else [np.mean(values)] * 2
    assert (found.mean, found.repetitions) == (pytest.approx(np.mean(values)), len(values))
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


# --- Systems over quarters that not all took part in.


def panel(seed: int, systems: int = 8, quarters: int = 6, noise: float = 0.02) -> tuple[np.ndarray, ...]:
    """Scores, systems, quarters, and the true effects; a third is missing, and the first quarter whole."""
    random = np.random.default_rng(seed)
    system, quarter = random.normal(0.6, 0.1, systems), random.normal(0, 0.1, quarters)
    quarter -= quarter.mean()
    there = random.random((systems, quarters)) < 2 / 3
    there[:, 0] = there[0] = True
    s, q = np.nonzero(there)
    return system[s] + quarter[q] + random.normal(0, noise, s.size), s, q, system, quarter


@pytest.mark.parametrize("seed", range(5))
def test_estimates_and_clustered_errors_are_those_of_statsmodels(seed: int) -> None:
    scores, systems, quarters, *_ = panel(seed)
    found = two_way(scores, systems, quarters)
    s, q = systems.max() + 1, quarters.max() + 1
    quarter_columns = np.eye(q)[quarters]
    design = np.concatenate([np.eye(s)[systems], quarter_columns[:, :-1] - quarter_columns[:, -1:]], axis=1)
    theirs = OLS(scores, design).fit(cov_type="cluster", cov_kwds={"groups": quarters}, use_t=True)
    assert found.system == pytest.approx(theirs.params[:s], abs=1e-9)
    assert found.system_error == pytest.approx(theirs.bse[:s], abs=1e-9)
