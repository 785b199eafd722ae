"""The judges of responses, judged: how far each agrees with people, what sways it, and whether it may rank systems.

A judge's scores rank systems only if it orders pairs of responses as people do so often that the lower limit of that
share exceeds `RANKS_FROM`; otherwise they are shown as not validated. People are compared with each other beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.judging.agreement import counted_values, criterion_agreement, numbered
from hellofresh.judging.classifiers import SMOKE_TEST
from hellofresh.judging.model_judge import PairChoice
from hellofresh.judging.rubric import Criterion
from hellofresh.judging.study import RatedStudy
from hellofresh.judging.table import JudgeKind, RatingPhase
from hellofresh.stats import Interval
from hellofresh.stats.judging import (
    PoweredMean,
    length_bias,
    pairwise_accuracy,
    position_bias,
    powered_mean,
    rank_correlation,
    self_preference,
)
from hellofresh.stats.multiway import ClusteredMean
from hellofresh.stats.raters import rater_agreement

__all__ = [
    "RANKS_FROM",
    "JudgeBias",
    "JudgeQuality",
    "judge_biases",
    "judge_quality",
    "known_judges",
    "powered_means",
]

RANKS_FROM = 0.65
"""What the lower limit of a judge's pairwise accuracy must exceed for its scores to rank systems."""


@dataclass(frozen=True, slots=True)
class JudgeQuality:
    """A judge against people on one criterion.

    Attributes:
        judge, kind: which.
        criterion: id in the rubric.
        responses: rated by both.
        kappa, kappa_interval: quadratic, of the judge with each person's rating.
        people_kappa: of people with each other; None where no two rated the same.
        correlation, correlation_low, correlation_high: Spearman's, with people's mean.
        accuracy: share of pairs of responses to one post that it orders as people do; None where people order none.
    """

    judge: str
    kind: str
    criterion: str
    responses: int
    kappa: float
    kappa_interval: Interval
    people_kappa: float | None
    correlation: float
    correlation_low: float
    correlation_high: float
    accuracy: ClusteredMean | None

    @property
    def ranks(self) -> bool:
        """Whether its scores may rank systems; those of a smoke test never do."""
        return self.judge != SMOKE_TEST and self.accuracy is not None and self.accuracy.low > RANKS_FROM


@dataclass(frozen=True, slots=True)
class JudgeBias:
    """What sways a judge; None where it cannot be told.

    Attributes:
        judge: which.
        position: by how much it prefers the first of two, from -0.5 to 0.5.
        length: points more for a response twice as long that people score alike.
        own: points more than people for its own responses.
    """

    judge: str
    position: ClusteredMean | None
    length: ClusteredMean | None
    own: ClusteredMean | None


def known_judges(study: RatedStudy) -> list[tuple[str, str]]:
    """Name and kind of every judge that is no person, in order."""
    others = study.ratings.filter(pl.col("kind") != str(JudgeKind.PERSON))
    return others.select("judge", "kind").unique().sort("judge").rows()


def judge_quality(study: RatedStudy, judge: str) -> list[JudgeQuality]:
    """A judge against people on every criterion that both rated, in the rubric's order."""
    main = study.ratings.filter(pl.col("phase") == str(RatingPhase.MAIN))
    people = main.filter(pl.col("kind") == str(JudgeKind.PERSON))
    own = main.filter(pl.col("judge") == judge)
    found = []
    for criterion in study.rubric.criteria:
        quality = _quality(people, own, judge, criterion)
        found += [quality] if quality else []
    return found


