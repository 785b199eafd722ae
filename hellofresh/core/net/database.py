"""SQLite files in WAL mode; every commit is on disk before it returns."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path


class SchemaVersionError(sqlite3.DatabaseError):
    """A file written by another version of the program."""


def open_database(
    path: Path,
    schema: str,
    *,
    version: int = 0,
    wait_s: float = 5.0,
    any_thread: bool = False,
    private: bool = False,
) -> sqlite3.Connection:
    """Open a database, making its folder, file and tables where needed; statements commit automatically.

    Args:
        path: the file.
        schema: statements that make the tables.
        version: of the schema; a file with tables of another version is refused.
        wait_s: how long to wait for another process that writes.
        any_thread: whether other threads may use the connection, one at a time.
        private: whether only the owner may read the file.

    Raises:
        SchemaVersionError: if the file was written by another version.
        sqlite3.Error, OSError: if the file cannot be used.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if private:
        # SQLite gives its side files the mode of the main file, so set it from the start.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    database = sqlite3.connect(path, isolation_level=None, timeout=wait_s, check_same_thread=not any_thread)
    try:
        (found,) = database.execute("PRAGMA user_version").fetchone()
        (tables,) = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables and found != version:
            raise SchemaVersionError(f"a file of form {found}, this version writes form {version}")
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        if not tables:
            database.executescript(f"BEGIN; {schema}; PRAGMA user_version = {version}; COMMIT")
    except BaseException:  # an open file could not be replaced on Windows
        database.close()
        raise
    return database
