"""A clock that steps back reopens nothing, and nothing that was published goes by accident."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hellofresh.cli import main
from hellofresh.core.errors import HelloFreshError
from hellofresh.core.files import read_json, read_jsonl, write_json, write_jsonl
from hellofresh.core.quarters import Quarter, parse_utc
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.state import reveal
from hellofresh.results.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.submissions.check import check_time, inspect_submission
from hellofresh.submissions.inbox import Inbox
from hellofresh.submissions.receipts import add_submission, withdraw_submission
from hellofresh.submissions.released import due_in
from hellofresh.tasks import get_task

QUARTER, TASK = Quarter(2023, 2), get_task("x-notes")
OPEN, REVEALED = "2023-08-01T12:00:00Z", "2023-11-01T12:00:00Z"
ENTRY = "acme/one"


@dataclass(frozen=True)
class Place:
    """A workspace with a revealed quarter, one submission in it, all published; the clock is at the reveal."""

    folder: Path
    workspace: Workspace
    clock: Callable[[str], None]
    said: Callable[[], str]

    @property
    def submissions(self) -> Path:
        return self.folder / "submissions"

    def outside(self, place: str = ENTRY, *, flip: bool = False) -> Path:
        """The folder of a submission, not yet handed in."""
        folder = self.folder / "outside" / str(QUARTER) / place
        ids = [row["id"] for row in read_jsonl(self.workspace.release(QUARTER, "x-notes") / "samples.jsonl")]
        rows = [{"id": key, "label": int(k % 3 == 0) ^ flip} for k, key in enumerate(ids)]
        write_jsonl(folder / "predictions.jsonl", rows)
        team = place.split("/", maxsplit=1)[0].title()
        info = f'name = "{place}"\nteam = "{team}"\ncontact = "c"\nregime = "other"\nmodels = ["m"]\n'
        (folder / "system.toml").write_text(f'{info}knowledge_cutoff = "unknown"\n')
        return folder

    def call(self, *arguments: str) -> tuple[int, str]:
        code = main(list(arguments))
        return code, self.said()

    def score(self, *more: str) -> tuple[int, str]:
        return self.call("score", "--quarter", str(QUARTER), *more)

    def published(self) -> dict[str, set[tuple[str, int | None]]]:
        found: dict[str, set[tuple[str, int | None]]] = {}
        for row in read_jsonl(self.workspace.release(QUARTER, "x-notes") / "predictions.jsonl"):
            found.setdefault(row["entry"], set()).add((row["id"], row["label"]))
        return found

    def files(self) -> dict[str, bytes]:
        """Everything below the workspace and the submissions."""
        roots = (self.workspace.root, self.submissions)
        return {str(path): path.read_bytes() for root in roots for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.fixture
def place(make, tmp_path, monkeypatch, capsys) -> Place:
    workspace = make.workspace()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    monkeypatch.setenv("HELLOFRESH_NOW", OPEN)

    def said() -> str:
        captured = capsys.readouterr()
        return " ".join((captured.out + captured.err).split())

    found = Place(tmp_path, workspace, lambda moment: monkeypatch.setenv("HELLOFRESH_NOW", moment), said)
    notes = [make.note(n, date=datetime(2023, 4, 1, tzinfo=UTC) + timedelta(days=n)) for n in range(24)]
    make.release([make.candidate(note, k % 2) for k, note in enumerate(notes)], workspace=workspace)
    evaluate(workspace, Evaluation(QUARTER, TASK, "coin"), lambda _: None)
    assert found.call("submission", "add", str(found.outside()))[0] == 0
    found.clock(REVEALED)
    assert reveal(workspace, QUARTER, TASK, parse_utc(REVEALED))
    code, text = found.score()
    assert code == 0, text
    assert ENTRY in found.published()
    return found


def refused(code: str, work: Callable[..., object], *arguments: object, **named: object) -> None:
    with pytest.raises(HelloFreshError) as caught:
        work(*arguments, **named)
    assert caught.value.code == code, caught.value


# --- the clock


@pytest.mark.parametrize(
    "command",
    [
        ["submission", "add", "outside/2023Q2/acme/one"],
        ["submission", "withdraw", "acme", "one", "--quarter", "2023Q2"],
        ["score", "--quarter", "2023Q2"],
        ["evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "always-yes"],
        ["release", "build", "--quarter", "2023Q2"],
        ["release", "takedown", "xn-1", "--reason", "why"],
        ["release", "publish"],
        ["release", "run"],
        ["board", "build"],
    ],
)
def test_a_clock_behind_the_records_is_an_error_that_names_both_times_and_changes_nothing(
    place: Place, command: list[str]
) -> None:
    place.outside(flip=True)
    before = place.files()
    place.clock(OPEN)
    code, text = place.call(*command)
    assert (code, "[clock-behind]" in text) == (2, True)
    assert "2023-08-01T12:00:00Z" in text and "2023-10-22T00:00:00Z" in text
    assert place.files() == before


def test_each_kind_of_record_holds_the_clock(place: Place, make) -> None:
    """The newest of receipts, takedowns, reveals and runs; one second before it is refused, the second itself taken."""
    found: list[tuple[str, str]] = [("the reveal of x-notes 2023Q2", "2023-10-22T00:00:00Z")]
    path = place.submissions / str(QUARTER) / ENTRY / "receipt.json"
    write_json(path, {**read_json(path), "received": "2024-02-01T00:00:00Z"})
    found.append((f"the receipt of {ENTRY} for 2023Q2", "2024-02-01T00:00:00Z"))
    for what, moment in found[1:]:
        for seconds, expected in ((-1, 2), (0, 0)):
            place.clock((parse_utc(moment) + timedelta(seconds=seconds)).isoformat())
            code, text = place.call("board", "build")
            assert code == expected, text
            assert (what in text) == (expected == 2)
    place.clock("2024-03-01T00:00:00Z")
    assert place.call("release", "takedown", "xn-1", "--reason", "why")[0] in {0, 1}
    place.clock("2024-02-29T23:59:59Z")
    assert "the takedown of xn-1 is of 2024-03-01T00:00:00Z" in place.call("board", "build")[1]
    place.clock("2024-04-01T00:00:00Z")
    assert place.call("evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "always-yes")[0] == 0
    place.clock("2024-03-31T00:00:00Z")
    assert "the start of the run" in place.call("board", "build")[1]


# --- the state, for whoever gets past the clock


def test_what_is_revealed_stays_revealed_whatever_the_clock_says(place: Place, tmp_path) -> None:
    moment, due = parse_utc(OPEN), due_in(place.workspace, QUARTER)
    assert due.revealed == {"x-notes"}
    before = place.files()
    folder = place.outside(flip=True)
    refused("revealed", check_time, due, ["x-notes"], moment)
    refused("revealed", add_submission, folder, due, place.submissions, moment)
    refused("revealed", withdraw_submission, place.submissions, due, "acme", "one", moment)
    submission = inspect_submission(folder, due, moment).submission
    refused("revealed", Inbox(tmp_path / "inbox").hand_in, submission, due, moment)
    assert place.files() == before


def test_scoring_by_an_earlier_time_still_counts_what_was_handed_in(place: Place) -> None:
    table = place.workspace.scores(QUARTER)
    before = table.read_bytes()
    scored = score_quarter(place.workspace, QUARTER, place.submissions, parse_utc(OPEN))
    assert ENTRY in {entry.origin for entry in scored.entries["x-notes"]}
    assert table.read_bytes() == before


def forge(place: Place, *, flip: bool, entry: str = ENTRY, at: str = OPEN) -> None:
    """Lay an entry with a flawless receipt of the open time among the submissions, as on another machine."""
    due = due_in(place.workspace, QUARTER)
    forgers = type(due)(due.edition, due.ids, due.calendars)
    elsewhere = place.folder / "forged"
    add_submission(place.outside(entry, flip=flip), forgers, elsewhere, parse_utc(at))
    target = place.submissions / str(QUARTER) / entry
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(elsewhere / str(QUARTER) / entry, target)


@pytest.mark.parametrize(("entry", "what"), [(ENTRY, "change"), ("beta/new", "be added")])
def test_an_entry_forged_after_the_reveal_is_neither_scored_nor_published(place: Place, entry: str, what: str) -> None:
    forge(place, flip=True, entry=entry)
    scores, published = place.workspace.scores(QUARTER).read_bytes(), place.published()
    code, text = place.score()
    assert (code, "[published]" in text) == (1, True)
    assert f"{entry} would {what}" in text and f"--change {entry}" in text
    assert (place.workspace.scores(QUARTER).read_bytes(), place.published()) == (scores, published)


def test_a_published_entry_goes_only_by_the_explicit_command(place: Place) -> None:
    shutil.rmtree(place.submissions / str(QUARTER) / "acme")
    scores, published = place.workspace.scores(QUARTER).read_bytes(), place.published()
    code, text = place.score()
    assert code == 1
    assert f"{ENTRY} would go" in text and f"hellofresh score --edition 2023Q2 --change {ENTRY}" in text
    assert place.score("--change", "acme/two")[0] == 1
    assert (place.workspace.scores(QUARTER).read_bytes(), place.published()) == (scores, published)
    code, text = place.score("--change", ENTRY)
    assert code == 0, text
    assert published.keys() - place.published().keys() == {ENTRY}


def test_a_lost_run_does_not_take_its_published_predictions_along(place: Place) -> None:
    (run,) = place.workspace.runs.iterdir()
    shutil.rmtree(run)
    code, text = place.score()
    assert (code, f"{run.name} would go" in text) == (1, True)


def test_what_was_taken_down_may_go_without_being_named_as_an_entry(place: Place) -> None:
    before = place.published()
    assert place.call("release", "takedown", "xn-1", "xn-2", "--reason", "the author asked")[0] == 0
    after = place.published()
    assert after.keys() == before.keys()
    assert {key for key, _ in before[ENTRY]} - {key for key, _ in after[ENTRY]} == {"xn-1", "xn-2"}


# --- receipts


def test_a_receipt_is_never_older_than_the_one_that_it_replaces(make, tmp_path, place: Place) -> None:
    due = due_in(place.workspace, QUARTER)
    open_still = type(due)(due.edition, due.ids, due.calendars)
    root, moment = tmp_path / "root", parse_utc(OPEN)
    first = add_submission(place.outside(), open_still, root, moment).receipt
    changed = place.outside(flip=True)
    refused("clock-behind", add_submission, changed, open_still, root, moment - timedelta(seconds=1))
    again = add_submission(changed, open_still, root, moment).receipt
    assert [again.received, *(one.received for one in again.earlier)] == [moment, first.received]


def test_a_sites_clock_that_steps_back_takes_nothing_in(place: Place, tmp_path) -> None:
    due = due_in(place.workspace, QUARTER)
    open_still, inbox = type(due)(due.edition, due.ids, due.calendars), Inbox(tmp_path / "inbox")
    moment = parse_utc(OPEN)
    for entry, seconds, code in (("acme/one", 0, ""), ("beta/one", -1, "clock-behind"), ("beta/one", 0, "")):
        submission = inspect_submission(place.outside(entry), due, moment).submission
        at = moment + timedelta(seconds=seconds)
        if code:
            refused(code, inbox.hand_in, submission, open_still, at)
        else:
            assert inbox.hand_in(submission, open_still, at).new
    assert [item.receipt.received for item in inbox.arrivals()[0]] == [moment, moment]


# --- the folder of submissions


def test_a_command_from_any_folder_finds_the_workspaces_submissions(place: Place, tmp_path, monkeypatch) -> None:
    before = place.published()
    for where in (tmp_path / "elsewhere", tmp_path / "with-others"):
        (where / "submissions/2023Q2/other/one").mkdir(parents=True)
        monkeypatch.chdir(where)
        place.workspace.scores(QUARTER).unlink()
        code, text = place.score()
        assert code == 0, text
        assert place.published() == before


def test_the_first_run_of_all_puts_the_folder_on_record(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "submissions").mkdir()
    assert main(["score", "--quarter", "2023Q2"]) == 1  # there is no release, and nothing was lost
    assert Workspace(tmp_path / "data").has_recorded_submissions
    assert "no-release" in capsys.readouterr().err


def test_another_folder_of_submissions_is_refused_until_it_is_recorded(place: Place, tmp_path) -> None:
    other = tmp_path / "other"
    code, text = place.score("--submissions", str(other))
    assert (code, "[other-submissions]" in text) == (2, True)
    assert f"hellofresh submission list --folder {other}" in text
    shutil.copytree(place.submissions, other)
    assert place.call("submission", "list", "--folder", str(other))[0] == 0
    assert place.call("submission", "list", "--folder")[1].startswith(str(other))
    assert place.score("--submissions", str(other))[0] == 0
    assert place.score("--submissions", str(place.submissions))[0] == 2


def test_the_record_moves_with_the_workspace_and_its_neighbour(place: Place, tmp_path, monkeypatch) -> None:
    assert json.loads((place.workspace.root / "workspace.json").read_text())["submissions"] == "../submissions"
    moved = tmp_path / "moved"
    moved.mkdir()
    shutil.copytree(place.workspace.root, moved / "copy")
    shutil.copytree(place.submissions, moved / "submissions")
    assert Workspace(moved / "copy").submissions() == moved / "submissions"
    monkeypatch.chdir(moved)
    assert Workspace(Path("copy")).submissions() == Path("submissions")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 2, "submissions": "x"}', '{"format": 1}'])
def test_a_damaged_record_is_named_and_nothing_is_looked_for_elsewhere(place: Place, content: str) -> None:
    (place.workspace.root / "workspace.json").write_text(content)
    code, text = place.score()
    assert code in {1, 2}
    assert "workspace.json" in text.replace(" ", "")
