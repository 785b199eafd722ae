"""Intervals: what must not change them, what must, and how they end where there is nothing to go by."""

from __future__ import annotations

import numpy as np
import pytest
from counting import ALL_METRICS, METRICS, M, cluster_tables, count, metric_intervals, metric_values, statistics
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from hellofresh.stats import FEW_CLUSTERS, Interval, Method
from hellofresh.stats.intervals import t_quantiles, wilson_limits
from hellofresh.stats.resampling import resampled_tables


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
    cells = statistics(labels, predictions)[drawn].sum(axis=1)
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
        cells.append(weights[member] @ statistics(labels, predictions))
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


ASKED = [Method.CLUSTER_WILSON, Method.LOGIT_JACKKNIFE, Method.PERCENTILE, Method.BCA]


@settings(max_examples=60)
@given(ROWS, st.sampled_from(ASKED), st.randoms(use_true_random=False))
def test_whatever_the_method_order_does_not_matter_and_limits_hold_the_estimate(rows, method: Method, random) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    found = [
        metric_intervals(*np.array(part).T, metrics=ALL_METRICS, method=method, resamples=100)
        for part in (rows, shuffled)
    ]
    values = count(*np.array(rows).T[:2]).all_metrics
    for name in ALL_METRICS:
        one, two = found[0][name], found[1][name]
        assert (one.low, one.high, one.method) == (pytest.approx(two.low), pytest.approx(two.high), two.method)
        assert 0 <= one.low <= one.high <= 1
        if one.method in {Method.CLUSTER_WILSON, Method.LOGIT_JACKKNIFE}:
            assert one.low - 1e-12 <= values[name] <= one.high + 1e-12


@settings(max_examples=40)
@given(ROWS, st.sampled_from(ASKED))
def test_clusters_of_one_are_independent_samples(rows, method: Method) -> None:
    labels, predictions, _ = np.array(rows).T
    alone = metric_intervals(labels, predictions, np.arange(labels.size)[::-1], method=method, resamples=100)
    plain = metric_intervals(labels, predictions, method=method, resamples=100)
    for name in METRICS:
        assert (alone[name].low, alone[name].high) == pytest.approx((plain[name].low, plain[name].high))


