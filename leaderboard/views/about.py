"""How the benchmark works, for readers who want to know before they trust a number."""

from __future__ import annotations

from pathlib import Path

from leaderboard.components.about import about_benchmark, about_board, about_changes
from leaderboard.views.visit import Page, Visit

_LEDE = "How the benchmark is made, and what its numbers can and cannot say."
_CHANGELOG = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
"""Lies beside the code; not there where only the package is installed."""


def _compose(visit: Visit) -> None:
    visit.header("About", _LEDE)
    changelog = _CHANGELOG.read_text(encoding="utf-8") if _CHANGELOG.is_file() else ""
    visit.show(about_benchmark(), about_board(visit.board), about_changes(changelog))


PAGE = Page("About", "about", _compose, _LEDE, once=True)
