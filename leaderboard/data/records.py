"""The board's further tables; their rows are those of `hellofresh.results.board.schema`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from hellofresh.core.errors import DataError
from hellofresh.core.parquet import Row
from hellofresh.results.board.read import BoardFiles
from hellofresh.results.board.schema import (
    TABLES,
    AgreementRow,
    AnswerShare,
    CalibrationRow,
    ConductRow,
    ConfusionCell,
    DatasetRow,
    Dates,
    Distribution,
    FoundDocument,
    JudgeRow,
    LabelCount,
    License,
    Mistakes,
    OverQuartersRow,
    Participant,
    PeriodDates,
    Prospect,
    RatedResponse,
    RatedRow,
    ReleaseFacts,
    ReleaseFile,
    ReliabilityBin,
    SampleRow,
    SourceRow,
    SystemFacts,
    TranscriptStep,
)
from hellofresh.results.standings import Pair, Standing
from hellofresh.results.tables import AnswerRow, ReceiptRow
from leaderboard.data.keeping import kept
from leaderboard.data.tables import ALL_PERIODS, PROSPECTIVE, SplitKey

__all__ = ["CHOSEN", "Days", "Records", "load_records"]

_LARGE = {"pairs", "samples", "answers", "transcripts", "responses", "documents"}
"""A row for each pair of systems, for each sample with its texts, for each answer: too many to keep in memory."""
CHOSEN = "chosen"
"""Where calibration is about the chosen class, whichever that is."""
_NAMES = {table.row: name for name, table in TABLES.items() if name not in ("scores", "periods", "funnels", "due_ids")}


@dataclass(frozen=True, slots=True)
class Days:
    """When a quarter opens, takes its last prediction, and is revealed."""

    opens: datetime
    deadline: datetime
    reveals: datetime


@dataclass(frozen=True, slots=True)
class Records:
    """The further tables of a board; the large ones stay in their files, of which each question reads its part."""

    _tables: Mapping[str, pl.DataFrame | pl.LazyFrame] = field(repr=False)
    known: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def days(self, split: SplitKey) -> Days | None:
        """The split's days, None where its release does not say."""
        dates = self._first(Dates, split)
        return Days(*map(datetime.fromisoformat, (dates.opens, dates.deadline, dates.reveals))) if dates else None

    @kept
    def standings(self, split: SplitKey) -> Mapping[str, Standing]:
        """By origin, in the order of ranks; empty where nobody is ranked."""
        found = self._rows(Standing, split)
        return {row.origin: row for row in sorted(found, key=lambda row: (row.rank, row.origin))}

    def pairs(self, split: SplitKey, one: str, two: str) -> list[Pair]:
        """The two systems' comparison, the whole quarter first, then by period; empty where there is none."""
        both = [one, two]
        found = self._rows(Pair, split, pl.col("one").is_in(both), pl.col("two").is_in(both))
        ordered = sorted(found, key=lambda pair: (pair.period != ALL_PERIODS, pair.period))
        return [pair if pair.one == one else pair.turned() for pair in ordered]

    @kept
    def against(self, split: SplitKey, origin: str) -> Mapping[str, Pair]:
        """One system compared with each of the others over the whole quarter, by the other's origin."""
        mine = (pl.col("one") == origin) | (pl.col("two") == origin)
        found = self._rows(Pair, split, pl.col("period") == ALL_PERIODS, mine)
        return {pair.two: pair for pair in (pair if pair.one == origin else pair.turned() for pair in found)}

    def fixed(self, task: str, *, bundled: bool) -> list[OverQuartersRow]:
        """Systems over all quarters, the best first; those without a score last."""
        rows = self._tables["fixed"].lazy().filter(pl.col("task") == task, pl.col("bundled") == bundled).collect()
        return TABLES["fixed"].rows(rows)

    @kept
    def systems(self, split: SplitKey) -> Mapping[str, SystemFacts]:
        """What is known of each entry, by origin."""
        return {row.origin: row for row in self._rows(SystemFacts, split)}

    @kept
    def ratings(self, split: SplitKey) -> list[RatedRow]:
        """Where systems stand by criterion and part; empty where no responses were rated."""
        return self._rows(RatedRow, split)

    def judges(self, split: SplitKey) -> list[JudgeRow]:
        """How far each judge agrees with people, by criterion."""
        return self._rows(JudgeRow, split)

    def responses(self, split: SplitKey, systems: Sequence[str]) -> list[RatedResponse]:
        """The responses of these systems, in the order of samples."""
        return self._rows(RatedResponse, split, pl.col("system").is_in(list(systems)))

    def documents(self, split: SplitKey, ids: Sequence[str]) -> Mapping[str, FoundDocument]:
        """The texts of these documents, as far as they may be shown, by id."""
        return {row.id: row for row in self._rows(FoundDocument, split, pl.col("id").is_in(list(ids)))}

    def participants(self, split: SplitKey) -> list[Participant]:
        """Who takes part in a split whose labels are not revealed; empty for others."""
        return self._rows(Participant, split)

    def shares(self, split: SplitKey) -> list[AnswerShare]:
        """Their answers by prompt, the headline first."""
        return self._rows(AnswerShare, split)

    def agreements(self, split: SplitKey) -> list[AgreementRow]:
        """How often each two of them said the same."""
        return self._rows(AgreementRow, split)

    def receipt(self, split: SplitKey, origin: str) -> ReceiptRow | None:
        """The receipt of a submission, None for runs."""
        return self._first(ReceiptRow, split, pl.col("origin") == origin)

    def mistakes(self, split: SplitKey, origin: str) -> Mistakes | None:
        """Where an entry was wrong, None before the reveal."""
        return self._first(Mistakes, split, pl.col("origin") == origin)

    def confusion(self, split: SplitKey, origin: str) -> list[ConfusionCell]:
        """What an entry said, by the class that samples have; empty before the reveal."""
        return self._rows(ConfusionCell, split, pl.col("origin") == origin)

    def conduct(self, split: SplitKey, origin: str) -> list[ConductRow]:
        """What an entry did that it should not; empty before the reveal."""
        return self._rows(ConductRow, split, pl.col("origin") == origin)

    def reasons(self, split: SplitKey, origin: str, most: int = 5) -> list[AnswerRow]:
        """The first of an entry's answers that come with a text, a ranking, a rationale or sources."""
        said = (pl.col("rationale") != "") | (pl.col("sources").list.len() > 0)
        more = pl.col("text").is_not_null() | pl.col("documents").is_not_null()
        found = self._rows(AnswerRow, split, pl.col("origin") == origin, said | more)
        return sorted(found, key=lambda row: (row.id, not row.headline, row.prompt))[:most]

    def calibrations(self, split: SplitKey, origin: str) -> list[CalibrationRow]:
        """How true an entry's probabilities are, by prompt, the headline first; empty where it states none."""
        found = self._rows(CalibrationRow, split, pl.col("origin") == origin)
        return sorted(found, key=lambda row: (not row.headline, row.prompt, row.subject != CHOSEN, row.subject))

    def bins(self, split: SplitKey, calibrated: CalibrationRow) -> list[ReliabilityBin]:
        """The reliability curve of one of them, from low to high."""
        mine = (pl.col(name) == getattr(calibrated, name) for name in ("origin", "prompt", "subject"))
        return sorted(self._rows(ReliabilityBin, split, *mine), key=lambda step: step.number)

    def prospect(self, split: SplitKey) -> Prospect | None:
        """What became of the quarter's prospective samples, None where it has none."""
        return self._first(Prospect, split._replace(kind=PROSPECTIVE))

    def distributions(self, split: SplitKey) -> list[Distribution]:
        """Lengths and, for revealed quarters, facts of the label side; all samples first, then by class."""
        return self._rows(Distribution, split)

    def periods(self, split: SplitKey) -> list[PeriodDates]:
        """The days of each period's samples, in order."""
        return sorted(self._rows(PeriodDates, split), key=lambda row: row.period)

    def labels(self, split: SplitKey) -> list[LabelCount]:
        """Samples by label, in the order of labels; empty before the reveal."""
        return sorted(self._rows(LabelCount, split), key=lambda row: row.label)

    def licenses(self, split: SplitKey) -> list[License]:
        """Samples by licence, the most frequent first."""
        return self._rows(License, split)

    def release(self, split: SplitKey) -> ReleaseFacts | None:
        """What its manifest says of the release as a whole, None where the board does not know."""
        return self._first(ReleaseFacts, split)

    def dataset(self, split: SplitKey) -> DatasetRow | None:
        """Where a frozen edition is from, None for a quarter."""
        return self._first(DatasetRow, split)

    def files(self, split: SplitKey) -> list[ReleaseFile]:
        """The released files, as in the manifest."""
        return self._rows(ReleaseFile, split)

    def sources(self, split: SplitKey) -> list[SourceRow]:
        """The files that the release was made from."""
        return self._rows(SourceRow, split)

    def samples(self, split: SplitKey) -> pl.DataFrame:
        """All samples of a split with the columns of `SampleRow`, by period and id."""
        return self._frame(SampleRow, split).sort("period", "id")

    def sample(self, split: SplitKey, sample: str) -> SampleRow | None:
        """One sample, None if the split has no such."""
        return self._first(SampleRow, split, pl.col("id") == sample)

    def answers(self, split: SplitKey, *, sample: str = "", origins: Sequence[str] = ()) -> pl.DataFrame:
        """Answers with the columns of `AnswerRow`, to one sample or by some systems."""
        wanted = [pl.col("id") == sample] if sample else []
        wanted += [pl.col("origin").is_in(list(origins))] if origins else []
        return self._frame(AnswerRow, split, *wanted)

    def transcripts(self, split: SplitKey, sample: str) -> list[TranscriptStep]:
        """What happened on the way to each answer to a sample, by system in order."""
        found = self._rows(TranscriptStep, split, pl.col("id") == sample)
        return sorted(found, key=lambda step: (step.origin, step.place))

    def _rows(self, row: type[Row], split: SplitKey, *wanted: pl.Expr) -> list[Row]:
        """The split's rows that fit, of the table of such rows."""
        return TABLES[_NAMES[row]].rows(self._frame(row, split, *wanted))

    def _first(self, row: type[Row], split: SplitKey, *wanted: pl.Expr) -> Row | None:
        return next(iter(self._rows(row, split, *wanted)), None)

    def _frame(self, row: type, split: SplitKey, *wanted: pl.Expr) -> pl.DataFrame:
        mine = (pl.col(key) == value for key, value in zip(("edition", "task", "split"), split, strict=True))
        rows = self._tables[_NAMES[row]].lazy().filter(*mine, *wanted)
        try:
            return rows.collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DataError(
                "its files were replaced just now", fix="Reload this page.", code="damaged-board"
            ) from error


def load_records(folder: Path) -> Records:
    """Read the further tables of a board.

    Raises:
        DataError: as `leaderboard.data.tables.load_board`.
    """
    files = BoardFiles.at(folder)
    return Records({name: files.scan(name) if name in _LARGE else files.read(name) for name in _NAMES.values()})
