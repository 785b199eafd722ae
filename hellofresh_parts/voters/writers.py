"""Statistics on the writers of a quarter's notes, from the ratings: the output has only figures by writer.

Automated writers are shown as `Writer 1`, `Writer 2`, ...: each gets a number once, in the order of the
first notes of new ones. The numbers are kept in a private file, so that names stay the same in every quarter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.core.errors import DataError
from hellofresh.core.files import read_model, write_json
from hellofresh.core.parquet import write_parquet
from hellofresh.results.note_writers import (
    NOTE_WRITERS,
    WRITER_PAIRS,
    NoteWriter,
    WriterKind,
    pairs_file,
    standings_of_writers,
)
from hellofresh.stats.bridging import LEVELS, Bridging
from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.equal_exposure import WriterEffects, rated_both, writer_effects
from hellofresh.stats.intervals import metric_interval
from hellofresh.stats.metrics import mean
from hellofresh_parts.voters.ratings import DumpRatings

PEOPLE, COLLABORATIVE = "People", "Collaborative notes"
HELPFUL, NOT_HELPFUL = "CURRENTLY_RATED_HELPFUL", "CURRENTLY_RATED_NOT_HELPFUL"
_HELPFUL_LEVEL = 2
_HELPFUL = mean("helpful", (0.0, 1.0))
_NORMAL = 1.959964  # the 97.5% quantile of the normal distribution
_PLACE = ("rank", "rank_low", "rank_high", "tie_group")


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The number of each writer by the id of its first note, as text."""

    numbers: dict[str, int]
    format: int = 1


def writer_names(writers: Sequence[int], folder: Path) -> list[str]:
    """Names of automated writers, by their first notes; new ones get the next numbers, which are stored.

    Args:
        writers: ids of the first notes of all automated writers of a dump.
        folder: private; where numbers are kept.

    Raises:
        DataError: if the file of numbers is damaged, since new numbers would rename writers.
    """
    path = folder / "writers.json"
    known = dict(read_model(path, _Numbers).numbers) if path.is_file() else {}
    if sorted(known.values()) != list(range(1, len(known) + 1)):
        fix = "Restore it from a copy: without it, writers would change their names."
        raise DataError("numbers of writers are missing or repeated", where=str(path), fix=fix, code="damaged-numbers")
    new = [str(writer) for writer in sorted(writers) if str(writer) not in known]
    if new:
        known |= {name: number for number, name in enumerate(new, start=len(known) + 1)}
        write_json(path, {"format": 1, "numbers": known}, mode=0o600)
    return [f"Writer {known[str(writer)]}" for writer in writers]


def write_note_writers(
    path: Path,
    notes: pl.DataFrame,
    mine: NDArray[np.intp],
    ratings: DumpRatings,
    fit: Bridging,
    *,
    machines: NDArray[np.int64],
    claimed: Mapping[int, str],
    folder: Path,
) -> int:
    """Compare the writers of a quarter's notes, and write the tables of `hellofresh.results.note_writers`.

    Args:
        path: of the table of writers; the table of pairs is written beside it.
        notes: all notes, with `writer` (its first note), `collaborative`, `currentStatus`, `hours`, `minutes`, `media`,
            `foreign`, `alone` and `first`.
        mine: indices of the quarter's notes.
        ratings, fit: of all notes.
        machines: first notes of all automated writers, sorted.
        claimed: claimed names, by the writers' first notes.
        folder: private; contains the writers' numbers.
    """
    own = notes[mine].with_columns(ratings=np.bincount(ratings.note, minlength=notes.height)[mine])
    every = [
        f"{number}: {claimed[writer]} (claimed)" if writer in claimed else number
        for number, writer in zip(writer_names(machines.tolist(), folder), machines.tolist(), strict=True)
    ]
    here = np.flatnonzero(np.isin(machines, own["writer"].to_numpy()))
    names, machines = [PEOPLE, COLLABORATIVE, *(every[place] for place in here)], machines[here]
    kinds = [WriterKind.PEOPLE, WriterKind.COLLABORATIVE, *[WriterKind.MACHINE] * machines.size]
    # For each note: 0 for people, 1 if it is collaborative, 2 and more for automated writers.
    number = pl.col("writer").replace_strict(machines, range(2, machines.size + 2), default=0, return_dtype=pl.Int64)
    own = own.with_columns(number=pl.when("collaborative").then(1).otherwise(number))
    # Only notes that call the post misleading: the others serve another purpose.
    counts = fit.notes.misleading[mine] & (own["tweetId"].fill_null(0).to_numpy() > 0)
    post, writer = np.zeros(notes.height, np.int64), np.full(notes.height, -1)
    post[mine], writer[mine] = own["tweetId"].rank("dense").fill_null(0), np.where(counts, own["number"], -1)
    first = notes["first"].fill_null(False).to_numpy()
    found, raters = compare_writers(fit, post, writer, len(names), first)
    standings, gain = standings_of_writers(found["intercept"], kinds), found["ordered"]
    effects = {
        f"{name}{part}": values
        for name, each in found.items()
        for part, values in zip(("", "_low", "_high", "_p"), (each.value, *each.limits()), strict=True)
    }
    ends = [_or_none(gain.slope + side * _NORMAL * gain.slope_error) for side in (0, -1, 1)]
    rows = {}
    for row in _counts(own).to_dicts():
        number = row.pop("number")
        row.update({name: _or_none(values[number]) for name, values in effects.items()})
        row.update({"posts": int(found["intercept"].posts[number]), "raters": int(raters[number])})
        row.update(zip(("gain", "gain_low", "gain_high"), ends, strict=True))
        row.update(zip(("helpful_low", "helpful_high"), _helpful(own.filter(number=number)), strict=True))
        row.update(zip(_PLACE, standings.place(number) or (None,) * len(_PLACE), strict=True))
        rows[number] = NoteWriter(writer=names[number], kind=kinds[number], **row)
    order = sorted(rows, key=lambda number: _place(rows[number], number))
    write_parquet(path, NOTE_WRITERS.frame(rows[number] for number in order), mode=0o600)
    write_parquet(pairs_file(path), WRITER_PAIRS.frame(standings.rows(names, order)), mode=0o600)
    return len(rows)


