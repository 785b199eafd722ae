"""The board's tables on rated responses: systems by criterion, judges beside people, and the responses themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import polars as pl

from hellofresh.core.parquet import Estimate
from hellofresh.judging.judges import judge_quality, known_judges
from hellofresh.results.board.sample_rows import RatedResponse
from hellofresh.results.board.system_rows import JudgeRow, RatedRow
from hellofresh.results.scoring.people import people_rows
from hellofresh.results.split.open import BoardSplit
from hellofresh.results.split.rated import rated_standings
from hellofresh.results.split.rated_entries import rated_as
from hellofresh.results.split.tables import PeopleRow
from hellofresh.tasks import get_task


def rated(split: BoardSplit) -> Iterator[RatedRow]:
    """Where systems stand, by kind of judge, criterion and part."""
    study = split.study
    if study is None:
        return
    rubric, ratings = study.rated.rubric, study.rated.ratings
    origins = {rated_as(one, study.rated): one.origin for one in (split.panel.systems if split.panel else ())}
    for kind in study.kinds:
        valid = study.may_rank(kind)
        raters = ratings.filter(pl.col("kind") == str(kind))["judge"].n_unique()
        for item in rated_standings(study.rated, get_task(split.place.task), split.samples, kind, over_raters=True):
            criterion = rubric.criterion(item.criterion)
            worst, best = map(float, criterion.limits)
            yield RatedRow(
                **asdict(item),
                rubric=rubric.title,
                title=criterion.title,
                definition=criterion.definition,
                worst=worst,
                best=best,
                validated=valid[item.criterion],
                raters=raters,
                origin=origins.get(item.system, ""),
            )


def judges(split: BoardSplit) -> Iterator[JudgeRow]:
    """How far each judge agrees with people."""
    study = split.study
    if study is None:
        return
    for item in (item for judge, _ in known_judges(study.rated) for item in judge_quality(study.rated, judge)):
        pairs, limits = item.accuracy, item.kappa_interval
        yield JudgeRow(
            judge=item.judge,
            kind=item.kind,
            criterion=item.criterion,
            title=study.rated.rubric.criterion(item.criterion).title,
            responses=item.responses,
            kappa=Estimate(item.kappa, limits.low, limits.high),
            people_kappa=item.people_kappa,
            correlation=Estimate(item.correlation, item.correlation_low, item.correlation_high),
            accuracy=None if pairs is None else Estimate(pairs.value, pairs.low, pairs.high),
            ranks=item.ranks,
        )


def people(split: BoardSplit) -> Iterator[PeopleRow]:
    """People who predicted samples of the split, beside systems on the same samples."""
    if split.panel is not None and split.people is not None:
        yield from people_rows(split.panel, split.people)


def responses(split: BoardSplit) -> Iterator[RatedResponse]:
    """Every response of every system to the split's samples, in the order of samples and systems."""
    study = split.study
    if study is None:
        return
    known = {sample.id for sample in split.samples}
    texts = {item.id: item for item in study.responses if item.sample in known}
    people, judged = study.overall_means
    own = study.rated.own_key.sort("sample", "system")
    for name, sample, system in own.select("response", "sample", "system").iter_rows():
        if name in texts:
            mean, raters = people.get(name, (None, 0))
            by_judges, _ = judged.get(name, (None, 0))
            item, address = texts[name], study.addresses.get(sample, "")
            text = "" if split.withheld else item.text  # it may quote the post, and people's own are notes on it
            yield RatedResponse(sample, address, system, text, item.sources, mean, by_judges, raters)
