"""What an analysis is: a question, and what it makes of a panel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from hellofresh.results.figures.charts import Figure, Mark
from hellofresh.results.panel import Panel

__all__ = ["Analysis", "AnalysisResult", "Cell", "Row", "missing", "table_of"]

Cell = str | int | float | bool | None
Row = Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """What came out.

    Attributes:
        table: a row a finding; without rows where the data do not allow any.
        figure: how it is drawn; None where there is nothing to draw.
        marks: what the figure shows, of all systems.
        notes: sentences that a reader of the figure should know.
        missing: why there is no figure, a sentence; empty where there is one.
    """

    table: pl.DataFrame
    figure: Figure | None = None
    notes: Sequence[str] = ()
    missing: str = ""
    marks: Sequence[Mark] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """One question.

    Attributes:
        name: as on the command line and in file names.
        title: a few words.
        question: one sentence with a question mark.
        how_to_read: what the figure shows and what may be concluded; `{metric}` stands for the task's headline.
        run: answers it from a panel.
        version: raised whenever the same panel would give another table or figure.
    """

    name: str
    title: str
    question: str
    how_to_read: str
    run: Callable[[Panel], AnalysisResult]
    version: int = 1


def missing(why: str, notes: Sequence[str] = ()) -> AnalysisResult:
    """A result that says why there is none."""
    return AnalysisResult(pl.DataFrame(), None, notes, why)


def table_of(rows: Sequence[Row]) -> pl.DataFrame:
    """Rows as a table; a column that is nowhere filled is of text."""
    table = pl.DataFrame(list(rows), infer_schema_length=None)
    return table.with_columns(pl.col(pl.Null).cast(pl.String))
