"""What documents say about models and other programs holds as it stands there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from hellofresh.cli.arguments.evaluating import EXAMPLE_MODELS
from hellofresh.models.catalogue import hosted_models

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "submissions" / "README.md"]
NAMED = re.compile(
    r"(?:--model |--role \w+=|hellofresh models |\bmodel=\"|--model openai/|\bname=\")((?:gpt|gemini|claude)-[\w.-]+)"
)


def test_examples_name_models_that_last() -> None:
    known = hosted_models()
    assert not [name for name in EXAMPLE_MODELS if known[name].ends]
    allowed = {*EXAMPLE_MODELS, *(f"{name}-search" for name in EXAMPLE_MODELS)}
    told = [(page.name, name) for page in PAGES for name in NAMED.findall(page.read_text(encoding="utf-8"))]
    source = (ROOT / "hellofresh/cli/arguments/evaluating.py").read_text(encoding="utf-8")
    told += [("--help", name) for name in NAMED.findall(source)]
    assert len(told) >= 10 and [item for item in told if item[1] not in allowed] == []


def commands(program: str) -> list[str]:
    """The documented command lines of a program, with continued lines joined."""
    blocks = [
        block for page in PAGES for block in re.findall(r"```\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    ]
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line.startswith(f"{program} ")]


@pytest.mark.slow
@pytest.mark.parametrize("line", commands("inspect eval"))
def test_a_documented_command_of_inspect_finds_its_task_in_a_clone(line: str, tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    words = shlex.split(line)
    words[words.index("--model") + 1] = "mockllm/model"
    code = "import sys; from inspect_ai._cli.main import main; sys.argv[0] = 'inspect'; main()"
    more = ["--limit", "1", "--display", "plain", "--log-dir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", code, *words[1:], *more], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    said = done.stdout + done.stderr
    assert "No inspect tasks were found" not in said and "running event loop" not in said
