"""A task with three classes and skew 7:2:1 that the package does not know goes from samples to scores and the board."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score

from hellofresh.core.clock import now
from hellofresh.core.editions import Frozen
from hellofresh.core.workspace import Workspace
from hellofresh.models import Answer, Finish, Request
from hellofresh.releases.candidates import Collection, SourceFile
from hellofresh.releases.draw.frozen import DatasetSource, freeze
from hellofresh.results.board.build import build_board
from hellofresh.results.build import build_panel
from hellofresh.results.reveal import publish_results
from hellofresh.results.scores import ScoredSplit, score_quarter
from hellofresh.results.standings import standings_of
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import TASKS, Task, statement_task
from hellofresh.tasks._statements import Statement
from hellofresh.tasks.samples import Candidate, Label
from tests.fakes import FakeModel, catalogued, fake_spec
from verifier.checks import verify_release
from verifier.scores import FigureName

EDITION = Frozen("rumours", "30")
CLASSES = ("denied", "open", "confirmed")
SOURCE = DatasetSource("Rumours of a village", "https://rumours.example", date(2021, 3, 4), "CC-BY-4.0")


def read(request: Request, *, right: int) -> Answer:
    """An answer from the statement's number: right in most cases, silent now and then."""
    assert request.sample is not None
    number = int(request.sample.id.rpartition("-")[2])
    label = (0, 0, 0, 0, 0, 0, 0, 1, 1, 2)[number % 10]
    said = label if number % 7 < right else (label + 1) % 3
    text = "I cannot say" if number % 11 == 10 else request.choices[len(CLASSES) - 1 - said]
    return Answer(text, Finish.STOP, tokens_in=1, tokens_out=1)


def rows(task: Task) -> Iterator[Candidate]:
    for number in range(30):
        statement = Statement(
            id=f"ru-{number}", task=task.name, edition="", period="", date=datetime(2020, 1, 1, tzinfo=UTC),
            group=f"g{number // 2}", license="CC-BY-4.0", statement=f"Rumour {number} is going round.", language="en",
            speaker="", context="",
        )  # fmt: skip
        yield Candidate(statement, Label(statement.id, (0, 0, 0, 0, 0, 0, 0, 1, 1, 2)[number % 10], {}))


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> Task:
    made = statement_task(
        "rumours", "Rumours", prefix="ru-", classes=CLASSES, question="Did the rumour turn out to be true?"
    )
    monkeypatch.setitem(TASKS, "rumours", made)
    for name, right in (("reader", 6), ("guesser", 3)):
        catalogued(monkeypatch, FakeModel(fake_spec(name), partial(read, right=right)))
    return made


@pytest.fixture
def workspace(tmp_path: Path, task: Task) -> Workspace:
    made = Workspace(tmp_path / "data")
    freeze(made, EDITION, task, Collection.whole(list(rows(task)), [SourceFile("rumours.csv", 1, "0" * 64)]), SOURCE)
    for model in ("reader", "guesser", "coin"):
        evaluate(made, Evaluation(EDITION, task, model), lambda _: None)
    return made


@pytest.fixture
def scored(workspace: Workspace, tmp_path: Path) -> ScoredSplit:
    return score_quarter(workspace, EDITION, tmp_path / "none")


def test_it_is_scored_by_macro_f1_verified_and_on_the_board(
    workspace: Workspace, task: Task, scored: ScoredSplit, tmp_path
) -> None:
    panel = build_panel(workspace, EDITION, task, tmp_path / "none", now())
    assert np.bincount(panel.labels).tolist() == [21, 6, 3]
    for system in panel.systems:
        mine = {s.metric: s for s in scored.scores if s.origin == system.origin and s.headline and s.period == "all"}
        assert list(mine) == [metric.name for metric in task.metrics]
        assert next(iter(mine)) == "macro_f1" and "recall:confirmed" in mine
        assert all(score.low <= score.value <= score.high for score in mine.values())
        said = system.headline.answers
        if (said >= 0).all():
            theirs = f1_score(panel.labels, said, labels=[0, 1, 2], average="macro", zero_division=0)
            assert mine["macro_f1"].value == pytest.approx(float(theirs), abs=1e-12)
        assert mine["accuracy"].value == pytest.approx(float((panel.labels == said).mean()))
    ranked = [next(one.label for one in panel.systems if one.origin == standing.origin)
              for standing in standings_of(panel).ranked]  # fmt: skip
    assert ranked == ["reader", "guesser"]
    publish_results(workspace, scored)
    folder = workspace.release(EDITION, "rumours")
    checks = verify_release(
        folder, figures=[FigureName.parse("system=reader"), FigureName.parse("system=reader,metric=rank")]
    )
    assert [check for check in checks if not check.ok] == []
    values = [figure.value for check in checks for figure in check.figures]
    (stated,) = [s.value for s in scored.scores if s.system == "reader" and s.headline and s.metric == "macro_f1"]
    assert values == [pytest.approx(stated), 1]
    build_board(workspace)
    table = pl.read_parquet(workspace.board / "scores.parquet")
    assert set(table.filter(pl.col("headline"))["metric"]) >= {"macro_f1", "f1:open"}
    assert pl.read_parquet(workspace.board / "standings.parquet").height == 2
