"""People who rate: dealt to, watched, never losing what they submitted, and never told who wrote what."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hellofresh.core.editions import Frozen
from hellofresh.core.errors import DataError, ReleaseError, SubmissionError, UsageError
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.judging.comparison import of_systems, system_means
from hellofresh.judging.people import (
    OpenStudy,
    assign,
    close_study,
    deal,
    export_study,
    open_study,
    page_folder,
    progress,
)
from hellofresh.judging.references import labels_are_secret, refuse_before_reveal
from hellofresh.judging.rubric import load_rubric
from hellofresh.judging.study import RatingPhase, StudyFiles, read_responses, read_study
from hellofresh.judging.submitted import RaterSheet, Step, SubmittedAnswers, check_answers
from tests.conftest import Cli
from tests.ratings.rating import SYSTEMS, assigned, full_answers, responses, samples, study_files, submission

RUBRIC = load_rubric("correction-13")
LINKS = ("https://example.org/0", "https://example.net/0")
KILLS = int(os.environ.get("HELLOFRESH_KILLS", "150"))


@settings(max_examples=40)
@given(st.integers(4, 120), st.sampled_from([2, 4, 10]), st.sampled_from([0.0, 0.3, 1.0]), st.integers(0, 3))
def test_samples_are_dealt_to_one_pair_and_the_share_to_both(
    count: int, raters: int, share: float, onboarding: int
) -> None:
    names = [f"s{k}" for k in range(count)]
    dealt = deal(names, raters, share=share, onboarding=onboarding, seed="x")
    assert dealt == deal(names[::-1], raters, share=share, onboarding=onboarding, seed="x")
    assert {name for hand in dealt for name, _ in hand} == set(names)
    owners: dict[str, set[int]] = {}
    for rater, hand in enumerate(dealt):
        assert [phase for _, phase in hand[:onboarding]] == [RatingPhase.ONBOARDING] * onboarding
        assert len({name for name, _ in hand}) == len(hand)
        for name, _ in hand[onboarding:]:
            owners.setdefault(name, set()).add(rater // 2)
    assert all(len(pairs) == 1 for pairs in owners.values())
    for pair in range(raters // 2):
        one, two = (set(hand[onboarding:]) for hand in dealt[2 * pair : 2 * pair + 2])
        assert abs(len(one) - len(two)) <= 1
        assert len(one & two) == pytest.approx(share * (len(one) + len(two)) / 2, abs=1.01)


@pytest.mark.parametrize(
    ("raters", "share", "onboarding"), [(3, 0.3, 0), (0, 0.3, 0), (2, 1.5, 0), (2, float("nan"), 0), (2, 0.3, 9)]
)
def test_numbers_that_make_no_sense_are_refused(raters: int, share: float, onboarding: int) -> None:
    with pytest.raises(UsageError):
        deal(["a", "b", "c"], raters, share=share, onboarding=onboarding, seed="x")


def test_the_pages_folder_names_no_system_no_rater_and_no_token(tmp_path: Path) -> None:
    files, access, study = assigned(tmp_path)
    held = b"".join(path.read_bytes() for path in page_folder(files).rglob("*") if path.is_file()).decode()
    secrets = [f'"{system}"' for system in SYSTEMS] + [part for who in access for part in (who.name, who.token)]
    assert not [secret for secret in secrets if secret in held]
    assert {path.name for path in files.private.iterdir()} == {"page", "key.parquet", "raters.json"}
    for path in files.private.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert study.assignments.of_token(access[1].token).rater == "rater-2"
    assert study.assignments.of_token(access[1].token + "x") is None


def test_ids_and_orders_tell_nothing_of_the_system(tmp_path: Path) -> None:
    _, _, one = assigned(tmp_path / "one", count=40)
    _, _, two = assigned(tmp_path / "two", count=40)
    assert set(one.responses).isdisjoint(two.responses)  # another salt
    first = Counter(one.responses[turn.responses[0]].text[-2] for plan in one.assignments.raters for turn in plan.turns)
    assert len(first) == 2  # systems' names have five or six letters
    assert min(first.values()) > 1  # a fair order gives so few once in a million


def test_what_is_submitted_becomes_ratings_with_their_systems(tmp_path: Path) -> None:
    files, _, study = assigned(tmp_path, onboarding=1)
    for number, plan in enumerate(study.assignments.raters):
        for turn, response in plan.responses:
            links = study.responses[response].sources
            answers = full_answers(study.rubric, links, overall=8 - number, comment=f"because of {plan.rater}")
            check_answers(study.rubric, answers, links, turn.phase)
            study.sheet(plan).append(submission(response, answers))
    ratings = close_study(files, secret=False)
    closed = read_study(files)
    assert closed.ratings.height == ratings.height
    assert set(closed.ratings["judge"]) == {"rater-1", "rater-2"}
    rated = of_systems(closed.ratings, closed.key)
    assert set(rated["phase"]) == {"main"}
    means = system_means(rated, study.rubric.criterion("overall"), SYSTEMS)
    assert [item.posts for item in means] == [5, 5, 5]
    assert all(7 < item.mean.value < 8 for item in means)
    weights = rated.group_by("response", "link", "criterion").agg(pl.col("weight").sum())
    assert weights["weight"].unique().to_list() == [1.0]
    assert export_study(files, tmp_path / "out.jsonl") == ratings.height
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {row["system"] for row in rows} == set(SYSTEMS)
    assert "Name 0" not in (tmp_path / "out.jsonl").read_text()


def rate_first(study: OpenStudy) -> str:
    """The first rater's first response is rated; gives its id."""
    plan = study.assignments.raters[0]
    _, response = next(plan.responses)
    study.sheet(plan).append(submission(response, full_answers(RUBRIC, study.responses[response].sources)))
    return response


