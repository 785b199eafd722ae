"""A living quarter of a task of three classes, from the bundled claims to every page and the static copy."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from visiting import opened, paths, text

from collectors import sample
from hellofresh.core.clock import now
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.collection import collect_quarter
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life.state import reveal
from hellofresh.results.board.build import build_board
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import get_task
from hellofresh_parts.claims.declared import ClaimsSettings
from hellofresh_parts.claims.jobs import claims_job
from leaderboard.data.board import SplitKey, load_board
from leaderboard.export import export_board

CLAIMS = get_task("claims")
REVEALED, OPEN = Quarter(2026, 2), Quarter(2026, 3)
HALVES = re.compile(r"half of (them|the samples have)|lower bars|1, 0,")


@pytest.fixture(scope="module")
def workspace(built_once: Callable[[str, Callable[[Path], None]], Path]) -> Workspace:
    """A revealed and an open quarter of claims, with two baselines each."""

    def build(folder: Path) -> None:
        workspace, feed = Workspace(folder / "data"), folder / "feed.json"
        sample.write_claims_feed(feed)
        for quarter in (REVEALED, OPEN):
            collect_quarter(workspace, claims_job(quarter, [feed], ClaimsSettings()), progress=lambda _: None)
            assert build_release(workspace, quarter, CLAIMS, seed="s", cap=3).samples
            for model in ("coin", "always-yes"):
                evaluate(workspace, Evaluation(quarter, CLAIMS, model), lambda _: None)
            if quarter == REVEALED:
                assert reveal(workspace, quarter, CLAIMS, now())
            score_quarter(workspace, quarter, folder / "none")
        build_board(workspace)

    return Workspace(built_once("claims-quarters", build) / "data")


SAID = {
    ("leaderboard", REVEALED): ("27 samples, as many of each class: true, mixed, false.", "Macro F1"),
    ("leaderboard", OPEN): ("In each period 1 in 3 of the samples have each label",),
    ("data", REVEALED): ("as many samples of each class: 27 in all. Bars are, from the top, true, mixed, false;",),
    ("data", OPEN): ("in each period as many of each class (true, mixed, false).",),
    ("submit", None): ("2 for true, 1 for mixed, 0 for false, or null for no answer",),
    ("samples", REVEALED): ("27 samples.",),
}
"""What a page says, and must not say by halves."""


def test_every_page_shows_a_quarter_of_three_classes(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    for (path, quarter), parts in SAID.items():
        shown = text(opened(path, **({"task": CLAIMS.name, "edition": str(quarter)} if quarter else {})))
        assert all(part in shown for part in parts), shown
    assert {"compare", "system"} <= paths()


def test_periods_count_every_class_and_hide_the_counts_of_an_open_quarter(workspace: Workspace) -> None:
    board = load_board(workspace.board)
    for quarter in (REVEALED, OPEN):
        split = SplitKey(str(quarter), CLAIMS.name)
        balances = board.balance(split)
        assert len(balances) == 3 and {balance.classes for balance in balances} == {3}
        assert board.is_open(split) == (quarter == OPEN)
        for balance in balances:
            if quarter == OPEN:
                assert balance.candidates is None and balance.offered == (0, 0, 0)
            else:
                assert balance.candidates is not None
                assert len(balance.candidates) == 3 and min(balance.candidates) >= balance.taken_per_class


def test_the_static_copy_has_both_quarters(workspace: Workspace, tmp_path: Path) -> None:
    export_board(workspace.board, tmp_path / "copy")
    pages = {path: text(path.read_text()) for path in (tmp_path / "copy" / CLAIMS.name).rglob("*.html")}
    assert {path.parent.name for path in pages} >= {str(REVEALED), str(OPEN)}
    for (path, quarter), parts in SAID.items():
        name = {"leaderboard": "index.html", "data": "data.html"}.get(path)
        if name and quarter:
            page = pages[tmp_path / "copy" / CLAIMS.name / str(quarter) / name]
            assert all(part in page for part in parts)
    assert not any(HALVES.search(page) for page in pages.values())
