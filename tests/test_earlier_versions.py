"""A workspace that an earlier version wrote (manifests of format 1, `quarter` for the edition) is read as it is."""

from __future__ import annotations

import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hellofresh.cli import main
from hellofresh.core.files import read_json, read_jsonl, write_json
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.load import load_labels, load_release
from hellofresh.releases.life.manifest import read_manifest
from hellofresh.releases.life.takedown import take_down
from hellofresh.runs.plan import read_plan
from hellofresh.runs.record import finished_runs, read_record
from hellofresh.submissions.receipts import read_receipt
from hellofresh.tasks import get_task
from verifier import verify_release

HERE = Path(__file__).resolve().parent
QUARTER, NOTES = Quarter(2026, 2), get_task("x-notes")
RUN = "2026Q2_x-notes_zero-shot_coin_940e85249c65"


@pytest.fixture
def earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The workspace of the bundled sample, as a release and a run of the coin."""
    with tarfile.open(HERE / "earlier" / "workspace-format-1.tar.xz") as archive:
        archive.extractall(tmp_path / "data", filter="data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HELLOFRESH_NOW", "2026-11-22T12:00:00Z")
    return Workspace(tmp_path / "data")


def faults(folder: Path) -> list[str]:
    return [fault for check in verify_release(folder) for fault in check.faults]


def test_a_release_is_read_and_verified_with_every_score_computed_again(earlier: Workspace) -> None:
    folder = earlier.release(QUARTER, "x-notes")
    assert read_json(folder / "manifest.json")["quarter"] == "2026Q2"
    assert faults(folder) == []
    release = load_release(earlier, QUARTER, NOTES)
    assert {sample.edition for sample in release.samples} == {"2026Q2"}
    assert load_labels(earlier, QUARTER, NOTES).keys() == {sample.id for sample in release.samples}


def test_the_next_version_of_its_manifest_has_the_present_format_and_an_unbroken_history(earlier: Workspace) -> None:
    folder = earlier.release(QUARTER, "x-notes")
    for name in ("predictions.jsonl", "scores.jsonl"):
        assert (folder / name).is_file()
    first = next(read_jsonl(folder / "samples.jsonl"))["id"]
    take_down(earlier, QUARTER, NOTES, {first: "Its author asked."}, datetime(2026, 11, 22, tzinfo=UTC))
    manifest = read_json(folder / "manifest.json")
    assert (manifest["format"], manifest["edition"]) == (2, "2026Q2") and "quarter" not in manifest
    checks = {check.name: check.faults for check in verify_release(folder)}
    assert not any(checks[name] for name in ("manifest", "history", "samples", "commitments", "takedowns", "labels"))
    assert read_manifest(folder).version == read_json(folder / "manifests" / "3.json")["version"] + 1


def test_a_run_is_read_and_one_of_today_stands_beside_it(
    earlier: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, record = read_plan(earlier.runs / RUN), read_record(earlier.runs / RUN)
    assert plan is not None and record is not None
    assert plan.evaluation.edition == record.evaluation.edition == QUARTER
    assert plan.identity["edition"] == "2026Q2"
    assert (record.evaluation.task, record.evaluation.limit, record.evaluation.prompt_ids) == (NOTES, 86, ["manual"])
    for option, stored in (("--edition", 0), ("--quarter", 86)):
        assert main(["evaluate", option, "2026Q2", "--task", "x-notes", "--model", "coin"]) == 0
        assert f"{86 - stored} answers asked for, {stored} already stored" in capsys.readouterr().err
    assert len(list(earlier.runs.iterdir())) == 2 and read_record(earlier.runs / RUN) == record


def test_a_run_of_a_task_that_is_not_installed_hides_no_other(earlier: Workspace) -> None:
    known = read_record(earlier.runs / RUN)
    assert known is not None
    present = known.model_dump(mode="json")
    of_version_1 = read_json(earlier.runs / RUN / "run.json") | {"task": "rumours"}
    of_version_2 = present | {"evaluation": present["evaluation"] | {"task": "rumours"}}
    for number, said in enumerate((of_version_1, of_version_2)):
        write_json(earlier.runs / f"other-{number}" / "run.json", said)
    assert list(finished_runs(earlier.runs)) == [(earlier.runs / RUN, known)]


def test_a_receipt_is_read() -> None:
    found = read_receipt(HERE.parent / "submissions" / "2026Q2" / "hellofresh" / "simple-rules", [])
    assert found is not None and found.edition == QUARTER
