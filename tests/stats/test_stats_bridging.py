"""The bridging fit and rings of raters in invented worlds; dumps read show the fit beside that of X itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import stdtrit

from benchmarks.made.voters import Voters, VotersWorld, draw_voters
from hellofresh.stats.bridging import (
    LEVELS,
    Bridging,
    BridgingSettings,
    NoteStatus,
    chance_helpful,
    fit_bridging,
    redraws,
    sampling,
    statuses,
)
from hellofresh_parts.voters.rings import find_rings

WORLD = VotersWorld.make(200, 1)
VOTERS = draw_voters(WORLD, 400, 13_000, 1)
EXACT = replace(BridgingSettings(), tolerance=1e-12, sweeps=3000)
FIT = fit_bridging(*VOTERS, EXACT)


def loss(voters: Voters, fit: Bridging, mu: float, parameters: list[np.ndarray]) -> float:
    """What X minimises in the first round: means over ratings, notes and raters."""
    i_n, f_n, i_u, f_u = parameters
    note, rater = voters.ratings.note, voters.ratings.rater
    part = np.isfinite(fit.first.note_intercept)[note] & np.isfinite(fit.first.rater_intercept)[rater]
    note, rater, value = note[part], rater[part], np.array(LEVELS)[voters.ratings.level[part]]
    rest = value - mu - i_n[note] - i_u[rater] - f_n[note] * f_u[rater]
    penalties = 0.15 * (np.nanmean(i_n**2) + np.nanmean(i_u**2) + mu**2)
    return float(np.mean(rest**2) + penalties + 0.03 * (np.nanmean(f_n**2) + np.nanmean(f_u**2)))


def test_the_first_round_is_where_the_published_loss_is_least() -> None:
    first, random = FIT.first, np.random.default_rng(0)
    at = [first.note_intercept, first.note_factor, first.rater_intercept, first.rater_factor]
    for _ in range(5):
        steps = [random.normal(0, 1, values.size) for values in at]
        step = random.normal()
        up, down = (
            loss(VOTERS, FIT, first.mu + sign * step, [v + sign * s for v, s in zip(at, steps, strict=True)])
            for sign in (1e-4, -1e-4)
        )
        assert abs(up - down) < 1e-8
        assert up > loss(VOTERS, FIT, first.mu, at)


@pytest.mark.parametrize("threads", [1, 3, 7])
def test_the_number_of_threads_changes_no_bit(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hellofresh.stats.bridging._THREADS", threads)
    assert fit_bridging(*VOTERS, EXACT).intercept.tobytes() == FIT.intercept.tobytes()


def test_the_final_intercept_is_a_ridge_regression_on_helpful_raters() -> None:
    second = FIT.second
    for note in np.flatnonzero(np.isfinite(FIT.intercept))[:20]:
        mine = (VOTERS.ratings.note == note) & FIT.helpful_rater[VOTERS.ratings.rater]
        rater = VOTERS.ratings.rater[mine]
        design = np.stack([np.ones(rater.size), second.rater_factor[rater]], axis=1)
        target = np.array(LEVELS)[VOTERS.ratings.level[mine]] - second.mu - second.rater_intercept[rater]
        found = np.linalg.solve(design.T @ design + np.diag(second.note_ridge), design.T @ target)
        assert np.allclose(found, [FIT.intercept[note], FIT.factor[note]])


RULES = [
    {},
    {"min_net_helpful": 8},
    {"crh_threshold": 0.3, "factor_threshold": 0.2},
    {"crnh_side_ratings": 10**6},
    {"crnh_threshold_intercept": -9.0, "crnh_threshold_nm_intercept": 0.2},
    {"crnh_threshold_intercept": -9.0, "crnh_side_mean": 0.6, "crnh_mean": 0.5},
]


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_statuses_follow_the_rules(rules: dict[str, float]) -> None:
    its = replace(EXACT, crnh_threshold_ucb_intercept=-9.0, inertia_delta=0.05, **rules)
    some = np.arange(200)
    notes = replace(VOTERS.notes, misleading=VOTERS.notes.misleading & (some % 4 > 0), shown=some % 2 == 0)
    sides, total = np.stack([FIT.tallies.left, FIT.tallies.right]), FIT.tallies.count.sum(axis=1)
    counts, net = sides.sum(axis=2), (sides @ [-1, 0, 1]).min(axis=0)
    means = sides @ np.array(LEVELS) / np.maximum(counts, 1)
    few = (net >= its.min_net_helpful_few) & (net >= its.min_net_helpful_share * total)
    height, tilt = FIT.intercept, np.abs(FIT.factor)
    high = (height >= its.crh_threshold - 0.05 * notes.shown) & (height >= its.crh_threshold_no_high_vol)
    helpful = high & notes.misleading & (tilt <= its.factor_threshold) & ((net >= its.min_net_helpful) | few)
    low = (counts >= its.crnh_side_ratings) & (means <= its.crnh_side_mean)
    bad = low.all(axis=0) & (means.mean(axis=0) <= its.crnh_mean)
    bad |= height <= its.crnh_threshold_intercept + its.crnh_threshold_note_factor_multiplier * tilt
    bad |= ~notes.misleading & (height < its.crnh_threshold_nm_intercept)
    open_ = ~FIT.scored | (total < its.min_num_raters_per_note)
    expected = np.select(
        [open_, bad, helpful],
        [NoteStatus.NEEDS_MORE_RATINGS, NoteStatus.NOT_HELPFUL, NoteStatus.HELPFUL],
        NoteStatus.NEEDS_MORE_RATINGS,
    )
    assert statuses(replace(FIT, settings=its, notes=notes)).tolist() == expected.tolist()
    assert bad.any() and helpful.any()


def test_intervals_and_chances_hold_over_samples_of_raters() -> None:
    world, held, stated, seen = VotersWorld.make(400, 101), [], [], []
    samples = [fit_bridging(*draw_voters(world, 800, 36_000, seed, tail=1.3, own=0.3)) for seed in range(9)]
    intercepts = np.array([fit.intercept for fit in samples])
    status = np.array([statuses(fit) for fit in samples]) == NoteStatus.HELPFUL
    for place, fit in enumerate(samples[:3]):
        redrawn = redraws(fit)
        found, chance = sampling(fit, redrawn), chance_helpful(fit, redrawn)
        known, mean = np.isfinite(chance), np.nanmean(np.delete(intercepts, place, 0), axis=0)
        half = stdtrit(np.maximum(found.freedom, 1), 0.975) * found.error * np.sqrt(1 + 1 / 8)
        held.append(np.stack([np.abs(fit.intercept - mean) <= half, mean > 0.3, found.freedom >= 99])[:, known])
        stated.append(chance[known])
        seen.append(np.delete(status, place, 0).mean(axis=0)[known])
    inside, high, many = np.concatenate(held, axis=1).astype(bool)
    shares = [float(inside[which].mean()) for which in (high, many, ~high & ~many)]
    assert all(0.88 <= share <= 0.985 for share in shares), shares  # of three fits, whose notes vary together
    told, found_helpful = np.concatenate(stated), np.concatenate(seen)
    assert 0.8 <= np.polyfit(told, found_helpful, 1)[0] <= 1.15  # of three fits; of twenty worlds, see the benchmark
    likely = (told > 0.5) & (told < 0.95)
    assert abs(told[likely].mean() - found_helpful[likely].mean()) < 0.1


# --- Rings of many sizes in worlds of one to four languages: found, and no honest rater with them.


RATERS, POSTS, PUSHED = 1800, 2400, 12


def world(seed: int, languages: int, ring: int, others: int = 6):
    """Likes of raters who hardly leave their language; those of a ring also like the same twelve posts."""
    draw = np.random.default_rng(seed)
    share = np.array([8, 3, 2, 1.5])[:languages] / np.array([8, 3, 2, 1.5])[:languages].sum()
    of_rater, of_post = draw.choice(languages, RATERS, p=share), draw.choice(languages, POSTS, p=share)
    fame, in_ring = draw.pareto(1.5, POSTS) + 0.2, np.zeros(RATERS, np.bool_)
    in_ring[draw.choice(np.flatnonzero(of_rater == 0), ring, replace=False)] = True
    targets = draw.choice(np.flatnonzero(of_post == 0), PUSHED, replace=False)
    post, rater = [], []
    for one in range(RATERS):
        own = np.flatnonzero(of_post == of_rater[one])
        count = others if in_ring[one] else min(200, int(draw.pareto(1.3) * 8) + 3)
        liked = [*draw.choice(own, count, p=fame[own] / fame[own].sum()), *draw.choice(POSTS, draw.poisson(0.3))]
        liked += [*targets[draw.random(PUSHED) < 0.9]] if in_ring[one] else []
        post.append(np.unique(liked))
        rater.append(np.full(post[-1].size, one))
    return np.concatenate(post), np.concatenate(rater), draw.integers(0, 3, POSTS), in_ring


@pytest.mark.parametrize(
    ("languages", "ring"), [(1, 0), (1, 60), (2, 24), (2, 44), (3, 15), (3, 120), (4, 0), (4, 60), (4, 200)]
)
def test_rings_of_all_sizes_are_found_and_nobody_else(languages: int, ring: int) -> None:
    post, rater, period, in_ring = world(5, languages, ring)
    found = find_rings(post, rater, period=period, camp=np.zeros(RATERS, np.int64)).rater
    assert not found[~in_ring].any()
    assert ring == 0 or found[in_ring].mean() >= 0.9


@pytest.mark.parametrize("others", [20, 60])
def test_members_who_rate_many_other_posts_may_be_missed_and_nobody_else_is_called(others: int) -> None:
    post, rater, period, in_ring = world(101, 3, 60, others)
    found = find_rings(post, rater, period=period, camp=np.zeros(RATERS, np.int64)).rater
    assert not found[~in_ring].any()
