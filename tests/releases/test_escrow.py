"""Commitments bind, salts are secret, and the key stays where it is."""

from __future__ import annotations

import hashlib
import json
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.errors import ReleaseError
from hellofresh.releases.draw.escrow import SAMPLE_KEY, Escrow
from hellofresh.tasks.samples import Label

KEY = bytes(range(32))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), st.integers(0, 1))
def test_a_commitment_can_be_checked_by_a_stranger(key: str, label: int) -> None:
    escrow = Escrow(KEY)
    revealed = {"id": key, "label": label, "salt": escrow.salt(key)}
    text = json.dumps(revealed, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert escrow.commitment(Label(key, label, {})) == hashlib.sha256(text.encode()).hexdigest()
    assert escrow.commitment(Label(key, label, {})) != escrow.commitment(Label(key, 1 - label, {}))


def test_salts_are_256_bits_and_differ_by_id_and_key() -> None:
    salts = [Escrow(key).salt(name) for key in (KEY, SAMPLE_KEY) for name in ("a", "b", "a ")]
    assert len(set(salts)) == len(salts)
    assert all(len(bytes.fromhex(salt)) == 32 for salt in salts)


def test_the_key_is_not_shown() -> None:
    shown = repr(Escrow(KEY)) + str(Escrow(KEY))
    assert KEY.hex() not in shown
    assert repr(KEY) not in shown


def test_the_workspace_key_is_made_once_and_for_its_owner_only(make) -> None:
    workspace = make.workspace()
    first = Escrow.of_workspace(workspace)
    assert Escrow.of_workspace(workspace) == first
    assert first.salt("a") != Escrow.of_workspace(make.workspace("other")).salt("a")
    assert stat.S_IMODE(workspace.escrow_key.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"abc", b"00" * 31, b"00" * 33, b"zz" * 32, b"\xff" * 64])
def test_a_damaged_key_is_refused_and_left_as_it_is(make, content: bytes) -> None:
    workspace = make.workspace()
    workspace.escrow_key.parent.mkdir(parents=True)
    workspace.escrow_key.write_bytes(content)
    with pytest.raises(ReleaseError, check=lambda error: error.code == "bad-escrow-key"):
        Escrow.of_workspace(workspace)
    assert workspace.escrow_key.read_bytes() == content
