"""`import hellofresh as hf`: what a notebook needs, with the leaderboard's own scores."""

from __future__ import annotations

import asyncio
import doctest
import io
import json
import shutil
import subprocess
import sys
from datetime import date
from importlib import import_module
from itertools import cycle
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

import hellofresh as hf
from hellofresh.cli import main
from hellofresh.core.clock import now
from hellofresh.core.editions import Frozen
from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.models import Answer, Finish
from hellofresh.releases.draw.frozen import DatasetSource, evidence_candidates, freeze
from hellofresh.releases.life.state import reveal
from hellofresh.results.split.tables import SCORES
from hellofresh.tasks import get_task
from tests.fakes import FakeModel, catalogued, fails_with, fake_spec, refused
from tests.retrieval.conftest import write_small


@pytest.fixture
def model(monkeypatch) -> FakeModel:
    """Says yes to every second question."""
    turns = cycle(("yes", "no"))
    return catalogued(monkeypatch, FakeModel(fake_spec("half"), lambda _: Answer(next(turns), Finish.STOP, 10, 1)))


@pytest.fixture
def revealed(make, monkeypatch, place: Path) -> Workspace:
    make.release(make.notes(2, 2))
    monkeypatch.setenv("HELLOFRESH_NOW", "2024-01-01T00:00:00Z")
    assert reveal(make.workspace(), Quarter(2023, 2), get_task("x-notes"), now())
    return make.workspace()


def test_an_edition_is_loaded_with_its_samples_and_labels(revealed) -> None:
    edition = hf.load("2023Q2", "x-notes")
    assert len(edition) == edition.samples.height == 12
    assert edition.labels is not None and edition.labels["label"].sum() == 6
    assert "12 samples, labels are public" in repr(edition)
    assert {sample.id for sample in edition} == set(edition.labels["id"])


def test_labels_that_are_not_public_are_not_there(make, place: Path) -> None:
    make.release(make.notes(3, 3))
    edition = hf.load("2023Q2", "x-notes")
    assert edition.labels is None
    refused("not-revealed", hf.score, edition, {next(iter(edition)).id: 1})


def test_a_run_has_the_scores_that_the_leaderboard_has(revealed, model) -> None:
    edition = hf.load("2023Q2", "x-notes")
    run = hf.evaluate(edition, "half", progress=False)
    assert run.predictions.height == 12 * 5 and "12 of 12 samples answered" in repr(run)
    scored = run.score()
    assert main(["score", "--quarter", "2023Q2"]) == 0
    (path,) = (revealed.root / "scores").glob("*.parquet")
    board = SCORES.read(path).filter((pl.col("period") == "all") & (pl.col("system") == "half"))
    mine = scored.table.filter(pl.col("system").str.starts_with("half"))
    assert mine["prompt"].n_unique() == board["prompt"].n_unique() == 6
    ours, theirs = (
        table.filter(pl.col("metric") == "f1").select("prompt", "value", "low", "high").sort("prompt").rows()
        for table in (mine, board)
    )
    assert ours == theirs


def test_what_was_answered_is_not_asked_again_and_a_running_loop_is_no_obstacle(revealed, model) -> None:
    edition = hf.load("2023Q2", "x-notes")

    async def notebook() -> object:
        return hf.evaluate(edition, "half", limit=3, progress=False)

    asyncio.run(notebook())
    asked = len(model.asked)
    scored = hf.evaluate(edition, "half", limit=3, progress=False).score()
    assert len(model.asked) == asked == 15
    assert set(scored.table["n"]) == {3} and set(scored.table["system"]) > {"always helpful"}
    for shown in (repr(scored), scored._repr_html_()):
        assert "3 of 12 samples: not comparable with the board" in shown
    assert not hf.evaluate(edition, "half", progress=False).score().note


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


@pytest.mark.parametrize(
    ("said", "code"), [({"xn-0000": 1}, "unknown-id"), ({}, "no-predictions"), ({"xn-4000": 2}, "bad-label")]
)
def test_unknown_ids_and_labels_and_no_predictions_are_refused(revealed, said, code: str) -> None:
    with fails_with(code) as caught:
        hf.score(hf.load("2023Q2", "x-notes"), said)
    assert code != "bad-label" or "0 (not helpful), 1 (helpful)" in str(caught.value)


def test_an_edition_of_another_folder_is_evaluated_in_ones_own_workspace(revealed, monkeypatch, tmp_path) -> None:
    shutil.copytree(revealed.root, tmp_path / "theirs")
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "mine"))
    edition = hf.load("2023Q2", "x-notes", source=tmp_path / "theirs")
    assert hf.score(edition, dict.fromkeys((sample.id for sample in edition), 1)).headline == "f1"
    before = sorted((tmp_path / "theirs").rglob("*"))
    refused("no-texts", hf.evaluate, edition, "always-yes", progress=False)
    assert (tmp_path / "mine/releases/2023Q2/x-notes/manifest.json").is_file()
    assert sorted((tmp_path / "theirs").rglob("*")) == before


