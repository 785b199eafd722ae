"""Stated probabilities against what came true."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from hellofresh.stats.calibration import calibrate

ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from([0, 0.05, 0.1, 0.3, 0.5, 0.55, 0.9, 1]), st.integers(0, 4)),
    min_size=1, max_size=40,
)  # fmt: skip


def stated(n: int, seed: int, *, power: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels drawn with the probabilities; stated are these to a power, so 1 is calibrated."""
    random = np.random.default_rng(seed)
    confidences = random.random(n)
    labels = (random.random(n) < confidences).astype(np.int8)
    return labels, confidences**power, random.integers(0, n // 3, n)


@settings(max_examples=60)
@given(ROWS)
def test_scores_are_those_of_scikit_learn_and_the_parts_add_up(rows) -> None:
    labels, confidences, groups = np.array(rows).T
    found = calibrate(labels.astype(np.int8), confidences, groups.astype(np.int64))
    assert found.brier == pytest.approx(brier_score_loss(labels, confidences, pos_label=1), abs=1e-12)
    total = found.reliability - found.resolution + found.uncertainty + found.within
    assert total == pytest.approx(found.brier, abs=1e-12)
    if labels.min() != labels.max():
        assert found.auc == pytest.approx(roc_auc_score(labels, confidences), abs=1e-12)
    else:
        assert np.isnan(found.auc)
        assert (found.auc_interval.low, found.auc_interval.high) == (0, 1)
    parts = (found.reliability, found.reliability_interval, 1), (found.resolution, found.resolution_interval, 0.25)
    for value, interval, most in (*parts, (found.brier, found.brier_interval, 1), (0.5, found.auc_interval, 1)):
        assert 0 <= interval.low <= interval.high <= most and interval.n == len(rows)
        assert most != 0.25 or interval.low - 1e-12 <= value <= interval.high + 1e-12
        assert interval.low < interval.high
    for error in (found.ece, found.ece_mass):
        assert 0 <= error.debiased <= error.value <= 1
        assert np.isnan(error.p_value) if np.unique(groups).size == 1 else 0 < error.p_value <= 1
    assert sum(step.count for step in found.curve) == len(rows)
    assert all(step.interval.low <= step.share <= step.interval.high for step in found.curve)


def test_the_curve_is_that_of_scikit_learn() -> None:
    labels, confidences, groups = stated(900, 1)
    found = calibrate(labels, confidences, groups)
    share, mean = calibration_curve(labels, confidences, n_bins=10)
    assert [step.share for step in found.curve] == pytest.approx(share)
    assert [step.confidence for step in found.curve] == pytest.approx(mean)


def by_hand(labels, confidences, bins: int, *, equal_mass: bool) -> Fraction:
    """The definition, in whole numbers: bins by edges, an edge belonging to the bin above it."""
    exact = [Fraction(float(value)) for value in confidences]
    if equal_mass:
        order = sorted(exact)
        last = len(order) - 1
        edges = sorted({order[-(-last * step // bins)] for step in range(1, bins)})
    else:
        edges = [Fraction(float(step / bins)) for step in range(1, bins)]
    found: dict[int, list[tuple[int, Fraction]]] = {}
    for label, value in zip(labels, exact, strict=True):
        found.setdefault(sum(value >= edge for edge in edges), []).append((int(label), value))
    gaps = (abs(sum(value for _, value in part) - sum(label for label, _ in part)) for part in found.values())
    return sum(gaps, Fraction(0)) / len(exact)


@pytest.mark.parametrize("bins", [10, 15])
@settings(max_examples=20)
@given(st.integers(0, 2**31), st.integers(1, 90))
def test_errors_equal_an_oracle_by_hand_with_10_and_15_bins_of_either_kind(bins: int, seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    confidences = random.choice([random.random(n), random.integers(0, 21, n) / 20])
    labels = (random.random(n) < 0.6).astype(np.int8)
    found = calibrate(labels, confidences, bins=bins)
    assert abs(found.ece.value - float(by_hand(labels, confidences, bins, equal_mass=False))) <= 1e-12
    assert abs(found.ece_mass.value - float(by_hand(labels, confidences, bins, equal_mass=True))) <= 1e-12
    squares = [(Fraction(float(value)) - int(label)) ** 2 for label, value in zip(labels, confidences, strict=True)]
    assert abs(found.brier - float(sum(squares) / n)) <= 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_of_auc_is_wilsons_by_the_jackknife_over_groups(seed: int) -> None:
    labels, confidences, groups = stated(600, seed)
    found = calibrate(labels, confidences, groups).auc_interval
    without = [roc_auc_score(labels[groups != g], confidences[groups != g]) for g in np.unique(groups)]
    value, variance = roc_auc_score(labels, confidences), (len(without) - 1) * np.var(without)
    samples = value * (1 - value) / variance
    low, high = proportion_confint(value * samples, samples, method="wilson")
    assert (found.low, found.high) == pytest.approx((low, high), abs=2e-3)
    assert calibrate(labels, labels * 1.0, labels.astype(np.int64)).auc_interval.low == 0
