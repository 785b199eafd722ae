"""People compared with systems: scores of one person and of the vote of three on the samples given to people.

All rows of a table are about the same samples, those that three people or more judged, and each sample weighs the same.
A single person's value is the metric over all their answers; its interval is over other samples and other people. Who
failed an attention check is left out; answers to samples that a person says they knew are left out of the first table,
and counted in the second. Below `LEAST_PEOPLE` people or `LEAST_SAMPLES` samples a table says what is missing.

`publish_people` writes what is public once labels are, in `releases/<edition>/ratings/`: `<task>.people.parquet`, the
answers under people's numbers, and `<task>.people.jsonl`, these tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.files import write_jsonl
from hellofresh.core.parquet import write_parquet
from hellofresh.core.workspace import Workspace
from hellofresh.judging.predicting import (
    ANSWERS,
    VOTERS,
    PersonAnswer,
    is_prediction_study,
    people_answers,
    rater_number,
)
from hellofresh.judging.study import StudyFiles
from hellofresh.releases.life.load import Release
from hellofresh.results.split.arrays import panel_of
from hellofresh.results.split.entries import Entry, entries_of_runs, plurality
from hellofresh.results.split.panel import EntrySection, Panel, PromptOutputs
from hellofresh.results.split.tables import PeopleRow
from hellofresh.stats.agreement import Distance, krippendorff_alpha
from hellofresh.stats.metrics import NO_ANSWER
from hellofresh.stats.multiway import clustered_metric
from hellofresh.tasks.outputs import Choice
from hellofresh.tasks.samples import Label, to_json

LEAST_PEOPLE, LEAST_SAMPLES = 5, 40  # with fewer, a row says more of these people than of people
SINGLE_PERSON, VOTE_OF_THREE = "people/single", "people/vote"


def people_rows(panel: Panel, answers: Sequence[PersonAnswer]) -> Iterator[PeopleRow]:
    """Both tables: a single person, the vote, then systems that answered all these samples, the best first.

    Args:
        panel: the split, with labels.
        answers: of people, in the order of their numbers.
    """
    place = {sample.id: number for number, sample in enumerate(panel.samples)}
    failed = {answer.judge for answer in answers if answer.fails_check}
    counted = [item for item in answers if item.sample in place and item.judge not in failed]
    for with_known in (False, True) if answers else ():
        some = [item for item in counted if with_known or not item.known]
        yield from _table(panel, place, some, with_known=with_known, failed=len(failed))


def _table(
    panel: Panel, place: Mapping[str, int], answers: Sequence[PersonAnswer], *, with_known: bool, failed: int
) -> Iterator[PeopleRow]:
    by_sample: dict[int, list[PersonAnswer]] = {}
    for item in answers:
        by_sample.setdefault(place[item.sample], []).append(item)
    judged = {at: its for at, its in sorted(by_sample.items()) if len(its) >= VOTERS}
    given = [item for its in judged.values() for item in its]
    where = np.isin(np.arange(len(place)), list(judged))
    row = PeopleRow(
        with_known=with_known,
        section=str(EntrySection.PEOPLE),
        origin=SINGLE_PERSON,
        samples=len(judged),
        people=len({item.judge for item in given}),
        answers=len(given),
        failed=failed,
    )
    if missing := _missing(panel, where, row.people):
        yield replace(row, missing=missing)
        return
    agreement, single = _single_person(panel, place, given)
    chosen = [plurality([Choice(label=item.label) for item in its[:VOTERS]]).label for its in judged.values()]
    votes = np.full(len(place), NO_ANSWER, dtype=np.int8)
    votes[where] = [NO_ANSWER if label is None else label for label in chosen]
    vote_of_three = _figures(panel, PromptOutputs.of(VOTE_OF_THREE, votes, len(panel.task.classes)), where)
    whole = [system for system in panel.systems if system.headline.asked[where].all()]
    beside = [(_figures(panel, system.headline, where), system) for system in whole]
    beside.sort(key=lambda item: (-panel.task.headline.sign * item[0][0], item[1].origin))
    yield _with_figures(replace(row, agreement=agreement), single)
    yield _with_figures(replace(row, origin=VOTE_OF_THREE, agreement=agreement), vote_of_three)
    for figures, system in beside:
        yield _with_figures(replace(row, section=str(system.section), origin=system.origin), figures)


def _with_figures(row: PeopleRow, figures: tuple[float, float, float]) -> PeopleRow:
    value, low, high = figures
    return replace(row, value=value, low=low, high=high)


def _missing(panel: Panel, where: NDArray[np.bool_], people: int) -> str:
    """Which data are too few for results; empty if they suffice."""
    samples = int(where.sum())
    missing = [f"{people} people of at least {LEAST_PEOPLE}"] if people < LEAST_PEOPLE else []
    if samples < LEAST_SAMPLES:
        missing.append(f"{samples} samples with answers of {VOTERS} people, of at least {LEAST_SAMPLES}")
    return ", ".join(missing) or ("samples of one class only" if panel.is_one_class(where) else "")


def _single_person(
    panel: Panel, place: Mapping[str, int], given: Sequence[PersonAnswer]
) -> tuple[float | None, tuple[float, float, float]]:
    """People's agreement, and the figures of one person."""
    metric = panel.task.headline
    at = np.array([place[item.sample] for item in given])
    labels = np.array([item.label for item in given], dtype=np.int64)
    people = np.array([rater_number(item.judge) for item in given])
    weights = 1 / np.bincount(at)[at]
    statistics = metric.statistics(panel.labels[at], labels) * weights[:, None]
    alpha = krippendorff_alpha(at, labels, distance=Distance.NOMINAL).value
    figures = clustered_metric(statistics, metric, panel.groups[at], people)
    return float(alpha) if np.isfinite(alpha) else None, figures