def _counts(own: pl.DataFrame) -> pl.DataFrame:
    """Totals of each writer's notes."""
    status = pl.col("currentStatus").fill_null("")
    return own.group_by("number").agg(
        pl.len().alias("notes"),
        (status == HELPFUL).sum().alias("helpful"),
        (status == NOT_HELPFUL).sum().alias("not_helpful"),
        pl.col("ratings").sum(),
        pl.col("hours").median(),
        pl.col("media").mean(),
        pl.col("foreign").mean(),
        pl.col("minutes").median(),
        (
            pl.col("tweetId").filter("alone").n_unique()
            / pl.col("tweetId").filter(pl.col("alone").is_not_null()).n_unique()
        )
        .fill_nan(None)
        .alias("alone"),
        pl.col("first").filter(~pl.col("alone")).mean(),
    )


def _helpful(notes: pl.DataFrame) -> tuple[float, float]:
    """Limits of the share of helpful notes, clustered by post; a note without a post is a cluster of its own."""
    values = (notes["currentStatus"].fill_null("") == HELPFUL).to_numpy().astype(np.float64)
    post = notes["tweetId"].fill_null(0).to_numpy()
    groups = np.where(post > 0, post, -np.arange(1, post.size + 1))
    found = metric_interval(cluster_tables(_HELPFUL.statistics(np.ones(values.size), values), groups), _HELPFUL)
    return round(found.low, 9), round(found.high, 9)


def compare_writers(
    fit: Bridging,
    post: NDArray[np.int64],
    writer: NDArray[np.int64],
    writers: int,
    first: NDArray[np.bool_] | None = None,
) -> tuple[dict[str, WriterEffects], NDArray[np.int64]]:
    """Effects of writers on notes' intercepts and on the share of helpful ratings; writer 0 is the reference.

    Uses ratings of helpful raters. The effect of the rater's camp is subtracted from each, so that effects are on
    intercepts: the rater's other effects are equal for all notes on a post.

    Args:
        fit: of all notes.
        post: shape (notes,), equal numbers for notes on one post.
        writer: shape (notes,), below 0 for excluded notes.
        writers: number of writers.
        first: shape (notes,), which notes were the first on their post; if absent, the order is not analysed.

    Returns:
        Effects on the `intercept`, the `share`, and the intercept adjusted for the first note's gain (`ordered`); how
        many raters each writer is compared by, shape (writers,).
    """
    ratings = fit.ratings
    counts = (writer >= 0) & np.isfinite(fit.intercept)
    kept = np.flatnonzero(counts[ratings.note] & fit.helpful_rater[ratings.rater])
    both = rated_both(post[ratings.note[kept]], ratings.rater[kept], writer[ratings.note[kept]])
    note, rater, level = (side[kept[both.place]] for side in (ratings.note, ratings.rater, ratings.level))
    bridged = np.array(LEVELS)[level] - fit.second.rater_factor[rater] * fit.factor[note]
    helpful = (level == _HELPFUL_LEVEL).astype(np.float64)
    ahead = None if first is None else first[note].astype(np.float64)
    found = {
        name: writer_effects(both, values, writers, reference=0, beside=beside)
        for name, values, beside in (
            ("intercept", bridged, None),
            ("share", helpful, None),
            ("ordered", bridged, ahead),
        )
    }
    pairs = np.unique(both.rater * writers + both.writer)
    return found, np.bincount(pairs % writers, minlength=writers)


def _place(row: NoteWriter, number: int) -> tuple[bool, int, bool, int, int]:
    """Ranked writers first, then people and collaborative notes, then writers without a rank, by their notes."""
    return row.rank is None, row.rank or 0, row.kind == WriterKind.MACHINE, -row.notes, number


def _or_none(value: float) -> float | None:
    """A number to nine places; None for nan."""
    return round(float(value), 9) if isfinite(value) else None
