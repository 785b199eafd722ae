"""Every number about voters and rings of them, as the file beside has them: any change of a line shows here.
See `tests/values.py`.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks.made.voters import Voters, VotersWorld, draw_liked, draw_voters
from hellofresh.stats import bridging
from hellofresh.stats.bridging import BridgingSettings
from hellofresh_parts.voters import rings
from tests.values import Cases, digest, refused

case = Cases(Path(__file__).with_suffix(".json"))


def voters(notes: int, raters: int, ratings: int, seed: int) -> Voters:
    """Voters of whom some wrote notes, rated late, or rate very much; a few notes are shown already."""
    made = draw_voters(VotersWorld.make(notes, seed), raters, ratings, seed)
    writer = np.where(np.arange(notes) % 4 == 0, np.arange(notes) // 4 % 7, -1).astype(np.int32)
    shown = bridging.Notes(writer, made.notes.misleading & (np.arange(notes) % 9 > 0), np.arange(notes) % 3 == 0)
    return Voters(made.ratings, shown, replace(made.raters, high_volume=np.arange(raters) % 6 == 0))


def parts_of(found: object) -> dict[str, object]:
    """Digests of the arrays of a dataclass."""
    held = {field.name: getattr(found, field.name) for field in fields(found)}
    return {name: digest(value) if isinstance(value, np.ndarray) else value for name, value in held.items()}


RULES = BridgingSettings(
    tolerance=1e-12, sweeps=2000, crh_threshold=0.15, crh_threshold_no_high_vol=0.1, min_net_helpful=6,
    inertia_delta=0.05,
    min_net_helpful_few=2, min_net_helpful_share=0.1, crnh_threshold_intercept=0.0, crnh_side_mean=0.55, crnh_mean=0.5,
    crnh_threshold_nm_intercept=0.05, crnh_threshold_ucb_intercept=-0.02, factor_threshold=0.4,
    min_mean_note_score=0.02,
    crnh_weight=1.0,
)  # fmt: skip


@case
def rounds_of_voters() -> object:
    found: list[object] = []
    for seed, settings in ((8, RULES), (3, replace(RULES, min_num_raters_per_note=12, min_num_ratings_per_rater=12))):
        fit = bridging.fit_bridging(*voters(70, 120, 3_500, seed), settings)
        rounds = [{**parts_of(one), "sweeps": one.sweeps > 9} for one in (fit.first, fit.second)]
        own = [digest(side) for side in (fit.helpful_rater, fit.intercept, fit.factor, fit.scored, fit.drawn)]
        found += [rounds, own, parts_of(fit.tallies), parts_of(fit.quiet)]
    ratings, notes, raters = voters(70, 120, 3_500, 8)
    for part in (2, 3):
        core = replace(raters, core=np.arange(120) % part == 0)
        found.append(bridging.fit_bridging(ratings, notes, core, replace(RULES, min_num_raters_per_note=2)).scored)
    for sweeps in (1, 4, 9, 14):  # not at the minimum yet: the way there
        found.append(parts_of(bridging.fit_round(ratings, 70, 120, replace(RULES, sweeps=sweeps))))
    loose = bridging.fit_round(ratings, 70, 120, BridgingSettings(tolerance=0.02), bridging.draw_raters(120, 4))
    found += [parts_of(loose), bridging.draw_raters(7, 1)]
    two = bridging.Ratings(*(np.array(side, np.int32) for side in ([0, 0, 1, 1], [0, 1, 0, 1])), np.array([2, 0, 0,
    2], np.int8),
                           np.ones(4, np.bool_))  # fmt: skip
    few = replace(RULES, min_num_raters_per_note=2, min_num_ratings_per_rater=2)
    found.append(
        [
            getattr(bridging.fit_round(two, 3, 2, few), name)
            for name in ("note_intercept", "note_factor", "rater_factor")
        ]
    )
    return found


@case
def rules_of_voters() -> object:
    fit = bridging.fit_bridging(*voters(70, 120, 3_500, 8), RULES)
    found: list[object] = [bridging.statuses(fit)]
    for rule in (
        {"crh_threshold": 0.4}, {"inertia_delta": 0.0}, {"crh_threshold_no_high_vol": 0.3}, {"factor_threshold": 0.2},
        {"min_net_helpful": 3}, {"min_net_helpful_few": 6}, {"min_net_helpful_share": 0.3},
        {"crnh_threshold_intercept": -0.4},
        {"crnh_threshold_note_factor_multiplier": 0.0}, {"crnh_threshold_ucb_intercept": 0.1}, {"crnh_side_mean": 0.3},
        {"crnh_threshold_nm_intercept": -0.3}, {"crnh_mean": 0.3}, {"crnh_side_ratings": 12},
        {"min_num_raters_per_note": 25},
    ):  # fmt: skip
        found += [
            "".join("-0+"[status + 1] for status in bridging.statuses(replace(fit, settings=replace(RULES, **rule))))
        ]
    # Tallies on the border of each rule.
    grid = np.array([[a, 1, b] for a in range(7) for b in range(13)], dtype=np.float64)
    sides = replace(fit.tallies, left=grid, right=grid[::-1] + 2, count=2 * grid + 2)
    found += [bridging._liked_by_both(sides, RULES), bridging._rejected_by_both(sides, replace(RULES, crnh_mean=0.55)),
              bridging._rejected_by_both(replace(sides, right=grid), replace(RULES, crnh_side_mean=0.5))]  # fmt: skip
    for rule in (
        {"crnh_threshold_intercept": 0.4, "min_rater_agree_ratio": 0.0, "min_mean_note_score": -9.0},
        {"min_rater_agree_ratio": 0.8},
        {"min_mean_note_score": 0.2},
        {"crnh_weight": 0.2},
        {"min_crh_vs_crnh_ratio": 0.3},
    ):
        found.append(digest(bridging._helpful_raters(fit.ratings, fit.notes, fit.first, replace(RULES, **rule))))
    return found


@case
def samples_of_voters() -> object:
    ratings, notes, raters = voters(70, 120, 3_500, 8)
    found: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bridging, "_REDRAWN", 10_000)
        patch.setattr(bridging, "_ROUGH", 1e-11)
        for chunk, learnt in ((200_000, 4_000_000), (999, 3_000)):
            patch.setattr(bridging, "_CHUNK", chunk)
            patch.setattr(bridging, "_LEARNT", learnt)
            fit = bridging.fit_bridging(ratings, notes, raters, RULES)
            again = bridging.redraws(fit)
            found += [len(again), [digest(one.intercept) for one in again], digest(bridging.chance_helpful(fit, again))]
            for redrawn, every in (([], 1), (again[:1], 1), (again, 1), ([], 3), (again, 3)):
                found.append(parts_of(bridging.sampling(fit, redrawn, every)))
            for some in (again, again[:2], again[:1]):
                found += [
                    digest(bridging.chance_helpful(fit, some)),
                    *map(digest, bridging.chance_if_decided(fit, some)),
                ]
        patch.setattr(bridging, "_LEAST_NOTES", 10**6)
        found.append(parts_of(bridging.sampling(fit, again)))
    return found


@case
def accounts_that_flip() -> object:
    fit = bridging.fit_bridging(*voters(70, 120, 3_500, 8), RULES)
    places = np.arange(69, -1, -1)
    return [bridging.flip_costs(fit, places, profile, most) for profile in bridging.Profile for most in (0, 1, 5, 64)]


@case
def voters_refused() -> object:
    ratings, notes, raters = voters(70, 120, 3_500, 8)
    none = replace(ratings, **{name: getattr(ratings, name)[:0] for name in ("note", "rater", "level", "valid")})
    few = replace(ratings, **{name: getattr(ratings, name)[:4] for name in ("note", "rater", "level", "valid")})
    bad = [replace(ratings, **{name: getattr(ratings, name)[1:]}) for name in ("note", "rater", "level", "valid")]
    bad += [
        replace(ratings, **{name: getattr(ratings, name) + step})
        for name in ("note", "rater", "level")
        for step in (-1, 1)
    ]
    calls = [partial(bridging.fit_bridging, one, notes, raters) for one in (*bad, none, few)]
    for name in ("writer", "misleading", "shown"):
        calls += [partial(bridging.fit_bridging, ratings, replace(notes, **{name: getattr(notes, name)[1:]}), raters)]
    calls.append(partial(bridging.fit_bridging, ratings, notes, replace(raters, core=raters.core[1:])))
    return refused(*calls, partial(bridging.fit_round, ratings, 70, 119), partial(bridging.fit_round, ratings, 69, 120))


def friends_of_a_ring(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Posts and raters: 10 raters of one ring on 12 posts, 10 busy ones who like half of these, and 280 others."""
    random, pairs = np.random.default_rng(seed), {(post, rater) for post in range(12) for rater in range(10)}
    for rater in range(300):
        pairs |= {(post, rater) for post in random.choice(400, 40 if 10 <= rater < 20 else 15, replace=False).tolist()}
        pairs |= {(post, rater) for post in random.choice(12, 7, replace=False).tolist() if 10 <= rater < 20}
    post, rater = np.array(sorted(pairs)).T
    return post, rater


