"""Invented notes and people who rate them, whose tastes are known: as arrays, or a dump in the real columns.

Raters lean to either side or to none, are mild or strict, and differ in how many notes they rate. A note has a quality
and a slant. Notes stay while raters are drawn afresh, so that what a fit says of a note can be compared over samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.bridging import Notes, Raters, Ratings

__all__ = ["Voters", "VotersWorld", "draw_voters"]


class Voters(NamedTuple):
    """A sample of raters and what they rated."""

    ratings: Ratings
    notes: Notes
    raters: Raters


@dataclass(frozen=True, slots=True, eq=False)
class VotersWorld:
    """What is true of notes; each of shape (notes,)."""

    quality: NDArray[np.float64]
    slant: NDArray[np.float64]
    appeal: NDArray[np.float64]
    misleading: NDArray[np.bool_]

    @classmethod
    def make(cls, notes: int, seed: int) -> VotersWorld:
        """Notes of all kinds, a few of which say that the post is not misleading."""
        random = np.random.default_rng(seed)
        return cls(
            random.normal(0, 1, notes),
            random.normal(0, 0.9, notes),
            random.lognormal(0, 0.6, notes),
            random.random(notes) > 0.06,
        )


def draw_voters(world: VotersWorld, raters: int, ratings: int, seed: int) -> Voters:
    """Raters drawn afresh, and their ratings: so many at most, since nobody rates a note twice."""
    random = np.random.default_rng(seed)
    camp = random.choice([-1, 0, 1], raters, p=[0.4, 0.28, 0.32])
    lean = camp * 0.8 + random.normal(0, 0.3, raters)
    bias, activity = random.normal(0.3, 0.6, raters), random.lognormal(0, 0.8, raters)
    rater = random.choice(raters, ratings, p=activity / activity.sum()).astype(np.int32)
    note = random.choice(world.quality.size, ratings, p=world.appeal / world.appeal.sum()).astype(np.int32)
    pairs = np.unique(note.astype(np.int64) * raters + rater)
    note, rater = (pairs // raters).astype(np.int32), (pairs % raters).astype(np.int32)
    liking = (
        world.quality[note] + bias[rater] + 1.3 * lean[rater] * world.slant[note] + random.logistic(0, 0.7, note.size)
    )
    level = ((liking > -0.3).astype(np.int8) + (liking > 0.3)).astype(np.int8)
    unknown = np.zeros(world.quality.size, np.bool_)
    writers = np.full(world.quality.size, -1, np.int32)
    early = random.random(note.size) < 0.8
    return Voters(
        Ratings(note, rater, level, early),
        Notes(writers, world.misleading, unknown),
        Raters(random.random(raters) > 0.05, np.zeros(raters, np.bool_)),
    )
