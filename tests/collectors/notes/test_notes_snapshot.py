"""A hash in a snapshot's manifest is believed for the very file that was hashed, and for no other."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from collectors.notes import NotesSettings, NotesSource, collect
from collectors.notes.dump_files import MANIFEST, source_files
from collectors.notes.snapshot import known_hashes, read_manifest, write_manifest
from hellofresh.core.files import sha256_file
from hellofresh.core.quarters import Quarter
from tests.fakes import fails_with


@pytest.fixture
def snapshot(twelve: Any) -> Path:
    folder: Path = twelve.write(zipped=True, published=True)
    write_manifest(folder, date(2023, 8, 1), "http://localhost", lambda _: None)
    return folder


def shards(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.zip"))


def test_every_file_of_a_snapshot_is_known_with_its_hash(snapshot: Path) -> None:
    known = known_hashes(snapshot)
    assert sorted(known) == shards(snapshot)
    assert all(item.sha256 == sha256_file(path) and item.name == path.name for path, item in known.items())


@pytest.mark.parametrize("stem", ["notes", "noteStatusHistory"])
def test_the_last_shard_that_the_manifest_names_must_be_there(snapshot: Path, stem: str) -> None:
    last = sorted(snapshot.glob(f"*/{stem}-*.zip"))[-1]
    last.unlink()
    with fails_with("missing-shard", f"{last.name} is missing, which manifest.json names"):
        NotesSource(snapshot).files()


def test_a_collection_names_the_same_sources_with_a_manifest_and_without(snapshot: Path, tmp_path: Path) -> None:
    def sources() -> Any:
        return collect(Quarter(2023, 2), NotesSource(snapshot), NotesSettings(), workdir=tmp_path).sources

    before = sources()
    (snapshot / MANIFEST).unlink()
    assert sources() == before
    assert len(before) == 4


def test_what_is_known_is_not_hashed_again(snapshot: Path) -> None:
    known = {path: replace(item, sha256="known") for path, item in known_hashes(snapshot).items()}
    posts = snapshot / "posts.jsonl"
    found = {item.name: item.sha256 for item in source_files([*known, posts], known)}
    assert found == {path.name: "known" for path in known} | {"posts.jsonl": sha256_file(posts)}


def test_a_changed_file_of_the_same_size_and_time_is_not_known(snapshot: Path) -> None:
    path = shards(snapshot)[0]
    status = path.stat()
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    assert sorted(known_hashes(snapshot)) == shards(snapshot)[1:]


def test_a_copy_with_its_times_is_not_known(snapshot: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(snapshot, copy, copy_function=shutil.copy2)
    assert read_manifest(copy) == read_manifest(snapshot)
    assert known_hashes(copy) == {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        b'{"files": [{"name": 1, "size": 1, "sha256": "x"}], "ratings": false, "base_url": ""}',
        b'{"files": [], "ratings": false}',
        b'{"files": [{"name": "a", "size": 1, "sha256": ""}], "ratings": false, "base_url": "", "changed_ns": 1}',
    ],
)
def test_a_manifest_of_another_kind_makes_nothing_known(snapshot: Path, content: bytes) -> None:
    (snapshot / MANIFEST).write_bytes(content)
    assert read_manifest(snapshot) is None
    assert known_hashes(snapshot) == {}


def test_a_manifest_without_times_makes_nothing_known(snapshot: Path) -> None:
    path = snapshot / MANIFEST
    stored = json.loads(path.read_text(encoding="utf-8"))
    del stored["changed_ns"]
    path.write_text(json.dumps(stored), encoding="utf-8")
    assert read_manifest(snapshot) is not None
    assert known_hashes(snapshot) == {}
