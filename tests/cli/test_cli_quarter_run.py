"""`hellofresh quarter run`: run every day it does what is due, nothing twice, and one broken step stops no other."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hellofresh.config import Settings
from hellofresh.core.editions import parse_edition
from hellofresh.core.files import read_sealed, sha256_file, write_sealed
from hellofresh.core.net.lock import locked
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.daily import Day
from hellofresh.pipeline.release import within_budget
from hellofresh.releases.collection import read_candidates
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.runner import RunStopped
from hellofresh.tasks import get_task
from tests.conftest import Cli, answering

CONFIG = """
[sources.x-notes]
dump = "source/x-notes"
[sources.wikipedia-edits]
dump = ["source/wikipedia-edits/history.xml.bz2"]
[evaluate]
models = [{models}]
budget_usd = 5.0
[daily]
export = "site"
opens = "by itself"
least_samples = 2
{more}
"""


class Days:
    """A maintainer whose machine runs the command every day."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, cli: Cli) -> None:
        self.folder, self._patch, self._cli = folder, patch, cli
        self.configure("always-yes", "coin")

    def configure(self, *models: str, more: str = "") -> None:
        names = ", ".join(f'"{model}"' for model in models)
        (self.folder / "hellofresh.toml").write_text(CONFIG.format(models=names, more=more))

    def run(self, moment: str, *arguments: str, code: int = 0) -> Any:
        """The results of a day's run, or its error."""
        self._patch.setenv("HELLOFRESH_NOW", moment)
        # Months lie between the days of a test, so somebody has to say that the clock is right.
        said = self._cli("quarter", "run", *arguments, "--yes-it-is", moment[:10], "--json", code=code)
        return json.loads(self._cli.out) if self._cli.out else said

    def states(self, results: Any) -> dict[str, str]:
        return {one["step"]: one["state"] for one in results}

    def files(self) -> dict[str, str]:
        """What is in the workspace and in the static copy, by path."""
        found = [path for part in ("data", "site") for path in (self.folder / part).rglob("*")]
        lasting = (path for path in found if path.suffix != ".lock" and path.name != "steps.json")
        return {str(path): sha256_file(path) for path in lasting if path.is_file()}


@pytest.fixture
def days(place: Path, monkeypatch, cli, sample_sources: Path) -> Days:
    shutil.copytree(sample_sources, place / "source")
    return Days(place, monkeypatch, cli)


def test_voters_are_fitted_before_notes_are_collected_and_without_ratings_it_says_so(days: Days) -> None:
    days.configure()  # nobody is evaluated
    dump, fitted, task = days.folder / "source" / "x-notes", "collect ratings 2026Q2", get_task("x-notes")
    workspace = Workspace(days.folder / "data")

    def run(moment: str) -> tuple[str, int]:
        """What became of the step, and how many labels have an intercept."""
        (said,) = (one["detail"] for one in days.run(moment) if one["step"] == fitted)
        notes = read_candidates(workspace.candidates("x-notes", Quarter(2026, 2)), task)
        return said, sum(note.label.facts["intercept"] is not None for note in notes)

    for old in dump.glob("ratings-*"):
        old.rename(days.folder / old.name)
    said, known = run("2026-07-08T06:00:00Z")
    assert "the dump has no ratings" in said and known == 0
    for old in days.folder.glob("ratings-*"):
        old.rename(dump / old.name)
    said, known = run("2026-07-09T06:00:00Z")
    assert "have an intercept" in said and known > 50
    table = workspace.bridging(Quarter(2026, 2))
    before = table.stat().st_mtime_ns
    assert run("2026-07-10T06:00:00Z") == ("", known)
    assert table.stat().st_mtime_ns == before


def test_run_twice_on_a_day_it_does_nothing_twice_and_looking_ahead_writes_nothing(days: Days) -> None:
    first = days.run("2026-07-22T06:00:00Z")
    assert set(days.states(first).values()) == {"done"}
    assert {"evaluate coin on x-notes 2026Q2, zero-shot", "board", "publish", "export"} <= days.states(first).keys()
    before = days.files()
    opened = {f"open {task} 2026Q2": "done" for task in ("x-notes", "wikipedia-edits")}
    assert days.states(days.run("2026-07-22T06:00:00Z")) | opened == days.states(first)
    assert days.files() == before
    days.configure("always-yes", "coin", "tfidf-logreg")
    due = days.run("2026-10-23T06:00:00Z", "--dry-run")
    assert {"reveal x-notes 2026Q2", "reveal wikipedia-edits 2026Q2"} <= {one["step"] for one in due}
    assert days.files() == before


