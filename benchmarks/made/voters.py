"""Invented notes and raters with known preferences: as arrays, or as a dump in the real columns.

Raters lean to either side or to none, are mild or strict, and differ in how many notes they rate. A note has a quality
and a slant. Notes are fixed while raters are redrawn, so that a fit's results can be compared over samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collectors.notes.tables import ENROLLMENT, HISTORY, NOTES, RATINGS, DumpTable
from hellofresh.stats.bridging import Notes, Raters, Ratings

__all__ = ["Voters", "VotersWorld", "Written", "draw_liked", "draw_voters", "draw_written", "participant", "write_dump"]


class Voters(NamedTuple):
    """A sample of raters and their ratings."""

    ratings: Ratings
    notes: Notes
    raters: Raters


@dataclass(frozen=True, slots=True, eq=False)
class VotersWorld:
    """True properties of notes; each of shape (notes,)."""

    quality: NDArray[np.float64]
    slant: NDArray[np.float64]
    appeal: NDArray[np.float64]
    misleading: NDArray[np.bool_]

    @classmethod
    def make(cls, notes: int, seed: int) -> VotersWorld:
        """Notes of all kinds; a few of them say that the post is not misleading."""
        random = np.random.default_rng(seed)
        return cls(
            random.normal(0, 1, notes),
            random.normal(0, 0.9, notes),
            random.lognormal(0, 0.6, notes),
            random.random(notes) > 0.06,
        )


def draw_voters(
    world: VotersWorld, raters: int, ratings: int, seed: int, *, tail: float = 0.0, own: float = 0.0
) -> Voters:
    """Draw new raters and their ratings: at most `ratings`, since each rater rates a note once.

    Args:
        world: its notes are fixed.
        raters, ratings, seed: their numbers, and the seed of the draw.
        tail: index of a Pareto law of activity, heavier for lower values; 0 for a log-normal law.
        own: the share of ratings of the other side's notes that are omitted.
    """
    random = np.random.default_rng(seed)
    camp = random.choice([-1, 0, 1], raters, p=[0.4, 0.28, 0.32])
    lean = camp * 0.8 + random.normal(0, 0.3, raters)
    bias, activity = random.normal(0.3, 0.6, raters), random.lognormal(0, 0.8, raters)
    if tail:
        activity = 1 + random.pareto(tail, raters)
    rater = random.choice(raters, ratings, p=activity / activity.sum()).astype(np.int32)
    note = random.choice(world.quality.size, ratings, p=world.appeal / world.appeal.sum()).astype(np.int32)
    pairs = np.unique(note.astype(np.int64) * raters + rater)
    note, rater = (pairs // raters).astype(np.int32), (pairs % raters).astype(np.int32)
    if own:
        seen = (lean[rater] * world.slant[note] > 0) | (random.random(note.size) >= own)
        note, rater = note[seen], rater[seen]
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


class Written(NamedTuple):
    """Notes by people (writer 0) and by programs, and the ratings of raters who visit posts.

    Attributes:
        voters: raters, ratings and notes.
        post, writer: of each note.
        skill: of each writer, in units of notes' quality, relative to people.
        quality: of each note.
    """

    voters: Voters
    post: NDArray[np.int64]
    writer: NDArray[np.int64]
    skill: NDArray[np.float64]
    quality: NDArray[np.float64]


def draw_written(
    seed: int,
    *,
    posts: int = 1500,
    raters: int = 1200,
    programs: int = 12,
    friendly: str = "",
    skills: int | None = None,
) -> Written:
    """Posts with one to four notes each, half of them by programs, and the raters who visit them.

    Args:
        seed: of the whole world.
        posts, raters, programs: their numbers.
        friendly: the only raters who see the notes of the last program: `lenient`, the third who find most helpful;
            `camp`, those who lean to the side of the note; empty for all raters.
        skills: seed of the skills, if they are fixed while all else is drawn.
    """
    random = np.random.default_rng(seed)
    post = np.repeat(np.arange(posts), np.minimum(random.geometric(0.45, posts), 4))
    writer = np.where(random.random(post.size) < 0.5, random.integers(1, programs + 1, post.size), 0)
    skill = np.append(0.0, np.random.default_rng(seed if skills is None else skills).normal(0.1, 0.25, programs))
    quality = skill[writer] + random.normal(-0.1, 0.6, post.size)
    slant = random.normal(0, 0.6, post.size)
    camp = random.choice([-1, 0, 1], raters, p=[0.4, 0.28, 0.32])
    lean, bias = camp * 0.8 + random.normal(0, 0.3, raters), random.normal(0.1, 0.5, raters)
    fame = random.lognormal(0, 0.9, posts)
    visits = np.repeat(np.arange(raters), np.minimum(4 + 20 * random.pareto(1.5, raters), 300).astype(np.int64))
    seen = np.unique(visits * posts + random.choice(posts, visits.size, p=fame / fame.sum()))
    who, where = seen // posts, seen % posts
    first, count = np.searchsorted(post, np.arange(posts)), np.bincount(post, minlength=posts)
    rater = np.repeat(who, count[where])
    note = np.repeat(first[where] - np.cumsum(count[where]) + count[where], count[where]) + np.arange(rater.size)
    sees = random.random(rater.size) < 0.65
    if friendly:
        kind = bias > np.quantile(bias, 2 / 3) if friendly == "lenient" else None
        fits = kind[rater] if kind is not None else lean[rater] * slant[note] > 0
        sees &= (writer[note] != programs) | fits
    rater, note = rater[sees].astype(np.int32), note[sees].astype(np.int32)
    liking = quality[note] + bias[rater] + 1.15 * lean[rater] * slant[note] + random.normal(0, 0.8, note.size)
    level = ((liking > -0.16).astype(np.int8) + (liking > 0.16)).astype(np.int8)
    ones, unknown = np.ones(post.size, np.bool_), np.zeros(post.size, np.bool_)
    voters = Voters(
        Ratings(note, rater, level, random.random(note.size) < 0.8),
        Notes(np.full(post.size, -1, np.int32), ones, unknown),
        Raters(np.ones(raters, np.bool_), np.zeros(raters, np.bool_)),
    )
    return Written(voters, post, writer, skill, quality)


def draw_liked(
    seed: int,
    *,
    ring: int,
    pushed: int,
    interest: float = 1.0,
    raters: int = 3000,
    posts: int = 6000,
    languages: int = 1,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Posts, raters and periods of helpful ratings: honest ones, and a ring of raters who are otherwise as active.

    Args:
        seed: of the world.
        ring: number of its raters, which come first.
        pushed: number of posts with a note that nine in ten of the ring call helpful.
        interest: how much more often honest raters see posts of their three topics of twenty, in their two hours of
            twelve; 1 for as often as others.
        raters, posts: their numbers.
        languages: so many, each half as large as the one before and with posts of its own; the ring is of the first.
    """
    random = np.random.default_rng(seed)
    size = 0.5 ** np.arange(languages) / (0.5 ** np.arange(languages)).sum()
    spoken, written = (random.choice(languages, count, p=size) for count in (raters, posts))
    spoken[:ring] = 0
    period, topic, hour = (random.integers(0, kinds, posts) for kinds in (4, 20, 12))
    fame = random.lognormal(0, 1.1, posts)
    found = []
    for rater in range(raters):
        likes = np.isin(topic, random.choice(20, 3, replace=False)) + np.isin(hour, random.choice(12, 2, replace=False))
        weight = fame * interest**likes * (written == spoken[rater])
        visits = int(min(4 + 12 * random.pareto(1.35), 500, (weight > 0).sum()))
        seen = random.choice(posts, visits, p=weight / weight.sum())
        found.append(np.unique(seen) * raters + rater)
    chosen = random.choice(np.flatnonzero(written == 0), pushed, replace=False)
    theirs = (chosen[:, None] * raters + np.arange(ring))[random.random((pushed, ring)) < 0.9]
    pairs = np.unique(np.concatenate([*found, theirs]))
    return pairs // raters, pairs % raters, period


