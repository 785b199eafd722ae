"""Analysis of a dump's ratings of a quarter's notes: intercepts by X's core model.

All ratings of the dump are fitted together, since raters are characterised by all their ratings; the notes of one
quarter are written. Raters are numbers here and are never written; a writer is written as the id of the first note
of the same writer. Equal data give equal bytes, whatever the key of the hashes and the order of rows and shards.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collectors.notes.bridged import BRIDGED_NOTES, BridgedNote
from collectors.notes.dump_files import find_shards, source_files
from collectors.notes.labels import AI_STATES, AUTHOR, COLLABORATIVE, DAY_MS, DECIDED_BY, yes_or_no
from collectors.notes.snapshot import known_hashes
from collectors.notes.tables import (
    ENROLLMENT,
    HISTORY,
    NOTES,
    RATINGS,
    DumpTable,
    TableReader,
    WantedColumns,
    refuse_conflicts,
)
from collectors.notes.texts import is_foreign
from hellofresh.core.errors import SourceError
from hellofresh.core.executors import Pool
from hellofresh.core.files import write_json
from hellofresh.core.parquet import write_parquet
from hellofresh.core.quarters import FIRST_SNOWFLAKE, Quarter, first_snowflake, utc_text
from hellofresh.releases.candidates import SourceFile
from hellofresh.results.note_writers import writers_file
from hellofresh.stats.bridging import (
    Bridging,
    Notes,
    NoteStatus,
    Profile,
    Raters,
    Ratings,
    chance_helpful,
    chance_if_decided,
    fit_bridging,
    flip_costs,
    redraws,
    sampling,
    statuses,
)
from hellofresh_parts.voters.claimed import claimed_names, read_claimed
from hellofresh_parts.voters.ratings import DumpRatings, hashed, read_ratings
from hellofresh_parts.voters.rings import find_rings, intercepts_without
from hellofresh_parts.voters.writers import write_note_writers

CORE_GROUPS = (1.0, 2.0, 3.0, 6.0, 8.0, 9.0, 10.0, 11.0, 13.0, 14.0, 19.0, 21.0, 25.0)
"""Modelling groups of the core model's raters; raters without a row in the enrolment table are kept, too."""
TABLES = (NOTES, HISTORY, ENROLLMENT, RATINGS)
"""The tables read from a dump, the ratings last."""
LEVEL = 0.95
PUSHED = 8
"""A note is pushed if at least this many raters of rings call it helpful."""
_HELPFUL, _PERIOD_MS, _LEAN = 2, 30 * DAY_MS, 0.15
_VALID_MS = 2 * DAY_MS  # as X's scorer: ratings of a note's first 48 hours count, until it has a status
# Milliseconds from which ids of posts count, less than 0.
_EPOCH = first_snowflake(datetime(1970, 1, 1, tzinfo=UTC)) >> 22
_BUSY_DAYS, _BUSIEST = (7, 28), 0.999
_ON_TIME, _AHEAD_S = 0.999, 28 * DAY_MS // 1000
_STATUS_NAMES = {
    NoteStatus.HELPFUL: "CURRENTLY_RATED_HELPFUL",
    NoteStatus.NOT_HELPFUL: "CURRENTLY_RATED_NOT_HELPFUL",
    NoteStatus.NEEDS_MORE_RATINGS: "NEEDS_MORE_RATINGS",
}
_MISLEADING = "MISINFORMED_OR_POTENTIALLY_MISLEADING"
_MODEL = re.compile(r"[A-Za-z]{1,40}(?: \(v[0-9.]{1,8}\))?")
_LATEST, _FIRST = "timestampMillisOfLatestNonNMRStatus", "timestampMillisOfFirstNonNMRStatus"
_MEDIA, _SUMMARY = "isMediaNote", "summary"
_NOTE_COLUMNS = WantedColumns(
    ("noteId", "createdAtMillis"),
    ("tweetId",),
    texts=("classification",),
    extra=(AUTHOR, COLLABORATIVE, _MEDIA, _SUMMARY),
)
_HISTORY_COLUMNS = WantedColumns(
    ("noteId", "createdAtMillis"),
    (_LATEST,),
    texts=("currentStatus", "lockedStatus"),
    extra=(AUTHOR, DECIDED_BY, _FIRST),
)
_GROUP_COLUMNS = WantedColumns(texts=("participantId", "modelingGroup"), extra=("enrollmentState",))