def _figures(panel: Panel, said: PromptOutputs, where: NDArray[np.bool_]) -> tuple[float, float, float]:
    value, interval = panel.measured(said, where)
    return value, interval.low, interval.high


def publish_people(
    workspace: Workspace, release: Release, labels: Mapping[str, Label], entries: Sequence[Entry]
) -> list[Path]:
    """Write what people predicted and the tables made of it, where there is such a closed study; gives the files.

    Args:
        workspace: where the study is.
        release, labels: what people predicted, and its labels, which are public.
        entries: the systems beside whom people stand.

    Raises:
        DataError: if a file of the study is damaged.
    """
    files = StudyFiles(workspace, release.edition, release.task.name)
    if not is_prediction_study(files):
        return []
    panel = panel_of(release.task, release.edition, release.samples, labels, entries)
    known = {sample.id for sample in release.samples}
    answers = [item for item in people_answers(files) if item.is_check or item.sample in known]
    if not answers:
        return []
    table = _answers_file(workspace, release)
    rows = table.with_suffix(".jsonl")
    write_parquet(table, ANSWERS.frame(answers))
    write_jsonl(rows, (to_json(row) for row in people_rows(panel, answers)))
    return [table, rows]


def _answers_file(workspace: Workspace, release: Release) -> Path:
    return workspace.root / "releases" / str(release.edition) / "ratings" / f"{release.task.name}.people.parquet"


def people_beside_run(
    workspace: Workspace, release: Release, labels: Mapping[str, Label], origin: str
) -> list[PeopleRow]:
    """One person and the vote of three, then the run if it judged all their samples; without answers of people who say
    that they knew the outcome. Empty where no predictions of people are public.

    Args:
        workspace: where runs and people's answers are.
        release, labels: what the run is on, and its labels, which are public.
        origin: the run.

    Raises:
        BadTableError: if the file of people's answers is damaged.
    """
    path = _answers_file(workspace, release)
    if not path.is_file():
        return []
    entries = [entry for entry in entries_of_runs(workspace, release)[0] if entry.origin == origin]
    panel = panel_of(release.task, release.edition, release.samples, labels, entries)
    return [row for row in people_rows(panel, ANSWERS.rows(ANSWERS.read(path))) if not row.with_known]
