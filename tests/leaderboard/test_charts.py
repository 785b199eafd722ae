"""Drawings stay in their frames and at the right places."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.results.board.schema import FunnelStep, PeriodBalance
from leaderboard.components.charts import balance_bars, funnel_bar, interval_bar, period_tick
from leaderboard.components.scale import Scale
from leaderboard.data.board import MetricValue

SCALE = Scale(reference=2 / 3)
shares = st.floats(min_value=0, max_value=1)


def percents(source: str) -> list[float]:
    return [float(text) for text in re.findall(r":([0-9.]+)%", source)]


@given(st.floats(), st.floats(), st.floats())
def test_no_box_leaves_its_frame(value: float, low: float, high: float) -> None:
    assert all(0 <= share <= 100 for share in percents(interval_bar(MetricValue("m", value, low, high), SCALE).source))


@given(shares, shares, shares)
def test_the_band_ends_at_the_upper_limit(value: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    left, width, tick, _ = percents(interval_bar(MetricValue("m", value, low, high), SCALE).source)
    assert left + width == pytest.approx(100 * high, abs=0.02)
    assert tick == pytest.approx(100 * value, abs=0.01)


@given(st.integers(1, 10**9), st.integers(0, 10**9))
def test_what_is_left_and_what_was_dropped_make_what_was_there(before: int, dropped: int) -> None:
    dropped = min(before, dropped)
    found = percents(funnel_bar(FunnelStep("s", 1, "x", "", dropped, True), before, before).source)
    _, left, *rest = found
    assert left + (rest[1] if rest else 0) == pytest.approx(100, abs=0.02)


def test_an_empty_source_can_be_drawn() -> None:
    assert percents(funnel_bar(FunnelStep("s", 0, "rows in", "", 0, False), 0, 0).source) == [0, 0]
    assert percents(balance_bars(PeriodBalance("s", "2023-04", (0, 0), 0, 2), 0).source) == [0] * 8


@pytest.mark.parametrize(("period", "tick"), [("2023-04", "Apr"), ("2023-12", "Dec"), ("2023-W14", "W14"), ("x", "x")])
def test_periods_have_short_names(period: str, tick: str) -> None:
    assert period_tick(period) == tick
