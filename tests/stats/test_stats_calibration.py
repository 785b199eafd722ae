"""Stated probabilities against what came true."""

from __future__ import annotations

from dataclasses import astuple
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, roc_auc_score

from hellofresh.stats.calibration import calibrate, compare_calibrations

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
    found = calibrate(labels.astype(np.int8), confidences, groups.astype(np.int64), resamples=40)
    assert found.brier == pytest.approx(brier_score_loss(labels, confidences, pos_label=1), abs=1e-12)
    total = found.reliability - found.resolution + found.uncertainty + found.within
    assert total == pytest.approx(found.brier, abs=1e-12)
    if labels.min() != labels.max():
        assert found.auc == pytest.approx(roc_auc_score(labels, confidences), abs=1e-12)
    else:
        assert np.isnan(found.auc)
        assert (found.auc_interval.low, found.auc_interval.high) == (0, 1)
    for interval in (found.brier_interval, found.auc_interval):
        assert 0 <= interval.low <= interval.high <= 1
        assert interval.n == len(rows)
    for error in (found.ece, found.ece_mass):
        assert 0 <= error.debiased <= error.value <= 1
        assert np.isnan(error.p_value) if np.unique(groups).size == 1 else 0 < error.p_value <= 1
    assert sum(step.count for step in found.curve) == len(rows)
    assert all(step.interval.low <= step.share <= step.interval.high for step in found.curve)


def test_the_curve_is_that_of_scikit_learn() -> None:
    labels, confidences, groups = stated(900, 1)
    found = calibrate(labels, confidences, groups, resamples=20)
    share, mean = calibration_curve(labels, confidences, n_bins=10)
    assert [step.share for step in found.curve] == pytest.approx(share)
    assert [step.confidence for step in found.curve] == pytest.approx(mean)


def test_with_one_value_a_bin_nothing_is_left_within() -> None:
    random = np.random.default_rng(2)
    confidences = random.integers(0, 10, 500) / 10 + 0.05
    labels = (random.random(500) < confidences).astype(np.int8)
    found = calibrate(labels, confidences, resamples=20)
    assert found.within == pytest.approx(0, abs=1e-12)
    # Murphy's reliability over the values themselves.
    parts = [(labels[confidences == value].mean() - value, (confidences == value).mean()) for value in set(confidences)]
    assert found.reliability == pytest.approx(sum(share * apart**2 for apart, share in parts))


@settings(max_examples=30)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_samples_and_the_names_of_groups_do_not_matter(rows, random) -> None:
    shuffled = [(label, said, group) for label, said, group in rows]
    random.shuffle(shuffled)
    found = []
    for part in (rows, shuffled):
        labels, confidences, groups = np.array(part).T
        found.append(calibrate(labels.astype(np.int8), confidences, groups.astype(np.int64), resamples=30))
    for one, two in ((found[0].ece, found[1].ece), (found[0].ece_mass, found[1].ece_mass)):
        assert astuple(one) == pytest.approx(astuple(two), nan_ok=True)
    for name in ("brier", "auc", "resolution"):
        assert getattr(found[0], name) == pytest.approx(getattr(found[1], name), nan_ok=True)
    assert found[0].brier_interval.low == pytest.approx(found[1].brier_interval.low)
    assert found[0].auc_interval.high == pytest.approx(found[1].auc_interval.high)


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
    found = calibrate(labels, confidences, bins=bins, resamples=2)
    assert abs(found.ece.value - float(by_hand(labels, confidences, bins, equal_mass=False))) <= 1e-12
    assert abs(found.ece_mass.value - float(by_hand(labels, confidences, bins, equal_mass=True))) <= 1e-12
    squares = [(Fraction(float(value)) - int(label)) ** 2 for label, value in zip(labels, confidences, strict=True)]
    assert abs(found.brier - float(sum(squares) / n)) <= 1e-12


def test_a_difference_is_that_of_the_two_and_its_interval_is_paired() -> None:
    labels, confidences, groups = stated(600, 5)
    bold = np.clip(confidences * 1.3, 0, 1)
    gap = compare_calibrations((labels, bold), (labels, confidences), groups)
    one, two = (calibrate(labels, values, groups, resamples=400) for values in (bold, confidences))
    assert gap.ece == pytest.approx(one.ece.value - two.ece.value, abs=1e-12)
    assert gap.ece_mass == pytest.approx(one.ece_mass.value - two.ece_mass.value, abs=1e-12)
    assert gap.brier == pytest.approx(one.brier - two.brier, abs=1e-12)
    assert 0 < gap.brier_interval.low < gap.brier < gap.brier_interval.high
    unpaired = (one.brier_interval.high - one.brier_interval.low) + (two.brier_interval.high - two.brier_interval.low)
    assert gap.brier_interval.high - gap.brier_interval.low < unpaired / 2
