"""Ranking many systems from one joint resampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hellofresh.stats.draws import first_place
from hellofresh.stats.multiway import holm
from hellofresh.stats.ranking import all_differences, rank_systems
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
