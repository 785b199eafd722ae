"""Note writers on the board: shown once all labels of the quarter's notes are public, and compared, never counted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from hellofresh.core.errors import DataError
from hellofresh.core.files import write_json
from hellofresh.core.parquet import write_parquet
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.results.board.build import build_board
from hellofresh.results.note_writers import (
    NOTE_WRITERS,
    WRITER_PAIRS,
    NoteWriter,
    pairs_file,
    writers_file,
)
from hellofresh.results.split.tables import PairDifference
from leaderboard.data.board import SplitKey, load_board
from leaderboard.export import export_board

QUARTER, SPLIT = Quarter(2023, 2), SplitKey("2023Q2", "x-notes")
HOSTILE = "<script>window.pwned=1</script>"


def write_writers(workspace: Workspace) -> Path:
    people = NoteWriter("People", "people", 900, 60, 40, 9000, 7.5, 0.25, 0.1, 80, 700, 0.0, 0.0, 0.0, None, 0.0, 0.0,
                        0.0, None, None, None, None, None)  # fmt: skip
    first = NoteWriter(HOSTILE, "machine", 100, 20, 1, 2000, None, None, 0.0, 40, 300, 0.123, 0.05, 0.196, 0.0004,
                       0.1, 0.02, 0.18, 0.02, 1, 1, 1, 1, 0.12, 0.3, 41.2, 0.25, 0.75, 0.08, 0.02, 0.14, 0.01, 0.07,
                       0.03, 0.11)  # fmt: skip
    few = NoteWriter("Writer 2", "machine", 3, 0, 1, 30, None, None, None, 0, 0, None, None, None, None, None, None,
                     None, None, None, None, None, None)  # fmt: skip
    second = replace(first, writer="Writer 3", intercept=-0.05, intercept_low=-0.1, intercept_high=0.0, rank=2)
    path = writers_file(workspace.bridging(QUARTER))
    write_parquet(path, NOTE_WRITERS.frame([second, first, people, few]), mode=0o600)
    pairs = [PairDifference(HOSTILE, "People", 0.123, 0.04, 0.2, 0.0004, 0.01)]
    write_parquet(pairs_file(path), WRITER_PAIRS.frame(pairs), mode=0o600)
    return path


def hidden(workspace: Workspace) -> bool:
    """Whether neither board nor copy say anything of writers."""
    build_board(workspace)
    assert not load_board(workspace.board).rows(NoteWriter, SPLIT)
    assert not load_board(workspace.board).rows(PairDifference, SPLIT)
    return all(b"Writer 2" not in path.read_bytes() for path in workspace.board.rglob("*") if path.is_file())


def test_a_revealed_quarter_shows_its_writers_and_hostile_names_stay_text(make_board, tmp_path: Path) -> None:
    workspace = make_board()
    write_writers(workspace)
    build_board(workspace)
    export_board(workspace.board, tmp_path / "site")
    page = (tmp_path / "site" / "x-notes" / "2023Q2" / "note-writers.html").read_text()
    assert HOSTILE not in page and "&lt;script&gt;" in page
    assert "+0.123" in page and "+0.05 to +0.20" in page and "&lt; 0.001" in page
    for shown in ("+0.080", "+0.02 to +0.14", "12% to 30%", ">41<", "25%", "75%", "scores +0.070 (+0.03 to +0.11)"):
        assert shown in page
    picture, _, listed = page.partition("Not comparable")[0].partition("On the same posts")
    assert picture.index("&lt;script&gt;") < picture.index("Writer 3") and picture.count('<li class="hf-row') == 2
    assert "share first place" in picture and "too close to call" in picture and "<h1>Whose notes" in picture
    places = [listed.index(name) for name in ("&lt;script&gt;", "Writer 3", ">People<", "Writer 2")]
    assert places == sorted(places) and "Writer 2" not in picture
    found = list((tmp_path / "site").rglob("note-writers.html"))
    assert len(found) == 1  # only where there is something to show
    downloaded = json.loads(found[0].with_suffix(".json").read_text())
    assert [row["rank"] for row in downloaded] == [2, 1, None, None]


@pytest.mark.parametrize("task", ["x-notes", "x-notes-media", "x-posts"])
def test_writers_are_hidden_while_any_label_of_notes_of_the_quarter_is_secret(make_board, task: str) -> None:
    workspace = make_board()
    write_writers(workspace)
    said = json.loads((workspace.release(QUARTER, "x-notes") / "manifest.json").read_text())
    write_json(workspace.release(QUARTER, task) / "manifest.json", said | {"task": task, "revealed": False})
    assert hidden(workspace)
    build_board(workspace, private=True)
    assert len(load_board(workspace.private_board).rows(NoteWriter, SPLIT)) == 4
    write_json(workspace.release(QUARTER, task) / "manifest.json", said | {"task": task})
    build_board(workspace)
    assert len(load_board(workspace.board).rows(NoteWriter, SPLIT)) == 4


def test_writers_of_a_quarter_that_was_never_released_are_hidden_and_damage_is_named(make_board) -> None:
    workspace = make_board()
    path = write_writers(workspace)
    other = writers_file(workspace.bridging(Quarter(2023, 3)))
    for source, target in ((path, other), (pairs_file(path), pairs_file(other))):
        source.rename(target)
    assert hidden(workspace)
    other.rename(path)
    with pytest.raises(DataError, match="cannot be read") as raised:
        build_board(workspace)
    assert "collect ratings --quarter 2023Q2" in raised.value.fix
    write_parquet(pairs_file(path), pl.DataFrame({"one": ["a"]}))
    with pytest.raises(DataError, match="columns are missing"):
        build_board(workspace)
