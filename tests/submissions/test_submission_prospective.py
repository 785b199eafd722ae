"""Predictions on the prospective split are taken until its own deadline, and scored apart from the main split."""

from __future__ import annotations

import json
import math
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hellofresh.cli import main
from hellofresh.core.errors import HelloFreshError
from hellofresh.core.files import read_jsonl, write_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.releases.draw.prospective import build_prospective, resolve
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.results.scoring.reveal import publish_results
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.submissions.changes import check_changes
from hellofresh.submissions.format import FILES
from hellofresh.submissions.receipts import add_submission, read_receipt, withdraw_submission
from hellofresh.submissions.released import due_in, fetch_due
from hellofresh.submissions.standings import EntryOutcome, standings
from hellofresh.tasks.samples import MAIN, PROSPECTIVE
from tests.fakes import collect, refused
from tests.releases.test_verify import consistent
from tests.submissions.checks import write_submission
from verifier.checks import verify_release
from verifier.scores import FigureName

QUARTER = Quarter(2026, 4)
MOMENT = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
FORECAST = ["relative_brier_index", "brier_index", "log_score"]
DEADLINE = MOMENT + timedelta(days=5)
LATER = MOMENT + timedelta(days=30)
MAIN_OPEN, MAIN_OVER = datetime(2027, 1, 25, tzinfo=UTC), datetime(2027, 6, 1, tzinfo=UTC)
TRUTH = {"xn-10": 1, "xn-11": 1, "xn-12": 0, "xn-13": 0}
SAID = {"xn-10": 1, "xn-11": 0, "xn-12": 1, "xn-13": None, "xn-14": 1}
"""One right yes, one missed, one false yes, one without answer, and one on a sample that is never decided."""

CHANCES = {1: [0.25, 0.75], 0: [0.875, 0.125]}
"""What is said to be how likely, by the answer."""


class Lane:
    """A quarter with a main and a prospective split."""

    def __init__(self, make, task, root: Path) -> None:
        self.make, self.task, self.root = make, task, root
        self.workspace = make.workspace()
        main_split = [self._note(number) for number in range(20, 24)]
        self.drawn = [self._note(number) for number in range(10, 15)]
        self.collect(self.drawn, [make.candidate(note, k % 2) for k, note in enumerate(main_split)])
        build_prospective(self.workspace, QUARTER, task, seed="s", cap=9, days=5, moment=MOMENT)
        build_release(self.workspace, QUARTER, task, seed="s", cap=9, moment=MOMENT)
        self.due = due_in(self.workspace, QUARTER, PROSPECTIVE)
        self.main = due_in(self.workspace, QUARTER)
        evaluate(self.workspace, Evaluation(QUARTER, task, "always-yes"), lambda _: None)

    def _note(self, number: int):
        return self.make.note(number, date=MOMENT - timedelta(days=3))

    def collect(self, pending, decided) -> None:
        collect(self.workspace, QUARTER, "x-notes", decided, pending, source=BUNDLED)

    def decide(self) -> None:
        self.collect([], [self.make.candidate(note, TRUTH[note.id]) for note in self.drawn if note.id in TRUTH])
        assert resolve(self.workspace, QUARTER, self.task, LATER).labels == 4

    def folder(self, place: str = "acme/system", said=SAID, *, name: str = "System", file="prospective.jsonl") -> Path:
        folder = self.root.parent / "outside" / str(QUARTER) / place
        stated = {} if file == "predictions.jsonl" else CHANCES
        rows = ({"id": key, "label": label, "probabilities": stated.get(label)} for key, label in said.items())
        kept = ({key: value for key, value in row.items() if key != "probabilities" or value} for row in rows)
        return write_submission(folder, kept, name, file=file)

    def both(self) -> Path:
        self.folder(file="predictions.jsonl", said=dict.fromkeys(self.main.ids["x-notes"], 1))
        return self.folder()

    def score(self):
        return score_quarter(self.workspace, QUARTER, self.root, split="prospective")


