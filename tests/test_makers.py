"""What computed a result is part of its key: changed code, ours or a package's, means to compute it again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from hellofresh.core import makers as under_test
from hellofresh.core.makers import changed_makers, makers
from hellofresh.core.stages import Stage

FILES = {
    "pack/__init__.py": "",
    "pack/start.py": "from pack.near import (\n    one,  # why\n    two,\n)\ndef f():\n    import pack.late as x\n",
    "pack/near.py": "from . import beside\nfrom .deep.down import three\none = two = 1\n",
    "pack/late.py": "import beyond\n",
    "pack/beside.py": "",
    "pack/deep/__init__.py": "",
    "pack/deep/down.py": "from ..up import four\nthree = 3\n",
    "pack/up.py": "four = 4\n",
    "beyond.py": "import os, json\n",
    "pack/table.toml": "a = 1\n",
    "pack/other.py": "",
    "another.py": "",
    "notes.txt": "",
}
NOT_USED = {"pack/other.py", "another.py", "notes.txt"}


@pytest.mark.parametrize("changed", FILES)
def test_a_hash_of_code_changes_with_each_file_that_the_module_uses_and_with_no_other(
    tmp_path: Path, monkeypatch, changed: str
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    module = ModuleType("pack.start")
    module.__file__ = str(tmp_path / "pack" / "start.py")
    monkeypatch.setitem(sys.modules, "pack.start", module)
    under_test._code_of.cache_clear()
    before = makers("pack.start")
    (tmp_path / changed).write_text(f"{FILES[changed]}# another line\n")
    under_test._code_of.cache_clear()
    assert (makers("pack.start") == before) is (changed in NOT_USED)


@pytest.mark.parametrize(
    ("stage", "used"),
    [
        ("hellofresh.results.scoring.scores", "hellofresh.stats.metrics"),
        ("hellofresh.results.board.build", "hellofresh.results.standings"),
        ("hellofresh.results.analyses.order", "hellofresh.stats.paired"),
        ("hellofresh.releases.draw.release", "hellofresh.tasks.x_notes"),
        ("collectors.jobs", "collectors.notes.collect"),
    ],
)
def test_the_code_of_a_stage_is_what_computes_it_and_never_the_command_line(root: Path, stage: str, used: str) -> None:
    found = under_test._imported(root, stage)
    assert used in found and not [name for name in found if name.startswith("hellofresh.cli")]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({}, {}, []),
        ({"metric m": "0.1 aa"}, {"metric m": "0.1 aa"}, []),
        ({"metric m": "0.1 aa"}, {"metric m": "0.2 ab"}, ["metric m 0.1 -> 0.2"]),
        ({"metric m": "0.1 aa"}, {"metric m": "0.1 ab"}, ["the code of metric m 0.1 has changed"]),
        ({"metric m": "0.1 aa"}, {}, ["metric m 0.1 is no longer installed"]),
        ({}, {"metric m": "0.1 aa"}, ["metric m 0.1 is new"]),
    ],
)
def test_what_has_changed_is_said_in_words(before, after, said) -> None:
    assert changed_makers(before, after) == said


def test_a_stage_is_current_only_for_the_code_that_ran_it_unless_its_code_does_not_count(make) -> None:
    stage = Stage.of(make.workspace(), "one", {"a": 1}, {"hellofresh": "0.1.0 aa"})
    assert stage.changes() is None
    stage.record([])
    other = replace(stage, makers={"hellofresh": "0.1.0 bb"})
    assert stage.changes() == [] and other.changes() == ["the code of hellofresh 0.1.0 has changed"]
    assert other.changes(of_code=False) == []


@pytest.mark.parametrize(
    ("packages", "said"),
    [
        ({"metric m": "0.1 aa"}, []),
        ({}, []),  # a metric that is gone is left out, and said elsewhere
        ({"metric m": "0.1 ab"}, ["one is as before, though the code of metric m 0.1 has changed. Run: again"]),
        ({"metric m": "0.1 aa", "metric n": "1 a"}, ["one is as before, though metric n 1 is new. Run: again"]),
    ],
)
def test_a_result_that_is_older_than_what_a_package_would_compute_is_named(make, packages, said) -> None:
    workspace = make.workspace()
    assert Stage.older(workspace, "one", packages, "again") == []
    Stage.of(workspace, "one", {}, {"hellofresh": "0.1.0 aa", "metric m": "0.1 aa"}).record([])
    assert Stage.older(workspace, "one", packages, "again") == said


PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "jaccard-metric"
version = "{}"
[project.entry-points."hellofresh.metrics"]
jaccard = "jaccard_metric:jaccard"
[project.entry-points."hellofresh.analyses"]
share = "share:share_yes"
[tool.setuptools]
py-modules = ["jaccard_metric", "share"]
"""
SHARE = """
import polars as pl
from hellofresh.results.analyses.base import AnalysisResult, analysis

@analysis("share-yes", "Share of yes", "How often is the answer yes?")
def share_yes(panel):
    return AnalysisResult(pl.DataFrame([{"share": float((one.headline.answers == 1).mean())} for one in panel.systems]))
"""
PROGRAM = """
import json, site, sys
site.addsitedir(sys.argv[1])
from hellofresh.cli import main
from hellofresh.results.analyses import ANALYSES
for name in sys.argv[2].split(","):
    share = ["share-yes"] if "share-yes" in ANALYSES else []
    analysed = [["analyse", one, "--edition", "2023Q2"] for one in ["agreement", *share]]
    words = {"score": [["score", "--edition", "2023Q2"]], "analyse": analysed, "board": [["board", "build"]]}
    assert not any(main(one) for one in words[name])
"""


