"""The workspace's pictures: `pictures/pictures.sqlite`, which only its owner may read and no release holds.

A picture is found by the hash of its bytes as they came, or by its address. It is kept as it was written again, so that
a run that goes on shows a model the same bytes. The least recently used ones go when there is no more room.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from hellofresh.core.clock import now
from hellofresh.core.errors import DataError
from hellofresh.core.net.database import open_database
from hellofresh.core.quarters import parse_utc, utc_text
from hellofresh.tasks.images import Image, Media

__all__ = ["PictureCache"]

_FILE = "pictures.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS pictures (
    sha256 TEXT PRIMARY KEY, bytes INTEGER NOT NULL, image TEXT NOT NULL, width INTEGER NOT NULL,
    height INTEGER NOT NULL, content BLOB NOT NULL, used TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS addresses (
    address TEXT PRIMARY KEY, sha256 TEXT NOT NULL, problem TEXT NOT NULL, at TEXT NOT NULL
) STRICT, WITHOUT ROWID
"""
_MOST_BYTES = 2 << 30
_FAILED_FOR = timedelta(days=7)
"""So long a picture that could not be had is not asked for again."""


class PictureCache:
    """All pictures of a workspace. The file is made by the first picture. Use it as a context manager.

    Args:
        folder: `pictures` in the workspace.
        most_bytes: of all contents.
        clock: what time it is.

    Raises:
        DataError: here and on every call, if the file is damaged or cannot be written.
    """

    def __init__(self, folder: Path, *, most_bytes: int = _MOST_BYTES, clock: Callable[[], datetime] = now) -> None:
        self._path, self._most_bytes, self._clock = folder / _FILE, most_bytes, clock
        self._opened: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def find(self, media: Media, *, use: bool = True) -> Image | None:
        """The picture that a sample names, None where it is not at hand.

        By the hash of its bytes, or, where the sample does not know that, by its address.

        Args:
            media: what the sample says of it.
            use: whether it counts as used now; if not, nothing is written.
        """
        if not self._path.is_file():
            return None
        return self._find(media.sha256 or self._hash_of(media.address), media.address, use=use)

    def original(self, media: Media) -> tuple[str, int] | None:
        """Hash and number of the bytes as they came, None where the picture is not at hand."""
        if not self._path.is_file():
            return None
        named = media.sha256 or self._hash_of(media.address)
        row = self._run("SELECT sha256, bytes FROM pictures WHERE sha256 = ?", named).fetchone()
        return None if row is None else (str(row[0]), int(row[1]))

    def problem(self, address: str) -> str:
        """Why the picture at an address could not be had lately, empty where it is worth asking for."""
        if not self._path.is_file():
            return ""
        row = self._run("SELECT problem, at FROM addresses WHERE address = ?", address).fetchone()
        return "" if row is None or self._clock() - parse_utc(row[1]) > _FAILED_FOR else str(row[0])

    def add(self, address: str, content: bytes, image: Image) -> Image:
        """Keep a picture that was fetched, on disk when this returns.

        Args:
            address: where it was.
            content: the bytes as they came; only their hash and number are kept.
            image: what the decoder made of them.
        """
        sha256 = hashlib.sha256(content).hexdigest()
        known = self._find(sha256, address, use=True)
        if known is None:
            self._run(
                "INSERT OR REPLACE INTO pictures VALUES (?, ?, ?, ?, ?, ?, ?)",
                sha256, len(content), image.sha256, image.width, image.height, image.content, self._today,
            )  # fmt: skip
        self._note(address, sha256, "")
        self._make_room(sha256)
        return known or image

    def add_problem(self, address: str, problem: str) -> None:
        """Keep that the picture at an address cannot be had, and why."""
        self._note(address, "", problem[:200])

    def forget(self, media: Iterable[Media]) -> int:
        """Delete pictures, as their post is gone; returns how many there were."""
        forgotten = 0
        for item in media if self._path.is_file() else ():
            sha256 = item.sha256 or self._hash_of(item.address)
            forgotten += self._run("DELETE FROM pictures WHERE sha256 = ?", sha256).rowcount
            self._run("DELETE FROM addresses WHERE address = ? OR sha256 = ?", item.address, sha256)
        return forgotten

    def close(self) -> None:
        """Let go of the file."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _find(self, sha256: str, address: str, *, use: bool) -> Image | None:
        query = "SELECT image, width, height, content, used FROM pictures WHERE sha256 = ?"
        row = self._run(query, sha256).fetchone()
        if row is None:
            return None
        image, width, height, content, used = row
        if hashlib.sha256(content).hexdigest() != image:
            raise self._damaged(f"the picture {sha256[:12]} does not match its hash")
        if use and used != self._today:
            self._run("UPDATE pictures SET used = ? WHERE sha256 = ?", self._today, sha256)
        return Image("image/jpeg", image, width, height, content, address)

    def _hash_of(self, address: str) -> str:
        row = self._run("SELECT sha256 FROM addresses WHERE address = ?", address).fetchone()
        return "" if row is None else str(row[0])

    def _note(self, address: str, sha256: str, problem: str) -> None:
        moment = utc_text(self._clock())
        self._run("INSERT OR REPLACE INTO addresses VALUES (?, ?, ?, ?)", address, sha256, problem, moment)

    def _make_room(self, kept: str) -> None:
        """Delete the least recently used pictures until the rest fits; the newest one stays."""
        (size,) = self._run("SELECT coalesce(sum(length(content)), 0) FROM pictures").fetchone()
        if size <= self._most_bytes:
            return
        query = "SELECT sha256, length(content) FROM pictures WHERE sha256 != ? ORDER BY used, rowid"
        for sha256, length in self._run(query, kept).fetchall():
            self._run("DELETE FROM pictures WHERE sha256 = ?", sha256)
            size -= length
            if size <= self._most_bytes:
                return

    @property
    def _today(self) -> str:
        return self._clock().date().isoformat()

    def _run(self, statement: str, *values: object) -> sqlite3.Cursor:
        try:
            if self._opened is None:
                self._opened = open_database(self._path, _SCHEMA, wait_s=30, private=True)
            return self._opened.execute(statement, values)
        except (sqlite3.Error, OSError) as error:
            raise self._damaged(f"the pictures cannot be read or written ({error})") from error

    def _damaged(self, what: str) -> DataError:
        return DataError(
            what, where=str(self._path), fix="Move the file away to fetch all pictures again.", code="bad-cache"
        )
