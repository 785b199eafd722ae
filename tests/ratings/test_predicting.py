"""People who predict: blind to labels before the reveal, beside systems after it, and recomputed by a stranger.

All people here are invented, and stand in no workspace but the tests' own.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from hellofresh.cli.rate_people import _about_checks
from hellofresh.core.errors import SubmissionError, UsageError
from hellofresh.core.files import read_jsonl
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.judging.people import close_study, open_study, page_folder
from hellofresh.judging.predicting import (
    ANSWERS,
    PersonAnswer,
    asked_file,
    deal_to_people,
    first_for_people,
)
from hellofresh.judging.rating import rater_page, take_lines
from hellofresh.judging.study import StudyFiles, read_samples
from hellofresh.releases.life.load import load_release
from hellofresh.releases.life.state import reveal
from hellofresh.releases.publish.folder import publish_to_folder
from hellofresh.results.board.build import build_board
from hellofresh.results.scoring.people import people_rows
from hellofresh.results.scoring.reveal import publish_results
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.results.split.arrays import build_panel
from hellofresh.results.split.tables import PeopleRow
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.stats.metrics import class_f1, macro_f1
from hellofresh.stats.multiway import clustered_metric
from leaderboard.data.board import SplitKey, load_board
from leaderboard.export import export_board
from tests.conftest import Cli, Maker
from tests.ratings.predicted_study import DAYS, NOTES, OPEN, QUARTER, answer, asked, line
from verifier.checks import beside_checks, verify_release
from verifier.publication import publication_checks


@pytest.fixture(scope="module")
def revealed(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A quarter that is revealed, with people and two baselines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HELLOFRESH_NOW", OPEN)
        files = asked(tmp_path_factory.mktemp("people"), people=7)
        answer(files, careless=("rater-3",))
        close_study(files, secret=True)
        workspace = files.workspace
        for model in ("coin", "always-yes"):
            evaluate(workspace, Evaluation(QUARTER, NOTES, model), lambda _: None)
        patch.setenv("HELLOFRESH_NOW", utc_text(DAYS.reveals))
        reveal(workspace, QUARTER, NOTES, DAYS.reveals)
        publish_results(workspace, score_quarter(workspace, QUARTER, workspace.root / "none", DAYS.reveals))
        build_board(workspace)
    return workspace


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELLOFRESH_NOW", OPEN)


def published(workspace: Workspace, end: str) -> Path:
    return workspace.root / "releases" / str(QUARTER) / "ratings" / f"x-notes.{end}"


def people_faults(workspace: Workspace) -> list[str]:
    """What a stranger finds wrong with the files of people."""
    checks = verify_release(workspace.release(QUARTER, "x-notes"))
    return next(list(check.faults) for check in checks if check.name == "people")


def test_the_subset_is_the_same_for_everybody_and_each_sample_goes_to_three_people_or_more() -> None:
    ids = [f"xn-{k}" for k in range(300)]
    assert first_for_people(ids, 60) == first_for_people(ids[::-1], 300)[:60]
    for people in (3, 5, 8, 40):
        dealt = deal_to_people(ids[:60], people, seed="s")
        assert dealt == deal_to_people(ids[:60][::-1], people, seed="s")
        often = Counter(name for own in dealt for name in own)
        assert min(often.values()) >= 3 and len(set(often.values())) == 1 and len(often) == 60
        assert max(map(len, dealt)) - min(map(len, dealt)) <= 1 and min(map(len, dealt)) >= 20
        assert all(len(set(own)) == len(own) for own in dealt)
    with pytest.raises(UsageError, match="2 people"):
        deal_to_people(ids, 2, seed="s")


@pytest.mark.usefixtures("opened")
def test_before_the_reveal_nothing_public_follows_from_labels_or_answers(tmp_path: Path) -> None:
    files = asked(tmp_path)
    root = files.workspace.root

    def public() -> dict[str, bytes]:
        paths = (path for path in root.rglob("*") if path.is_file() and "private" not in path.relative_to(root).parts)
        return {str(path): path.read_bytes() for path in paths}

    before = public()
    answer(files)
    close_study(files, secret=True)
    assert public() == before
    evaluate(files.workspace, Evaluation(QUARTER, NOTES, "coin"), lambda _: None)
    publish_results(files.workspace, score_quarter(files.workspace, QUARTER, tmp_path / "none"))
    for private, rows in ((True, 6), (False, 0)):
        folder = build_board(files.workspace, private=private).folder
        assert len(load_board(folder).rows(PeopleRow, SplitKey(str(QUARTER), "x-notes"))) == rows
    assert not any(published(files.workspace, f"people.{end}").exists() for end in ("parquet", "jsonl"))
    ids = [str(row["id"]) for row in read_jsonl(asked_file(files.workspace, QUARTER, "x-notes"))]
    assert ids == first_for_people([sample.id for sample in load_release(files.workspace, QUARTER, NOTES).samples], 60)
    kept = [*files.private.rglob("*.jsonl"), *files.private.rglob("*.parquet")]
    assert kept and all(path.stat().st_mode & 0o077 == 0 for path in kept)
    assert people_faults(files.workspace) == []


@pytest.mark.usefixtures("opened")
def test_a_page_shows_the_texts_and_no_label_no_check_and_no_way_to_the_outcome(tmp_path: Path) -> None:
    files = asked(tmp_path)
    study = open_study(page_folder(files))
    page = rater_page(study, study.assignments.raters[0], "token")
    data = json.loads(re.search(r'id="study">(.*?)</script>', page, re.DOTALL)[1])
    samples = {sample.id: sample for sample in load_release(files.workspace, QUARTER, NOTES).samples}
    own = [name for name in data["samples"] if name in samples]
    assert len(own) == 50 and len(data["samples"]) == 52
    for name in own:
        assert data["samples"][name]["parts"] == [["post", samples[name].post.text], ["note", samples[name].note.text]]
    assert {sample["address"] for sample in data["samples"].values()} == {""} and "facts" not in page
    assert [criterion["id"] for criterion in data["criteria"]] == ["class", "known", "certainty"]
    assert data["criteria"][0]["options"] == list(NOTES.classes) and NOTES.question in data["instructions"]


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("values", [{"class": 2}, {"certainty": 101}, {"certainty": None}, {"known": None}])
def test_an_answer_off_the_scale_is_refused(tmp_path: Path, values: dict[str, int | None]) -> None:
    files = asked(tmp_path, people=3, count=3)
    study = open_study(page_folder(files))
    plan = study.assignments.raters[0]
    given = {"class": 1, "known": 0, "certainty": 50, **values}
    with pytest.raises(SubmissionError):
        take_lines(study, plan, [line(next(plan.responses)[1], 0, given)], where="x")


def test_nothing_is_taken_once_labels_may_be_public(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELLOFRESH_NOW", OPEN)
    files = asked(tmp_path, people=3, count=3)
    monkeypatch.setenv("HELLOFRESH_NOW", utc_text(DAYS.reveals))
    with pytest.raises(UsageError, match="closed"):
        answer(files)


STUDY = ("--task", "x-notes", "--edition", str(QUARTER))
PEOPLE = tuple(part for k in range(5) for part in ("--rater", f"N{k}"))


@pytest.fixture
def workspace(make: Maker, place: Path) -> Workspace:
    """An open quarter of 72 notes, where commands find it."""
    make.release(make.notes(12, 12))
    return make.workspace()


@pytest.mark.parametrize(
    ("moment", "options", "said"),
    [
        (OPEN, ("--samples", "73"), "1 to 72"),
        (OPEN, ("--samples", "x.jsonl"), "a number of samples"),
        (OPEN, ("--samples", "0"), "1 to 72"),
        (OPEN, ("--rubric", "correction-13"), "people predict labels"),
        ("2023-07-01T00:00:00Z", (), "2023-07-22"),
        (utc_text(DAYS.reveals), (), "2023-07-22"),
    ],
)
def test_the_command_says_what_is_wrong(
    workspace: Workspace, cli: Cli, monkeypatch: pytest.MonkeyPatch, moment: str, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.setenv("HELLOFRESH_NOW", moment)
    assert said in cli("rate", "assign", *STUDY, *PEOPLE, *options, code=2)
    assert not asked_file(workspace, QUARTER, "x-notes").exists()


def test_the_command_assigns_once_and_another_number_is_refused(
    workspace: Workspace, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELLOFRESH_NOW", OPEN)
    for _ in range(2):
        cli("rate", "assign", *STUDY, *PEOPLE)
    assert "60, as published" in cli("rate", "assign", *STUDY, *PEOPLE, "--samples", "50", code=2)
    cli("rate", "close", *STUDY, "--incomplete")
    assert "people predict its labels" in cli("rate", "report", *STUDY, "--private", code=1)


def test_people_who_are_all_right_or_all_wrong_say_nothing_of_others() -> None:
    labels, person = np.arange(60) % 2, np.arange(60) % 7
    for metric, said in ((class_f1(2), labels), (class_f1(2), 1 - labels), (macro_f1(2), labels)):
        value, *limits = clustered_metric(metric.statistics(labels, said), metric, np.arange(60), person)
        assert (value, *limits) == (float(said is labels), 0.0, 1.0)


def test_a_stranger_recomputes_the_rows_and_finds_what_was_changed(revealed: Workspace) -> None:
    assert people_faults(revealed) == []
    assert all(check.ok for check in beside_checks([revealed.release(QUARTER, "x-notes")]))
    for end in ("people.jsonl", "asked.jsonl"):
        path = published(revealed, end)
        before = path.read_text()
        lines = before.splitlines(keepends=True)
        other = re.sub(r'"(value|id)":(0\.\d|"xn-)', r'"\1":\g<2>9', lines[0])
        for changed in (lines[1:], [*lines, lines[-1]], [other, *lines[1:]]):
            path.write_text("".join(changed))
            assert people_faults(revealed), (end, changed[0])
        path.write_text(before)
    table = published(revealed, "people.parquet")
    before, answers = table.read_bytes(), ANSWERS.read(table)
    turned = answers.with_columns(label=1 - answers["label"])
    for changed in (answers[:-5], turned, answers.reverse(), answers.drop("known")):
        changed.write_parquet(table)
        assert people_faults(revealed)
    table.write_bytes(before)


def test_a_publication_has_the_files_of_people_and_is_verified(revealed: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "published"
    publish_to_folder(revealed, folder, DAYS.reveals)
    assert len(list(folder.glob("releases/*/ratings/x-notes.*"))) == 3
    assert [check.name for check in publication_checks(folder) if not check.ok] == []


def test_no_name_of_a_person_is_published(revealed: Workspace) -> None:
    for path in revealed.root.rglob("*"):
        if path.is_file() and "private" not in path.relative_to(revealed.root).parts:
            assert not re.search(rb"Name \d", path.read_bytes()), path


def test_too_few_people_or_samples_are_not_shown_and_it_says_what_is_missing(revealed: Workspace) -> None:
    panel = build_panel(revealed, QUARTER, NOTES, revealed.root / "none", DAYS.reveals)
    ids = [sample.id for sample in panel.samples]
    for people, samples, said in ((4, 40, "4 people of at least 5"), (5, 39, "39 samples"), (5, 40, "")):
        given = [
            PersonAnswer(name, f"rater-{k + 1}", int(panel.labels[n] ^ ((n + k) % 3 == 0)), 50, False)
            for k in range(people) for n, name in enumerate(ids[:samples])
        ]  # fmt: skip
        rows = list(people_rows(panel, given))
        assert said in rows[0].missing and (rows[0].value is None) == bool(said)
        assert len(rows) == (2 if said else 8)
    assert list(people_rows(panel, [])) == []
    careless = [PersonAnswer("check-1", f"rater-{k}", 0, 50, False, 1, 50) for k in range(6)]
    assert {(row.missing.partition(",")[0], row.failed) for row in people_rows(panel, careless)} == {
        ("0 people of at least 5", 6)
    }
    assert "6 are left out for failing an attention check (6 failed check 1)" in _about_checks(careless)


def test_the_page_shows_people_with_a_line_and_without_a_rank(revealed: Workspace, tmp_path: Path) -> None:
    export_board(revealed.board, tmp_path / "site")
    page = (tmp_path / "site" / "x-notes" / str(QUARTER) / "index.html").read_text()
    section = page[page.index("<h2>People</h2>") :]
    without, with_known = section.split("<summary>Including samples whose outcome people say they knew</summary>")
    for part in (without, with_known):
        first = re.findall(r"One person|Vote of three people|>always-yes<|>coin<", part)[:2]
        assert first == ["One person", "Vote of three people"]
        assert len(set(re.findall(r"--line:([0-9.]+%)", part))) == 1 and "hf-rank" not in part
        assert "Left out, after failing an attention check: 1." in part
    chart = page[: page.index("<h2>People</h2>")]
    assert (
        chart.count('class="hf-human-line hf-person"') == chart.count('class="hf-interval"') == 4
    )  # in the ranking and in the table
    row = load_board(revealed.board).rows(PeopleRow, SplitKey(str(QUARTER), "x-notes"))[0]
    assert f"One person: {row.value:.3f} ({row.low:.3f} to {row.high:.3f}), the mean of {row.people} people" in chart


@pytest.mark.usefixtures("place")
def test_an_evaluation_is_shown_beside_people_on_their_samples_alone(
    revealed: Workspace, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(revealed.root))
    monkeypatch.setenv("HELLOFRESH_NOW", utc_text(DAYS.reveals))
    rows = {row["origin"]: row for row in read_jsonl(published(revealed, "people.jsonl")) if not row["with_known"]}
    yes = next(row for origin, row in rows.items() if "always-yes" in origin)
    assert "note: these are the samples that three people or more predicted" in cli(
        "evaluate", *STUDY, "--model", "always-yes"
    )
    beside = cli.out.split(f"F1 beside people, on their {yes['samples']} samples")[1].splitlines()
    shown = {"One person": "people/single", "Vote of three people": "people/vote", "always-yes": yes["origin"]}
    for name, origin in shown.items():
        row = rows[origin]
        line = next(line for line in beside if name in line)
        assert f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" in line


def test_people_are_in_no_rank(revealed: Workspace) -> None:
    board, split = load_board(revealed.board), SplitKey(str(QUARTER), "x-notes")
    rows = board.rows(PeopleRow, split)
    assert {row.section for row in rows if row.origin.startswith("people/")} == {"people"}
    assert not {row.origin for row in rows if row.section == "people"} & set(board.entries(split))
    assert read_samples(StudyFiles(revealed, QUARTER, "x-notes"))
