"""Community Notes' bridging model: the helpfulness of notes after removing the raters' camps.

A rating r (1 helpful, 0.5 somewhat, 0 not) is modelled as r = mu + i_u + i_n + f_u f_n for rater u and note n. A
note is helpful if its intercept i_n is high: raters with opposite factors f_u find it helpful. X's code differs
from the documented formula, and these differences determine the scale and thus the threshold .40:

- The loss is a mean over ratings and the penalties are means over notes and raters. In sums, a note's ridge is lambda
  R / N and a rater's is lambda R / U (R ratings, N notes, U raters).
- mu is penalised too, so that it is the mean residual over 1.15.
- Raters outside the core modelling groups are left out; notes need 5 ratings and raters 10, counted once.
- A first round gives statuses. Raters who agree with them (and whose own notes are not bad) are helpful raters; a
  second round fits these alone. Then raters are frozen, and every note is fitted to the ratings of helpful raters.

The fit is by alternating least squares: given the raters, a note's intercept and factor solve a ridge regression of two
unknowns, and vice versa. Near the solution, steps of raters are combined by Anderson acceleration, which needs only a
third of the sweeps. Rounds end so close to the minimum that their start (arbitrary factors of raters, by a fixed seed)
does not matter. The last bits of sums depend on the order of ratings and the numbers of raters: for the same bytes,
pass these in the same order. Tag filters, the penalty for raters of abusive notes, and the models for groups and topics
are left out: they need tags or topics. Sources: twitter/communitynotes (Apache-2.0), reimplemented; Wojcik et al.,
Birdwatch (2022), arXiv 2210.15723.

    fit = fit_bridging(ratings, notes, raters)     raters, rounds, final intercepts
    statuses(fit)                                  the rules
    redrawn = redraws(fit)                         fits to bootstrap samples of raters
    found = sampling(fit, redrawn)                 error by sampling of raters: standard errors, degrees of freedom
    chance_helpful(fit, redrawn)                   probability that another sample finds a note helpful
    chance_if_decided(fit, redrawn)                the same among samples that decide on the note, with an error
    flip_costs(fit, places, Profile.BALANCED)      number of accounts that would change a status
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.arrays import Bools, Floats, Ints

Whole = NDArray[np.int32]

LEVELS = (0.0, 0.5, 1.0)
"""Values of ratings of level 0 (not helpful), 1 (somewhat) and 2 (helpful)."""
_NOT_HELPFUL, _SOMEWHAT, _HELPFUL = range(3)
_CAMP, _NEAR = 1 / 6, 0.15  # the outer sixth on each side; the middle of the scale belongs to no camp
_AHEAD = 1.3  # Over-relaxation of raters' steps: below 2 the loss still falls, and fewer sweeps are needed
# Most steps that are combined, and the root mean square of a step below which they are: earlier, they may diverge.
_COMBINED, _CLOSE = 8, 0.03
_LEAST_LEFT = 0.1  # a leverage near 1 would let one rating shift its note without limit
# For redraws: total ratings of all fits, minimum and maximum fits, minimum notes to learn errors from.
_REDRAWN, _LEAST_MOST, _LEAST_NOTES = 40_000_000, (2, 8), 20
# For redraws: tolerance of rounds, and the total number of ratings from which chances are learnt.
_ROUGH, _LEARNT = 1e-3, 4_000_000
_CHUNK = 200_000  # small enough that a piece stays in the processor's cache
_THREADS = 2


class NoteStatus(IntEnum):
    """A note's status by the rules."""

    NOT_HELPFUL = -1
    NEEDS_MORE_RATINGS = 0
    HELPFUL = 1


