"""Raters who push notes together: pairs who rate notes on the same posts helpful more often than expected.

The expected number of posts on which two raters meet by chance is, for each period (such as
a month), the product of both raters' posts in it, times the chance that draws of a post each, by raters of their camps,
are the same. The number they share is compared with a Poisson count of this mean, and the p-value with all pairs of
raters. A post counts once, regardless of how many notes on it a rater liked. A rater found together with at least
`LEAST_PARTNERS` others belongs to a ring, and so does a rater who likes the posts they push more than expected.

Raters of different languages hardly meet, and those of one language meet more often. So each part of raters
that hardly meets others has periods of its own, to which its posts belong, and callers divide camps by modelling group.

Further similarities of honest raters (topics, languages, hours) make them meet more often than
expected: `benchmarks/bridging.py --only rings` shows the effect. Raters are not named: the output is counts, and what
notes would lose without these ratings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.arrays import Bools, Floats, Ints
from hellofresh.stats.bridging import LEVELS, Bridging, trusted_ratings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LEAST_PARTNERS = 4  # friends who like the same posts come in twos and threes
LEAST_SHARED = 5
"""Minimum shared posts of a pair to be tested."""
# Maximum early raters of a post: more famous posts are uninformative about a pair, and the most costly.
_MOST_FAMOUS = 300
# So many pairs of honest raters are found by chance among all of them, of whom `LEAST_PARTNERS` hardly share one.
_LEVEL = 1.0
_JOINING = 0.001  # Family-wise chance of wrongly finding a post to be pushed, or a rater to push such posts
# Maximum share of the pairs of raters and posts of a part that are ratings, for it to be a language and not a ring.
_MOST_TOGETHER = 0.6
# Maximum parts of raters, minimum ratio of a part's singular value to the first, and minimum raters and share.
_PARTS, _APART, _LEAST_PART = 12, 0.7, (40, 0.025)
_STEPS = 5  # steps of the search for parts, enough for well-separated parts to converge
_MEETINGS, _PAIRS = 10_000_000, 200_000  # meetings, and pairs, per block


@dataclass(frozen=True, slots=True, eq=False)
class FoundRings:
    """The found rings.

    Attributes:
        rater: shape (raters,), whether each rater belongs to a ring.
        pairs: number of pairs who share more than expected by chance.
        looked_at: number of raters with enough helpful ratings to be found.
    """

    rater: Bools
    pairs: int
    looked_at: int


def find_rings(
    post: NDArray[np.integer], rater: NDArray[np.integer], *, period: Ints, camp: Ints, level: float = _LEVEL
) -> FoundRings:
    """Find raters who rate notes on the same posts helpful more often than expected by chance.

    Args:
        post, rater: shape (ratings,), of ratings that call a note helpful; numbers from 0.
        period: shape (posts,), the number of each post's period.
        camp: shape (raters,), equal numbers for raters of one camp and modelling group.
        level: expected number of honest pairs found, over all pairs.
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
    periods, number = np.unique(period * _PARTS + _parts(rated), return_inverse=True)
    camps, mine = np.unique(camp[active], return_inverse=True)
    of_period = csr_array((np.ones(posts), (np.arange(posts), number)), shape=(posts, periods.size))
    share = _shares(rated, mine, number, camps.size, periods.size)
    inside = (share[:, np.flatnonzero(number == one)] for one in range(periods.size))
    meet = np.stack([(part @ part.T).toarray() for part in inside], axis=2)
    chance = _Chance(rated @ of_period, mine, share, number, meet)
    partners, found = np.zeros(size, np.int64), 0
    threshold = level / max(size * (size - 1) / 2, 1)
    # Blocks of raters with equally many meetings, which bounds memory despite very active raters.
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
    ring = partners >= LEAST_PARTNERS
    flagged[active[ring | chance.joining(rated, ring)]] = True
    return FoundRings(flagged, found, size)