def test_a_study_is_closed_only_when_it_is_complete_or_that_is_not_wanted(tmp_path: Path) -> None:
    files, _, study = assigned(tmp_path)
    rate_first(study)
    with pytest.raises(UsageError, match="not rated yet"):
        close_study(files, secret=False)
    assert not study.is_closed
    assert close_study(files, secret=False, incomplete=True).height > 10
    assert study.is_closed
    with pytest.raises(UsageError, match="submitted already"):
        assign(files, samples(2), responses(2), ["a", "b"], rubric="correction-13")


def test_a_response_that_is_gone_and_that_nobody_rated_does_not_stop_the_closing(tmp_path: Path) -> None:
    files, _, study = assigned(tmp_path)
    response = rate_first(study)
    path = page_folder(files) / "responses.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if json.loads(line)["id"] == response))
    assert set(close_study(files, secret=False, incomplete=True)["response"]) == {response}


def test_assigning_again_is_possible_only_before_anybody_has_rated(tmp_path: Path) -> None:
    files, _, _ = assigned(tmp_path)
    _, _, study = assigned(tmp_path)
    plan = study.assignments.raters[0]
    study.sheet(plan).append(submission("r-1", SubmittedAnswers(), Step.UNDONE))
    with pytest.raises(UsageError, match="submitted already"):
        assigned(tmp_path)
    assert progress(open_study(page_folder(files)))[0].submitted == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: [*rows, rows[0]], "two responses"),
        (lambda rows: [type(rows[0])("mp-99", "first", "text")], "unknown sample"),
    ],
)
def test_responses_that_do_not_fit_are_named(tmp_path: Path, change, says: str) -> None:
    with pytest.raises(DataError, match=says):
        assign(study_files(tmp_path), samples(2), change(responses(2)), ["a", "b"], rubric="correction-13")


def test_a_changed_rubric_is_noticed(tmp_path: Path) -> None:
    files, _, _ = assigned(tmp_path)
    path = page_folder(files) / "rubric.toml"
    path.write_bytes(path.read_bytes() + b"# changed\n")
    with pytest.raises(DataError, match="rubric was changed"):
        open_study(page_folder(files))


def test_the_latest_step_about_a_response_counts(tmp_path: Path) -> None:
    sheet = RaterSheet(tmp_path / "sheet.jsonl")
    answers = full_answers(RUBRIC, LINKS)
    sheet.extend([submission("r-1", answers), submission("r-2", answers)])
    sheet.append(submission("r-2", SubmittedAnswers(), Step.UNDONE))
    assert list(sheet.state().submitted) == ["r-1"]


