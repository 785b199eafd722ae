"""Standings and pairs: identities that hold whatever the systems say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hellofresh.board_ranks import Field, pairs_of, standings_of

IDS = [f"s{k}" for k in range(24)]
SAMPLES = {key: (k % 2, f"g{k // 2}", f"2023-0{4 + k % 3}") for k, key in enumerate(IDS)}
ANSWERS = st.lists(st.sampled_from([0, 1, -1]), min_size=len(IDS), max_size=len(IDS))


def said(*systems: list[int]) -> dict[str, dict[str, int]]:
    return {f"system-{k}": dict(zip(IDS, answers, strict=True)) for k, answers in enumerate(systems)}


def field(systems: dict[str, dict[str, int]], unranked: tuple[str, ...] = ()) -> Field:
    found = Field.of(systems, {name: name not in unranked for name in systems}, SAMPLES)
    assert found is not None
    return found


TRUTH = [k % 2 for k in range(len(IDS))]
WRONG = [1 - k % 2 for k in range(len(IDS))]


@settings(max_examples=10)
@given(st.lists(ANSWERS, min_size=2, max_size=4))
def test_ranks_lie_in_their_intervals_and_chances_of_being_first_add_up(systems: list[list[int]]) -> None:
    standings, pairs = standings_of(field(said(*systems)))
    assert all(1 <= s.low <= s.rank <= s.high <= len(systems) for s in standings)
    assert sum(s.first for s in standings) == pytest.approx(1)
    assert all(pair.adjusted is not None and pair.adjusted >= (pair.p_value or 0) for pair in pairs)
    assert all(a.tie_group <= b.tie_group for a, b in pairwise(standings))


@settings(max_examples=10)
@given(ANSWERS, ANSWERS)
def test_swapping_two_systems_flips_the_difference(one: list[int], two: list[int]) -> None:
    (pair,) = standings_of(field(said(one, two)))[1]
    (back,) = standings_of(field(said(two, one)))[1]
    assert (back.difference, back.p_value) == pytest.approx((-pair.difference, pair.p_value))
    assert (back.low, back.high) == pytest.approx((-pair.high, -pair.low))
    assert (back.one_right, back.two_right, back.both_right) == (pair.two_right, pair.one_right, pair.both_right)


def test_counts_of_a_pair_are_those_of_its_samples() -> None:
    half = [*TRUTH[:12], *WRONG[12:]]
    (pair,) = standings_of(field(said(TRUTH, half)))[1]
    assert (pair.n, pair.both_right, pair.one_right, pair.two_right, pair.same) == (24, 12, 12, 0, 12)
    assert pair.difference > 0


def test_periods_add_up_to_the_whole_quarter() -> None:
    parts = pairs_of(field(said(TRUTH, WRONG)))
    assert [part.period for part in parts] == ["2023-04", "2023-05", "2023-06"]
    assert sum(part.n for part in parts) == len(IDS)
    assert {part.adjusted for part in parts} == {None}
    assert all(part.low < part.difference for part in parts)


def test_baselines_are_compared_and_not_ranked() -> None:
    standings, pairs = standings_of(field(said(TRUTH, WRONG, TRUTH), unranked=("system-1",)))
    assert [(s.origin, s.rank, s.tie_group) for s in standings] == [("system-0", 1, 1), ("system-2", 1, 1)]
    assert len(pairs) == 3


def test_who_judged_too_little_does_not_shrink_the_common_ground() -> None:
    systems = {**said(TRUTH, WRONG), "partial": {IDS[0]: 1}}
    assert list(field(systems).origins) == ["system-0", "system-1"]
    assert field(systems).labels.size == len(IDS)
    assert Field.of({}, {}, SAMPLES) is None


def test_the_order_of_samples_changes_nothing() -> None:
    systems = said(TRUTH, [*TRUTH[:20], *WRONG[20:]], WRONG)
    turned = {name: dict(reversed(by_sample.items())) for name, by_sample in systems.items()}
    assert standings_of(field(turned)) == standings_of(field(systems))
    assert np.array_equal(field(turned).predictions, field(systems).predictions)


def test_two_that_say_the_same_have_an_interval_with_a_width() -> None:
    (pair,) = standings_of(field(said(TRUTH, TRUTH)))[1]
    assert pair.difference == 0
    assert pair.low == -pair.high < -0.1


def test_of_one_group_no_interval_can_be_given() -> None:
    samples = {key: (label, "one", period) for key, (label, _, period) in SAMPLES.items()}
    found = Field.of(said(TRUTH, WRONG), {"system-0": True, "system-1": True}, samples)
    assert found is not None
    (pair,) = standings_of(found)[1]
    assert (pair.low, pair.high, pair.p_value) == (-1, 1, 1)
