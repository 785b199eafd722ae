"""The commands of docs/tour.md and docs/papers.md, typed: every line of output that they show is printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from hellofresh.cli import main


@pytest.mark.parametrize(("page", "least"), [("tour", 25), pytest.param("papers", 8, marks=pytest.mark.slow)])
def test_a_page_shows_what_its_commands_print(
    page: str,
    least: int,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", "data")
    for folder in ("docs", "collectors"):
        (tmp_path / folder).symlink_to(root / folder)
    blocks = re.findall(r"^```\n(\$ .*?)^```", (root / f"docs/{page}.md").read_text(encoding="utf-8"), re.S | re.M)
    shown, missing = 0, []
    for part in re.split(r"^\$ ", "".join(blocks), flags=re.M)[1:]:
        command, *lines = part.splitlines()
        config, _, typed = command.partition("hellofresh ")
        monkeypatch.setenv("HELLOFRESH_CONFIG", config.strip().partition("=")[2])
        assert main(shlex.split(typed)) == 0
        printed = " ".join("".join(capfd.readouterr()).split())
        # What is left out stands as three dots, at an end of a line or before its last cell.
        pieces = [" ".join(piece.split()) for line in lines for piece in line.removeprefix("...").split(" ...")]
        shown += len(pieces)
        missing += [piece for piece in pieces if piece.strip(". ") and piece not in printed]
    assert shown >= least
    assert missing == []
