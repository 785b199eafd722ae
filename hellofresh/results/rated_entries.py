"""Systems whose responses were rated, as entries: what they wrote, and what it was rated.

A response's number is the mean of its ratings with their weights; for a criterion about links it is the mean over its
links, and the response weighs as much as it has links. A skipped criterion counts as the rubric says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import polars as pl

from hellofresh.core.quarters import utc_text
from hellofresh.core.systems import Provenance
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


def scorable(workspace: Workspace, release: Release, entries: Sequence[Entry]) -> tuple[list[Entry], list[str]]:
    """The entries that can be scored, and sentences about the others.

    Of a task of responses these are the systems that people rated in a closed study. A system of the study whose name
    and texts are those of a run or submission is that entry, with its ratings; the others stand for themselves.

    Raises:
        DataError: if the study's files are damaged.
    """
    if release.task.output is not Response:
        return list(entries), []
    task, waiting = release.task.name, {entry.origin: entry for entry in entries}
    found = []
    for item in _entries_of_study(workspace, release):
        (known,), (numbers,) = item.outputs.values(), item.numbers.values()
        for entry in waiting.values():
            if item.system not in rated_names(entry):
                continue
            prompt, said = next(iter(entry.outputs.items()))
            texts = {key: output.text for key, output in said.items() if isinstance(output, Response)}
            rated = {key: output.text for key, output in known.items() if isinstance(output, Response)}
            if rated.items() <= texts.items():
                outputs = {prompt: {key: said[key] for key in known}}
                found.append(replace(entry, outputs=outputs, numbers={prompt: numbers}, repeated=()))
                del waiting[entry.origin]
                break
        else:
            found.append(item)
    return found, [f"{origin} is not scored on {task}: its responses have not been rated" for origin in waiting]


def counted_entries(
    workspace: Workspace, release: Release, handed_in: Sequence[Entry], moment: datetime
) -> tuple[list[Entry], Sequence[Entry], list[str]]:
    """The runs and submissions that can be scored on the main split, the submissions that wait for the deadline, and
    sentences about what is left out.

    Raises:
        RunError: if a file of a run is damaged.
        DataError: if a file of a study is damaged.
    """
    runs, notes = entries_of_runs(workspace, release)
    waiting = () if release.is_over(moment) else handed_in
    if waiting:
        after = f"scored after the deadline, {utc_text(release.days.deadline)}"
        notes = [f"{len(waiting)} submitted for {release.task.name} {release.edition}: {after}", *notes]
    found, unrated = scorable(workspace, release, [*runs, *(() if waiting else handed_in)])
    return found, waiting, [*notes, *unrated]


def _entries_of_study(workspace: Workspace, release: Release) -> list[Entry]:
    """The systems of a release's closed study that people rated; none without such a study."""
    files = StudyFiles(workspace, release.edition, release.task.name)
    if not (files.key.is_file() and files.ratings.is_file()):
        return []
    study = read_study(workspace, release.edition, release.task.name)
    there = pl.col("sample").is_in([sample.id for sample in release.samples])  # others were taken down, or do not count
    study = replace(study, key=study.key.filter(there))
    return rated_entries(study, release.task, JudgeKind.PERSON, study.rubric.criterion(study.rubric.overall))


def rated_names(entry: Entry) -> tuple[str, str]:
    """The name under which an entry's responses are rated, and the one where several runs would have this name."""
    if entry.kind == "submission":
        return entry.origin, entry.origin
    name = f"{entry.system} {entry.regime}"
    return name, f"{name} ({entry.settings})" if entry.settings else name


def rated_entries(study: RatedStudy, task: Task, kind: JudgeKind, criterion: Criterion) -> list[Entry]:
    """The systems of a study, with what a kind of judge said of them on one criterion as their headline number."""
    numbers = _numbers(of_systems(study.ratings, study.key, kind=kind), criterion)
    said = {item.id: item for item in read_responses(study.files)}
    outputs: dict[str, dict[str, Response]] = {}
    for row in study.own_key.iter_rows(named=True):
        of_system = numbers.get(row["system"], {})
        if row["sample"] in of_system and row["response"] in said:
            response = said[row["response"]]
            found = Response(prompt=SINGLE, text=response.text, sources=response.sources)
            outputs.setdefault(row["system"], {})[row["sample"]] = found
    return [
        Entry(
            system=system,
            team="rated study" if study.files.edition.is_living else study.files.edition.title,
            provenance=Provenance.UPLOADED,
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
