"""What ratings say of a quarter's notes, as `hellofresh collect ratings` writes it; absent, labels lack these facts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from collectors.notes.labels import LABELS
from hellofresh.core.errors import SourceError
from hellofresh.core.parquet import BadTableError, Table
from hellofresh.tasks.samples import Fact

MOST_ACCOUNTS = 64
"""Maximum number of accounts that are tried to change a status."""
VOTER_FACTS = (
    *("intercept", "intercept_low", "intercept_high", "voters", "smaller_camp", "flip_cost"),
    *("chance", "chance_error"),
)


@dataclass(frozen=True, slots=True)
class BridgedNote:
    """The ratings' results for a note; a row of `bridging/<quarter>.parquet`.

    Attributes:
        note, post: ids as text; the post is unknown if the note was deleted.
        writer: the id of the same writer's first note in the dump.
        machine, collaborative: whether the writer was admitted to the API for note writers; whether several wrote it.
        created: when, UTC.
        intercept, factor: of the fit; None with too few ratings of helpful raters.
        error, low, high: standard error and limits of the intercept over samples of raters.
        chance_helpful: the probability that another sample of raters would find the note helpful.
        chance, chance_error: the same for samples that give it a status, and the standard error of this probability.
        ratings: all ratings; `helpful`, `somewhat` and `not_helpful` are their kinds, `sampled` of raters whom X drew.
        counted: ratings of helpful raters, on which the intercept rests; `left` and `right` by their factor's sign.
        status: by the rules of the core model; None if most ratings are from outside its groups.
        flip_balanced, flip_own, flip_other: accounts that would change the status; None if 64 are not enough, or
            without an intercept or a status.
        current_status, locked_status, decided_by: as in X's tables.
    """

    note: str
    post: str | None
    writer: str
    machine: bool
    collaborative: bool
    created: str
    intercept: float | None
    factor: float | None
    error: float | None
    low: float | None
    high: float | None
    chance_helpful: float | None
    chance: float | None
    chance_error: float | None
    ratings: int
    helpful: int
    somewhat: int
    not_helpful: int
    sampled: int
    counted: int
    left: int
    right: int
    status: str | None
    flip_balanced: int | None
    flip_own: int | None
    flip_other: int | None
    current_status: str | None
    locked_status: str | None
    decided_by: str | None


BRIDGED_NOTES = Table(BridgedNote)


def read_bridging(path: Path) -> pl.DataFrame:
    """The notes of a table that have an intercept.

    Raises:
        SourceError: if the file cannot be read, or is not such a table.
    """
    try:
        return BRIDGED_NOTES.read(path).drop_nulls("intercept")
    except (BadTableError, pl.exceptions.PolarsError) as error:
        raise SourceError(
            f"the intercepts cannot be read ({error if isinstance(error, BadTableError) else type(error).__name__})",
            where=str(path),
            expected="what 'hellofresh collect ratings' wrote",
            fix=f"Write it again (hellofresh collect ratings --quarter {path.stem} --dump DIR), or remove it.",
            code="bad-scores",
        ) from None


def voter_facts(note: BridgedNote | None, label: int) -> dict[str, Fact]:
    """Facts on a label from a note's ratings; None if unknown.

    `flip_cost` is the fewest accounts of one profile that would take the label's status from the note: 0 if the core
    model's rules do not give it this status, 65 if 64 are not enough, None if they give no status at all.

    Args:
        note: with an intercept.
        label: 1 helpful, 0 not.
    """
    if note is None:
        return dict.fromkeys(VOTER_FACTS)
    flips = [note.flip_balanced, note.flip_own, note.flip_other]
    cost: int | None = min((each for each in flips if each is not None), default=MOST_ACCOUNTS + 1)
    if LABELS.get(note.status or "") != label:
        cost = None if note.status is None else 0
    camps = round(min(note.left, note.right) / max(note.left + note.right, 1), 4)
    numbers = (note.intercept, note.low, note.high, note.chance, note.chance_error)
    intercept, low, high, *chances = (None if value is None else round(value, 4) for value in numbers)
    return dict(zip(VOTER_FACTS, (intercept, low, high, note.counted, camps, cost, *chances), strict=True))
