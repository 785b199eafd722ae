"""Statistics of ratings: agreement of raters on each criterion, systems' means and shares of options, and all pairs.

A system's mean is the weighted mean of ratings, so that a response rated by two people counts once. Its interval is
clustered by post and, from three people on, also by person (see `ClusteredMean.over`).

Two systems are compared in three ways: by Mann and Whitney's test of the means per post, by Wilcoxon's test of the
differences of these means on common posts, and by the mean difference of the same person's ratings of both systems on
the same post, with posts and raters as clusters. Each is adjusted by Holm over all pairs of systems. The last one is
the lead that the board shows: raters differ in severity and posts in difficulty, so both are held equal; and it rests
on all posts of the two, since a third system that failed on some must not change how far they are apart.

`Form.PUBLISHED` follows the released study: a rating counts as two rows if one person rated alone and as one if two
did, without correction for ties. These rows are treated as independent although two of them may be one rating, so the
p-values are too small by dozens of powers of ten. `Form.HONEST` is the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.judging.rubric import Criterion, Rubric
from hellofresh.judging.study import UNREADABLE, JudgeKind, main_ratings
from hellofresh.stats.agreement import Alpha, Distance, RaterAgreement, krippendorff_alpha, rater_agreement
from hellofresh.stats.bridging import BridgingSettings, Ratings, fit_round
from hellofresh.stats.intervals import t_quantile
from hellofresh.stats.multiway import ClusteredMean, RankTest, clustered_mean, holm, mann_whitney, wilcoxon
from hellofresh.stats.ranking import SIGNIFICANCE, agreeing_limits

LEAST_PEOPLE, LEAST_RATINGS = 30, 5
"""With fewer people, or ratings per response and person, camps cannot be distinguished from chance."""


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """Agreement of raters on one criterion.

    Attributes:
        units: responses (or links) that at least two of them rated.
        pairs: the pairs of raters, in the order of `agreement.by_pair`.
        agreement: kappa and observed agreement; None without common ratings.
        alpha: Krippendorff's alpha of all raters.
    """

    criterion: Criterion
    units: int
    pairs: Sequence[tuple[str, str]]
    agreement: RaterAgreement | None
    alpha: Alpha | None


def agreement_by_criterion(ratings: pl.DataFrame, rubric: Rubric) -> list[CriterionAgreement]:
    """Agreement of people on every criterion of a rubric, in its order, without the onboarding."""
    some = main_ratings(ratings, JudgeKind.PERSON)
    return [criterion_agreement(some, criterion) for criterion in rubric.criteria]


def criterion_agreement(ratings: pl.DataFrame, criterion: Criterion) -> CriterionAgreement:
    """Agreement on one criterion; posts are the clusters of its intervals."""
    low, _ = criterion.limits
    own = counted_values(ratings, criterion).with_columns((pl.col("value") - low).cast(pl.Int64).alias("answer"))
    own = own.select("sample", "response", "link", "judge", "answer")
    unit = ["sample", "response", "link"]
    pairs = own.join(own, on=unit, suffix="_2").filter(pl.col("judge") < pl.col("judge_2"))
    pairs = pairs.sort("judge", "judge_2", *unit)
    if not pairs.height:
        return CriterionAgreement(criterion, 0, (), None, None)
    names = pairs.select("judge", "judge_2").unique(maintain_order=True).rows()
    agreement = rater_agreement(
        pairs["answer"].to_numpy(),
        pairs["answer_2"].to_numpy(),
        criterion.answers,
        pairs=numbered(pairs, "judge", "judge_2"),
        groups=numbered(pairs, "sample"),
    )
    distance = Distance.INTERVAL if criterion.range else Distance.ORDINAL
    several = own.filter(pl.len().over(unit) > 1)
    alpha = krippendorff_alpha(
        numbered(several, *unit), several["answer"].to_numpy(), distance=distance, groups=numbered(several, "sample")
    )
    return CriterionAgreement(criterion, pairs.select(unit).n_unique(), names, agreement, alpha)


def counted_values(ratings: pl.DataFrame, criterion: Criterion) -> pl.DataFrame:
    """The ratings on a criterion with a value or a substitute for a skipped one, without unreadable answers."""
    own = ratings.filter(pl.col("criterion") == criterion.id, pl.col("comment") != UNREADABLE)
    if criterion.if_skipped is not None:
        own = own.with_columns(pl.col("value").fill_null(float(criterion.if_skipped)))
    return own.filter(pl.col("value").is_not_null())


def numbered(frame: pl.DataFrame, *columns: str) -> NDArray[np.int64]:
    """Numbers of rows, equal for rows with equal values in these columns, in sorted order."""
    return frame.select(pl.struct(columns).rank("dense").cast(pl.Int64))[columns[0]].to_numpy() - 1


class Form(StrEnum):
    """The method for p-values of ranks."""

    HONEST = "honest"
    PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class SystemMean:
    """A system's mean on a criterion over the rated posts of a part of the samples (empty for all)."""

    system: str
    part: str
    posts: int
    mean: ClusteredMean


