"""A database is made whole, kept to one version, and its commits are on disk."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from hellofresh.core.net.database import SchemaVersionError, open_database

SCHEMA = "CREATE TABLE IF NOT EXISTS a (x INTEGER) STRICT"


def test_every_commit_is_flushed_and_seen_by_others(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.sqlite"
    first, second = open_database(path, SCHEMA), open_database(path, SCHEMA)
    assert first.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert first.execute("PRAGMA synchronous").fetchone() == (2,)
    first.execute("INSERT INTO a VALUES (7)")
    assert second.execute("SELECT x FROM a").fetchall() == [(7,)]
    first.close()
    second.close()


def test_a_file_of_another_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    open_database(path, SCHEMA, version=3).close()
    before = path.read_bytes()
    with pytest.raises(SchemaVersionError, match=r"3.*4"):
        open_database(path, SCHEMA, version=4)
    assert path.read_bytes() == before


def test_what_is_no_database_is_an_error_and_no_open_file(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"no database at all " * 100)
    with pytest.raises(sqlite3.DatabaseError):
        open_database(path, SCHEMA)


def test_a_private_file_and_its_side_files_are_only_the_owners(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    before = os.umask(0)
    try:
        database = open_database(path, SCHEMA, private=True)
        assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
        assert len(list(tmp_path.iterdir())) > 1
        database.close()
    finally:
        os.umask(before)
