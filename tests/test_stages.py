"""A stage is skipped exactly when inputs and outputs are those of last time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.stages import Stage, input_key


@pytest.fixture
def done(make):
    """A stage that has been done, and its output."""
    workspace = make.workspace()
    output = workspace.root / "out" / "file"
    output.parent.mkdir(parents=True)
    output.write_text("made")
    stage = Stage(workspace, "collect/x/2023Q2", input_key({"a": 1}))
    stage.record([output])
    return stage, output


def test_what_was_never_done_is_not_current(make) -> None:
    assert not Stage(make.workspace(), "a/b", input_key({})).is_current()


def test_what_was_done_is_current_until_an_input_changes(done) -> None:
    stage, _ = done
    assert stage.is_current()
    assert Stage(stage.workspace, stage.name, input_key({"a": 1})).is_current()
    assert not Stage(stage.workspace, stage.name, input_key({"a": 2})).is_current()
    assert not Stage(stage.workspace, "collect/x/2023Q3", stage.key).is_current()


def test_an_output_changed_by_hand_is_seen_and_seen_to_be_put_back(done) -> None:
    stage, output = done
    output.write_text("MADE")
    assert not stage.is_current()
    output.write_text("made")
    assert stage.is_current()
    output.unlink()
    assert not stage.is_current()


@pytest.mark.parametrize(
    "receipt", ["", "{", "[]", "null", "7", '{"key": 1}', '{"outputs": {}}', '{"key":"K","outputs":[]}']
)
def test_a_damaged_receipt_means_to_do_it_again(done, receipt: str) -> None:
    stage, _ = done
    (path,) = stage.workspace.root.glob("private/receipts/**/*.json")
    path.write_text(receipt.replace("K", stage.key))
    assert not stage.is_current()


@given(
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=3),
)
def test_keys_agree_exactly_when_inputs_do(a: dict[str, int], b: dict[str, int]) -> None:
    assert (input_key(a) == input_key(b)) == (a == b)
