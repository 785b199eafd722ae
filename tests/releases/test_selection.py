"""What is drawn, and what is kept in escrow."""

from __future__ import annotations

import hashlib
import json
import stat
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hellofresh.releases.draw.escrow import SAMPLE_KEY, Escrow
from hellofresh.releases.draw.release import build_release, select
from hellofresh.tasks.samples import Label
from tests.fakes import refused

shared = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
SIZES = st.tuples(st.integers(0, 8), st.integers(0, 8))


@shared
@given(sizes=SIZES, cap=st.integers(1, 9))
def test_every_period_is_balanced_and_capped(make, sizes: tuple[int, int], cap: int) -> None:
    selection = select(make.notes(*sizes), seed="s", cap=cap)
    found = Counter((item.sample.period, item.label.label) for item in selection.chosen)
    for month in ("2023-04", "2023-05", "2023-06"):
        assert found[month, 0] == found[month, 1] == min(cap, *sizes)
    for period in selection.periods.values():
        assert period.offered[::-1] == sizes
        assert period.taken_per_class == min(cap, *sizes)


def test_within_a_class_the_smallest_hashes_of_seed_and_id_win(make) -> None:
    candidates = make.notes(20, 20, months=(4,))
    for seed in ("a", "b"):
        for label in (0, 1):
            members = [item.sample.id for item in candidates if item.label.label == label]
            expected = sorted(members, key=lambda key: hashlib.sha256(f"{seed}:{key}".encode()).hexdigest())[:6]
            chosen = select(candidates, seed=seed, cap=6).chosen
            assert sorted(expected) == [item.sample.id for item in chosen if item.label.label == label]


@pytest.mark.parametrize("cap", [0, -1])
def test_a_cap_that_takes_nothing_is_refused(make, quarter, notes_task, cap: int) -> None:
    make.release(make.notes(3, 2))
    refused("bad-cap", build_release, make.workspace(), quarter, notes_task, moment=quarter.start, seed="s", cap=cap)


# --- Commitments bind, salts are secret, and the key stays where it is.


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
    refused("bad-escrow-key", Escrow.of_workspace, workspace)
    assert workspace.escrow_key.read_bytes() == content
