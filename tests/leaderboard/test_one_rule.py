"""Page, analysis and verification of one quarter say the same about who is ahead."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.results.analyses.order import ranking
from hellofresh.results.scoring.reveal import publish_results
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.results.split.arrays import build_panel
from hellofresh.tasks import get_task
from leaderboard.components.labels import Links
from leaderboard.components.scale import Scale
from leaderboard.components.standings import View, lines_of, plain_row, standings_table
from leaderboard.data.board import SplitKey, load_board
from verifier.checks import verify_release
from verifier.scores import FigureName

QUARTER, TASK = Quarter(2024, 1), "x-notes"
SPLIT = SplitKey(str(QUARTER), TASK)


@pytest.fixture(scope="module")
def workspace(revealed_board: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The revealed quarter with what its reveal publishes."""
    place = tmp_path_factory.mktemp("one-rule") / "all"
    shutil.copytree(revealed_board.root.parent, place)
    found = Workspace(place / revealed_board.root.name)
    publish_results(found, score_quarter(found, QUARTER, place / "submissions"))
    return found


def verified(folder: Path, *names: str) -> list[tuple[float, float, float]]:
    checks = verify_release(folder, figures=[FigureName.parse(name) for name in names])
    found = [check for check in checks if check.name == "figure"]
    assert all(check.ok for check in found), [check.faults for check in found]
    return [(one.value, one.low, one.high) for check in found for one in check.figures]


def test_page_analysis_and_verification_agree(workspace: Workspace) -> None:
    board = load_board(workspace.board)
    standings = board.standings(SPLIT)
    assert len(standings) > 1
    lines = lines_of(board.headlines(SPLIT), standings, {})
    nowhere = Links({}, "index.html")
    page = str(standings_table(lines, View(SPLIT, Scale(), nowhere)))
    panel = build_panel(workspace, QUARTER, get_task(TASK), workspace.root.parent / "submissions")
    table = ranking.run(panel).table
    folder = workspace.release(QUARTER, TASK)
    for line in lines:
        origin, system, place = line.result.entry.origin, line.result.entry.system, line.standing
        if place is None:
            continue
        mine = table.filter(pl.col("system") == system).row(0, named=True)
        names = ("rank", "rank_low", "rank_high", "probability_first", "tie_group")
        assert [mine[name] for name in names] == [place.rank, place.low, place.high, place.first, place.tie_group]
        row = plain_row(line, SPLIT)
        assert (row["rank"], row["rank_low"], row["rank_high"], row["tie_group"]) == (
            place.rank, place.low, place.high, place.tie_group,
        )  # fmt: skip
        first = "&gt;99%" if place.first > 0.99 else f"{place.first:.0%}"
        assert re.search(rf">{place.rank}<.*?{system}.*?{first}", page.replace("\n", ""))
        rank, first, group = verified(folder, *(f"entry={origin},system={system},metric={name}"
                                                for name in ("rank", "first", "tie_group")))  # fmt: skip
        assert rank == (place.rank, place.low, place.high)
        assert first[0] == pytest.approx(place.first, abs=1e-12)
        assert group[0] == place.tie_group
        for other in lines:
            pairs = [pair for pair in board.pairs(SPLIT, origin, other.result.entry.origin) if pair.period == "all"]
            if other is not line and pairs:
                about = f"system={system},entry={origin},against={other.result.entry.origin},metric="
                lead, p_value = verified(folder, f"{about}lead", f"{about}p_value")
                assert lead == pytest.approx((pairs[0].difference, pairs[0].low, pairs[0].high), rel=1e-9, abs=1e-12)
                assert p_value[0] == pytest.approx(pairs[0].adjusted, rel=1e-9)
