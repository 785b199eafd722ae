"""The board's analyses are read as they were made, or refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hellofresh.core.errors import DataError
from hellofresh.core.files import sha256_file
from hellofresh.core.workspace import Workspace
from hellofresh.leaderboard.data.analyses import BoardAnalysis, load_analyses
from hellofresh.leaderboard.data.board import SplitKey
from hellofresh.results.figures.charts import ORDER

NOTES = SplitKey("2023Q2", "x-notes")


@pytest.fixture
def board(analysed_board: Workspace, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(analysed_board.board, tmp_path / "board"))


def folder(board: Path) -> Path:
    return board / "analyses" / NOTES.edition / NOTES.task


def loaded(board: Path) -> dict[str, BoardAnalysis]:
    return {one.text.name: one for one in load_analyses(board)[NOTES[:2]]}


def restate(board: Path) -> None:
    """Make the manifest name the files as they are now."""
    manifest = json.loads((board / "manifest.json").read_text())
    for entry in manifest["analyses"]:
        entry["sha256"] = sha256_file(board / entry["path"])
    (board / "manifest.json").write_text(json.dumps(manifest))


def change_index(board: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder(board) / "index.json"
    index = json.loads(path.read_text())
    change(index)
    path.write_text(json.dumps(index))
    restate(board)


def refusal(work: Callable[[], object]) -> str:
    with pytest.raises(DataError) as caught:
        work()
    assert caught.value.code == "damaged-board"
    assert "make release" in caught.value.fix
    return str(caught.value)


def test_what_is_read_is_what_was_made(board: Path, analysed_board: Workspace) -> None:
    assert list(loaded(board)) == list(ORDER)
    for name, one in loaded(board).items():
        made = analysed_board.root / "analyses" / NOTES.edition / NOTES.task
        described = json.loads((made / f"{name}.json").read_text())
        assert (one.text.question, one.text.notes, one.text.missing) == (
            described["question"], described["notes"], described["missing"],
        )  # fmt: skip
        assert one.table().equals(pl.read_parquet(made / f"{name}.parquet"))
        assert one.svg() == (made / f"{name}.svg").read_bytes()


def test_a_board_without_analyses_has_none(make_board: Callable[..., Any]) -> None:
    assert load_analyses(make_board().board) == {}


def test_a_changed_index_is_refused(board: Path) -> None:
    path = folder(board) / "index.json"
    path.write_text(path.read_text().replace("question", "answer"))
    assert "index.json" in refusal(lambda: load_analyses(board))


@pytest.mark.parametrize("ending", ["parquet", "svg"])
@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_damaged_file_is_refused_when_it_is_read_and_the_others_are_not(
    board: Path, ending: str, damage: str
) -> None:
    path = folder(board) / f"cost.{ending}"
    path.write_bytes(b"nothing") if damage == "changed" else path.unlink()
    found = loaded(board)
    assert f"cost.{ending}" in refusal(found["cost"].table if ending == "parquet" else found["cost"].svg)
    assert found["votes"].table().height


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda index: index.update(more=1), "extra inputs"),
        (lambda index: index["analyses"][0].update(name="../up"), "analyses.0.name"),
        (lambda index: index["analyses"][0].pop("notes"), "analyses.0.notes"),
        (lambda index: index["analyses"][0].update(row_count="3"), "analyses.0.row_count"),
        (lambda index: index["analyses"][0]["files"].append("votes.svg"), "not those"),
        (lambda index: index["analyses"][0]["files"].append("agreement.png"), "not those"),
        (lambda index: index.update(edition="2023Q1"), "something else"),
        (lambda index: index["analyses"].append(index["analyses"][0]), "something else"),
    ],
)
def test_an_index_that_says_something_else_is_refused(board: Path, change: Callable[..., object], said: str) -> None:
    change_index(board, change)
    assert said in refusal(lambda: load_analyses(board))


def test_a_table_that_is_not_as_long_as_its_index_says_is_refused(board: Path) -> None:
    change_index(board, lambda index: index["analyses"][0].update(row_count=1))
    found = load_analyses(board)[NOTES[:2]]
    assert "not the one that its index describes" in refusal(
        next(one for one in found if one.text.row_count == 1).table
    )


def test_a_table_of_lists_is_refused(board: Path) -> None:
    pl.DataFrame({"system": [["a"]]}).write_parquet(folder(board) / "cost.parquet")
    restate(board)
    assert "neither texts nor numbers" in refusal(loaded(board)["cost"].table)


def test_a_manifest_cannot_lead_out_of_the_board(board: Path) -> None:
    manifest = json.loads((board / "manifest.json").read_text())
    for entry in manifest["analyses"]:
        entry["path"] = entry["path"].replace("2023Q2", "..")
    (board / "manifest.json").write_text(json.dumps(manifest))
    assert load_analyses(board) == {}
