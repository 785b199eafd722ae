"""The durable memory of what services answered: SQLite in WAL mode, an answer on disk before anybody uses it.

It is raw data: it keeps what a service sent (without the shown note), may therefore hold user names, and only its owner
may read it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Self

from collectors.notes.posts.service import ServiceReply
from hellofresh.core.errors import SourceError, WorkspaceError
from hellofresh.core.net.database import open_database
from hellofresh.core.quarters import parse_utc, utc_text

__all__ = ["AnswerCache", "StoredAnswer"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    post TEXT NOT NULL, service TEXT NOT NULL, asked_at TEXT NOT NULL,
    http_status INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (post, service)
) STRICT, WITHOUT ROWID
"""
_IDS_AT_ONCE = 500


class StoredAnswer(NamedTuple):
    """What a service answered on a post, and when (UTC, to the second)."""

    post_id: str
    service: str
    asked_at: datetime
    reply: ServiceReply


class AnswerCache:
    """All answers, one for each post and service. Use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._database = open_database(path, _SCHEMA, wait_s=30, private=True)
        except OSError as error:
            raise WorkspaceError(
                f"cannot write: {error.strerror or error}",
                where=str(path),
                fix="Check the folder's permissions and free space.",
                code="unwritable",
            ) from error
        except sqlite3.Error as error:
            raise self._damaged(f"the cache of posts cannot be opened ({error})") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add(self, answer: StoredAnswer) -> None:
        """Store an answer in place of an earlier one; it is on disk when this returns.

        Raises:
            WorkspaceError: if the disk is full or the file cannot be written.
        """
        row = (answer.post_id, answer.service, utc_text(answer.asked_at), answer.reply.status, answer.reply.body)
        try:
            self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", row)
        except sqlite3.Error as error:
            raise WorkspaceError(
                f"an answer cannot be stored ({error})",
                where=str(self._path),
                fix="Nothing stored so far is lost. Make room and run the same command again.",
                code="unwritable",
            ) from error

    def answers(self, ids: Collection[str]) -> Iterator[StoredAnswer]:
        """Everything stored on these posts.

        Raises:
            SourceError: if the file is damaged.
        """
        ordered = sorted(ids)
        for start in range(0, len(ordered), _IDS_AT_ONCE):
            part = ordered[start : start + _IDS_AT_ONCE]
            marks = ",".join("?" * len(part))
            try:
                with closing(
                    self._database.execute(
                        f"SELECT post, service, asked_at, http_status, body FROM answers WHERE post IN ({marks})",  # noqa: S608 - only question marks
                        part,
                    )
                ) as rows:
                    for post_id, service, asked_at, status, body in rows:
                        yield StoredAnswer(post_id, service, parse_utc(asked_at), ServiceReply(status, body))
            except (sqlite3.Error, ValueError) as error:
                raise self._damaged(f"the cache of posts cannot be read ({error})") from error

    def _damaged(self, what: str) -> SourceError:
        fix = "Move the file away to ask for all posts again."
        return SourceError(what, where=str(self._path), fix=fix, code="bad-cache")
