"""A release is the same bytes from the same candidates, its commitments hold, and its public side knows no label."""

from __future__ import annotations

import hashlib
import random
import stat
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import show_built
from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import write_bytes
from hellofresh.releases.collection import collect_quarter, write_candidates
from hellofresh.releases.draw.escrow import Escrow
from hellofresh.releases.draw.release import build_release, select
from hellofresh.releases.life.load import load_release
from hellofresh.releases.life.manifest import BUNDLED, read_manifest
from hellofresh.results.board.release_rows import PeriodBalance
from leaderboard.views.data import _balance
from tests.fakes import fails_with, refused


def content(workspace) -> dict[str, bytes]:
    """Every file of a release, public and private, by its place in the workspace."""
    found = {}
    for side in ("releases", "private"):
        for path in sorted((workspace.root / side).rglob("*")):
            if path.is_file() and "receipts" not in path.parts:
                found[path.relative_to(workspace.root).as_posix()] = path.read_bytes()
    return found


def test_two_workspaces_give_the_same_bytes_whatever_the_order_of_candidates(make) -> None:
    candidates = make.notes(6, 5)
    make.release(candidates, workspace=make.workspace("one"), source=BUNDLED, cap=4)
    random.Random(5).shuffle(candidates)
    make.release(candidates, workspace=make.workspace("two"), source=BUNDLED, cap=4)
    one, two = content(make.workspace("one")), content(make.workspace("two"))
    assert one == two
    assert len(one) == 6


def test_with_a_key_of_its_own_only_salts_commitments_and_the_draw_differ(make) -> None:
    for name in ("one", "two"):
        make.release(make.notes(3, 3), workspace=make.workspace(name))
    one, two = content(make.workspace("one")), content(make.workspace("two"))
    different = {name.rsplit("/")[-1] for name in one if one[name] != two[name]}
    assert different == {"escrow.key", "draw.key", "labels.jsonl", "commitments.jsonl", "manifest.json"}


def test_labels_are_for_their_owner_only_and_the_rest_for_everybody(make, quarter) -> None:
    make.release(make.notes(2, 2))
    workspace = make.workspace()
    private = {path for path in workspace.root.rglob("*") if path.is_file() and "releases" not in path.parts}
    private = {path for path in private if not {"receipts", "locks"} & set(path.parts)}
    names = {"labels.jsonl", "samples.jsonl", "draw.key", "counts.json", "escrow.key", "exposure.parquet"}
    assert {path.name for path in private} >= names
    assert {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in private} == {
        path.name: oct(0o600) for path in private
    }
    for path in workspace.release(quarter, "x-notes").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_without_candidates_there_is_no_release(make, quarter, notes_task) -> None:
    with pytest.raises(ReleaseError, check=lambda error: error.code == "no-candidates"):
        build_release(make.workspace(), quarter, notes_task, moment=quarter.start, seed="s", cap=1)
    assert not make.workspace().root.exists()


def test_with_one_label_only_there_is_no_release_and_nothing_half_written(make) -> None:
    with fails_with("empty-release") as caught:
        make.release(make.notes(4, 0))
    assert caught.value.expected == "at least one helpful and one not helpful in a month"
    assert not (make.workspace().root / "releases").exists()


def test_a_month_with_one_class_falls_out_of_the_release_and_its_page_and_the_command_say_so(make, capsys) -> None:
    built = make.release([*make.notes(3, 3, months=(4, 6)), *make.notes(4, 0, months=(5,))])
    show_built(CommandOutput(as_json=False), [built])
    assert "nothing of 2023-05 is in the release" in " ".join(capsys.readouterr().err.split())
    rows = [PeriodBalance("dump", "2023-05", (4, 0), 0, 2), PeriodBalance("dump", "2023-06", (3, 3), 3, 2)]
    page = str(_balance(SimpleNamespace(balance=lambda _: rows), SimpleNamespace(task="x-notes")))
    assert "No samples of 2023-05: all candidates of that time have the same label" in page


def test_no_release_is_said_with_the_command_that_makes_one(make, quarter, notes_task) -> None:
    with pytest.raises(ReleaseError, match="hellofresh release build") as caught:
        load_release(make.workspace(), quarter, notes_task)
    assert caught.value.code == "no-release"


def test_candidates_that_are_not_those_of_their_account_are_not_released(make, quarter, notes_task) -> None:
    """Rows of one collection under the account of another would be published as what they are not."""
    workspace = make.workspace()
    make.release(make.notes(3, 3))
    before = content(workspace)
    turned = [replace(item, label=replace(item.label, label=1 - item.label.label)) for item in make.notes(3, 3)]
    write_candidates(workspace.candidates("x-notes", quarter), notes_task, turned)
    with pytest.raises(ReleaseError, check=lambda error: error.code == "other-candidates"):
        build_release(workspace, quarter, notes_task, seed="hellofresh", cap=5, moment=quarter.start)
    assert content(workspace) == before


# --- What is drawn, and what is kept in escrow.


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


def test_a_main_split_has_as_many_samples_of_a_post_as_asked_whatever_their_labels(make, quarter, notes_task) -> None:
    candidates = make.notes(4, 4)  # two notes a post
    drawn = {}
    for most in (1, 2, None):
        workspace = make.workspace(str(most))
        write_bytes(workspace.escrow_key, b"1" * 64, mode=0o600)
        collect_quarter(workspace, make.job(candidates), progress=lambda _: None)
        build_release(workspace, quarter, notes_task, seed="s", cap=250, per_group=most, moment=quarter.start)
        samples = load_release(workspace, quarter, notes_task).samples
        drawn[most] = Counter(sample.group for sample in samples)
        funnel = read_manifest(workspace.release(quarter, "x-notes")).collection.funnel
        assert funnel.ledger().left_out == ({"same-group": 12} if most == 1 else {})
    assert max(drawn[1].values()) == 1 and max(drawn[2].values()) == 2 and drawn[2] == drawn[None]
