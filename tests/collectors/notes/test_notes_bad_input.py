"""Dumps that are damaged, cut, packed or changed: read right, or refused by name, in time."""

from __future__ import annotations

import gzip
import json
import struct
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collectors.notes import LabelSource, NotesSettings, NotesSource, collect
from collectors.notes.labels import DAY_MS
from collectors.notes.tables import HISTORY, NOTES
from hellofresh.core.errors import HelloFreshError, SourceError
from tests.collectors.notes.conftest import QUARTER, run
from tests.fakes import dropped, fails_with

Change = Callable[[bytes], bytes]


def refusal(folder: Path, **settings: Any) -> HelloFreshError:
    begin = time.process_time()
    with pytest.raises(HelloFreshError) as caught:
        run(folder, **settings)
    assert time.process_time() - begin < 10  # on a busy machine; what is not refused at once takes minutes
    assert caught.value.code != "error"
    assert "Traceback" not in str(caught.value)
    return caught.value


def cell(column: str, value: bytes, row: int = 3) -> Change:
    def change(content: bytes) -> bytes:
        lines = content.split(b"\n")
        cells = lines[row].split(b"\t")
        cells[NOTES.columns.index(column)] = value
        lines[row] = b"\t".join(cells)
        return b"\n".join(lines)

    return change


def swap(old: bytes, new: bytes) -> Change:
    return lambda content: content.replace(old, new, 1)


TWICE = "appears twice"
BAD_NOTES: dict[str, tuple[Change, str, str]] = {
    "utf-16-without-mark": (lambda content: content.decode().encode("utf-16-le"), "not-utf-8", "UTF-16"),
    "column-twice": (swap(b"believable", b"harmful"), "duplicate-column", f"harmful {TWICE}"),
    "header-of-tabs": (swap(b"\n", b"\t" * 300_000 + b"\n"), "duplicate-column", TWICE),
    "two-names": (swap(b"believable", b"participantId"), "duplicate-column", f"noteAuthorParticipantId {TWICE}"),
    "column-renamed": (swap(b"summary", b"text"), "missing-columns", "24 columns, summary missing"),
    "short-line": (swap(b"\t\n", b"\n"), "ragged-lines", "23 columns, expected 24"),
    "long-line": (lambda content: content[:-1] + b"\tmore\n", "ragged-lines", "line 13: 25 columns, expected 24"),
    "nul": (cell("summary", b"a\0b"), "ragged-lines", "line 4: a NUL byte"),
    "no-time": (cell("createdAtMillis", b""), "ragged-lines", "no integer in createdAtMillis"),
}


@pytest.mark.parametrize("name", BAD_NOTES)
def test_bad_notes_are_refused_with_place_and_reason(twelve: Any, name: str) -> None:
    change, code, words = BAD_NOTES[name]
    path = twelve.write() / "notes-00000.tsv"
    path.write_bytes(change(path.read_bytes()))
    error = refusal(twelve.folder)
    assert (error.code, type(error)) == (code, SourceError)
    assert words in str(error)


def test_a_quote_swallows_no_rows(twelve: Any) -> None:
    path = twelve.write() / "notes-00000.tsv"
    path.write_bytes(cell("summary", b'"unbalanced')(path.read_bytes()))
    assert len(run(twelve.folder).candidates) == 12


def test_a_line_like_a_comment_or_a_formula_is_a_row(twelve: Any) -> None:
    twelve.rows[NOTES.stem][0]["summary"] = "=HYPERLINK(1)"
    twelve.rows[NOTES.stem][1]["summary"] = "x" * 200_000
    assert len(run(twelve.write(), max_characters=10**6).candidates) == 12


def many(dump: Any, bad: int, good: int) -> Path:
    """Rows enough that a few bad ones are tolerated."""
    for number in range(1, good + 1):
        dump.note(number, post=7)
    dump.post(7)
    path = dump.write() / "notes-00000.tsv"
    path.write_bytes(path.read_bytes() + b"".join(b"%d\tshort %s\n" % (row, b"A" * 64) for row in range(bad)))
    return dump.folder


def test_one_bad_line_in_a_thousand_is_written_aside_and_reported(dump: Any) -> None:
    folder = many(dump, bad=2, good=1998)
    collection = run(folder)
    assert len(collection.candidates) == 1998
    assert collection.funnel.context["unreadable lines of the notes"] == 2
    assert "2 of 2000 lines cannot be read" in collection.warnings[-1]
    written = (folder.parent / "work" / "rejects-notes.tsv").read_text(encoding="utf-8").splitlines()
    assert written[1] == "notes-00000.tsv\t2000\t2 columns\t24\t0\t"
    assert len(written) == 3
    assert "A" * 64 not in "".join(written)


def test_more_than_one_in_a_thousand_stops(dump: Any) -> None:
    folder = many(dump, bad=2, good=1997)
    error = refusal(folder)
    assert "line 1999: 2 columns, expected 24. 2 of 1999 lines" in str(error)
    assert (folder.parent / "work" / "rejects-notes.tsv").is_file()


def test_rejects_of_an_earlier_run_go_away(dump: Any) -> None:
    folder = many(dump, bad=2, good=1998)
    run(folder)
    path = folder / "notes-00000.tsv"
    path.write_bytes(b"\n".join(path.read_bytes().split(b"\n")[:1999]) + b"\n")
    run(folder)
    assert not (folder.parent / "work" / "rejects-notes.tsv").exists()


def test_a_header_alone_is_an_empty_table_with_a_warning(dump: Any) -> None:
    collection = run(dump.write())
    assert collection.funnel.rows_in == 0
    assert "notes-00000.tsv: a header and no rows." in collection.warnings


