"""A collection keeps what was found with its account, and is not made again for nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hellofresh.core.errors import WorkspaceError
from hellofresh.core.files import read_json, sha256_file, write_json
from hellofresh.releases.candidates import Collection, Drop, Funnel
from hellofresh.releases.collection import collect_quarter, read_account, read_candidates, write_candidates
from tests.fakes import fails_with


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