@dataclass(frozen=True, slots=True)
class BridgingSettings:
    """Numbers of X's core model, named as in its code.

    Attributes:
        intercept_lambda, factor_lambda: penalties of notes' and raters' intercepts (of mu, too) and factors.
        min_num_raters_per_note, min_num_ratings_per_rater: minimum to take part in the rounds.
        crh_threshold: minimum intercept of a helpful note, less `inertia_delta` if it is currently shown as helpful.
        crh_threshold_no_high_vol: minimum intercept without high-volume raters.
        factor_threshold: maximum absolute factor of a helpful note.
        min_net_helpful: helpful less not helpful ratings on each side of the factor; or `min_net_helpful_few`, if that
            is at least `min_net_helpful_share` of all ratings.
        crnh_threshold_intercept, crnh_threshold_note_factor_multiplier: thresholds of notes that are not helpful.
        crnh_threshold_ucb_intercept: below it, a note is not helpful even with the best pseudo-rating.
        crnh_threshold_nm_intercept: below it, a note that calls the post not misleading is not helpful.
        crnh_side_mean, crnh_mean, crnh_side_ratings: not helpful where both sides' mean rating is at most the first,
            their average at most the second, and each side has at least the third number of ratings.
        min_rater_agree_ratio: minimum share of a helpful rater's valid ratings that agree with the first round.
        min_mean_note_score, min_crh_vs_crnh_ratio, crnh_weight: for a helpful rater's own notes, minimum mean intercept
            and share of helpful notes less `crnh_weight` times that of notes that are not helpful.
        sweeps: maximum sweeps over notes and raters per round.
        tolerance: a round ends when no note's intercept changes by more than this.
    """

    intercept_lambda: float = 0.15
    factor_lambda: float = 0.03
    min_num_raters_per_note: int = 5
    min_num_ratings_per_rater: int = 10
    crh_threshold: float = 0.40
    inertia_delta: float = 0.01
    crh_threshold_no_high_vol: float = 0.37
    factor_threshold: float = 0.50
    min_net_helpful: int = 10
    min_net_helpful_few: int = 4
    min_net_helpful_share: float = 0.05
    crnh_threshold_intercept: float = -0.05
    crnh_threshold_note_factor_multiplier: float = -0.8
    crnh_threshold_ucb_intercept: float = -0.04
    crnh_threshold_nm_intercept: float = -0.15
    crnh_side_mean: float = 0.4
    crnh_mean: float = 0.3
    crnh_side_ratings: int = 3
    min_rater_agree_ratio: float = 0.66
    min_mean_note_score: float = 0.05
    min_crh_vs_crnh_ratio: float = 0.0
    crnh_weight: float = 5.0
    sweeps: int = 400
    tolerance: float = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Ratings of notes by raters; each pair of rater and note occurs once.

    Attributes:
        note, rater: shape (ratings,), numbers from 0.
        level: shape (ratings,), an index of `LEVELS`.
        valid: shape (ratings,), whether the rating was early enough to judge its rater by.
    """

    note: Whole
    rater: Whole
    level: NDArray[np.int8]
    valid: Bools


@dataclass(frozen=True, slots=True, eq=False)
class Notes:
    """Facts about notes for the rules, each of shape (notes,).

    Attributes:
        writer: number of the rater who wrote it, -1 for a writer without ratings.
        misleading: whether it calls the post misleading.
        shown: whether it is currently shown as helpful.
    """

    writer: Whole
    misleading: Bools
    shown: Bools


@dataclass(frozen=True, slots=True, eq=False)
class Raters:
    """Facts about raters for the rules, each of shape (raters,).

    Attributes:
        core: whether they belong to a modelling group of the core model.
        high_volume: whether they are among the few most active raters.
    """

    core: Bools
    high_volume: Bools


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """Parameters of one round, nan for notes and raters left out of it.

    Attributes:
        mu: the global intercept.
        note_intercept, note_factor: shape (notes,).
        rater_intercept, rater_factor: shape (raters,).
        note_ridge, rater_ridge: penalties of an intercept and a factor, in sums: lambda R / N, or R / U.
        sweeps: number of sweeps.
    """

    mu: float
    note_intercept: Floats
    note_factor: Floats
    rater_intercept: Floats
    rater_factor: Floats
    note_ridge: Floats
    rater_ridge: Floats
    sweeps: int


@dataclass(frozen=True, slots=True, eq=False)
class Tallies:
    """Sums over the ratings of notes by raters with known parameters, by level; each of shape (notes, 3).

    Attributes:
        count: ratings; `left` and `right`: those by raters with a negative and a positive factor.
        factor, squared, intercept, crossed: sums of f_u, f_u^2, i_u and i_u f_u.
    """

    count: Floats
    left: Floats
    right: Floats
    factor: Floats
    squared: Floats
    intercept: Floats
    crossed: Floats

    def plus(self, added: Floats, level: int, intercept: float, factor: float) -> Tallies:
        """The tallies after adding numbers of ratings of a level, shape (notes,), by raters with these parameters."""
        more = np.zeros_like(self.count)
        more[:, level] = added
        return Tallies(
            self.count + more,
            self.left + more * (factor < 0),
            self.right + more * (factor > 0),
            self.factor + more * factor,
            self.squared + more * factor**2,
            self.intercept + more * intercept,
            self.crossed + more * intercept * factor,
        )

    def take(self, notes: NDArray[np.intp]) -> Tallies:
        """The tallies of some notes."""
        return Tallies(*(getattr(self, name)[notes] for name in self.__dataclass_fields__))


@dataclass(frozen=True, slots=True, eq=False)
class Bridging:
    """The fit.

    Attributes:
        first, second: the rounds.
        helpful_rater: shape (raters,), whether each is in the second round and the final fit.
        intercept, factor: shape (notes,), final; nan for notes with too few ratings of helpful raters.
        scored: shape (notes,), whether a note may get a status: most of its raters are of the core groups.
        tallies: sums of the ratings of helpful raters.
        quiet: the same without high-volume raters.
        drawn: shape (raters,), weight of each rater; all 1 except in a fit of redrawn raters.
    """

    settings: BridgingSettings
    ratings: Ratings
    notes: Notes
    raters: Raters
    drawn: Floats
    first: Round
    second: Round
    helpful_rater: Bools
    intercept: Floats
    factor: Floats
    scored: Bools
    tallies: Tallies
    quiet: Tallies


def fit_bridging(ratings: Ratings, notes: Notes, raters: Raters, settings: BridgingSettings | None = None) -> Bridging:
    """Fit the model in X's two rounds and its final run.

    The factor's sign follows X's convention: more raters have a negative factor than a positive one.

    Raises:
        ValueError: if shapes differ, or numbers are out of range.
    """
    settings = settings or BridgingSettings()
    _check(ratings, notes, raters)
    table = _Table.of(ratings, len(notes.writer), len(raters.core))
    return _fitted(table, (ratings, notes, raters), settings, np.ones(raters.core.size))


def _fitted(
    table: _Table,
    voters: tuple[Ratings, Notes, Raters],
    settings: BridgingSettings,
    drawn: Floats,
    near: Bridging | None = None,
) -> Bridging:
    """The fit with raters weighted by `drawn`; its rounds start from those of a similar fit, if given."""
    ratings, notes, raters = voters
    core = raters.core * drawn
    count, of_core = table.by_note(np.stack([drawn, core], axis=1)).sum(axis=1).T
    first = _round(table, *_taking_part(table, core, settings), settings, near.first if near else None)
    helpful = _helpful_raters(ratings, notes, first, settings)
    taking_part = _taking_part(table, core * helpful, settings)
    second = _round(table, *taking_part, settings, near.second if near else first)
    trusted = np.isfinite(second.rater_intercept)
    tallies = _tallies(table, second, trusted * drawn)
    intercept, factor = _solve_notes(tallies, second.mu, second.note_ridge)
    few = tallies.count.sum(axis=1) < settings.min_num_raters_per_note
    intercept[few], factor[few] = np.nan, np.nan
    quiet = _tallies(table, second, trusted * drawn * ~raters.high_volume)
    scored = (of_core * 2 >= count) & (of_core > 0)
    return Bridging(settings, *voters, drawn, first, second, trusted, intercept, factor, scored, tallies, quiet)


def fit_round(
    ratings: Ratings, notes: int, raters: int, settings: BridgingSettings | None = None, drawn: Floats | None = None
) -> Round:
    """Fit one round of all raters, for studies with recruited raters, without statuses or helpful raters.

    Args:
        ratings: the ratings; `valid` is ignored.
        notes, raters: their numbers.
        settings: penalties, and minimum ratings to take part.
        drawn: shape (raters,), weight of each rater, as from `draw_raters`; 1 if left out.

    Raises:
        ValueError: as `fit_bridging`.
    """
    settings = settings or BridgingSettings()
    none = np.zeros(notes, np.bool_)
    _check(ratings, Notes(np.full(notes, -1, np.int32), none, none), Raters(*np.zeros((2, raters), np.bool_)))
    table = _Table.of(ratings, notes, raters)
    return _round(table, *_taking_part(table, np.ones(raters) if drawn is None else drawn, settings), settings)


def _check(ratings: Ratings, notes: Notes, raters: Raters) -> None:
    if not ratings.note.shape == ratings.rater.shape == ratings.level.shape == ratings.valid.shape:
        raise ValueError("note, rater, level and valid must be vectors of one length")
    if not notes.writer.shape == notes.misleading.shape == notes.shown.shape:
        raise ValueError("writer, misleading and shown must be vectors of one length")
    if raters.core.shape != raters.high_volume.shape:
        raise ValueError("core and high_volume must be vectors of one length")
    if ratings.note.size == 0:
        raise ValueError("there must be ratings")
    for name, numbers, bound in (
        ("note", ratings.note, notes.writer.size),
        ("rater", ratings.rater, raters.core.size),
        ("level", ratings.level, len(LEVELS)),
    ):
        if numbers.min() < 0 or numbers.max() >= bound:
            raise ValueError(f"{name} must be from 0 to {bound - 1}")


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """The ratings as two sparse matrices of ones: by note and level, and by rater and level.

    Each takes four bytes per rating; the ones are shared.
    """

    notes: list[Any]
    raters: list[Any]
    threads: ThreadPoolExecutor

    @classmethod
    def of(cls, ratings: Ratings, notes: int, raters: int) -> _Table:
        ones = np.ones(ratings.note.size)
        return cls(
            _halves(ratings.note, ratings.level, ratings.rater, (notes, raters), ones),
            _halves(ratings.rater, ratings.level, ratings.note, (raters, notes), ones),
            ThreadPoolExecutor(_THREADS),
        )

    def by_note(self, columns: Floats) -> Floats:
        """Sums of raters' columns, shape (raters, k), over each note's ratings of a level: (notes, 3, k)."""
        return self._product(self.notes, columns)

    def by_rater(self, columns: Floats) -> Floats:
        """Sums of notes' columns, shape (notes, k), over each rater's ratings of a level: (raters, 3, k)."""
        return self._product(self.raters, columns)

    def _product(self, parts: list[Any], columns: Floats) -> Floats:
        sums = list(self.threads.map(lambda part: part @ columns, parts))
        return np.concatenate(sums).reshape(-1, len(LEVELS), columns.shape[1])


def _halves(row: Whole, level: NDArray[np.int8], column: Whole, shape: tuple[int, int], ones: Floats) -> list[Any]:
    """Sparse rows, three for each of `row`, split into equal parts for the threads."""
    from scipy.sparse import coo_array, csr_array

    size = (shape[0] * len(LEVELS), shape[1])
    made = coo_array((np.ones(row.size, np.int8), (row * np.int32(len(LEVELS)) + level, column)), shape=size)
    made.has_canonical_format = True  # each pair occurs once
    whole = made.tocsr()
    places = np.searchsorted(whole.indptr[:: len(LEVELS)], np.linspace(0, row.size, _THREADS + 1))
    places[0], places[-1] = 0, shape[0]
    parts = []
    for start, end in zip(places[:-1] * len(LEVELS), places[1:] * len(LEVELS), strict=True):
        pointers = whole.indptr[start : end + 1]
        indices = whole.indices[pointers[0] : pointers[-1]]
        parts.append(csr_array((ones[: indices.size], indices, pointers - pointers[0]), shape=(end - start, shape[1])))
    return parts


def _taking_part(table: _Table, raters: Floats, settings: BridgingSettings) -> tuple[Floats, Floats]:
    """Weights of notes (0 or 1) and raters with enough ratings, filtering notes, then raters, then notes, once each."""

    def enough(raters: Floats) -> Floats:
        ratings = table.by_note(raters[:, None]).sum(axis=(1, 2))
        return np.asarray(ratings >= settings.min_num_raters_per_note, dtype=np.float64)

    notes = enough(raters)
    ratings = table.by_rater(notes[:, None]).sum(axis=(1, 2))
    raters = raters * (ratings >= settings.min_num_ratings_per_rater)
    return enough(raters) * notes, raters


def _round(
    table: _Table, notes: Floats, raters: Floats, settings: BridgingSettings, start: Round | None = None
) -> Round:
    """Alternate between notes and raters until the notes' intercepts converge.

    Args:
        table: all ratings.
        notes, raters: weights, 0 for those left out; a rater's weight is its number of draws.
        settings: penalties, and when to stop.
        start: another round to start from; None for arbitrary factors.
    """
    sweep = _Sweep.of(table, notes, raters, settings)
    out_n, out_u = notes == 0, raters == 0
    combined = _Combined(_CLOSE**2 * 2 * np.count_nonzero(raters))
    if start is None:
        mu, i_u, f_u = 0.0, 0 * raters, np.random.default_rng(0).choice([-0.5, 0.5], raters.size) * ~out_u
    else:
        mu, i_u, f_u = start.mu, *(np.nan_to_num(x) * ~out_u for x in (start.rater_intercept, start.rater_factor))
    point, i_n = sweep.point(mu, i_u, f_u), np.full(notes.size, np.inf)
    sweeps, change = 0, np.inf
    while sweeps < settings.sweeps and change > settings.tolerance:
        sweeps, before = sweeps + 1, i_n
        i_n, f_n, swept = sweep(point)
        point = combined.next(point, swept)
        change = float(np.abs(i_n - before).max())
    mu, i_u, f_u = sweep.parts(swept)
    # With equally many positive and negative factors, the sum decides.
    sign = -1.0 if ((raters * np.sign(f_u)).sum() or (raters * f_u).sum()) > 0 else 1.0
    f_n, f_u = sign * f_n, sign * f_u
    i_n[out_n], f_n[out_n], i_u[out_u], f_u[out_u] = np.nan, np.nan, np.nan, np.nan
    return Round(mu, i_n, f_n, i_u, f_u, sweep.note_ridge, sweep.rater_ridge, sweeps)


@dataclass(frozen=True, slots=True, eq=False)
class _Sweep:
    """A step of all notes, of mu and of all raters, each given the others.

    Attributes:
        table: all ratings.
        notes, raters: weights, as of `_round`.
        ratings: number of ratings that take part.
        note_ridge, rater_ridge: penalties of an intercept and a factor, in sums.
        shrink: divisor of the mean residual.
    """

    table: _Table
    notes: Floats
    raters: Floats
    ratings: float
    note_ridge: Floats
    rater_ridge: Floats
    shrink: float

    @classmethod
    def of(cls, table: _Table, notes: Floats, raters: Floats, settings: BridgingSettings) -> _Sweep:
        ratings = float(notes @ table.by_note(raters[:, None]).sum(axis=(1, 2)))
        if ratings == 0:
            raise ValueError("no note has enough ratings by raters with enough ratings")
        ridge = np.array([settings.intercept_lambda, settings.factor_lambda]) * ratings
        shrink = 1 + settings.intercept_lambda
        return cls(table, notes, raters, ratings, ridge / notes.sum(), ridge / raters.sum(), shrink)

    def point(self, mu: float, intercept: Floats, factor: Floats) -> Floats:
        """The raters' parameters, shape (1 + 2 raters,); mu moves all raters, so it weighs as much as all together."""
        return np.concatenate([[mu * np.sqrt(self.raters.sum())], intercept, factor])

    def parts(self, point: Floats) -> tuple[float, Floats, Floats]:
        """The parts of a `point`."""
        size = self.raters.size
        return float(point[0] / np.sqrt(self.raters.sum())), point[1 : size + 1], point[size + 1 :]

    def __call__(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        """Notes' intercepts and factors given the raters' point, and the raters' next point."""
        mu, i_u, f_u = self.parts(point)
        sums = self.table.by_note(_columns(self.raters, i_u, f_u))
        i_n, f_n = (self.notes * found for found in _solve(sums, mu, self.note_ridge))
        # The best mu given all else: the mean residual, shrunk.
        given = _all_levels(sums)
        rest = _worth(sums[:, :, 0]) - given[:, 3] - i_n * given[:, 0] - f_n * given[:, 1]
        # A plain sum: a dot product's last bits depend on the number of threads.
        mu = float((self.notes * rest).sum()) / self.ratings / self.shrink
        least = _solve(self.table.by_rater(_columns(self.notes, i_n, f_n)), mu, self.rater_ridge)
        i_u, f_u = (
            (self.raters > 0) * (old + _AHEAD * (new - old)) for old, new in zip((i_u, f_u), least, strict=True)
        )
        return i_n, f_n, self.point(mu, i_u, f_u)


class _Combined:
    """Anderson acceleration: the combination of the last steps whose changes cancel best.

    Source: Walker and Ni (2011), Anderson acceleration for fixed-point iterations, SIAM J. Numer. Anal. 49(4).
    """

    def __init__(self, close: float) -> None:
        """Begin with the first step whose sum of squares is below `close`."""
        self._close = close
        self._last: tuple[Floats, Floats] | None = None
        self._moved: list[Floats] = []
        self._changed: list[Floats] = []

    def next(self, point: Floats, swept: Floats) -> Floats:
        """The next start, after a sweep led from one point to another."""
        step = swept - point
        if self._last is not None:
            self._moved = [*self._moved, swept - self._last[0]][-_COMBINED:]
            self._changed = [*self._changed, step - self._last[1]][-_COMBINED:]
        if self._last is None and float((step * step).sum()) > self._close:
            return swept
        self._last = swept, step
        if not self._changed:
            return swept
        # Plain sums, as above.
        normal = np.array([[float((one * other).sum()) for other in self._changed] for one in self._changed])
        target = np.array([float((one * step).sum()) for one in self._changed])
        normal += np.eye(len(normal)) * (1e-12 * np.trace(normal) + np.finfo(float).tiny)
        shares = np.linalg.solve(normal, target)
        for share, moved in zip(shares, self._moved, strict=True):
            swept = swept - share * moved
        return swept


def _columns(weight: Floats, intercept: Floats, factor: Floats) -> Floats:
    """The terms that a least squares step sums over ratings."""
    weighted = weight * factor
    return np.stack([weight, weighted, weighted * factor, weight * intercept, weighted * intercept], axis=1)


def _all_levels(by_level: Floats) -> Floats:
    """The sum over levels; several times as fast as `sum(axis=1)`."""
    return np.asarray(by_level[:, _NOT_HELPFUL] + by_level[:, _SOMEWHAT] + by_level[:, _HELPFUL])


def _worth(by_level: Floats) -> Floats:
    """The sum over levels, each weighted by its rating's value."""
    return np.asarray(LEVELS[_SOMEWHAT] * by_level[:, _SOMEWHAT] + LEVELS[_HELPFUL] * by_level[:, _HELPFUL])


def _solve(sums: Floats, mu: float, ridge: Floats) -> tuple[Floats, Floats]:
    """Intercepts and factors by ridge regression on the other side's; `sums` are those of `_columns` by level."""
    n, f, ff, i, fi = np.moveaxis(_all_levels(sums), -1, 0)
    level = _worth(sums[:, :, 0]) - mu * n - i
    slope = _worth(sums[:, :, 1]) - mu * f - fi
    a, c = n + ridge[0], ff + ridge[1]
    determinant = a * c - f * f
    return (c * level - f * slope) / determinant, (a * slope - f * level) / determinant


def _solve_notes(tallies: Tallies, mu: float, ridge: Floats) -> tuple[Floats, Floats]:
    sums = [tallies.count, tallies.factor, tallies.squared, tallies.intercept, tallies.crossed]
    return _solve(np.stack(sums, axis=2), mu, ridge)


def _tallies(table: _Table, fitted: Round, weight: Floats) -> Tallies:
    intercept, factor = np.nan_to_num(fitted.rater_intercept), np.nan_to_num(fitted.rater_factor)
    sides = np.stack([weight * (factor < 0), weight * (factor > 0)], axis=1)
    sums = table.by_note(np.concatenate([_columns(weight, intercept, factor), sides], axis=1))
    count, f, squared, i, crossed, left, right = np.moveaxis(sums, -1, 0)
    return Tallies(count, left, right, f, squared, i, crossed)


def _helpful_raters(ratings: Ratings, notes: Notes, first: Round, settings: BridgingSettings) -> Bools:
    """Raters who agree often enough with the first round's statuses, and whose own notes it does not find bad."""
    intercept, slack = first.note_intercept, settings.crnh_threshold_note_factor_multiplier
    helpful = (intercept >= settings.crh_threshold) & notes.misleading
    bad = intercept <= settings.crnh_threshold_intercept + slack * np.abs(first.note_factor)
    valid = agreed = np.zeros(first.rater_intercept.size)
    for start in range(0, ratings.note.size, _CHUNK):
        piece = slice(start, start + _CHUNK)
        note, level, rater = ratings.note[piece], ratings.level[piece], ratings.rater[piece]
        counts = ratings.valid[piece] & (level != _SOMEWHAT) & (helpful | bad)[note]
        agrees = counts & (helpful[note] == (level == _HELPFUL))
        valid = valid + np.bincount(rater[counts], minlength=valid.size)
        agreed = agreed + np.bincount(rater[agrees], minlength=valid.size)
    fitted = np.isfinite(intercept) & (notes.writer >= 0)
    writer = notes.writer[fitted]
    with np.errstate(invalid="ignore"):
        written = np.bincount(writer, minlength=valid.size)
        balance = helpful[fitted] - settings.crnh_weight * bad[fitted]
        balance = np.bincount(writer, balance, minlength=valid.size) / written
        mean = np.bincount(writer, intercept[fitted], minlength=valid.size) / written
        agreeing = agreed / valid >= settings.min_rater_agree_ratio
    wrote_well = (balance >= settings.min_crh_vs_crnh_ratio) & (mean >= settings.min_mean_note_score)
    return np.asarray(agreeing & (wrote_well | (written == 0)))


def statuses(fit: Bridging) -> NDArray[np.int8]:
    """The `NoteStatus` of each note; not meaningful where `fit.scored` is false."""
    return _judged(fit, _State(fit.tallies, fit.quiet, fit.notes, fit.scored))


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """The inputs of the rules, for some or all notes."""

    tallies: Tallies
    quiet: Tallies
    notes: Notes
    scored: Bools

    def take(self, notes: NDArray[np.intp]) -> _State:
        known = Notes(self.notes.writer[notes], self.notes.misleading[notes], self.notes.shown[notes])
        return _State(self.tallies.take(notes), self.quiet.take(notes), known, self.scored[notes])

    def plus(self, added: Floats, level: int, intercept: float, factor: float) -> _State:
        """The state after adding ratings by helpful raters who are not high-volume raters."""
        more = [tallies.plus(added, level, intercept, factor) for tallies in (self.tallies, self.quiet)]
        return _State(more[0], more[1], self.notes, self.scored)


def _judged(fit: Bridging, state: _State) -> NDArray[np.int8]:
    settings, tallies, second = fit.settings, state.tallies, fit.second
    intercept, factor = _solve_notes(tallies, second.mu, second.note_ridge)
    quiet = _solve_notes(state.quiet, second.mu, second.note_ridge)[0]
    counted = state.scored & (tallies.count.sum(axis=1) >= settings.min_num_raters_per_note)
    threshold = settings.crh_threshold - settings.inertia_delta * state.notes.shown
    helpful = (
        (intercept >= threshold)
        & state.notes.misleading
        & (np.abs(factor) <= settings.factor_threshold)
        & (quiet >= settings.crh_threshold_no_high_vol)
        & _liked_by_both(tallies, settings)
    )
    slack = settings.crnh_threshold_note_factor_multiplier * np.abs(factor)
    bad = (
        (intercept <= settings.crnh_threshold_intercept + slack)
        | (_best_case(fit, tallies) < settings.crnh_threshold_ucb_intercept)
        | (~state.notes.misleading & (intercept < settings.crnh_threshold_nm_intercept))
        | _rejected_by_both(tallies, settings)
    )
    status = np.where(bad, NoteStatus.NOT_HELPFUL, np.where(helpful, NoteStatus.HELPFUL, NoteStatus.NEEDS_MORE_RATINGS))
    return np.where(counted, status, NoteStatus.NEEDS_MORE_RATINGS).astype(np.int8)


def _liked_by_both(tallies: Tallies, settings: BridgingSettings) -> Bools:
    """Whether, on each side, raters who find a note helpful sufficiently outnumber those who do not."""
    net = np.minimum(*(side[:, _HELPFUL] - side[:, _NOT_HELPFUL] for side in (tallies.left, tallies.right)))
    share = net >= settings.min_net_helpful_share * tallies.count.sum(axis=1)
    return np.asarray((net >= settings.min_net_helpful) | ((net >= settings.min_net_helpful_few) & share))


def _rejected_by_both(tallies: Tallies, settings: BridgingSettings) -> Bools:
    """Whether the mean ratings of both sides are low."""
    low = np.ones(len(tallies.count), np.bool_)
    means = np.zeros(len(tallies.count))
    for side in (tallies.left, tallies.right):
        count = side.sum(axis=1)
        mean = _worth(side) / np.maximum(count, 1)
        low &= (count >= settings.crnh_side_ratings) & (mean <= settings.crnh_side_mean)
        means += mean / 2
    return np.asarray(low & (means <= settings.crnh_mean))


def _best_case(fit: Bridging, tallies: Tallies) -> Floats:
    """The highest intercept with one more helpful rating by a strict rater of any camp."""
    second = fit.second
    strict, one = float(np.nanmin(second.rater_intercept)), np.ones(len(tallies.count))
    ends = (float(np.nanmin(second.rater_factor)), 0.0, float(np.nanmax(second.rater_factor)))
    cases = (tallies.plus(one, _HELPFUL, strict, factor) for factor in ends)
    return np.asarray(np.max([_solve_notes(case, second.mu, second.note_ridge)[0] for case in cases], axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class RaterSampling:
    """Sampling error of notes' intercepts over raters; nan for notes without an intercept.

    Attributes:
        error: shape (notes,), standard error by the jackknife over raters.
        freedom: shape (notes,), degrees of freedom: ratings of helpful raters less 1.
    """

    error: Floats
    freedom: Floats


def draw_raters(raters: int, seed: int) -> Floats:
    """How often each rater occurs in a bootstrap sample, shape (raters,)."""
    drawn = np.random.default_rng(seed).integers(0, raters, raters)
    return np.bincount(drawn, minlength=raters).astype(np.float64)


def redraws(fit: Bridging) -> list[Bridging]:
    """Fits of redrawn raters; fewer with more ratings, since the shared parameters then vary less.

    A rater who is drawn twice counts twice. Rounds start from those of the fit and may end early: the remaining change
    is far below that of another draw.
    """
    voters = fit.ratings, fit.notes, fit.raters
    table = _Table.of(fit.ratings, fit.intercept.size, fit.drawn.size)
    settings, found = replace(fit.settings, tolerance=_ROUGH), []
    for seed in range(int(np.clip(_REDRAWN // fit.ratings.note.size, *_LEAST_MOST))):
        with suppress(ValueError):  # a draw of a few raters may have too few ratings
            found.append(_fitted(table, voters, settings, draw_raters(fit.drawn.size, seed), fit))
    return found


def sampling(fit: Bridging, redrawn: Sequence[Bridging] = (), every: int = 1) -> RaterSampling:
    """Standard errors of the final intercepts over samples of raters, by the jackknife.

    The jackknife keeps the other raters, mu and the list of helpful raters fixed. Their contribution is learnt from
    fits of redrawn raters, if there are two or more: the squared distance of their intercepts to the fit's is fitted as
    a multiple of the jackknife's variance, a constant and a multiple of the squared intercept, none below 0.

    A note's ridge regression without one rater has a closed form. The rater's own parameters were fitted to the rating,
    too, which shrinks its residual: both leverages are corrected for. The number of a note's ratings is
    random, so shifts are not measured from their mean. Only one in `every` notes is computed; others get nan.
    """
    second, notes = fit.second, fit.tallies
    n, f, ff = (sums.sum(axis=1) for sums in (notes.count, notes.factor, notes.squared))
    note_normal = _Normal(n + second.note_ridge[0], f, ff + second.note_ridge[1])
    rater_normal = _rater_normal(fit)
    worth, squares = np.array(LEVELS), np.zeros(n.size)
    for note, rater, level in trusted_ratings(fit, every):
        slope = second.rater_factor[rater]
        rest = worth[level] - second.mu - second.rater_intercept[rater] - fit.intercept[note] - slope * fit.factor[note]
        leverage = note_normal.leverage(note, slope) + rater_normal.leverage(rater, fit.factor[note])
        shift = note_normal.pull(note, slope) * rest / np.maximum(1 - leverage, _LEAST_LEFT)
        squares += np.bincount(note, fit.drawn[rater] * shift**2, minlength=n.size)
    fitted = np.isfinite(fit.intercept) & (np.arange(n.size) % every == 0)
    if len(redrawn) > 1:
        squares = _widened(fit.intercept, squares, np.array([one.intercept for one in redrawn]))
    return RaterSampling(np.where(fitted, np.sqrt(squares), np.nan), np.where(fitted, n - 1, np.nan))


def _widened(intercept: Floats, variance: Floats, redrawn: Floats) -> Floats:
    """Variances, shape (notes,), learnt from the spread over fits of redrawn raters, shape (fits, notes)."""
    from scipy.optimize import nnls

    known = np.isfinite(redrawn).all(axis=0) & np.isfinite(intercept) & (variance > 0)
    parts = np.stack([variance, np.ones(variance.size), np.nan_to_num(intercept) ** 2], axis=1)
    if known.sum() < _LEAST_NOTES:
        return variance
    squared = ((redrawn - intercept)[:, known] ** 2).mean(axis=0)
    # Their spread is proportional to a note's variance, so weight by it.
    share = nnls(parts[known] / variance[known, None], squared / variance[known])[0]
    widened: Floats = np.maximum(parts @ share, variance)
    return widened


def chance_helpful(fit: Bridging, redrawn: Sequence[Bridging]) -> Floats:
    """The probability that a note would be helpful in another sample of raters; nan where the note has no intercept.

    The probability by normal errors and today's rules is calibrated on redrawn raters: one such fit's prediction for a
    note is compared with its statuses in the other fits. Isotonic regression of statuses on predictions, separately for
    notes that the rules currently allow to be helpful and others, gives the probability for the fit itself.
    """
    from scipy.optimize import isotonic_regression

    stated, possible = _expected(fit, sampling(fit))
    if len(redrawn) < 2:
        return np.where(np.isfinite(stated), stated * possible, np.nan)
    status = np.array([statuses(one) == NoteStatus.HELPFUL for one in redrawn])
    others = (status.sum(axis=0) - status) / (len(redrawn) - 1)
    every = -(-len(redrawn) * fit.ratings.note.size // _LEARNT)
    found = [_expected(one, sampling(one, every=every)) for one in redrawn]
    chance = np.where(np.isfinite(stated), 0.0, np.nan)
    for which in (True, False):
        held = [np.isfinite(one) & (able == which) for one, able in found]
        expected = np.concatenate([one[mine] for (one, _), mine in zip(found, held, strict=True)])
        seen = np.concatenate([other[mine] for other, mine in zip(others, held, strict=True)])
        mine = np.isfinite(stated) & (possible == which)
        if expected.size:
            order = np.argsort(expected, kind="stable")
            blocks = isotonic_regression(seen[order])
            edges = blocks.blocks
            middle = np.add.reduceat(expected[order], edges[:-1]) / np.diff(edges)
            chance[mine] = np.interp(stated[mine], middle, blocks.x[edges[:-1]])
    return chance


def chance_if_decided(fit: Bridging, redrawn: Sequence[Bridging]) -> tuple[Floats, Floats]:
    """The share that finds a note helpful among samples of raters that give it a status, and the error of this share.

    The share would be known if all raters were. It is learnt by simulation: the fit stands for all raters, redraws
    for samples of them. Isotonic regression gives how often deciding samples find a note with such an intercept
    helpful; a second one, over the notes that a sample decides, predicts this from the sample's own intercept.

    Returns:
        The expected share and its standard deviation, shape (notes,); nan where the note has no intercept, and for all
        notes if no two redraws give a status.
    """
    status = np.array([statuses(one) for one in redrawn], np.int8).reshape(len(redrawn), fit.intercept.size)
    known = np.isfinite(fit.intercept)
    decided = (status != NoteStatus.NEEDS_MORE_RATINGS) & known
    count, helpful = decided.sum(axis=0), (decided & (status == NoteStatus.HELPFUL)).sum(axis=0)
    seen, nothing = count > 0, np.full(fit.intercept.size, np.nan)
    if len(redrawn) < 2 or not seen.any():
        return nothing, nothing
    share = _rising(fit.intercept[seen], helpful[seen] / count[seen], count[seen], fit.intercept)
    stated = np.concatenate([one.intercept[mine] for one, mine in zip(redrawn, decided, strict=True)])
    of_stated = share[np.nonzero(decided)[1]]
    mean, square = (_rising(stated, of_stated**power, np.ones(stated.size), fit.intercept) for power in (1, 2))
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0))


def _rising(x: Floats, y: Floats, weight: Floats, at: Floats) -> Floats:
    """The isotonic regression of `y` on `x`, evaluated at some places."""
    from scipy.optimize import isotonic_regression

    order = np.argsort(x, kind="stable")
    found: Floats = np.interp(at, x[order], isotonic_regression(y[order], weights=weight[order]).x)
    return found


def _expected(fit: Bridging, found: RaterSampling) -> tuple[Floats, Bools]:
    """The probability of an intercept above the threshold in another sample, and whether the other rules hold now.

    The expected intercept of a note is its own value, shrunk to the mean of all notes by as much as these differ
    less than sampling alone would make them (empirical Bayes): among many notes, the few above a threshold were mostly
    lucky. Rules about the two sides and the factor are applied to the current values.
    """
    from scipy.special import ndtr

    settings, intercept = fit.settings, fit.intercept
    variance = found.error**2
    between = max(float(np.nanvar(intercept) - np.nanmean(variance)), 1e-12)
    drawn = variance / (variance + between)
    expected = intercept - (intercept - np.nanmean(intercept)) * drawn
    spread = np.sqrt(np.maximum(variance * (2 - drawn), 1e-12))
    threshold = settings.crh_threshold - settings.inertia_delta * fit.notes.shown
    possible = fit.scored & fit.notes.misleading & _liked_by_both(fit.tallies, settings)
    possible &= np.abs(np.nan_to_num(fit.factor)) <= settings.factor_threshold
    return np.where(np.isfinite(intercept), ndtr((expected - threshold) / spread), np.nan), possible


@dataclass(frozen=True, slots=True, eq=False)
class _Normal:
    """The matrices [[a, b], [b, c]] of many ridge regressions of two unknowns."""

    a: Floats
    b: Floats
    c: Floats

    def pull(self, which: Whole, slope: Floats) -> Floats:
        """The change of the intercept by an observation (1, slope) with a residual of 1."""
        a, b, c = self.a[which], self.b[which], self.c[which]
        return (c - b * slope) / (a * c - b * b)

    def leverage(self, which: Whole, slope: Floats) -> Floats:
        """The share of an observation (1, slope) in its own fitted value."""
        a, b, c = self.a[which], self.b[which], self.c[which]
        return (c - 2 * b * slope + a * slope**2) / (a * c - b * b)


def _rater_normal(fit: Bridging) -> _Normal:
    sums = np.zeros((3, fit.helpful_rater.size))
    for note, rater, _ in trusted_ratings(fit):
        for power in range(3):
            sums[power] += np.bincount(rater, fit.factor[note] ** power, minlength=fit.helpful_rater.size)
    return _Normal(sums[0] + fit.second.rater_ridge[0], sums[1], sums[2] + fit.second.rater_ridge[1])


def trusted_ratings(fit: Bridging, every: int = 1) -> Iterator[tuple[Whole, Whole, NDArray[np.int8]]]:
    """Notes, raters and levels of the final fit's ratings, in pieces; only of one in `every` notes."""
    fitted = np.isfinite(fit.intercept) & (np.arange(fit.intercept.size) % every == 0)
    for start in range(0, fit.ratings.note.size, _CHUNK):
        piece = slice(start, start + _CHUNK)
        kept = fit.helpful_rater[fit.ratings.rater[piece]] & fitted[fit.ratings.note[piece]]
        yield fit.ratings.note[piece][kept], fit.ratings.rater[piece][kept], fit.ratings.level[piece][kept]


class Profile(IntEnum):
    """The camps of accounts that try to change a note's status."""

    BALANCED = 0
    OWN = 1
    OTHER = 2


MOST_ACCOUNTS = 64
"""Maximum number of accounts to try."""


def flip_costs(fit: Bridging, notes: NDArray[np.intp], profile: Profile, most: int = MOST_ACCOUNTS) -> Ints:
    """Number of accounts needed to make undecided notes helpful, or to remove a note's status.

    They rate helpful notes as not helpful, and all other notes as helpful.

    An account is a helpful rater with the typical intercept and factor of its camp. Raters and mu stay fixed, as
    on X between two fits of raters. The number is doubled until a status changes, then reduced by bisection.

    Args:
        fit: the fit.
        notes: shape (k,), numbers of notes.
        profile: accounts of both camps alternately, of the camp whose factor has the note's sign, or of the other one.
        most: maximum number to try.

    Returns:
        Number of accounts, shape (k,); 0 where `most` are not enough, or the note has no status.
    """
    state = _State(fit.tallies, fit.quiet, fit.notes, fit.scored).take(notes)
    before, sign = _judged(fit, state), np.where(fit.factor[notes] < 0, -1, 1)
    open_ = state.scored & np.isfinite(fit.intercept[notes])
    camps = {side: _typical(fit, side) for side in (-1, 1)}

    def flipped(places: NDArray[np.intp], accounts: Ints) -> Bools:
        found = np.zeros(places.size, np.bool_)
        for status in NoteStatus:
            level = _NOT_HELPFUL if status is NoteStatus.HELPFUL else _HELPFUL
            of_status = np.flatnonzero(before[places] == status)
            after = state.take(places[of_status])
            for side, (intercept, factor) in camps.items():
                mine = sign[places[of_status]] == side
                share = (accounts[of_status] + (side < 0)) // 2
                if profile is not Profile.BALANCED:
                    share = accounts[of_status] * (mine == (profile is Profile.OWN))
                after = after.plus(share.astype(np.float64), level, intercept, factor)
            decided = _judged(fit, after)
            found[of_status] = (
                decided == NoteStatus.HELPFUL if status is NoteStatus.NEEDS_MORE_RATINGS else decided != status
            )
        return found

    (low, high), left = np.zeros((2, notes.size), np.int64), np.flatnonzero(open_)
    tried = min(1, most)
    while left.size and tried:
        done = flipped(left, np.full(left.size, tried))
        high[left[done]] = tried
        left = left[~done]
        low[left] = tried
        tried = min(2 * tried, most) if tried < most else 0
    places = np.flatnonzero(high)
    while (places := places[high[places] - low[places] > 1]).size:
        middle = (high[places] + low[places]) // 2
        done = flipped(places, middle)
        high[places[done]], low[places[~done]] = middle[done], middle[~done]
    return high


def _typical(fit: Bridging, side: int) -> tuple[float, float]:
    """The typical intercept and factor of a camp: the median of an outer third of helpful raters."""
    intercepts, factors = fit.second.rater_intercept, fit.second.rater_factor
    factor = float(np.nanquantile(factors, _CAMP if side < 0 else 1 - _CAMP))
    return float(np.median(intercepts[np.abs(factors - factor) <= _NEAR])), factor
