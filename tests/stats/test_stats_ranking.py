"""Ranking many systems from one joint resampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hellofresh.stats import (
    ALL_METRICS,
    METRICS,
    Method,
    all_differences,
    cluster_tables,
    compare,
    draw_jointly,
    evaluate,
    holm,
    metric_intervals,
    rank_systems,
    ranks,
    tie_groups,
)
from hellofresh.stats.resampling import cluster_weights


def field(n: int, rights: list[float], seed: int = 0, groups: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, n).astype(np.int8)
    said = [np.where(random.random(n) < right, labels, 1 - labels) for right in rights]
    return labels, np.array(said, dtype=np.int8), random.integers(0, groups, n)


def test_joint_draws_hold_each_systems_own_metrics_and_intervals() -> None:
    labels, systems, groups = field(400, [0.6, 0.7, 0.8])
    systems[0, ::7] = -1
    draws = draw_jointly(labels, systems, groups, metrics=ALL_METRICS, resamples=8000)
    for metric in ALL_METRICS:
        for row, said in enumerate(systems):
            table = cluster_tables(labels, said, groups).sum(axis=0)
            assert draws.value(metric)[row] == pytest.approx(evaluate(table, metric), abs=1e-12)
            joint = draws.interval(draws.of(metric)[row])
            alone = metric_intervals(labels, said, groups, metrics=[metric], method=Method.PERCENTILE)[metric]
            assert (joint.low, joint.high) == pytest.approx((alone.low, alone.high), abs=0.01)
            assert (joint.n, joint.clusters, joint.effective_clusters) == (
                400,
                alone.clusters,
                alone.effective_clusters,
            )


def test_every_resample_draws_as_many_clusters_as_there_are_in_pieces_that_add_up() -> None:
    pieces = list(cluster_weights(9000, 1000, np.random.default_rng(1)))
    weights = np.concatenate(pieces)
    assert len(pieces) > 1
    assert weights.shape == (1000, 9000)
    assert (weights.sum(axis=1) == 9000).all()
    # Each count is binomial: mean 1, variance 1 - 1 / clusters.
    assert weights.mean() == pytest.approx(1)
    assert weights.var() == pytest.approx(1 - 1 / 9000, abs=0.005)


def test_resampling_is_the_same_for_equal_seeds_and_whatever_the_other_systems_are() -> None:
    labels, systems, groups = field(300, [0.6, 0.7, 0.8])
    both, alone = draw_jointly(labels, systems, groups, seed=4), draw_jointly(labels, systems[1:2], groups, seed=4)
    assert np.array_equal(both.of("f1")[1], alone.of("f1")[0])
    assert not np.array_equal(both.of("f1")[1], draw_jointly(labels, systems, groups, seed=5).of("f1")[1])


@settings(max_examples=25)
@given(st.lists(st.floats(0.3, 0.95), min_size=2, max_size=6), st.permutations(range(6)))
def test_the_order_in_which_systems_are_given_does_not_matter(rights: list[float], order: list[int]) -> None:
    labels, systems, groups = field(80, rights)
    chosen = [place for place in order if place < len(rights)]
    given_order, other = (draw_jointly(labels, part, groups, resamples=200) for part in (systems, systems[chosen]))
    one, two = rank_systems(given_order), rank_systems(other)
    for name in ("rank", "low", "high", "first"):
        assert getattr(one, name)[chosen] == pytest.approx(getattr(two, name))
    first, second = all_differences(given_order), all_differences(other)
    assert first.adjusted[np.ix_(chosen, chosen)] == pytest.approx(second.adjusted)


def test_a_system_and_its_double_share_everything() -> None:
    labels, systems, groups = field(300, [0.8, 0.6])
    draws = draw_jointly(labels, systems[[0, 0, 1]], groups)
    ranking, apart = rank_systems(draws), all_differences(draws)
    assert ranking.rank.tolist() == [1, 1, 3]
    assert ranking.first[0] == ranking.first[1]
    assert ranking.first.sum() == pytest.approx(1)
    assert (apart.difference[0, 1], apart.p_value[0, 1], apart.low[0, 1], apart.high[0, 1]) == (0, 1, 0, 0)
    assert tie_groups(draws.value("f1"), apart.separable).tolist() == [1, 1, 2]


def test_differences_are_antisymmetric_paired_and_adjusted_over_all_pairs() -> None:
    labels, systems, groups = field(500, [0.6, 0.65, 0.7, 0.75])
    found = all_differences(draw_jointly(labels, systems, groups))
    assert found.difference == pytest.approx(-found.difference.T)
    assert found.low == pytest.approx(-found.high.T)
    assert (found.p_value == found.p_value.T).all()
    upper = np.triu_indices(4, 1)
    assert found.adjusted[upper] == pytest.approx(holm(found.p_value[upper]))
    pair = compare(labels, systems[0], systems[3], groups)
    assert found.standard_error[0, 3] == pytest.approx(pair.standard_error, rel=0.05)
    assert found.difference[0, 3] == pytest.approx(pair.difference)
    assert (found.low[0, 3], found.high[0, 3]) == pytest.approx((pair.interval.low, pair.interval.high), abs=0.01)


def test_rank_intervals_hold_the_rank_and_separate_what_is_far_apart() -> None:
    labels, systems, groups = field(1500, [0.55, 0.56, 0.9, 0.75], groups=500)
    ranking = rank_systems(draw_jointly(labels, systems, groups))
    assert (ranking.low <= ranking.rank).all()
    assert (ranking.rank <= ranking.high).all()
    assert ranking.rank[2:].tolist() == [1, 2]
    assert list(zip(ranking.low.tolist(), ranking.high.tolist(), strict=True)) == [(3, 4), (3, 4), (1, 1), (2, 2)]
    assert ranking.first[2] > 0.999


def test_one_group_alone_allows_every_rank() -> None:
    labels, systems, _ = field(50, [0.3, 0.6, 0.9])
    draws = draw_jointly(labels, systems, np.zeros(50, dtype=np.int64), resamples=50)
    ranking, apart = rank_systems(draws), all_differences(draws)
    assert (ranking.low.tolist(), ranking.high.tolist()) == ([1] * 3, [3] * 3)
    assert not apart.separable.any()


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=1, max_size=12))
def test_equal_systems_share_the_better_rank(values: list[float]) -> None:
    assert ranks(np.array(values)).tolist() == stats.rankdata(-np.array(values), method="min").tolist()


def test_a_tie_group_is_opened_by_its_best_system() -> None:
    values = np.array([0.5, 0.9, 0.8, 0.7])
    apart = np.zeros((4, 4), dtype=bool)
    for pair in ((1, 3), (1, 0), (2, 0)):
        apart[pair] = apart[pair[::-1]] = True
    # 0.9 holds 0.8 with it; 0.7 is apart from 0.9, though not from 0.8, and opens the next, which holds 0.5.
    assert tie_groups(values, apart).tolist() == [2, 1, 1, 2]
    assert tie_groups(values, np.zeros((4, 4), dtype=bool)).tolist() == [1] * 4
    assert tie_groups(values, ~np.eye(4, dtype=bool)).tolist() == [4, 1, 2, 3]


def test_the_boards_metrics_are_drawn_unless_others_are_named() -> None:
    labels, systems, groups = field(40, [0.5])
    assert draw_jointly(labels, systems, groups, resamples=20).metrics == METRICS
