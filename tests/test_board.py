"""The board's tables hold every score, and are made once."""

from __future__ import annotations

import polars as pl
import pytest

from hellofresh.board import build_board
from hellofresh.errors import DataError
from hellofresh.evaluation import Evaluation, evaluate
from hellofresh.files import read_json, sha256_file
from hellofresh.quarters import Quarter
from hellofresh.scoring import score_quarter
from hellofresh.tasks import get_task


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


def test_all_quarters_stand_on_the_board_and_the_manifest_says_so(scored) -> None:
    built = build_board(scored)
    assert list(built.quarters) == ["2023Q2", "2023Q3"]
    manifest = read_json(built.folder / "manifest.json")
    for entry in manifest["files"]:
        path = built.folder / entry["path"]
        assert (entry["size"], entry["sha256"]) == (path.stat().st_size, sha256_file(path))
        assert entry["rows"] == pl.read_parquet(path).height == built.rows[entry["path"]]
    scores = pl.read_parquet(built.folder / "scores.parquet")
    parts = [pl.read_parquet(scored.scores(Quarter(2023, number))) for number in (2, 3)]
    assert scores.equals(pl.concat(parts))


def test_periods_and_funnels_say_what_was_offered_and_taken(scored) -> None:
    folder = build_board(scored).folder
    periods = pl.read_parquet(folder / "periods.parquet").to_dicts()
    assert [(p["period"], p["positives"], p["negatives"], p["taken_per_class"]) for p in periods] == [
        ("2023-04", 3, 2, 2),
        ("2023-05", 3, 2, 2),
        ("2023-07", 3, 2, 2),
    ]
    funnels = pl.read_parquet(folder / "funnels.parquet")
    for quarter in ("2023Q2", "2023Q3"):
        steps = funnels.filter(pl.col("quarter") == quarter)
        kept = steps.filter(pl.col("name") == "candidates")["count"].item()
        dropped = steps.filter(pl.col("dropped"))["count"].sum()
        assert steps["count"][0] == kept + dropped


def test_it_is_skipped_when_nothing_changed_and_the_same_bytes_when_made_again(scored) -> None:
    first = build_board(scored)
    before = {path.name: sha256_file(path) for path in first.folder.iterdir()}
    again = build_board(scored)
    assert again.skipped and not first.skipped
    assert (dict(again.rows), list(again.quarters)) == (dict(first.rows), list(first.quarters))
    (first.folder / "scores.parquet").write_bytes(b"changed by hand")
    assert not build_board(scored).skipped
    assert {path.name: sha256_file(path) for path in first.folder.iterdir()} == before


def test_the_board_knows_no_label_of_a_sample(scored) -> None:
    for path in build_board(scored).folder.glob("*.parquet"):
        assert b"xn-4000" not in path.read_bytes()
        assert "label" not in pl.read_parquet(path).columns


def test_without_scores_there_is_no_board(make) -> None:
    with pytest.raises(DataError) as caught:
        build_board(make.workspace())
    assert caught.value.code == "nothing-scored"
    assert not make.workspace().root.exists()
