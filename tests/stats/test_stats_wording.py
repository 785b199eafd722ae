"""Telling the wording from the luck of the samples."""

from __future__ import annotations

import numpy as np
import pytest
from counting import M, draw_jointly

from hellofresh.stats.draws import Draws, wording_share


def prompts(rights: list[float], seed: int, n: int = 400) -> Draws:
    """Prompts that are right with their probability; half of the luck is common to all of them."""
    random = np.random.default_rng(seed)
    labels, common = random.integers(0, 2, n).astype(np.int8), random.random(n)
    luck = [np.where(random.random(n) < 0.5, common, random.random(n)) for _ in rights]
    said = [np.where(own < right, labels, 1 - labels) for own, right in zip(luck, rights, strict=True)]
    return draw_jointly(
        labels, np.array(said, dtype=np.int8), random.integers(0, n // 2, n), resamples=250, seed=seed + 9999
    )


def test_prompts_that_all_say_the_same_leave_nothing_to_the_wording() -> None:
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 200).astype(np.int8)
    said = np.where(random.random(200) < 0.7, labels, 1 - labels).astype(np.int8)
    found = wording_share(draw_jointly(labels, np.stack([said] * 4), resamples=500), M["f1"])
    assert found.spread == pytest.approx(0, abs=1e-15)
    assert found.wording == pytest.approx(0, abs=1e-12)
    assert found.sampling > 0
    assert found.share == pytest.approx(0, abs=1e-9)


def test_equally_good_prompts_have_a_spread_but_on_average_no_wording() -> None:
    rights = [0.7] * 6
    draws = [prompts(rights, seed) for seed in range(80)]
    found = [wording_share(item, M["accuracy"]) for item in draws]
    spread = np.mean([item.spread for item in found])
    # Of the spread, as much is luck as the estimate takes off: before clipping at 0 they are equal on average.
    luck = []
    for item in draws:
        covariance = np.cov(item.of(M["accuracy"]))
        luck.append(np.trace(covariance) / 6 - (covariance.sum() - np.trace(covariance)) / 30)
    assert np.mean(luck) == pytest.approx(spread, rel=0.2)
    assert np.median([item.share for item in found]) < 0.1
    assert np.mean([item.interval.low == 0 for item in found]) > 0.9


def test_the_variance_of_prompts_that_differ_is_found() -> None:
    rights = np.linspace(0.6, 0.85, 6)
    found = [wording_share(prompts(list(rights), seed), M["accuracy"]) for seed in range(60)]
    assert np.mean([item.wording for item in found]) == pytest.approx(rights.var(ddof=1), rel=0.12)
    truth = rights.var(ddof=1) / (rights.var(ddof=1) + np.mean([item.sampling for item in found]))
    held = np.mean([item.interval.low <= truth <= item.interval.high for item in found])
    assert held > 0.85
    assert all(0 <= item.interval.low <= item.interval.high <= 1 for item in found)


def test_more_samples_leave_more_to_the_wording() -> None:
    rights = [0.65, 0.7, 0.75, 0.8]
    few, many = (
        np.mean([wording_share(prompts(rights, seed, n), M["f1"]).share for seed in range(20)]) for n in (200, 2000)
    )
    assert many > few + 0.2


def test_one_prompt_has_no_wording_to_tell() -> None:
    with pytest.raises(ValueError, match="two prompts"):
        wording_share(prompts([0.7], 1), M["f1"])
