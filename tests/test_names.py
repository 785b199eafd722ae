"""What stands nowhere else: names of classes in the code; and what the wheel holds."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NAMES = frozenset({"f1", "yes", "no", "Edit", "Note"})
ROOMS = (
    "hellofresh/tasks/",
    "hellofresh/runs/regimes/",
    "hellofresh/runs/prompts/",
    "hellofresh/stats/metrics.py",
    "hellofresh/stats/",
)
ALLOWED = {
    "hellofresh/models/baselines.py": {"yes", "no"},  # the words that prompts of two classes ask for
    "hellofresh/models/local/embedded.py": {"yes", "no"},
    "hellofresh/models/providers/__init__.py": {"yes", "no"},
    "hellofresh/cli/models.py": {"yes", "no"},
    "hellofresh/results/score_files.py": {"f1"},
    "hellofresh/submissions/format.py": {"yes", "no"},  # words for labels in tables of strangers
    "hellofresh/results/analyses/base.py": {"yes", "no"},  # truth values and options in words, from here on
    "leaderboard/components/labels.py": {"yes", "no"},  # facts that are true or false
    "leaderboard/views/responses.py": {"yes"},
    "hellofresh/cli/_output.py": {"yes", "no"},
    "hellofresh/cli/dataset.py": {"yes", "no"},
    "hellofresh/cli/runs.py": {"yes", "no"},
    "hellofresh/cli/rate_report.py": {"yes"},
}
"""The only other places, by file."""


def named(tree: ast.AST) -> Iterator[str]:
    """Every name, argument, attribute, imported name and whole string."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.keyword(arg=str(name)) | ast.Constant(value=str(name)):
                yield name
            case ast.alias(name=name):
                yield name.rpartition(".")[2]


def test_only_tasks_metrics_regimes_and_prompts_name_the_two_classes() -> None:
    found: dict[str, set[str]] = {}
    for room in ("hellofresh", "leaderboard"):
        for path in sorted((ROOT / room).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            if not place.startswith(ROOMS):
                found[place] = NAMES & set(named(ast.parse(path.read_text(encoding="utf-8"))))
    assert {place: names for place, names in found.items() if names - ALLOWED.get(place, set())} == {}
    assert {place for place in ALLOWED if found[place] != ALLOWED[place]} == set(), "shorten the list"


# --- The wheel: the packages of the repository but `training`, each in the folder of its name, with every file.


PACKAGES = ("hellofresh", "hellofresh_parts", "verifier", "collectors", "leaderboard")
ELSEWHERE = {"leaderboard/space.md"}
"""For a host of containers, which takes it from the repository."""


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_repository(root: Path, tmp_path: Path) -> None:
    assert not any(path.is_symlink() for name in PACKAGES for path in (root / name).rglob("*"))
    tracked = ["git", "ls-files", *PACKAGES]
    listed = subprocess.run(tracked, cwd=root, capture_output=True, text=True, check=True).stdout.split()
    expected = {name for name in listed if (root / name).exists()} - ELSEWHERE

    copy = tmp_path / "copy"
    for name in PACKAGES:
        shutil.copytree(root / name, copy / name)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, copy)
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(tmp_path))
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(copy)], cwd=tmp_path, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        found = {name for name in packed.namelist() if ".dist-info/" not in name}
        packed.extractall(tmp_path / "installed")
    assert expected - found == set()
    assert {name.partition("/")[0] for name in found} == set(PACKAGES)
    code = f"import {', '.join(PACKAGES)}; print(collectors.__file__)"
    here = {**os.environ, "PYTHONSAFEPATH": ""}  # the current folder is where modules are looked for first
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path / "installed", env=here, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(tmp_path / "installed")
