"""Tails are those of the distribution, and end where values do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hellofresh.stats.intervals import t_quantile, t_two_sided


@given(st.floats(-40, 40), st.floats(1, 1e5))
def test_two_sided_tails_of_t_are_those_of_its_distribution(value: float, df: float) -> None:
    assert float(t_two_sided(value, df)) == pytest.approx(2 * stats.t.sf(abs(value), df), rel=1e-8, abs=1e-12)


def test_nothing_lies_beyond_the_infinite() -> None:
    assert t_two_sided(np.array([float("inf"), 1e200, 0.0]), 5).tolist() == [0, 0, 1]
    assert t_quantile(0.5, 3) == 0
