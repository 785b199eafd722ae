"""Drawings stay in their frames and at the right places."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.results.board.schema import FunnelStep, PeriodBalance
from leaderboard.components.charts import (
    balance_bars,
    curves,
    frontier,
    funnel_bar,
    histogram,
    interval_bar,
    label_sides,
    period_tick,
    trend,
)
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


def test_a_line_goes_through_its_points_from_left_to_right_and_stays_in_its_frame() -> None:
    drawn = trend([(0.0, 0.25), (0.5, 2.0), (1.0, 0.5)]).source
    upper = re.findall(r"([\d.]+)% ([\d.]+)%", drawn)
    assert upper == [("0.00", "75.00"), ("50.00", "0.00"), ("100.00", "50.00")]
    assert re.findall(r"([\d.]+)% calc\(([\d.]+)% \+ 2px\)", drawn) == upper[::-1]


def test_of_many_lines_the_first_have_a_colour_and_a_name_and_names_are_text() -> None:
    series = [(f"<b>{k}</b>", [(0.25, k / 10), (0.75, 0.5)]) for k in range(8)]
    drawn = curves(series, [(0.25, "one"), (0.75, "two")], Scale("F1"), most=6).source
    assert drawn.count("hf-trend") == 8 and "2 more" in drawn and "<b>" not in drawn
    key = drawn.partition('class="hf-key"')[2]
    assert [f"&lt;b&gt;{k}&lt;" in key for k in range(8)] == [True] * 6 + [False] * 2


def test_the_bars_of_a_histogram_are_as_high_as_the_counts_say() -> None:
    parts = re.findall(r"--part:([0-9.]+)", histogram({"none": 0, "some": 5, "all": 20}).source)
    assert [float(part) for part in parts] == [0, 0.25, 1]
    assert "--part:0.0000" in histogram({"none": 0}).source


@given(st.lists(st.tuples(shares, shares, st.integers(1, 20)), min_size=1, max_size=40))
def test_names_on_the_frontier_of_costs_cover_no_point_and_no_other_name(made: list[tuple[float, float, int]]) -> None:
    costs, values = [10 ** (4 * across) for across, *_ in made], [value for _, value, _ in made]
    best = frontier(costs, values, SCALE)
    assert [costs[at] for at in best] == sorted(costs[at] for at in best)
    assert all(any(costs[k] <= costs[at] and values[k] >= values[at] for k in best) for at in range(len(made)))
    sides = label_sides([point[:2] for point in made], {at: "x" * made[at][2] for at in best})
    boxes = []
    for at, side in sides.items():
        (x, y), wide = (310 * made[at][0], 240 * made[at][1]), 7 * made[at][2]
        left, bottom = x - 2 - wide if side == "left" else x + 2, y - 22 if side == "below" else y + 6
        assert left >= 0 and left + wide <= 310 and bottom >= 0  # in the frame of a phone
        assert not any(left < 310 * p < left + wide and bottom < 240 * q < bottom + 16 for p, q, _ in made)
        boxes.append((left, bottom, left + wide, bottom + 16))
    for one, other in combinations(boxes, 2):
        assert one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]
