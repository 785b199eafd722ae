"""The interval over repetitions is Student's, and says how a run differs from itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hellofresh.stats.intervals import repetition_interval

VALUES = st.lists(st.floats(0.0, 1.0).map(lambda value: round(value, 6)), min_size=2, max_size=20)


@given(VALUES)
def test_it_is_the_interval_of_scipy(values: list[float]) -> None:
    found = repetition_interval(np.array(values), limits=(-100, 100))
    assert found.low is not None and found.high is not None
    spread = stats.sem(values)
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), spread) if spread else [np.mean(values)] * 2
    assert (found.mean, found.repetitions) == (pytest.approx(np.mean(values)), len(values))
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


@given(VALUES)
def test_it_stays_within_what_the_metric_can_be_and_holds_the_mean(values: list[float]) -> None:
    found = repetition_interval(np.array(values))
    assert found.low is not None and found.high is not None
    assert 0 <= found.low <= found.mean + 1e-12 and found.mean - 1e-12 <= found.high <= 1


def test_one_repetition_says_nothing_of_how_they_differ() -> None:
    found = repetition_interval(np.array([0.7]))
    assert (found.mean, found.low, found.high, found.repetitions) == (0.7, None, None, 1)
    with pytest.raises(ValueError, match="a value"):
        repetition_interval(np.array([]))


@pytest.mark.parametrize("repetitions", [2, 5])
def test_it_covers_the_true_mean_as_often_as_it_says(repetitions: int) -> None:
    drawn = np.random.default_rng(3).normal(0.7, 0.02, (2_000, repetitions))
    held = 0
    for values in drawn:
        found = repetition_interval(values)
        assert found.low is not None and found.high is not None
        held += found.low <= 0.7 <= found.high
    assert 0.935 <= held / len(drawn) <= 0.965
