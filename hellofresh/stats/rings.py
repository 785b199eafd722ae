"""Raters who push notes together: pairs who called helpful more of the same posts' notes than their activity explains.

Two raters meet by chance on as many posts as their activity and the posts' fame let expect: for each period (such as
a month) the product of both raters' posts in it, times the chance that draws of a post each, by raters of their camps,
are the same. How many they share is compared with a Poisson count of this mean, and the p-value with all pairs of
raters. A post counts once, however many notes on it a rater liked. A rater who is found together with at least
`LEAST_PARTNERS` others belongs to a ring.

What honest raters have in common beside camp and period (topics, languages, hours) makes them meet more often than
that: see `benchmarks/bridging.py --only rings` for what this costs. Nobody is named: what leaves are counts, and what
notes would lose without these ratings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.bridging import LEVELS, Bridging

LEAST_PARTNERS = 4
LEAST_SHARED = 5
"""Pairs who share fewer posts are not looked at."""
_MOST_FAMOUS = 300
"""Posts on which more raters were early tell nothing of two of them, and cost most."""
_LEVEL = 0.001
_BLOCK = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class FoundRings:
    """What was found.

    Attributes:
        rater: shape (raters,), who belongs to a ring.
        pairs: how many pairs share more than chance explains.
        looked_at: raters who called enough posts' notes helpful to be found.
    """

    rater: NDArray[np.bool_]
    pairs: int
    looked_at: int


def find_rings(
    post: NDArray[np.int64],
    rater: NDArray[np.int64],
    *,
    period: NDArray[np.int64],
    camp: NDArray[np.int64],
    level: float = _LEVEL,
) -> FoundRings:
    """Find raters who call the same posts' notes helpful, more often than chance explains.

    Args:
        post, rater: shape (ratings,), of ratings that call a note helpful; numbers from 0.
        period: shape (posts,), the number of each post's period.
        camp: shape (raters,), equal numbers for raters of one camp.
        level: of the chance that an honest pair is found, all pairs together.
    """
    from scipy.sparse import csr_array
    from scipy.special import gammainc

    raters, posts = camp.size, period.size
    pairs = np.unique(post * raters + rater)
    post, rater = pairs // raters, pairs % raters
    kept = np.bincount(post, minlength=posts)[post] <= _MOST_FAMOUS
    post, rater = post[kept], rater[kept]
    active = np.flatnonzero(np.bincount(rater, minlength=raters) >= LEAST_SHARED)
    if active.size < 2:
        return FoundRings(np.zeros(raters, np.bool_), 0, active.size)
    place = np.full(raters, -1)
    place[active] = np.arange(active.size)
    post, rater = post[place[rater] >= 0], place[rater[place[rater] >= 0]]
    size = active.size
    rated = csr_array((np.ones(post.size, np.float32), (rater, post)), shape=(size, posts))
    periods, number = np.unique(period, return_inverse=True)
    camps, mine = np.unique(camp[active], return_inverse=True)
    shape = (size, periods.size)
    count = csr_array((np.ones(post.size), (rater, number[post])), shape=shape).toarray()
    meet = _meetings(post, mine[rater], number, camps.size, periods.size)
    partners, found = np.zeros(size, np.int64), 0
    threshold = level / max(size * (size - 1) / 2, 1)
    for start in range(0, size, _BLOCK):
        shared = (rated[start : start + _BLOCK] @ rated.T).tocoo()
        one, two, both = shared.row + start, shared.col, shared.data
        wanted = (both >= LEAST_SHARED) & (one < two)
        one, two, both = one[wanted], two[wanted], both[wanted]
        expected = (count[one] * count[two] * meet[mine[one], mine[two]]).sum(axis=1)
        together = gammainc(both, expected) < threshold  # P(Poisson >= both)
        found += int(together.sum())
        for side in (one, two):
            partners += np.bincount(side[together], minlength=size)
    flagged = np.zeros(raters, np.bool_)
    flagged[active[partners >= LEAST_PARTNERS]] = True
    return FoundRings(flagged, found, size)


def _meetings(
    post: NDArray[np.int64], camp: NDArray[np.int64], period: NDArray[np.int64], camps: int, periods: int
) -> NDArray[np.float64]:
    """The chance that draws of one post each by raters of two camps are the same, shape (camps, camps, periods)."""
    fame = np.stack([np.bincount(post[camp == one], minlength=period.size) for one in range(camps)]).astype(np.float64)
    whole = np.stack([np.bincount(period, side, periods) for side in fame])
    share = np.divide(fame, whole[:, period], out=np.zeros_like(fame), where=whole[:, period] > 0)
    return np.stack([[np.bincount(period, one * two, periods) for two in share] for one in share])


def intercepts_without(fit: Bridging, raters: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Notes' final intercepts without some raters, the others staying as they are; shape (notes,).

    nan where too few ratings are left for one.
    """
    second, ratings = fit.second, fit.ratings
    kept = fit.helpful_rater[ratings.rater] & ~raters[ratings.rater]
    note, rater = ratings.note[kept], ratings.rater[kept]
    slope = second.rater_factor[rater]
    rest = np.array(LEVELS)[ratings.level[kept]] - second.mu - second.rater_intercept[rater]
    n, f, ff, level, tilt = (
        np.bincount(note, column, minlength=fit.intercept.size)
        for column in (np.ones(note.size), slope, slope**2, rest, slope * rest)
    )
    a, c = n + second.note_ridge[0], ff + second.note_ridge[1]
    few = n < fit.settings.min_num_raters_per_note
    return np.where(few, np.nan, (c * level - f * tilt) / (a * c - f * f))
