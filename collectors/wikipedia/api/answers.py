"""What a wiki has answered, kept on disk, so that a run that was stopped goes on without asking again."""

from __future__ import annotations

import lzma
import sqlite3
import threading
from pathlib import Path
from typing import Self

from hellofresh.core.errors import WorkspaceError
from hellofresh.core.net.database import open_database

__all__ = ["WikiAnswers"]

_SCHEMA = "CREATE TABLE IF NOT EXISTS answers (question TEXT PRIMARY KEY, final INTEGER, body BLOB) WITHOUT ROWID"


class WikiAnswers:
    """A file of answers by question; safe to use from several threads.

    An answer is *final* if the wiki would give the same again, such as a stretch of history that has a successor, and
    *open* if time may add to it, such as the end of a history.

    Args:
        path: the file; it and its folder are made where needed.

    Raises:
        WorkspaceError: if it cannot be written, or is something else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            self._db = open_database(path, _SCHEMA, wait_s=10, any_thread=True)
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def get(self, question: str) -> str | None:
        """The answer, if there is one."""
        try:
            with self._lock:
                row = self._db.execute("SELECT body FROM answers WHERE question = ?", (question,)).fetchone()
            return None if row is None else lzma.decompress(row[0]).decode()
        except (sqlite3.Error, lzma.LZMAError, UnicodeDecodeError) as error:
            raise self._unusable(error) from error

    def put(self, question: str, answer: str, *, final: bool) -> None:
        """Keep an answer; it is on disk when this returns."""
        body = lzma.compress(answer.encode(), preset=1)
        try:
            with self._lock:
                self._db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (question, int(final), body))
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def count(self) -> int:
        """How many answers there are."""
        try:
            with self._lock:
                return int(self._db.execute("SELECT count(*) FROM answers").fetchone()[0])
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def forget_open(self) -> int:
        """Drop the answers to which time may have added; returns how many there were."""
        try:
            with self._lock:
                return self._db.execute("DELETE FROM answers WHERE NOT final").rowcount
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> WorkspaceError:
        return WorkspaceError(
            f"cannot be used ({error})",
            where=str(self._path),
            expected="a file of answers that this program has made, in a folder that can be written",
            fix="Move it away to fetch everything again, or set HELLOFRESH_DATA to another folder.",
            code="bad-answers",
        )