@pytest.fixture
def lane(make, notes_task, tmp_path) -> Lane:
    return Lane(make, notes_task, tmp_path / "submissions")


def test_it_is_taken_until_the_second_before_its_deadline_with_a_receipt_of_its_own(lane) -> None:
    folder = lane.folder()
    refused("closed", add_submission, folder, lane.due, lane.root, DEADLINE)
    refused("not-open", add_submission, folder, lane.due, lane.root, MOMENT - SECOND)
    assert not lane.root.exists()
    added = add_submission(folder, lane.due, lane.root, DEADLINE - SECOND)
    assert {path.name for path in added.folder.iterdir()} == {
        "prospective.jsonl",
        "receipt_prospective.json",
        "system.toml",
    }
    assert read_receipt(added.folder, [], PROSPECTIVE).received == DEADLINE - SECOND
    assert standings(lane.root, lane.main, MOMENT).entries == ()
    (entry,) = standings(lane.root, lane.due, LATER).entries
    assert entry.tasks == {"x-notes": EntryOutcome.COUNTS}


def test_a_choice_without_probabilities_is_refused(lane) -> None:
    folder = lane.folder()
    rows = list(read_jsonl(folder / "prospective.jsonl"))
    write_jsonl(folder / "prospective.jsonl", ({"id": row["id"], "label": row["label"]} for row in rows))
    said = refused("no-probabilities", add_submission, folder, lane.due, lane.root, MOMENT)
    assert "line 1, probabilities: 'xn-10'" in said and "and 3 more" in said
    assert "0 (not helpful), 1 (helpful), in this order; they add up to 1, such as [0.1, 0.9]" in said


def test_each_split_is_taken_in_and_out_without_the_other(lane) -> None:
    folder = lane.both()
    add_submission(folder, lane.due, lane.root, MOMENT)
    place = add_submission(folder, lane.main, lane.root, MAIN_OPEN).folder
    names = {path.name for path in place.iterdir()}
    assert names == {
        FILES[MAIN].jsonl,
        FILES[MAIN].receipt,
        FILES[PROSPECTIVE].jsonl,
        FILES[PROSPECTIVE].receipt,
        "system.toml",
    }
    for due in (lane.main, lane.due):
        assert [dict(item.tasks) for item in standings(lane.root, due, MAIN_OPEN).entries] == [
            {"x-notes": EntryOutcome.COUNTS}
        ]
    refused("closed", withdraw_submission, lane.root, lane.due, "acme", "system", DEADLINE)
    withdraw_submission(lane.root, lane.due, "acme", "system", MOMENT)
    assert {path.name for path in place.iterdir()} == {"predictions.jsonl", "receipt.json", "system.toml"}
    refused("no-submission", withdraw_submission, lane.root, lane.due, "acme", "system", MOMENT)
    withdraw_submission(lane.root, lane.main, "acme", "system", MAIN_OPEN)
    assert not place.exists()


def test_the_public_samples_of_the_split_are_enough_by_folder_or_by_address(lane, serve) -> None:
    public = lane.workspace.root / "releases"
    fetched = fetch_due(serve(public), QUARTER, PROSPECTIVE)
    assert fetched == due_in(public, QUARTER, PROSPECTIVE) == lane.due
    assert set(lane.due.ids["x-notes"]) == SAID.keys()
    assert lane.due.deadline == DEADLINE
    refused("no-release", due_in, public, Quarter(2026, 3), PROSPECTIVE)


def test_what_a_system_says_of_itself_cannot_be_changed_under_the_other_receipt(lane) -> None:
    place = add_submission(lane.both(), lane.due, lane.root, MOMENT).folder
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    lane.folder(name="Another name")
    changed = lane.root.parent / "outside/2026Q4/acme/system"
    refused("other-split", add_submission, changed, lane.main, lane.root, MAIN_OPEN)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