def _quality(people: pl.DataFrame, own: pl.DataFrame, judge: str, criterion: Criterion) -> JudgeQuality | None:
    unit = ["sample", "response", "link"]
    by_people, by_judge = counted_values(people, criterion), counted_values(own, criterion)
    both = by_people.join(by_judge.select(*unit, "value", "kind"), on=unit, suffix="_judge").sort(*unit, "judge")
    if not both.height:
        return None
    low = criterion.limits[0]
    first, second = (both[name].cast(pl.Int64).to_numpy() - low for name in ("value", "value_judge"))
    kappa = rater_agreement(first, second, criterion.answers, groups=numbered(both, "sample"))
    means = both.group_by(unit, maintain_order=True).agg(pl.col("value").mean(), pl.col("value_judge").first())
    scores, said = means["value"].to_numpy(), means["value_judge"].to_numpy()
    posts = numbered(means, "sample")
    correlation, lower, upper = rank_correlation(said, scores, posts)
    among = criterion_agreement(people, criterion).agreement
    return JudgeQuality(
        judge=judge,
        kind=str(both["kind_judge"][0]),
        criterion=criterion.id,
        responses=means.height,
        kappa=kappa.pooled,
        kappa_interval=kappa.pooled_interval,
        people_kappa=None if among is None else among.pooled,
        correlation=correlation,
        correlation_low=lower,
        correlation_high=upper,
        accuracy=pairwise_accuracy(said, scores, posts),
    )


def judge_biases(
    study: RatedStudy,
    judge: str,
    words: Mapping[str, int],
    *,
    pairs: Sequence[PairChoice] = (),
    own_systems: Sequence[str] = (),
) -> JudgeBias:
    """What sways a judge on the overall criterion.

    Args:
        study: with the judge's ratings and people's.
        judge: which.
        words: number of words by response.
        pairs: what it chose of pairs shown in both orders.
        own_systems: systems whose responses the judge wrote itself.
    """
    readable = [item for item in pairs if item.first is not None and item.second is not None]
    position = None
    if readable:
        _, posts = np.unique([item.sample for item in readable], return_inverse=True)
        first, second = (np.array([getattr(item, name) for item in readable]) for name in ("first", "second"))
        position = position_bias(first, second, posts)
    rows = _scores(study, judge)
    if not rows.height:
        return JudgeBias(judge, position, None, None)
    judged, people, groups = rows["judge_score"].to_numpy(), rows["value"].to_numpy(), numbered(rows, "sample")
    lengths = np.array([float(words.get(name, 0)) for name in rows["response"]])
    mine = set(study.key.filter(pl.col("system").is_in(list(own_systems)))["response"])
    own = np.array([name in mine for name in rows["response"]], dtype=np.bool_)
    length = length_bias(judged, people, lengths, groups)
    return JudgeBias(judge, position, length, self_preference(judged, people, own, groups))


def _scores(study: RatedStudy, judge: str) -> pl.DataFrame:
    """People's mean and the judge's score of every response that both rated overall."""
    main = study.ratings.filter(pl.col("phase") == str(RatingPhase.MAIN))
    overall = counted_values(main, study.rubric.criterion(study.rubric.overall))
    people = (
        overall.filter(pl.col("kind") == str(JudgeKind.PERSON))
        .group_by("sample", "response")
        .agg(pl.col("value").mean())
    )
    own = overall.filter(pl.col("judge") == judge).select("response", pl.col("value").alias("judge_score"))
    return people.join(own, on="response").sort("sample", "response")


def powered_means(study: RatedStudy, judge: str) -> dict[str, PoweredMean]:
    """By system, the mean overall rating by people on a part of the posts and the judge on all."""
    main = study.ratings.filter(pl.col("phase") == str(RatingPhase.MAIN))
    overall = counted_values(main, study.rubric.criterion(study.rubric.overall))
    systems = study.key.filter(pl.col("same_as") == "").select("response", "system")
    people = overall.filter(pl.col("kind") == str(JudgeKind.PERSON)).group_by("response").agg(pl.col("value").mean())
    own = overall.filter(pl.col("judge") == judge).select("response", pl.col("value").alias("judge_score"))
    rows = own.join(people, on="response", how="left").join(systems, on="response").sort("response")
    found = {}
    for system in study.main_systems:
        mine = rows.filter(pl.col("system") == system)
        part, rest = mine.filter(pl.col("value").is_not_null()), mine.filter(pl.col("value").is_null())
        if part.height > 1:
            found[system] = powered_mean(
                _numbers(part, "value"), _numbers(part, "judge_score"), _numbers(rest, "judge_score")
            )
    return found


def _numbers(rows: pl.DataFrame, column: str) -> NDArray[np.float64]:
    return rows[column].cast(pl.Float64).to_numpy()
