"""Drawings stay in their frames and on the scales of their metrics."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.results.board.release_rows import FunnelStep
from hellofresh.stats.metrics import class_f1, macro_f1, mean
from leaderboard.components.charts import (
    curves,
    frontier,
    funnel_bar,
    histogram,
    interval_bar,
    label_sides,
    trend,
)
from leaderboard.components.scale import Scale, constant_answer, plain_scale
from leaderboard.data.board import MetricValue

SCALE = Scale(reference=2 / 3)
shares = st.floats(min_value=0, max_value=1)


def percents(source: str) -> list[float]:
    return [float(text) for text in re.findall(r":([0-9.]+)%", source)]


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


# --- Pages name and draw the metrics of the task, and the line of a constant answer is what that answer really
# gets.


COUNTS = st.lists(st.integers(0, 50), min_size=2, max_size=7).filter(any)


def test_on_balanced_samples_the_constant_answer_has_an_f1_of_two_thirds() -> None:
    assert constant_answer(class_f1(2), (1, 1)) == (1, pytest.approx(2 / 3))


@given(COUNTS)
def test_the_constant_answer_is_what_scoring_it_gives(counts: list[int]) -> None:
    metric = macro_f1(len(counts))
    label, value = constant_answer(metric, counts)
    labels = np.repeat(np.arange(len(counts)), counts)
    scored = [float(metric.value(metric.statistics(labels, np.full_like(labels, said)).sum(axis=0)))
              for said in range(len(counts))]  # fmt: skip
    assert value == pytest.approx(scored[label])
    assert value == pytest.approx(max(scored))


def test_metrics_of_single_classes_stand_apart_from_those_of_all() -> None:
    scale = plain_scale("claims")
    assert scale.others and scale.by_class
    assert not [name for name, _ in scale.others if ":" in name]
    assert all(":" in name for name, _ in scale.by_class)
    assert {title for title, _ in scale.meanings} == {scale.title, *(title for _, title in scale.others)}


@given(st.floats(-3, 3))
def test_values_stand_between_the_limits_of_their_metric(value: float) -> None:
    metric = mean("overall", (-3, 3))
    scale = Scale(metric.title, low=metric.limits[0], high=metric.limits[1])
    assert 0 <= scale.share(value) <= 1
    assert [text for _, text in scale.marks] == ["-3", "0", "3"]
