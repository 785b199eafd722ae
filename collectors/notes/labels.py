"""The readers' decision on each note, from the status history.

A status locks at the first scoring run once the note is over 14 days old; before that it may change, so only a locked
status is a label. Dumps whose lock columns are empty can be labelled by the current status of notes old enough.
"""

from __future__ import annotations

import re
from enum import StrEnum

import polars as pl

from collectors.notes.tables import ENROLLMENT, TableReader, WantedColumns
from collectors.settings import LabelSource
from hellofresh.core.errors import SourceError

_STATUS_NAME = re.compile(r"[A-Z_]{1,60}")
DAY_MS = 86_400_000
LABELS = {"CURRENTLY_RATED_HELPFUL": 1, "CURRENTLY_RATED_NOT_HELPFUL": 0}
_UNDECIDED = "NEEDS_MORE_RATINGS"
DECIDED_BY = "currentDecidedBy"
_EXPIRED = "abovePcrhThresholdTime"
# When a note first had a decided status, or first met the criteria for helpful: X shows a preview from then
# on, locked or not. The last one is negative if it has expired, and -1 if it was cleared and the time is lost.
_SHOWN = (
    "timestampMillisOfFirstNonNMRStatus",
    "timestampMillisOfFirstNmrDueToMinStableCrhTime",
    "timestampMillisOfNmrDueToMinStableCrhTime",
    _EXPIRED,
)
_MODEL = r"^([A-Za-z0-9]{1,40}(?: \(v[0-9.]{1,8}\))?)$"
_EARLIEST_LOCK_MS = DAY_MS  # a status locks once its note is two weeks old; less than a day is impossible
_LEAST_MS = 10**12  # in 2001; smaller values are not times
AI_STATES = ("apiEarnedIn", "apiTestUser", "apiEarnedOut")
"""States in the enrolment table of programs that write by the API now, or did before; other states are people's."""
AUTHOR, COLLABORATIVE = "noteAuthorParticipantId", "isCollaborativeNote"
_TRUTH = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
_COLUMNS = WantedColumns(texts=("participantId", "enrollmentState"))


class NoteState(StrEnum):
    """The state of a note in its history."""

    DECIDED = "decided"
    NO_STATUS = "no-status"
    NOT_LOCKED = "not-locked"
    UNDECIDED = "needs-more-ratings"
    BAD_TIME = "bad-time"


def history_columns(source: LabelSource, *, pending: bool = False) -> WantedColumns:
    """The columns of the status history that the label source needs, plus those that identify undecided notes."""
    texts = tuple(dict.fromkeys((source.column, LabelSource.CURRENT.column))) if pending else (source.column,)
    return WantedColumns(
        ("noteId",), texts=texts, fillable=("timestampMillisOfStatusLock",), extra=(*_SHOWN, DECIDED_BY)
    )


def still_open(history: pl.DataFrame, states: pl.DataFrame) -> pl.DataFrame:
    """Notes that are not locked, never had a decided status, and never met the criteria for one; as `states`.

    Args:
        history: the columns of `history_columns` with those for pending notes, ids unique.
        states: the result of `settle`.
    """
    now = LabelSource.CURRENT.column
    undecided = history.filter(pl.col(now).fill_null("").is_in(["", _UNDECIDED])).select("noteId")
    early = states.filter((pl.col("state") == NoteState.NOT_LOCKED.value) & pl.col("shown_ms").is_null())
    return early.join(undecided, on="noteId", how="semi", maintain_order="left")


def _refuse_unknown(statuses: pl.Series) -> None:
    known = {"", _UNDECIDED, *LABELS}
    unknown = sorted(set(statuses.drop_nulls().unique()) - known)
    if unknown:
        plain = [status for status in unknown if _STATUS_NAME.fullmatch(status)]
        raise SourceError(
            f"unknown status {plain[0] if plain else '(not shown: it is not a name of a status)'}",
            where=f"note status history, column {statuses.name}",
            expected=f"one of {', '.join(sorted(known - {''}))}, or nothing",
            code="unknown-status",
            fix="If the source has introduced a status, the collector needs an update.",
        )