@dataclass(frozen=True, slots=True)
class OptionShare:
    """The share of one value among a system's ratings on a criterion; `value` is None for undecided or skipped."""

    system: str
    value: int | None
    share: ClusteredMean


@dataclass(frozen=True, slots=True)
class PairTest:
    """Two systems on one criterion; the adjusted p-values are Holm's over all pairs.

    Attributes:
        ranks: Mann and Whitney's test.
        signed: Wilcoxon's test on common samples; None in the published form.
        difference: first minus second, on common samples by the same judges, with limits that hold for all pairs
            together; None in the published form.
    """

    first: str
    second: str
    ranks: RankTest
    signed: RankTest | None
    difference: ClusteredMean | None
    ranks_adjusted: float = 1.0
    signed_adjusted: float = 1.0
    difference_adjusted: float = 1.0


@dataclass(frozen=True, slots=True)
class BridgedMeans:
    """Helpfulness of responses to people who disagree: intercepts of `hellofresh.stats.bridging`.

    Attributes:
        people, responses: their numbers in the fit.
        systems: mean intercepts with intervals over posts, by system, the best first; on the scale of the fit, where a
            rating in the upper third of the scale is 1 and one in the lower third 0, less what is usual.
        missing: a sentence with the reason for missing means, else empty.
    """

    people: int = 0
    responses: int = 0
    systems: Sequence[SystemMean] = ()
    missing: str = ""


def bridged_means(rated: pl.DataFrame, criterion: Criterion) -> BridgedMeans:
    """Fit people and responses on one criterion, and average the responses' intercepts by system.

    Args:
        rated: ratings with systems, from `of_systems`.
        criterion: with a range; thirds of it are not helpful, somewhat and helpful.
    """
    own = counted_values(rated, criterion).sort("response", "judge").unique(["response", "judge"], maintain_order=True)
    low, high = criterion.limits
    third = 3 * (own["value"].to_numpy() - low) / (high - low)
    level = ((third >= 1).astype(np.int8) + (third > 2)).astype(np.int8)
    response, judge = (numbered(own, name) for name in ("response", "judge"))
    settings = BridgingSettings(min_num_raters_per_note=LEAST_RATINGS, min_num_ratings_per_rater=LEAST_RATINGS)
    counts = [np.bincount(some) for some in (response, judge)]
    people, most = counts[1].size, int(counts[0].max(initial=0))
    if people < LEAST_PEOPLE or most < LEAST_RATINGS:
        missing = (
            f"Helpfulness to people who disagree needs {LEAST_PEOPLE} people and {LEAST_RATINGS} ratings of a "
            f"response; here are {people} people, and {most} ratings at most."
        )
        return BridgedMeans(missing=missing)
    ratings = Ratings(response.astype(np.int32), judge.astype(np.int32), level, np.ones(level.size, np.bool_))
    try:
        fit = fit_round(ratings, counts[0].size, people, settings)
    except ValueError as error:
        return BridgedMeans(missing=f"Helpfulness to people who disagree cannot be fitted: {error}.")
    took_part = int(np.isfinite(fit.rater_intercept).sum())
    if took_part < LEAST_PEOPLE:
        return BridgedMeans(
            missing=f"Only {took_part} of {people} people rated {LEAST_RATINGS} such responses or more."
        )
    each = own.unique("response", maintain_order=True).with_columns(intercept=pl.Series(fit.note_intercept))
    each = each.filter(pl.col("intercept").is_finite())
    means = [
        SystemMean(str(system), "", rows["sample"].n_unique(), clustered_mean(
            rows["intercept"].to_numpy(), groups=numbered(rows, "sample")))
        for (system,), rows in each.group_by("system", maintain_order=True)
    ]  # fmt: skip
    return BridgedMeans(took_part, each.height, sorted(means, key=lambda item: -item.mean.value))


def of_systems(
    ratings: pl.DataFrame, key: pl.DataFrame, *, kind: JudgeKind = JudgeKind.PERSON, shared: bool = False
) -> pl.DataFrame:
    """Ratings with the column `system`, without those of the onboarding.

    Args:
        ratings: table of `Rating`.
        key: table of `KeyRow`.
        kind: whose ratings.
        shared: count a response also for systems that have the same one as the system it was rated under.
    """
    chosen = key if shared else key.filter(pl.col("same_as") == "")
    return main_ratings(ratings, kind).join(chosen.select("response", "system"), on="response")


