"""Dumps that strangers packed, cut or changed: read right, or refused by name; times are compared with ids."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from collectors.notes.labels import DAY_MS
from collectors.notes.tables import HISTORY, NOTES
from tests.collectors.notes.conftest import run
from tests.fakes import dropped, fails_with

FIRST = 1_652_000_000_000_000_000  # made at 2023-04-28T17:39:32Z
MADE_MS = (FIRST // 2**22) + 1_288_834_974_657


def ids_of(dump: Any) -> list[str]:
    return sorted(one.sample.id for one in run(dump.write()).candidates)


@pytest.mark.parametrize(
    ("table", "column", "value", "reason"),
    [
        (NOTES, "createdAtMillis", MADE_MS * 1000, "bad-time"), (NOTES, "createdAtMillis", 0, "bad-time"),
        (NOTES, "createdAtMillis", MADE_MS - 730 * DAY_MS, "bad-time"),
        (NOTES, "createdAtMillis", MADE_MS + 2 * DAY_MS, "bad-time"), (NOTES, "createdAtMillis", MADE_MS + 5000, None),
        (HISTORY, "timestampMillisOfStatusLock", 4_102_444_800_000, "bad-time"),
        (HISTORY, "timestampMillisOfStatusLock", MADE_MS + 60_000, "bad-time"),
        (HISTORY, "timestampMillisOfStatusLock", MADE_MS + 15 * DAY_MS, None),
        (HISTORY, "timestampMillisOfStatusLock", "", None),
    ],
)  # fmt: skip
def test_times_are_compared_with_what_the_id_says(dump: Any, table, column, value, reason) -> None:
    for number in range(4):
        dump.note(FIRST + number, at="2023-04-28T17:39:33", post=1_600_000_000_000_000_000 + number)
        dump.post(1_600_000_000_000_000_000 + number)
    dump.rows[table.stem][0][column] = value
    found = run(dump.write())
    assert len(found.candidates) == 4 - (reason is not None)
    assert dropped(found).get("bad-time", 0) == (reason is not None)
    assert any("than their ids say" in line for line in found.warnings) == (reason is not None and table is NOTES)


def pack(folder: Path, name: str, how: str) -> None:
    path = folder / f"{name}.tsv"
    if how == "gz":
        (folder / f"{name}.tsv.gz").write_bytes(gzip.compress(path.read_bytes()))
    else:
        with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
            archive.write(path, f"{name}.tsv")
            archive.writestr(f"__MACOSX/._{name}.tsv", b"\0\x05\x16\x07")
            archive.writestr(".DS_Store", b"x")
    path.unlink()


@pytest.mark.parametrize("how", ["gz", "mac"])
def test_tables_packed_by_gzip_or_zipped_on_a_mac_are_read(twelve: Any, how: str) -> None:
    before = ids_of(twelve)
    pack(twelve.folder, "notes-00000", how)
    assert sorted(one.sample.id for one in run(twelve.folder).candidates) == before


@pytest.mark.parametrize("name", ["notes-00000.parquet", "notes-00001.tsv.zst", "notes-00000.tsv.xz", "notes.tsv"])
def test_a_form_that_is_not_read_is_named(twelve: Any, name: str) -> None:
    folder = twelve.write()
    (folder / name).write_bytes(b"x")
    with fails_with("unknown-form", f"{name} is a form of the table that is not read"):
        run(folder)


def test_a_gz_file_that_is_cut_is_refused(twelve: Any) -> None:
    folder = twelve.write()
    pack(folder, "notes-00000", "gz")
    path = folder / "notes-00000.tsv.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with fails_with("bad-zip", "gzip"):
        run(folder)


def test_tables_that_were_all_cut_short_are_noticed_by_the_archives_own_list(twelve: Any) -> None:
    folder = twelve.write(published=True, zipped=True)
    names = [f"{table.subfolder}/{table.stem}-00000.zip" for table in (NOTES, HISTORY)]
    sizes = [{"name": name, "size": (folder / name).stat().st_size} for name in names]
    (folder / "manifest.json").write_text(json.dumps({"files": sizes}))
    assert run(folder).candidates
    for table in (NOTES, HISTORY):
        table_folder = folder / table.subfolder
        path = table_folder / f"{table.stem}-00000.zip"
        with zipfile.ZipFile(path) as archive:
            lines = archive.read(f"{table.stem}-00000.tsv").split(b"\n")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{table.stem}-00000.tsv", b"\n".join([*lines[:6], b""]))
    with fails_with("missing-shard", "has [0-9,]+ bytes, and [0-9,]+ in manifest.json"):
        run(folder)
