"""What systems' ratings come to: means, shares of options, and every two systems compared.

A system's mean is over ratings with their weights, so that a response that two people rated counts once. Its interval
is robust to ratings of one post and to ratings by one person.

Two systems are compared in three ways: by Mann and Whitney's test of one mean a post, by Wilcoxon's test of the
differences of these means on posts that both have, and by the mean difference of what the same person said of the two
on the same post, with posts and raters as clusters. Each is adjusted by Holm over all pairs of systems.

`Form.PUBLISHED` does as the released study did: a rating counts as two rows where one person rated alone and as one
where two did, and ties are not corrected for. These rows are taken for independent although two of them may be one
rating, so the p-values are too small by dozens of powers of ten. `Form.HONEST` is the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

import numpy as np
import polars as pl

from hellofresh.judging.agreement import counted_values, numbered
from hellofresh.judging.rubric import Criterion
from hellofresh.judging.table import JudgeKind, RatingPhase
from hellofresh.stats.multiway import ClusteredMean, clustered_mean
from hellofresh.stats.rank_tests import RankTest, holm, mann_whitney, wilcoxon

__all__ = [
    "Form",
    "OptionShare",
    "PairTest",
    "SystemMean",
    "compare_systems",
    "of_systems",
    "option_shares",
    "system_means",
]


class Form(StrEnum):
    """How p-values of ranks are made."""

    HONEST = "honest"
    PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class SystemMean:
    """A system's mean on a criterion.

    Attributes:
        system: whose.
        part: name of the part of the samples, empty for all.
        posts: how many samples were rated.
        mean: with its interval and the spread of ratings.
    """

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
        first, second: the systems.
        ranks: Mann and Whitney's test.
        signed: Wilcoxon's test on common samples; None in the published form.
        difference: first less second, on common samples by the same judges; None in the published form.
        ranks_adjusted, signed_adjusted, difference_adjusted: p-values.
    """

    first: str
    second: str
    ranks: RankTest
    signed: RankTest | None
    difference: ClusteredMean | None
    ranks_adjusted: float = 1.0
    signed_adjusted: float = 1.0
    difference_adjusted: float = 1.0


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
    some = ratings.filter(pl.col("phase") == str(RatingPhase.MAIN), pl.col("kind") == str(kind))
    return some.join(chosen.select("response", "system"), on="response")


def system_means(
    rated: pl.DataFrame, criterion: Criterion, systems: Sequence[str], parts: Mapping[str, str] | None = None
) -> list[SystemMean]:
    """Each system's mean; with parts (of each sample), in each part, in the order of their names.

    Skipped ratings are left out, as in the released study; agreement and tests count them where a rubric says so.
    """
    own = rated.filter(pl.col("criterion") == criterion.id, pl.col("value").is_not_null())
    part = pl.lit("") if parts is None else pl.col("sample").replace_strict(parts, default="", return_dtype=pl.String)
    own = own.with_columns(part.alias("part"))
    found = []
    for system in systems:
        for (name,), rows in own.filter(pl.col("system") == system).sort("part").group_by("part", maintain_order=True):
            found.append(SystemMean(system, str(name), rows["sample"].n_unique(), _mean(rows, "value")))
    return found


def _mean(rows: pl.DataFrame, column: str) -> ClusteredMean:
    return clustered_mean(
        rows[column].cast(pl.Float64).to_numpy(),
        numbered(rows, "sample"),
        numbered(rows, "judge"),
        weights=rows["weight"].to_numpy(),
    )


def option_shares(rated: pl.DataFrame, criterion: Criterion, systems: Sequence[str]) -> list[OptionShare]:
    """How often each value was given, the best first, then none; the shares of a system add up to 1."""
    own = rated.filter(pl.col("criterion") == criterion.id)
    low, high = criterion.limits
    values: list[int | None] = [*range(high, low - 1, -1), None]
    found = []
    for system in systems:
        rows = own.filter(pl.col("system") == system)
        for value in values if rows.height else ():
            hit = pl.col("value").is_null() if value is None else (pl.col("value") == value).fill_null(value=False)
            share = _mean(rows.with_columns(hit.alias("hit")), "hit")
            found.append(OptionShare(system, value, replace(share, low=max(0.0, share.low), high=min(1.0, share.high))))
    return found


def compare_systems(
    rated: pl.DataFrame, criterion: Criterion, systems: Sequence[str], *, form: Form = Form.HONEST
) -> list[PairTest]:
    """Every two systems that were rated on a criterion about the response."""
    own = counted_values(rated, criterion)
    known = [system for system in systems if own.filter(pl.col("system") == system).height]
    found = [_compare(own, one, two, form) for one, two in combinations(known, 2)]
    ranks, signed, differences = (
        holm(np.array(values)) if found else np.zeros(0)
        for values in (
            [item.ranks.p_value for item in found],
            [item.signed.p_value if item.signed else 1.0 for item in found],
            [item.difference.p_value if item.difference else 1.0 for item in found],
        )
    )
    return [
        replace(item, ranks_adjusted=float(a), signed_adjusted=float(b), difference_adjusted=float(c))
        for item, a, b, c in zip(found, ranks, signed, differences, strict=True)
    ]


def _compare(own: pl.DataFrame, first: str, second: str, form: Form) -> PairTest:
    one, two = (own.filter(pl.col("system") == system) for system in (first, second))
    if form is Form.PUBLISHED:
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
    return PairTest(first, second, ranks, signed, _by_same_judge(one, two))


def _by_same_judge(one: pl.DataFrame, two: pl.DataFrame) -> ClusteredMean | None:
    both = one.join(two, on=["sample", "judge"], suffix="_2").sort("sample", "judge")
    if not both.height:
        return None
    both = both.with_columns((pl.col("value") - pl.col("value_2")).alias("difference"))
    both = both.with_columns((1.0 / pl.len().over("sample")).alias("weight"))
    return _mean(both, "difference")
