"""A study whose labels are secret: nothing public tells how systems fared, and its files stay private."""

from __future__ import annotations

from pathlib import Path

import pytest

from hellofresh.core.editions import Frozen
from hellofresh.core.errors import ReleaseError
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.judging.people import assign, close_study, open_study, page_folder
from hellofresh.judging.references import labels_are_secret, refuse_before_reveal
from hellofresh.judging.study import StudyFiles, read_responses, read_study
from tests.conftest import Cli
from tests.ratings.rating import full_answers, responses, samples, submission

QUARTER = Quarter(2026, 3)
STUDY = ["--edition", "2026Q3", "--task", "x-posts"]


def closed(workspace: Workspace, edition=QUARTER, task: str = "x-posts") -> StudyFiles:
    """A study of six samples; the third system responded to one of them."""
    files = StudyFiles(workspace, edition, task)
    some = [item for item in responses(6) if item.system != "third" or item.sample == "mp-1"]
    assign(files, samples(6), some, ["A", "B"], rubric="correction-13")
    study = open_study(page_folder(files))
    for plan in study.assignments.raters:
        for _, response in plan.responses:
            answers = full_answers(study.rubric, study.responses[response].sources)
            study.sheet(plan).append(submission(response, answers))
    close_study(files, secret=labels_are_secret(files))
    return files


@pytest.fixture
def workspace(place: Path) -> Workspace:
    return Workspace(place / "data")


def test_a_study_that_is_closed_before_the_reveal_stays_private_and_closes_again(workspace: Workspace) -> None:
    files = closed(workspace)
    kept = [path for path in workspace.root.rglob("*") if path.is_file()]
    assert {path.is_relative_to(workspace.root / "private") for path in kept} == {True}
    assert {path.stat().st_mode & 0o777 for path in kept if path.parent == files.closed} == {0o600}
    before = {path: path.read_bytes() for path in kept}
    close_study(files, secret=labels_are_secret(files))
    assert {path: path.read_bytes() for path in kept} == before
    assert len(read_responses(files)) == 13 and read_study(workspace, QUARTER, "x-posts").ratings.height


@pytest.mark.parametrize("report", [[], ["--kind=standings"], ["--kind=judges"], ["--export=out.jsonl"]])
def test_figures_by_system_wait_for_the_reveal_unless_in_private(workspace: Workspace, cli: Cli, report) -> None:
    closed(workspace)
    said = cli("rate", "report", *STUDY, "--json", *report, code=1)
    assert "not revealed" in said and "--private" in said and "first" not in cli.out
    assert not Path("out.jsonl").exists()
    cli("rate", "report", *STUDY, "--json", "--private", *report)
    cli("rate", "report", *STUDY, "--kind=agreement")


def test_it_is_said_from_when_figures_are_public(make) -> None:
    built = make.release(make.notes(4, 4))
    workspace = make.workspace()
    files = StudyFiles(workspace, Quarter(2023, 2), "x-notes")
    with pytest.raises(ReleaseError, match="not revealed") as caught:
        refuse_before_reveal(files, private=False)
    assert built and caught.value.expected == "their reveal, from 2023-10-22T00:00:00Z on"


def test_a_study_set_up_from_files_names_whom_its_report_leaves_out(workspace: Workspace, cli: Cli) -> None:
    closed(workspace, Frozen("corrections", "7"), "corrections")
    report = ("rate", "report", "--edition", "corrections@7")
    assert {row["system"] for row in cli.json(*report, "--kind", "standings")} == {"first", "second", "third"}
    assert "third is left out: it has responses of its own to 1 of 6 posts" in cli(*report)