def test_systems_are_compared_by_the_leaderboards_own_rule(revealed, model) -> None:
    edition = hf.load("2023Q2", "x-notes")
    assert edition.labels is not None
    right = dict(edition.labels.iter_rows())
    found = hf.compare(edition, {"oracle": right, "yes": dict.fromkeys(right, 1), "silent": dict.fromkeys(right)})
    assert found.table["system"].to_list() == ["oracle", "yes", "silent"] and found.table["rank"].to_list() == [1, 2, 3]
    assert found.pairs.height == 3 and "oracle less yes: f1 +0.333" in repr(found)
    refused("too-few-systems", hf.compare, edition, {"oracle": right})


def test_what_is_saved_is_a_submission_and_scores_the_same(revealed, tmp_path) -> None:
    edition = hf.load("2023Q2", "x-notes")
    ids = [sample.id for sample in edition]
    said = {ids[0]: hf.Choice(label=1, probabilities=(0.2, 0.8)), ids[1]: hf.Choice(label=0)}
    path = hf.save(edition, said, tmp_path / "predictions.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["id"] for line in lines] == ids and lines[0]["probabilities"] == [0.2, 0.8]
    assert [line["label"] for line in lines] == [1, 0] + [None] * 10
    whole = said | dict.fromkeys(ids[2:], None)
    assert hf.score(edition, path).table.equals(hf.score(edition, whole).table)


def test_several_prompts_are_not_one_prediction(revealed, model) -> None:
    run = hf.evaluate(hf.load("2023Q2", "x-notes"), "half", progress=False)
    refused("duplicate-id", hf.score, run.edition, run.predictions)
    manual = run.predictions.filter(prompt="manual")
    assert hf.score(run.edition, manual).table["n"][0] == 12


def test_tables_go_to_pandas_and_arrow_and_are_drawn(revealed) -> None:
    edition = hf.load("2023Q2", "x-notes")
    scores = hf.score(edition, dict.fromkeys((sample.id for sample in edition), 1))
    assert pl.DataFrame(scores).equals(scores.table) and pl.DataFrame(edition).equals(edition.samples)
    assert list(scores.to_pandas().columns) == scores.table.columns
    console = Console(record=True, width=100, file=io.StringIO())
    console.print(scores)
    assert "95% interval" in console.export_text() and "<table" in scores._repr_html_()
    bundle = scores.chart()._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v6+json"] and str(bundle["image/svg+xml"]).startswith("<svg")


def test_a_run_in_a_notebook_stops_at_its_next_sample(revealed, model, monkeypatch) -> None:
    edition = hf.load("2023Q2", "x-notes")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    async def notebook() -> object:
        return hf.evaluate(edition, "half", progress=False)

    monkeypatch.setattr("hellofresh.api._running.wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(notebook())
    assert len(model.asked) < 60
    monkeypatch.undo()


def test_one_edition_of_the_hub_is_fetched_and_no_more(revealed, monkeypatch, tmp_path) -> None:
    asked: list[object] = []

    def fetch(repository: str, *, repo_type: str, allow_patterns: list[str]) -> str:
        asked.append((repository, repo_type, allow_patterns))
        return str(revealed.root)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    assert len(hf.load("2023Q2", "x-notes", source="hub:someone/fresh")) == 12
    assert asked == [("someone/fresh", "dataset", ["releases/2023Q2/x-notes/**"])]


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "hellofresh", "--help"], capture_output=True, text=True, check=True)
    assert "evaluate" in done.stdout


def test_queries_of_retrieval_are_loaded_scored_and_saved_as_rankings(place: Path) -> None:
    workspace, task = Workspace(place / "data"), get_task("scifact-retrieval")
    found = evidence_candidates(write_small(workspace), "dev", task, date(2020, 5, 1))
    source = DatasetSource("Made", "https://example.org", date(2020, 5, 1), "MIT")
    freeze(workspace, Frozen(task.name, "dev-16"), task, found, source)
    edition = hf.load(f"{task.name}@dev-16", task.name)
    assert edition.labels is not None and edition.labels["relevance"][0] == '{"otters-river":1}'
    right = {key: next(iter(json.loads(said))) for key, said in edition.labels.select("id", "relevance").iter_rows()}
    best = {key: hf.Ranking(documents=(one, "otters-hill"), scores=(2.0, 1.0)) for key, one in right.items()}
    scored = hf.score(edition, best, name="oracle").table
    assert scored.filter(metric="ndcg@3")["value"].to_list() == [1.0]
    path = hf.save(edition, best, place / "predictions.jsonl")
    assert hf.score(edition, path, name="oracle").table.equals(scored)
    with pytest.raises(UsageError) as caught:
        hf.score(edition, dict.fromkeys(right, 1))
    assert caught.value.code == "bad-answer" and "hf.Ranking" in str(caught.value)


def test_examples_in_docstrings_give_what_they_show(root: Path) -> None:
    paths = [path for room in ("hellofresh", "collectors") for path in (root / room).rglob("*.py")]
    names = [path.relative_to(root).with_suffix("").as_posix() for path in paths if ">>> " in path.read_text("utf-8")]
    found = [doctest.testmod(import_module(name.removesuffix("/__init__").replace("/", "."))) for name in names]
    assert sum(one.failed for one in found) == 0 and len(found) >= 14
