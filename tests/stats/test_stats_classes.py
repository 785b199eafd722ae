"""Statistics of several classes, and of means of a number: the same identities as with two classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.metrics import Metric, macro_f1, matthews
from hellofresh.stats.paired import compare


def field(seed: int, c: int, systems: int = 3, n: int = 90) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels with skew, what systems said with silence, and groups."""
    random = np.random.default_rng(seed)
    labels = random.choice(c, n, p=random.dirichlet(np.full(c, 2.0))).astype(np.int8)
    right = random.random((systems, n)) < np.linspace(0.4, 0.8, systems)[:, None]
    said = np.where(right, labels, random.integers(0, c, (systems, n))).astype(np.int8)
    said[random.random(said.shape) < 0.05] = -1
    return labels, said, random.integers(0, 30, n)


def tables_of(metric: Metric, labels: np.ndarray, said: np.ndarray, groups: np.ndarray) -> np.ndarray:
    return np.stack([cluster_tables(metric.statistics(labels, one), groups) for one in said])


CLASSES = st.integers(2, 7)
SEEDS = st.integers(0, 10**6)


@settings(max_examples=20, deadline=None)
@given(SEEDS, CLASSES)
def test_exchanging_two_systems_flips_the_sign_and_nothing_else(seed: int, c: int) -> None:
    labels, said, groups = field(seed, c, 2)
    for metric in (macro_f1(c), matthews(c)):
        one, two = tables_of(metric, labels, said, groups)
        there, back = compare(one, two, metric), compare(two, one, metric)
        assert there.difference == -back.difference
        assert (there.interval.low, there.interval.high) == pytest.approx((-back.interval.high, -back.interval.low))
        assert (there.interval.low > 0 or there.interval.high < 0) == (there.adjusted < 0.05)
        assert compare(one, one, metric).p_value == 1
        assert compare(one, one, metric).interval.high > 0  # they may differ where nobody looked