@dataclass(frozen=True, slots=True)
class Agreeing:
    """Agreement of statuses by the rules with X's own.

    Attributes:
        by: the column of the groups, `month` or `decided_by`.
        name: the group.
        column: `current_status` or `locked_status`.
        notes: that have both statuses.
        same: notes with equal statuses.
    """

    by: str
    name: str
    column: str
    notes: int
    same: int


@dataclass(frozen=True, slots=True)
class RingFigures:
    """Raters who seem to push notes together (`hellofresh_parts.voters.rings`); figures only, without identities.

    Attributes:
        raters, pairs, looked_at: raters found, pairs of them, and raters active enough to be found.
        pushed: notes of the quarter that at least `PUSHED` of them call helpful.
        intercept, without: mean intercept of these notes, and without the ratings of those found; None without any.
    """

    raters: int
    pairs: int
    looked_at: int
    pushed: int
    intercept: float | None
    without: float | None


@dataclass(frozen=True, slots=True)
class BridgingReport:
    """Report of a fit and of the written tables.

    Attributes:
        quarter: whose notes were written.
        notes, fitted, helpful: rows written, those with an intercept, those that the rules call helpful.
        writers: rows of the table of writers.
        ratings, raters, helpful_raters: of the whole fit.
        mu: the global intercept.
        sweeps: of both rounds.
        counts: rows read and left out, by kind.
        agreement: with X's own statuses.
        rings: raters who seem to push notes together.
        settings: of the fit.
        sources: files read.
        warnings: sentences for readers.
    """

    quarter: str
    notes: int
    writers: int
    fitted: int
    helpful: int
    ratings: int
    raters: int
    helpful_raters: int
    mu: float
    sweeps: tuple[int, int]
    counts: Mapping[str, int]
    agreement: Sequence[Agreeing]
    rings: RingFigures
    settings: Mapping[str, float]
    sources: Sequence[SourceFile]
    warnings: Sequence[str]


