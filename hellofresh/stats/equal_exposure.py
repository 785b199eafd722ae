"""Comparison of writers by raters who rated notes of both on the same post.

Notes are not shown to random raters: shares of helpful notes, or intercepts, compare exposure as much as writing. So
only ratings count whose rater also rated a note by another writer on the same post. Within such a pair of post and
rater (a cell), strictness, camp and the post are the same for all notes, and the model is

    value = cell + writer + residual,

fitted by least squares. Two writers without a common post are compared through others with whom they share posts. Other
differences within a cell, such as whether a note was the first on its post, can be fitted as a covariate.

A cell weighs 1 / (10 + cells of its post): notes of one writer differ, so a hundredth rater adds less information
than a note on another post. Errors are clustered by post and by rater, as in `hellofresh.stats.multiway`, with the
factor g / (g - 1) for the effective number of posts of the writer with fewer. Two-way clustering: Cameron, Gelbach
and Miller, Journal of Business & Economic Statistics 29 (2011), 238-249. Comparing where raters rated both: arXiv
2604.02592.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.arrays import Bools, Floats, Ints
from hellofresh.stats.intervals import t_quantiles, t_two_sided

LEAST_RATERS = 5
"""Minimum raters who rated notes of two writers, for a post to count."""
_HALF = 10.0  # number of cells at which a post has half of its maximum weight
_ALONE = 1e-9  # minimum share of a covariate that the writers do not explain, for it to be estimable
_ROUNDING = 1e-20  # variances below this are 0 but for rounding


@dataclass(frozen=True, slots=True, eq=False)
class CountedRatings:
    """The ratings that count, arrays of shape (n,).

    Attributes:
        post, rater, writer: numbers from 0; of a rating's post, its rater and the note's writer.
        place: index among the given ratings.
    """

    post: Ints
    rater: Ints
    writer: Ints
    place: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class WriterEffects:
    """Writers' effects relative to the reference (0); nan for writers without a chain of posts to it.

    Attributes:
        reference: number of the reference writer.
        value: shape (writers,).
        error: shape (writers, writers), standard errors of differences; infinite where nothing varies.
        parts: shape (writers, k), independent parts of each error, see `hellofresh.stats.ranking.differences`.
        posts: shape (writers,), posts on which a writer is compared.
        effective: shape (writers,), equivalent number of posts of equal weight.
        slope, slope_error: effect of the covariate and its standard error; nan without one, or where the writers
            explain it.
    """

    reference: int
    value: Floats
    error: Floats
    parts: Floats
    posts: Ints
    effective: Floats
    slope: float = float("nan")
    slope_error: float = float("nan")

    @property
    def compared(self) -> Bools:
        """Whether each writer is on the scale, shape (writers,)."""
        return np.isfinite(self.value)

    def limits(self, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
        """Unadjusted limits and p-value of each writer's difference from the reference, shape (writers,) each."""
        error = self.error[:, self.reference]
        df = np.maximum(np.minimum(self.effective, self.effective[self.reference]) - 1, 1)
        half = t_quantiles((1 + level) / 2, df) * error
        with np.errstate(divide="ignore", invalid="ignore"):
            p_value = t_two_sided(self.value / error, df)
        return self.value - half, self.value + half, p_value


