"""Candidates come back from Parquet as they were, and a funnel adds up."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hellofresh.core.errors import DataError
from hellofresh.core.files import sha256_file
from hellofresh.releases.candidates import Drop, Funnel, read_candidates, write_candidates
from hellofresh.releases.collection import CollectionAccount, read_account_file
from hellofresh.tasks.samples import Label


def test_notes_come_back_as_they_were_without_characters_that_deceive(make, notes_task, tmp_path) -> None:
    candidates = make.notes(3, 2)
    plain = replace(candidates[0].sample, post=replace(candidates[0].sample.post, text='a\r\n"{post}" \u2028 é 🙂'))
    odd = replace(plain, post=replace(plain.post, text='a\r\n\0"{post}"\x1b\u202e \u2028 é 🙂'))
    candidates[0] = replace(candidates[0], sample=odd)
    write_candidates(tmp_path / "c.parquet", notes_task, candidates)
    candidates[0] = replace(candidates[0], sample=plain)
    assert read_candidates(tmp_path / "c.parquet", notes_task) == sorted(candidates, key=lambda item: item.sample.id)


def test_edits_come_back_with_numbers_as_numbers(make, edits_task, tmp_path) -> None:
    candidates = [make.candidate(make.edit(n), n % 2) for n in (1, 2, 2**40)]
    facts = {**dict.fromkeys(edits_task.label_facts), "revert_delay_s": 2**40, "survived_edits": 0}
    candidates[1] = replace(candidates[1], label=Label(candidates[1].sample.id, 0, facts))
    write_candidates(tmp_path / "c.parquet", edits_task, candidates)
    found = {item.sample.id: item for item in read_candidates(tmp_path / "c.parquet", edits_task)}
    assert found == {item.sample.id: item for item in candidates}


def test_facts_that_nobody_knows_come_back_as_nothing(make, notes_task, tmp_path) -> None:
    note = make.note(1)
    write_candidates(
        tmp_path / "c.parquet", notes_task, [replace(make.candidate(note, 1), label=Label(note.id, 1, {}))]
    )
    assert read_candidates(tmp_path / "c.parquet", notes_task)[0].label.facts == dict.fromkeys(notes_task.label_facts)


def test_a_fact_known_late_keeps_its_type(make, notes_task, tmp_path) -> None:
    candidates = [make.candidate(make.note(1000 + n), 1) for n in range(300)]
    last = candidates[-1]
    candidates[-1] = replace(last, label=Label(last.sample.id, 1, {"ratings": 12, "status_locked_at": None}))
    write_candidates(tmp_path / "c.parquet", notes_task, candidates)
    assert read_candidates(tmp_path / "c.parquet", notes_task)[-1].label.facts["ratings"] == 12


def test_the_order_in_which_they_are_found_does_not_show(make, notes_task, tmp_path) -> None:
    candidates = make.notes(10, 10)
    write_candidates(tmp_path / "a.parquet", notes_task, candidates)
    random.Random(1).shuffle(candidates)
    write_candidates(tmp_path / "b.parquet", notes_task, candidates)
    assert sha256_file(tmp_path / "a.parquet") == sha256_file(tmp_path / "b.parquet")


def test_an_id_twice_is_refused_and_nothing_is_written(make, notes_task, tmp_path) -> None:
    with pytest.raises(DataError) as caught:
        write_candidates(tmp_path / "c.parquet", notes_task, [*make.notes(1, 1), *make.notes(1, 0)])
    assert caught.value.code == "duplicate-id"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, b"", b"PAR1 and then nothing", b"PAR1" * 100])
def test_a_file_that_is_no_parquet_is_refused(notes_task, tmp_path, content: bytes | None) -> None:
    path = tmp_path / "c.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_candidates(path, notes_task)
    assert caught.value.code == ("missing-file" if content is None else "bad-parquet")


def test_the_candidates_of_another_task_are_refused(make, notes_task, edits_task, tmp_path) -> None:
    write_candidates(tmp_path / "c.parquet", notes_task, make.notes(1, 1))
    with pytest.raises(DataError):
        read_candidates(tmp_path / "c.parquet", edits_task)


def test_a_table_without_a_label_is_refused(make, notes_task, tmp_path) -> None:
    write_candidates(tmp_path / "c.parquet", notes_task, make.notes(1, 1))
    pl.read_parquet(tmp_path / "c.parquet").drop("label").write_parquet(tmp_path / "d.parquet")
    with pytest.raises(DataError):
        read_candidates(tmp_path / "d.parquet", notes_task)


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


def test_an_account_that_was_changed_or_has_no_checksum_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "account.json"
    said = CollectionAccount(
        task="x-notes", quarter="2023Q2", source="dump", sources=(), parameters={}, funnel=Funnel("rows", 0, (), {}),
        warnings=("1,000 rows had no post",), files={},
    )  # fmt: skip
    said.write(path)
    sound = path.read_text()
    without = "".join(line for line in sound.splitlines(keepends=True) if "checksum" not in line)
    for changed in (sound.replace("1,000 rows", "1,001 rows"), without):
        path.write_text(changed)
        with pytest.raises(DataError) as caught:
            read_account_file(path)
        assert caught.value.code == "bad-account" and "--force" in str(caught.value)
