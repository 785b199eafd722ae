"""Evaluation of judges: their agreement with people, their biases, and whether they may rank systems.

A judge's scores rank systems only if three conditions hold. The lower limit of its pairwise accuracy (share of pairs of
responses that it orders as people do) exceeds `RANKS_FROM`. Its accuracy exceeds that of each rule that ignores content
(the longer, the shorter, the first of two), on the same pairs. It is above one half both where people prefer the longer
response and where they prefer the shorter, which a preference by length cannot achieve. Otherwise scores are shown as
not validated, with the reason. People's agreement with each other is shown for comparison.

The embedded classifier (a regression of people's ratings on tf-idf weights) is a smoke test of judging by classifiers,
not a reliable judge. It is cross-fitted: posts are divided into parts, and each part is rated by a model trained on the
others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from hellofresh.core.errors import DataError, missing_extra
from hellofresh.core.files import sha256_text
from hellofresh.judging.comparison import counted_values, criterion_agreement, numbered
from hellofresh.judging.model_judge import PairChoice
from hellofresh.judging.rubric import Criterion
from hellofresh.judging.study import (
    NOT_VALIDATED,
    SMOKE_TEST,
    UNREADABLE,
    JudgeKind,
    RatedStudy,
    Rating,
    main_ratings,
    read_responses,
)
from hellofresh.stats.agreement import rater_agreement
from hellofresh.stats.intervals import Interval
from hellofresh.stats.judging import (
    OrderedPairs,
    PoweredMean,
    length_bias,
    position_bias,
    powered_mean,
    rank_correlation,
    self_preference,
)
from hellofresh.stats.multiway import ClusteredMean

RANKS_FROM = 0.65
"""The lower limit of a judge's pairwise accuracy must exceed this for its scores to rank systems."""
_PARTS = 5  # folds of samples: a judge never learns from the sample that it scores
_LEAST = 20  # fewest rated responses to train on


