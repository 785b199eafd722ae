"""The log, and the watch over it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hellofresh.training.log import LogRow, is_over_optimised, read_log, row_of, trend_of, write_log


def rows(reward: float, judge: float, steps: int = 30) -> list[LogRow]:
    noise = np.random.default_rng(1).normal(scale=0.3, size=(steps, 2))
    return [
        LogRow(step, reward=reward * step / steps + a, judge=judge * step / steps + b)
        for step, (a, b) in enumerate(noise, start=1)
    ]


@pytest.mark.parametrize(
    ("reward", "judge", "flagged"), [(2, -2, True), (2, 2, False), (2, 0, False), (-2, -2, False), (0, -2, False)]
)
def test_only_a_reward_that_rises_while_the_judge_falls_is_flagged(reward: float, judge: float, flagged: bool) -> None:
    assert is_over_optimised(rows(reward, judge)) is flagged


def test_noise_alone_is_seldom_flagged() -> None:
    random = np.random.default_rng(2)
    flags = [
        is_over_optimised([LogRow(step, reward=a, judge=b) for step, (a, b) in enumerate(random.normal(size=(20, 2)))])
        for _ in range(400)
    ]
    assert sum(flags) < 5  # both tails at 2.5%: one in 1,600


def test_a_straight_line_has_its_own_slope_and_no_doubt() -> None:
    trend = trend_of([LogRow(step, reward=3 * step) for step in range(11)], "reward")
    assert trend is not None
    assert trend.change == pytest.approx(30)
    assert trend.low == pytest.approx(trend.high)


def test_too_few_steps_have_no_trend() -> None:
    assert trend_of([LogRow(step, reward=1.0) for step in range(4)], "reward") is None
    assert not is_over_optimised([])


def test_the_log_is_read_as_it_was_written(tmp_path: Path) -> None:
    known = [LogRow(0, held_out_loss=2.5), LogRow(1, loss=2.0, reward=0.5, kl=-0.01, length=20.0)]
    write_log(tmp_path / "log.jsonl", known)
    assert read_log(tmp_path / "log.jsonl") == known


def test_kl_is_told_by_response_and_what_is_not_finite_left_out() -> None:
    logs = {"loss": 0.1, "kl": 0.02, "completions/mean_length": 50.0, "reward": float("nan"), "rewards/judge/mean": 0.3}
    row = row_of(3, logs)
    assert row == LogRow(3, loss=0.1, kl=1.0, length=50.0, judge=0.3)
    assert row_of(3, {"train_runtime": 1.0}) is None
