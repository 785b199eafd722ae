"""Proposals: systems write the paragraph that should stand; people rate it beside the edits that stayed and went."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from hellofresh.cli import main
from hellofresh.core.clock import now
from hellofresh.core.files import read_jsonl, write_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.judging.people import close_study, open_study, page_folder
from hellofresh.judging.references import labels_are_secret
from hellofresh.judging.study import StudyFiles
from hellofresh.releases.life.state import reveal
from hellofresh.results.board.system_rows import RatedRow
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.record import file_entries, read_record
from hellofresh.runs.regimes.zero_shot import read_proposal
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Status
from leaderboard.data.board import SplitKey, load_board
from tests.ratings.rating import full_answers, submission

QUARTER, TASK = Quarter(2023, 2), get_task("wikipedia-edits")
EDITION = ("--edition", "2023Q2", "--task", "wikipedia-edits")
BEST = {"edit-stayed": 5, "scripted propose": 4, "edit-reverted": 1}


@pytest.fixture
def edits(make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """An open quarter of six paragraphs, each with an edit that stayed and one that was reverted."""
    found = []
    for number in range(12):
        edit = make.edit(number + 1, page=number // 2, date=datetime(2023, 4, 4 + number // 2, tzinfo=UTC))
        candidate = make.candidate(edit, number % 2)
        link = f"https://paper.example/{number}"
        extras = {"wikitext_before": "A.", "wikitext_after": f"B.<ref>{{{{cite|url={link}|title=T}}}}</ref>"}
        found.append(replace(candidate, extras={**extras, "paragraph_after": f"The river rises, says edit {number}."}))
    workspace = make.workspace()
    make.release(found, workspace=workspace)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    monkeypatch.setenv("HELLOFRESH_NOW", "2023-07-25T00:00:00Z")
    assert main(["evaluate", *EDITION, "--model", "scripted", "--regime", "propose", "--go-on"]) == 0
    (run,) = workspace.runs.iterdir()
    rows = list(read_jsonl(run / "predictions.jsonl"))
    said = ({**row, "text": f"A clearer paragraph, {row['id']}.", "status": "answered"} for row in rows)
    write_jsonl(run / "predictions.jsonl", said)
    record = read_record(run)
    assert record is not None
    record.model_copy(update={"files": file_entries(run)}).write(run)
    return workspace


def test_people_say_whose_paragraph_is_better_and_the_board_says_so_after_the_reveal(
    edits: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, (run,) = tmp_path / "study", edits.runs.iterdir()
    assert main(["rate", "assign", *EDITION, "--run", run.name, "--prepare", str(folder)]) == 0
    samples, rows = (list(read_jsonl(folder / f"{name}.jsonl")) for name in ("samples", "responses"))
    assert sorted(row["text"] for row in samples) == [f"Page {k}\n\nA paragraph about a river." for k in range(6)]
    assert not any(row["address"] for row in samples)  # the address of an edit shows the edit
    by_sample = [{row["system"]: row for row in rows if row["sample"] == sample["id"]} for sample in samples]
    assert all(set(found) == set(BEST) for found in by_sample)
    reverted = next(found["edit-reverted"] for found in by_sample if "edit 0." in found["edit-reverted"]["text"])
    assert reverted["text"] == "The river rises, says edit 0.\n\nSources: https://paper.example/0"
    assert reverted["sources"] == ["https://paper.example/0"]
    files = [f"--samples={folder}/samples.jsonl", f"--responses={folder}/responses.jsonl"]
    assert main(["rate", "assign", *EDITION, *files, "--rater", "A", "--rater", "B"]) == 0
    study_files = StudyFiles(edits, QUARTER, TASK.name)
    study = open_study(page_folder(study_files))
    assert [criterion.id for criterion in study.rubric.criteria] == [
        "better", "sourced", "neutral", "faithful", "well-written",
    ]  # fmt: skip
    pages = "".join(path.read_text() for path in sorted((study_files.private / "raters").glob("*.html")))
    assert pages.count("The river rises") and not [name for name in BEST if name in pages]
    texts = {row["text"]: row["system"] for row in rows}
    for plan in study.assignments.raters:
        for _, response in plan.responses:
            said = study.responses[response]
            answers = full_answers(study.rubric, said.sources, overall=BEST[texts[said.text]])
            study.sheet(plan).append(submission(response, answers))
    close_study(study_files, secret=labels_are_secret(study_files))
    assert main(["evaluate", *EDITION, "--model", "coin"]) == 0
    assert main(["score", "--edition", "2023Q2"]) == 0
    assert main(["board", "build"]) == 0
    split = SplitKey("2023Q2", TASK.name)
    assert not load_board(edits.board).rows(RatedRow, split)  # which edit stayed is the label
    monkeypatch.setenv("HELLOFRESH_NOW", "2024-06-01T00:00:00Z")
    assert reveal(edits, QUARTER, TASK, now())
    assert main(["score", "--edition", "2023Q2"]) == 0
    assert main(["board", "build"]) == 0
    rated = [row for row in load_board(edits.board).rows(RatedRow, split) if row.criterion == "better"]
    assert {row.system: row.mean for row in rated} == BEST
    assert [row.system for row in rated] == list(BEST)
    scores = {row["system"] for row in read_jsonl(edits.release(QUARTER, TASK.name) / "scores.jsonl")}
    assert scores == {"coin"}  # what is rated is not scored
    published = edits.release(QUARTER, TASK.name).parent
    rows = list(read_jsonl(published / "ratings" / f"{TASK.name}.standings.jsonl"))
    assert {row["system"]: row["mean"] for row in rows if row["criterion"] == "better"} == BEST
    assert main(["release", "verify", str(published)]) == 0
    table = published / "ratings" / f"{TASK.name}.parquet"
    frame = pl.read_parquet(table)
    frame.with_columns(value=pl.lit(3.0)).write_parquet(table)
    assert main(["release", "verify", str(published)]) == 1


def test_the_model_sees_the_paragraph_and_not_the_edit(make) -> None:
    prompts = load_prompt_set(TASK.name, "propose")
    message = prompts.message(prompts.prompts[0], TASK.slots(make.edit(1, added="SECRET WORDS")))
    assert "A paragraph about a river." in str(message) and "SECRET WORDS" not in str(message)


LINK = ("https://a.example/x",)


@pytest.mark.parametrize(
    ("said", "text", "sources"),
    [
        ("It rises.", "It rises.", ()),
        ("Paragraph: It\nrises.\n\nSources:\n- https://a.example/x, https://a.example/x", None, LINK),
        ("It rises.\n**Source:** (https://a.example/x).", None, LINK),
        ("It rises. Sources of water: many.", "It rises. Sources of water: many.", ()),
        ("Sources: none", None, ()),
    ],
)
def test_a_proposal_has_the_form_of_an_editors_paragraph(said: str, text: str | None, sources: tuple[str, ...]) -> None:
    found = read_proposal("manual", said)
    assert found.sources == sources
    if said.startswith("Sources"):
        assert found.status is Status.NONE
    else:
        assert found.text == (text or f"It rises.\n\nSources: {' '.join(sources)}")