def test_it_is_scored_with_its_counts_and_leaves_the_main_split_as_it_is(lane) -> None:
    on_main = lane.folder(
        "acme/main", dict.fromkeys(lane.main.ids["x-notes"], 0), name="Main", file="predictions.jsonl"
    )
    add_submission(on_main, lane.main, lane.root, MAIN_OPEN)
    main_before = score_quarter(lane.workspace, QUARTER, lane.root, MAIN_OVER)
    assert {score.provenance for score in main_before.scores} == {"run", "uploaded"}
    add_submission(lane.folder(), lane.due, lane.root, MOMENT)
    late = lane.root / str(QUARTER) / "acme" / "late"
    shutil.copytree(lane.root / str(QUARTER) / "acme" / "system", late)
    receipt = json.loads((late / FILES[PROSPECTIVE].receipt).read_text())
    (late / FILES[PROSPECTIVE].receipt).write_text(json.dumps({**receipt, "received": "2026-11-26T12:00:00Z"}))
    shutil.copytree(late, late.with_name("without"))
    (late.with_name("without") / FILES[PROSPECTIVE].receipt).unlink()
    refused("nothing-to-score", lane.score)
    lane.decide()
    scored = lane.score()
    whole = {score.metric: score for score in scored.scores if score.period == "all"}
    score = whole["f1"]
    assert (score.provenance, score.team, score.system, score.origin) == ("uploaded", "Acme", "System", "acme/system")
    assert (score.none, score.n, score.n_split) == (1, 4, 4)
    values = [whole[name].value for name in ("precision", "recall", "accuracy")]
    assert values == pytest.approx([1 / 3, 1 / 2, 1 / 4])
    # xn-10 came true at 0.75, xn-11 at 0.125, xn-12 not at 0.75, and xn-13 has no forecast.
    errors = [0.25**2, 0.875**2, 0.75**2, 1.0]
    assert [score.metric for score in scored.scores if score.period == "all"][:3] == FORECAST
    for name in FORECAST[:2]:  # classes are equally frequent
        assert whole[name].value == pytest.approx(100 * (1 - math.sqrt(sum(errors) / 4 / 0.25) / 2), abs=1e-12)
    logs = [math.log(0.75), math.log(0.125), math.log(0.25), math.log(0.01)]
    assert whole["log_score"].value == pytest.approx(sum(logs) / 4, abs=1e-12)
    assert [note for note in scored.notes if "not scored" in note] == [
        "the submission acme/late is not scored on x-notes: late",
        "the submission acme/without is not scored on x-notes: no receipt",
    ]
    assert lane.score().skipped
    main_after = score_quarter(lane.workspace, QUARTER, lane.root, MAIN_OVER)
    assert (main_after.scores, main_after.notes) == (main_before.scores, main_before.notes)
    assert main_after.skipped


