"""Commands in this process, in a folder and a workspace of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hellofresh.cli import main


@dataclass
class Cli:
    """Runs commands.

    Attributes:
        out, err: what the last one printed.
        secrets: what none may print.
    """

    capsys: pytest.CaptureFixture[str]
    out: str = ""
    err: str = ""
    secrets: set[str] = field(default_factory=set)

    def __call__(self, *words: str | Path, code: int = 0) -> str:
        """All that a command prints, with single spaces; it must end with this code and without a traceback."""
        self.capsys.readouterr()
        try:
            found = main([*map(str, words)])
        except SystemExit as stopped:
            found = int(stopped.code or 0)
        self.out, self.err = self.capsys.readouterr()
        said = " ".join((self.out + self.err).split())
        assert (found, "Traceback" in self.err) == (code, False), said
        assert not any(secret in self.out + self.err for secret in self.secrets)
        return said

    def json(self, *words: str | Path, code: int = 0) -> Any:
        """What a command prints with --json."""
        self(*words, "--json", code=code)
        return json.loads(self.out)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with the workspace `data`, which is that of `make`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("HELLOFRESH_CONFIG", raising=False)
    return tmp_path
