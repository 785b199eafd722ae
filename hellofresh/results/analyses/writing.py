"""An analysis' files: `analyses/<quarter>/<task>/<name>.{parquet,csv,json,svg,png}` and `<name>.points.parquet`.

The JSON file is an `AnalysisRecord`: what was asked, how to read it, notes, the table's rows, how the figure is drawn,
and, where there is none, why. Points are the figure's marks, of all systems. A table without rows has no file, nor has
a figure that could not be made. Analyses of chosen systems only go into the folder `selected`
beside these, so that they are not taken for those of all.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import polars as pl

from hellofresh.core.files import remove_file, write_bytes, write_json
from hellofresh.core.stages import Stage, input_key
from hellofresh.core.workspace import Workspace
from hellofresh.results.analyses.base import Analysis, AnalysisResult, Cell
from hellofresh.results.figures.charts import marks_of, points_of
from hellofresh.results.figures.image import render
from hellofresh.results.figures.record import AnalysisRecord, read_record
from hellofresh.results.panel import Panel

_ENDINGS = ("parquet", "csv", "points.parquet", "svg", "png")
_DRAWING = 3
"""Raised whenever the same marks would give another figure."""


@dataclass(frozen=True, slots=True)
class WrittenAnalysis:
    """An analysis that is in the workspace.

    Attributes:
        name, title: of the analysis.
        folder: where its files are.
        rows: of its table.
        missing: why there is no figure; empty where there is one.
        skipped: whether it was there already.
        problem: what went wrong, where a failure was to be survived; nothing of it is in the workspace then.
    """

    name: str
    title: str
    folder: Path
    rows: int
    missing: str
    skipped: bool
    problem: str = ""


def make_analyses(
    workspace: Workspace,
    panel: Panel,
    analyses: Sequence[Analysis[Panel]],
    *,
    systems: Sequence[str] = (),
    png: bool = True,
    survive: bool = False,
) -> list[WrittenAnalysis]:
    """Make analyses of a panel and write them; those that would come out as they are there are skipped.

    Args:
        workspace: where to.
        panel: what they are made from.
        analyses: which.
        systems: only these; all if empty.
        png: whether figures are wanted as PNG too; those that are there and still right stay anyway.
        survive: whether an analysis that fails is described in its `WrittenAnalysis` instead of ending the others.

    Raises:
        UnknownNameError: if a system is not known.
    """
    folder = workspace.analyses(panel.edition, panel.task.name, private=panel.private)
    if systems:
        panel, folder = panel.only(systems), folder / "selected"
    maker = _Maker(workspace, panel, folder, panel.sha256, png)
    made = []
    for analysis in analyses:
        try:
            made.append(maker.make(analysis))
        except Exception as error:
            if not survive:
                raise
            made.append(maker.failed(analysis, error))
    return made


def files_of(folder: Path, name: str) -> list[Path]:
    """The files that an analysis has in a folder, its JSON first."""
    return [path for ending in ("json", *_ENDINGS) if (path := folder / f"{name}.{ending}").is_file()]


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes analyses of one panel in one folder; `key` is the panel's hash."""

    workspace: Workspace
    panel: Panel
    folder: Path
    key: str
    png: bool

    @property
    def mode(self) -> int:
        """Who may read the files: their owner alone, where they follow from labels that are not public."""
        return 0o600 if self.panel.private else 0o644

    def make(self, analysis: Analysis[Panel]) -> WrittenAnalysis:
        inputs = [analysis.name, analysis.version, self.key, version("vl-convert-python"), _DRAWING]
        name = f"{self.folder.relative_to(self.workspace.root).as_posix()}/{analysis.name}"
        stage = Stage(self.workspace, name, input_key(inputs))
        if stage.is_current() and self._has_pictures(analysis):
            stored = read_record(self.folder / f"{analysis.name}.json")
            return WrittenAnalysis(analysis.name, analysis.title, self.folder, stored.row_count, stored.missing, True)
        result = analysis.run(self.panel)
        contents = _contents(analysis, result, self.png)
        self._remove(analysis, [ending for ending in _ENDINGS if ending not in contents])
        for ending, content in contents.items():
            write_bytes(self.folder / f"{analysis.name}.{ending}", content, mode=self.mode)
        record = _recorded(self.panel, analysis, result).model_dump(mode="json")
        write_json(self.folder / f"{analysis.name}.json", record, mode=self.mode)
        stage.record(files_of(self.folder, analysis.name))
        return WrittenAnalysis(analysis.name, analysis.title, self.folder, result.table.height, result.missing, False)

    def failed(self, analysis: Analysis[Panel], error: Exception) -> WrittenAnalysis:
        """Take away what an earlier panel gave: it would be taken for this one's."""
        self._remove(analysis, ["json", *_ENDINGS])
        problem = f"{type(error).__name__}: {error}"
        return WrittenAnalysis(analysis.name, analysis.title, self.folder, 0, "", False, problem)

    def _has_pictures(self, analysis: Analysis[Panel]) -> bool:
        svg, png = (self.folder / f"{analysis.name}.{ending}" for ending in ("svg", "png"))
        return not self.png or png.is_file() or not svg.is_file()

    def _remove(self, analysis: Analysis[Panel], endings: Sequence[str]) -> None:
        for ending in endings:
            remove_file(self.folder / f"{analysis.name}.{ending}")


def _contents(analysis: Analysis[Panel], result: AnalysisResult, png: bool) -> Mapping[str, bytes]:
    contents: dict[str, bytes] = {}
    if result.table.height:
        contents["parquet"] = _parquet(result.table)
        contents["csv"] = _plain(result.table).write_csv().encode()
    if result.figure is not None:
        points = points_of(result.marks)
        contents["points.parquet"] = _parquet(points)
        image = render(result.figure, marks_of(points, result.figure.leading), analysis.question, png=png)
        contents |= {"svg": image.svg, "png": image.png} if png else {"svg": image.svg}
    return contents


def _parquet(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def _plain(table: pl.DataFrame) -> pl.DataFrame:
    """Texts that a spreadsheet would take for a formula begin with an apostrophe."""
    texts = pl.col(pl.String)
    return table.with_columns(
        pl.when(texts.str.contains(r"^[=+\-@\t\r]")).then(pl.lit("'") + texts).otherwise(texts).name.keep()
    )


def _recorded(panel: Panel, analysis: Analysis[Panel], result: AnalysisResult) -> AnalysisRecord:
    return AnalysisRecord(
        name=analysis.name,
        title=analysis.title,
        question=analysis.question,
        how_to_read=analysis.how_to_read.format(metric=panel.task.headline.title),
        edition=str(panel.edition),
        task=panel.task.name,
        bundled=panel.bundled,
        systems=sorted({system.label for system in panel.systems}),
        notes=[*result.notes, *panel.notes],
        missing=result.missing,
        figure=result.figure,
        columns=result.table.columns,
        row_count=result.table.height,
        rows=[{name: _finite(value) for name, value in row.items()} for row in result.table.to_dicts()],
    )


def _finite(value: Cell) -> Cell:
    return None if isinstance(value, float) and not math.isfinite(value) else value