@pytest.mark.slow
def test_each_stage_runs_again_for_a_package_that_it_used_and_says_why(make, tmp_path, monkeypatch, root) -> None:
    """As anybody does it: pip installs the example of the docs in place, its code changes, its version, it goes."""
    source, site = tmp_path / "package", tmp_path / "site"
    source.mkdir()
    shutil.copy(root / "docs" / "examples" / "jaccard_metric.py", source)
    (source / "share.py").write_text(SHARE)
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.chdir(tmp_path)
    make.scored(make.notes(4, 4), "always-yes", "coin")
    data = tmp_path / "data"
    asked = {path: path.stat().st_mtime_ns for path in (data / "runs").rglob("*") if path.is_file()}

    def install(version: str) -> None:
        shutil.rmtree(site, ignore_errors=True)
        (source / "pyproject.toml").write_text(PROJECT.format(version))
        words = (
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "--no-index",
            "-t",
            site,
            "-e",
            source,
        )
        subprocess.run([sys.executable, *words], check=True, capture_output=True)

    def said(stages: str = "score,analyse,board") -> str:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, site, stages], capture_output=True, text=True, check=False,
            env={**os.environ, "COLUMNS": "300"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def shown() -> set[str]:
        files = [*(data / "board").rglob("*.parquet"), *(data / "board").rglob("index.json")]
        return {word for word in ("jaccard", "share-yes") if any(word.encode() in path.read_bytes() for path in files)}

    said()
    assert not shown()
    install("0.1")
    told = said()
    assert told.count("metric jaccard 0.1 is new") == 3 and "Jaccard" in told and shown() == {"jaccard", "share-yes"}
    assert "again:" not in said()
    install("0.2")
    assert said().count("metric jaccard 0.1 -> 0.2") == 4
    (source / "jaccard_metric.py").write_text((source / "jaccard_metric.py").read_text() + "# changed\n")
    assert said().count("the code of metric jaccard 0.2 has changed") == 4
    (source / "share.py").write_text(f"{SHARE}# changed\n")
    again = said()
    assert again.count("again:") == 1 and "the code of analysis share 0.2 has changed" in again, again
    shutil.rmtree(site)
    left = said("board")
    assert "by jaccard are left out" in left and not shown(), left
    assert said().count("metric jaccard 0.2 is no longer installed") == 2 and not shown()
    assert json.loads((data / "board" / "manifest.json").read_text())["quarters"] == ["2023Q2"]
    assert asked == {path: path.stat().st_mtime_ns for path in (data / "runs").rglob("*") if path.is_file()}
