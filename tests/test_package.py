"""The wheel: the packages of the repository but `training`, each in the folder of its name, with every file."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

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