def settle(
    notes: pl.DataFrame,
    history: pl.DataFrame,
    source: LabelSource,
    youngest_ms: int,
    *,
    latest_lock_ms: int | None = None,
) -> pl.DataFrame:
    """The notes with `state` (a NoteState), `label` (1, 0), `locked_ms`, `shown_ms`, `decided_by`; null if not known.

    `shown_ms` is when the note first had a decided status, or first met the criteria for helpful.
    `decided_by` is the model that decided its present status.

    Args:
        notes: `noteId` and `createdAtMillis`, ids unique.
        history: the columns of `history_columns`, ids unique.
        source: which status is the label.
        youngest_ms: with current statuses, notes created after this time (ms) count as not locked.
        latest_lock_ms: with locked statuses, later locks cannot be, and none within `_EARLIEST_LOCK_MS` of the note.

    Raises:
        SourceError: for an unknown status.
    """
    joined = notes.join(
        history.with_columns(pl.lit(True).alias("has_status")), on="noteId", how="left", maintain_order="left"
    )
    status = pl.col(source.column)
    _refuse_unknown(joined[source.column])
    early = (status == "") if source is LabelSource.LOCKED else (pl.col("createdAtMillis") > youngest_ms)
    locked_ms = pl.col("timestampMillisOfStatusLock").cast(pl.Int64, strict=False)
    wrong = pl.lit(False)
    if source is LabelSource.LOCKED and latest_lock_ms is not None:
        wrong = (locked_ms >= 0) & ~locked_ms.is_between(pl.col("createdAtMillis") + _EARLIEST_LOCK_MS, latest_lock_ms)
    state = (
        pl.when(pl.col("has_status").is_null())
        .then(pl.lit(NoteState.NO_STATUS.value))
        .when(early)
        .then(pl.lit(NoteState.NOT_LOCKED.value))
        .when(status.is_in(["", _UNDECIDED]))
        .then(pl.lit(NoteState.UNDECIDED.value))
        .when(wrong)
        .then(pl.lit(NoteState.BAD_TIME.value))
        .otherwise(pl.lit(NoteState.DECIDED.value))
    )
    label = status.replace_strict(LABELS, default=None, return_dtype=pl.Int64)
    times = [pl.col(name).cast(pl.Int64, strict=False) for name in _SHOWN[:-1]]
    times.append(pl.col(_EXPIRED).cast(pl.Int64, strict=False).abs())
    return joined.with_columns(
        state.alias("state"),
        label.alias("label"),
        locked_ms.alias("locked_ms"),
        pl.min_horizontal(pl.when(time >= _LEAST_MS).then(time) for time in times).alias("shown_ms"),
        pl.col(DECIDED_BY).str.extract(_MODEL).alias("decided_by"),
    ).drop("has_status", source.column, "timestampMillisOfStatusLock", *_SHOWN, DECIDED_BY)


def yes_or_no(column: str) -> pl.Expr:
    """A column of texts such as `1` or `True` as booleans; null if empty."""
    return pl.col(column).str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean)


def without_older_versions(states: pl.DataFrame) -> pl.DataFrame:
    """Keep one version of each collaborative note on a post: the last decided one, else the last."""
    decided = pl.col("state") == NoteState.DECIDED.value
    ids = pl.col("noteId").sort_by(decided, "createdAtMillis", "noteId")
    together = yes_or_no(COLLABORATIVE).fill_null(False)
    is_last = ids.last().over("tweetId", together) == pl.col("noteId")
    return states.filter(~together | pl.col("tweetId").is_null() | is_last)


def flag_writers(notes: pl.DataFrame, reader: TableReader, *, required: bool) -> pl.DataFrame:
    """The notes without their authors, with `ai_writer` and `collaborative`: true, false, or null if unknown.

    Args:
        notes: with the columns `AUTHOR` and `COLLABORATIVE`, empty where the dump has none.
        reader: of the dump.
        required: whether the flags decide which notes are kept.

    Raises:
        SourceError: if required, and the dump has no enrolment table or no authors.
    """
    known = reader.has(ENROLLMENT)
    named = pl.col(AUTHOR) != ""
    if required and not (known and notes.select(named.all()).item()):
        raise SourceError(
            "the dump does not say who is an AI writer",
            where=str(reader.dump),
            expected=f"{ENROLLMENT.stem}-00000.zip, and {AUTHOR} in every note",
            fix="Add the table, or leave --human-only out.",
            code="unknown-writers",
        )
    machines: set[str] = set()
    for frame in reader.frames(ENROLLMENT, _COLUMNS) if known else ():
        mine = pl.col("participantId").is_in(notes[AUTHOR].implode())
        machines.update(frame.filter(pl.col("enrollmentState").is_in(AI_STATES) & mine)["participantId"])
    of_machines = pl.col(AUTHOR).is_in(pl.Series(sorted(machines), dtype=pl.String).implode())
    by_machine = of_machines if known else pl.lit(None, pl.Boolean)
    return notes.with_columns(
        pl.when(named).then(by_machine).alias("ai_writer"),
        yes_or_no(COLLABORATIVE).alias("collaborative"),
    ).drop(AUTHOR, COLLABORATIVE)
