"""The board's tables hold every score, and are made once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from hellofresh.core.clock import now
from hellofresh.core.errors import DataError
from hellofresh.core.files import read_json, sha256_file
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.collection import collect_quarter
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life import manifest as manifests
from hellofresh.releases.life.load import load_labels
from hellofresh.releases.life.state import reveal
from hellofresh.results.board.build import build_board
from hellofresh.results.scoring.scores import score_quarter
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


def test_all_quarters_stand_on_the_board_and_the_manifest_says_so(scored, tmp_path) -> None:
    assert reveal(scored, Quarter(2023, 2), get_task("x-notes"), now())
    score_quarter(scored, Quarter(2023, 2), tmp_path / "none")
    built = build_board(scored)
    assert list(built.quarters) == ["2023Q2", "2023Q3"]
    manifest = read_json(built.folder / "manifest.json")
    for entry in manifest["files"]:
        path = built.folder / entry["path"]
        assert (entry["size"], entry["sha256"]) == (path.stat().st_size, sha256_file(path))
        assert entry["rows"] == pl.read_parquet(path).height == built.rows[entry["path"]]
    scores = pl.read_parquet(built.folder / "scores.parquet")
    assert set(scores["split"]) == {"main"}
    assert scores.drop("split").equals(pl.read_parquet(scored.scores(Quarter(2023, 2))))
    private = pl.read_parquet(build_board(scored, private=True).folder / "scores.parquet")
    parts = [pl.read_parquet(scored.scores(Quarter(2023, number), private=number == 3)) for number in (2, 3)]
    assert private.drop("split").equals(pl.concat(parts))


def test_periods_and_funnels_say_what_was_offered_and_taken(scored) -> None:
    assert reveal(scored, Quarter(2023, 2), get_task("x-notes"), now())
    folder = build_board(scored).folder
    periods = pl.read_parquet(folder / "periods.parquet").to_dicts()
    assert [(p["period"], p["candidates"], p["taken_per_class"]) for p in periods] == [
        ("2023-04", [2, 3], 2),
        ("2023-05", [2, 3], 2),
        ("2023-07", None, 2),  # not revealed
    ]
    funnels = pl.read_parquet(folder / "funnels.parquet")
    for quarter in ("2023Q2", "2023Q3"):
        steps = funnels.filter(pl.col("edition") == quarter)
        kept = steps.filter(pl.col("name") == "candidates")["count"].item()
        dropped = steps.filter(pl.col("dropped"))["count"].sum()
        assert steps["count"][0] == kept + dropped


def test_it_is_skipped_when_nothing_changed_and_the_same_bytes_when_made_again(scored) -> None:
    first = build_board(scored)
    before = {path.name: sha256_file(path) for path in first.folder.iterdir() if path.is_file()}
    again = build_board(scored)
    assert again.skipped and not first.skipped
    assert (dict(again.rows), list(again.quarters)) == (dict(first.rows), list(first.quarters))
    (first.folder / "scores.parquet").write_bytes(b"changed by hand")
    assert not build_board(scored).skipped
    assert {path.name: sha256_file(path) for path in first.folder.iterdir() if path.is_file()} == before


def test_after_the_reveal_the_board_has_the_labels_and_all_answers(scored, tmp_path) -> None:
    before = build_board(scored)
    quarter, task = Quarter(2023, 2), get_task("x-notes")
    assert reveal(scored, quarter, task, now())
    score_quarter(scored, quarter, tmp_path / "none")
    after = build_board(scored)
    assert not (before.skipped or after.skipped)
    samples = pl.read_parquet(after.folder / "samples.parquet").filter("revealed")
    labels = load_labels(scored, quarter, task)
    assert dict(samples.select("id", "label").iter_rows()) == {key: item.label for key, item in labels.items()}
    answers = pl.read_parquet(after.folder / "answers.parquet")
    assert set(answers["edition"]) == {"2023Q2"}
    assert sorted(answers["id"]) == sorted(labels)


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