def test_a_new_submission_of_forecasts_has_room_for_probabilities_and_is_taken_once_they_are_given(
    lane, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(lane.root.parent)
    monkeypatch.setenv("HELLOFRESH_DATA", str(lane.workspace.root))
    said = ["--name", "New", "--team", "Acme", "--contact", "a@b.org", "--model", "m"]
    command = ["submission", "new", "--edition", "2026Q4", *said]
    assert main(command) == 0
    folder = lane.root / "2026Q4" / "acme" / "new"
    details = (folder / "system.toml").read_bytes()
    capsys.readouterr()
    assert main([*command, "--split", "prospective"]) == 0
    assert "such as [0.1, 0.9]" in capsys.readouterr().out and (folder / "system.toml").read_bytes() == details
    assert main([*command, "--split", "prospective"]) != 0  # nothing is written over
    rows = list(read_jsonl(folder / "prospective.jsonl"))
    assert rows and all(row == {"id": row["id"], "label": None, "probabilities": []} for row in rows)
    check = ["submission", "check", str(folder), "--split", "prospective"]
    assert main(check) != 0  # not before it says anything
    write_jsonl(folder / "prospective.jsonl", [{**row, "label": 1} for row in rows])
    assert main(check) != 0
    assert "the probability of each of 0 (not helpful), 1 (helpful)" in "".join(capsys.readouterr())
    write_jsonl(folder / "prospective.jsonl", [{**row, "label": 1, "probabilities": [0.1, 0.9]} for row in rows])
    assert main(check) == 0


def test_a_request_is_reviewed_by_the_splits_that_it_touches(lane, tmp_path) -> None:
    before, after, first = (tmp_path / name for name in ("before", "after", "first"))
    before.mkdir()

    def look(moment: datetime, base: Path = before, *, with_main: bool = True):
        def due_of(edition, split):
            if edition != QUARTER or (split is MAIN and not with_main):
                raise HelloFreshError("none", code="no-release")
            return lane.main if split is MAIN else lane.due

        return check_changes(after, base, due_of, moment=moment)

    place = add_submission(lane.folder(), lane.due, after, MOMENT).folder
    reviewed = look(DEADLINE - SECOND, with_main=False)
    assert reviewed.faults == []
    assert [entry.tasks for entry in reviewed.entries] == [("x-notes, prospective: counts",)]
    assert {fault.code for fault in look(DEADLINE).faults} == {"closed"}
    shutil.copytree(after, first)
    add_submission(lane.both(), lane.main, after, MAIN_OPEN)
    assert [entry.tasks for entry in look(MAIN_OPEN, first).entries] == [("x-notes: counts",)]
    assert look(MAIN_OPEN, first).faults == []
    said = (place / "system.toml").read_text()
    (place / "system.toml").write_text(said.replace('name = "System"', 'name = "Other"'))
    assert {fault.code for fault in look(MAIN_OPEN, first).faults} == {"closed", "altered"}
    (place / "system.toml").write_text(said)
    (place / "prospective.jsonl").write_bytes(b" " * 10_000_001)
    assert "too-large" in {fault.code for fault in look(MOMENT, first).faults}


@pytest.fixture
def published(lane) -> Path:
    """The folder of a resolved split of which one entry was scored and published."""
    add_submission(lane.folder(), lane.due, lane.root, MOMENT)
    lane.decide()
    scored = lane.score()
    (done,) = publish_results(lane.workspace, scored)
    assert (done.split, done.predictions, done.version) == ("prospective", 4, 3)
    assert publish_results(lane.workspace, lane.score()) == []
    return lane.workspace.release(QUARTER, "x-notes") / "prospective"


def faults(folder: Path, *figures: str) -> dict[str, tuple[str, ...]]:
    checks = verify_release(folder, figures=[FigureName.parse(text) for text in figures])
    return {check.name: check.faults for check in checks}


def test_published_forecasts_can_be_verified_and_computed_again(lane, published) -> None:
    found = faults(published, *(f"system=System,metric={name},period=all" for name in ("f1", *FORECAST, "rank")))
    assert {"outcomes", "predictions", "scores", "figure"} <= found.keys()
    assert set(found.values()) == {()}
    assert set(faults(published.parent).values()) == {()}
    ids = {row["id"] for row in read_jsonl(published / "predictions.jsonl")}
    assert ids == set(TRUTH)


def test_an_entry_that_was_dropped_is_found_by_its_receipt(lane, published, monkeypatch, capsys) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(lane.workspace.root))
    monkeypatch.setenv("HELLOFRESH_NOW", "2026-12-30T00:00:00Z")

    def run() -> tuple[int, str]:
        code = main(["release", "verify", str(published), "--submissions", str(lane.root)])
        return code, capsys.readouterr().out

    assert run()[0] == 0
    for name, entry in (("predictions.jsonl", "entry"), ("scores.jsonl", "origin")):
        rows = [row for row in read_jsonl(published / name) if "/" not in row[entry]]
        write_jsonl(published / name, rows)
    consistent(published)
    assert set(faults(published).values()) == {()}
    code, said = run()
    assert code == 1
    assert "was submitted but is not among the predictions" in said
