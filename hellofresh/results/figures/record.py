"""An analysis as its JSON file and the board's index tell it: what was asked, what to know, and how it is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from hellofresh.core.errors import DataError
from hellofresh.core.strict import Strict
from hellofresh.results.figures.charts import Figure

ORDER = (
    "ranking", "temporal-consistency", "search-gain", "placebo", "deployment", "precision-recall", "prompt-sensitivity",
    "contamination", "text-alone", "memory", "known-when", "votes", "intercepts", "difficulty", "robustness", "slices",
    "subgroups", "category-gains", "agreement", "calibration", "certainty", "silence", "parsing", "cost",
)  # fmt: skip
"""The analyses of this package as a reader wants them; those of other packages come after, by name."""
_Text = Annotated[str, Field(max_length=20_000)]


class AnalysisText(Strict):
    """What readers see of an analysis.

    Attributes:
        name: as on the command line and in file names.
        title, question, how_to_read, notes: for readers; notes may hold names that others chose.
        missing: why the figure is missing; empty where it is there.
        bundled: whether the quarter is of the bundled sample.
        systems: whom it is about.
        row_count: of the table.
        figure: how it is drawn from its points; None without a figure.
    """

    name: Annotated[str, Field(pattern="^[a-z][a-z0-9-]{0,60}$")]
    title: _Text
    question: _Text
    how_to_read: _Text
    notes: list[_Text]
    missing: _Text
    bundled: bool
    systems: list[_Text]
    row_count: Annotated[int, Field(ge=0)]
    figure: Figure | None


class AnalysisRecord(AnalysisText):
    """The whole of an analysis: `<name>.json`."""

    edition: str
    task: str
    columns: list[str]
    rows: list[dict[str, str | int | float | bool | None]]


class IndexedAnalysis(AnalysisText):
    """An analysis on the board, and the files that are there of it."""

    files: list[str]


class AnalysisIndex(Strict):
    """The analyses of one quarter and task on the board."""

    edition: str
    task: str
    analyses: list[IndexedAnalysis]


def read_record(path: Path) -> AnalysisRecord:
    """An analysis as it was written.

    Raises:
        DataError: if the file is missing or is of another shape (`bad-analysis`).
    """
    try:
        return AnalysisRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        first = error.errors(include_url=False)[0] if isinstance(error, ValidationError) else None
        where = ".".join(str(part) for part in first["loc"]) if first else "the file"
        raise DataError(
            f"{where}: {first['msg'].lower() if first else 'cannot be read'}",
            where=str(path),
            expected="an analysis as this version writes it",
            fix="Recompute the analyses: hellofresh analyse all",
            code="bad-analysis",
        ) from None
