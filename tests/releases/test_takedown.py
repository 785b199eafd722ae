"""A sample that is taken down leaves an id and a reason, and nothing else changes but the scores."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from hellofresh.core.errors import UsageError
from hellofresh.core.files import canonical_json, read_json, read_jsonl, sha256_file, write_jsonl
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life.load import hydrate, load_labels, load_release
from hellofresh.releases.life.state import reveal
from hellofresh.releases.life.takedown import find_sample, gone_samples, take_down
from hellofresh.results.scoring.reveal import publish_results
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from tests.fakes import contents, refused
from tests.submissions.checks import check_submission, write_submission
from verifier.checks import verify_release

NEEDLE = "a text that somebody wants back"


@pytest.fixture
def candidates(make):
    """Notes of which one, xn-4001, has a text of its own."""
    found = make.notes(5, 5)
    marked = make.note(4001, date=found[1].sample.date, post=found[1].sample.group.removeprefix("x-"), text=NEEDLE)
    found[1] = make.candidate(marked, found[1].label.label)
    return found


@pytest.fixture(params=[False, True], ids=["withheld", "with texts"])
def release(request, make, quarter, notes_task, candidates):
    """A release that has opened, its workspace, and how to build it again."""
    workspace = make.workspace()
    make.release(candidates)
    options: dict[str, Any] = {"seed": "seed", "cap": 250, "texts": request.param}
    build_release(workspace, quarter, notes_task, moment=quarter.start, **options)
    return workspace, options


def test_no_byte_of_the_text_stays_and_everything_else_does(release, quarter, notes_task, days) -> None:
    workspace, _ = release
    folder = workspace.release(quarter, "x-notes")
    before = {row["id"]: row for row in read_jsonl(folder / "samples.jsonl")}
    commitments, hash_of_text = sha256_file(folder / "commitments.jsonl"), canonical_json(before["xn-4001"])
    done = take_down(workspace, quarter, notes_task, {"xn-4001": "the author asked"}, days.opens)
    assert (done.ids, done.before, done.version) == (("xn-4001",), (), 2)
    for place in (workspace.root / "releases", workspace.root / "private"):
        for needle in (NEEDLE, hash_of_text):
            assert not any(needle.encode() in content for content in contents(place).values())
    after = {row["id"]: row for row in read_jsonl(folder / "samples.jsonl")}
    assert after == {key: row for key, row in before.items() if key != "xn-4001"}
    assert sha256_file(folder / "commitments.jsonl") == commitments
    (stone,) = read_jsonl(folder / "tombstones.jsonl")
    assert stone == {"id": "xn-4001", "reason": "the author asked", "date": "2023-07-22T00:00:00Z"}
    assert read_json(folder / "manifest.json")["takedowns"] == [stone]
    assert [check for check in verify_release(folder) if not check.ok] == []


def test_a_second_takedown_of_the_same_changes_nothing_and_says_so(release, quarter, notes_task, days) -> None:
    workspace, _ = release
    take_down(workspace, quarter, notes_task, {"xn-4001": "one"}, days.opens)
    before = contents(workspace.root / "releases")
    done = take_down(workspace, quarter, notes_task, {"xn-4001": "two"}, days.reveals)
    assert (done.ids, done.before) == ((), ("xn-4001",))
    assert contents(workspace.root / "releases") == before


def test_what_was_taken_down_never_comes_back_by_building_again(release, quarter, notes_task, days) -> None:
    workspace, options = release
    take_down(workspace, quarter, notes_task, {"xn-4001": "asked"}, days.opens)
    assert build_release(workspace, quarter, notes_task, moment=days.opens, **options).skipped
    split = load_release(workspace, quarter, notes_task).samples_sha256
    (workspace.release(quarter, "x-notes") / "samples.jsonl").write_text("torn")
    assert not build_release(workspace, quarter, notes_task, moment=days.opens, **options).skipped
    built = load_release(workspace, quarter, notes_task)
    assert "xn-4001" not in {sample.id for sample in built.samples}
    assert (built.taken_down, built.samples_sha256) == (("xn-4001",), split)
    left = {**contents(workspace.root / "releases"), **contents(workspace.root / "private")}
    assert not any(NEEDLE.encode() in content for content in left.values())
    assert [check for check in verify_release(workspace.release(quarter, "x-notes")) if not check.ok] == []


def test_an_interrupted_takedown_is_finished_by_the_next(release, quarter, notes_task, days) -> None:
    workspace, _ = release
    folder = workspace.release(quarter, "x-notes")
    stone = {"id": "xn-4001", "reason": "asked", "date": "2023-07-22T00:00:00Z"}
    write_jsonl(folder / "tombstones.jsonl", [stone])
    rows = [row for row in read_jsonl(folder / "samples.jsonl") if row["id"] != "xn-4001"]
    write_jsonl(folder / "samples.jsonl", rows)
    assert take_down(workspace, quarter, notes_task, {"xn-4001": "asked"}, days.opens).ids == ("xn-4001",)
    assert [check for check in verify_release(folder) if not check.ok] == []


def test_runs_and_submissions_stand_without_the_sample_and_nothing_is_asked_again(
    release, quarter, notes_task, days, tmp_path
) -> None:
    workspace, _ = release
    run = evaluate(workspace, Evaluation(quarter, notes_task, "coin"), lambda _: None)
    ids = [sample.id for sample in load_release(workspace, quarter, notes_task).samples]
    folder = tmp_path / "submissions/2023Q2/team/theirs"
    write_submission(folder, [{"id": key, "label": 1} for key in ids], "T", "Team")

    def scored(n: int):
        found = score_quarter(workspace, quarter, tmp_path / "submissions", days.reveals)
        whole = [score for score in found.scores if score.period == "all" and score.system == "coin"]
        assert {(score.n, score.n_split) for score in whole} == {(n, n)}
        return found

    reveal(workspace, quarter, notes_task, days.reveals)
    publish_results(workspace, scored(30))
    take_down(workspace, quarter, notes_task, {"xn-4001": "asked"}, days.reveals)
    publish_results(workspace, scored(29))
    again = evaluate(workspace, Evaluation(quarter, notes_task, "coin"), lambda _: None)
    assert again.run_id == run.run_id
    assert again.tally.asked == 0
    assert publish_results(workspace, scored(29)) == []
    public = workspace.release(quarter, "x-notes")
    assert "xn-4001" not in (public / "predictions.jsonl").read_text()
    assert [check for check in verify_release(public) if not check.ok] == []
    assert len(load_labels(workspace, quarter, notes_task)) == 30
    left = [key for key in ids if key != "xn-4001"]
    for answered in (ids, left):
        write_jsonl(folder / "predictions.jsonl", [{"id": key, "label": 1} for key in answered])
        assert check_submission(folder, quarter, {"x-notes": left}, {"xn-4001"})[1] == []
        assert check_submission(folder, quarter, {"x-notes": left})[1] == [] or answered is ids


def test_who_filled_texts_in_before_the_takedown_can_go_on(
    release, make, quarter, notes_task, days, candidates
) -> None:
    workspace, _ = release
    full = {item.sample.id: item.sample for item in candidates}
    reader = make.workspace("reader")
    shutil.copytree(workspace.release(quarter, "x-notes"), reader.release(quarter, "x-notes"))
    hydrate(reader, quarter, notes_task, lambda samples: {sample.id: full[sample.id] for sample in samples})
    take_down(workspace, quarter, notes_task, {"xn-4001": "asked"}, days.opens)
    shutil.rmtree(reader.release(quarter, "x-notes"))
    shutil.copytree(workspace.release(quarter, "x-notes"), reader.release(quarter, "x-notes"))
    assert len(load_release(reader, quarter, notes_task).with_texts()) == 29


def test_several_samples_are_taken_down_at_once_and_others_later(release, quarter, notes_task, days) -> None:
    workspace, _ = release
    folder = workspace.release(quarter, "x-notes")
    reasons = {"xn-5002": "x" * 500, "xn-4003": "  asked\t".replace("\t", " ")}
    done = take_down(workspace, quarter, notes_task, reasons, days.opens)
    assert (done.ids, done.before, done.version, done.split) == (("xn-4003", "xn-5002"), (), 2, "main")
    again = {"xn-5002": "other", "xn-4001": "asked", "xn-4003": "other"}
    done = take_down(workspace, quarter, notes_task, again, days.reveals)
    assert (done.ids, done.before, done.version) == (("xn-4001",), ("xn-4003", "xn-5002"), 3)
    stones = [(row["id"], row["reason"], row["date"]) for row in read_jsonl(folder / "tombstones.jsonl")]
    opened, later = "2023-07-22T00:00:00Z", "2023-10-22T00:00:00Z"
    assert stones == [("xn-4001", "asked", later), ("xn-4003", "asked", opened), ("xn-5002", "x" * 500, opened)]
    manifest = read_json(folder / "manifest.json")
    assert [row["id"] for row in manifest["takedowns"]] == ["xn-4001", "xn-4003", "xn-5002"]
    entries = {entry["path"]: entry["rows"] for entry in manifest["files"]}
    assert (entries["samples.jsonl"], entries["tombstones.jsonl"]) == (27, 3)
    assert (folder / "samples.jsonl").stat().st_mode & 0o777 == 0o644
    for path in workspace.private(quarter, "x-notes").glob("samples.jsonl"):
        assert path.stat().st_mode & 0o777 == 0o600 and len(list(read_jsonl(path))) == 27


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501, "line\nbreak", "bell\a", "\u202eright to left", "\u200b"])
def test_a_reason_that_cannot_be_printed_in_a_line_is_refused_and_nothing_changes(
    release, quarter, notes_task, days, reason: str
) -> None:
    workspace, _ = release
    before = contents(workspace.root)
    refused("bad-reason", take_down, workspace, quarter, notes_task, {"xn-4001": reason}, days.opens)
    assert contents(workspace.root) == before


def test_a_sample_that_nobody_released_is_refused(release, quarter, notes_task, days) -> None:
    workspace, _ = release
    assert find_sample(workspace, "xn-4001") == (quarter, notes_task, "main")
    for wrong in ("xn-1", "we-4001-0", "../x", ""):
        refused("unknown-sample", find_sample, workspace, wrong)
    with pytest.raises(UsageError):
        find_sample(workspace, "xn-4001", quarter.next())
    with pytest.raises(UsageError):
        take_down(workspace, quarter, notes_task, {"xn-1": "asked"}, days.opens)


def test_posts_that_were_taken_away_are_known_from_the_last_look_and_others_are_left(
    make, quarter, notes_task, candidates
) -> None:
    make.release(candidates)
    workspace = make.workspace()
    refused("not-hydrated", gone_samples, workspace, quarter, notes_task)
    found: dict[str, Any] = {item.sample.id: item.sample for item in candidates}
    found |= {"xn-4001": "post: deleted", "xn-4002": "post: suspended", "xn-4003": "post: protected"}
    found |= {"xn-4004": "post: error", "xn-4005": "note: not in the dump", "xn-4006": "post: not-asked"}
    hydrate(workspace, quarter, notes_task, lambda _: found)
    assert sorted(gone_samples(workspace, quarter, notes_task)) == ["xn-4001", "xn-4002", "xn-4003"]
