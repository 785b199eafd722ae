"""Schemas of the board's tables, one type of rows per table, for writers and readers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hellofresh.core.data_sets import DatasetFacts
from hellofresh.core.folders import FileEntry
from hellofresh.core.parquet import Table
from hellofresh.core.plugins import plugins, refuse_taken
from hellofresh.results.board import release_rows, sample_rows, system_rows
from hellofresh.results.card import CardRow
from hellofresh.results.over_quarters import OverQuartersRow
from hellofresh.results.split.tables import AnswerRow, CeilingRow, PeopleRow, ReceiptRow, Score
from hellofresh.results.standings import Pair, Standing

SPLIT_KEYS = dict.fromkeys(("edition", "task", "split"), str)
RELEASE_KEYS = dict.fromkeys(("edition", "task"), str)

SAMPLES = Table(sample_rows.SampleRow, SPLIT_KEYS)
TABLES: Mapping[str, Table[Any]] = {
    "scores": Table(Score, {"split": str}),
    "periods": Table(release_rows.PeriodBalance, RELEASE_KEYS),
    "funnels": Table(release_rows.FunnelStep, RELEASE_KEYS),
    "due_ids": Table(release_rows.DueId, SPLIT_KEYS),
    "quarters": Table(release_rows.Dates, SPLIT_KEYS),
    "standings": Table(Standing, SPLIT_KEYS),
    "pairs": Table(Pair, SPLIT_KEYS),
    "fixed": Table(OverQuartersRow, {"task": str, "split": str, "bundled": bool}),
    "systems": Table(system_rows.SystemFacts, SPLIT_KEYS),
    "participants": Table(system_rows.Participant, SPLIT_KEYS),
    "shares": Table(system_rows.AnswerShare, SPLIT_KEYS),
    "agreement": Table(system_rows.AgreementRow, SPLIT_KEYS),
    "receipts": Table(ReceiptRow, SPLIT_KEYS),
    "calibration": Table(system_rows.CalibrationRow, SPLIT_KEYS),
    "reliability": Table(system_rows.ReliabilityBin, SPLIT_KEYS),
    "mistakes": Table(system_rows.Mistakes, SPLIT_KEYS),
    "confusion": Table(system_rows.ConfusionCell, SPLIT_KEYS),
    "conduct": Table(system_rows.ConductRow, SPLIT_KEYS),
    "samples": SAMPLES,
    "answers": Table(AnswerRow, SPLIT_KEYS),
    "transcripts": Table(sample_rows.TranscriptStep, SPLIT_KEYS),
    "prompts": Table(sample_rows.PromptRow, SPLIT_KEYS),
    "questions": Table(sample_rows.QuestionRow, SPLIT_KEYS),
    "distributions": Table(release_rows.Distribution, SPLIT_KEYS),
    "dates": Table(release_rows.PeriodDates, SPLIT_KEYS),
    "labels": Table(release_rows.LabelCount, SPLIT_KEYS),
    "licenses": Table(release_rows.License, SPLIT_KEYS),
    "releases": Table(release_rows.ReleaseFacts, SPLIT_KEYS),
    "files": Table(FileEntry, SPLIT_KEYS),
    "sources": Table(release_rows.SourceRow, SPLIT_KEYS),
    "prospective": Table(release_rows.Prospect, SPLIT_KEYS),
    "datasets": Table(DatasetFacts, SPLIT_KEYS),
    "ratings": Table(system_rows.RatedRow, SPLIT_KEYS),
    "people": Table(PeopleRow, SPLIT_KEYS),
    "ceilings": Table(CeilingRow, SPLIT_KEYS),
    "card": Table(CardRow, SPLIT_KEYS),
    "judges": Table(system_rows.JudgeRow, SPLIT_KEYS),
    "responses": Table(sample_rows.RatedResponse, SPLIT_KEYS),
    "documents": Table(sample_rows.ShownDocument, SPLIT_KEYS),
}
"""This package's tables of the board, by the name of its file; each has rows of its own."""
BROUGHT = frozenset({"ceilings"})
"""Those that are empty unless another package brings their rows."""


@dataclass(frozen=True, slots=True)
class AddedTable:
    """A table of another package, named by an entry point of `hellofresh.tables`; absent, pages find no rows.

    Attributes:
        table: the type of its rows, which no other table has, with `SPLIT_KEYS` or `RELEASE_KEYS`.
        rows: makes the rows of a split (`hellofresh.results.split.open.BoardSplit`).
        files: names what rows depend on, besides releases, scores and runs, in a workspace and edition.
        of_labels: for `ceilings`, the rows of a panel without systems, which are published when labels are revealed.
    """

    table: Table[Any]
    rows: Callable[[Any], Iterable[object]]
    files: Callable[[Any, Any], Iterable[Path]] = lambda workspace, edition: ()
    of_labels: Callable[[Any], Iterable[object]] = lambda panel: ()


@cache
def added_tables() -> Mapping[str, AddedTable]:
    """The tables of other packages, loaded on use, since their modules import this one."""
    added: dict[str, AddedTable] = plugins("hellofresh.tables", of=AddedTable)
    for name in added:
        refuse_taken("table", name, TABLES.keys() - BROUGHT, "[a-z][a-z0-9_]*")
    return added


@cache
def all_tables() -> Mapping[str, Table[Any]]:
    """Every table of the board, by the name of its file."""
    return {**TABLES, **{name: one.table for name, one in added_tables().items() if name not in BROUGHT}}
