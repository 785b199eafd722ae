"""Exchanges: what is read, what is refused, and what is held out; the log, and the watch over it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.fakes import fails_with
from tests.training.conftest import exchange_rows
from training.data import Exchange, in_training_order, read_exchanges, split_exchanges
from training.log import LogRow, is_over_optimised, read_log, row_of, trend_of, write_log


def test_what_is_written_is_read(replies: Path) -> None:
    found = read_exchanges(replies, responses=True)
    assert [one.id for one in found] == [row["id"] for row in exchange_rows()]
    assert found[0].evidence == ["a study in arlow found no effect ."]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('{"id": "a", "claim": "b"', "bad-json"),
        ('{"id": "a", "claim": "b", "response": "c", "reward": 1}', "bad-exchange"),
        ('{"id": "a", "claim": "", "response": "c"}', "bad-exchange"),
        ('{"id": "a", "claim": "b"}', "no-response"),
        ('{"id": "x", "claim": "b", "response": "c"}', "duplicate-id"),
        ('{"id": "a", "id": "b", "claim": "b", "response": "c"}', "repeated-key"),
        (json.dumps({"id": "a", "claim": "b" * 2_000_000, "response": "c"}), "bad-exchange"),
    ],
)
def test_what_cannot_be_learnt_from_is_named_by_its_line(tmp_path: Path, line: str, code: str) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"id": "x", "claim": "b", "response": "c"}\n' + line + "\n")
    with fails_with(code) as caught:
        read_exchanges(path, responses=True)
    assert "line 2" in str(caught.value)


def test_an_empty_or_missing_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    for name, code in (("empty.jsonl", "no-exchanges"), ("none.jsonl", "missing-source")):
        with fails_with(code):
            read_exchanges(tmp_path / name, responses=False)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.99])
def test_no_group_is_on_both_sides_and_neither_side_is_empty(replies: Path, share: float) -> None:
    exchanges = read_exchanges(replies, responses=True)
    learnt, held_out = split_exchanges(exchanges, share, seed=1)
    assert {one.group for one in learnt}.isdisjoint(one.group for one in held_out)
    assert learnt
    assert held_out
    assert sorted(one.id for one in learnt + held_out) == sorted(one.id for one in exchanges)
    assert split_exchanges(exchanges[::-1], share, seed=1)[1] == held_out[::-1]


def test_one_claim_alone_cannot_be_divided() -> None:
    with fails_with("too-few-claims"):
        split_exchanges([Exchange(id="a", claim="b"), Exchange(id="d", claim="b")], 0.5, seed=1)


def test_each_epoch_has_every_sample_once_in_an_order_of_its_own() -> None:
    order = in_training_order(range(7), 3, seed=1)
    epochs = [order[7 * number : 7 * number + 7] for number in range(3)]
    assert all(sorted(epoch) == list(range(7)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert in_training_order(range(7), 2, seed=1) == order[:14]


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