def system_means(
    rated: pl.DataFrame, criterion: Criterion, systems: Sequence[str], parts: Mapping[str, str] | None = None
) -> list[SystemMean]:
    """Each system's mean; with `parts` (part by sample), in each part, in the order of their names.

    Skipped ratings are left out, as in the released study; agreement and tests count them if the rubric says so.
    """
    own = rated.filter(pl.col("criterion") == criterion.id, pl.col("value").is_not_null())
    part = pl.lit("") if parts is None else pl.col("sample").replace_strict(parts, default="", return_dtype=pl.String)
    own = own.with_columns(part.alias("part"))
    found = []
    for system in systems:
        for (name,), rows in own.filter(pl.col("system") == system).sort("part").group_by("part", maintain_order=True):
            found.append(SystemMean(system, str(name), rows["sample"].n_unique(), mean_rating(rows, criterion)))
    return found


def mean_rating(rows: pl.DataFrame, criterion: Criterion) -> ClusteredMean:
    """The mean of a system's ratings on a criterion, with an interval over other posts and other raters."""
    return _mean(rows, "value", criterion.limits)


def _mean(rows: pl.DataFrame, column: str, limits: tuple[float, float]) -> ClusteredMean:
    return clustered_mean(
        rows[column].cast(pl.Float64).to_numpy(),
        numbered(rows, "sample"),
        numbered(rows, "judge"),
        weights=rows["weight"].to_numpy(),
        limits=limits,
    )


def option_shares(rated: pl.DataFrame, criterion: Criterion, systems: Sequence[str]) -> list[OptionShare]:
    """The share of each value, the best first, then of no value; the shares of a system add up to 1."""
    own = rated.filter(pl.col("criterion") == criterion.id)
    low, high = criterion.limits
    values: list[int | None] = [*range(high, low - 1, -1), None]
    found = []
    for system in systems:
        rows = own.filter(pl.col("system") == system)
        for value in values if rows.height else ():
            hit = pl.col("value").is_null() if value is None else (pl.col("value") == value).fill_null(value=False)
            found.append(OptionShare(system, value, _mean(rows.with_columns(hit.alias("hit")), "hit", (0, 1))))
    return found


def compare_systems(
    rated: pl.DataFrame, criterion: Criterion, systems: Sequence[str], *, form: Form = Form.HONEST
) -> list[PairTest]:
    """Compare all pairs of systems that were rated on a criterion about the response."""
    own = counted_values(rated, criterion)
    known = [system for system in systems if own.filter(pl.col("system") == system).height]
    span = float(criterion.limits[1] - criterion.limits[0])
    found = [_compare(own, one, two, form, span) for one, two in combinations(known, 2)]
    ranks, signed, differences = (
        holm(np.array(values)) if found else np.zeros(0)
        for values in (
            [item.ranks.p_value for item in found],
            [item.signed.p_value if item.signed else 1.0 for item in found],
            [item.difference.p_value if item.difference else 1.0 for item in found],
        )
    )
    return [
        replace(item, ranks_adjusted=float(a), signed_adjusted=float(b), difference_adjusted=float(c),
                difference=_for_all(item.difference, float(c), len(found), span))
        for item, a, b, c in zip(found, ranks, signed, differences, strict=True)
    ]  # fmt: skip


def _for_all(one: ClusteredMean | None, adjusted: float, pairs: int, span: float) -> ClusteredMean | None:
    """A difference with Bonferroni's limits, cut at 0 where Holm's test, which is stronger, finds it."""
    if one is None or one.clusters < 2:
        return one
    reach = t_quantile(1 - SIGNIFICANCE / (2 * pairs), one.df) * one.standard_error
    value, unclear = np.array([one.value]), np.array([adjusted >= SIGNIFICANCE])
    (low,), (high,) = agreeing_limits(value, np.array([reach]), unclear, span)
    return replace(one, low=float(low), high=float(high))


def _compare(own: pl.DataFrame, first: str, second: str, form: Form, span: float) -> PairTest:
    one, two = (own.filter(pl.col("system") == system) for system in (first, second))
    if form is Form.PUBLISHED:  # the paper compares votes, each as often as it counts, without a correction for ties
        rows = [
            side.select(pl.col("value").repeat_by((2 * pl.col("weight")).round().cast(pl.UInt32)).explode())
            for side in (one, two)
        ]
        ranks = mann_whitney(*(side["value"].to_numpy() for side in rows), ties=False, continuity=False)
        return PairTest(first, second, ranks, None, None)
    means = [
        side.group_by("sample").agg((pl.col("value") * pl.col("weight")).sum() / pl.col("weight").sum()).sort("sample")
        for side in (one, two)
    ]
    ranks = mann_whitney(*(side["value"].to_numpy() for side in means))
    common = means[0].join(means[1], on="sample", suffix="_2")
    if not common.height:
        return PairTest(first, second, ranks, None, None)
    signed = wilcoxon((common["value"] - common["value_2"]).to_numpy())
    both = one.join(two, on=["sample", "judge"], suffix="_2").sort("sample", "judge")
    # each sample counts once, however many rated it
    both = both.with_columns(difference=pl.col("value") - pl.col("value_2"), weight=1.0 / pl.len().over("sample"))
    return PairTest(first, second, ranks, signed, _mean(both, "difference", (-span, span)) if both.height else None)
