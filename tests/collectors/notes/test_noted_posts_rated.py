"""A living task of responses from its dump to its scores: what people wrote is rated beside runs, and stands there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hellofresh.cli._output import CommandOutput
from hellofresh.config import Settings
from hellofresh.core.clock import now
from hellofresh.core.files import read_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.judging.people import close_study, open_study, page_folder
from hellofresh.judging.references import about_copied_responses, labels_are_secret, reference_responses
from hellofresh.judging.study import StudyFiles
from hellofresh.pipeline.daily import due_evaluations
from hellofresh.pipeline.sources import SourceRequest, collection_jobs
from hellofresh.releases.erasure import Erasure, find_files
from hellofresh.releases.life.state import reveal
from hellofresh.runs.export import loosen, seal
from hellofresh.submissions.format import Prediction
from hellofresh.tasks import get_task
from tests.collectors.notes.test_noted_posts import APRIL, HELPFUL, NOT_HELPFUL, noted
from tests.conftest import Cli
from tests.ratings import rating

QUARTER, TASK = Quarter(2023, 2), get_task("x-posts")


@pytest.fixture
def released(dump: Any, place: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> Workspace:
    """A workspace with an open quarter of six posts."""
    for number in range(1, 7):
        noted(dump, number, HELPFUL, NOT_HELPFUL, at=APRIL + number * 86_400_000)
    for row in dump.rows["notes"]:
        row["summary"] = f"In note {row['noteId']} the office says otherwise: https://office.example/{row['noteId']}."
    monkeypatch.setenv("HELLOFRESH_NOW", "2023-07-25T00:00:00Z")
    cli("collect", "x-posts", "--quarter", "2023Q2", "--dump", dump.write())
    cli("release", "build", "--quarter", "2023Q2")
    return Workspace(place / "data")


@pytest.fixture
def scored(released: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> Workspace:
    """The same after people rated a run beside the notes, and the quarter was revealed and scored."""
    edition = ["--edition", "2023Q2", "--task", "x-posts"]
    evaluated = [*edition, "--model", "scripted", "--regime", "correction", "--set", "retrieval=false"]
    cli("evaluate", *evaluated, "--set", "vision=false")
    (run,) = released.runs.iterdir()
    said = [
        {**row, "text": f"The office denies this, {row['id']}.", "status": "answered"}  # the script itself says nothing
        for row in read_jsonl(run / "predictions.jsonl")
    ]
    loosen(run)
    (run / "predictions.jsonl").write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in said))
    seal(run)
    folder = tmp_path / "study"
    cli("rate", "assign", *edition, "--run", run.name, "--prepare", str(folder))
    rows = list(read_jsonl(folder / "responses.jsonl"))
    assert {row["system"] for row in rows} == {"human-high", "human-low", "scripted correction"} and len(rows) == 18
    assert rows[0]["sources"] == ["https://office.example/100"]
    assert {(path.stat().st_mode & 0o777) for path in folder.iterdir()} == {0o600}
    files = [f"--samples={folder}/samples.jsonl", f"--responses={folder}/responses.jsonl"]
    cli("rate", "assign", *edition, *files, "--rater", "A", "--rater", "B")
    study_files = StudyFiles(released, QUARTER, "x-posts")
    study = open_study(page_folder(study_files))
    texts = {row["text"]: row["system"] for row in rows}
    best = {"human-high": 9, "scripted correction": 5, "human-low": 2}
    for plan in study.assignments.raters:
        for _, response in plan.responses:
            said = study.responses[response]
            answers = rating.full_answers(study.rubric, said.sources, overall=best[texts[said.text]], comment="so")
            study.sheet(plan).append(rating.submission(response, answers))
    close_study(study_files, secret=labels_are_secret(study_files))
    monkeypatch.setenv("HELLOFRESH_NOW", "2024-06-01T00:00:00Z")
    assert reveal(released, QUARTER, TASK, now())
    cli("score", "--edition", "2023Q2")
    return released


def test_people_and_runs_are_rated_side_by_side_and_scored_at_the_reveal(scored: Workspace, cli: Cli) -> None:
    released = scored
    scores = list(read_jsonl(released.release(QUARTER, "x-posts") / "scores.jsonl"))
    overall = {row["system"]: row["value"] for row in scores if (row["metric"], row["period"]) == ("overall", "all")}
    cli("release", "verify", str(released.release(QUARTER, "x-posts").parent))
    assert overall == {"human-high": 9.0, "scripted": 5.0, "human-low": 2.0}
    # The release withholds texts: no response is published, the notes least of all.
    cli("board", "build")
    cli("release", "publish")
    cli("board", "export", "site")
    said = Erasure(tuple(str(row["text"]) for row in read_jsonl(StudyFiles(released, QUARTER, "x-posts").responses)))
    assert [
        path for path in find_files([released.board, released.published, Path("site")]) if said.is_held_by(path)
    ] == []


@pytest.mark.parametrize("everywhere", [False, True])
def test_after_a_rated_post_was_taken_down_everything_goes_on(scored: Workspace, cli: Cli, everywhere: bool) -> None:
    folder = scored.release(QUARTER, "x-posts")
    cli("board", "build")
    cli("release", "publish")
    key = str(next(iter(read_jsonl(folder / "samples.jsonl")))["id"])
    said = [row["text"] for row in read_jsonl(StudyFiles(scored, QUARTER, "x-posts").responses) if row["sample"] == key]
    assert len(said) == 3
    more = ["--everywhere"] if everywhere else []
    cli("release", "takedown", key, "--reason", "asked by its author", *more)
    for command in (
        ["score", "--edition", "2023Q2"],
        ["board", "build"],
        ["release", "publish"],
        ["release", "verify"],
        ["release", "verify", str(scored.published)],
    ):
        cli(*command)
    searched = [scored.root] if everywhere else [scored.board, scored.published]
    erasure = Erasure(tuple(map(str, said)))
    assert [path for path in find_files(searched) if erasure.is_held_by(path)] == []
    cli("quarter", "run")


def test_where_scoring_cannot_run_a_text_that_is_taken_down_leaves_board_and_publication_all_the_same(
    scored: Workspace, cli: Cli
) -> None:
    cli("board", "build")
    cli("release", "publish")
    row = next(iter(read_jsonl(StudyFiles(scored, QUARTER, "x-posts").responses)))
    StudyFiles(scored, QUARTER, "x-posts").ratings.with_name("x-posts.rubric.toml").write_text("damaged")
    said = cli("release", "takedown", row["sample"], "--reason", "asked", "--everywhere", code=1)
    assert "2023Q2 is not scored again" in said and f"{scored.board} is removed" in said
    assert [path for path in find_files([scored.root]) if Erasure((str(row["text"]),)).is_held_by(path)] == []


def test_a_response_that_repeats_a_note_on_the_post_is_named_once_that_tells_nothing(
    released: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = reference_responses(released, QUARTER, TASK)
    assert len(notes) == 12 and {item.system for item in notes} == {"human-high", "human-low"}
    samples = {"x-posts": tuple({item.sample for item in notes})}

    def warned(*rows: Prediction) -> list[str]:
        return [f.what for f in about_copied_responses(released, QUARTER, samples, rows, tmp_path / "p.jsonl")]

    copy = Prediction(id=notes[0].sample, text=f"{notes[0].text} Really.")
    assert warned(copy) == []  # while the quarter is open, it would tell which notes there are
    monkeypatch.setenv("HELLOFRESH_NOW", "2024-06-01T00:00:00Z")
    assert reveal(released, QUARTER, TASK, now())
    assert len(warned(copy)) == 1 and notes[0].sample in warned(copy)[0]
    assert warned(Prediction(id=notes[0].sample, text="My own words about what the post says of the town.")) == []


def test_further_tasks_are_collected_from_the_same_dump_and_evaluated_only_by_regimes_that_fit(
    released: Workspace, tmp_path: Path
) -> None:
    config = tmp_path / "hellofresh.toml"
    config.write_text(
        f'[sources.x-notes]\ndump = "{tmp_path / "dump"}"\nalso = ["x-notes-media", "x-posts"]\n\n'
        '[evaluate]\nmodels = ["scripted"]\nregimes = ["zero-shot", "correction"]\n'
    )
    settings = Settings.load(config)
    jobs = collection_jobs(released, settings, SourceRequest((QUARTER,)))
    assert [job.task.name for job in jobs] == ["x-notes", "x-notes-media", "x-posts"]
    with CommandOutput(as_json=True).progress("x") as bar:
        assert [len(job.collect(bar.line).candidates) for job in jobs] == [12, 0, 6]
    due = [(item.task.name, item.regime) for item in due_evaluations(released, settings)]
    assert due == [("x-posts", "correction")]
