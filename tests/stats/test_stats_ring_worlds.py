"""Rings of many sizes in worlds of one to four languages: found, and no honest rater with them."""

from __future__ import annotations

import numpy as np
import pytest

from hellofresh.stats.rings import find_rings

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
