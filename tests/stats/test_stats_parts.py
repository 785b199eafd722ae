"""Agreement of answers, parts of the samples, and the region of two metrics."""

from __future__ import annotations

import numpy as np
import pytest
from counting import M, compare_parts, count, draw_jointly
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from hellofresh.stats.agreement import answer_agreement, share_interval
from hellofresh.stats.draws import joint_region

LABELS = np.array([1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0], dtype=np.int8)
SAID = np.array([1, 0, 0, 0, 1, 1, 1, -1, 1, 0, 0, 0], dtype=np.int8)
GROUPS = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5])

answers = st.lists(st.sampled_from([-2, -1, 0, 1]), min_size=4, max_size=30)


@settings(max_examples=25)
@given(first=answers, seed=st.integers(0, 99))
def test_agreement_is_that_of_scikit_learn_and_the_same_both_ways(first: list[int], seed: int) -> None:
    one = np.array(first, dtype=np.int8)
    two = np.random.default_rng(seed).permutation(one)
    found, back = answer_agreement(one, two), answer_agreement(two, one)
    assert found.raw == pytest.approx((one == two).mean())
    assert (found.raw, found.kappa) == pytest.approx((back.raw, back.kappa))
    if len(set(first)) > 1:
        assert found.kappa == pytest.approx(cohen_kappa_score(one, two), abs=1e-9)
    assert found.kappa_interval.low <= found.kappa <= found.kappa_interval.high


def test_a_system_agrees_with_itself_and_chance_is_zero() -> None:
    same = answer_agreement(SAID, SAID, GROUPS)
    assert (same.raw, same.kappa) == (1.0, 1.0)
    constant = np.ones(12, dtype=np.int8)
    assert answer_agreement(constant, constant, GROUPS).kappa == 0.0
    assert answer_agreement(constant, LABELS, GROUPS).kappa == pytest.approx(0.0)


def test_one_group_alone_says_nothing_of_kappa() -> None:
    made = answer_agreement(SAID, LABELS, np.zeros(12, dtype=np.int64)).kappa_interval
    assert (made.low, made.high) == (-1.0, 1.0)


def test_a_share_lies_in_its_interval() -> None:
    hits = SAID == -1
    share, made = share_interval(hits, GROUPS)
    assert share == pytest.approx(1 / 12)
    assert made.low <= share <= made.high
    assert share_interval(~hits, GROUPS)[0] == pytest.approx(1 - share)


def test_parts_are_the_two_scores_and_change_sign_when_exchanged() -> None:
    part = np.arange(12) < 6
    found, back = compare_parts(LABELS, SAID, part, GROUPS), compare_parts(LABELS, SAID, ~part, GROUPS)
    here, there = (count(LABELS[side], SAID[side]).metrics["f1"] for side in (part, ~part))
    assert found[0] == pytest.approx(here - there) == pytest.approx(-back[0])
    assert (found[1].low, found[1].high) == pytest.approx((-back[1].high, -back[1].low))
    assert found[1].low < found[0] < found[1].high


def test_equal_halves_do_not_differ() -> None:
    labels, said = np.tile(LABELS, 2), np.tile(SAID, 2)
    part, groups = np.arange(24) < 12, np.concatenate([GROUPS, GROUPS + 6])
    assert compare_parts(labels, said, part, groups)[0] == 0.0


def test_a_part_of_one_group_has_no_interval_and_an_empty_one_is_refused() -> None:
    _, made = compare_parts(LABELS, SAID, GROUPS == 0, GROUPS)
    assert (made.low, made.high) == (-1.0, 1.0)
    with pytest.raises(ValueError, match="some samples"):
        compare_parts(LABELS, SAID, GROUPS >= 0, GROUPS)


def test_the_ellipse_holds_its_share_of_resamples() -> None:
    random = np.random.default_rng(5)
    labels = random.integers(0, 2, 600).astype(np.int8)
    said = np.where(random.random(600) < 0.75, labels, 1 - labels).astype(np.int8)
    draws = draw_jointly(labels, said[None], metrics=("precision", "recall"), resamples=4_000)
    region = joint_region(draws, 0, M["recall"], M["precision"])
    turn = np.deg2rad(region.angle)
    x, y = draws.of(M["recall"])[0] - region.x, draws.of(M["precision"])[0] - region.y
    along, across = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
    inside = (2 * along / region.width) ** 2 + (2 * across / region.height) ** 2 <= 1
    assert inside.mean() == pytest.approx(0.95, abs=0.015)
    assert region.width >= region.height > 0