def collect_bridging(
    dump: Path,
    quarter: Quarter,
    *,
    output: Path,
    folder: Path,
    key: bytes,
    pool: Pool | None = None,
    afresh: bool = False,
    claims: Path | None = None,
    aliases: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> BridgingReport:
    """Fit all ratings of a dump and write the results for a quarter's notes.

    Args:
        dump: its folder.
        quarter: whose notes are written, by their creation, UTC.
        output: the Parquet file; the report is written beside it, with the suffix `.json`.
        folder: private; where ratings are kept between runs.
        key: secret, of the hashes of participants.
        pool: where shards of ratings are read.
        afresh: read all shards again.
        claims: a folder of names that writers claim, see `hellofresh_parts.voters.claimed`.
        aliases: usual names of columns, by the names that this dump has.
        progress: called with a sentence now and then.

    Raises:
        DataError: if a claim is unreadable, or a note is claimed twice.
        SourceError: if a table, a shard or a column is missing, a file is broken, or there are too few ratings to fit.
    """
    say = progress or (lambda _: None)
    claimed = read_claimed(claims) if claims else {}
    reader = TableReader(dump, folder / "rejects", progress=say, workdir_name="", aliases=aliases or {})
    notes, groups, sources = _tables(reader, key, quarter)
    ids = notes["noteId"].to_numpy()
    ratings = read_ratings(dump, ids, folder=folder, key=key, pool=pool, afresh=afresh, aliases=aliases, progress=say)
    say(f"fitting {ratings.note.size:,} ratings of {ids.size:,} notes by {ratings.raters.size:,} raters")
    fit = _fit(dump, notes, groups, ratings)
    say("redrawing raters and counting accounts that would change a status")
    mine = _created_in(quarter, notes)
    written = BRIDGED_NOTES.frame(_rows(notes, mine, ratings, fit))
    write_parquet(output, written, mode=0o600)  # with labels of quarters that are not revealed
    say("comparing writers by raters who rated both")
    machines = notes.filter("machine")["writer"].unique().sort().to_numpy()
    named, left_out = claimed_names(claimed, notes, machines)
    file, of_writers = writers_file(output), _of_writers(notes)
    writers = write_note_writers(file, of_writers, mine, ratings, fit, machines=machines, claimed=named, folder=folder)
    report = BridgingReport(
        quarter=str(quarter),
        writers=writers,
        **_figures(written, ratings, fit),
        counts=dict(ratings.counts) | {f"rows of the {title}": count for title, count in sorted(reader.rows.items())},
        agreement=_agreement(written),
        rings=_rings(notes, mine, ratings, fit, _looked_up(ratings.raters, groups, "group", -1)),
        sources=sorted([*sources, *ratings.sources], key=lambda item: item.name),
        warnings=[*reader.warnings, *ratings.warnings, *_odd(notes, groups, ratings), *left_out],
    )
    write_json(output.with_suffix(".json"), asdict(report), mode=0o600)
    return report


def _created_in(quarter: Quarter, notes: pl.DataFrame) -> NDArray[np.int64]:
    (start, end), created = _milliseconds(quarter), notes["createdAtMillis"].to_numpy()
    return np.flatnonzero((created >= start) & (created < end))


def _tables(
    reader: TableReader, key: bytes, quarter: Quarter
) -> tuple[pl.DataFrame, pl.DataFrame, Sequence[SourceFile]]:
    """All notes with their writers, the groups of participants, and the files of both."""
    paths = [shard.path for table in TABLES[:-1] for shard in find_shards(reader.dump, table.stem, table.subfolder)]
    sources = source_files(paths, known_hashes(reader.dump))
    notes, groups = _notes(reader, key, quarter), _groups(reader, key)
    machine = _looked_up(notes[AUTHOR].to_numpy(), groups, "machine", False)
    return notes.with_columns(pl.col("noteId").min().over(AUTHOR).alias("writer"), machine=machine), groups, sources


def _fit(dump: Path, notes: pl.DataFrame, groups: pl.DataFrame, ratings: DumpRatings) -> Bridging:
    """The fit of all ratings; raises SourceError if there are too few."""
    if not ratings.note.size:
        raise SourceError("the dump has no ratings of its notes", where=str(dump), code="no-ratings")
    try:
        return fit_bridging(*_inputs(notes, groups, ratings))
    except ValueError as error:
        raise SourceError(
            f"too little to fit: {error}", where=str(dump), fix="Use the complete dump.", code="too-few-ratings"
        ) from error


def _figures(written: pl.DataFrame, ratings: DumpRatings, fit: Bridging) -> dict[str, Any]:
    """The report's fields on the fit and the rows written."""
    return {
        "notes": written.height,
        "fitted": int(written["intercept"].count()),
        "helpful": int((written["status"] == _STATUS_NAMES[NoteStatus.HELPFUL]).sum()),
        "ratings": ratings.note.size,
        "raters": ratings.raters.size,
        "helpful_raters": int(fit.helpful_rater.sum()),
        "mu": fit.second.mu,
        "sweeps": (fit.first.sweeps, fit.second.sweeps),
        "settings": asdict(fit.settings),
    }


def _table(table: DumpTable, frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """A table with one row for each note; exact repetitions are left out.

    Raises:
        SourceError: if two rows on a note differ, or as of `TableReader.frames`.
    """
    rows = pl.concat(frames).unique(maintain_order=True)
    refuse_conflicts(rows, table.title)
    return rows


def _notes(reader: TableReader, key: bytes, quarter: Quarter) -> pl.DataFrame:
    """All notes, also deleted ones, sorted by id; writers are keyed hashes; only texts of the quarter are read."""
    start, end = _milliseconds(quarter)

    def without_text(frame: pl.DataFrame) -> pl.DataFrame:
        """Replace a note's text by `foreign`: whether it is in a language other than English, if known."""
        mine = frame["createdAtMillis"].is_between(start, end, closed="left") & (frame[_SUMMARY] != "")
        foreign = [
            is_foreign(text, ("en",)) if read else None for text, read in zip(frame[_SUMMARY], mine, strict=True)
        ]
        return frame.with_columns(pl.Series("foreign", foreign, pl.Boolean)).drop(_SUMMARY)

    texts = chain([pl.DataFrame(schema=_NOTE_COLUMNS.schema)], reader.frames(NOTES, _NOTE_COLUMNS))
    notes = _table(NOTES, map(without_text, texts))
    empty = pl.DataFrame(schema=_HISTORY_COLUMNS.schema)
    history = _table(HISTORY, chain([empty], reader.frames(HISTORY, _HISTORY_COLUMNS)))
    both = history.join(notes, on="noteId", how="full", coalesce=True, suffix=" of the note").sort("noteId")
    writer = pl.coalesce(f"{AUTHOR} of the note", AUTHOR).fill_null("")
    both = both.with_columns(
        pl.coalesce("createdAtMillis of the note", "createdAtMillis").alias("createdAtMillis"), writer.alias(AUTHOR)
    )
    return both.with_columns(hashed(both[AUTHOR], key).alias(AUTHOR)).drop(pl.selectors.ends_with(" of the note"))


def _milliseconds(quarter: Quarter) -> tuple[int, int]:
    """From when on, and before when, notes are the quarter's."""
    return round(quarter.start.timestamp() * 1000), round(quarter.end.timestamp() * 1000)


def _groups(reader: TableReader, key: bytes) -> pl.DataFrame:
    """Participants as keyed hashes, sorted: their modelling `group` (-1 for none), whether it is of the core model and
    whether it is `odd` (not a number, but not empty); whether they write by the API."""
    rows = pl.concat([pl.DataFrame(schema=_GROUP_COLUMNS.schema), *reader.frames(ENROLLMENT, _GROUP_COLUMNS)])
    group = pl.col("modelingGroup").cast(pl.Float64, strict=False)
    return (
        rows.select(
            hashed(rows["participantId"], key).alias("participant"),
            group.is_in(CORE_GROUPS).fill_null(False).alias("core"),
            pl.col("enrollmentState").is_in(AI_STATES).alias("machine"),
            pl.when(group.is_between(0, 1000)).then(group).fill_null(-1).alias("group"),
            (group.is_nan() | group.is_null() & (pl.col("modelingGroup") != "")).alias("odd"),
        )
        .sort("participant", "core", "machine", "group")
        .unique("participant", keep="last", maintain_order=True)
    )


def _odd(notes: pl.DataFrame, groups: pl.DataFrame, ratings: DumpRatings) -> list[str]:
    """Warnings of impossible clocks and groups."""
    end = _end(ratings)
    found = {
        "ratings from a clock that runs ahead are": (ratings.second > end).sum(),
        "notes from a clock that runs ahead are": (notes["createdAtMillis"] // 1000 > end + _AHEAD_S).sum(),
    }
    said = [f"{count:,} {what} not used to date the dump's end." for what, count in found.items() if count]
    odd = groups["odd"].sum()
    return [*said, f"{odd:,} modelling groups that are not numbers, such as NaN, count as none."] if odd else said


def _of_writers(notes: pl.DataFrame) -> pl.DataFrame:
    """Notes with the columns that the table of writers counts."""
    first = pl.col(_FIRST).cast(pl.Int64, strict=False)
    created, post = pl.col("createdAtMillis"), pl.col("tweetId")
    hours = pl.when(first > 0).then((first - created) / (DAY_MS / 24))
    waited, known = (created - post // 2**22 + _EPOCH) / 60_000, post > 0
    return notes.select(
        *("tweetId", "currentStatus", "foreign", "writer"),
        minutes=pl.when((post >= FIRST_SNOWFLAKE) & (waited >= 0)).then(waited),
        alone=pl.when(known).then(pl.col("writer").n_unique().over("tweetId") == 1),
        first=pl.when(known).then(created == created.min().over("tweetId")),
        collaborative=yes_or_no(COLLABORATIVE).fill_null(False),
        hours=hours,
        media=yes_or_no(_MEDIA),
    )


def _looked_up(wanted: NDArray[np.uint64], groups: pl.DataFrame, column: str, default: float) -> NDArray[Any]:
    found = pl.DataFrame({"participant": wanted}).join(groups, on="participant", how="left", maintain_order="left")
    return found[column].fill_null(default).to_numpy()


def _inputs(notes: pl.DataFrame, groups: pl.DataFrame, ratings: DumpRatings) -> tuple[Ratings, Notes, Raters]:
    created = notes["createdAtMillis"].to_numpy() // 1000
    latest = notes.select(pl.col(_LATEST).fill_null(0)).to_series().to_numpy() // 1000
    decided = np.where(latest > 0, latest, np.iinfo(np.int64).max)
    early = np.minimum(created + _VALID_MS // 1000 + 1, decided)
    numbers = pl.DataFrame({AUTHOR: ratings.raters}).with_row_index("rater")
    writer = notes.join(numbers, on=AUTHOR, how="left", maintain_order="left")["rater"].cast(pl.Int32).fill_null(-1)
    statement = notes.select((pl.col("classification") == _MISLEADING).fill_null(False)).to_series()
    shown = notes.select((pl.col("currentStatus") == _STATUS_NAMES[NoteStatus.HELPFUL]).fill_null(False)).to_series()
    return (
        Ratings(ratings.note, ratings.rater, ratings.level, ratings.second < early[ratings.note]),
        Notes(writer.to_numpy(), statement.to_numpy(), shown.to_numpy()),
        Raters(_looked_up(ratings.raters, groups, "core", True), _busiest(ratings)),
    )


def _end(ratings: DumpRatings) -> int:
    """The newest second of a rating, ignoring outliers long after almost all others: their clocks are ahead."""
    most = int(np.quantile(ratings.second, _ON_TIME, method="lower")) + _AHEAD_S
    return int(ratings.second[ratings.second <= most].max())


def _busiest(ratings: DumpRatings) -> NDArray[np.bool_]:
    """The 0.1% of raters with most ratings in the last week of the dump, or its last four weeks."""
    found, end = np.zeros(ratings.raters.size, np.bool_), _end(ratings)
    for days in _BUSY_DAYS:
        recent = (ratings.second > end - days * DAY_MS // 1000) & (ratings.second <= end)
        count = np.bincount(ratings.rater[recent], minlength=found.size)
        found |= count > np.quantile(count[count > 0], _BUSIEST)
    return found


def _rows(
    notes: pl.DataFrame,
    mine: NDArray[np.intp],
    ratings: DumpRatings,
    fit: Bridging,
) -> list[BridgedNote]:
    """The quarter's notes, whose places are `mine`, by id."""
    from scipy.special import stdtrit

    created = notes["createdAtMillis"].to_numpy()
    redrawn = redraws(fit)
    found = sampling(fit, redrawn)
    half = stdtrit(np.maximum(found.freedom, 1), (1 + LEVEL) / 2) * found.error
    kinds = np.bincount(ratings.note.astype(np.int64) * 3 + ratings.level, minlength=3 * notes.height).reshape(-1, 3)
    status, (chance, chance_error) = statuses(fit), chance_if_decided(fit, redrawn)
    counted = [fit.tallies.count, fit.tallies.left, fit.tallies.right]
    sampled = np.bincount(ratings.note[ratings.sampled], minlength=notes.height)
    columns: dict[str, list[Any]] = {
        "note": [str(note) for note in notes["noteId"].gather(mine)],
        "post": [None if post is None or post <= 0 else str(post) for post in notes["tweetId"].gather(mine)],
        "writer": [str(writer) for writer in notes["writer"].gather(mine)],
        "machine": notes["machine"].gather(mine).to_list(),
        "collaborative": notes.select(yes_or_no(COLLABORATIVE).fill_null(False))[COLLABORATIVE].gather(mine).to_list(),
        "created": [utc_text(datetime.fromtimestamp(moment // 1000, UTC)) for moment in created[mine].tolist()],
        "intercept": _or_none(fit.intercept[mine]),
        "factor": _or_none(fit.factor[mine]),
        "error": _or_none(found.error[mine]),
        "low": _or_none((fit.intercept - half)[mine]),
        "high": _or_none((fit.intercept + half)[mine]),
        "chance_helpful": _or_none(chance_helpful(fit, redrawn)[mine]),
        "chance": _or_none(chance[mine]),
        "chance_error": _or_none(chance_error[mine]),
        "ratings": kinds.sum(axis=1)[mine].tolist(),
        "sampled": sampled[mine].tolist(),
        "status": [
            _STATUS_NAMES[NoteStatus(value)] if scored else None
            for value, scored in zip(status[mine], fit.scored[mine], strict=True)
        ],
    }
    for name, level in (("not_helpful", 0), ("somewhat", 1), ("helpful", 2)):
        columns[name] = kinds[mine, level].tolist()
    for name, tally in zip(("counted", "left", "right"), counted, strict=True):
        columns[name] = tally.sum(axis=1)[mine].astype(np.int64).tolist()
    for profile in Profile:
        columns[f"flip_{profile.name.lower()}"] = [cost or None for cost in flip_costs(fit, mine, profile).tolist()]
    for name, source, pattern in (
        ("current_status", "currentStatus", None),
        ("locked_status", "lockedStatus", None),
        ("decided_by", DECIDED_BY, _MODEL),
    ):
        columns[name] = [_name(value, pattern) for value in notes[source].gather(mine)]
    return [BridgedNote(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]


def _rings(
    notes: pl.DataFrame, mine: NDArray[np.intp], ratings: DumpRatings, fit: Bridging, group: NDArray[np.float64]
) -> RingFigures:
    """Rings among all raters, with modelling groups of shape (raters,), and their effects on the quarter's notes."""
    liked = (ratings.level == _HELPFUL) & fit.ratings.valid
    post = notes["tweetId"].fill_null(0).rank("dense").to_numpy().astype(np.int32) - 1
    period = np.zeros(int(post.max(initial=0)) + 1, np.int64)
    np.maximum.at(period, post, notes["createdAtMillis"].to_numpy() // _PERIOD_MS)
    lean = np.nan_to_num(fit.first.rater_factor)
    camp = (3 * group + np.where(np.abs(lean) < _LEAN, 0, np.sign(lean))).astype(np.int64)
    found = find_rings(post[ratings.note[liked]], ratings.rater[liked], period=period, camp=camp)
    theirs = np.bincount(ratings.note[(ratings.level == _HELPFUL) & found.rater[ratings.rater]], minlength=notes.height)
    without = intercepts_without(fit, found.rater)
    both = np.isfinite(fit.intercept) & np.isfinite(without)
    pushed = mine[(theirs >= PUSHED)[mine] & both[mine]]
    means = (round(float(side[pushed].mean()), 9) if pushed.size else None for side in (fit.intercept, without))
    return RingFigures(int(found.rater.sum()), found.pairs, found.looked_at, pushed.size, *means)


def _or_none(values: NDArray[np.float64]) -> list[float | None]:
    """Numbers to nine places, which hides the order of sums; None for nan."""
    return [None if isnan(value) else round(value, 9) for value in values.tolist()]


def _name(value: str | None, pattern: re.Pattern[str] | None) -> str | None:
    """A name from the dump; None unless it matches the pattern."""
    if value is None:
        return None
    known = value in _STATUS_NAMES.values() if pattern is None else pattern.fullmatch(value) is not None
    return value if known else None


def _agreement(written: pl.DataFrame) -> list[Agreeing]:
    """Agreement with X's own status, by month and by the deciding model."""
    found: list[Agreeing] = []
    for column in ("current_status", "locked_status"):
        both = written.filter(pl.col("status").is_not_null(), pl.col(column).is_not_null())
        for by, name in (("month", pl.col("created").str.head(7)), ("decided_by", pl.col("decided_by").fill_null("-"))):
            groups = both.group_by(name.alias("name")).agg(
                pl.len().alias("notes"), (pl.col("status") == pl.col(column)).sum().alias("same")
            )
            found += [
                Agreeing(by, row["name"], column, row["notes"], row["same"]) for row in groups.sort("name").to_dicts()
            ]
    return found