def rated_both(post: NDArray[np.integer], rater: NDArray[np.integer], writer: NDArray[np.integer]) -> CountedRatings:
    """The ratings whose rater also rated another writer's note on the post, on posts with `LEAST_RATERS` such raters.

    Args:
        post, rater, writer: shape (ratings,), numbers from 0.

    Raises:
        ValueError: if shapes differ.
    """
    if not post.shape == rater.shape == writer.shape or post.ndim != 1:
        raise ValueError("post, rater and writer must be vectors of one length")
    raters, writers = int(rater.max(initial=0)) + 1, int(writer.max(initial=0)) + 1
    # one number for each pair of post and rater, which sorts faster than pairs
    cell = post.astype(np.int64) * raters + rater
    cells, different = np.unique(np.unique(cell * writers + writer) // writers, return_counts=True)
    both = cells[different > 1]
    posts, count = np.unique(both // raters, return_counts=True)
    both = both[np.isin(both // raters, posts[count >= LEAST_RATERS])]
    place = np.flatnonzero(np.isin(cell, both))
    return CountedRatings(_numbered(post[place]), _numbered(rater[place]), writer[place].astype(np.int64), place)


def writer_effects(
    ratings: CountedRatings, values: Floats, writers: int, *, reference: int, beside: Floats | None = None
) -> WriterEffects:
    """Fit writers' effects on a value of each rating.

    Args:
        ratings: from `rated_both`.
        values: shape (n,), of the ratings that count, such as 1 for helpful and 0 otherwise.
        reference: number of the reference writer.
        beside: shape (n,), a covariate, such as 1 for ratings of the first note on a post.
    """
    from scipy.sparse import csr_array

    cell = _numbered(ratings.post * (int(ratings.rater.max(initial=0)) + 1) + ratings.rater)
    cells, posts = int(cell.max(initial=-1)) + 1, int(ratings.post.max(initial=-1)) + 1
    size = np.bincount(cell, minlength=cells).astype(np.float64)
    post_of = np.zeros(cells, np.int64)
    post_of[cell] = ratings.post
    weight = 1 / (_HALF + np.bincount(post_of, minlength=posts)[post_of])
    count = csr_array((np.ones(cell.size), (cell, ratings.writer)), shape=(cells, writers))
    shared = (count.T @ (count * (weight / size)[:, None])).toarray()
    normal = np.diag(count.T @ weight) - shared
    there = _linked(normal, reference)

    def within(numbers: Floats) -> Floats:
        return np.asarray(numbers - (np.bincount(cell, numbers, cells) / size)[cell])

    heavy = weight[cell]
    columns = np.empty((0, values.size)) if beside is None else beside[None]

    def sums(numbers: Floats) -> Floats:
        """Weighted sums of a value of each rating: by writer, and with the covariate."""
        heavily = heavy * within(numbers)
        return np.append(np.bincount(ratings.writer, heavily, minlength=writers), columns @ heavily)

    known = there.copy()
    known[reference] = False  # its effect is fixed at 0, since the equations would be singular otherwise
    inverse, known = _inverse(normal, known, [sums(column) for column in columns])
    found = inverse @ sums(values)
    value, slopes = found[:writers], found[writers:]
    scores = heavy * within(values - value[ratings.writer] - slopes @ columns)
    sides = [
        _covariance(scores, side, ratings.writer, columns, inverse) for side in (ratings.post, ratings.rater, cell)
    ]
    both = sides[0] + sides[1] - sides[2]
    slope, slope_error = np.nan, np.nan
    if known[writers:].any():
        slope, slope_error = float(slopes[0]), float(np.sqrt(max(both[-1, -1], sides[0][-1, -1])))
    both, by_post, by_rater = (side[:writers, :writers] for side in (both, sides[0], sides[1]))
    effective, number = _posts_of(count, weight, size, post_of, posts)
    error = _errors(_of_pairs(both), _of_pairs(by_post), _of_pairs(by_rater), effective)
    roots, vectors = np.linalg.eigh((both + both.T) / 2)
    value[~there], error[~there], error[:, ~there] = np.nan, np.nan, np.nan
    own = vectors * np.sqrt(np.maximum(roots, 0))
    return WriterEffects(reference, value, error, own, number, effective, slope, slope_error)


def _errors(both: Floats, by_post: Floats, by_rater: Floats, effective: Floats) -> Floats:
    """Standard errors of differences, from two-way clustered variances, or one-way ones where these are not
    positive; corrected for the effective number of posts of the writer with fewer."""
    variance = np.where(both > 0, both, np.maximum(by_post, by_rater))
    fewer = np.minimum(effective[:, None], effective)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(variance * fewer / (fewer - 1))
    error = np.where((variance > _ROUNDING) & (fewer > 1 + 1e-9), error, np.inf)
    np.fill_diagonal(error, 0.0)
    return np.asarray(error)


def _inverse(normal: Floats, known: Bools, more: Sequence[Floats]) -> tuple[Floats, Bools]:
    """The inverse of the normal equations, 0 where not estimable, and a mask of the estimable parts.

    Args:
        normal: of the writers.
        known: whether each writer's effect is estimable.
        more: further rows of the equations; one that the writers explain is left out.
    """
    size, every = len(normal), len(normal) + len(more)
    whole, known = np.zeros((every, every)), np.concatenate([known, np.ones(len(more), np.bool_)])
    whole[:size, :size] = normal
    for number, line in enumerate(more, start=size):
        whole[number] = whole[:, number] = line
        others = np.flatnonzero(known[:number])
        alone = line[number] - line[others] @ np.linalg.solve(whole[np.ix_(others, others)], line[others])
        known[number] = alone > _ALONE * line[number]
    inverse = np.zeros_like(whole)
    inverse[np.ix_(known, known)] = np.linalg.inv(whole[np.ix_(known, known)])
    return inverse, known


def _numbered(names: NDArray[np.integer]) -> Ints:
    numbers: Ints = np.unique(names, return_inverse=True)[1].astype(np.int64)
    return numbers


def _linked(normal: Floats, reference: int) -> Bools:
    """Whether each writer is linked to the reference by shared posts; the reference itself if it shares any."""
    from scipy.sparse.csgraph import connected_components

    part = connected_components(normal != 0, directed=False)[1]
    return np.asarray((part == part[reference]) & (np.diag(normal) > 0))


def _covariance(scores: Floats, side: Ints, writer: Ints, columns: Floats, inverse: Floats) -> Floats:
    """Covariance of the effects and of the covariate, by clusters of one kind."""
    from scipy.sparse import csr_array

    clusters, first = int(side.max(initial=-1)) + 1, len(inverse) - len(columns)
    owner = np.concatenate([writer, *(np.full(writer.size, first + k) for k in range(len(columns)))])
    parts = np.concatenate([scores, *(scores * column for column in columns)])
    sums = csr_array((parts, (np.tile(side, 1 + len(columns)), owner)), shape=(clusters, len(inverse)))
    found: Floats = clusters / max(clusters - 1, 1) * inverse @ (sums.T @ sums).toarray() @ inverse.T
    return found


def _of_pairs(covariance: Floats) -> Floats:
    """Variances of differences."""
    own = np.diag(covariance)
    return np.asarray(own[:, None] + own - covariance - covariance.T)


def _posts_of(count: object, weight: Floats, size: Floats, post_of: Ints, posts: int) -> tuple[Floats, Ints]:
    """Effective and actual numbers of posts of each writer, by the information that each post adds."""
    from scipy.sparse import csr_array

    cells = csr_array(count)
    known = (cells - cells.multiply(cells).multiply(1 / size[:, None])).multiply(weight[:, None])
    of_post = csr_array((np.ones(post_of.size), (post_of, np.arange(post_of.size))), shape=(posts, post_of.size))
    by_post = np.asarray((of_post @ known.tocsr()).toarray())
    squares = (by_post**2).sum(axis=0)
    effective = np.divide(by_post.sum(axis=0) ** 2, squares, out=np.zeros(squares.size), where=squares > 0)
    return effective, (by_post > 0).sum(axis=0)
