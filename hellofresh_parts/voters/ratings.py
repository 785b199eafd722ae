"""The ratings of a dump as arrays: each shard is read once, and raters stay anonymous.

A shard becomes a part: a private Parquet file in which a keyed hash stands for a rater, with a receipt of the source
shard. An interrupted reading continues with the next shard; another quarter's fit reads no shard again. The
arrays depend neither on the key, nor on the order of rows or their distribution over shards: raters are numbered in an
order that depends only on their ratings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collectors.notes.dump_files import find_shards, source_files
from collectors.notes.snapshot import known_hashes
from collectors.notes.tables import RATINGS, TableReader, WantedColumns, gathered
from hellofresh.core.errors import DataError, SourceError
from hellofresh.core.executors import Pool, run_tasks
from hellofresh.core.files import read_model, write_json
from hellofresh.core.parquet import write_parquet
from hellofresh.releases.candidates import SourceFile

RATER = "raterParticipantId"
FIRST_MS = 1_609_459_200_000
"""The beginning of 2021, before the first rating."""
_LEVEL, _OLD_HELPFUL, _OLD_NOT_HELPFUL, _BUCKET = "helpfulnessLevel", "helpful", "notHelpful", "ratingSourceBucketed"
_LEVELS = {"NOT_HELPFUL": 0, "SOMEWHAT_HELPFUL": 1, "HELPFUL": 2}
_COLUMNS = WantedColumns(
    ("noteId", "createdAtMillis"), texts=(RATER, _LEVEL), extra=(_OLD_HELPFUL, _OLD_NOT_HELPFUL, _BUCKET)
)
_NAME = re.compile(r"[A-Za-z_]{1,40}")
_ROWS_AT_ONCE = 1_000_000  # enough for raters to recur, so that each is hashed once
_FORMAT = 1

UNKNOWN_VALUE = "ratings with an unknown value"
EARLY_CLOCK = "ratings from before 2021"
UNKNOWN_NOTE = "ratings of unknown notes"
DUPLICATE = "second ratings of a note by one rater"
NO_RATER = "ratings without a rater"
_PART_SCHEMA = {"note": pl.Int64, "rater": pl.UInt64, "second": pl.Int64, "level": pl.Int8, "sampled": pl.Boolean}


@dataclass(frozen=True, slots=True)
class _Part:
    """Source of a part, and results of its reading.

    Attributes:
        shard: the file, with its hash.
        changed_ns: when it last changed.
        key: fingerprint of the key and the format.
        rows, rejected: lines of the shard, and the unreadable ones among them.
        dropped: ratings left out, by reason.
        values: unknown values, if they look like names.
        warnings: of the reading.
    """

    shard: SourceFile
    changed_ns: int
    key: str
    rows: int
    rejected: int
    dropped: Mapping[str, int]
    values: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Reading:
    """One shard to be read: its place, the place of its part, and the key of the hash, which must not be logged."""

    dump: Path
    number: int
    path: Path
    folder: Path
    key: bytes = field(repr=False)
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def part(self) -> Path:
        return self.folder / f"part-{self.number:05d}.parquet"

    @property
    def receipt(self) -> Path:
        return self.part.with_suffix(".json")


@dataclass(frozen=True, slots=True, eq=False)
class DumpRatings:
    """All ratings of known notes, sorted by note and rater; except for `raters`, independent of the key.

    Attributes:
        note: shape (ratings,), indices into the given ids.
        rater: shape (ratings,), indices into `raters`.
        level: shape (ratings,), 0 not helpful, 1 somewhat, 2 helpful.
        second: shape (ratings,), time in seconds.
        sampled: shape (ratings,), whether X sampled the rater.
        raters: keyed hashes, by the raters' numbers.
        counts: rows read and rows left out, by kind.
        sources: the shards.
        warnings: sentences for readers.
    """

    note: NDArray[np.int32]
    rater: NDArray[np.int32]
    level: NDArray[np.int8]
    second: NDArray[np.int32]
    sampled: NDArray[np.bool_]
    raters: NDArray[np.uint64]
    counts: Mapping[str, int]
    sources: Sequence[SourceFile]
    warnings: Sequence[str]


def hashed(participants: pl.Series, key: bytes) -> pl.Series:
    """A keyed 64-bit hash for each participant id."""
    different = participants.unique()
    values = [
        int.from_bytes(blake2b(name.encode(), digest_size=8, key=key).digest(), "big") for name in different.to_list()
    ]
    if not values:  # since polars would keep the type of text for an empty list
        return pl.Series(participants.name, values, dtype=pl.UInt64)
    return participants.replace_strict(different, pl.Series(values, dtype=pl.UInt64), return_dtype=pl.UInt64)


def read_ratings(
    dump: Path,
    notes: NDArray[np.int64],
    *,
    folder: Path,
    key: bytes,
    pool: Pool | None = None,
    afresh: bool = False,
    aliases: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> DumpRatings:
    """Read the shards that have no part yet, and combine all parts.

    Args:
        dump: its folder.
        notes: ids of all notes, sorted.
        folder: where parts are kept; private.
        key: of the hash of raters, at most 64 bytes.
        pool: where shards are read; None for this process, one after the other.
        afresh: read every shard again.
        aliases: usual names of columns, by the names that this dump has.
        progress: called with a sentence now and then.

    Raises:
        SourceError: if the table, a shard or a column is missing, or a file is broken.
    """
    say = progress or (lambda _: None)
    shards = find_shards(dump, RATINGS.stem, RATINGS.subfolder)
    if not shards:
        raise SourceError(
            "no ratings in the dump",
            where=str(dump),
            expected="ratings-00000.tsv or ratings-00000.zip",
            fix="Download them with: hellofresh archive x-notes --ratings",
            code="missing-table",
        )
    readings = [
        _Reading(dump.resolve(), shard.number, shard.path.resolve(), folder, key, aliases or {}) for shard in shards
    ]
    left = [reading for reading in readings if afresh or _current(reading) is None]
    if len(left) < len(readings):
        say(f"{len(readings) - len(left)} of {len(readings)} shards of ratings were read before")
    if pool is None:
        for reading in left:
            say(f"reading {reading.path.name}")
            _read_shard(reading)
    else:
        run_tasks(pool, _read_shard, left, done=lambda name: say(f"read {name}"))
    return _together(readings, notes, say)


def _fingerprint(key: bytes) -> str:
    return f"{_FORMAT}-{blake2b(b'parts', digest_size=8, key=key).hexdigest()}"


def _current(reading: _Reading) -> _Part | None:
    """The receipt of an existing part, if it was made of the present shard."""
    if not (reading.receipt.is_file() and reading.part.is_file()):
        return None
    try:
        part = read_model(reading.receipt, _Part)
    except DataError:
        return None
    status = reading.path.stat()
    found = (reading.path.name, status.st_size, status.st_mtime_ns, _fingerprint(reading.key))
    return part if found == (part.shard.name, part.shard.size, part.changed_ns, part.key) else None


def _read_shard(reading: _Reading) -> str:
    """Read one shard into its part; returns its name."""
    changed_ns = reading.path.stat().st_mtime_ns
    reading.receipt.unlink(missing_ok=True)
    (source,) = source_files([reading.path], known_hashes(reading.dump))
    reader = TableReader(reading.dump, reading.part.with_suffix(""), workdir_name="", aliases=reading.aliases)
    dropped: Counter[str] = Counter()
    values: set[str] = set()
    frames = gathered(reader.frames(RATINGS, _COLUMNS, only=reading.number), _ROWS_AT_ONCE)
    coded = (_coded(frame, reading.key, dropped, values) for frame in frames)
    write_parquet(reading.part, pl.concat([pl.DataFrame(schema=_PART_SCHEMA), *coded]), mode=0o600)
    part = _Part(
        source,
        changed_ns,
        _fingerprint(reading.key),
        reader.rows[RATINGS.title],
        reader.rejected[RATINGS.title],
        dict(sorted(dropped.items())),
        tuple(sorted(values)[:3]),
        tuple(reader.warnings),
    )
    write_json(reading.receipt, asdict(part), mode=0o600)
    return reading.path.name


def _coded(frame: pl.DataFrame, key: bytes, dropped: Counter[str], values: set[str]) -> pl.DataFrame:
    """Ratings as numbers, without empty ones; these are counted."""
    value = pl.col(_LEVEL)
    before_levels = pl.when(pl.col(_OLD_HELPFUL) == "1").then(2).when(pl.col(_OLD_NOT_HELPFUL) == "1").then(0)
    level = pl.when(value == "").then(before_levels).otherwise(value.replace_strict(_LEVELS, default=None))
    rows = frame.select(
        pl.col("noteId").alias("note"),
        pl.col(RATER),
        (pl.col("createdAtMillis") // 1000).alias("second"),
        level.cast(pl.Int8).alias("level"),
        (pl.col(_BUCKET) == "POPULATION_SAMPLED").alias("sampled"),
        value,
    )
    unknown = pl.col("level").is_null()
    values |= {name for name in rows.filter(unknown)[_LEVEL].unique().to_list() if _NAME.fullmatch(name)}
    faults = (
        (UNKNOWN_VALUE, unknown),
        (EARLY_CLOCK, pl.col("second") < FIRST_MS // 1000),
        (NO_RATER, pl.col(RATER) == ""),
    )
    for what, fault in faults:
        kept = rows.filter(~fault)
        if kept.height < rows.height:
            dropped[what] += rows.height - kept.height
        rows = kept
    return rows.select("note", hashed(rows[RATER], key).alias("rater"), "second", "level", "sampled")


def _together(readings: Sequence[_Reading], notes: NDArray[np.int64], say: Callable[[str], None]) -> DumpRatings:
    parts = [read_model(reading.receipt, _Part) for reading in readings]
    counts: Counter[str] = Counter()
    say("merging ratings")
    known = [np.unique(pl.read_parquet(reading.part, columns=["rater"])["rater"].to_numpy()) for reading in readings]
    raters = np.unique(np.concatenate(known))
    columns: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int8], NDArray[np.bool_]]] = []
    for reading in readings:
        rows = pl.read_parquet(reading.part)
        place = np.minimum(np.searchsorted(notes, rows["note"].to_numpy()), max(notes.size - 1, 0))
        found = notes[place] == rows["note"].to_numpy() if notes.size else np.zeros(rows.height, np.bool_)
        counts[UNKNOWN_NOTE] += int((~found).sum())
        rows, place = rows.filter(found), place[found]
        pair = place * raters.size + np.searchsorted(raters, rows["rater"].to_numpy())
        seconds = rows["second"].clip(upper_bound=2**31 - 1).cast(pl.Int32).to_numpy()
        columns.append((pair, seconds, rows["level"].to_numpy(), rows["sampled"].to_numpy()))
    pair, second, level, sampled = (np.concatenate(column) for column in zip(*columns, strict=True))
    del columns
    raters = raters[_renumbered(pair, second, level, raters.size)]
    kept = _one_a_pair(pair, second, level, sampled)
    counts[DUPLICATE] = pair.size - kept.size
    pair = pair[kept]
    for part in parts:
        counts.update({"rows of the ratings": part.rows, "unreadable lines of the ratings": part.rejected})
        counts.update(part.dropped)
    return DumpRatings(
        (pair // raters.size).astype(np.int32),
        (pair % raters.size).astype(np.int32),
        level[kept],
        second[kept],
        sampled[kept],
        raters,
        dict(sorted(counts.items())),
        [part.shard for part in parts],
        list(_warnings_of(parts, counts)),
    )


def _warnings_of(parts: Sequence[_Part], counts: Mapping[str, int]) -> Iterator[str]:
    """Warnings of the parts, and of each kind of ratings left out."""
    values = sorted({value for part in parts for value in part.values})
    yield from (warning for part in parts for warning in part.warnings)
    for what in (UNKNOWN_VALUE, EARLY_CLOCK, NO_RATER, UNKNOWN_NOTE, DUPLICATE):
        if counts[what]:
            examples = f" ({', '.join(values[:3])})" if what == UNKNOWN_VALUE and values else ""
            yield f"{counts[what]:,} {what}{examples} were left out."


def _renumbered(
    pair: NDArray[np.int64], second: NDArray[np.int32], level: NDArray[np.int8], raters: int
) -> NDArray[np.intp]:
    """Renumber the raters of `pair` in place by their ratings; returns the old numbers in the new order.

    A rater's mark is the sum of a mixed number (splitmix64) of each rating. In halves, the sums are exact in floats, so
    their order has no effect. Raters with equal marks gave the same ratings to the same notes in the same seconds.
    """
    marks = np.zeros((2, raters))
    pieces = [slice(start, start + _ROWS_AT_ONCE) for start in range(0, pair.size, _ROWS_AT_ONCE)]
    for piece in pieces:
        note, rater = np.divmod(pair[piece], raters)
        mixed = ((note * 3 + level[piece]) << 31 | second[piece]).astype(np.uint64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        for half, bits in enumerate((mixed & np.uint64(2**32 - 1), mixed >> np.uint64(32))):
            marks[half] += np.bincount(rater, bits, minlength=raters)
    order = np.lexsort(marks)
    number = np.argsort(order)
    for piece in pieces:
        note, rater = np.divmod(pair[piece], raters)
        pair[piece] = note * raters + number[rater]
    return order


def _one_a_pair(
    pair: NDArray[np.int64], second: NDArray[np.int32], level: NDArray[np.int8], sampled: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Indices of the ratings in order of their pairs; of several ratings of a pair, the latest."""
    order: NDArray[np.intp] = np.argsort(pair, kind="stable")
    same = pair[order[1:]] == pair[order[:-1]]
    if not same.any():
        return order
    twice = np.flatnonzero(np.concatenate([[False], same]) | np.concatenate([same, [False]]))
    mine = order[twice]
    order[twice] = mine[np.lexsort((sampled[mine], level[mine], second[mine], pair[mine]))]
    return np.asarray(order[~np.concatenate([same, [False]])])
