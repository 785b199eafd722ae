"""How far raters agree, criterion by criterion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.judging.rubric import Criterion, Rubric
from hellofresh.judging.table import JudgeKind, RatingPhase
from hellofresh.stats.agreement import Weighting
from hellofresh.stats.raters import Alpha, Distance, RaterAgreement, krippendorff_alpha, rater_agreement

__all__ = ["CriterionAgreement", "agreement_by_criterion", "counted_values", "criterion_agreement", "numbered"]


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """Raters on one criterion.

    Attributes:
        criterion: which.
        units: responses (or links) that at least two of them rated.
        pairs: the pairs of raters, in the order of `agreement.by_pair`.
        agreement: kappa and observed agreement; None where no two raters rated anything together.
        alpha: Krippendorff's, of all raters.
    """

    criterion: Criterion
    units: int
    pairs: Sequence[tuple[str, str]]
    agreement: RaterAgreement | None
    alpha: Alpha | None


def agreement_by_criterion(
    ratings: pl.DataFrame,
    rubric: Rubric,
    *,
    weighting: Weighting = Weighting.QUADRATIC,
    kind: JudgeKind = JudgeKind.PERSON,
) -> list[CriterionAgreement]:
    """Agreement on every criterion of a rubric, in its order.

    Args:
        ratings: table of `Rating`; those of the onboarding are left out.
        rubric: what they were made by.
        weighting: how much two answers disagree.
        kind: whose ratings.
    """
    some = ratings.filter(pl.col("phase") == str(RatingPhase.MAIN), pl.col("kind") == str(kind))
    return [criterion_agreement(some, criterion, weighting=weighting) for criterion in rubric.criteria]


def criterion_agreement(
    ratings: pl.DataFrame, criterion: Criterion, *, weighting: Weighting = Weighting.QUADRATIC
) -> CriterionAgreement:
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
        weighting=weighting,
    )
    distance = Distance.INTERVAL if criterion.range else Distance.ORDINAL
    several = own.filter(pl.len().over(unit) > 1)
    alpha = krippendorff_alpha(
        numbered(several, *unit), several["answer"].to_numpy(), distance=distance, groups=numbered(several, "sample")
    )
    return CriterionAgreement(criterion, pairs.select(unit).n_unique(), names, agreement, alpha)


def counted_values(ratings: pl.DataFrame, criterion: Criterion) -> pl.DataFrame:
    """The ratings on a criterion that have a value, or one for having been skipped."""
    own = ratings.filter(pl.col("criterion") == criterion.id)
    if criterion.if_skipped is not None:
        own = own.with_columns(pl.col("value").fill_null(float(criterion.if_skipped)))
    return own.filter(pl.col("value").is_not_null())


def numbered(frame: pl.DataFrame, *columns: str) -> NDArray[np.int64]:
    """Equal numbers for rows that are equal in these columns, in the columns' order."""
    return frame.select(pl.struct(columns).rank("dense").cast(pl.Int64))[columns[0]].to_numpy() - 1