_FIRST_NOTE, _START_MS, _HOUR_MS = 2_000_000_000_000_000_000, 1_775_001_600_000, 3_600_000  # from 2026-04-01 on
_YEAR_MS = 365 * 24 * _HOUR_MS
_LEVELS = np.array(["NOT_HELPFUL", "SOMEWHAT_HELPFUL", "HELPFUL"])


def participant(number: int) -> str:
    """A participant id in the form of the dump."""
    return sha256(f"participant {number}".encode()).hexdigest().upper()


def write_dump(folder: Path, voters: Voters, *, shards: int = 1) -> Path:
    """Write a dump in the real columns: notes an hour apart, or closer to fit in a year, valid
    ratings within two days, the others later.

    Writers give no ratings and have participant numbers above the raters'; every tenth one writes by the API.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ratings, count, raters = voters.ratings, voters.notes.misleading.size, voters.raters.core.size
    names = np.array([participant(number) for number in range(raters + count // 5 + 1)])
    ids = np.arange(count) + _FIRST_NOTE
    created = _START_MS + np.arange(count) * min(_HOUR_MS, _YEAR_MS // count)
    writers = names[raters + np.arange(count) // 5]
    statement = np.where(voters.notes.misleading, "MISINFORMED_OR_POTENTIALLY_MISLEADING", "NOT_MISLEADING")
    of_notes = {"noteId": ids, "noteAuthorParticipantId": writers, "createdAtMillis": created}
    status = {"currentStatus": "NEEDS_MORE_RATINGS", "lockedStatus": "", "currentDecidedBy": "CoreModel (v1.1)"}
    more = {"tweetId": ids - 7, "classification": statement, "summary": "An invented note."}
    _write(folder, NOTES, pl.DataFrame(of_notes | more))
    _write(
        folder, HISTORY, pl.DataFrame(of_notes).with_columns(**{name: pl.lit(text) for name, text in status.items()})
    )
    states = np.where(np.arange(names.size) % 50 == raters % 50, "apiEarnedIn", "earnedIn")
    groups = np.where(np.append(voters.raters.core, np.ones(names.size - raters, np.bool_)), "13.0", "")
    people = {"participantId": names, "enrollmentState": states, "modelingGroup": groups}
    _write(folder, ENROLLMENT, pl.DataFrame(people))
    wait = np.where(ratings.valid, np.arange(ratings.note.size) % 47, 60) * _HOUR_MS
    for number in range(shards):
        note, rater, level, late = (side[number::shards] for side in (ratings.note, ratings.rater, ratings.level, wait))
        rows = {
            "noteId": ids[note],
            "raterParticipantId": names[rater],
            "createdAtMillis": created[note] + late,
            "version": 2,
            "helpfulnessLevel": _LEVELS[level],
        }
        _write(folder, RATINGS, pl.DataFrame(rows), number)
    return folder


def _write(folder: Path, table: DumpTable, rows: pl.DataFrame, number: int = 0) -> None:
    columns = [pl.col(name) if name in rows.columns else pl.lit("").alias(name) for name in table.columns]
    path = folder / f"{table.stem}-{number:05d}.tsv"
    rows.select(columns).write_csv(path, separator="\t", quote_style="never")
