"""Tails and quantiles are those of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hellofresh.stats._tails import (
    chi2_upper,
    f_upper,
    normal_cdf,
    normal_quantile,
    t_quantile,
    t_two_sided,
    t_two_sided_each,
)


@given(st.floats(0.0005, 0.9995), st.floats(1, 1e5))
def test_quantiles_of_t_are_those_of_scipy(probability: float, df: float) -> None:
    assert t_quantile(probability, df) == pytest.approx(stats.t.ppf(probability, df), rel=1e-9, abs=1e-9)


@given(st.floats(-40, 40), st.floats(1, 1e5))
def test_two_sided_tails_of_t_are_those_of_scipy(value: float, df: float) -> None:
    assert t_two_sided(value, df) == pytest.approx(2 * stats.t.sf(abs(value), df), rel=1e-8, abs=1e-12)


@given(st.floats(0, 100), st.floats(1, 200), st.floats(1, 2000))
def test_tails_of_f_are_those_of_scipy(value: float, numerator: float, denominator: float) -> None:
    assert f_upper(value, numerator, denominator) == pytest.approx(stats.f.sf(value, numerator, denominator), abs=1e-10)


@given(st.floats(0, 500), st.floats(1, 300))
def test_tails_of_chi_squared_are_those_of_scipy(value: float, df: float) -> None:
    assert chi2_upper(value, df) == pytest.approx(stats.chi2.sf(value, df), abs=1e-11)


@given(st.floats(0.001, 0.999))
def test_t_with_endless_freedom_is_normal_and_quantiles_undo_the_normal_distribution(probability: float) -> None:
    assert t_quantile(probability, 1e9) == pytest.approx(normal_quantile(probability), abs=1e-6)
    assert normal_cdf(normal_quantile(probability)) == pytest.approx(probability, abs=1e-12)


def test_nothing_lies_beyond_the_infinite() -> None:
    assert t_two_sided(float("inf"), 5) == 0
    assert t_two_sided(0.0, 5) == 1
    assert t_quantile(0.5, 3) == 0


_FAR = st.sampled_from([float("inf"), 1e-200, 1e200])


@given(st.lists(st.floats(-1e9, 1e9) | _FAR, max_size=30), st.floats(0.5, 1e6))
def test_many_tails_at_once_are_each_of_them_to_the_last_bit(values: list[float], df: float) -> None:
    at_once = t_two_sided_each(np.array(values, dtype=np.float64), df)
    assert at_once.tolist() == [t_two_sided(value, df) for value in values]
