"""Candidates are read as they were written; a collection keeps them with its account, and is made once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.errors import DataError, WorkspaceError
from hellofresh.core.files import read_json, sha256_file, write_json
from hellofresh.core.quarters import Quarter
from hellofresh.releases.candidates import Collection, Drop, Funnel
from hellofresh.releases.collection import (
    CollectionAccount,
    collect_quarter,
    read_account,
    read_account_file,
    read_candidates,
    write_candidates,
)
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life.load import Published, load_release
from hellofresh.releases.life.manifest import (
    amend_manifest,
    calendar_of,
    read_manifest,
)
from hellofresh.releases.life.state import reveal, state_of
from hellofresh.releases.life.takedown import take_down
from hellofresh.releases.publish.folder import publish_to_folder
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.submissions.released import due_in
from hellofresh.tasks.samples import Label
from tests.fakes import fails_with, refused


def test_notes_come_back_as_they_were_without_characters_that_deceive(make, notes_task, tmp_path) -> None:
    candidates = make.notes(3, 2)
    plain = replace(candidates[0].sample, post=replace(candidates[0].sample.post, text='a\r\n"{post}" \u2028 é 🙂'))
    odd = replace(plain, post=replace(plain.post, text='a\r\n\0"{post}"\x1b\u202e \u2028 é 🙂'))
    candidates[0] = replace(candidates[0], sample=odd)
    write_candidates(tmp_path / "c.parquet", notes_task, candidates)
    candidates[0] = replace(candidates[0], sample=plain)
    assert read_candidates(tmp_path / "c.parquet", notes_task) == sorted(candidates, key=lambda item: item.sample.id)


def test_a_fact_known_late_keeps_its_type(make, notes_task, tmp_path) -> None:
    candidates = [make.candidate(make.note(1000 + n), 1) for n in range(300)]
    last = candidates[-1]
    candidates[-1] = replace(last, label=Label(last.sample.id, 1, {"ratings": 12, "status_locked_at": None}))
    write_candidates(tmp_path / "c.parquet", notes_task, candidates)
    assert read_candidates(tmp_path / "c.parquet", notes_task)[-1].label.facts["ratings"] == 12


def test_an_id_twice_is_refused_and_nothing_is_written(make, notes_task, tmp_path) -> None:
    refused(
        "duplicate-id", write_candidates, tmp_path / "c.parquet", notes_task, [*make.notes(1, 1), *make.notes(1, 0)]
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, b"", b"PAR1 and then nothing", b"PAR1" * 100])
def test_a_file_that_is_no_parquet_is_refused(notes_task, tmp_path, content: bytes | None) -> None:
    path = tmp_path / "c.parquet"
    if content is not None:
        path.write_bytes(content)
    refused("missing-file" if content is None else "bad-parquet", read_candidates, path, notes_task)


def test_the_candidates_of_another_task_are_refused(make, notes_task, edits_task, tmp_path) -> None:
    write_candidates(tmp_path / "c.parquet", notes_task, make.notes(1, 1))
    with pytest.raises(DataError):
        read_candidates(tmp_path / "c.parquet", edits_task)


COUNTS = st.integers(0, 1000)
DROPS = st.lists(COUNTS.map(lambda n: Drop("why", "what it means", n)), max_size=5).map(tuple)
KEPT = st.dictionaries(st.sampled_from(["2023-04", "2023-05"]), st.fixed_dictionaries({0: COUNTS, 1: COUNTS}))


@given(DROPS, KEPT, st.integers(-3, 3))
def test_it_adds_up_or_is_refused(drops: tuple[Drop, ...], kept: dict[str, dict[int, int]], off: int) -> None:
    total = sum(drop.count for drop in drops) + sum(sum(labels.values()) for labels in kept.values())
    if off == 0:
        funnel = Funnel("rows", total, drops, kept)
        assert sum(funnel.ledger().left_out.values()) + funnel.total_kept == funnel.rows_in
    else:
        refused("ledger", Funnel, "rows", total + off, drops, kept)


def test_both_labels_are_counted_in_every_period(make) -> None:
    candidates = make.notes(2, 0, months=(5,)) + make.notes(1, 3, months=(4,))
    assert Funnel.count_kept(candidates) == {"2023-04": {0: 3, 1: 1}, "2023-05": {0: 0, 1: 2}}
    assert list(Funnel.count_kept(candidates)) == ["2023-04", "2023-05"]
    meanings = {name: f"is {name}" for name in ("old", "foreign", "rare")}
    rows = len(candidates) + 5
    funnel = Funnel.of("rows", rows, {"foreign": 5}, meanings, candidates=candidates, context={}, only_if_any={"rare"})
    assert funnel.drops == (Drop("old", "is old", 0), Drop("foreign", "is foreign", 5))


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


# --- A manifest has one type: it is written as it was read, and one of another format is refused wherever it is
# read.


REVEALS = CalendarRule().of(Quarter(2023, 2)).reveals


@pytest.fixture
def folder(make, quarter, notes_task) -> Path:
    """The public folder of a release with a run."""
    make.release(make.notes(3, 3))
    evaluate(make.workspace(), Evaluation(quarter, notes_task, "coin"), lambda _: None)
    return make.workspace().release(quarter, "x-notes")


READERS: dict[str, Any] = {
    "loaded": load_release,
    "loaded as published": lambda work, quarter, task: Published.open(work, quarter, task.name).samples(task),
    "asked for its state": lambda work, quarter, task: state_of(work, quarter, task, REVEALS),
    "scored": lambda work, quarter, _: score_quarter(work, quarter, work.root / "none", REVEALS),
    "revealed": lambda work, quarter, task: reveal(work, quarter, task, REVEALS),
    "taken down from": lambda work, quarter, task: take_down(work, quarter, task, {"xn-4001": "asked"}, REVEALS),
    "published": lambda work, _, __: publish_to_folder(work, work.root / "published", REVEALS),
    "built again": lambda work, quarter, task: build_release(work, quarter, task, seed="s", cap=9, moment=REVEALS),
    "given predictions for": lambda work, quarter, _: due_in(work, quarter),
    "amended": lambda work, quarter, task: amend_manifest(
        work.release(quarter, task.name), read_manifest(work.release(quarter, task.name)), []
    ),
}


def test_a_manifest_that_is_missing_not_json_or_of_another_format_is_named(folder: Path) -> None:
    path = folder / "manifest.json"
    sound = read_json(path)
    for change, code, what in (
        ({"format": "9" * 41}, "unknown-format", f"a manifest of format {'9' * 40}"),
        ({"calendar": None}, "damaged-release", "the manifest has no calendar"),
    ):
        write_json(path, sound | change)
        with fails_with(code) as caught:
            calendar_of(read_manifest(folder), folder)
        assert caught.value.what == what
    path.write_text("{")
    assert str(path) in refused("bad-json", read_manifest, folder)
    path.unlink()
    assert str(path) in refused("missing-file", read_manifest, folder)


SAME_DAY = dict.fromkeys(("opens", "deadline", "reveals"), "2024-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("reader", "change", "code"),
    [
        *((reader, {"format": 99}, "unknown-format") for reader in READERS),
        ("loaded", {"format": "1"}, "unknown-format"),
        ("loaded", {"version": "1"}, "damaged-release"),
        ("loaded", {"calendar": SAME_DAY}, "damaged-release"),
    ],
)
def test_one_that_cannot_be_understood_is_refused_wherever_it_is_read(
    make, quarter, notes_task, folder: Path, reader: str, change: dict[str, Any], code: str
) -> None:
    write_json(folder / "manifest.json", read_json(folder / "manifest.json") | change)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with fails_with(code):
        READERS[reader](make.workspace(), quarter, notes_task)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


# --- A collection keeps what was found with its account, and is not made again for nothing.


def silent(_: str) -> None:
    """Progress that nobody watches."""


def test_candidates_and_account_are_written_and_read_back(make, quarter, notes_task, tmp_path) -> None:
    source = tmp_path / "notes-00000.tsv"
    source.write_text("rows")
    candidates = make.notes(2, 1)
    collected = collect_quarter(make.workspace(), make.job(candidates, files=[source]), progress=silent)
    workspace = make.workspace()
    assert not collected.skipped
    assert collected.funnel.total_kept == 9
    assert len(read_candidates(workspace.candidates("x-notes", quarter), notes_task)) == 9
    account = read_json(workspace.collection("x-notes", quarter))
    assert read_account(workspace, notes_task, quarter).funnel == collected.funnel
    assert account["sources"] == [{"name": "notes-00000.tsv", "size": 4, "sha256": sha256_file(source)}]
    assert account["source"] == "dump"
    assert workspace.collection("x-notes", quarter).stat().st_mode & 0o777 == 0o600
    assert str(tmp_path) not in str(account)


def test_it_is_made_again_exactly_when_something_changed(make, quarter, tmp_path) -> None:
    source = tmp_path / "notes.tsv"
    source.write_text("rows")
    workspace = make.workspace()
    runs = 0
    job = make.job(make.notes(1, 1), files=[source])

    def counted(progress):
        nonlocal runs
        runs += 1
        return job.collect(progress)

    def skipped(**changes: object) -> bool:
        return collect_quarter(workspace, replace(job, collect=counted, **changes), progress=silent).skipped

    assert [skipped(), skipped(), skipped()] == [False, True, True]
    assert not skipped(parameters={"setting": 2})
    assert not skipped(source="other")
    assert not skipped()
    source.write_text("other")
    assert [skipped(), skipped()] == [False, True]
    workspace.candidates("x-notes", quarter).unlink()
    assert [skipped(), skipped()] == [False, True]
    assert runs == 6
    assert not collect_quarter(workspace, replace(job, collect=counted), force=True, progress=silent).skipped


def test_no_candidates_is_an_error_that_says_where_they_went_and_writes_nothing(make) -> None:
    drops = (Drop("not-english", "m", 5), Drop("no-media", "m", 0), Drop("unlocked", "m", 3000))
    drops += (Drop("third", "m", 3), Drop("fourth", "m", 1))
    empty = Collection((), Funnel("notes", 3009, drops, {}), {}, ())
    with fails_with("no-candidates") as caught:
        collect_quarter(make.workspace(), replace(make.job([]), collect=lambda _: empty), progress=silent)
    why = "3,009 notes: 0 went on, 3,009 left out (3,000 unlocked, 5 not-english, 3 third, 1 fourth)"
    assert caught.value.what == f"no candidates of x-notes for 2023Q2: {why}"
    assert [path.name for path in make.workspace().root.rglob("*") if path.is_file()] == ["2023Q2.lock"]


def test_files_without_candidates_are_not_read_again_until_they_change(make, tmp_path) -> None:
    source = tmp_path / "dump.tsv"
    source.write_text("nothing")
    runs = []
    empty = Collection((), Funnel("notes", 0, (), {}), {}, ())

    def collect(*, force: bool = False) -> str:
        job = replace(make.job([], files=[source]), collect=lambda _: runs.append(1) or empty)
        with fails_with("no-candidates") as caught:
            collect_quarter(make.workspace(), job, force=force, progress=silent)
        return caught.value.what

    assert "the source has no notes" in collect() and "when this source was last read" in collect() and len(runs) == 1
    collect(force=True)
    source.write_text("still nothing")
    collect()
    assert len(runs) == 3


def test_a_funnel_that_counts_other_candidates_than_were_found_is_refused(make) -> None:
    job = make.job(make.notes(2, 2))
    found = job.collect(silent)
    with fails_with("funnel"):
        collect_quarter(
            make.workspace(),
            replace(job, collect=lambda _: replace(found, candidates=found.candidates[1:])),
            progress=silent,
        )


def test_a_source_that_is_not_there_is_named(make, tmp_path) -> None:
    with pytest.raises(WorkspaceError) as caught:
        collect_quarter(make.workspace(), make.job(make.notes(1, 1), files=[tmp_path / "none.tsv"]), progress=silent)
    assert caught.value.where == str(tmp_path / "none.tsv")


@pytest.mark.parametrize("fault", ["other rows", "fewer rows", "no hash", "other pending rows", "other account"])
def test_an_account_of_other_candidates_is_refused(make, quarter, notes_task, fault) -> None:
    workspace = make.workspace()
    collect_quarter(workspace, make.job(make.notes(2, 2)), progress=silent)
    table, path = workspace.candidates("x-notes", quarter), workspace.collection("x-notes", quarter)
    account = read_json(path)
    if fault == "other rows":
        other = [replace(item, label=replace(item.label, label=1 - item.label.label)) for item in make.notes(2, 2)]
        write_candidates(table, notes_task, other)
    elif fault == "fewer rows":
        write_candidates(table, notes_task, make.notes(2, 1))
    elif fault == "other pending rows":
        workspace.pending("x-notes", quarter).write_text("{}\n")
    elif fault == "no hash":
        write_json(path, {name: value for name, value in account.items() if name not in ("files", "checksum")})
    else:
        collect_quarter(make.workspace("other"), make.job(make.notes(3, 3)), progress=silent)
        path.write_bytes(make.workspace("other").collection("x-notes", quarter).read_bytes())
    with fails_with("bad-account" if fault == "no hash" else "other-candidates") as caught:
        read_account(workspace, notes_task, quarter)
    assert "--force" in str(caught.value)