class TestZips:
    def rezip(self, folder: Path, members: dict[str, bytes]) -> Path:
        (folder / "notes-00000.tsv").unlink(missing_ok=True)
        path = folder / "notes-00000.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return path

    def test_a_name_that_climbs_out_is_harmless(self, twelve: Any) -> None:
        folder = twelve.write()
        self.rezip(folder, {"../../evil.tsv": (folder / "notes-00000.tsv").read_bytes()})
        before = sorted(folder.parent.rglob("*"))
        assert len(run(folder).candidates) == 12
        assert sorted(folder.parent.rglob("*")) == before

    def test_a_bomb_is_refused_unopened_and_one_that_lies_about_its_size_too(self, twelve: Any) -> None:
        folder = twelve.write()
        path = self.rezip(folder, {"notes-00000.tsv": b"\t" * 70_000_000})
        assert path.stat().st_size < 2**20
        assert refusal(folder).code == "zip-bomb"
        path.write_bytes(path.read_bytes().replace(struct.pack("<L", 70_000_000), struct.pack("<L", 1000)))
        assert refusal(folder).code in {"bad-zip", "no-header", "duplicate-column"}


class TestFolders:
    def test_a_folder_that_is_not_there(self, twelve: Any, tmp_path: Path) -> None:
        folder = twelve.write()
        source = NotesSource(tmp_path / "nowhere", folder / "posts.jsonl")
        with pytest.raises(HelloFreshError) as caught:
            collect(QUARTER, source, NotesSettings(), workdir=tmp_path)
        assert (caught.value.code, caught.value.exit_code) == ("unreadable-dump", 2)

    @pytest.mark.parametrize("table", [NOTES, HISTORY])
    def test_a_missing_table_is_named(self, twelve: Any, table: Any) -> None:
        (twelve.write() / f"{table.stem}-00000.tsv").unlink()
        error = refusal(twelve.folder)
        assert error.code == "missing-table"
        assert f"{table.stem}-00000.zip" in str(error)

    def test_a_missing_shard_is_named(self, twelve: Any) -> None:
        (twelve.write(shards=3) / "notes-00001.tsv").unlink()
        assert "notes-00001 is missing, but notes-00002.tsv is there" in str(refusal(twelve.folder))

    def test_a_shard_in_two_forms_is_refused(self, twelve: Any) -> None:
        twelve.write()
        twelve.write(zipped=True)
        assert refusal(twelve.folder).code == "duplicate-shard"


class TestColumns:
    def without(self, folder: Path, stem: str, columns: set[str]) -> None:
        path = folder / f"{stem}-00000.tsv"
        rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        places = [place for place, name in enumerate(rows[0]) if name not in columns]
        lines = ["\t".join(row[place] for place in places) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def test_columns_that_are_not_needed_may_be_missing(self, twelve: Any) -> None:
        folder = twelve.write()
        self.without(folder, "notes", {"isMediaNote", "isCollaborativeNote", "believable"})
        collection = run(folder)
        assert len(collection.candidates) == 12
        assert collection.warnings == [
            "notes-00000.tsv: without the columns believable, isMediaNote, isCollaborativeNote."
        ]

    def test_the_lock_time_is_filled_on_demand(self, twelve: Any) -> None:
        folder = twelve.write()
        self.without(folder, "noteStatusHistory", {"timestampMillisOfStatusLock"})
        assert "--allow-missing-columns" in str(refusal(folder))
        candidates = run(folder, allow_missing_columns=True).candidates
        assert {item.label.facts["status_locked_at"] for item in candidates} == {None}

    def test_nothing_can_stand_in_for_a_status_or_an_id(self, twelve: Any) -> None:
        folder = twelve.write()
        self.without(folder, "noteStatusHistory", {"lockedStatus"})
        error = refusal(folder, allow_missing_columns=True)
        assert "label-source" not in str(error) and 'columns = { lockedStatus = "NEW NAME" }' in str(error)
        self.without(folder, "notes", {"tweetId"})
        assert "tweetId missing" in str(refusal(folder, allow_missing_columns=True))

    def test_the_columns_of_2021_read_with_current_labels(self, twelve: Any) -> None:
        folder = twelve.write()
        self.without(
            folder, "noteStatusHistory", {"lockedStatus", "timestampMillisOfStatusLock", *HISTORY.columns[11:]}
        )
        for stem, name in (
            ("notes", b"noteAuthorParticipantId"),
            ("noteStatusHistory", b"noteAuthorParticipantId"),
            ("ratings", b"raterParticipantId"),
        ):
            path = folder / f"{stem}-00000.tsv"
            path.write_bytes(path.read_bytes().replace(name, b"participantId", 1))
        collection = run(folder, label_source=LabelSource.CURRENT, min_age_days=0, allow_missing_columns=True)
        assert [item.label.facts["ratings"] for item in collection.candidates] == list(range(1, 13))


def test_an_unwritable_work_folder_is_a_wrong_use(dump: Any) -> None:
    folder = many(dump, bad=2, good=1998)
    (folder.parent / "work").write_text("a file, no folder", encoding="utf-8")
    error = refusal(folder)
    assert (error.code, error.exit_code) == ("unwritable", 2)


# --- Dumps that strangers packed, cut or changed: read right, or refused by name; times are compared with ids.


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
    with fails_with("unknown-form", f"{name} is an unsupported form of the table"):
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
    with fails_with("missing-shard", "has [0-9,]+ bytes, but [0-9,]+ in manifest.json"):
        run(folder)
