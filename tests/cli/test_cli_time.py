"""A clock that steps back reopens nothing, and nothing that was published goes by accident."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from hellofresh.cli import main
from hellofresh.core.calendar import CalendarRule
from hellofresh.core.errors import HelloFreshError
from hellofresh.core.files import read_json, read_jsonl, write_json
from hellofresh.core.quarters import Quarter, parse_utc
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline import witness
from hellofresh.releases.life.record import record_opening
from hellofresh.releases.life.state import reveal
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.submissions.check import check_time, inspect_submission
from hellofresh.submissions.inbox import Inbox
from hellofresh.submissions.receipts import add_submission, withdraw_submission
from hellofresh.submissions.released import due_in
from hellofresh.tasks import get_task
from tests.conftest import Cli
from tests.fakes import refused
from tests.submissions.checks import write_submission

QUARTER, TASK = Quarter(2023, 2), get_task("x-notes")
OPEN, REVEALED = "2023-08-01T12:00:00Z", "2023-11-01T12:00:00Z"
ENTRY = "acme/one"


@dataclass(frozen=True)
class Life:
    """A workspace with a revealed quarter, one submission in it, all published; the clock is at the reveal."""

    folder: Path
    workspace: Workspace
    clock: Callable[[str], None]
    cli: Cli = field(default=None)  # type: ignore[assignment]  # none while it is made

    @property
    def submissions(self) -> Path:
        return self.folder / "submissions"

    def outside(self, place: str = ENTRY, *, flip: bool = False) -> Path:
        folder = self.folder / "outside" / str(QUARTER) / place
        ids = [row["id"] for row in read_jsonl(self.workspace.release(QUARTER, "x-notes") / "samples.jsonl")]
        rows = [{"id": key, "label": int(k % 3 == 0) ^ flip} for k, key in enumerate(ids)]
        return write_submission(folder, rows, place, place.split("/", maxsplit=1)[0].title())

    def score(self, *more: str | Path, code: int = 0) -> str:
        return self.cli("score", "--quarter", str(QUARTER), *more, code=code)

    def published(self) -> dict[str, set[tuple[str, int | None]]]:
        found: dict[str, set[tuple[str, int | None]]] = {}
        for row in read_jsonl(self.workspace.release(QUARTER, "x-notes") / "predictions.jsonl"):
            found.setdefault(row["entry"], set()).add((row["id"], row["label"]))
        return found

    def files(self) -> dict[str, bytes]:
        roots = (self.workspace.root, self.submissions)
        return {str(path): path.read_bytes() for root in roots for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def scored(built_once, make_in) -> Path:
    """The folder of such a life, which nobody changes."""

    def fill(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            make, clock = make_in(folder), partial(patch.setenv, "HELLOFRESH_NOW")
            patch.chdir(folder)
            patch.setenv("HELLOFRESH_DATA", str(folder / "data"))
            clock(OPEN)
            found = Life(folder, make.workspace(), clock)
            notes = [make.note(n, date=datetime(2023, 4, 1, tzinfo=UTC) + timedelta(days=n)) for n in range(24)]
            make.release([make.candidate(note, k % 2) for k, note in enumerate(notes)])
            evaluate(found.workspace, Evaluation(QUARTER, TASK, "coin"), lambda _: None)
            assert main(["submission", "add", str(found.outside())]) == 0
            clock(REVEALED)
            assert reveal(found.workspace, QUARTER, TASK, parse_utc(REVEALED))
            assert main(["score", "--quarter", str(QUARTER)]) == 0
            assert ENTRY in found.published()

    return built_once("clock", fill)


@pytest.fixture
def life(scored: Path, place, monkeypatch, cli) -> Life:
    shutil.copytree(scored, place, dirs_exist_ok=True)
    monkeypatch.setenv("HELLOFRESH_NOW", REVEALED)
    return Life(place, Workspace(place / "data"), partial(monkeypatch.setenv, "HELLOFRESH_NOW"), cli)


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
    life: Life, command: list[str]
) -> None:
    life.outside(flip=True)
    before = life.files()
    life.clock(OPEN)
    text = life.cli(*command, code=2)
    assert "[clock-behind]" in text
    assert "2023-08-01T12:00:00Z" in text and "2023-10-22T00:00:00Z" in text
    assert life.files() == before


def test_each_kind_of_record_holds_the_clock(life: Life, make) -> None:
    """The newest of receipts, takedowns, reveals and runs; one second before it is refused, the second itself taken."""
    path, moment = life.submissions / str(QUARTER) / ENTRY / "receipt.json", "2024-02-01T00:00:00Z"
    write_json(path, {**read_json(path), "received": moment})
    for seconds, expected in ((-1, 2), (0, 0)):
        life.clock((parse_utc(moment) + timedelta(seconds=seconds)).isoformat())
        assert (f"the receipt of {ENTRY} for 2023Q2" in life.cli("board", "build", code=expected)) == (expected == 2)
    life.clock("2024-03-01T00:00:00Z")
    life.cli("release", "takedown", "xn-1", "--reason", "why", code=1)  # scoring finds another receipt than published
    life.clock("2024-02-29T23:59:59Z")
    assert "the takedown of xn-1 is of 2024-03-01T00:00:00Z" in life.cli("board", "build", code=2)
    life.clock("2024-04-01T00:00:00Z")
    life.cli("evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--model", "always-yes")
    life.clock("2024-03-31T00:00:00Z")
    assert "the start of the run" in life.cli("board", "build", code=2)


# --- the state, for whoever gets past the clock


def test_what_is_revealed_stays_revealed_whatever_the_clock_says(life: Life, tmp_path) -> None:
    moment, due = parse_utc(OPEN), due_in(life.workspace, QUARTER)
    assert due.revealed == {"x-notes"}
    before = life.files()
    folder = life.outside(flip=True)
    refused("revealed", check_time, due, ["x-notes"], moment)
    refused("revealed", add_submission, folder, due, life.submissions, moment)
    refused("revealed", withdraw_submission, life.submissions, due, "acme", "one", moment)
    submission = inspect_submission(folder, due, moment).submission
    refused("revealed", Inbox(tmp_path / "inbox").hand_in, submission, due, moment)
    assert life.files() == before


def test_scoring_by_an_earlier_time_still_counts_what_was_handed_in(life: Life) -> None:
    table = life.workspace.scores(QUARTER)
    before = table.read_bytes()
    scored = score_quarter(life.workspace, QUARTER, life.submissions, parse_utc(OPEN))
    assert ENTRY in {entry.origin for entry in scored.entries["x-notes"]}
    assert table.read_bytes() == before


def forge(life: Life, *, flip: bool, entry: str = ENTRY, at: str = OPEN) -> None:
    """Lay an entry with a flawless receipt of the open time among the submissions, as on another machine."""
    due = due_in(life.workspace, QUARTER)
    forgers = type(due)(due.edition, due.ids, due.calendars)
    elsewhere = life.folder / "forged"
    add_submission(life.outside(entry, flip=flip), forgers, elsewhere, parse_utc(at))
    target = life.submissions / str(QUARTER) / entry
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(elsewhere / str(QUARTER) / entry, target)


@pytest.mark.parametrize(("entry", "what"), [(ENTRY, "change"), ("beta/new", "be added")])
def test_an_entry_forged_after_the_reveal_is_neither_scored_nor_published(life: Life, entry: str, what: str) -> None:
    forge(life, flip=True, entry=entry)
    scores, published = life.workspace.scores(QUARTER).read_bytes(), life.published()
    text = life.score(code=1)
    assert "[published]" in text
    assert f"{entry} would {what}" in text and f"--change {entry}" in text
    assert (life.workspace.scores(QUARTER).read_bytes(), life.published()) == (scores, published)


def test_a_published_entry_goes_only_by_the_explicit_command(life: Life) -> None:
    shutil.rmtree(life.submissions / str(QUARTER) / "acme")
    scores, published = life.workspace.scores(QUARTER).read_bytes(), life.published()
    text = life.score(code=1)
    assert f"{ENTRY} would go" in text and f"hellofresh score --edition 2023Q2 --change {ENTRY}" in text
    life.score("--change", "acme/two", code=1)
    assert (life.workspace.scores(QUARTER).read_bytes(), life.published()) == (scores, published)
    life.score("--change", ENTRY)
    assert published.keys() - life.published().keys() == {ENTRY}


def test_a_lost_run_does_not_take_its_published_predictions_along(life: Life) -> None:
    (run,) = life.workspace.runs.iterdir()
    shutil.rmtree(run)
    assert f"{run.name} would go" in life.score(code=1)


def test_what_was_taken_down_may_go_without_being_named_as_an_entry(life: Life) -> None:
    before = life.published()
    life.cli("release", "takedown", "xn-1", "xn-2", "--reason", "the author asked")
    after = life.published()
    assert after.keys() == before.keys()
    assert {key for key, _ in before[ENTRY]} - {key for key, _ in after[ENTRY]} == {"xn-1", "xn-2"}


# --- receipts


def test_a_receipt_is_never_older_than_the_one_that_it_replaces(make, tmp_path, life: Life) -> None:
    due = due_in(life.workspace, QUARTER)
    open_still = type(due)(due.edition, due.ids, due.calendars)
    root, moment = tmp_path / "root", parse_utc(OPEN)
    first = add_submission(life.outside(), open_still, root, moment).receipt
    changed = life.outside(flip=True)
    refused("clock-behind", add_submission, changed, open_still, root, moment - timedelta(seconds=1))
    again = add_submission(changed, open_still, root, moment).receipt
    assert [again.received, *(one.received for one in again.earlier)] == [moment, first.received]


def test_a_sites_clock_that_steps_back_takes_nothing_in(life: Life, tmp_path) -> None:
    due = due_in(life.workspace, QUARTER)
    open_still, inbox = type(due)(due.edition, due.ids, due.calendars), Inbox(tmp_path / "inbox")
    moment = parse_utc(OPEN)
    for entry, seconds, code in (("acme/one", 0, ""), ("beta/one", -1, "clock-behind"), ("beta/one", 0, "")):
        submission = inspect_submission(life.outside(entry), due, moment).submission
        at = moment + timedelta(seconds=seconds)
        if code:
            refused(code, inbox.hand_in, submission, open_still, at)
        else:
            assert inbox.hand_in(submission, open_still, at).new
    assert [item.receipt.received for item in inbox.arrivals()[0]] == [moment, moment]


# --- the folder of submissions


def test_a_command_from_any_folder_finds_the_workspaces_submissions(life: Life, tmp_path, monkeypatch) -> None:
    before = life.published()
    for where in (tmp_path / "elsewhere", tmp_path / "with-others"):
        (where / "submissions/2023Q2/other/one").mkdir(parents=True)
        monkeypatch.chdir(where)
        life.workspace.scores(QUARTER).unlink()
        life.score()
        assert life.published() == before


def test_the_first_run_of_all_puts_the_folder_on_record(place, cli) -> None:
    (place / "submissions").mkdir()
    assert "no-release" in cli("score", "--quarter", "2023Q2", code=1)  # and nothing was lost
    assert Workspace(place / "data").has_recorded_submissions


def test_another_folder_of_submissions_is_refused_until_it_is_recorded(life: Life, tmp_path) -> None:
    other = tmp_path / "other"
    text = life.score("--submissions", other, code=2)
    assert "[other-submissions]" in text
    assert f"hellofresh submission list --folder {other}" in text
    shutil.copytree(life.submissions, other)
    life.cli("submission", "list", "--folder", other)
    assert life.cli("submission", "list", "--folder").startswith(str(other))
    life.score("--submissions", other)
    life.score("--submissions", life.submissions, code=2)


def test_the_record_moves_with_the_workspace_and_its_neighbour(life: Life, tmp_path, monkeypatch) -> None:
    assert json.loads((life.workspace.root / "workspace.json").read_text())["submissions"] == "../submissions"
    moved = tmp_path / "moved"
    moved.mkdir()
    shutil.copytree(life.workspace.root, moved / "copy")
    shutil.copytree(life.submissions, moved / "submissions")
    assert Workspace(moved / "copy").submissions() == moved / "submissions"
    monkeypatch.chdir(moved)
    assert Workspace(Path("copy")).submissions() == Path("submissions")


@pytest.mark.parametrize(
    ("content", "code"),
    [("", 1), ("[]", 1), ("{}", 2), ('{"format": 2, "submissions": "x"}', 2), ('{"format": 1}', 2)],
)
def test_a_damaged_record_is_named_and_nothing_is_looked_for_elsewhere(life: Life, content: str, code: int) -> None:
    (life.workspace.root / "workspace.json").write_text(content)
    assert "workspace.json" in life.cli("quarter", "status", code=code).replace(" ", "")
    assert "workspace.json" in life.score(code=code).replace(" ", "")


YEARS_AHEAD = "2030-01-01T12:00:00Z"


@pytest.fixture
def witnessed(monkeypatch, clock_is_right) -> None:
    """The clock alone is not believed, as anywhere but in tests."""
    monkeypatch.setattr(witness.Witness, "confirm", clock_is_right)


@pytest.mark.usefixtures("witnessed")
@pytest.mark.parametrize("command", [("quarter", "run"), ("release", "publish")])
def test_a_clock_years_ahead_makes_nothing_public_without_another_witness(
    make, place, monkeypatch, cli, command: tuple[str, ...]
) -> None:
    make.release(make.notes(3, 3))
    manifest = make.workspace().release(QUARTER, "x-notes") / "manifest.json"
    record_opening(make.workspace(), manifest.parent, CalendarRule().of(QUARTER).opens)
    before = manifest.read_bytes()
    (place / "hellofresh.toml").write_text('[evaluate]\nmodels = ["coin"]\n[daily]\nanalyses = false\n')
    for moment, more, waits in (
        (YEARS_AHEAD, (), True), (YEARS_AHEAD, ("--yes-it-is", "2029-12-31"), True),
        (YEARS_AHEAD, ("--yes-it-is", "2030-01-01"), False), (YEARS_AHEAD, (), False),
    ):  # fmt: skip
        monkeypatch.setenv("HELLOFRESH_NOW", moment)
        code = 0 if not waits else 1 if command[0] == "quarter" else 2
        assert ("cannot be undone, so it waits" in cli(*command, *more, code=code)) is waits
        assert not waits or (manifest.read_bytes() == before and not make.workspace().published.exists())
    assert command[0] == "release" or read_json(manifest)["revealed"]


@pytest.mark.usefixtures("witnessed")
@pytest.mark.parametrize(("ahead", "confirmed"), [(0, True), (47, True), (49, False), (-49, False)])
def test_a_server_that_says_another_time_is_no_witness(make, place, monkeypatch, ahead: int, confirmed: bool) -> None:
    make.release(make.notes(3, 3))
    monkeypatch.setenv("HELLOFRESH_NOW", YEARS_AHEAD)
    said = parse_utc(YEARS_AHEAD) + timedelta(hours=ahead)
    monkeypatch.setattr(witness, "_said_by", lambda _: said)
    asked = witness.Witness(make.workspace(), place / "submissions", servers=["https://index.example"])
    if confirmed:
        asked.confirm("the reveal")
    else:
        refused("unconfirmed-time", asked.confirm, "the reveal")


@pytest.mark.usefixtures("witnessed")
@pytest.mark.parametrize("days", [45, 46])
def test_the_newest_dump_of_the_last_45_days_is_a_witness(make, place, monkeypatch, days: int) -> None:
    make.release(make.notes(3, 3))
    moment = parse_utc("2030-01-01T00:00:00Z")
    monkeypatch.setenv("HELLOFRESH_NOW", YEARS_AHEAD.replace("12:00", "00:00"))
    (make.workspace().snapshots("x-notes") / f"{moment - timedelta(days=days):%Y-%m-%d}").mkdir(parents=True)
    asked = witness.Witness(make.workspace(), place / "submissions")
    if days == 45:
        asked.confirm("the reveal")
    else:
        with pytest.raises(HelloFreshError, check=lambda error: "2029-11-16" in str(error)):
            asked.confirm("the reveal")


def test_sigterm_ends_a_command_with_a_word(place, monkeypatch, cli) -> None:
    monkeypatch.setattr("hellofresh.cli.quarter.status", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    assert "Stopped. Finished work is kept" in cli("quarter", "status", code=143)
    assert signal.getsignal(signal.SIGTERM) is before
