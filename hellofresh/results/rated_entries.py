"""Systems whose responses were rated, as entries: what they wrote, and what it was rated.

A response's number is the mean of its ratings with their weights; for a criterion about links it is the mean over its
links, and the response weighs as much as it has links. A skipped criterion counts as the rubric says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from hellofresh.core.workspace import Workspace
from hellofresh.judging.comparison import counted_values, of_systems
from hellofresh.judging.rubric import Criterion
from hellofresh.judging.study import JudgeKind, RatedStudy, StudyFiles, read_responses, read_study
from hellofresh.releases.life.load import Release
from hellofresh.results.entries import Entry, entries_of_runs
from hellofresh.results.panel import SINGLE
from hellofresh.tasks import Task
from hellofresh.tasks.outputs import Response

_Numbers = Mapping[str, Mapping[str, tuple[float, float]]]
"""By system and sample: the mean rating, and its weight."""


def entries_of_ratings(workspace: Workspace, release: Release) -> list[Entry]:
    """The systems whose responses to a release's samples people rated; none where no study of it is closed.

    Raises:
        DataError: if the study's files are damaged.
    """
    files = StudyFiles(workspace, release.edition, release.task.name)
    if not (files.key.is_file() and files.ratings.is_file()):
        return []
    study = read_study(workspace, release.edition, release.task.name)
    rated = rated_entries(study, release.task, JudgeKind.PERSON, study.rubric.criterion(study.rubric.overall))
    cutoffs: dict[str, str] = {}
    for run in entries_of_runs(workspace, release)[0]:
        for name in rated_names(run):
            cutoffs.setdefault(name, run.knowledge_cutoff)
    return [replace(entry, knowledge_cutoff=cutoffs.get(entry.system, entry.knowledge_cutoff)) for entry in rated]


def rated_names(run: Entry) -> tuple[str, str]:
    """The name under which a run's responses are rated, and the one where several runs would have this name."""
    name = f"{run.system} {run.regime}"
    return name, f"{name} ({run.settings})" if run.settings else name


def scorable(task: Task, entries: Sequence[Entry]) -> tuple[list[Entry], list[str]]:
    """The entries that can be scored, of a task of responses only those that were rated; sentences on the others."""
    if task.output is not Response:
        return list(entries), []
    rated = [entry for entry in entries if entry.numbers]
    waiting = [
        f"{entry.origin} is not scored on {task.name}: nobody has rated it" for entry in entries if not entry.numbers
    ]
    return rated, waiting


def rated_entries(study: RatedStudy, task: Task, kind: JudgeKind, criterion: Criterion) -> list[Entry]:
    """The systems of a study, with what a kind of judge said of them on one criterion as their headline number."""
    numbers = _numbers(of_systems(study.ratings, study.key, kind=kind), criterion)
    said = {item.id: item for item in read_responses(study.files)}
    outputs: dict[str, dict[str, Response]] = {}
    for row in study.key.filter(pl.col("same_as") == "").iter_rows(named=True):
        of_system = numbers.get(row["system"], {})
        if row["sample"] in of_system and row["response"] in said:
            response = said[row["response"]]
            found = Response(prompt=SINGLE, text=response.text, sources=response.sources)
            outputs.setdefault(row["system"], {})[row["sample"]] = found
    return [
        Entry(
            system=system,
            team=study.files.edition.title,
            lane="rated",
            kind="submission",
            regime="not stated",
            smoke_test=False,
            knowledge_cutoff="unknown",
            about=f"Its responses were rated by {study.rubric.title.lower()}.",
            origin=f"{study.files.edition}/{system}",
            outputs={SINGLE: outputs[system]},
            numbers={SINGLE: {task.headline.name: numbers[system]}},
        )
        for system in sorted(outputs)
    ]


def _numbers(rated: pl.DataFrame, criterion: Criterion) -> _Numbers:
    """Mean ratings by system and sample."""
    weighted = pl.col("value") * pl.col("weight")
    rows = (
        counted_values(rated, criterion)
        .group_by("system", "sample")
        .agg(
            (weighted.sum() / pl.col("weight").sum()).alias("mean"),
            (pl.col("weight").sum() if criterion.unit == "link" else pl.lit(1.0)).alias("weight"),
        )
    )
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for system, sample, value, weight in rows.sort("system", "sample").iter_rows():
        found.setdefault(system, {})[sample] = (value, weight)
    return found
