"""Judges of judges: known biases are found at their size, and none where there is none; coverage of powered means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hellofresh.stats.judging import (
    powered_mean,
    rank_correlation,
)

POSTS = np.repeat(np.arange(80), 4)


def world(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """People's scores, and words that better responses have more of."""
    random = np.random.default_rng(seed)
    people = np.clip(np.round(random.normal(6, 2, POSTS.size)), 0, 10)
    words = np.exp(random.normal(4, 0.5, POSTS.size) + 0.1 * people)
    return people, words


def test_the_rank_correlation_is_that_of_scipy_and_its_limits_hold_it() -> None:
    people, words = world(2)
    value, low, high = rank_correlation(words, people, POSTS)
    assert value == pytest.approx(stats.spearmanr(words, people).statistic, abs=1e-10)
    assert low < value < high


def test_powered_means_hold_the_truth_and_are_narrower_with_a_good_judge() -> None:
    random = np.random.default_rng(12)
    held, narrower = 0, []
    for _ in range(300):
        truth = random.normal(5, 2, 200)
        judge = 0.5 * truth + 4 + random.normal(0, 0.5, 200)  # off by far, but in step
        found = powered_mean(truth[:40], judge[:40], judge[40:])
        tuning = np.cov(truth[:40], judge[:40])[0, 1] / ((1 + 40 / 160) * judge.var(ddof=1))
        of_people, of_judge = (truth - tuning * judge)[:40].var(ddof=1) / 40, judge[40:].var(ddof=1) / 160
        assert found.tuning == pytest.approx(min(tuning, 1.0)) and found.value == pytest.approx(
            truth[:40].mean() + found.tuning * (judge[40:].mean() - judge[:40].mean())
        )
        assert tuning > 1 or found.standard_error**2 == pytest.approx(of_people + tuning**2 * of_judge)
        held += found.low <= 5 <= found.high
        narrower.append(found.standard_error / found.classical_error)
    assert 0.91 <= held / 300 <= 0.985
    assert np.mean(narrower) < 0.75