def test_half_a_line_is_passed_over_and_the_next_one_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "sheet.jsonl"
    sheet = RaterSheet(path)
    for number in range(2):
        sheet.append(submission(f"r-{number}", full_answers(RUBRIC, LINKS)))
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    assert list(sheet.state().submitted) == ["r-0"]
    sheet.append(submission("r-2", full_answers(RUBRIC, LINKS)))
    assert list(sheet.state().submitted) == ["r-0", "r-2"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda v, links: v.pop("explicitness"), "no-answer"),
        (lambda v, links: v.update(overall=11), "bad-value"),
        (lambda v, links: v.update(overall=None), "bad-value"),
        (lambda v, links: v.update(identification=0), "not-asked"),
        (lambda v, links: v.update(beauty=1), "unknown-name"),
        (lambda v, links: links[LINKS[0]].pop("credibility"), "no-answer"),
        (lambda v, links: links[LINKS[0]].update(reachability=0), "not-asked"),
        (lambda v, links: links.pop(LINKS[1]), "no-answer"),
        (lambda v, links: links.update({"https://example.com": {}}), "unknown-link"),
    ],
)
def test_answers_that_are_not_whole_are_not_taken(change, code: str) -> None:
    answers = full_answers(RUBRIC, LINKS)
    values, links = dict(answers.values), {link: dict(said) for link, said in answers.links.items()}
    change(values, links)
    with pytest.raises(SubmissionError, check=lambda error: error.code == code):
        check_answers(RUBRIC, SubmittedAnswers(values, links), LINKS, RatingPhase.MAIN)


def test_skipped_questions_and_undecided_ones_are_taken() -> None:
    answers = full_answers(RUBRIC, LINKS)
    kept = {k: v for k, v in answers.values.items() if k not in {"comprehensiveness", "accuracy", "informativeness"}}
    links = {LINKS[0]: {"reachability": 0}, LINKS[1]: {**answers.links[LINKS[1]], "credibility": None}}
    check_answers(RUBRIC, SubmittedAnswers({**kept, "identification": 0}, links), LINKS, RatingPhase.MAIN)
    with pytest.raises(SubmissionError, match="explanation is required"):
        check_answers(RUBRIC, answers, LINKS, RatingPhase.ONBOARDING)


WRITER = """
import sys
from pathlib import Path
from tests.ratings.rating import full_answers, submission
from hellofresh.judging.rubric import load_rubric
from hellofresh.judging.submitted import RaterSheet
rubric, number = load_rubric("correction-13"), 0
while True:
    number += 1
    RaterSheet(Path(sys.argv[1])).append(submission(f"r-{number}", full_answers(rubric, ["https://example.org"])))
    print(number, flush=True)
"""


def killed_while_submitting(path: Path, after: int) -> int:
    """Kill a process that submits without end; returns what it last said was stored."""
    found = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, env=found
    ) as process:
        said = next(line for line in process.stdout if int(line) >= after)
        os.kill(process.pid, 9)
        return int((said + process.stdout.read()).split()[-1])


@pytest.mark.parametrize("kills", [3, pytest.param(KILLS, marks=pytest.mark.soak)])
def test_a_kill_loses_nothing_that_was_said_to_be_stored(tmp_path: Path, kills: int) -> None:
    source = random.Random(kills)
    for number in range(kills):
        path = tmp_path / f"{number}.jsonl"
        stored = killed_while_submitting(path, source.randint(1, 60))
        found = RaterSheet(path).state().submitted
        assert set(found) >= {f"r-{k}" for k in range(1, stored + 1)}
        RaterSheet(path).append(submission("r-more", SubmittedAnswers()))
        assert "r-more" in RaterSheet(path).state().submitted


# --- A study whose labels are secret: nothing public tells how systems fared, and its files stay private.


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
    assert len(read_responses(files)) == 13 and read_study(StudyFiles(workspace, QUARTER, "x-posts")).ratings.height


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
    assert "third is left out: it has its own responses to 1 of 6 posts" in cli(*report)
