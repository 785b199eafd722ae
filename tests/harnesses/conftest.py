"""A quarter of notes, and a model that says something else to each note and wording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli

NOTES = ("--edition", "2023Q2", "--task", "x-notes")
WORDS = ("Yes.", "no", "Yes, it is.", "No.", "I can't help with that.", "Hard to say.", "YES")


@pytest.fixture
def notes(place: Path, make, chat, loopback) -> Path:
    chat.behave = lambda _, body: loopback.said(WORDS[sum(map(ord, body["messages"][-1]["content"])) % len(WORDS)])
    make.release(make.notes(2, 2))
    return place


def evaluated(cli: Cli, chat: Any, model: str, *more: str) -> Path:
    return Path(cli.json("evaluate", *NOTES, "--model", model, "--base-url", chat.base_url, *more)["folder"])


def board(cli: Cli) -> dict[tuple[str, str], dict[str, float]]:
    """The scores of the whole quarter, by prompt and metric."""
    rows = cli.json("score", "--edition", "2023Q2", "--private")
    return {(row["prompt"], row["metric"]): row for row in rows if row["period"] == "all"}
