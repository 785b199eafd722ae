"""A small dump to be built row by row, in today's columns."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collectors.notes import NotesSettings, NotesSource, collect
from collectors.notes.tables import HISTORY, NOTES, RATINGS, DumpTable
from hellofresh.core.quarters import Quarter
from hellofresh.releases.candidates import Collection

HELPFUL, NOT_HELPFUL = "CURRENTLY_RATED_HELPFUL", "CURRENTLY_RATED_NOT_HELPFUL"
UNDECIDED = "NEEDS_MORE_RATINGS"
QUARTER = Quarter(2023, 2)
DAY_MS = 86_400_000


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@dataclass
class Dump:
    folder: Path
    rows: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {NOTES.stem: [], HISTORY.stem: [], RATINGS.stem: []}
    )
    posts: list[dict[str, Any]] = field(default_factory=list)

    def note(
        self,
        number: int,
        *,
        at: str = "2023-05-01T12:00:00",
        status: str | None = HELPFUL,
        locked: bool = True,
        shown: str | None = None,
        text: str = "The tower is 330 metres high.",
        post: object | None = None,
        raters: Sequence[str] = (),
    ) -> None:
        """A note with its status row, on a post of its own unless one is named; `shown` is its first yes or no."""
        post_id = 1_600_000_000_000_000_000 + number if post is None else post
        created = ms(at)
        self.rows[NOTES.stem].append(
            {"noteId": number, "createdAtMillis": created, "tweetId": post_id, "summary": text}
        )
        if status is not None:
            lock = {"lockedStatus": status, "timestampMillisOfStatusLock": created + 14 * DAY_MS} if locked else {}
            first = {"timestampMillisOfFirstNonNMRStatus": ms(shown)} if shown else {}
            self.rows[HISTORY.stem].append({"noteId": number, "currentStatus": status} | lock | first)
        for rater in raters:
            self.rows[RATINGS.stem].append(
                {"noteId": number, "raterParticipantId": rater, "createdAtMillis": created + 1}
            )
        if post is None:
            self.post(post_id)

    def post(self, post_id: object, **changes: Any) -> None:
        """A plain English post, with changes; a change to None takes the key away."""
        post = {
            "__typename": "Tweet",
            "id_str": str(post_id),
            "lang": "en",
            "text": "The tower is 400 metres high!",
            "created_at": "2023-04-30T10:00:00.000Z",
        } | changes
        self.posts.append({key: value for key, value in post.items() if value is not None})

    def write(self, *, shards: int = 1, zipped: bool = False, published: bool = False) -> Path:
        """Write everything; tables without rows but ratings get a header alone."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for table in (NOTES, HISTORY, RATINGS):
            rows = self.rows[table.stem]
            if rows or table is not RATINGS:
                for number in range(shards):
                    self._shard(table, rows[number::shards], number, zipped, published)
        lines = "".join(json.dumps(post) + "\n" for post in self.posts)
        (self.folder / "posts.jsonl").write_text(lines or "\n", encoding="utf-8")
        return self.folder

    def _shard(self, table: DumpTable, rows: list[dict[str, Any]], number: int, zipped: bool, published: bool) -> None:
        folder = self.folder / table.subfolder if published else self.folder
        folder.mkdir(exist_ok=True)
        content = tsv(table.columns, rows)
        stem = f"{table.stem}-{number:05d}"
        if zipped:
            with zipfile.ZipFile(folder / f"{stem}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(f"{stem}.tsv", content)
        else:
            (folder / f"{stem}.tsv").write_bytes(content)


def tsv(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> bytes:
    lines = ["\t".join(columns)] + ["\t".join(str(row.get(name, "")) for name in columns) for row in rows]
    return ("\n".join(lines) + "\n").encode()


def run(
    dump: Dump | Path, quarter: Quarter = QUARTER, *, illustrated: bool = False, pending: bool = False, **settings: Any
) -> Collection:
    folder = dump if isinstance(dump, Path) else dump.write()
    source, work = NotesSource(folder), folder.parent / "work"
    return collect(quarter, source, NotesSettings(**settings), workdir=work, illustrated=illustrated, pending=pending)


@pytest.fixture
def dump(tmp_path: Path) -> Dump:
    return Dump(tmp_path / "dump")


@pytest.fixture
def twelve(dump: Dump) -> Dump:
    """Twelve decided notes over the months of 2023Q2, with 1 to 12 raters."""
    for number in range(1, 13):
        dump.note(
            number,
            at=f"2023-{4 + number % 3:02d}-{number:02d}T{number:02d}:00:00",
            status=HELPFUL if number % 2 else NOT_HELPFUL,
            text=f"Note {number} says &quot;no&quot; &amp; why.",
            raters=[f"rater{rater}" for rater in range(number)],
        )
    return dump
