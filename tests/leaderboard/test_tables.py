"""The board is read as it was built, or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hellofresh.core.errors import DataError
from hellofresh.core.files import sha256_file
from leaderboard.data.board import Board, SplitKey, load_board

NOTES = SplitKey("2023Q2", "x-notes")


@pytest.fixture
def folder(make_board: Callable[..., Any]) -> Path:
    return make_board().board


@pytest.fixture
def board(folder: Path) -> Board:
    return load_board(folder)


def test_two_submissions_that_say_the_same_of_themselves_stay_two(
    make_board: Callable[..., Any], system: Callable[..., Any]
) -> None:
    twins = [system("twin", right=right, kind="submission", team="a") for right in (12, 17)]
    board = load_board(make_board(systems=twins).board)
    entries = [result.entry for result in board.headlines(NOTES)]
    assert [entry.number for entry in entries] == [1, 0]
    values = [{result.headline.value for result in board.by_period(NOTES, entry)} for entry in entries]
    assert values == [{17 / 20}, {12 / 20}]


def refused(folder: Path) -> DataError:
    with pytest.raises(DataError) as caught:
        load_board(folder)
    return caught.value


def test_no_board_is_said_so(tmp_path: Path) -> None:
    error = refused(tmp_path / "board")
    assert error.code == "no-board"
    assert "hellofresh release run" in error.fix


@pytest.mark.parametrize("name", ["scores.parquet", "periods.parquet", "funnels.parquet"])
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: pl.read_parquet(path).clear().write_parquet(path)])
def test_a_missing_or_exchanged_table_is_named(folder: Path, name: str, damage: Callable[[Path], object]) -> None:
    damage(folder / name)
    error = refused(folder)
    assert error.code == "damaged-board"
    assert error.where.endswith(name)
    assert "hellofresh release run" in error.fix


@pytest.mark.parametrize("change", [{"format": 99}, {"format": None}, {"format": "1"}, {"files": 3}, {"more": 1}])
def test_a_manifest_of_another_format_is_refused(folder: Path, change: dict[str, object]) -> None:
    said = json.loads((folder / "manifest.json").read_text())
    assert said["format"] == 1
    (folder / "manifest.json").write_text(json.dumps(said | change))
    error = refused(folder)
    assert error.code == "damaged-board"
    assert error.where.endswith("manifest.json")


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", '{"files": 3}', '{"files": [{"path": "scores.parquet"}]}', "null", "\ufeff{}", "[" * 900,
        '{"format": 1, "format": 1}', '{"format": NaN}',
    ],
)  # fmt: skip
def test_a_damaged_manifest_is_named(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_text(text)
    error = refused(folder)
    assert error.code == "damaged-board"
    assert error.where.endswith("manifest.json")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.drop("low", "n"), "columns are missing: low, n"),
        (lambda table: table.with_columns(pl.col("n").cast(pl.String)), "the column n does not hold whole numbers"),
        (
            lambda table: table.with_columns(pl.lit(None, pl.Float64).alias("low")),
            "the column low does not hold numbers",
        ),
    ],
)
def test_a_table_of_another_form_is_refused(
    folder: Path, change: Callable[[pl.DataFrame], pl.DataFrame], said: str
) -> None:
    path = folder / "scores.parquet"
    change(pl.read_parquet(path)).write_parquet(path)
    restate(folder, path)
    error = refused(folder)
    assert error.code == "damaged-board"
    assert said in error.what


def test_a_file_that_is_no_parquet_is_refused_even_if_the_manifest_names_it(folder: Path) -> None:
    path = folder / "scores.parquet"
    path.write_bytes(b"PAR1 but not really PAR1")
    restate(folder, path)
    assert refused(folder).code == "damaged-board"


def restate(folder: Path, path: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    for entry in manifest["files"]:
        if entry["path"] == path.name:
            entry["sha256"] = sha256_file(path)
    (folder / "manifest.json").write_text(json.dumps(manifest))
