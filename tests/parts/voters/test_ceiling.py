"""Out of what: the ceiling of a ranking, from what ratings say of its labels to what a stranger recomputes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.quarters import Quarter, utc_text
from hellofresh.releases.life.state import reveal
from hellofresh.releases.publish.folder import publish_to_folder
from hellofresh.results.board.build import build_board
from hellofresh.results.scoring.reveal import publish_results
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.results.split.tables import CeilingRow
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import get_task
from hellofresh_parts.voters.ceiling import reached
from leaderboard.components.scale import plain_scale
from leaderboard.components.vega import interval_chart, scored
from leaderboard.data.board import SplitKey, load_board
from leaderboard.export import export_board
from leaderboard.views.leaderboard import with_ceiling
from tests.conftest import Maker
from verifier.checks import beside_checks, verify_release

QUARTER, NOTES = Quarter(2023, 2), get_task("x-notes")
DAYS = CalendarRule().of(QUARTER)


def test_what_an_oracle_reaches_is_that_of_a_hand_computation() -> None:
    labels = np.array([1, 1, 0, 0] * 50, np.int8)
    sure = reached(NOTES, labels, np.where(labels == 1, 1.0, 0.0), np.zeros(200))
    assert all(abs(end - top) < 1e-3 for name, top in (("f1", 1), ("accuracy", 1), ("relative_brier_index", 100))
               for end in sure[name])  # fmt: skip
    # Shares that are known exactly: a quarter of the labels lie on the other side of a share of 0.8 or 0.2.
    said = np.where(np.arange(200) % 4 == 0, 1 - labels, labels)
    known = reached(NOTES, labels, np.where(said == 1, 0.8, 0.2), np.zeros(200))
    right, errors = 0.75, 0.75 * 0.2**2 + 0.25 * 0.8**2
    assert np.allclose(known["accuracy"], right) and np.allclose(
        known["relative_brier_index"], 100 - 100 * errors**0.5, atol=0.1
    )
    # A share of which nothing is known is as often above as below one half.
    open_ = reached(NOTES, labels, np.full(200, 0.5), np.full(200, 12**-0.5))
    assert abs(open_["accuracy"][0] - 0.5) < 0.01
    half = (open_["accuracy"][2] - open_["accuracy"][1]) / 2
    assert abs(half / (1.96 * 0.5 / 200**0.5) - 1) < 0.15


@pytest.fixture(scope="module")
def open_and_revealed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Maker]:
    """A quarter of notes whose ratings are known, but for a few: its site while it is open, and then its workspace."""
    make = Maker(tmp_path_factory.mktemp("ceiling"))
    chances = {0: (0.01, 0.05), 1: (0.9, 0.2)}
    candidates = [
        replace(one, label=replace(one.label, facts={**one.label.facts, **dict(zip(("chance", "chance_error"),
                chances[one.label.label] if k % 9 else (None, None), strict=True))}))
        for k, one in enumerate(make.notes(12, 12))
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HELLOFRESH_NOW", utc_text(DAYS.opens))
        make.release(candidates)
        workspace = make.workspace()
        evaluate(workspace, Evaluation(QUARTER, NOTES, "always-yes"), lambda _: None)
        score_quarter(workspace, QUARTER, workspace.root / "none", DAYS.opens)
        build_board(workspace)
        assert not load_board(workspace.board).rows(CeilingRow, SplitKey("2023Q2", "x-notes"))
        site = make.folder / "open"
        export_board(workspace.board, site)
        before = "".join(path.read_text() for path in site.rglob("*.html") if path.stem != "about")
        patch.setenv("HELLOFRESH_NOW", utc_text(DAYS.reveals))
        reveal(workspace, QUARTER, NOTES, DAYS.reveals)
        publish_results(workspace, score_quarter(workspace, QUARTER, workspace.root / "none", DAYS.reveals))
        build_board(workspace)
    return before, make


def test_the_ranking_shows_the_ceiling_once_labels_are_public(open_and_revealed: tuple[str, Maker]) -> None:
    before, make = open_and_revealed
    assert "Ceiling" not in before and "chance_error" not in before
    workspace, site = make.workspace(), make.folder / "site"
    rows = load_board(workspace.board).rows(CeilingRow, SplitKey("2023Q2", "x-notes"))
    assert [row.metric for row in rows] == ["f1", "accuracy", "relative_brier_index"]
    assert all(row.low <= row.value <= row.high and (row.samples, row.of) == (64, 72) for row in rows)
    edits = SplitKey("2023Q2", "wikipedia-edits")
    scale, said = with_ceiling(load_board(workspace.board), edits, plain_scale(edits.task))
    assert scale.ceiling is None and "Ceiling: unknown. Histories do not say" in str(said)
    scale, _ = with_ceiling(load_board(workspace.board), SplitKey("2023Q2", "x-notes"), plain_scale("x-notes"))
    drawn = interval_chart(scale, {**scored(["always-yes"], [scale.ceiling]), "kind": ["Baselines"]})
    assert {"x": rows[0].value, "said": "ceiling"} in [one["data"]["values"][0] for one in drawn.spec["layer"][2:]]
    export_board(workspace.board, site)
    folder = site / "x-notes" / "2023Q2"
    page = (folder / "index.html").read_text()
    assert f"F1 {rows[0].value:.3f} ({rows[0].low:.3f} to {rows[0].high:.3f})" in page and "64 of 72 samples" in page
    assert page.count("hf-human-line hf-top") == 2 and "hf-named hf-top" in page  # in the ranking and in the table
    (line,) = [one for one in json.loads((folder / "leaderboard.json").read_text()) if "Ceiling" in one["system"]]
    assert line["f1"] == rows[0].value and line["accuracy_high"] == rows[1].high and line["rank"] is None


def test_a_stranger_recomputes_the_ceiling(open_and_revealed: tuple[str, Maker], tmp_path: Path) -> None:
    workspace = open_and_revealed[1].workspace()
    folder = workspace.release(QUARTER, "x-notes")
    path = folder.parent / "ratings" / "x-notes.ceiling.jsonl"

    def faults() -> list[str]:
        (check,) = [check for check in verify_release(folder) if check.name == "ceiling"]
        return list(check.faults)

    assert faults() == [] and all(check.ok for check in beside_checks([folder]))
    before = path.read_text()
    lines = before.splitlines(keepends=True)
    for changed in (lines[1:], [*lines, lines[-1]], [lines[0].replace('"value":0.', '"value":0.9'), *lines[1:]],
                    [lines[0].replace('"of":72', '"of":64'), *lines[1:]], ["{}\n"]):  # fmt: skip
        path.write_text("".join(changed))
        assert faults(), changed[0]
    path.write_text(before)
    publish_to_folder(workspace, tmp_path / "published", DAYS.reveals)
    assert len(list((tmp_path / "published").glob("releases/*/ratings/x-notes.ceiling.jsonl"))) == 1
