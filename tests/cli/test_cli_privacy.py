"""No name, address, participant id or key that goes into the benchmark comes out in a release, at any time."""

from __future__ import annotations

import bz2
import csv
import json
import re
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from collectors.notes.tables import ENROLLMENT, HISTORY, NOTES, RATINGS
from hellofresh.core.files import read_jsonl, write_jsonl
from tests.conftest import Cli

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


def hand_in(folder: Path, planted: Planted, releases: Path) -> None:
    """A submission whose contact, reasons and sources are nobody else's business."""
    ids = [row["id"] for path in sorted(releases.rglob("samples.jsonl")) for row in read_jsonl(path)]
    address = f"https://example.org/{planted.text('submission.sources')}"
    reason = planted.text("submission.rationale")
    rows = [{"id": key, "label": 1, "confidence": 0.9, "rationale": reason, "sources": [address]} for key in ids]
    write_jsonl(folder / "predictions.jsonl", rows)
    fields = {
        "name": "S",
        "team": "T",
        "contact": planted.text("submission.contact"),
        "regime": "other",
        "url": f"https://example.org/{planted.text('submission.url')}",
        "knowledge_cutoff": "unknown",
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
    (folder / "system.toml").write_text("\n".join([*lines, 'models = ["m"]', ""]))


def test_nothing_planted_comes_out_when_open_nor_when_revealed_nor_after_a_takedown(
    place: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    planted, data, source = Planted(), place / "data", place / "source"
    for name in KEYS:
        monkeypatch.setenv(name, planted.text(f"environment.{name}"))
    monkeypatch.setenv("HELLOFRESH_NOW", "2026-07-22T00:00:00Z")
    cli("archive", "sample", "--to", source)
    history = source / "wikipedia-edits" / "history.xml.bz2"
    plant_notes(source / "x-notes", planted)
    plant_history(history, planted)
    planted.places[str(place)] = "the workspace's folder"
    dumps = ["--notes-dump", str(source / "x-notes"), "--wiki-dump", str(history), "--models", "coin"]
    day = ["release", "run", "--quarter", "2026Q2", *dumps]
    releases = data / "releases"
    said = cli(*day)
    planted.places[(data / "private/escrow.key").read_text().strip()] = "the escrow key"
    assert within(planted, releases) == []

    submission = place / "handed" / "team" / "system"
    hand_in(submission, planted, releases)
    said += cli("submission", "add", submission, "--quarter", "2026Q2")
    monkeypatch.setenv("HELLOFRESH_NOW", "2026-10-22T00:00:00Z")
    said += cli(*day)
    for task in ("x-notes", "wikipedia-edits"):
        systems = {row["system"] for row in read_jsonl(releases / "2026Q2" / task / "predictions.jsonl")}
        assert systems == {"coin", "S"}
        assert (releases / "2026Q2" / task / "scores.jsonl").is_file()
    assert within(planted, releases) == []

    sample = next(iter(read_jsonl(releases / "2026Q2/x-notes/samples.jsonl")))["id"]
    said += cli("release", "takedown", sample, "--reason", "asked")
    assert within(planted, releases) == []
    named = (f"{where}: {value}" for value, where in planted.places.items() if value.upper() in said.upper())
    assert [name for name in named if not name.startswith("the workspace's folder")] == []


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


def test_the_search_finds_what_was_planted(tmp_path: Path) -> None:
    planted = Planted()
    values = planted.text("a"), planted.address("b"), planted.number("c")
    for number, value in enumerate(values):
        (tmp_path / f"{number}").write_text(f"x{value.lower()}y")
    (tmp_path / planted.text("d")).write_text("")
    planted.text("nowhere")
    assert [name[0] for name in planted.found(tmp_path)] == ["a", "b", "c", "d"]
