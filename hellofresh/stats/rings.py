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
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.bridging import LEVELS, Bridging, trusted_ratings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LEAST_PARTNERS = 4
LEAST_SHARED = 5
"""Pairs who share fewer posts are not looked at."""
_MOST_FAMOUS = 300
"""Posts on which more raters were early tell nothing of two of them, and cost most."""
_LEVEL = 0.001
_MEETINGS, _PAIRS = 10_000_000, 200_000
"""So many meetings, and pairs, are looked at at a time."""


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
    post: NDArray[np.integer],
    rater: NDArray[np.integer],
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

    raters, posts = camp.size, period.size
    rated = csr_array((np.ones(post.size, np.float32), (rater, post)), shape=(raters, posts))
    rated.data[:] = np.bincount(rated.indices, minlength=posts)[rated.indices] <= _MOST_FAMOUS
    rated.eliminate_zeros()
    active = np.flatnonzero(np.diff(rated.indptr) >= LEAST_SHARED)
    size = active.size
    if size < 2:
        return FoundRings(np.zeros(raters, np.bool_), 0, size)
    rated = rated[active]
    periods, number = np.unique(period, return_inverse=True)
    camps, mine = np.unique(camp[active], return_inverse=True)
    of_period = csr_array((np.ones(posts), (np.arange(posts), number)), shape=(posts, periods.size))
    chance = _Chance(rated @ of_period, mine, _meetings(rated, mine, number, camps.size, periods.size))
    partners, found = np.zeros(size, np.int64), 0
    threshold = level / max(size * (size - 1) / 2, 1)
    # Blocks of raters with as many meetings each, so that memory is bounded whoever rates most.
    meetings = np.cumsum(rated @ np.bincount(rated.indices, minlength=posts))
    starts = np.unique(np.searchsorted(meetings, np.arange(0, meetings[-1], _MEETINGS)))
    for start, end in zip(starts, [*starts[1:], size], strict=True):
        shared = rated[start:end] @ rated[start:].T
        often = np.flatnonzero(shared.data >= LEAST_SHARED)
        one = np.searchsorted(shared.indptr, often, side="right") - 1 + start
        two, both = shared.indices[often] + start, shared.data[often]
        pairs = np.flatnonzero(one < two)
        for first in range(0, pairs.size, _PAIRS):
            piece = pairs[first : first + _PAIRS]
            together = piece[chance.of_sharing(one[piece], two[piece], both[piece]) < threshold]
            found += together.size
            for side in (one, two):
                partners += np.bincount(side[together], minlength=size)
    flagged = np.zeros(raters, np.bool_)
    flagged[active[partners >= LEAST_PARTNERS]] = True
    return FoundRings(flagged, found, size)


@dataclass(frozen=True, slots=True, eq=False)
class _Chance:
    """What two raters' activity lets expect.

    Attributes:
        count: sparse, shape (raters, periods), posts that each called helpful.
        camp: shape (raters,), numbers from 0.
        meet: shape (camps, camps, periods), from `_meetings`.
    """

    count: csr_array
    camp: NDArray[np.int64]
    meet: NDArray[np.float64]

    def of_sharing(
        self, one: NDArray[np.int64], two: NDArray[np.int64], both: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """The probability that pairs share so many posts or more, shape (pairs,)."""
        from scipy.special import gammainc

        met = self.count[one].multiply(self.count[two]).tocsr()
        pair = np.repeat(np.arange(one.size), np.diff(met.indptr))
        weight = self.meet[self.camp[one][pair], self.camp[two][pair], met.indices]
        expected = np.bincount(pair, met.data * weight, minlength=one.size)
        chance: NDArray[np.float64] = gammainc(both, expected)  # P(Poisson >= both)
        return chance


def _meetings(
    rated: csr_array, camp: NDArray[np.int64], period: NDArray[np.int64], camps: int, periods: int
) -> NDArray[np.float64]:
    """The chance that draws of one post each by raters of two camps are the same, shape (camps, camps, periods)."""
    side = np.repeat(camp, np.diff(rated.indptr))
    fame = np.bincount(side * period.size + rated.indices, minlength=camps * period.size)
    fame = fame.reshape(camps, period.size).astype(np.float64)
    whole = np.stack([np.bincount(period, side, periods) for side in fame])
    share = np.divide(fame, whole[:, period], out=np.zeros_like(fame), where=whole[:, period] > 0)
    return np.stack([[np.bincount(period, one * two, periods) for two in share] for one in share])


def intercepts_without(fit: Bridging, raters: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Notes' final intercepts without some raters, the others staying as they are; shape (notes,).

    nan where too few ratings are left for one.
    """
    second, size = fit.second, fit.intercept.size
    sums = np.zeros((5, size))
    for piece in trusted_ratings(fit):
        kept = ~raters[piece[1]]
        note, rater, level = (side[kept] for side in piece)
        slope = second.rater_factor[rater]
        rest = np.array(LEVELS)[level] - second.mu - second.rater_intercept[rater]
        for place, column in enumerate((None, slope, slope**2, rest, slope * rest)):
            sums[place] += np.bincount(note, column, minlength=size)
    n, f, ff, total, tilt = sums
    a, c = n + second.note_ridge[0], ff + second.note_ridge[1]
    few = n < fit.settings.min_num_raters_per_note
    return np.where(few, np.nan, (c * total - f * tilt) / (a * c - f * f))
