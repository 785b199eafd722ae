"""The board's tables of note writers, of the quarters whose labels are all public."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hellofresh.core.editions import Edition
from hellofresh.core.parquet import Table
from hellofresh.core.workspace import Workspace
from hellofresh.results.board.schema import RELEASE_KEYS, AddedTable
from hellofresh.results.note_writers import NoteWriter, notes_splits, pairs_file, read_note_writers, writers_file
from hellofresh.results.split.open import BoardSplit, places
from hellofresh.results.split.tables import PairDifference
from hellofresh.tasks.samples import MAIN


def _read(split: BoardSplit) -> tuple[Sequence[NoteWriter], Sequence[PairDifference]]:
    """Writers and pairs of a quarter, with the first of its tasks on notes; nothing otherwise."""
    path = writers_file(split.workspace.bridging(split.place.edition))
    if split.place.split != MAIN or not path.is_file():
        return (), ()
    known = notes_splits((one.edition, one.task, one.manifest.has_labels) for one in places(split.workspace))
    task, revealed = known.get(split.place.edition, ("", False))
    return read_note_writers(path) if task == split.place.task and (revealed or split.private) else ((), ())


def _files(workspace: Workspace, edition: Edition) -> Sequence[Path]:
    path = writers_file(workspace.bridging(edition))
    return [path, pairs_file(path)]


WRITERS = AddedTable(Table(NoteWriter, RELEASE_KEYS), lambda split: _read(split)[0], _files)
PAIRS = AddedTable(Table(PairDifference, RELEASE_KEYS), lambda split: _read(split)[1], _files)
