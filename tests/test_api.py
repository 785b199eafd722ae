"""`import hellofresh as hf`: what a notebook needs, with the leaderboard's own scores."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

import hellofresh as hf
from hellofresh.cli import main
from hellofresh.errors import ReleaseError, UsageError
from hellofresh.models import Answer, Finish, ModelSpec, Request
from hellofresh.models.catalogue import CATALOGUE, CatalogueEntry
from hellofresh.results.score import SCORES
from hellofresh.workspace import Workspace


class Half:
    """Says yes to every second question."""

    def __init__(self) -> None:
        self.spec = ModelSpec("half", "language-model", "A fake.", {})
        self.asked = 0

    async def ask(self, request: Request) -> Answer:
        self.asked += 1
        return Answer("yes" if self.asked % 2 else "no", Finish.STOP, 10, 1)

    async def close(self) -> None:
        """Nothing to let go of."""


@pytest.fixture
def model(monkeypatch) -> Half:
    found = Half()
    monkeypatch.setitem(CATALOGUE, "half", CatalogueEntry("A fake.", lambda _: found))
    return found


@pytest.fixture
def revealed(make, monkeypatch, tmp_path: Path) -> Workspace:
    make.release(make.notes(2, 2))
    monkeypatch.setenv("HELLOFRESH_DATA", str(make.workspace().root))
    monkeypatch.setenv("HELLOFRESH_NOW", "2024-01-01T00:00:00Z")
    monkeypatch.chdir(tmp_path)
    from hellofresh.quarters import Quarter
    from hellofresh.releases import reveal
    from hellofresh.tasks import get_task

    assert reveal(make.workspace(), Quarter(2023, 2), get_task("x-notes"), datetime(2024, 1, 1, tzinfo=UTC))
    return make.workspace()


def test_an_edition_is_loaded_with_its_samples_and_labels(revealed) -> None:
    edition = hf.load("2023Q2", "x-notes")
    assert len(edition) == edition.samples.height == 12
    assert edition.labels is not None and edition.labels["label"].sum() == 6
    assert "12 samples, labels are public" in repr(edition)
    assert {sample.id for sample in edition} == set(edition.labels["id"])


def test_labels_that_are_not_public_are_not_there(make, monkeypatch) -> None:
    make.release(make.notes(3, 3))
    monkeypatch.setenv("HELLOFRESH_DATA", str(make.workspace().root))
    edition = hf.load("2023Q2", "x-notes")
    assert edition.labels is None
    with pytest.raises(ReleaseError) as caught:
        hf.score(edition, {next(iter(edition)).id: 1})
    assert caught.value.code == "not-revealed"


def test_a_run_has_the_scores_that_the_leaderboard_has(revealed, model) -> None:
    edition = hf.load("2023Q2", "x-notes")
    run = hf.evaluate(edition, "half", progress=False)
    assert run.predictions.height == 12 * 5 and "12 of 12 samples judged" in repr(run)
    scored = run.score()
    assert main(["score", "--quarter", "2023Q2"]) == 0
    (path,) = (revealed.root / "scores").glob("*.parquet")
    board = SCORES.read(path).filter((pl.col("period") == "all") & (pl.col("system") == "half"))
    mine = scored.table.filter(pl.col("system").str.starts_with("half"))
    assert mine["prompt"].n_unique() == board["prompt"].n_unique() == 6
    if "f1" in board.columns:
        theirs = board.select("prompt", "f1", "f1_low", "f1_high").sort("prompt").rows()
    else:
        part = board.filter(pl.col("metric") == "f1")
        theirs = part.select("prompt", "value", "low", "high").sort("prompt").rows()
    ours = mine.filter(pl.col("metric") == "f1").select("prompt", "value", "low", "high").sort("prompt").rows()
    assert ours == theirs


def test_what_was_answered_is_not_asked_again_and_a_running_loop_is_no_obstacle(revealed, model) -> None:
    edition = hf.load("2023Q2", "x-notes")

    async def notebook() -> object:
        return hf.evaluate(edition, "half", limit=3, progress=False)

    asyncio.run(notebook())
    asked = model.asked
    hf.evaluate(edition, "half", limit=3, progress=False)
    assert model.asked == asked == 15


def test_predictions_are_scored_beside_always_the_same_answer(revealed) -> None:
    edition = hf.load("2023Q2", "x-notes")
    assert edition.labels is not None
    right = dict(edition.labels.iter_rows())
    scored = hf.score(edition, right, name="oracle")
    values = {row["system"]: row["value"] for row in scored.table.filter(metric="f1").iter_rows(named=True)}
    assert values == {"oracle": 1.0, "always helpful": pytest.approx(2 / 3), "always not helpful": 0.0}
    assert repr(scored).startswith("oracle, single: f1 1.000 (95% interval")
    assert hf.score(edition, edition.labels, name="oracle").table.equals(scored.table)
    assert "$schema" in scored.chart().specification


@pytest.mark.parametrize(("said", "code"), [({"xn-0000": 1}, "unknown-id"), ({}, "no-predictions")])
def test_unknown_ids_and_no_predictions_are_refused(revealed, said, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        hf.score(hf.load("2023Q2", "x-notes"), said)
    assert caught.value.code == code


def test_a_label_that_the_task_does_not_have_is_refused(revealed) -> None:
    edition = hf.load("2023Q2", "x-notes")
    with pytest.raises(UsageError) as caught:
        hf.score(edition, {next(iter(edition)).id: 2})
    assert caught.value.code == "bad-label" and "0 (not helpful), 1 (helpful)" in str(caught.value)


def test_an_edition_of_another_folder_is_evaluated_in_ones_own_workspace(revealed, monkeypatch, tmp_path) -> None:
    shutil.copytree(revealed.root, tmp_path / "theirs")
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "mine"))
    edition = hf.load("2023Q2", "x-notes", source=tmp_path / "theirs")
    assert hf.score(edition, dict.fromkeys((sample.id for sample in edition), 1)).headline == "f1"
    before = sorted((tmp_path / "theirs").rglob("*"))
    with pytest.raises(ReleaseError) as caught:  # the texts of notes are not public
        hf.evaluate(edition, "always-yes", progress=False)
    assert caught.value.code == "no-texts"
    assert (tmp_path / "mine/releases/2023Q2/x-notes/manifest.json").is_file()
    assert sorted((tmp_path / "theirs").rglob("*")) == before


def test_importing_it_loads_next_to_nothing() -> None:
    code = "import sys, hellofresh; print(sorted({'numpy', 'polars', 'pydantic', 'rich'} & set(sys.modules)))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "hellofresh", "--help"], capture_output=True, text=True, check=True)
    assert "evaluate" in done.stdout
