"""Completion in a real bash: commands, options, quarters, models and runs; nothing else happens."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hellofresh.cli import main

ASK = r"""
eval "$(hellofresh completion bash)"
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
_python_argcomplete hellofresh
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with a release and runs, one of which has a name that a shell would obey."""
    data = tmp_path / "data"
    for name in (
        "releases/2023Q2/x-notes/manifest.json",
        "releases/liar-new@588/liar-new/manifest.json",
        "candidates/x-notes/2022Q4.parquet",
    ):
        (data / name).parent.mkdir(parents=True)
        (data / name).touch()
    for name in ("2023Q2-x-notes-coin-1a2b", "2023Q2-x-notes-coin-3c4d", "$(touch obeyed)", "`touch obeyed`", "a b"):
        (data / "runs" / name).mkdir(parents=True)
        (data / "runs" / name / "plan.json").touch()
    return data


def completed(line: str, data: Path) -> list[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HELLOFRESH_DATA": str(data)}
    bash = shutil.which("bash")
    assert bash
    done = subprocess.run(
        [bash, "--norc", "--noprofile", "-c", ASK, "bash", line],
        env=environment, cwd=data, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    assert done.stderr == ""
    return sorted(word.strip() for word in done.stdout.splitlines() if word.strip())


def contents(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def test_bash_completes_commands_options_quarters_tasks_models_regimes_and_runs(workspace: Path) -> None:
    before = contents(workspace)
    assert completed("hellofresh r", workspace) == ["rate", "release", "respond", "runs"]
    assert completed("hellofresh release ver", workspace) == ["verify"]
    assert completed("hellofresh release run --no", workspace) == [
        "--no-analyses", "--notes-dump", "--notes-posts", "--notes-posts-from"
    ]  # fmt: skip
    assert completed("hellofresh score --quarter ", workspace) == [
        "2022Q4", "2023Q2", "2026Q3", "2026Q4", "liar-new@588"
    ]  # fmt: skip
    assert completed("hellofresh score --quarter 2023", workspace) == ["2023Q2"]
    assert completed("hellofresh score --edition liar", workspace) == ["liar-new@588"]
    assert completed("hellofresh release build --quarter liar", workspace) == []
    assert completed("hellofresh evaluate --task w", workspace) == ["wikipedia-edits"]
    assert completed("hellofresh evaluate --model smollm2", workspace) == ["smollm2-135m", "smollm2-135m-text"]
    assert completed("hellofresh evaluate --regime web-search-", workspace) == ["web-search-dated"]
    runs = ["2023Q2-x-notes-coin-1a2b", "2023Q2-x-notes-coin-3c4d"]
    assert [word for word in completed("hellofresh runs show ", workspace) if not word.startswith("-")] == runs
    assert completed("hellofresh completion f", workspace) == ["fish"]
    assert contents(workspace) == before


def test_completing_a_whole_command_carries_nothing_out(workspace: Path) -> None:
    before = contents(workspace)
    for line in (
        "hellofresh archive sample --to there ",
        "hellofresh release run --limit 1 ",
        "hellofresh board build ",
    ):
        assert all(word.startswith("-") for word in completed(line, workspace))
    assert contents(workspace) == before


def test_where_there_is_no_workspace_and_where_settings_are_wrong_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "hellofresh.toml").write_text("no = toml = at all")
    assert completed("hellofresh evaluate --model sm", tmp_path) == []
    assert completed("hellofresh runs show x", tmp_path) == []
    assert completed("hellofresh score --quarter 2026", tmp_path) == ["2026Q3", "2026Q4"]


def test_completing_loads_no_tables_nor_site(workspace: Path) -> None:
    code = (
        "import os, sys\n"
        "from hellofresh.cli import main\n"
        "os._exit = lambda code: (print(*sys.modules, file=sys.stderr), sys.exit(code))\n"
        "main()"
    )
    for line in ("hellofresh runs show ", "hellofresh evaluate --model ", "hellofresh score --quarter "):
        asked = {
            "_ARGCOMPLETE": "1",
            "COMP_LINE": line,
            "COMP_POINT": str(len(line)),
            "HELLOFRESH_DATA": str(workspace),
        }
        asked["_ARGCOMPLETE_STDOUT_FILENAME"] = str(workspace / "offered")
        command, environment = [sys.executable, "-c", code], {**os.environ, **asked}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
        loaded = set(done.stderr.split())
        assert "argcomplete" in loaded
        # Arrays come with tasks, which know their metrics: models are named by settings that know the tasks.
        assert not {"polars", "aiohttp", "leaderboard", "collectors.jobs", "hellofresh.runs.plan"} & loaded


@pytest.mark.parametrize(
    ("shell", "sign"), [("bash", "complete -o"), ("zsh", "compdef"), ("fish", "complete --command")]
)
def test_each_shell_gets_a_script(shell: str, sign: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert sign in capsys.readouterr().out
