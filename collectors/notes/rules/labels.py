"""What the readers decided about each note, from the status history.

A status locks at the first scoring run once the note is over 14 days old; before that it drifts, so that only a locked
status is a label. Dumps whose lock columns are empty can be labelled by the current status of notes old enough.
"""

from __future__ import annotations

import re
from enum import StrEnum

import polars as pl

from collectors.notes.dump.tables import WantedColumns
from hellofresh.core.errors import SourceError

__all__ = ["DAY_MS", "LABELS", "LabelSource", "NoteState", "history_columns", "settle", "still_open"]

_STATUS_NAME = re.compile(r"[A-Z_]{1,60}")
DAY_MS = 86_400_000
LABELS = {"CURRENTLY_RATED_HELPFUL": 1, "CURRENTLY_RATED_NOT_HELPFUL": 0}
_UNDECIDED = "NEEDS_MORE_RATINGS"
_FIRST_SHOWN = "timestampMillisOfFirstNonNMRStatus"
"""When a note first had a status that says yes or no: everybody can see it from then on, locked or not."""


class LabelSource(StrEnum):
    """Which status is the label."""

    LOCKED = "locked"
    CURRENT = "current"

    @property
    def column(self) -> str:
        """The column of the status history."""
        return f"{self.value}Status"


class NoteState(StrEnum):
    """What the history says of a note."""

    DECIDED = "decided"
    NO_STATUS = "no-status"
    NOT_LOCKED = "not-locked"
    UNDECIDED = "needs-more-ratings"


def history_columns(source: LabelSource, *, pending: bool = False) -> WantedColumns:
    """The columns of the status history that the label source needs, and those that tell who is still undecided."""
    texts = tuple(dict.fromkeys((source.column, LabelSource.CURRENT.column))) if pending else (source.column,)
    return WantedColumns(("noteId",), texts=texts, fillable=("timestampMillisOfStatusLock",), extra=(_FIRST_SHOWN,))


def still_open(history: pl.DataFrame, states: pl.DataFrame) -> pl.DataFrame:
    """The notes that never had a status yet that says yes or no, and whose status is not locked; columns of `states`.

    Args:
        history: the columns of `history_columns` with those for pending notes, ids unique.
        states: what `settle` gave.
    """
    now = LabelSource.CURRENT.column
    undecided = history.filter(pl.col(now).fill_null("").is_in(["", _UNDECIDED])).select("noteId")
    early = states.filter((pl.col("state") == NoteState.NOT_LOCKED.value) & pl.col("shown_ms").is_null())
    return early.join(undecided, on="noteId", how="semi", maintain_order="left")


def settle(notes: pl.DataFrame, history: pl.DataFrame, source: LabelSource, youngest_ms: int) -> pl.DataFrame:
    """The notes with more columns: `state` (a NoteState), `label` (1, 0 or null), `locked_ms` and `shown_ms` (or null).

    `shown_ms` is when the note first had a status that says yes or no.

    Args:
        notes: `noteId` and `createdAtMillis`, ids unique.
        history: the columns of `history_columns`, ids unique.
        source: which status is the label.
        youngest_ms: with current statuses, notes created after this time (ms) count as not locked.

    Raises:
        SourceError: if a status is none of the three known ones.
    """
    joined = notes.join(
        history.with_columns(pl.lit(True).alias("has_status")), on="noteId", how="left", maintain_order="left"
    )
    status = pl.col(source.column)
    _refuse_unknown(joined, source.column)
    early = (status == "") if source is LabelSource.LOCKED else (pl.col("createdAtMillis") > youngest_ms)
    state = (
        pl.when(pl.col("has_status").is_null())
        .then(pl.lit(NoteState.NO_STATUS.value))
        .when(early)
        .then(pl.lit(NoteState.NOT_LOCKED.value))
        .when(status.is_in(["", _UNDECIDED]))
        .then(pl.lit(NoteState.UNDECIDED.value))
        .otherwise(pl.lit(NoteState.DECIDED.value))
    )
    label = status.replace_strict(LABELS, default=None, return_dtype=pl.Int64)
    locked_ms = pl.col("timestampMillisOfStatusLock").cast(pl.Int64, strict=False)
    shown = pl.col(_FIRST_SHOWN).cast(pl.Int64, strict=False)
    shown_ms = pl.when(shown > 0).then(shown)
    return joined.with_columns(
        state.alias("state"), label.alias("label"), locked_ms.alias("locked_ms"), shown_ms.alias("shown_ms")
    ).drop("has_status", source.column, "timestampMillisOfStatusLock", _FIRST_SHOWN)


def _refuse_unknown(joined: pl.DataFrame, column: str) -> None:
    known = {"", _UNDECIDED, *LABELS}
    unknown = sorted(set(joined[column].drop_nulls().unique()) - known)
    if unknown:
        plain = [status for status in unknown if _STATUS_NAME.fullmatch(status)]
        raise SourceError(
            f"unknown status {plain[0] if plain else '(not shown: it is no name of a status)'}",
            where=f"note status history, column {column}",
            expected=f"one of {', '.join(sorted(known - {''}))}, or nothing",
            code="unknown-status",
            fix="If the source has a new status, the collector has to learn it.",
        )
