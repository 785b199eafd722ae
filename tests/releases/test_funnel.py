"""A funnel adds up, or is not a funnel."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hellofresh.core.errors import DataError
from hellofresh.releases.candidates import Drop, Funnel
from hellofresh.releases.collection import CollectionAccount, read_account_file

COUNTS = st.integers(0, 1000)
DROPS = st.lists(COUNTS.map(lambda n: Drop("why", "what it means", n)), max_size=5).map(tuple)
KEPT = st.dictionaries(st.sampled_from(["2023-04", "2023-05"]), st.fixed_dictionaries({0: COUNTS, 1: COUNTS}))


@given(DROPS, KEPT, st.integers(-3, 3))
def test_it_adds_up_or_is_refused(drops: tuple[Drop, ...], kept: dict[str, dict[int, int]], off: int) -> None:
    total = sum(drop.count for drop in drops) + sum(sum(labels.values()) for labels in kept.values())
    if off == 0:
        funnel = Funnel("rows", total, drops, kept)
        assert funnel.dropped + funnel.total_kept == funnel.rows_in
    else:
        with pytest.raises(DataError) as caught:
            Funnel("rows", total + off, drops, kept)
        assert caught.value.code == "funnel"


@given(DROPS, KEPT)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_reads_back_from_the_account_that_it_was_written_to(
    tmp_path: Path, drops: tuple[Drop, ...], kept: dict[str, dict[int, int]]
) -> None:
    total = sum(drop.count for drop in drops) + sum(sum(labels.values()) for labels in kept.values())
    funnel = Funnel("rows", total, drops, kept, {"pages": 3})
    said = CollectionAccount(
        task="x-notes", quarter="2023Q2", source="dump", sources=(), parameters={"a": [1, None]}, funnel=funnel,
        warnings=("odd",), files={},
    )  # fmt: skip
    said.write(tmp_path / "account.json")
    assert read_account_file(tmp_path / "account.json") == said


def test_both_labels_are_counted_in_every_period(make) -> None:
    candidates = make.notes(2, 0, months=(5,)) + make.notes(1, 3, months=(4,))
    assert Funnel.count_kept(candidates) == {"2023-04": {0: 3, 1: 1}, "2023-05": {0: 0, 1: 2}}
    assert list(Funnel.count_kept(candidates)) == ["2023-04", "2023-05"]


def test_a_changed_account_is_refused_and_one_of_an_earlier_version_read(tmp_path: Path) -> None:
    path = tmp_path / "account.json"
    said = CollectionAccount(
        task="x-notes", quarter="2023Q2", source="dump", sources=(), parameters={}, funnel=Funnel("rows", 0, (), {}),
        warnings=("1,000 rows had no post",), files={},
    )  # fmt: skip
    said.write(path)
    sound = path.read_text()
    path.write_text(sound.replace("1,000 rows", "1,001 rows"))
    with pytest.raises(DataError) as caught:
        read_account_file(path)
    assert caught.value.code == "bad-account" and "--force" in str(caught.value)
    path.write_text("".join(line for line in sound.splitlines(keepends=True) if "checksum" not in line))
    assert read_account_file(path) == said