def test_a_broken_provider_is_named_and_stops_nothing_else(days: Days) -> None:
    days.configure("no-such-model", "always-yes")
    results = days.run("2026-07-22T06:00:00Z", "--summary", "summary.txt", code=1)
    failed = [one for one in results if one["state"] != "done"]
    assert {one["step"] for one in failed} == {
        f"evaluate no-such-model on {task} 2026Q2, zero-shot" for task in ("x-notes", "wikipedia-edits")
    }
    assert all("no-such-model" in one["detail"] for one in failed)
    assert (days.folder / "data/board/manifest.json").is_file() and (days.folder / "site/index.html").is_file()
    summary = (days.folder / "summary.txt").read_text()
    assert summary.startswith("HelloFresh, 2026-07-22T06:00:00Z: ") and "failed: evaluate no-such-model" in summary
    assert "2026Q2 accepts predictions until" in summary


def test_a_broken_source_leaves_out_what_rests_on_it_and_no_more(days: Days) -> None:
    days.configure("always-yes", "coin", more="analyses = false")
    days.run("2026-07-22T06:00:00Z")
    shutil.rmtree(days.folder / "source/x-notes")
    states = days.states(days.run("2026-10-23T06:00:00Z", code=1))
    assert "failed" in states.values()
    assert states["reveal x-notes 2026Q2"] == states["board"] == states["publish"] == "done"


def test_two_at_once_are_refused(days: Days) -> None:
    with locked(days.folder / "data/locks/quarter-run.lock", what="here"):
        said = days.run("2026-07-22T06:00:00Z", code=2)
    assert "another process is running 'hellofresh quarter run'" in said


@pytest.fixture
def hook(monkeypatch, serve) -> list[str]:
    told: list[str] = []

    def hear(_path: str, _headers: object, body: bytes) -> tuple[int, bytes]:
        told.append(json.loads(body)["text"])
        return 200, b""

    monkeypatch.setenv("CHAT_HOOK", f"{serve(answering(hear))}/secret")
    return told


def test_a_chat_is_told_of_a_failure_and_not_of_a_good_day(days: Days, hook: list[str]) -> None:
    days.configure("always-yes", more='hook_variable = "CHAT_HOOK"')
    days.run("2026-07-22T06:00:00Z")
    assert hook == []
    days.configure("no-such-model", more='hook_variable = "CHAT_HOOK"')
    days.run("2026-07-22T06:00:00Z", code=1)
    assert len(hook) == 1 and "failed: evaluate no-such-model" in hook[0]


def test_a_signal_ends_the_day_and_not_one_step_of_it() -> None:
    def stopped() -> None:
        raise RunStopped("SIGTERM")

    day = Day(None, Settings())  # type: ignore[arg-type]  # a step that is stopped says nothing
    with pytest.raises(RunStopped) as caught:
        day.attempt("evaluate", stopped)
    assert (caught.value.exit_code, day.results) == (143, [])


def test_what_the_prospective_splits_may_cost_is_what_the_other_runs_of_the_quarter_have_left(make) -> None:
    make.release(make.notes(2, 2))
    workspace, task = make.workspace(), get_task("x-notes")
    asked = Evaluation(parse_edition("2023Q2"), task, "always-yes")
    done = evaluate(workspace, asked, lambda _: None)
    record = read_sealed(done.folder / "run.json", fix="", code="")
    write_sealed(done.folder / "run.json", record | {"cost_usd": 2.0})
    assert within_budget(workspace, asked, 5.0).budget_usd == 5.0  # its own answers are counted by itself
    assert within_budget(workspace, replace(asked, split="prospective"), 5.0).budget_usd == 3.0
    assert within_budget(workspace, asked, None).budget_usd is None
