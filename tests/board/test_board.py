"""The board's tables hold every score, and are made once."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hellofresh.core import plugins
from hellofresh.core.clock import now
from hellofresh.core.errors import DataError
from hellofresh.core.files import sha256_file
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.collection import collect_quarter
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life import manifest as manifests
from hellofresh.releases.life.load import load_labelled
from hellofresh.releases.life.state import reveal
from hellofresh.results.board.build import build_board
from hellofresh.results.scoring.scores import beside_others, score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import PROSPECTIVE
from tests.fakes import refused


@pytest.fixture
def scored(make, tmp_path):
    """Two quarters with the coin's scores."""
    workspace = make.workspace()
    for number, months in ((2, (4, 5)), (3, (7,))):
        quarter = Quarter(2023, number)
        make.release(make.notes(3, 2, months=months), quarter=quarter)
        evaluate(workspace, Evaluation(quarter, get_task("x-notes"), "coin"), lambda _: None)
        score_quarter(workspace, quarter, tmp_path / "none")
    return workspace


def test_it_is_skipped_when_nothing_changed_and_the_same_bytes_when_made_again(scored) -> None:
    first = build_board(scored)
    before = {path.name: sha256_file(path) for path in first.folder.iterdir() if path.is_file()}
    again = build_board(scored)
    assert again.skipped and not first.skipped
    assert (dict(again.rows), list(again.quarters)) == (dict(first.rows), list(first.quarters))
    (first.folder / "scores.parquet").write_bytes(b"changed by hand")
    assert not build_board(scored).skipped
    assert {path.name: sha256_file(path) for path in first.folder.iterdir() if path.is_file()} == before


def test_it_is_built_again_for_a_setting_of_another_package(scored, tmp_path, monkeypatch) -> None:
    point = EntryPoint("shortest", "shortest:ShortestSettings", "hellofresh.settings")
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "docs" / "examples")
    monkeypatch.setattr(plugins, "entry_points", lambda group, name=None: [point] if group == point.group else [])
    monkeypatch.setenv("HELLOFRESH_CONFIG", str(tmp_path / "hellofresh.toml"))
    skipped = []
    for most in (1, 1, 2):
        (tmp_path / "hellofresh.toml").write_text(f"[shortest]\nmost = {most}\n")
        skipped.append(build_board(scored).skipped)
    assert skipped == [False, True, False]


def test_a_run_has_the_score_of_a_lenient_reading_beside_its_own(make, chat, loopback, tmp_path) -> None:
    def behave(_: int, body: dict[str, Any]) -> Any:
        number = re.search(r"Note (\d+)", body["messages"][-1]["content"])
        assert number is not None
        return loopback.said("The answer: yes" if int(number[1]) % 1000 < 3 else "No.")

    chat.behave = behave
    workspace, quarter, task = make.workspace(), Quarter(2023, 2), get_task("x-notes")
    make.release(make.notes(3, 2))
    for model in ("coin", f"openai:m@{chat.base_url}"):
        run = evaluate(workspace, Evaluation(quarter, task, model), lambda _: None)
    reveal(workspace, quarter, task, now())
    for _ in range(2):  # as scored, and as stored
        notes = score_quarter(workspace, quarter, tmp_path / "none").notes
        assert [note for note in notes if "with answers read anywhere in the text, 1.000" in note]
    systems = pl.read_parquet(build_board(workspace).folder / "systems.parquet")
    stored = {origin: json.loads(record) for origin, record in systems.select("origin", "manifest").iter_rows()}
    assert [record["lenient"] for record in stored.values() if "lenient" in record] == [1.0]
    assert (stored[run.run_id]["elsewhere"], stored[run.run_id]["lenient"]) == (6 * 5, 1.0)
    beside = beside_others(workspace, *load_labelled(workspace, quarter, task), run.run_id)
    shown = {row.origin: row.value for row in beside}
    assert (shown[run.run_id], shown[f"{run.run_id}*"]) == (0.0, 1.0)


def test_what_a_release_withholds_is_not_on_the_board_either(make, tmp_path) -> None:
    workspace, quarter = make.workspace(), Quarter(2023, 2)
    collect_quarter(workspace, make.job(make.notes(3, 2)), progress=lambda _: None)
    build_release(workspace, quarter, get_task("x-notes"), seed="s", cap=9, moment=quarter.start)
    evaluate(workspace, Evaluation(quarter, get_task("x-notes"), "coin"), lambda _: None)
    score_quarter(workspace, quarter, tmp_path / "none")
    samples = pl.read_parquet(build_board(workspace).folder / "samples.parquet")
    assert samples.height and not samples["published"].any()
    assert samples["texts"].list.len().sum() == 0
    assert samples["link"].str.starts_with("https://x.com/i/status/").all()


def test_without_scores_there_is_no_board(make) -> None:
    refused("nothing-scored", build_board, make.workspace())
    assert not make.workspace().root.exists()


def test_scores_of_an_earlier_version_are_named_with_the_command_that_makes_them_again(scored) -> None:
    path = scored.scores(Quarter(2023, 2), private=True)
    pl.read_parquet(path).drop("settings").write_parquet(path)
    with pytest.raises(DataError, match=r"hellofresh score --edition 2023Q2"):
        build_board(scored)


def test_scores_under_another_headline_metric_are_not_shown_under_that_of_today(scored) -> None:
    path = scored.scores(Quarter(2023, 2), private=True)
    forecasts = scored.scores(Quarter(2023, 2), PROSPECTIVE)  # as versions wrote them that had F1 first on this split
    forecasts.parent.mkdir(parents=True)
    forecasts.write_bytes(path.read_bytes())
    with pytest.raises(
        DataError, match="scored with f1 as its headline metric, which is relative_brier_index now"
    ) as caught:
        build_board(scored)
    assert caught.value.fix == "Recreate it: hellofresh score --edition 2023Q2 --split prospective"


def test_what_stands_in_a_posts_picture_and_who_is_in_it_stay_off_the_board() -> None:
    from hellofresh.results.board.asked import _step
    from hellofresh.tasks.transcripts import NotedEvent

    values = {"number": 1, "source": "merged", "caption": "SEEN", "people": ["SEEN"], "lines": ["SEEN"],
              "description": "SEEN", "image": "0" * 64}  # fmt: skip
    step = _step("s", "o", 0, NotedEvent(name="picture", values=values))
    assert "SEEN" not in repr(step) and "merged" in step.text


def test_a_manifest_is_opened_once_in_a_build(scored: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reveal(scored, Quarter(2023, 2), get_task("x-notes"), now())
    opened: Counter[Path] = Counter()
    read = manifests.read_version
    monkeypatch.setattr(manifests, "read_version", lambda path: opened.update([path]) or read(path))
    assert not build_board(scored).skipped
    assert opened == Counter((scored.root / "releases").glob("*/*/manifest.json")) and opened