@pytest.mark.parametrize("method", ASKED)
@pytest.mark.parametrize("right", [True, False])
def test_where_all_samples_agree_there_is_still_a_width(method: Method, right: bool) -> None:
    labels = np.array([0, 1] * 30, dtype=np.int8)
    said = labels if right else (1 - labels).astype(np.int8)
    for name, found in metric_intervals(labels, said, np.arange(60) // 3, method=method, resamples=50).items():
        assert found.method is Method.CLUSTER_WILSON
        assert (found.high if right else found.low) == float(right)
        # As wide as Wilson's interval of 20 samples at the least cautious, of 60 at the most.
        assert 0.04 < found.high - found.low < 0.35, name


def test_at_the_edge_the_width_is_that_of_as_many_samples_as_clusters() -> None:
    labels = np.array([0, 1] * 40, dtype=np.int8)
    found = metric_intervals(labels, labels, np.arange(80) // 4)["accuracy"]
    low, high = wilson_limits(np.array(1.0), np.array(20.0), t_quantiles(0.975, np.array(19.0)))
    assert (found.low, found.high) == pytest.approx((float(low), float(high)))


def test_a_share_of_no_sample_or_of_one_cluster_may_be_anything() -> None:
    labels = np.array([1, 0, 1, 0, 1, 0], dtype=np.int8)
    groups = np.arange(6) // 2
    assert metric_intervals(labels, np.zeros(6, dtype=np.int8), groups)["precision"].high == 1
    once = np.array([1, 0, 0, 0, 0, 0], dtype=np.int8)
    found = metric_intervals(labels, once, groups)["precision"]
    assert (found.low, found.high) == (0, 1)


@given(st.integers(1, 2000), st.floats(0, 1))
def test_wilson_is_that_of_statsmodels(n: int, share: float) -> None:
    hits = round(share * n)
    ours = wilson_limits(np.array(hits / n), np.array(float(n)), np.array(stats.norm.ppf(0.975)))
    assert [float(end) for end in ours] == pytest.approx(proportion_confint(hits, n, method="wilson"), abs=1e-9)


def test_on_many_independent_samples_the_default_is_wilson_of_the_share() -> None:
    labels, predictions = simulated(4000, 3)
    found = metric_intervals(labels, predictions)["accuracy"]
    hits = int((labels == predictions).sum())
    assert (found.low, found.high) == pytest.approx(proportion_confint(hits, 4000, method="wilson"), abs=2e-4)


def test_the_jackknife_on_the_logit_is_the_one_written_out() -> None:
    labels, predictions = simulated(120, 4)
    groups = np.random.default_rng(4).integers(0, 30, 120)
    found = metric_intervals(labels, predictions, groups, method=Method.LOGIT_JACKKNIFE)
    names = np.unique(groups)
    for metric in METRICS:

        def logit(keep: np.ndarray, metric: str = metric) -> float:
            value = count(labels[keep], predictions[keep]).metrics[metric]
            return float(np.log(value / (1 - value)))

        centre, without = logit(groups >= 0), np.array([logit(groups != name) for name in names])
        error = np.sqrt((names.size - 1) / names.size * ((without - without.mean()) ** 2).sum())
        half = stats.t.ppf(0.975, names.size - 1) * error
        expected = 1 / (1 + np.exp(-np.array([centre - half, centre + half])))
        assert (found[metric].low, found[metric].high) == pytest.approx(tuple(expected), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_bca_is_that_of_scipy_within_the_luck_of_the_draws(seed: int) -> None:
    labels, predictions = simulated(80, seed, right=0.85)
    right = (labels == predictions).astype(float)
    theirs = stats.bootstrap((right,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(1))
    ours = metric_intervals(labels, predictions, method=Method.BCA, resamples=20_000)["accuracy"]
    limits = theirs.confidence_interval
    assert (ours.low, ours.high) == pytest.approx((limits.low, limits.high), abs=1.01 / 80)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("metric", ["f1", "precision", "recall", "accuracy"])
def test_drawing_counts_is_drawing_samples(seed: int, metric: str) -> None:
    labels, predictions = simulated(90, seed)
    rows = statistics(labels, predictions)
    random = np.random.default_rng(seed + 50)
    by_samples = metric_values(rows[random.integers(0, 90, size=(4000, 90))].sum(axis=1))[:, METRICS.index(metric)]
    by_counts = M[metric].value(resampled_tables(cluster_tables(labels, predictions), 4000, random))
    assert stats.ks_2samp(by_samples, by_counts).pvalue > 1e-3


def test_huge_clusters_are_told_apart_like_small_ones() -> None:
    tables = np.array([[3.0, 1, 0, 2], [1, 1, 4, 0], [3, 1, 0, 2]])
    small, huge = (resampled_tables(tables * factor, 50, np.random.default_rng(1)) for factor in (1, 1e6))
    assert set(map(tuple, huge / 1e6)) == set(map(tuple, small)) | set(map(tuple, huge / 1e6))
    assert (huge.sum(axis=1) > 0).all()


def test_an_interval_says_when_it_rests_on_few_clusters() -> None:
    labels, predictions = simulated(300, 5)
    even = metric_intervals(labels, predictions, np.arange(300) // 10)["f1"]
    lopsided = metric_intervals(labels, predictions, np.maximum(np.arange(300) - 250, 0))["f1"]
    assert (even.clusters, even.effective_clusters, even.few) == (30, pytest.approx(30), False)
    assert lopsided.clusters == 50
    assert lopsided.effective_clusters < 2 < FEW_CLUSTERS
    assert lopsided.few


def test_a_method_that_makes_no_metrics_interval_is_refused() -> None:
    labels, predictions = simulated(10, 1)
    with pytest.raises(ValueError, match="method"):
        metric_intervals(labels, predictions, method=Method.MIRRORED)


@pytest.mark.parametrize("seed", range(40))
def test_handfuls_of_samples_have_limits_without_a_warning(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 16))
    labels, predictions = random.integers(0, 2, n).astype(np.int8), random.integers(-1, 2, n).astype(np.int8)
    groups = np.unique(random.integers(0, max(2, n // 2), n), return_inverse=True)[1]
    for interval in metric_intervals(labels, predictions, groups).values():
        assert 0 <= interval.low <= interval.high <= 1
