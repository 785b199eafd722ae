"""Who wrote a note, as far as it matters: a person, or a machine, from the table of enrolled contributors.

A contributor whose state is one of `AI_STATES` is an AI note writer; a collaborative note was drafted by one and
improved by people.
"""

from __future__ import annotations

import polars as pl

from collectors.notes.dump.tables import ENROLLMENT, TableReader, WantedColumns
from hellofresh.core.errors import SourceError

__all__ = ["AI_STATES", "AUTHOR", "COLLABORATIVE", "flag_writers"]

AI_STATES = ("apiEarnedIn", "apiTestUser", "apiEarnedOut")
AUTHOR, COLLABORATIVE = "noteAuthorParticipantId", "isCollaborativeNote"
_COLUMNS = WantedColumns(texts=("participantId", "enrollmentState"))


def flag_writers(notes: pl.DataFrame, reader: TableReader, *, required: bool) -> pl.DataFrame:
    """The notes without their authors, with `ai_writer` and `collaborative`: true, false, or null for not known.

    Args:
        notes: with the columns `AUTHOR` and `COLLABORATIVE`, empty where the dump has none.
        reader: of the dump.
        required: the answer decides what is kept.

    Raises:
        SourceError: if it is required, and the dump has no enrollment or no authors.
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
    machines = _machines(notes[AUTHOR], reader) if known else pl.Series(dtype=pl.String)
    by_machine = pl.col(AUTHOR).is_in(machines.implode()) if known else pl.lit(None, pl.Boolean)
    return notes.with_columns(
        pl.when(named).then(by_machine).alias("ai_writer"),
        pl.when(pl.col(COLLABORATIVE) != "").then(pl.col(COLLABORATIVE) == "1").alias("collaborative"),
    ).drop(AUTHOR, COLLABORATIVE)


def _machines(authors: pl.Series, reader: TableReader) -> pl.Series:
    """Those of the authors who are AI writers."""
    found: set[str] = set()
    for frame in reader.frames(ENROLLMENT, _COLUMNS):
        mine = pl.col("participantId").is_in(authors.implode())
        found.update(frame.filter(pl.col("enrollmentState").is_in(AI_STATES) & mine)["participantId"])
    return pl.Series(sorted(found), dtype=pl.String)
