"""The simulation of benchmarks/coverage.py in short: bounds are wider than its own, by the luck of fewer repeats."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import coverage as simulation

REPEATS = 1000


def seeded() -> np.random.Generator:
    return np.random.default_rng(11)


@pytest.mark.parametrize("number", [0, 2, 6, 7, 10])
def test_the_default_interval_covers_what_it_promises(number: int) -> None:
    world = simulation.WORLDS[number]
    found = {item.what: item.share for item in simulation.coverage(world, REPEATS, 50, seeded())}
    # 4 standard errors of a share of 0.95 in 1,000 repeats beyond the bounds of 93.5% and 96.5%.
    assert 0.91 <= found["f1: cluster Wilson"] <= 0.99, world.name
    if world.label_effect and world.clusters > 30:
        assert found["f1: Wilson, as if independent"] < found["f1: cluster Wilson"]


def test_the_interval_of_a_difference_holds_0() -> None:
    found = {item.what: item.share for item in simulation.paired(simulation.PAIRS[2], REPEATS, 199, seeded())}
    assert 0.92 <= found["f1, interval holds 0"] <= 0.98


def test_limits_over_quarters_hold_what_is_expected_over_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "EXPECTED_OVER", 60)
    (found,) = simulation.over_quarters(simulation.QUARTERS_WORLDS[1], 40, 0, seeded())
    assert 0.88 <= found.share <= 1  # without the error of the draw it is 79%


def test_among_equals_hardly_any_pair_is_found_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "LEVELS", (10,))
    found = {item.what: item.share for item in simulation.ranked(simulation.MANY[0], 60, 0, seeded())}
    assert found["10 equal: any pair found apart"] <= 0.15
    assert found["10 equal: rank interval holds all ranks"] >= 0.9
    assert found["10 graded: all rank intervals hold their ranks"] >= 0.9
    assert found["10 graded: all intervals of pairs hold"] >= 0.85
    assert found["10 graded: pairs found apart"] >= found["10 graded: the same by Bonferroni, pairs"]


@pytest.mark.parametrize(
    "start", ["99.9%", "5.0% ones, 60", "reciprocal ranks, mean .04, 60", "lognormal (0, 1.5), no scale, 20 "]
)
def test_a_mean_and_a_difference_hold_the_truth_or_are_marked(start: str) -> None:
    (world,) = (one for one in (*simulation.MEAN_WORLDS, *simulation.PAIR_WORLDS) if one.name.startswith(start))
    found = next(simulation.means(world, REPEATS, 0, seeded()))
    assert found.share >= 0.92 or ((found.marked or 0) >= 0.85 and found.share >= 0.88)


@pytest.mark.parametrize(
    "start", ["97.0% ones, 100 items, 30%", "5.0% ones, 20 items, 5%", "exponential, no scale, 60 "]
)
def test_a_mean_with_missing_cells_holds_the_truth_where_plain_t_does_not(start: str) -> None:
    world = next(one for one in simulation.GAP_WORLDS if one.name.startswith(start))
    found = {item.what: item for item in simulation.with_gaps(world, REPEATS, 0, seeded())}
    assert found["interval"].share >= max(0.92, found["plain t"].share)


@pytest.mark.parametrize("number", [0, 4])
def test_calibrated_systems_are_rarely_found_uncalibrated_and_others_often(number: int) -> None:
    world = simulation.STATED_WORLDS[number]
    tested, plain, debiased, *held = (item.share for item in simulation.stated(world, 150, 0, seeded()))
    assert len(held) == 8 and min(held) >= 0.88  # of the Brier indices, log score, Brier score, AUC and three parts
    assert tested <= 0.13 if number < 3 else tested >= 0.7
    assert abs(debiased) < abs(plain) if number < 3 else abs(debiased) < 0.02