@case
def found_rings() -> object:
    found: list[object] = []
    for seed, ring, pushed, languages in ((1, 9, 14, 1), (2, 14, 9, 2)):
        post, rater, period = draw_liked(seed, ring=ring, pushed=pushed, raters=220, posts=500, languages=languages)
        camp = np.arange(220) // 3 % 3
        for meetings, pairs, famous in ((10_000_000, 200_000, 300), (3_000, 40, 40)):
            with pytest.MonkeyPatch.context() as patch:
                for name, number in (("_MEETINGS", meetings), ("_PAIRS", pairs), ("_MOST_FAMOUS", famous)):
                    patch.setattr(rings, name, number)
                for level in (1.0, 0.001):
                    made = rings.find_rings(post, rater, period=period, camp=camp, level=level)
                    found.append([np.flatnonzero(made.rater), made.pairs, made.looked_at])
    post, rater = friends_of_a_ring(1)
    for joining in (0.001, 0.3, 3.0, 30.0):  # who likes what a ring pushes, and was not found beside any of it
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rings, "_JOINING", joining)
            made = rings.find_rings(post, rater, period=np.arange(400) % 3, camp=np.arange(300) % 2)
            found.append(np.flatnonzero(made.rater))
    alone = np.zeros(12, dtype=np.int64)
    found.append(rings.find_rings(np.arange(12), alone, period=alone, camp=alone[:3]))
    fit = bridging.fit_bridging(*voters(70, 120, 3_500, 8), RULES)
    found += [digest(rings.intercepts_without(fit, np.arange(120) % k == 0)) for k in (2, 3, 50)]
    return found


@pytest.mark.parametrize("name", case.named)
def test_every_value_is_as_written_down(name: str) -> None:
    case.check(name)


if __name__ == "__main__":
    case.write()
