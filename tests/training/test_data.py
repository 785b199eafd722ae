"""Exchanges: what is read, what is refused, and what is held out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hellofresh.core.errors import DataError
from hellofresh.training.data import Exchange, in_training_order, read_exchanges, split_exchanges
from tests.training.conftest import exchange_rows


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
        (json.dumps({"id": "a", "claim": "b" * 2_000_000, "response": "c"}), "too-large"),
    ],
)
def test_what_cannot_be_learnt_from_is_named_by_its_line(tmp_path: Path, line: str, code: str) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"id": "x", "claim": "b", "response": "c"}\n' + line + "\n")
    with pytest.raises(DataError) as caught:
        read_exchanges(path, responses=True)
    assert caught.value.code == code
    assert "line 2" in str(caught.value)


def test_an_empty_or_missing_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    for name, code in (("empty.jsonl", "no-exchanges"), ("none.jsonl", "missing-file")):
        with pytest.raises(DataError) as caught:
            read_exchanges(tmp_path / name, responses=False)
        assert caught.value.code == code


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
    with pytest.raises(DataError) as caught:
        split_exchanges([Exchange(id="a", claim="b"), Exchange(id="d", claim="b")], 0.5, seed=1)
    assert caught.value.code == "too-few-claims"


def test_each_epoch_has_every_sample_once_in_an_order_of_its_own() -> None:
    order = in_training_order(range(7), 3, seed=1)
    epochs = [order[7 * number : 7 * number + 7] for number in range(3)]
    assert all(sorted(epoch) == list(range(7)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert in_training_order(range(7), 2, seed=1) == order[:14]
