"""The page Forecasts, live and copied: who foresees best, calibration, the hardest samples, what comes next."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from visiting import opened, text

from hellofresh.core.workspace import Workspace
from hellofresh.results.board.sample_rows import SampleRow
from hellofresh.results.split.tables import AnswerRow
from leaderboard.data.board import SplitKey, load_board
from leaderboard.export import export_board

SPLIT = SplitKey("2026Q4", "x-notes", "prospective")


def test_the_page_ranks_by_the_index_and_names_the_hardest_samples(
    prospective_board: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(prospective_board.root))
    board = load_board(prospective_board.board)
    labels = {row.id: row.label for row in board.rows(SampleRow, SPLIT) if row.label is not None}
    said = {row.id: row.probabilities for row in board.rows(AnswerRow, SPLIT, origin="team-seer/seer")}
    errors = [(said[key][1] - label) ** 2 for key, label in labels.items()]
    base = np.mean(list(labels.values())) * (1 - np.mean(list(labels.values())))
    index = 100 * (1 - np.sqrt(np.mean(errors) / base) / 2)
    export_board(prospective_board.board, tmp_path / "copy")
    (page,) = (tmp_path / "copy").glob("x-notes/2026Q4-prospective/forecasts.html")
    for shown in (text(opened("forecasts")), text(page.read_text(encoding="utf-8"))):
        assert shown.index("seer") < shown.index("guesser")
        for part in ("Resolved", f"{index:.1f}", "Log score", "Resolution", "The hardest samples", "16 decided"):
            assert part in shown
    # Both teams are wrong about the last two samples, and sure of it.
    hardest = text(page.read_text(encoding="utf-8")).partition("The hardest samples")[2]
    assert 0 < hardest.index("xn-15") < hardest.index("xn-1 ") if "xn-1 " in hardest else "xn-15" in hardest


def test_where_no_forecast_is_resolved_there_is_no_page_and_no_way_to_one(
    revealed_board: Workspace, tmp_path: Path
) -> None:
    export_board(revealed_board.board, tmp_path / "copy")
    pages = list((tmp_path / "copy").rglob("*.html"))
    assert pages and not any("forecasts" in page.name for page in pages)
    assert not any("forecasts.html" in page.read_text(encoding="utf-8") for page in pages)
