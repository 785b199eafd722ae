"""The core stands without the parts that register from outside: the commands of README run as papers need them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from hellofresh.core.plugins import registered
from tests.conftest import ROOT

Typed = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def typed(tmp_path: Path) -> Typed:
    """Types a command of hellofresh where no part is loaded."""
    env = {**os.environ, "HELLOFRESH_PLUGINS": "none", "HELLOFRESH_DATA": "data", "PYTHONPATH": str(ROOT)}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "hellofresh", *words]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    return run


def test_the_version_lists_what_is_registered_and_nothing_where_all_is_left_out(typed: Typed) -> None:
    own = registered()
    assert own["commands"][0].startswith("proxy (fresh-decisions ")
    assert {"collectors", "commands", "endpoints", "fits", "pages", "settings", "tables"} <= own.keys()
    assert typed("--version").stdout.count("\n") == 1
    assert "no command 'proxy'" in typed("proxy", "--help").stderr
    assert "no task 'ratings'" in typed("collect", "ratings", "--quarter", "2026Q2", "--dump", "d").stderr
    assert "no task 'claims'" in typed("collect", "claims", "--quarter", "2026Q2", "--feed", "f").stderr


def test_a_configured_source_without_its_collector_is_an_error_that_says_what_to_do(
    typed: Typed, tmp_path: Path
) -> None:
    (tmp_path / "hellofresh.toml").write_text("[sources.claims]\nfeed = ['f']\n")
    for words in (("quarter", "status"), ("release", "run")):
        done = typed(*words)
        assert done.returncode == 2 and done.stderr.startswith("error: [sources.claims]: HELLOFRESH_PLUGINS=none")
        assert "Unset it, or remove the table from hellofresh.toml. [no-collector]" in done.stderr


@pytest.mark.slow
def test_the_core_alone_goes_from_sources_to_the_board_and_its_static_copy(typed: Typed, tmp_path: Path) -> None:
    for words in (
        ("release", "run", "--models", "always-yes", "coin", "--limit", "8"),
        ("board", "export", "site"),
        ("quarter", "status"),
    ):
        done = typed(*words)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "index.html").is_file()
    assert not list((tmp_path / "site").rglob("note-writers*"))
    assert not list((tmp_path / "data" / "board").glob("note_writers*"))
    assert not list((tmp_path / "data" / "releases").glob("*/claims"))
    assert pl.read_parquet(tmp_path / "data" / "board" / "ceilings.parquet").is_empty()
    assert not list((tmp_path / "data" / "releases").glob("*/ratings/*.ceiling.jsonl"))
