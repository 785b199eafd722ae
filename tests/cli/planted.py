"""Names, addresses, participant ids and keys to plant in sources: they come out in no release (`test_cli_life`)."""

from __future__ import annotations

import bz2
import csv
import re
from itertools import count
from pathlib import Path
from typing import Any

from collectors.notes.tables import ENROLLMENT, HISTORY, NOTES, RATINGS
from hellofresh.core.files import read_jsonl, write_jsonl

MEANT = {"noteId", "createdAtMillis", "tweetId", "summary", "currentStatus", "lockedStatus", "currentDecidedBy"}
"""Columns that are the sample itself or decide its label; every other one may hold anything."""
KEYS = (
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "X_BEARER_TOKEN",
    "HF_TOKEN",
    "BRAVE_API_KEY",
    "SOME_PASSWORD",
)


class Planted:
    """Values that must not come out, each of them only once, and where each was put."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}
        self._numbers = count(10_001)

    def text(self, place: str) -> str:
        """A value for a place."""
        return self._kept(f"PLANTED{next(self._numbers)}X", place)

    def address(self, place: str) -> str:
        """An IP address, of version 6 as they are rarer in texts."""
        return self._kept(f"2001:DB8:0:0:0:0:{next(self._numbers):X}:7", place)

    def number(self, place: str) -> str:
        """A user's number."""
        return self._kept(f"7777{next(self._numbers)}7777", place)

    def _kept(self, value: str, place: str) -> str:
        self.places[value] = place
        return value

    def found(self, folder: Path) -> list[str]:
        """Which planted values are in the files of a folder, or in their names, and where they were put."""
        files = [path for path in folder.rglob("*") if path.is_file()]
        everything = b"\n".join([path.read_bytes() for path in files] + [str(path).encode() for path in files]).upper()
        return [f"{place}: {value}" for value, place in self.places.items() if value.upper().encode() in everything]


def plant_notes(folder: Path, planted: Planted) -> None:
    for table in (NOTES, HISTORY, RATINGS, ENROLLMENT):
        for path in sorted(folder.glob(f"{table.stem}-*.tsv")):
            with path.open(encoding="utf-8", newline="") as file:
                rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
            header = rows[0]
            # Times must be numbers, since the fit of ratings reads them.
            free = [k for k, name in enumerate(header) if name not in MEANT and not name.startswith("timestamp")]
            values = {k: planted.text(f"{table.stem}.{header[k]}") for k in free}
            lines = [header, *([values.get(k, cell) for k, cell in enumerate(row)] for row in rows[1:])]
            path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
    posts = folder / "posts.jsonl"
    write_jsonl(posts, [plant_post(post, planted) for post in read_jsonl(posts)])


def plant_post(post: dict[str, Any], planted: Planted) -> dict[str, Any]:
    """A post whose author, counts and unknown fields are planted."""
    free = {
        name: planted.text(f"posts.{name}")
        for name in ("in_reply_to_screen_name", "in_reply_to_user_id_str", "source", "location", "ip", "token")
    }
    user = {name: planted.text(f"posts.user.{name}") for name in ("id_str", "name", "screen_name", "email")}
    return post | free | {"user": user, "parent": {"user": user}}


def plant_history(path: Path, planted: Planted) -> None:
    """Names, numbers, addresses and comments of all contributors; the same one gets the same, so that they count."""
    known: dict[str, str] = {}

    def other(tag: str, make: Any) -> Any:
        def replaced(match: re.Match[str]) -> str:
            if match[0] not in known:
                known[match[0]] = f"<{tag}>{make(f'history.{tag}')}</{tag}>"
            return known[match[0]]

        return replaced

    text = bz2.decompress(path.read_bytes()).decode()
    text = re.sub(r"<username>.*?</username>", other("username", planted.text), text)
    text = re.sub(r"<ip>.*?</ip>", other("ip", planted.address), text)
    text = re.sub(r"<comment>.*?</comment>", lambda _: f"<comment>{planted.text('history.comment')}</comment>", text)
    text = re.sub(
        r"(</username>\s*)<id>\d+</id>", lambda match: f"{match[1]}<id>{planted.number('history.user id')}</id>", text
    )
    path.write_bytes(bz2.compress(text.encode()))


def within(planted: Planted, releases: Path) -> list[str]:
    """What was found in a copy of the public folder, whose own name says nothing."""
    found = planted.found(releases)
    own = sum(1 for path in releases.rglob("*") if path.is_file())
    assert own >= 6
    return [name for name in found if not name.startswith("the workspace's folder")] + [
        str(path)
        for path in releases.rglob("*")
        if path.is_file() and str(releases.parent).encode() in path.read_bytes()
    ]