@dataclass(frozen=True, slots=True, eq=False)
class _Chance:
    """The meetings expected from raters' activity.

    Attributes:
        count: sparse, shape (raters, periods), number of posts with notes that each rated helpful.
        camp: shape (raters,), numbers from 0.
        share: sparse, shape (camps, posts), from `_shares`.
        period: shape (posts,), numbers from 0.
        meet: shape (camps, camps, periods), the chance that draws of one post each by raters of two camps are the same.
    """

    count: csr_array
    camp: Ints
    share: csr_array
    period: Ints
    meet: Floats

    def of_sharing(self, one: Ints, two: Ints, both: NDArray[np.float32]) -> Floats:
        """The probability that pairs share at least `both` posts, shape (pairs,)."""
        from scipy.special import gammainc

        met = self.count[one].multiply(self.count[two]).tocsr()
        pair = np.repeat(np.arange(one.size), np.diff(met.indptr))
        weight = self.meet[self.camp[one][pair], self.camp[two][pair], met.indices]
        expected = np.bincount(pair, met.data * weight, minlength=one.size)
        chance: Floats = gammainc(both, expected)  # P(Poisson >= both)
        return chance

    def joining(self, rated: csr_array, ring: Bools) -> Bools:
        """Whether each rater likes posts that a ring pushes more often than expected, shape (raters,)."""
        from scipy.special import gammainc

        shape = (self.meet.shape[0], self.meet.shape[2])
        theirs = np.zeros(shape)
        np.add.at(theirs, self.camp[ring], self.count[ring].toarray())
        share = self.share.tocoo()
        camp, post = share.coords
        liked = np.bincount(rated[ring].indices, minlength=self.period.size)
        expected = np.bincount(post, share.data * theirs[camp, self.period[post]], minlength=self.period.size)
        pushed = (liked >= LEAST_PARTNERS) & (gammainc(liked, expected) < _JOINING / liked.size)
        on = np.bincount(camp * shape[1] + self.period[post], share.data * pushed[post], minlength=shape[0] * shape[1])
        both, of_rater = rated @ pushed.astype(np.float64), self.count.tocoo()
        rater, period = of_rater.coords
        chance = np.bincount(rater, of_rater.data * on.reshape(shape)[self.camp[rater], period], minlength=ring.size)
        return np.asarray((both >= LEAST_SHARED) & (gammainc(both, chance) < _JOINING / ring.size))


def _parts(rated: csr_array) -> Ints:
    """The part of raters, such as those of a language, for each post, shape (posts,); raters of two parts hardly meet.

    Regularised spectral clustering (Qin and Rohe, 2013): one part for each singular value near the first one. A
    small one, or one whose raters rate the same few posts, may be a ring, and does not become a part.
    """
    from scipy.linalg import qr
    from scipy.sparse import csr_array, diags_array

    posts = rated.shape[1]
    if min(rated.shape) <= _PARTS:
        return np.zeros(posts, np.int64)
    ones = (rated != 0).astype(np.float64)
    scale = [diags_array(1 / np.sqrt(size + size.mean())) for size in (ones.sum(axis=1), ones.sum(axis=0))]
    scaled = scale[0] @ ones @ scale[1]
    # Subspace iteration (Halko, Martinsson and Tropp, 2011), in a tenth of the time of one vector after another.
    basis = np.random.default_rng(0).standard_normal((posts, 2 * _PARTS))
    for _ in range(_STEPS):
        basis = np.linalg.qr(scaled.T @ (scaled @ basis))[0]
    vectors, values = (side[..., :_PARTS] for side in np.linalg.svd(scaled @ basis, full_matrices=False)[:2])
    apart = vectors[:, values >= _APART * values.max()]
    apart /= np.maximum(np.linalg.norm(apart, axis=1), 1e-12)[:, None]
    # Of raters of the parts most apart, by pivots, the nearest rotation of the axes (Damle, Minden and Ying, 2019).
    purest = apart[qr(apart.T, mode="r", pivoting=True)[1][: apart.shape[1]]]
    left, _, right = np.linalg.svd(purest.T)
    part = np.abs(apart @ left @ right).argmax(axis=1)
    votes = csr_array((np.ones(part.size), (part, np.arange(part.size))), shape=(_PARTS, part.size)) @ ones
    size, counts = np.bincount(part, minlength=_PARTS), votes.toarray()
    large = size >= max(_LEAST_PART[0], _LEAST_PART[1] * part.size)
    of_post = (counts * large[:, None]).argmax(axis=0)
    # All of a ring rate the few posts that it pushes, while people of a language choose among many.
    large &= np.array([_together(ones[:, of_post == number]) <= _MOST_TOGETHER for number in range(_PARTS)])
    if not large.any():
        return np.zeros(posts, np.int64)
    counts *= large[:, None]
    counts[(size * large).argmax()] += 0.5  # posts that only a ring has rated
    return np.asarray(counts.argmax(axis=0))


def _together(rated: csr_array) -> float:
    """The share of pairs of a rater and a post that are there, among the effective numbers of both; 0 to about 1."""
    sides = [np.asarray(rated.sum(axis=axis), dtype=np.float64) for axis in (0, 1)]
    total = sides[0].sum()
    effective = [total**2 / max((side**2).sum(), 1.0) for side in sides]
    return float(total / max(effective[0] * effective[1], 1.0))


def _shares(rated: csr_array, camp: Ints, period: Ints, camps: int, periods: int) -> csr_array:
    """The share of each post among the posts a camp likes in its period; sparse, shape (camps, posts)."""
    from scipy.sparse import csr_array

    side = csr_array((np.ones(camp.size), (camp, np.arange(camp.size))), shape=(camps, camp.size))
    fame = (side @ (rated != 0).astype(np.float64)).tocoo()
    row, post = fame.coords
    place = row * periods + period[post]
    whole = np.bincount(place, fame.data, minlength=camps * periods)
    return csr_array((fame.data / whole[place], (row, post)), shape=fame.shape)


def intercepts_without(fit: Bridging, raters: Bools) -> Floats:
    """Notes' final intercepts without some raters, with the others' parameters fixed; shape (notes,).

    nan for notes with too few remaining ratings.
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
