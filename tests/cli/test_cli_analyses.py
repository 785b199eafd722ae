"""Analyses as a part of the release run: made for the board, never in its way, and silent while a quarter is open."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hellofresh.cli._console import ConsoleShow
from hellofresh.cli._output import CommandOutput
from hellofresh.core.files import read_json
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.steps import Steps, analyse_scored
from hellofresh.results.analyses import ANALYSES
from hellofresh.results.analyses.base import AnalysisResult
from hellofresh.results.board.build import build_board
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.results.split.panel import Panel
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import get_task
from tests.conftest import Cli

QUARTER = Quarter(2023, 2)


@pytest.fixture
def workspace(make: Any, place: Path) -> Workspace:
    """A quarter of notes, scored with two baselines, and revealed."""
    make.scored(make.notes(5, 5), "coin", "always-yes")
    found: Workspace = make.workspace()
    return found


@pytest.fixture
def run(workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Makes the analyses; gives what was said."""

    def made() -> str:
        capsys.readouterr()
        analyse_scored(Steps(workspace, tmp_path / "none", ConsoleShow(CommandOutput(as_json=False))))
        return " ".join(capsys.readouterr().err.split())

    return made


def folder(workspace: Workspace) -> Path:
    return workspace.analyses(QUARTER, "x-notes")


def test_all_are_made_once_without_png_and_stand_on_the_board(workspace: Workspace, run: Callable[[], str]) -> None:
    assert run().endswith("with a figure: written.")
    assert {path.name.split(".")[0] for path in folder(workspace).iterdir()} == set(ANALYSES)
    assert not list(folder(workspace).glob("*.png"))
    assert list(folder(workspace).glob("*.svg"))
    assert run().endswith("unchanged, skipped.")
    index = read_json(build_board(workspace).folder / "analyses/2023Q2/x-notes/index.json")
    assert {one["name"] for one in index["analyses"]} == set(ANALYSES)


def test_a_workspace_that_cannot_be_written_is_named_in_a_clear_error(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """As on a read-only file system, where also the deletion of an outdated file fails."""
    arguments = ["analyse", "all", "--quarter", "2023Q2"]
    cli(*arguments)
    for path in folder(workspace).iterdir():
        path.write_bytes(b"outdated")

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    for name in ("unlink", "rename", "replace", "write_bytes", "write_text", "mkdir"):
        monkeypatch.setattr(Path, name, refuse)
    monkeypatch.setattr(tempfile, "mkstemp", lambda **where: refuse(where["dir"]))
    said = cli(*arguments, code=2)
    assert "Read-only file system" in said and "[unwritable]" in said
    assert str(workspace.root) in said.replace(" ", "")


def test_one_that_fails_is_a_note_and_leaves_nothing_old_behind(
    workspace: Workspace, run: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run()

    def fail(panel: Panel) -> AnalysisResult:
        raise ZeroDivisionError("no samples at all")

    monkeypatch.setitem(ANALYSES, "agreement", replace(ANALYSES["agreement"], run=fail))
    said = run()
    assert "note: the analysis agreement of x-notes 2023Q2 failed (ZeroDivisionError: no samples at all)" in said
    assert "hellofresh analyse agreement --edition 2023Q2 --task x-notes" in said
    assert f"{len(ANALYSES) - 1}, " in said
    assert not list(folder(workspace).glob("agreement.*"))
    assert list(folder(workspace).glob("ranking.*"))


def test_without_the_converter_there_is_a_note_and_no_analysis(
    workspace: Workspace, run: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    said = run()
    assert said.startswith("note: the board has no analyses: a figure needs vl-convert-python")
    assert "vl-convert-python>=1.9" in said
    assert not folder(workspace).exists()


@pytest.mark.parametrize("source", ["a-real-source", "bundled-sample"])
def test_a_quarter_that_is_not_revealed_has_none_but_in_private(
    make: Any, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cli: Cli, source: str
) -> None:
    monkeypatch.setenv("HELLOFRESH_NOW", "2023-10-18T00:00:00Z")  # after the deadline, before the reveal
    workspace = make.workspace()
    make.release(make.notes(5, 5), workspace=workspace, source=source)
    evaluate(workspace, Evaluation(QUARTER, get_task("x-notes"), "coin"), lambda _: None)
    score_quarter(workspace, QUARTER, place / "none")
    (workspace.root / "analyses/2023Q2/x-notes").mkdir(parents=True)  # as an earlier version left it
    analyse_scored(Steps(workspace, place / "none", ConsoleShow(CommandOutput(as_json=False))))
    assert "note: no analyses of x-notes 2023Q2 yet" in capsys.readouterr().err
    assert "[not-revealed]" in cli("analyse", "cost", "--quarter", "2023Q2", code=1)
    cli("analyse", "cost", "--quarter", "2023Q2", "--private")
    assert not list((workspace.root / "analyses").glob("*/*"))
    assert not (build_board(workspace).folder / "analyses").exists()
    assert (build_board(workspace, private=True).folder / "analyses/2023Q2/x-notes/index.json").is_file()
