"""Means of what is helpful to people who disagree, in a study of people of two camps."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hellofresh.judging.comparison import LEAST_PEOPLE, LEAST_RATINGS, bridged_means
from hellofresh.judging.rubric import load_rubric

RUBRIC = load_rubric("correction-13")
OVERALL = RUBRIC.criterion(RUBRIC.overall)


def study(people: int, posts: int = 12) -> pl.DataFrame:
    """`loved` pleases most of one camp, which has three in five people; `bridging` most of both, less than all."""
    random, rows = np.random.default_rng(1), []
    for person in range(people):
        mine = person % 5 < 3
        for post in range(posts):
            for system, likes in (("loved", 0.97 if mine else 0.25), ("bridging", 0.66), ("neither", 0.3)):
                value = (9.0 if random.random() < likes else 1.0) + random.integers(0, 2)
                rows.append((f"p{post}", f"{system}-{post}", system, f"judge-{person:02d}", OVERALL.id, value, ""))
    columns = ["sample", "response", "system", "judge", "criterion", "value", "comment"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def test_what_both_camps_like_comes_before_what_the_larger_camp_loves() -> None:
    rated = study(40)
    plain = dict(rated.group_by("system").agg(pl.col("value").mean()).iter_rows())
    assert plain["loved"] > plain["bridging"] > plain["neither"]
    found = bridged_means(rated, OVERALL)
    assert found.missing == "" and (found.people, found.responses) == (40, 36)
    assert [item.system for item in found.systems] == ["bridging", "loved", "neither"]
    assert found.systems[0].mean.low > found.systems[1].mean.value
    shuffled = bridged_means(rated.sample(fraction=1, shuffle=True, seed=3), OVERALL)
    assert [item.mean.value for item in shuffled.systems] == pytest.approx(
        [item.mean.value for item in found.systems], abs=1e-6
    )


def test_small_studies_say_why_there_is_none() -> None:
    assert f"takes {LEAST_PEOPLE} people" in bridged_means(study(LEAST_PEOPLE - 1), OVERALL).missing
    few = study(40).filter(pl.col("judge").str.slice(-2).cast(pl.Int64) % 12 == pl.col("sample").str.slice(1).cast(int))
    assert f"{LEAST_RATINGS} ratings of a response; here are 40 people" in bridged_means(few, OVERALL).missing
    assert bridged_means(study(40).clear(), OVERALL).missing
