"""A living task of responses from its dump to its scores: what people wrote is rated beside runs, and stands there."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hellofresh.cli import main
from hellofresh.cli._output import CommandOutput
from hellofresh.config import Settings
from hellofresh.core.clock import now
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.judging.references import about_copied_responses, reference_responses
from hellofresh.pipeline.daily import due_evaluations
from hellofresh.pipeline.sources import SourceRequest, collection_jobs
from hellofresh.releases.life.state import reveal
from hellofresh.submissions.format import Prediction
from hellofresh.tasks import get_task

QUARTER, TASK = Quarter(2023, 2), get_task("x-posts")
TESTS = Path(__file__).parents[2]


def helper(path: str) -> ModuleType:
    """A module of another folder of tests."""
    name = Path(path).stem
    spec = importlib.util.spec_from_file_location(name, TESTS / path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def released(dump: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace with an open quarter of six posts."""
    posts = helper("collectors/notes/test_noted_posts.py")
    for number in range(1, 7):
        posts.noted(dump, number, posts.HELPFUL, posts.NOT_HELPFUL, at=posts.APRIL + number * 86_400_000)
    for row in dump.rows["notes"]:
        row["summary"] = f"In note {row['noteId']} the office says otherwise: https://office.example/{row['noteId']}."
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HELLOFRESH_NOW", "2023-07-25T00:00:00Z")
    assert main(["collect", "x-posts", "--quarter", "2023Q2", "--dump", str(dump.write())]) == 0
    assert main(["release", "build", "--quarter", "2023Q2"]) == 0
    return Workspace(tmp_path / "data")


def test_a_response_that_repeats_a_note_on_the_post_is_named_once_that_tells_nothing(
    released: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = reference_responses(released, QUARTER, TASK)
    assert len(notes) == 12 and {item.system for item in notes} == {"human-high", "human-low"}
    samples = {"x-posts": tuple({item.sample for item in notes})}

    def warned(*rows: Prediction) -> list[str]:
        return [f.what for f in about_copied_responses(released, QUARTER, samples, rows, tmp_path / "p.jsonl")]

    copy = Prediction(id=notes[0].sample, text=f"{notes[0].text} Really.")
    assert warned(copy) == []  # while the quarter is open, it would tell which notes there are
    monkeypatch.setenv("HELLOFRESH_NOW", "2024-06-01T00:00:00Z")
    assert reveal(released, QUARTER, TASK, now())
    assert len(warned(copy)) == 1 and notes[0].sample in warned(copy)[0]
    assert warned(Prediction(id=notes[0].sample, text="My own words about what the post says of the town.")) == []


def test_further_tasks_are_collected_from_the_same_dump_and_evaluated_only_by_regimes_that_fit(
    released: Workspace, tmp_path: Path
) -> None:
    config = tmp_path / "hellofresh.toml"
    config.write_text(
        f'[sources.x-notes]\ndump = "{tmp_path / "dump"}"\nalso = ["x-notes-media", "x-posts"]\n\n'
        '[evaluate]\nmodels = ["scripted"]\nregimes = ["zero-shot", "correction"]\n'
    )
    settings = Settings.load(config)
    jobs = collection_jobs(released, settings, SourceRequest((QUARTER,)))
    assert [job.task.name for job in jobs] == ["x-notes", "x-notes-media", "x-posts"]
    with CommandOutput(as_json=True).progress("x") as bar:
        assert [len(job.collect(bar.line).candidates) for job in jobs] == [12, 0, 6]
    due = [(item.task.name, item.regime) for item in due_evaluations(released, settings)]
    assert due == [("x-posts", "correction")]
