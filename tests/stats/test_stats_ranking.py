"""Ranking many systems from one joint resampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hellofresh.stats.clusters import cluster_weights
from hellofresh.stats.draws import first_place
from hellofresh.stats.metrics import accuracy, class_f1
from hellofresh.stats.multiway import holm
from hellofresh.stats.ranking import all_differences, rank_systems, ranks, samples_to_overtake, tie_groups
from tests.stats.counting import ALL_METRICS, M, cluster_tables, draw_jointly, metric_intervals, tables_of


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
            assert draws.value(M[metric])[row] == pytest.approx(M[metric].value(table), abs=1e-12)
            joint = draws.interval(draws.of(M[metric])[row])
            alone = metric_intervals(labels, said, groups, metrics=[metric])[metric]
            assert joint.low < draws.value(M[metric])[row] < joint.high
            counted = (joint.n, joint.clusters, joint.effective_clusters)
            assert counted == (400, alone.clusters, alone.effective_clusters)


def test_every_resample_draws_as_many_clusters_as_there_are_in_pieces_that_add_up() -> None:
    pieces = list(cluster_weights(9000, 1000, np.random.default_rng(1)))
    weights = np.concatenate(pieces)
    assert len(pieces) > 1
    assert weights.shape == (1000, 9000)
    assert (weights.sum(axis=1) == 9000).all()
    # Each count is binomial: mean 1, variance 1 - 1 / clusters.
    assert weights.mean() == pytest.approx(1)
    assert weights.var() == pytest.approx(1 - 1 / 9000, abs=0.005)


@settings(max_examples=25)
@given(st.lists(st.floats(0.3, 0.95), min_size=2, max_size=6), st.permutations(range(6)))
def test_the_order_in_which_systems_are_given_does_not_matter(rights: list[float], order: list[int]) -> None:
    labels, systems, groups = field(80, rights)
    chosen = [place for place in order if place < len(rights)]
    first, second = (all_differences(tables_of(labels, part, groups), M["f1"]) for part in (systems, systems[chosen]))
    one, two = rank_systems(first), rank_systems(second)
    for name in ("rank", "low", "high"):
        assert getattr(one, name)[chosen].tolist() == getattr(two, name).tolist()
    for name in ("adjusted", "low", "high", "p_value"):
        assert (getattr(first, name)[np.ix_(chosen, chosen)] == getattr(second, name)).all()
    chances = [
        first_place(draw_jointly(labels, part, groups, resamples=200), M["f1"]) for part in (systems, systems[chosen])
    ]
    assert (chances[0][chosen] == chances[1]).all()
    assert chances[0].sum() == pytest.approx(1)


def test_a_system_and_its_double_share_everything() -> None:
    labels, systems, groups = field(300, [0.8, 0.6])
    apart = all_differences(tables_of(labels, systems[[0, 0, 1]], groups), M["f1"])
    ranking = rank_systems(apart)
    assert ranking.rank.tolist() == [1, 1, 3]
    assert (apart.difference[0, 1], apart.p_value[0, 1]) == (0, 1)
    assert apart.low[0, 1] < 0 < apart.high[0, 1]  # they may still differ in samples like those not drawn
    assert ranking.tie_group.tolist() == [1, 1, 2]
    first = first_place(draw_jointly(labels, systems[[0, 0, 1]], groups), M["f1"])
    assert first[0] == first[1]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=7), st.integers(1, 40), st.integers(0, 10**6))
def test_where_an_interval_leaves_0_out_the_pair_is_found(rights: list[float], groups: int, seed: int) -> None:
    labels, systems, member = field(60, rights, seed, groups)
    found = all_differences(tables_of(labels, systems, member), M["f1"])
    out = (found.low > 0) | (found.high < 0)
    assert (out <= found.separable).all()
    above = np.triu_indices(len(systems), 1)
    assert (found.adjusted >= found.p_value).all()
    assert (found.adjusted[above] <= holm(found.p_value[above])).all()
    bonferroni = found.p_value[above].size * found.p_value[above] < 0.05
    assert (out[above] >= bonferroni).all()
    assert found.difference == pytest.approx(-found.difference.T)
    assert (found.low == -found.high.T).all()
    assert ((found.low <= found.difference) & (found.difference <= found.high)).all()
    ranking = rank_systems(found)
    assert ((ranking.low <= ranking.rank) & (ranking.rank <= ranking.high)).all()
    better = (found.separable & (found.difference < 0)).sum(axis=1)
    assert (ranking.low == 1 + better).all()
    assert (ranking.tie_group[ranking.low == 1] >= 1).all()


def test_families_are_adjusted_apart() -> None:
    labels, systems, groups = field(500, [0.6, 0.65, 0.7, 0.75])
    ranked = np.array([1, 1, 1, 0])
    whole = all_differences(tables_of(labels, systems, groups), M["f1"])
    parts = all_differences(tables_of(labels, systems, groups), M["f1"], families=ranked[:, None] + ranked)
    alone = all_differences(tables_of(labels, systems[:3], groups), M["f1"])
    assert whole.p_value[0, 1] < parts.adjusted[0, 1] <= whole.adjusted[0, 1] < 3 * whole.p_value[0, 1]
    assert (parts.adjusted[:3, :3] == alone.adjusted).all()
    assert (parts.low[:3, :3] == alone.low).all()
    assert parts.adjusted[0, 3] <= whole.adjusted[0, 3]
    unadjusted = all_differences(tables_of(labels, systems, groups), M["f1"], families=np.full((4, 4), -1))
    assert (unadjusted.adjusted == whole.p_value).all()


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


def test_as_many_samples_as_are_said_to_be_enough_end_a_lead_and_for_accuracy_not_one_less() -> None:
    labels, said, _ = field(120, [0.7, 0.6], seed=3)
    for metric in (accuracy(2), class_f1(2)):
        first, second = (metric.statistics(labels, one) for one in said)
        if metric.value(first.sum(axis=0)) < metric.value(second.sum(axis=0)):
            first, second = second, first
        enough = samples_to_overtake(first, second, metric)
        assert enough is not None and 0 < enough < 120
        lead = int((first[:, [0, 3]].sum() - second[:, [0, 3]].sum()).item())
        assert metric is not accuracy(2) or enough == lead  # each sample that is lost takes at most one right answer
        assert samples_to_overtake(second, first, metric) == 0
    perfect, silent = accuracy(2).statistics(labels, labels), accuracy(2).statistics(labels, 1 - labels)
    assert samples_to_overtake(perfect, silent, accuracy(2)) is None
