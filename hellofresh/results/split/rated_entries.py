"""Rated studies and entries: systems whose responses were rated, as entries; and what entries responded, as a study.

A response's number is the mean of its ratings with their weights; for a criterion about links it is the mean over its
links, and the response weighs as much as it has links. A skipped criterion counts as the rubric says.
A study of responses in runs is for judges that are not people. Where people rated the same samples already, theirs is
the study, and judges join it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import polars as pl

from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.files import sha256_text
from hellofresh.core.quarters import utc_text
from hellofresh.core.systems import Provenance, SystemId
from hellofresh.core.workspace import Workspace
from hellofresh.judging.comparison import counted_values, of_systems
from hellofresh.judging.people import SystemResponse
from hellofresh.judging.rubric import Criterion, parse_rubric, rubric_source
from hellofresh.judging.study import (
    KEY,
    RATINGS,
    BlindedResponse,
    JudgeKind,
    KeyRow,
    RatedStudy,
    StudyFiles,
    StudySample,
    read_responses,
    read_study,
    with_weights,
    write_study,
)
from hellofresh.releases.life.load import Release
from hellofresh.results.split.entries import Entry, entries_of_runs
from hellofresh.results.split.panel import SINGLE, short_names
from hellofresh.tasks import Task
from hellofresh.tasks.outputs import Choice, Response, Status

_Numbers = Mapping[str, Mapping[str, tuple[float, float]]]  # by system and sample: the mean rating, and its weight


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
    if not files.is_closed:
        return []
    study = read_study(files)
    there = pl.col("sample").is_in([sample.id for sample in release.samples])  # others were taken down, or do not count
    study = replace(study, key=study.key.filter(there))
    return rated_entries(study, release.task, JudgeKind.PERSON, study.rubric.criterion(study.rubric.overall))


def rated_names(entry: SystemId) -> tuple[str, str]:
    """The name under which an entry's responses are rated, and the one where several runs would have this name."""
    if entry.kind == "submission":
        return entry.origin, entry.origin
    name = f"{entry.system} {entry.regime}"
    return name, f"{name} ({entry.settings})" if entry.settings else name


def rated_as(system: SystemId, study: RatedStudy) -> str:
    """The name in a study of a system that it rated, else empty."""
    names = (*reversed(rated_names(system)), system.origin.removeprefix(f"{study.files.edition}/"))
    return next((name for name in names if name in study.systems), "")


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
            about=f"Its responses were rated by this rubric: {study.rubric.title}.",
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


def responses_of(entries: Sequence[Entry]) -> Iterator[SystemResponse]:
    """What each system responded with the prompt that stands for it; what is missing or was withheld is left out."""
    for entry, name in zip(entries, short_names(entries), strict=True):
        for sample, output in next(iter(entry.outputs.values()), {}).items():
            if isinstance(output, Response) and output.status is Status.ANSWERED and output.text:
                yield SystemResponse(sample, name, output.text, output.sources)


def reasons_of(entries: Sequence[Entry]) -> Iterator[SystemResponse]:
    """The reason that each system gave for its answer to a sample, after the answer; what has none is left out."""
    for entry, name in zip(entries, short_names(entries), strict=True):
        for said in entry.outputs.values():  # a vote has no reason, the prompts that it counts have
            reasons = {key: one for key, one in said.items() if isinstance(one, Choice) and one.label is not None}
            reasons = {key: one for key, one in reasons.items() if one.rationale}
            for sample, one in reasons.items():
                yield SystemResponse(sample, name, f"Answer: {one.label}. {one.rationale}", one.sources)
            if reasons:
                break


def study_of_responses(
    workspace: Workspace,
    release: Release,
    responses: Sequence[SystemResponse],
    texts: Mapping[str, str],
    rubric: str,
    *,
    apart: str = "",
) -> RatedStudy:
    """The study of a release's responses, made anew unless people rated it; ratings of the same responses stay.

    Args:
        workspace: where studies are.
        release: what was responded to.
        responses: of systems.
        texts: of the samples, by id.
        rubric: name of the rubric.
        apart: a name for a study beside the one of the task.

    Raises:
        UsageError: if people are rating, or have rated by another rubric.
        DataError: if a response is missing, or two of one system to one sample.
    """
    files = StudyFiles(workspace, release.edition, "-".join(filter(None, (release.task.name, apart))))
    content = rubric_source(rubric)
    parsed = parse_rubric(content, where=rubric)
    before = read_study(files) if files.key.is_file() else None
    if before is not None and before.rubric.sha256 != parsed.sha256:
        raise UsageError(
            f"{release.edition} is rated by {before.rubric.name}", expected=parsed.name, code="other-rubric"
        )
    if before is not None and before.ratings.filter(pl.col("kind") == str(JudgeKind.PERSON)).height:
        return before
    if files.private.is_dir() and before is None:
        fix = "Close their study first: hellofresh rate close"
        raise UsageError("people are rating these samples", where=str(release.edition), fix=fix, code="open-study")
    known = [item for item in responses if item.sample in texts]
    if not known:
        raise DataError("no system has responded to these samples", where=str(release.edition), code="no-responses")
    if len({(item.sample, item.system) for item in known}) < len(known):
        raise DataError("two responses of one system to one sample", where=str(release.edition), code="duplicate-id")
    # An id changes with the text, so that no rating goes over to another text.
    hashes = (sha256_text("\0".join((item.sample, item.system, item.text))) for item in known)
    blinded = {f"r-{sha256[:16]}": item for sha256, item in zip(hashes, known, strict=True)}
    key = KEY.frame(KeyRow(name, item.sample, item.system, "") for name, item in blinded.items())
    kept = RATINGS.frame([]) if before is None else before.ratings.filter(pl.col("response").is_in(list(blinded)))
    samples = [StudySample(name, texts[name]) for name in {item.sample for item in known}]
    texts_of = [
        BlindedResponse(name, item.sample, item.text, tuple(dict.fromkeys(item.sources)))
        for name, item in blinded.items()
    ]
    write_study(files, content, samples, texts_of, with_weights(kept), key)
    return read_study(files)
