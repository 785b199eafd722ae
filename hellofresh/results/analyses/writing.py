"""Files below `analyses/<quarter>/<task>`: `<name>.{parquet,csv,json,svg,png,points.parquet,narrow.svg}`.

The JSON file is an `AnalysisRecord`: what was asked, how to read it, notes, the table's rows, how the figure is drawn,
and, where it is missing, why. Points are the figure's marks, of all systems; the narrow figure is drawn for phones. A
table without rows has no file, nor has a figure that could not be made. Analyses of chosen systems only go into the
folder `selected` beside these, so that they are not taken for those of all.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import polars as pl

from hellofresh.core.files import remove_file, write_bytes, write_json
from hellofresh.core.makers import makers, plugin_makers
from hellofresh.core.plugins import plugins
from hellofresh.core.stages import Stage
from hellofresh.core.texts import disarmed
from hellofresh.core.workspace import Workspace
from hellofresh.results.analyses.base import Analysis, AnalysisResult, Cell
from hellofresh.results.figures.charts import AnalysisRecord, marks_of, points_of, read_record
from hellofresh.results.figures.image import render
from hellofresh.results.split.panel import Panel
from hellofresh.tasks import task_makers

_ENDINGS = ("parquet", "csv", "points.parquet", "svg", "narrow.svg", "png")


@dataclass(frozen=True, slots=True)
class WrittenAnalysis:
    """A written analysis.

    Attributes:
        name, title: of the analysis.
        folder: folder of its files.
        rows: rows of its table.
        missing: the reason for a missing figure, else empty.
        skipped: whether it was up to date already.
        problem: the error, with `survive`; the workspace then has no files of it.
        why: what has changed since it was last written, if it was.
    """

    name: str
    title: str
    folder: Path
    rows: int
    missing: str
    skipped: bool
    problem: str = ""
    why: str = ""


def make_analyses(
    workspace: Workspace,
    panel: Panel,
    analyses: Sequence[Analysis[Panel]],
    *,
    systems: Sequence[str] = (),
    png: bool = True,
    survive: bool = False,
) -> list[WrittenAnalysis]:
    """Make analyses of a panel and write them, skipping those that are up to date.

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
    key, made = panel.sha256, []
    for analysis in analyses:
        try:
            made.append(_made(workspace, folder, panel, analysis, key, png=png))
        except Exception as error:  # an analysis may be a plug-in's
            if not survive:
                raise
            for ending in ("json", *_ENDINGS):  # what an earlier panel gave would be taken for this one's
                remove_file(folder / f"{analysis.name}.{ending}")
            problem = f"{type(error).__name__}: {error}"
            made.append(WrittenAnalysis(analysis.name, analysis.title, folder, 0, "", False, problem))
    return made


def _made(
    workspace: Workspace, folder: Path, panel: Panel, analysis: Analysis[Panel], key: str, *, png: bool
) -> WrittenAnalysis:
    """Make an analysis of a panel in a folder, unless it is there; `key` is the panel's hash."""
    mode = 0o600 if panel.private else 0o644  # for the owner alone where labels are not public
    files = {ending: folder / f"{analysis.name}.{ending}" for ending in ("json", *_ENDINGS)}
    inputs = [analysis.name, key, version("vl-convert-python")]
    brought = [name for name, one in plugins("hellofresh.analyses").items() if one.name == analysis.name]
    code = [] if brought else [getattr(analysis.run, "__module__", __name__)]
    made_by = makers(__name__, *code) | plugin_makers("hellofresh.analyses", brought) | task_makers(panel.task)
    name = f"{folder.relative_to(workspace.root).as_posix()}/{analysis.name}"
    stage = Stage.of(workspace, name, inputs, made_by)
    changes = stage.changes()
    if changes == [] and (not png or files["png"].is_file() or not files["svg"].is_file()):
        stored = read_record(files["json"])
        return WrittenAnalysis(analysis.name, analysis.title, folder, stored.row_count, stored.missing, True)
    result = analysis.run(panel)
    contents = _contents(result, analysis.question, png=png)
    for ending in _ENDINGS:
        if ending in contents:
            write_bytes(files[ending], contents[ending], mode=mode)
        else:
            remove_file(files[ending])
    write_json(files["json"], _record(panel, analysis, result).model_dump(mode="json"), mode=mode)
    stage.record([path for path in files.values() if path.is_file()])
    again = "; ".join(changes or ())
    return WrittenAnalysis(analysis.name, analysis.title, folder, result.table.height, result.missing, False, why=again)


def _record(panel: Panel, analysis: Analysis[Panel], result: AnalysisResult) -> AnalysisRecord:
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


def _contents(result: AnalysisResult, question: str, *, png: bool) -> dict[str, bytes]:
    """The contents of the files by extension: table and, if there is one, figure."""
    contents: dict[str, bytes] = {}
    if result.table.height:
        contents["parquet"] = _parquet(result.table)
        plain = result.table.with_columns(pl.col(pl.String).map_elements(disarmed, pl.String))
        contents["csv"] = plain.write_csv().encode()
    if result.figure is not None:
        points = points_of(result.marks)
        contents["points.parquet"] = _parquet(points)
        image = render(result.figure, marks_of(points, result.figure.leading), question, png=png)
        contents |= {"svg": image.svg, "narrow.svg": image.narrow} | ({"png": image.png} if png else {})
    return contents


def _parquet(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def _finite(value: Cell) -> Cell:
    return None if isinstance(value, float) and not math.isfinite(value) else value
