"""Scores are what a person computes by hand, and count only what belongs to the release."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hellofresh.cli import main
from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import show_scored
from hellofresh.core.calendar import CalendarRule
from hellofresh.core.errors import DataError
from hellofresh.core.files import read_jsonl, sha256_file
from hellofresh.core.quarters import Quarter, parse_utc
from hellofresh.models import Answer, Finish, Limits, ModelSpec, Request
from hellofresh.releases.life.load import load_labels
from hellofresh.releases.life.state import reveal
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.results.split.entries import forecast_of, plurality, with_forecasts
from hellofresh.results.split.judgements import judgements_file
from hellofresh.results.split.panel import ALL_PERIODS, MAJORITY, SINGLE
from hellofresh.results.split.tables import Score
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport
from hellofresh.runs.runner import Tally
from hellofresh.stats.intervals import repetition_interval
from hellofresh.submissions.receipts import Receipt, write_receipt
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Choice, Status
from tests.analyses.synthetic import Builder
from tests.fakes import FakeModel, catalogued, fails_with, fake_spec
from tests.submissions.checks import read_submission, write_submission

# Answers of five prompts on four helpful notes (xn-1 .. xn-4) and four others (xn-5 .. xn-8).
SCRIPT = {
    "xn-1": ["Yes", "yes.", "YES", "**Yes**", "Yes, it is"],  # yes: right
    "xn-2": ["Yes", "Yes", "No", "No", "No"],  # no: wrong
    "xn-3": ["Yes", "No", "I know", "Not sure", ""],  # a tie is none: wrong
    "xn-4": ["I'm sorry"] * 5,  # blocked: wrong
    "xn-5": ["No"] * 5,  # no: right
    "xn-6": ["Yes", "Yes", "Yes", "No", "No"],  # yes: wrong
    "xn-7": ["No", "No", "Maybe", "Maybe", "Maybe"],  # no: right
    "xn-8": ["Maybe"] * 5,  # none: wrong
}


def progress(_: Tally) -> None:
    """Nobody watches."""


@pytest.fixture
def workspace(make):
    """Eight notes in two months, two of each label in both."""
    candidates = []
    for number in range(1, 9):
        month = 4 if number % 2 else 5
        note = make.note(number, date=datetime(2023, month, 9, tzinfo=UTC), post=number // 3)
        candidates.append(make.candidate(note, int(number <= 4)))
    make.release(candidates)
    return make.workspace()


@pytest.fixture
def judge(workspace, quarter, notes_task, monkeypatch):
    def run(model: str = "actor", *, version: int = 1, **options: object) -> EvaluationReport:
        said: Counter[str] = Counter()

        def say(request: Request) -> Answer:
            assert request.sample is not None
            said[request.sample.id] += 1
            return Answer(SCRIPT[request.sample.id][said[request.sample.id] - 1], Finish.STOP)

        spec = ModelSpec("actor", "language-model", "A fake.", {"version": version})
        catalogued(monkeypatch, FakeModel(spec, say))
        return evaluate(workspace, Evaluation(quarter, notes_task, model, **options), progress)

    return run


@pytest.fixture
def score(workspace, quarter, tmp_path):
    return lambda: score_quarter(workspace, quarter, tmp_path / "submissions")


@dataclass(frozen=True)
class Cell:
    """The scores of one system, prompt and period, by metric."""

    scores: dict[str, Score]

    def __getattr__(self, name: str) -> object:
        """What all of them say."""
        (value,) = {getattr(score, name) for score in self.scores.values()}
        return value

    def __getitem__(self, metric: str) -> float:
        return self.scores[metric].value


def row(scores: list[Score], *, system: str = "actor", prompt: str = MAJORITY, period: str = ALL_PERIODS) -> Cell:
    found = [s for s in scores if (s.system, s.prompt, s.period) == (system, prompt, period)]
    assert [score.metric for score in found] == [metric.name for metric in get_task("x-notes").metrics]
    return Cell({score.metric: score for score in found})


def hand_in(
    folder: Path, predictions: dict[str, int | None], name: str = "Theirs", received: str = "2023-09-01T00:00:00Z"
) -> None:
    rows = ({"id": key, "label": label} for key, label in predictions.items())
    write_submission(folder, rows, name, folder.parent.name.capitalize())
    quarter = Quarter.parse(folder.parent.parent.name)
    sha256 = read_submission(folder, quarter, {"x-notes": predictions}).sha256
    write_receipt(folder, Receipt(quarter, ("x-notes",), sha256, parse_utc(received), "test"))


def test_the_majority_row_is_the_one_computed_by_hand(judge, score) -> None:
    judge()
    found = row(score().scores)
    assert (found.none, found.blocked, found.n, found.n_split) == (2, 1, 8, 8)
    assert found["precision"] == pytest.approx(1 / 3)  # 1 right of 2 yes and 1 silence on a note that is not helpful
    assert found["recall"] == pytest.approx(1 / 4)
    assert found["f1"] == pytest.approx(2 / 7)
    assert found["accuracy"] == pytest.approx(3 / 8)
    assert found.headline
    assert found.clusters == 3
    assert all(score.low <= score.value <= score.high for score in found.scores.values())


def test_single_prompts_and_periods_are_the_ones_computed_by_hand(judge, score) -> None:
    judge()
    scores = score().scores
    first = row(scores, prompt="manual")  # yes yes yes blocked | no yes no none
    assert (first.none, first.blocked) == (1, 1)
    assert (first["precision"], first["recall"], first["accuracy"]) == pytest.approx((3 / 5, 3 / 4, 5 / 8))
    assert not first.headline
    april = row(scores, period="2023-04")  # xn-1 yes, xn-3 none | xn-5 no, xn-7 no
    assert (april.none, april.n, april.n_split) == (1, 4, 4)
    assert (april["precision"], april["recall"], april["accuracy"]) == (1, 0.5, 0.75)


def test_every_system_has_one_headline_a_period(judge, score) -> None:
    judge()
    judge("always-yes")
    headlines = [(s.system, s.prompt) for s in score().scores
                 if s.headline and s.period == ALL_PERIODS and s.metric == "f1"]  # fmt: skip
    assert headlines == [("actor", MAJORITY), ("always-yes", SINGLE)]
    assert row(score().scores, system="always-yes", prompt=SINGLE)["f1"] == pytest.approx(2 / 3)


def test_a_submission_is_scored_like_a_run_of_the_same_answers(judge, score, tmp_path) -> None:
    judge()
    votes = {"xn-1": 1, "xn-2": 0, "xn-3": None, "xn-4": None, "xn-5": 0, "xn-6": 1, "xn-7": 0, "xn-8": None}
    hand_in(tmp_path / "submissions/2023Q2/team/theirs", votes)
    scores = score().scores
    ours, theirs = row(scores), row(scores, system="Theirs", prompt=SINGLE)
    for metric, score_ in ours.scores.items():
        for name in ("value", "low", "high", "n", "clusters"):
            assert getattr(score_, name) == getattr(theirs.scores[metric], name)
    assert (theirs.provenance, theirs.team, theirs.none) == ("uploaded", "Team", 3)


def test_a_submission_with_a_fault_is_left_out_with_a_note(judge, score, tmp_path) -> None:
    judge("always-yes")
    hand_in(tmp_path / "submissions/2023Q2/team/half", {"xn-1": 1}, name="Half")
    scored = score()
    assert {s.system for s in scored.scores} == {"always-yes"}
    (note,) = scored.notes
    assert "team/half" in note and "missing" in note
    again = score()
    assert again.skipped and again.notes == scored.notes


def test_a_run_on_other_samples_is_left_out_with_a_note(make, judge, score) -> None:
    stale = judge("always-yes")
    more = make.notes(2, 2)
    make.release(more)
    fresh = judge("coin")
    scored = score()
    assert {s.origin for s in scored.scores} == {fresh.run_id}
    assert any(stale.run_id in note and "other samples" in note for note in scored.notes)


def test_of_two_runs_of_one_system_the_one_that_judged_more_counts(judge, score) -> None:
    small = judge(version=1, limit=3)
    large = judge(version=2, limit=6)
    for newest in (small, large):
        os.utime(newest.folder / "run.json", (2e9, 2e9))
        scored = score()
        assert {s.origin for s in scored.scores} == {large.run_id}
        assert [small.run_id in note and "superseded" in note for note in scored.notes] == [True]


def test_of_two_equal_runs_exactly_the_one_named_in_the_note_is_left_out(judge, score) -> None:
    first, second = judge(version=2), judge(version=1)
    judge(version=2)
    os.utime(first.folder / "run.json", (2e9, 2e9))
    scored = score()
    assert {s.origin for s in scored.scores} == {second.run_id}  # started later, whatever the times of files say
    (note,) = scored.notes
    assert first.run_id in note and second.run_id not in note


def test_scores_are_the_same_bytes_again_and_skipped_when_nothing_changed(judge, score, workspace, quarter) -> None:
    for model in ("actor", "coin"):
        judge(model)
    first = score()
    table = workspace.scores(quarter, private=True)
    before = sha256_file(table)
    again = score()
    assert again.skipped and not first.skipped
    assert list(again.scores) == list(first.scores)
    table.unlink()
    assert not score().skipped
    assert sha256_file(table) == before
    assert pl.read_parquet(table).height == len(first.scores)


def test_a_reveal_moves_scores_and_answers_out_of_private(judge, score, workspace, quarter, notes_task) -> None:
    judge("coin")
    before = score()
    places = [
        (workspace.scores(quarter, private=private), judgements_file(workspace, quarter, private=private))
        for private in (False, True)
    ]
    assert [[path.is_file() for path in place] for place in places] == [[False, False], [True, True]]
    reveal(workspace, quarter, notes_task, CalendarRule().of(quarter).reveals)
    after = score()
    assert [[path.is_file() for path in place] for place in places] == [[True, True], [False, False]]
    assert (before.public, after.public) == (frozenset(), {"x-notes"})
    assert list(after.scores) == list(before.scores)


def test_a_new_run_and_a_new_submission_are_scored(judge, score, tmp_path) -> None:
    judge("always-yes")
    score()
    judge("coin")
    assert {s.system for s in score().scores} == {"always-yes", "coin"}
    hand_in(tmp_path / "submissions/2023Q2/team/theirs", {f"xn-{n}": 1 for n in range(1, 9)})
    scored = score()
    assert not scored.skipped
    assert {s.system for s in scored.scores} == {"always-yes", "coin", "Theirs"}


def test_without_release_or_runs_there_is_nothing_to_score(make, quarter, workspace, score, tmp_path) -> None:
    with fails_with("nothing-to-score"):
        score()
    with fails_with("no-release"):
        score_quarter(make.workspace("empty"), quarter, tmp_path)


def test_damaged_labels_stop_the_scoring(judge, score, workspace, quarter) -> None:
    judge("coin")
    path = workspace.private(quarter, "x-notes") / "labels.jsonl"
    path.write_text(path.read_text().split("\n", 1)[1])
    with pytest.raises(DataError):
        score()
    assert not workspace.scores(quarter).exists()


DAMAGES = {
    "run.json": ["[]", "{}", "{"],
    "predictions.jsonl": ["", "[]\n", '{"id":"xn-1"}\n', '{"id":"xn-1","prompt":"manual","verdict":"perhaps"}\n'],
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_run_stops_the_scoring_by_name(judge, score, name: str) -> None:
    judge("always-yes")
    path = judge().folder / name
    for content in DAMAGES[name]:
        path.write_text(content)
        with pytest.raises(DataError) as caught:
            score()
        assert name in caught.value.where


def test_only_what_came_in_before_the_deadline_and_stayed_as_it_was_is_scored(judge, score, tmp_path) -> None:
    judge("always-yes")
    folder = tmp_path / "submissions/2023Q2"
    votes = {f"xn-{n}": n % 2 for n in range(1, 9)}
    hand_in(folder / "team/in-time", votes, name="In time", received="2023-10-14T23:59:59Z")
    hand_in(folder / "late/late", votes, name="Late", received="2023-10-15T00:00:00Z")
    hand_in(folder / "other/altered", votes, name="Altered")
    altered = folder / "other/altered/predictions.jsonl"
    altered.write_text(altered.read_text().replace('"label":0', '"label":1'))
    hand_in(folder / "third/unreceived", votes, name="Unreceived")
    (folder / "third/unreceived/receipt.json").unlink()
    (folder / "Third/x").mkdir(parents=True)
    scored = score()
    assert {s.system for s in scored.scores} == {"always-yes", "In time"}
    unscored = ("late/late is not scored on x-notes: late", "third/unreceived is not scored on x-notes: no receipt")
    for words in (*unscored, "altered after its receipt", "Third/x' is misnamed"):
        assert sum(words in note for note in scored.notes) == 1, words


NONE, BLOCKED = Status.NONE, Status.BLOCKED


@given(st.lists(st.sampled_from([0, 1, 2, 3, NONE, BLOCKED]), max_size=9))
@example([])
@example([2, 2, 1, 1, 0])
def test_a_class_wins_with_more_votes_than_any_other_and_in_no_other_case(answers: list[int | Status]) -> None:
    silent = {status: Choice(prompt="p", status=status) for status in (NONE, BLOCKED)}
    found = plurality([silent.get(answer) or Choice(prompt="p", label=answer) for answer in answers])
    assert (found.label is None) == (found.status is not Status.ANSWERED)
    votes = Counter(answer for answer in answers if answer not in silent)
    most = [label for label, number in votes.items() if number == max(votes.values())]
    expected = most[0] if len(most) == 1 else BLOCKED if set(answers) == {BLOCKED} else NONE
    assert (found.status if found.label is None else found.label) == expected


def test_a_forecast_is_the_mean_of_what_was_stated_over_prompts_and_repetitions() -> None:
    stated = Choice(prompt="a", label=1, probabilities=(0.2, 0.5, 0.3))
    sure, plain = Choice(prompt="b", label=0, certainty=0.6), Choice(prompt="b", label=2)
    silent = Choice(prompt="a", status=NONE)
    assert forecast_of([stated, sure, plain, silent], 3) == pytest.approx((0.8 / 3, 0.7 / 3, 1.5 / 3))
    assert forecast_of([silent], 3) == ()
    first = {"a": {"x": stated}, "b": {"x": sure}, MAJORITY: {"x": Choice(prompt=MAJORITY, label=1)}}
    more = ({"a": {"x": silent}, "b": {"x": plain}},)
    entry = replace(Builder().entry(Builder().release(2), "one"), outputs=first, repeated=more)
    found = {prompt: by["x"].probabilities for prompt, by in with_forecasts(entry, 3).outputs.items()}
    assert found["a"] == (0.2, 0.5, 0.3)
    assert found["b"] == pytest.approx((0.3, 0.1, 0.6)) and found[MAJORITY] == pytest.approx((0.8 / 3, 0.7 / 3, 0.5))
    assert with_forecasts(entry, 0) is entry


def by_seed(request: Request, *, deaf: bool = False) -> Answer:
    digest = hashlib.sha256(f"{request.messages[-1].text} {0 if deaf else request.seed}".encode()).digest()
    return Answer(("yes", "no", "yes", "perhaps")[digest[0] % 4], Finish.STOP, 10, 1)


@pytest.fixture
def basic(make, monkeypatch, quarter, notes_task) -> Evaluation:
    make.release(make.notes(8, 8))
    catalogued(monkeypatch, FakeModel(fake_spec("sampler", limits=Limits(4), free=True), by_seed))
    monkeypatch.setenv("HELLOFRESH_DATA", str(make.workspace().root))
    return Evaluation(quarter, notes_task, "sampler", prompts="manual", repeat=5, temperature=0.7)


def asked(make, evaluation: Evaluation) -> EvaluationReport:
    return evaluate(make.workspace(), evaluation, progress)


def scored(make, quarter, tmp_path) -> dict[str, Score]:
    """By metric, what stands for each system in the whole quarter."""
    found = score_quarter(make.workspace(), quarter, tmp_path / "none")
    return {item.metric: item for item in found.scores if item.headline and item.period == "all"}


def outputs(report: EvaluationReport) -> dict[int, dict[str, int | None]]:
    found: dict[int, dict[str, int | None]] = {}
    for row in read_jsonl(report.folder / "predictions.jsonl"):
        found.setdefault(row["repetition"], {})[row["id"]] = row.get("label")
    return found


def test_the_mean_is_over_repetitions_and_each_interval_is_of_its_own_kind(make, quarter, basic, tmp_path) -> None:
    said = outputs(asked(make, basic))
    truth = {key: label.label for key, label in load_labels(make.workspace(), quarter, basic.task).items()}
    right = [np.mean([given[key] == label for key, label in truth.items()]) for _, given in sorted(said.items())]
    expected = repetition_interval(np.array(right))
    score = scored(make, quarter, tmp_path)["accuracy"]
    assert (score.repetitions, score.mean) == (5, pytest.approx(expected.mean))
    assert (score.mean_low, score.mean_high) == (pytest.approx(expected.low), pytest.approx(expected.high))
    assert score.value == pytest.approx(right[0])
    assert (score.low, score.high) != (score.mean_low, score.mean_high)


def test_copies_count_once(make, quarter, basic, tmp_path, monkeypatch) -> None:
    spec = fake_spec("sampler", limits=Limits(4), free=True)
    catalogued(monkeypatch, FakeModel(spec, partial(by_seed, deaf=True)))
    asked(make, basic)
    score = scored(make, quarter, tmp_path)["accuracy"]
    assert (score.repetitions, score.mean, score.mean_low) == (1, None, None)


def test_a_vote_of_repetitions_is_scored_where_it_is_asked_for(make, quarter, basic, tmp_path) -> None:
    first = asked(make, basic)
    before = scored(make, quarter, tmp_path)["accuracy"]
    again = asked(make, replace(basic, vote=True))
    assert (again.run_id, again.tally.asked) == (first.run_id, 0)
    score = scored(make, quarter, tmp_path)["accuracy"]
    truth = {key: label.label for key, label in load_labels(make.workspace(), quarter, basic.task).items()}
    said = outputs(again)
    votes = {key: [given[key] for given in said.values()] for key in truth}
    right = [labels.count(truth[key]) > labels.count(1 - truth[key]) for key, labels in votes.items()]
    assert score.value == pytest.approx(np.mean(right))
    assert (score.repetitions, score.mean) == (1, None)
    assert "vote of 5 repetitions" in score.settings and "temperature 0.7" in before.settings
    assert score.prompt == MAJORITY


def test_the_command_says_which_interval_is_which(make, basic, capsys) -> None:
    asked(make, basic)
    capsys.readouterr()
    assert main(["score", "--quarter", "2023Q2", "--private"]) == 0
    shown = capsys.readouterr().out
    assert "over repetitions" in shown and "over samples" in shown


def test_an_evaluation_shows_its_score_beside_the_baselines_and_the_next_command(make, basic, quarter, capsys) -> None:
    arguments = ("evaluate", "--quarter", "2023Q2", "--task", "x-notes", "--prompts", "manual", "--model")
    assert main([*arguments, "always-yes"]) == 0
    capsys.readouterr()
    assert main([*arguments, "sampler"]) == 0
    shown = capsys.readouterr().out
    assert "beside the baselines" not in shown  # the labels are not public
    assert "next: hellofresh score --edition 2023Q2" in shown
    reveal(make.workspace(), quarter, basic.task, datetime(2024, 6, 1, tzinfo=UTC))
    assert main([*arguments, "sampler"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "F1 beside the baselines" in shown
    assert shown.index("sampler", shown.index("beside")) < shown.index("always-yes", shown.index("beside"))
    run = shown.split("hellofresh runs show ")[1].split()[0]
    assert main(["runs", "show", run]) == 0
    (said,) = re.findall(r"f1 (0\.[0-9]+ \[.*?\]) on", " ".join(capsys.readouterr().out.split()))
    assert said in shown


@pytest.mark.parametrize("known", [True, False])
def test_the_table_shows_the_rank_correlation_where_facts_are_known(
    make, quarter, notes_task, tmp_path, capsys, known: bool
) -> None:
    notes = make.notes(3, 2)
    for number, note in enumerate(notes):
        note.label.facts["intercept"] = number / 10 if known else None
    make.release(notes)
    evaluate(make.workspace(), Evaluation(quarter, notes_task, "coin"), progress)
    show_scored(CommandOutput(as_json=False), score_quarter(make.workspace(), quarter, tmp_path), private=True)
    table = capsys.readouterr().out
    assert "coin" in table and ("Rank correlation with the intercept" in " ".join(table.split())) is known
