"""The board's further tables, read and checked like the scores; their rows are those of `hellofresh.board.schema`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from hellofresh.board.manifest import read_board_manifest
from hellofresh.board.schema import (
    TABLES,
    AgreementRow,
    AnswerRow,
    AnswerShares,
    CalibrationRow,
    Distribution,
    License,
    Mistakes,
    OverQuartersRow,
    Pair,
    Participant,
    PeriodDates,
    Prospect,
    ReceiptRow,
    ReleaseFacts,
    ReleaseFile,
    ReliabilityBin,
    SampleRow,
    SourceRow,
    Standing,
    SystemFacts,
    TranscriptStep,
)
from hellofresh.errors import DataError
from leaderboard.data.keeping import kept
from leaderboard.data.tables import PROSPECTIVE, SplitKey, read_table, scan_table

__all__ = [
    "AgreementRow",
    "AnswerRow",
    "AnswerShares",
    "CalibrationRow",
    "Days",
    "Distribution",
    "License",
    "Mistakes",
    "OverQuartersRow",
    "Pair",
    "Participant",
    "PeriodDates",
    "Prospect",
    "ReceiptRow",
    "Records",
    "ReleaseFacts",
    "ReleaseFile",
    "ReliabilityBin",
    "SampleRow",
    "SourceRow",
    "Standing",
    "SystemFacts",
    "TranscriptStep",
    "load_records",
]


_LARGE = {"pairs", "samples", "answers", "transcripts"}
"""A row for each pair of systems, for each sample with its texts, for each answer: too many to keep in memory."""


@dataclass(frozen=True, slots=True)
class Days:
    """When a quarter opens, takes its last prediction, and is revealed."""

    opens: datetime
    deadline: datetime
    reveals: datetime


_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class Records:
    """The further tables of a board; the large ones stay in their files, of which each question reads its part."""

    _tables: Mapping[str, pl.DataFrame | pl.LazyFrame] = field(repr=False)
    known: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def days(self, split: SplitKey) -> Days | None:
        """The split's days, None where its release does not say."""
        rows = self._of("quarters", split).select("opens", "deadline", "reveals").rows()
        return Days(*(datetime.fromisoformat(text) for text in rows[0])) if rows else None

    @kept
    def standings(self, split: SplitKey) -> Mapping[str, Standing]:
        """By origin, in the order of ranks; empty where nobody is ranked."""
        return {row.origin: row for row in _rows(Standing, self._of("standings", split).sort("rank", "origin"))}

    def pairs(self, split: SplitKey, one: str, two: str) -> list[Pair]:
        """The two systems' comparison, the whole quarter first, then by period; empty where there is none."""
        both = [one, two]
        wanted = self._of("pairs", split, pl.col("one").is_in(both), pl.col("two").is_in(both))
        found = _rows(Pair, wanted.sort(pl.col("period") != "all", "period"))
        return [pair if pair.one == one else pair.turned() for pair in found]

    def fixed(self, task: str, *, bundled: bool) -> list[OverQuartersRow]:
        """Systems over all quarters, the best first; those without a score last."""
        rows = self._tables["fixed"].lazy().filter(pl.col("task") == task, pl.col("bundled") == bundled).collect()
        return _rows(OverQuartersRow, rows)

    @kept
    def systems(self, split: SplitKey) -> Mapping[str, SystemFacts]:
        """What is known of each entry, by origin."""
        return {row.origin: row for row in _rows(SystemFacts, self._of("systems", split))}

    def participants(self, split: SplitKey) -> list[Participant]:
        """Who takes part in a split whose labels are not revealed; empty for others."""
        return _rows(Participant, self._of("participants", split))

    def shares(self, split: SplitKey) -> list[AnswerShares]:
        """Their answers by prompt, the headline first."""
        return _rows(AnswerShares, self._of("shares", split))

    def agreements(self, split: SplitKey) -> list[AgreementRow]:
        """How often each two of them said the same."""
        return _rows(AgreementRow, self._of("agreement", split))

    def receipt(self, split: SplitKey, origin: str) -> ReceiptRow | None:
        """The receipt of a submission, None for runs."""
        return self._first(ReceiptRow, self._by(split, "receipts", origin))

    def mistakes(self, split: SplitKey, origin: str) -> Mistakes | None:
        """Where an entry was wrong, None before the reveal."""
        return self._first(Mistakes, self._by(split, "mistakes", origin))

    def calibrations(self, split: SplitKey, origin: str) -> list[CalibrationRow]:
        """How true an entry's probabilities are, by prompt, the headline first; empty where it states none."""
        rows = self._by(split, "calibration", origin)
        return _rows(CalibrationRow, rows.sort("headline", "prompt", descending=[True, False]))

    def bins(self, split: SplitKey, calibrated: CalibrationRow) -> list[ReliabilityBin]:
        """The reliability curve of one of them, from low to high."""
        rows = self._by(split, "reliability", calibrated.origin).filter(pl.col("prompt") == calibrated.prompt)
        return _rows(ReliabilityBin, rows.sort("number"))

    def prospect(self, split: SplitKey) -> Prospect | None:
        """What became of the quarter's prospective samples, None where it has none."""
        return self._first(Prospect, self._of("prospective", split._replace(kind=PROSPECTIVE)))

    def distributions(self, split: SplitKey) -> list[Distribution]:
        """Lengths and, for revealed quarters, facts of the label side; all samples first, then by class."""
        return _rows(Distribution, self._of("distributions", split))

    def periods(self, split: SplitKey) -> list[PeriodDates]:
        """The days of each period's samples, in order."""
        return _rows(PeriodDates, self._of("dates", split).sort("period"))

    def licenses(self, split: SplitKey) -> list[License]:
        """Samples by licence, the most frequent first."""
        return _rows(License, self._of("licenses", split))

    def release(self, split: SplitKey) -> ReleaseFacts | None:
        """What its manifest says of the release as a whole, None where the board does not know."""
        return self._first(ReleaseFacts, self._of("releases", split))

    def files(self, split: SplitKey) -> list[ReleaseFile]:
        """The released files, as in the manifest."""
        return _rows(ReleaseFile, self._of("files", split))

    def sources(self, split: SplitKey) -> list[SourceRow]:
        """The files that the release was made from."""
        return _rows(SourceRow, self._of("sources", split))

    def samples(self, split: SplitKey) -> pl.DataFrame:
        """All samples of a split with the columns of `SampleRow`, by period and id."""
        return self._of("samples", split, columns=_names(SampleRow)).sort("period", "id")

    def sample(self, split: SplitKey, sample: str) -> SampleRow | None:
        """One sample, None if the split has no such."""
        return self._first(SampleRow, self._of("samples", split, pl.col("id") == sample))

    def answers(self, split: SplitKey, *, sample: str = "", origins: Sequence[str] = ()) -> pl.DataFrame:
        """Answers with the columns of `AnswerRow`, to one sample or by some systems."""
        wanted = [pl.col("id") == sample] if sample else []
        wanted += [pl.col("origin").is_in(list(origins))] if origins else []
        return self._of("answers", split, *wanted, columns=_names(AnswerRow))

    def transcripts(self, split: SplitKey, sample: str) -> list[TranscriptStep]:
        """What happened on the way to each answer to a sample, by system in order."""
        return _rows(TranscriptStep, self._of("transcripts", split, pl.col("id") == sample).sort("origin", "place"))

    def _of(self, name: str, split: SplitKey, *wanted: pl.Expr, columns: Sequence[str] = ()) -> pl.DataFrame:
        """The split's rows that fit."""
        mine = (pl.col(key) == value for key, value in zip(("edition", "task", "split"), split, strict=True))
        rows = self._tables[name].lazy().filter(*mine, *wanted)
        try:
            return (rows.select(columns) if columns else rows).collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise _gone() from error

    def _by(self, split: SplitKey, name: str, origin: str) -> pl.DataFrame:
        return self._of(name, split, pl.col("origin") == origin)

    @staticmethod
    def _first(kind: type[_Row], table: pl.DataFrame) -> _Row | None:
        return next(iter(_rows(kind, table.head(1))), None)


def _gone() -> DataError:
    return DataError("its files were replaced just now", fix="Reload this page.", code="damaged-board")


def _names(kind: type) -> list[str]:
    return [item.name for item in fields(kind)]


def _rows(kind: type[_Row], table: pl.DataFrame) -> list[_Row]:
    names = _names(kind)
    values: list[dict[str, Any]] = table.select(names).to_dicts()
    return [kind(**row) for row in values]


def load_records(folder: Path) -> Records:
    """Read the further tables of a board.

    Raises:
        DataError: as `leaderboard.data.tables.load_board`.
    """
    stated = read_board_manifest(folder).hashes
    return Records(
        {
            name: (scan_table if name in _LARGE else read_table)(folder / f"{name}.parquet", stated, table)
            for name, table in TABLES.items()
        }
    )
