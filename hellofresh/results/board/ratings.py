"""The board's tables on rated responses: systems by criterion, judges beside people, and the responses themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

import polars as pl

from hellofresh.judging.comparison import counted_values
from hellofresh.judging.judges import judge_quality, known_judges
from hellofresh.judging.predicting import is_prediction_study, people_answers
from hellofresh.judging.study import (
    JudgeKind,
    RatedStudy,
    StudyFiles,
    main_ratings,
    read_responses,
    read_samples,
    read_study,
)
from hellofresh.results.board.schema import JudgeRow, RatedResponse, RatedRow
from hellofresh.results.scoring.people import people_rows
from hellofresh.results.split.open import BoardSplit
from hellofresh.results.split.rated import rated_standings
from hellofresh.results.split.tables import PeopleRow
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Response
from hellofresh.tasks.samples import MAIN


def study_of(split: BoardSplit) -> RatedStudy | None:
    """The closed study of a split's samples, None if absent."""
    place = split.place
    files = StudyFiles(split.workspace, place.edition, place.task)
    if place.split != MAIN or not split.shown or not get_task(place.task).takes(Response):
        return None
    if not (files.ratings.is_file() and files.key.is_file()) or is_prediction_study(files):
        return None
    return read_study(split.workspace, place.edition, place.task)


def rated(split: BoardSplit) -> Iterator[RatedRow]:
    """Where systems stand, by kind of judge, criterion and part."""
    study = study_of(split)
    if study is None:
        return
    kinds = [JudgeKind(kind) for kind in study.ratings["kind"].unique().sort().to_list()]
    for kind in sorted(kinds, key=lambda item: item is not JudgeKind.PERSON):
        valid = _validated(study, kind)
        raters = study.ratings.filter(pl.col("kind") == str(kind))["judge"].n_unique()
        for item in rated_standings(study, get_task(split.place.task), split.samples, kind):
            criterion = study.rubric.criterion(item.criterion)
            worst, best = map(float, criterion.limits)
            yield RatedRow(
                **asdict(item),
                rubric=study.rubric.title,
                title=criterion.title,
                definition=criterion.definition,
                worst=worst,
                best=best,
                validated=valid[item.criterion],
                raters=raters,
            )


def _validated(study: RatedStudy, kind: JudgeKind) -> Mapping[str, bool]:
    """By criterion, whether ratings of this kind may rank systems: those of people do, judges' if all of them may."""
    if kind is JudgeKind.PERSON:
        return {criterion.id: True for criterion in study.rubric.criteria}
    own = [judge for judge, its in known_judges(study) if its == kind]
    found = [{item.criterion: item.ranks for item in judge_quality(study, judge)} for judge in own]
    return {
        criterion.id: bool(found) and all(quality.get(criterion.id, False) for quality in found)
        for criterion in study.rubric.criteria
    }


def judges(split: BoardSplit) -> Iterator[JudgeRow]:
    """How far each judge agrees with people."""
    study = study_of(split)
    if study is None:
        return
    for item in (item for judge, _ in known_judges(study) for item in judge_quality(study, judge)):
        kappa, accuracy = item.kappa_interval, item.accuracy
        ends = (None, None, None) if accuracy is None else (accuracy.value, accuracy.low, accuracy.high)
        own = {name: getattr(item, name) for name in JudgeRow.__dataclass_fields__ if hasattr(item, name)}
        own |= dict(zip(("accuracy", "accuracy_low", "accuracy_high"), ends, strict=True))
        own |= {"title": study.rubric.criterion(item.criterion).title}
        yield JudgeRow(**own, kappa_low=kappa.low, kappa_high=kappa.high)


def people(split: BoardSplit) -> Iterator[PeopleRow]:
    """People who predicted samples of the split, beside systems on the same samples."""
    files = StudyFiles(split.workspace, split.place.edition, split.place.task)
    if split.panel is not None and split.place.split == MAIN and is_prediction_study(files):
        yield from people_rows(split.panel, people_answers(files))


def responses(split: BoardSplit) -> Iterator[RatedResponse]:
    """Every response of every system to the split's samples, in the order of samples and systems."""
    study = study_of(split)
    if study is None:
        return
    known = {sample.id for sample in split.samples}
    texts = {item.id: item for item in read_responses(study.files) if item.sample in known}
    addresses = {item.id: item.address for item in read_samples(study.files)}
    # By response, the mean overall rating by people, and by judges, and how many they were.
    overall = study.rubric.criterion(study.rubric.overall)
    kinds = ((JudgeKind.PERSON,), (JudgeKind.MODEL, JudgeKind.CLASSIFIER))
    counted = (counted_values(main_ratings(study.ratings, *some), overall).group_by("response") for some in kinds)
    means = (found.agg(pl.col("value").mean(), pl.len().alias("count")).iter_rows() for found in counted)
    people, judged = ({name: (value, count) for name, value, count in rows} for rows in means)
    own = study.own_key.sort("sample", "system")
    for name, sample, system in own.select("response", "sample", "system").iter_rows():
        if name in texts:
            mean, raters = people.get(name, (None, 0))
            by_judges, _ = judged.get(name, (None, 0))
            item, address = texts[name], addresses.get(sample, "")
            text = "" if split.withheld else item.text  # it may quote the post, and people's own are notes on it
            yield RatedResponse(sample, address, system, text, item.sources, mean, by_judges, raters)
