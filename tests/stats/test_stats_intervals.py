"""Intervals: what must change them and what must not, how they end where little is known, and how often they hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from benchmarks import coverage as simulation
from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.intervals import (
    Method,
    cluster_wilson_limits,
    counted_limits,
    metric_interval,
    t_quantile,
    t_two_sided,
    times_too_few,
    unbounded_limits,
    wilson_limits,
)
from hellofresh.stats.metrics import forecast_metrics, macro_f1, mean
from tests.stats.counting import ALL_METRICS, METRICS, count, metric_intervals
from verifier.statistics import OwnMetric as Theirs
from verifier.statistics import interval, number_sums


def simulated(n: int, seed: int, *, right: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    labels = (np.arange(n) % 2).astype(np.int8)
    predictions = np.where(random.random(n) < right, labels, 1 - labels).astype(np.int8)
    predictions[random.random(n) < 0.05] = -1
    return labels, predictions


def limits(labels: np.ndarray, predictions: np.ndarray, groups: np.ndarray) -> list[tuple[float, float]]:
    found = metric_intervals(labels, predictions, groups)
    return [(found[name].low, found[name].high) for name in METRICS]


ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(-1, 1), st.integers(0, 5)), min_size=1, max_size=30)


def test_samples_that_only_repeat_each_other_give_no_more_certainty() -> None:
    labels, predictions = simulated(100, 8)
    alone = limits(labels, predictions, np.arange(100))
    groups = np.repeat(np.arange(100), 4)
    clustered = limits(np.repeat(labels, 4), np.repeat(predictions, 4), groups)
    as_if_independent = limits(np.repeat(labels, 4), np.repeat(predictions, 4), np.arange(400))
    assert np.allclose(clustered, alone, atol=0.01)
    for (low, high), (naive_low, naive_high) in zip(clustered, as_if_independent, strict=True):
        assert high - low > 1.6 * (naive_high - naive_low)


@settings(max_examples=60)
@given(ROWS, st.randoms(use_true_random=False))
def test_order_and_names_of_groups_do_not_matter_and_limits_hold_the_estimate(rows, random) -> None:
    names = list(range(100, 106))
    random.shuffle(names)
    shuffled = [(label, said, names[group]) for label, said, group in rows]
    random.shuffle(shuffled)
    found = [metric_intervals(*np.array(part).T, metrics=ALL_METRICS) for part in (rows, shuffled)]
    values = count(*np.array(rows).T[:2])
    for name in ALL_METRICS:
        one, two = found[0][name], found[1][name]
        assert (one.low, one.high, one.method) == (pytest.approx(two.low), pytest.approx(two.high), two.method)
        assert 0 <= one.low <= one.high <= 1
        if one.method is Method.CLUSTER_WILSON:
            assert one.low - 1e-12 <= values[name] <= one.high + 1e-12


def test_at_the_edge_the_width_is_that_of_as_many_samples_as_clusters() -> None:
    labels = np.array([0, 1] * 40, dtype=np.int8)
    for share, said in ((1.0, labels), (0.0, 1 - labels)):
        found = metric_intervals(labels, said, np.arange(80) // 4)["accuracy"]
        low, high = wilson_limits(np.array(share), np.array(20.0), np.array(t_quantile(0.975, 19.0)))
        assert (found.low, found.high) == pytest.approx((float(low), float(high)))
        assert found.method is Method.CLUSTER_WILSON


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


@pytest.mark.parametrize(
    ("limits", "value"), [((0, 1), 1.0), ((0, 1), 0.0), ((0, 10), 10.0), ((0, 1), 0.3), ((1, 5), 4)]
)
def test_equal_values_still_have_the_width_that_their_scale_allows(limits, value) -> None:
    metric = mean("number", limits)
    table = cluster_tables(metric.statistics(np.ones(40), np.full(40, value)), np.arange(40) // 2)
    made = metric_interval(table, metric)
    unseen = wilson_limits(np.zeros(1), np.array([20.0]), np.array([t_quantile(0.975, 19.0)]))[1].item()
    ends = [value + unseen * (end - value) for end in limits]
    assert (made.low, made.high) == (pytest.approx(ends[0]), pytest.approx(ends[1]))


@pytest.mark.parametrize("scale", [1.0, 10.0, 1000.0])
def test_intervals_of_numbers_do_not_depend_on_their_unit_and_cover_by_their_own_spread(scale: float) -> None:
    rows = np.random.default_rng(3).random((400, 60)) < 0.3
    metric = mean("number", (0.0, scale))
    tables = np.stack([metric.statistics(np.ones(60), row * scale) for row in rows])
    low, high = cluster_wilson_limits(tables, metric)
    assert np.allclose(np.stack([low, high]) / scale, np.stack(counted_limits(
        rows.mean(axis=1), np.array([59.0]), np.array([t_quantile(0.975, 59.0)]))))  # fmt: skip


def test_clusters_of_one_share_each_are_not_taken_for_equal_values() -> None:
    metric = mean("share", (0.0, 1.0))
    table = cluster_tables(metric.statistics(np.ones(40), np.arange(40) % 2 * 1.0), np.arange(40) // 2)
    assert metric_interval(table, metric).low < 0.4


@pytest.mark.parametrize(("hits", "n"), [(1, 20), (3, 60), (30, 60), (149, 150)])
def test_counts_have_the_limits_of_agresti_and_coull(hits: int, n: int) -> None:
    quantile = np.array(stats.norm.ppf(0.975))
    ours = counted_limits(np.array(hits / n), np.array(float(n)), quantile)
    assert ours == pytest.approx(np.clip(proportion_confint(hits, n, method="agresti_coull"), 0, 1))
    plain = wilson_limits(np.array(hits / n), np.array(float(n)), quantile)
    assert ours[0] <= plain[0] + 1e-12 and ours[1] >= plain[1] - 1e-12


@pytest.mark.parametrize("kind", ["counts", "even", "skewed", "equal"])
@pytest.mark.parametrize("each", [1, 3])
def test_the_verifier_has_the_interval_of_numbers_and_their_mark(kind: str, each: int) -> None:
    random = np.random.default_rng(each)
    values = {"counts": random.random(60) < 0.1, "even": random.random(60), "skewed": random.beta(0.1, 3, 60),
              "equal": np.full(60, 0.4)}[kind] * 10.0  # fmt: skip
    metric, groups = mean("rating", (0.0, 10.0)), np.arange(60) // each
    table = cluster_tables(metric.statistics(np.ones(60), values), groups)
    theirs, ours = Theirs("rating", limits=(0.0, 10.0)), metric_interval(table, metric)
    assert interval(number_sums(np.ones(60), values, groups.astype(np.int32)), theirs)[1:] == pytest.approx(
        (ours.low, ours.high)
    )
    assert theirs.effective(table) == pytest.approx(ours.effective_clusters)
    assert ours.few is (kind == "skewed")


@pytest.mark.parametrize("seed", range(3))
def test_a_mean_needs_25_times_the_squared_skewness_and_its_limits_are_lopsided(seed: int) -> None:
    values = np.random.default_rng(seed).lognormal(0, 1, (2, 40))
    sizes = np.ones_like(values)
    assert times_too_few(values, sizes) == pytest.approx(25 * stats.skew(values, axis=1, bias=False) ** 2 / 40)
    (low, high), means = unbounded_limits(values, sizes), values.mean(axis=1)
    plain = stats.t.ppf(0.975, 39) * stats.sem(values, axis=1)
    assert np.allclose(means - low, plain) and (high - means > 1.1 * plain).all()
    low, high = unbounded_limits(-values, sizes)
    assert np.allclose(high + means, plain) and np.isnan(unbounded_limits(sizes, sizes)).all()


def test_macro_f1_without_a_sample_of_a_class_is_few() -> None:
    labels = np.tile([0, 1], 150)
    table = cluster_tables(macro_f1(3).statistics(labels, np.roll(labels, 1)), np.arange(300))
    made = metric_interval(table, macro_f1(3))
    assert made.few and Theirs.of_classes("macro_f1", ("a", "b", "c")).effective(table) == made.effective_clusters


@pytest.mark.parametrize(("clusters", "few"), [(20, True), (60, True), (95, True), (100, False)])
def test_a_log_score_of_few_clusters_is_few_and_a_brier_index_is_not(clusters: int, few: bool) -> None:
    random = np.random.default_rng(0)
    labels, chances = np.arange(2 * clusters) % 2, random.uniform(0.2, 0.8, 2 * clusters)
    index, _, log = forecast_metrics(2)
    table = cluster_tables(
        index.statistics(labels, np.stack([1 - chances, chances], axis=1)), np.arange(labels.size) // 2
    )
    made = metric_interval(table, log)
    assert made.few is few
    assert Theirs.of_classes("log_score", ("no", "yes")).effective(table) == pytest.approx(made.effective_clusters)
    assert not metric_interval(table, index).few


@given(st.floats(-40, 40), st.floats(1, 1e5))
def test_two_sided_tails_of_t_are_those_of_its_distribution(value: float, df: float) -> None:
    assert float(t_two_sided(value, df)) == pytest.approx(2 * stats.t.sf(abs(value), df), rel=1e-8, abs=1e-12)


# --- The simulation of benchmarks/coverage.py in short: bounds are wider than its own, by the luck of fewer repeats.


REPEATS = 1000


def seeded() -> np.random.Generator:
    return np.random.default_rng(11)


@pytest.mark.parametrize("number", [0, 2, 6, 7, 10])
def test_the_default_interval_covers_what_it_promises(number: int) -> None:
    world = simulation.WORLDS[number]
    found = {item.what: item.share for item in simulation.coverage(world, REPEATS, 50, seeded())}
    # 4 standard errors of a share of 0.95 in 1,000 repeats beyond the bounds of 93.5% and 96.5%.
    assert 0.91 <= found["f1: cluster Wilson"] <= 0.99, world.name
    if world.label_effect and world.clusters > 30:
        assert found["f1: Wilson, as if independent"] < found["f1: cluster Wilson"]


def test_the_interval_of_a_difference_holds_0() -> None:
    found = {item.what: item.share for item in simulation.paired(simulation.PAIRS[2], REPEATS, 199, seeded())}
    assert 0.92 <= found["f1, interval holds 0"] <= 0.98


def test_limits_over_quarters_hold_what_is_expected_over_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "EXPECTED_OVER", 60)
    (found,) = simulation.over_quarters(simulation.QUARTERS_WORLDS[1], 40, 0, seeded())
    assert 0.88 <= found.share <= 1  # without the error of the draw it is 79%


def test_among_equals_hardly_any_pair_is_found_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "LEVELS", (10,))
    found = {item.what: item.share for item in simulation.ranked(simulation.MANY[0], 60, 0, seeded())}
    assert found["10 equal: any pair found apart"] <= 0.15
    assert found["10 equal: rank interval holds all ranks"] >= 0.9
    assert found["10 graded: all rank intervals hold their ranks"] >= 0.9
    assert found["10 graded: all intervals of pairs hold"] >= 0.85
    assert found["10 graded: pairs found apart"] >= found["10 graded: the same by Bonferroni, pairs"]


@pytest.mark.parametrize(
    "start", ["99.9%", "5.0% ones, 60", "reciprocal ranks, mean .04, 60", "lognormal (0, 1.5), no scale, 20 "]
)
def test_a_mean_and_a_difference_hold_the_truth_or_are_marked(start: str) -> None:
    (world,) = (one for one in (*simulation.MEAN_WORLDS, *simulation.PAIR_WORLDS) if one.name.startswith(start))
    found = next(simulation.means(world, REPEATS, 0, seeded()))
    assert found.share >= 0.92 or ((found.marked or 0) >= 0.85 and found.share >= 0.88)


@pytest.mark.parametrize(
    "start", ["97.0% ones, 100 items, 30%", "5.0% ones, 20 items, 5%", "exponential, no scale, 60 "]
)
def test_a_mean_with_missing_cells_holds_the_truth_where_plain_t_does_not(start: str) -> None:
    world = next(one for one in simulation.GAP_WORLDS if one.name.startswith(start))
    found = {item.what: item for item in simulation.with_gaps(world, REPEATS, 0, seeded())}
    assert found["interval"].share >= max(0.92, found["plain t"].share)


@pytest.mark.parametrize("number", [0, 4])
def test_calibrated_systems_are_rarely_found_uncalibrated_and_others_often(number: int) -> None:
    world = simulation.STATED_WORLDS[number]
    tested, plain, debiased, *held = (item.share for item in simulation.stated(world, 150, 0, seeded()))
    assert len(held) == 8 and min(held) >= 0.88  # of the Brier indices, log score, Brier score, AUC and three parts
    assert tested <= 0.13 if number < 3 else tested >= 0.7
    assert abs(debiased) < abs(plain) if number < 3 else abs(debiased) < 0.02
