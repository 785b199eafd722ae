"""Bootstrap intervals: what must not change them, what must, and how often they cover."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hellofresh.stats import METRICS, Interval, Method, count, metric_intervals
from hellofresh.stats.counts import indicator_matrix, metric_values


def simulated(n: int, seed: int, *, right: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    labels = (np.arange(n) % 2).astype(np.int8)
    predictions = np.where(random.random(n) < right, labels, 1 - labels).astype(np.int8)
    predictions[random.random(n) < 0.05] = -1
    return labels, predictions


def bootstrap_intervals(
    labels: np.ndarray, predictions: np.ndarray, groups: np.ndarray | None = None, **options: float
) -> dict[str, Interval]:
    return metric_intervals(labels, predictions, groups, method=Method.PERCENTILE, **options)


def limits(
    labels: np.ndarray, predictions: np.ndarray, groups: np.ndarray, **options: float
) -> list[tuple[float, float]]:
    found = bootstrap_intervals(labels, predictions, groups, **options)
    return [(found[name].low, found[name].high) for name in METRICS]


ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(-1, 1), st.integers(0, 5)), min_size=1, max_size=30)


@settings(max_examples=50)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_samples_and_the_names_of_groups_do_not_matter(rows, random) -> None:
    names = list(range(100, 106))
    random.shuffle(names)
    shuffled = [(label, said, names[group]) for label, said, group in rows]
    random.shuffle(shuffled)
    first, second = (np.array(part).T for part in (rows, shuffled))
    assert limits(*first, resamples=200) == limits(*second, resamples=200)


@settings(max_examples=50)
@given(ROWS)
def test_limits_are_ordered_within_zero_and_one_and_account_for_themselves(rows) -> None:
    labels, predictions, groups = np.array(rows).T
    found = bootstrap_intervals(labels, predictions, groups, resamples=200, seed=5)
    assert list(found) == list(METRICS)
    for interval in found.values():
        assert 0 <= interval.low <= interval.high <= 1
        assert (interval.n, interval.clusters) == (len(rows), len({group for _, _, group in rows}))
        drawn = interval.method is Method.PERCENTILE
        assert (interval.seed, interval.resamples, interval.level) == ((5, 200, 0.95) if drawn else (0, 0, 0.95))
        assert (interval.method is Method.NONE) == (interval.clusters == 1)


def test_the_same_seed_gives_the_same_limits_and_another_seed_others() -> None:
    labels, predictions = simulated(200, 1)
    groups = np.arange(200)
    assert limits(labels, predictions, groups, seed=3) == limits(labels, predictions, groups, seed=3)
    assert limits(labels, predictions, groups, seed=3) != limits(labels, predictions, groups, seed=4)


@pytest.mark.parametrize("seed", range(5))
def test_groups_of_one_give_the_ordinary_bootstrap(seed: int) -> None:
    labels, predictions = simulated(150, seed)
    random = np.random.default_rng(99)
    drawn = random.integers(0, 150, size=(10_000, 150))
    cells = indicator_matrix(labels, predictions)[drawn].sum(axis=1)
    low, high = np.quantile(metric_values(cells), [0.025, 0.975], axis=0)
    ours = limits(labels, predictions, np.arange(150), resamples=10_000)
    assert np.allclose(ours, np.stack([low, high], axis=1), atol=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_many_give_the_bootstrap_of_whole_groups(seed: int) -> None:
    labels, predictions = simulated(120, seed)
    groups = np.random.default_rng(seed).integers(0, 25, size=120)
    names, member = np.unique(groups, return_inverse=True)
    random = np.random.default_rng(98)
    cells = []
    for _ in range(6000):
        weights = np.bincount(random.integers(0, len(names), size=len(names)), minlength=len(names))
        cells.append(weights[member] @ indicator_matrix(labels, predictions))
    low, high = np.quantile(metric_values(np.array(cells)), [0.025, 0.975], axis=0)
    ours = limits(labels, predictions, groups, resamples=10_000)
    assert np.allclose(ours, np.stack([low, high], axis=1), atol=0.015)


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_holds_the_estimate(seed: int) -> None:
    labels, predictions = simulated(200, seed)
    found = bootstrap_intervals(labels, predictions, np.arange(200) // 2, resamples=2000)
    metrics = count(labels, predictions).metrics
    assert all(found[name].low < metrics[name] < found[name].high for name in METRICS)


def test_four_times_the_groups_halve_the_width() -> None:
    labels, predictions = simulated(200, 7)
    once = limits(labels, predictions, np.arange(200))
    more = limits(np.tile(labels, 4), np.tile(predictions, 4), np.arange(800))
    ratios = [
        (high - low) / (wide_high - wide_low) for (low, high), (wide_low, wide_high) in zip(more, once, strict=True)
    ]
    assert ratios == pytest.approx([0.5] * 4, abs=0.05)


def test_samples_that_only_repeat_each_other_give_no_more_certainty() -> None:
    labels, predictions = simulated(100, 8)
    alone = limits(labels, predictions, np.arange(100))
    groups = np.repeat(np.arange(100), 4)
    clustered = limits(np.repeat(labels, 4), np.repeat(predictions, 4), groups)
    as_if_independent = limits(np.repeat(labels, 4), np.repeat(predictions, 4), np.arange(400))
    assert np.allclose(clustered, alone, atol=0.01)
    for (low, high), (naive_low, naive_high) in zip(clustered, as_if_independent, strict=True):
        assert high - low > 1.6 * (naive_high - naive_low)


def test_a_higher_level_is_wider() -> None:
    labels, predictions = simulated(200, 9)
    narrow, wide = (limits(labels, predictions, np.arange(200), level=level) for level in (0.8, 0.99))
    assert all(w[0] < n[0] and n[1] < w[1] for n, w in zip(narrow, wide, strict=True))


def test_many_kinds_of_groups_are_drawn_in_pieces_without_a_seam() -> None:
    random = np.random.default_rng(1)
    labels, predictions = simulated(9000, 2)
    groups = random.integers(0, 600, size=9000)
    metrics = count(labels, predictions).metrics
    found = bootstrap_intervals(labels, predictions, groups, resamples=10_000)
    for name in METRICS:
        assert found[name].low < metrics[name] < found[name].high
        assert found[name].high - found[name].low < 0.06


def test_nominal_coverage_is_about_reached_on_groups() -> None:
    # 300 quarters of 60 groups of 4: the group decides half of the answers, so items alone would cover far less.
    random = np.random.default_rng(2024)
    covered = {"grouped": 0, "single": 0}
    trials, truth = 300, 0.7
    for _ in range(trials):
        shared = np.repeat(random.random(60) < truth, 4)
        own = random.random(240) < truth
        right = np.where(random.random(240) < 0.7, shared, own)
        labels = random.integers(0, 2, size=240).astype(np.int8)
        predictions = np.where(right, labels, 1 - labels).astype(np.int8)
        for name, groups in (("grouped", np.repeat(np.arange(60), 4)), ("single", np.arange(240))):
            interval = bootstrap_intervals(labels, predictions, groups, resamples=500)["accuracy"]
            covered[name] += interval.low <= truth <= interval.high
    assert 0.90 <= covered["grouped"] / trials <= 0.985
    assert covered["single"] / trials < 0.88


def test_nothing_to_resample_is_refused() -> None:
    empty = np.array([], dtype=np.int8)
    with pytest.raises(ValueError, match="no sample"):
        bootstrap_intervals(empty, empty, empty)


def test_groups_of_another_length_are_refused() -> None:
    labels, predictions = simulated(10, 1)
    with pytest.raises(ValueError, match="groups"):
        bootstrap_intervals(labels, predictions, np.arange(9))


def test_one_group_alone_gives_no_interval() -> None:
    labels = np.array([1, 0, 1, 0], dtype=np.int8)
    found = bootstrap_intervals(labels, labels, np.full(4, 7))
    assert {(item.low, item.high, item.clusters) for item in found.values()} == {(0.0, 1.0, 1)}
    assert {item.method for item in found.values()} == {"none: one group only"}
