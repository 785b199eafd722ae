"""The tour of docs/tour.md, typed: every line of output that it shows is printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from hellofresh.cli import main


def test_the_tour_shows_what_its_commands_print(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", "data")
    monkeypatch.delenv("HELLOFRESH_CONFIG", raising=False)
    blocks = re.findall(r"^```\n(\$ .*?)^```", (root / "docs/tour.md").read_text(encoding="utf-8"), re.S | re.M)
    shown, missing = 0, []
    for part in "".join(blocks).split("$ hellofresh ")[1:]:
        command, *lines = part.splitlines()
        assert main(shlex.split(command)) == 0
        printed = " ".join("".join(capfd.readouterr()).split())
        # What is left out stands as three dots, at the end of a line or before its last cell.
        pieces = [" ".join(piece.split()) for line in lines for piece in line.split(" ...")]
        shown += len(pieces)
        missing += [piece for piece in pieces if piece.strip(". ") and piece not in printed]
    assert len(blocks) == 4 and shown > 25
    assert missing == []
