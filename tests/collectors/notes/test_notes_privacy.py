"""Who wrote, rated or posted never leaves the raw data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collectors.notes.tables import ENROLLMENT, HISTORY, NOTES, RATINGS
from hellofresh.core.errors import SourceError
from tests.collectors.notes.conftest import run

PLANT = "F00DCAFE" * 8
MEANT = {"noteId", "createdAtMillis", "tweetId", "summary", "currentStatus", "lockedStatus"}
"""Columns whose content is checked or is the sample itself; every other one may hold anything."""


def planted(dump: Any) -> Path:
    """A dump with the same participant id in every column that may hold anything, and in the posts."""
    dump.posts = [
        post | {"user": {"name": PLANT, "screen_name": PLANT, "id_str": PLANT}, "in_reply_to_screen_name": PLANT}
        for post in dump.posts
    ]
    for table in (NOTES, HISTORY, RATINGS):
        for row in dump.rows[table.stem]:
            row |= {column: PLANT for column in table.columns if column not in MEANT}
    folder: Path = dump.write()
    rows = ["\t".join(ENROLLMENT.columns), "\t".join([PLANT] * len(ENROLLMENT.columns))]
    (folder / "userEnrollment-00000.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def test_planted_participants_are_in_no_file_of_a_release_its_private_side_or_a_filled_in_copy(
    twelve: Any, place: Path, cli: Any
) -> None:
    folder, data, quarter = planted(twelve), place / "data", ("--quarter", "2023Q2")
    cli.secrets.add(PLANT)
    cli("collect", "x-notes", *quarter, "--dump", folder)
    cli("release", "build", *quarter)
    cli("hydrate", *quarter, "--dump", folder)
    cli("evaluate", *quarter, "--task", "x-notes", "--model", "always-yes")
    cli("score", *quarter)
    cli("board", "build")
    files = {path.relative_to(data).as_posix(): path.read_bytes() for path in data.rglob("*") if path.is_file()}
    stages = {"candidates", "releases", "private", "hydrated", "runs", "board"}
    assert {name.split("/")[0] for name in files} >= stages
    assert [name for name, content in files.items() if PLANT.encode() in content] == []


@pytest.mark.parametrize("column", ["noteId", "createdAtMillis", "tweetId", "lockedStatus"])
def test_planted_participants_are_in_no_message_and_in_no_rejected_line(
    twelve: Any, tmp_path: Path, column: str
) -> None:
    stem = HISTORY.stem if column == "lockedStatus" else NOTES.stem
    twelve.rows[stem][4][column] = PLANT
    with pytest.raises(SourceError) as caught:
        run(planted(twelve))
    assert PLANT not in str(caught.value)
    assert not any(PLANT.encode() in path.read_bytes() for path in (tmp_path / "work").rglob("*") if path.is_file())


def test_short_participant_ids_are_masked_by_their_column(twelve: Any, tmp_path: Path) -> None:
    row = twelve.rows[NOTES.stem][4]
    row |= {"noteAuthorParticipantId": "short-name", "noteId": "x", "believable": "kept"}
    with pytest.raises(SourceError):
        run(twelve)
    written = (tmp_path / "work" / "rejects-notes.tsv").read_text(encoding="utf-8")
    assert "short-name" not in written
    assert "kept" in written
    assert (tmp_path / "work" / "rejects-notes.tsv").stat().st_mode & 0o077 == 0
