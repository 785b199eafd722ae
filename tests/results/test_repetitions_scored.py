"""Scores of a run with repetitions: their mean with its interval over repetitions, beside the one over samples."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import ClassVar

import numpy as np
import pytest

from hellofresh.cli import main
from hellofresh.core.files import read_jsonl
from hellofresh.models import Answer, Finish, Limits, ModelSpec, Request
from hellofresh.models.catalogue import CATALOGUE, CatalogueEntry
from hellofresh.releases.life.load import load_labels
from hellofresh.releases.life.state import reveal
from hellofresh.results.panel import MAJORITY
from hellofresh.results.scores import score_quarter
from hellofresh.results.tables import Score
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport
from hellofresh.stats import repetition_interval


@dataclass
class Sampler:
    """Answers by the request's seed; one without ears answers always the same."""

    deaf: ClassVar[bool] = False
    spec = ModelSpec("sampler", "language-model", "A fake.", {}, Limits(4), free=True)

    async def ask(self, request: Request) -> Answer:
        digest = hashlib.sha256(f"{request.messages[-1].text} {0 if self.deaf else request.seed}".encode()).digest()
        return Answer(("yes", "no", "yes", "perhaps")[digest[0] % 4], Finish.STOP, 10, 1)

    async def close(self) -> None:
        """Nothing to let go of."""


@pytest.fixture
def basic(make, monkeypatch, quarter, notes_task) -> Evaluation:
    make.release(make.notes(8, 8))
    monkeypatch.setitem(CATALOGUE, "sampler", CatalogueEntry("A fake.", lambda _: Sampler()))
    monkeypatch.setenv("HELLOFRESH_DATA", str(make.workspace().root))
    return Evaluation(quarter, notes_task, "sampler", prompts="manual", repeat=5, temperature=0.7)


def asked(make, evaluation: Evaluation) -> EvaluationReport:
    return evaluate(make.workspace(), evaluation, lambda _: None)


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
    monkeypatch.setattr(Sampler, "deaf", True)
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
