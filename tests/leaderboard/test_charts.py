"""Drawings stay in their frames and on their scales; the ranking as a picture holds every system and its marks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.systems import ModelFacts
from hellofresh.results.board.release_rows import FunnelStep
from hellofresh.results.board.schema import TABLES
from hellofresh.results.board.system_rows import SystemFacts
from hellofresh.results.standings import Pair, Standing
from hellofresh.stats.metrics import class_f1, macro_f1, mean
from hellofresh.tasks.samples import PROSPECTIVE
from leaderboard.components.charts import (
    curves,
    frontier,
    funnel_bar,
    histogram,
    interval_bar,
    label_sides,
    trend,
)
from leaderboard.components.labels import Links
from leaderboard.components.ranking import AT_FIRST, RankingPicture, field, front_of
from leaderboard.components.scale import Scale, constant_answer, plain_scale
from leaderboard.components.standings import ONLY_UPLOADS, Line, only_uploads
from leaderboard.data.board import Board, BoardEntry, MetricValue, ScoreCell, SplitKey
from leaderboard.views.compare import short_verdict

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


# --- The ranking as a picture: seal, brackets, hollow marks, what is dimmed, and the scale that holds every system.


SPLIT = SplitKey("2023Q2", "x-notes")
NOWHERE = Links({}, "index.html")
OF_F1 = Scale("F1", reference=0.667, answer="helpful", people=MetricValue("f1", 0.86, 0.8, 0.9))


def line(name: str, value: float, group: int, *, rank: int = 1, source: str = "run", maker: str | None = None) -> Line:
    entry = BoardEntry(name, "team", source, "language-model", "zero-shot", f"of-{name}", 0, name)
    metric = MetricValue("f1", value, value - 0.05, min(1.0, value + 0.05))
    facts = ModelFacts(maker=maker)
    result = ScoreCell(entry, "p", "all", False, "unknown", "", 9, 9, 9, 0, 0, (metric,), "w", facts=facts)
    return Line(result, rank, Standing(f"of-{name}", rank, 1, 9, 0.5, group, 9, 9, False), None)


def board(pairs: Sequence[tuple[str, str, float]] = ()) -> Board:
    keys = {"edition": SPLIT.edition, "task": SPLIT.task, "split": SPLIT.kind}
    rows = [keys | asdict(Pair(f"of-{one}", f"of-{two}", 0.1, 0.0, 0.2, p, p, "all", 9, 1, 1, 1, 1))
            for one, two, p in pairs]  # fmt: skip
    tables = {name: pl.DataFrame(schema=table.schema) for name, table in TABLES.items()}
    return Board(_tables=tables | {"pairs": pl.DataFrame(rows, schema=TABLES["pairs"].schema)})


def drawn(lines: Sequence[Line], pairs: Sequence[tuple[str, str, float]] = (), split: SplitKey = SPLIT) -> list[str]:
    """The classes of each row."""
    ranking = RankingPicture.of(lines, board(pairs), split, OF_F1, NOWHERE)
    return re.findall(r'<li class="([^"]*)"', str(ranking.draw()))


@pytest.mark.parametrize(
    ("groups", "title", "real"),
    [
        ((1,), "a is the only system so far", None),
        ((1, 2), "a leads", True),
        ((1, 1, 2), "a and b share first place", False),
        ((1, 1, 1, 1), "Four share first place", False),
    ],
)
def test_the_seal_says_real_only_where_the_second_is_in_another_tie_group(
    groups: Sequence[int], title: str, real: bool | None
) -> None:
    lines = [line("abcd"[k], 0.9 - k / 10, group, rank=k + 1) for k, group in enumerate(groups)]
    front = front_of(lines, OF_F1)
    assert front is not None and (re.sub("<[^>]*>", "", str(front.title)), front.real) == (title, real)
    seal = str(front.seal)
    assert ("lead is real" in seal, "too close to call" in seal) == (real is True, real is False)


def test_an_upload_to_a_main_split_is_hollow_and_never_carries_the_headline() -> None:
    lines = [line("up", 0.9, 1, source="uploaded"), line("own", 0.8, 2, rank=2)]
    front = front_of(lines, OF_F1)
    assert front is not None and front.leaders[0].result.entry.name == "own"
    assert ["hf-hollow" in row for row in drawn(lines)] == [True, False]
    assert front_of(lines[:1], OF_F1) is None and only_uploads(lines[:1]) and not only_uploads(lines)
    assert str(short_verdict(lines[:1], board(), SPLIT, OF_F1, NOWHERE)[0]).strip() == ONLY_UPLOADS
    prospective = SPLIT._replace(kind=PROSPECTIVE)
    known = SystemFacts("of-up", "", "", False, "", 9, None, None, None, None, "")
    lines = [replace(one, facts=known) for one in lines]
    front = front_of(lines, OF_F1)
    assert front is not None and front.leaders[0].result.entry.name == "up"
    assert not any("hf-hollow" in row for row in drawn(lines, split=prospective))


def test_a_bracket_joins_the_rows_of_a_tie_group_also_where_some_are_filtered_out() -> None:
    lines = [line("abcde"[k], 0.9 - k / 10, group, rank=k + 1) for k, group in enumerate((1, 1, 1, 2, 3))]
    ranking = RankingPicture.of(lines, board(), SPLIT, OF_F1, NOWHERE)

    first, middle, last, alone = "hf-tied hf-tied-first", "hf-tied ", "hf-tied hf-tied-last", "hf-row hf-"
    for kept, expected in (
        ([True] * 5, [first, middle, last, alone, alone]),
        ([True, False, True, True, False], [first, last, alone]),
        ([False, True, False, True, True], [alone, alone, alone]),
    ):
        rows = re.findall(r'<li class="([^"]*)"', str(ranking.draw(kept)))
        assert [want in row for row, want in zip(rows, expected, strict=True)] == [True] * len(expected)
        assert [("hf-tied" in row) for row in rows] == ["tied" in want for want in expected]


def test_the_row_under_the_pointer_dims_those_that_do_not_differ_significantly() -> None:
    lines = [line("abc"[k], 0.9 - k / 10, 1, rank=k + 1) for k in range(3)]
    rows = drawn(lines, [("a", "b", 0.4), ("a", "c", 0.01), ("b", "c", 0.2)])
    alike = [{int(k) for k in re.findall(r"hf-s(\d+)", row)} for row in rows]
    assert alike == [{0, 1}, {0, 1, 2}, {1, 2}]


def test_the_first_fifty_rows_are_shown_and_the_others_on_demand() -> None:
    lines = [line(f"m{k:03d}", 0.9, 1, rank=k + 1) for k in range(AT_FIRST + 7)]
    ranking = RankingPicture.of(lines, board(), SPLIT, OF_F1, NOWHERE)
    before, _, after = str(ranking.draw()).partition("<details>")
    assert (before.count("<li"), after.count("<li")) == (AT_FIRST, 7) and f"Show all {AT_FIRST + 7} systems" in after


def test_every_system_stands_on_the_scale_and_makers_share_a_colour() -> None:
    lines = [line("a", 0.9, 1, maker="One"), line("b", 0.8, 2, rank=2, maker="Two"), line("c", 0.7, 3, rank=3)]
    known = board()
    shown = str(field(lines, known, SPLIT, OF_F1))
    assert shown.count("hf-lane ") == 3 and "hf-zone" in shown and "one person 0.860" in shown
    assert shown.count("hf-maker-none") == 3  # this board has no scores, so it knows no makers
    assert field([], known, SPLIT, OF_F1) is None
    falling = replace(OF_F1, rising=False, reference=None, people=None)
    assert str(field(lines, known, SPLIT, falling)).count("hf-lane ") == 3