@dataclass(frozen=True, slots=True)
class JudgeQuality:
    """A judge compared with people on one criterion.

    Attributes:
        criterion: id in the rubric.
        responses: number of responses rated by both.
        kappa, kappa_interval: quadratic kappa of the judge with each person's rating.
        people_kappa: kappa of people with each other; None without common ratings.
        correlation, correlation_low, correlation_high: Spearman's, with people's mean.
        unreadable: responses whose answer could not be read; they are missing from all of the above.
        accuracy: share of pairs of responses to one post that it orders as people do; None if people order none.
        gains: by rule, the judge's accuracy minus the rule's, on the same pairs.
        by_length: accuracy where people prefer the longer response, and where they prefer the shorter.
        marks: reasons of the judge's own checks against ranking by it.
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
    unreadable: int = 0
    accuracy: ClusteredMean | None = None
    gains: Mapping[str, ClusteredMean] = field(default_factory=dict)
    by_length: Mapping[str, ClusteredMean | None] = field(default_factory=dict)
    marks: tuple[str, ...] = ()

    @property
    def faults(self) -> list[str]:
        """Reasons why its scores may not rank systems; empty if they may."""
        found = ["a smoke test"] if self.judge == SMOKE_TEST else list(self.marks)
        if self.accuracy is None or not self.accuracy.low > RANKS_FROM:
            found.append(f"orders too few pairs as people do (the lower limit must exceed {RANKS_FROM:g})")
        found += [f"no better than {rule}" for rule, gain in self.gains.items() if not gain.low > 0]
        for where, share in self.by_length.items():
            if share is None or not share.low > 0.5:
                found.append(f"not right in more than half of the cases where people prefer {where}")
        return found

    @property
    def ranks(self) -> bool:
        """Whether its scores may rank systems."""
        return not self.faults


@dataclass(frozen=True, slots=True)
class JudgeBias:
    """Biases of a judge; None if unknown.

    Attributes:
        position: preference for the first of two, from -0.5 to 0.5.
        length: additional points for a response twice as long with the same score by people.
        own: additional points, compared with people, for its own responses.
    """

    judge: str
    position: ClusteredMean | None
    length: ClusteredMean | None
    own: ClusteredMean | None


def known_judges(study: RatedStudy) -> list[tuple[str, str]]:
    """Name and kind of every judge that is not a person, in order."""
    others = study.ratings.filter(pl.col("kind") != str(JudgeKind.PERSON))
    return others.select("judge", "kind").unique().sort("judge").rows()


def judge_quality(study: RatedStudy, judge: str) -> list[JudgeQuality]:
    """Compare a judge with people on every criterion that both rated, in the rubric's order.

    Raises:
        DataError: if the study's responses are damaged.
    """
    words = {item.id: float(len(item.text.split())) for item in read_responses(study.files)}
    people = main_ratings(study.ratings, JudgeKind.PERSON)
    own = main_ratings(study.ratings).filter(pl.col("judge") == judge)
    found = [_quality(people, own, words, criterion) for criterion in study.rubric.criteria]
    return [quality for quality in found if quality is not None]


def _quality(
    people: pl.DataFrame, own: pl.DataFrame, words: Mapping[str, float], criterion: Criterion
) -> JudgeQuality | None:
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
    lengths = np.array([words.get(name, 0.0) for name in means["response"]])
    pairs = OrderedPairs.of(scores, posts)
    right = pairs.right(said)
    rules = {"the longer": lengths, "the shorter": -lengths, "the first": -np.arange(said.size, dtype=np.float64)}
    gains = {rule: pairs.mean(right - pairs.right(its), least=-1.0) for rule, its in rules.items()}
    longer = np.sign(lengths[pairs.better] - lengths[pairs.worse])
    marks = own.filter(pl.col("comment").str.starts_with(NOT_VALIDATED))["comment"].unique().sort()
    return JudgeQuality(
        judge=str(own["judge"][0]),
        kind=str(both["kind_judge"][0]),
        criterion=criterion.id,
        responses=means.height,
        kappa=kappa.pooled,
        kappa_interval=kappa.pooled_interval,
        people_kappa=None if among is None else among.pooled,
        correlation=correlation,
        correlation_low=lower,
        correlation_high=upper,
        unreadable=own.filter(pl.col("criterion") == criterion.id, pl.col("comment") == UNREADABLE).height,
        accuracy=pairs.mean(right),
        gains={rule: gain for rule, gain in gains.items() if gain is not None},
        by_length={"the longer": pairs.mean(right, longer > 0), "the shorter": pairs.mean(right, longer < 0)},
        marks=tuple(mark.removeprefix(NOT_VALIDATED) for mark in marks),
    )


def judge_biases(
    study: RatedStudy,
    judge: str,
    words: Mapping[str, int],
    *,
    pairs: Sequence[PairChoice] = (),
    own_systems: Sequence[str] = (),
) -> JudgeBias:
    """The biases of a judge on the overall criterion.

    Args:
        study: with the judge's ratings and people's.
        words: number of words by response.
        pairs: its choices in pairs shown in both orders.
        own_systems: systems whose responses the judge wrote itself.
    """
    readable = [item for item in pairs if item.first is not None and item.second is not None]
    position = None
    if readable:
        _, posts = np.unique([item.sample for item in readable], return_inverse=True)
        first, second = (np.array([getattr(item, name) for item in readable]) for name in ("first", "second"))
        position = position_bias(first, second, posts)
    rows = _scores(study, judge).filter(pl.col("value").is_not_null()).sort("sample", "response")
    if not rows.height:
        return JudgeBias(judge, position, None, None)
    judged, people, groups = rows["judge_score"].to_numpy(), rows["value"].to_numpy(), numbered(rows, "sample")
    lengths = np.array([float(words.get(name, 0)) for name in rows["response"]])
    mine = set(study.key.filter(pl.col("system").is_in(list(own_systems)))["response"])
    own = np.array([name in mine for name in rows["response"]], dtype=np.bool_)
    length = length_bias(judged, people, lengths, groups)
    return JudgeBias(judge, position, length, self_preference(judged, people, own, groups))


def _scores(study: RatedStudy, judge: str) -> pl.DataFrame:
    """The judge's overall score of every response, and people's mean, empty without ratings by people."""
    overall = counted_values(main_ratings(study.ratings), study.rubric.criterion(study.rubric.overall))
    people = overall.filter(pl.col("kind") == str(JudgeKind.PERSON)).group_by("response").agg(pl.col("value").mean())
    own = overall.filter(pl.col("judge") == judge).select("sample", "response", judge_score="value")
    return own.join(people, on="response", how="left")


def powered_means(study: RatedStudy, judge: str) -> dict[str, PoweredMean]:
    """Prediction-powered mean overall rating by system, from people on a part of the posts and the judge on all."""
    systems = study.own_key.select("response", "system")
    rows = _scores(study, judge).join(systems, on="response").sort("response")
    found = {}
    for system in study.main_systems:
        mine = rows.filter(pl.col("system") == system)
        part, rest = mine.filter(pl.col("value").is_not_null()), mine.filter(pl.col("value").is_null())
        if part.height > 1:
            columns = (part["value"], part["judge_score"], rest["judge_score"])
            found[system] = powered_mean(*(column.cast(pl.Float64).to_numpy() for column in columns))
    return found


def classify_study(study: RatedStudy) -> Iterator[Rating]:
    """Ratings of all responses by the embedded classifier, on every response criterion with enough ratings by people.

    Raises:
        UsageError: if the classifier is not installed.
        DataError: if people have rated too little to learn from.
    """
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline
    except ImportError:
        raise missing_extra("the classifier judge", "scikit-learn", "baselines") from None
    people = main_ratings(study.ratings, JudgeKind.PERSON)
    counted = set(people["sample"])
    responses = sorted(read_responses(study.files), key=lambda item: item.id)
    responses = [item for item in responses if item.sample in counted]
    part = {item.id: int(sha256_text(f"part {item.sample}")[:8], 16) % _PARTS for item in responses}
    learnt = 0
    for criterion in (item for item in study.rubric.criteria if item.unit == "response"):
        rated = counted_values(people, criterion).group_by("response").agg(pl.col("value").mean()).sort("response")
        scores = {name: value for name, value in rated.iter_rows() if name in part}
        if len(scores) < _LEAST:
            continue
        learnt += 1
        texts = {item.id: item.text for item in responses}
        for held in range(_PARTS):
            known = [name for name in scores if part[name] != held]
            asked = [item for item in responses if part[item.id] == held]
            if not known or not asked:
                continue
            words = TfidfVectorizer(sublinear_tf=True, max_features=5_000)
            model = make_pipeline(words, Ridge(alpha=1.0, solver="lsqr"))
            model.fit([texts[name] for name in known], np.array([scores[name] for name in known]))
            said = np.clip(np.round(model.predict([item.text for item in asked])), *criterion.limits)
            for item, value in zip(asked, said.tolist(), strict=True):
                yield Rating(
                    sample=item.sample,
                    response=item.id,
                    judge=SMOKE_TEST,
                    kind=JudgeKind.CLASSIFIER,
                    criterion=criterion.id,
                    value=value,
                )
    if not learnt:
        raise DataError(f"fewer than {_LEAST} rated responses to learn from", code="too-few-ratings")
