"""A text is found however a file writes it, and erased row by row with nothing else gone."""

from __future__ import annotations

import bz2
import gzip
import html
import json
import lzma
import sqlite3
import zipfile
import zlib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.releases.erasure import LEAST, Erasure, find_files

TEXT = 'She said: "naïve & <odd>",\n\ton two lines.'
OTHER = "Words that have nothing to do with it, also on a line."
long_texts = st.text(min_size=LEAST, max_size=60).map(str.strip).filter(lambda text: len(text) >= LEAST)


@given(long_texts, st.text(max_size=20), st.text(max_size=20))
def test_a_text_is_found_in_every_writing(text: str, before: str, after: str) -> None:
    erasure = Erasure((text,))
    plain = f"{before} {text} {after}"
    once, ascii_once = json.dumps(plain, ensure_ascii=False), json.dumps(plain)
    writings = [plain, once, ascii_once, json.dumps(once, ensure_ascii=False), json.dumps(ascii_once), json.dumps(once),
                html.escape(plain), html.escape(plain, quote=False)]  # fmt: skip
    for written in writings:
        assert erasure.is_in(written.encode("utf-8", "surrogatepass")), written


@given(long_texts)
def test_a_text_is_found_wrapped_and_quoted_otherwise(text: str) -> None:
    wrapped = "\n> ".join(text.split())
    assert Erasure((text,)).is_in(wrapped.encode("utf-8", "surrogatepass"))


@given(long_texts, long_texts)
def test_another_text_is_not_found(text: str, other: str) -> None:
    if " ".join(text.split()) not in " ".join(other.split()) and not set(text) & set(">&\\;"):
        assert not Erasure((text,)).is_in(other.encode("utf-8", "surrogatepass"))


def test_short_texts_are_not_looked_for() -> None:
    assert not Erasure(("1987", "x" * (LEAST - 1))).is_in(b"in 1987 " + b"x" * LEAST)
    assert Erasure(("x" * LEAST,)).is_in(b"x" * LEAST)


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    """The rows in the kind of file that the ending names."""
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    if path.suffix == ".parquet":
        pl.DataFrame([{**row, "nested": {"deep": [row["text"]]}} for row in rows]).write_parquet(path)
    elif path.suffix == ".sqlite":
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE a (sample TEXT, text TEXT, body BLOB)")
        values = [(row["id"], row["text"], zlib.compress(row["text"].encode())) for row in rows]
        database.executemany("INSERT INTO a VALUES (?, ?, ?)", values)
        database.execute("CREATE TABLE b (id TEXT PRIMARY KEY, body BLOB) WITHOUT ROWID")
        database.executemany("INSERT INTO b VALUES (?, ?)", [(f"b{n}", value[2]) for n, value in enumerate(values)])
        database.close()
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.jsonl", lines)
    elif path.suffix == ".csv":
        pl.DataFrame(rows).write_csv(path)
    elif path.suffix == ".tsv":
        path.write_text(
            "".join(f"{row['id']}\t{row['text'].replace(chr(10), ' ').replace(chr(9), ' ')}\n" for row in rows)
        )
    else:
        pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
        path.write_bytes(pack(lines))
    return path


@pytest.mark.parametrize(
    "ending", ["jsonl", "parquet", "sqlite", "zip", "csv", "tsv", "jsonl.gz", "xml.bz2", "x.xz", "md"]
)
def test_it_is_found_in_every_kind_of_file_and_only_where_it_is(tmp_path: Path, ending: str) -> None:
    with_it = write(tmp_path / f"one.{ending}", [{"id": "a", "text": OTHER}, {"id": "b", "text": f"So: {TEXT} Yes."}])
    without = write(tmp_path / f"two.{ending}", [{"id": "a", "text": OTHER}])
    erasure = Erasure((TEXT,))
    assert (erasure.is_held_by(with_it), erasure.is_held_by(without)) == (True, False)
    assert find_files([tmp_path]) == [with_it, without]


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "sqlite", "csv", "tsv", "zip"])
def test_erasing_leaves_no_byte_of_it_and_all_other_rows(tmp_path: Path, ending: str) -> None:
    rows = [{"id": f"s{n}", "text": f"{OTHER} {n}"} for n in range(500)]
    rows[7]["text"], rows[400]["text"] = f"So: {TEXT}", f"{TEXT} {OTHER * 400}"
    path = write(tmp_path / f"one.{ending}", rows)
    erasure = Erasure((TEXT,), frozenset({"s9"}))
    assert erasure.erase(path)
    gone = {"s7", "s400"} | ({"s9"} if ending != "tsv" else set())
    assert _ids(path) == [row["id"] for row in rows if row["id"] not in gone]
    assert b"two lines" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert erasure.is_held_by(path) is False
    before = path.read_bytes()
    assert erasure.erase(path)
    assert path.read_bytes() == before or ending in ("sqlite", "zip")


def _ids(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        return pl.read_parquet(path)["id"].to_list()
    if path.suffix == ".csv":
        return pl.read_csv(path)["id"].to_list()
    if path.suffix == ".sqlite":
        database = sqlite3.connect(path)
        found = [key for (key,) in database.execute("SELECT sample FROM a ORDER BY rowid")]
        left = [key for (key,) in database.execute("SELECT id FROM b")]
        database.close()
        assert not {"b7", "b400"} & set(left) and len(left) == 498
        return found
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return [json.loads(line)["id"] for line in archive.read("a.jsonl").splitlines()]
    lines = path.read_text().splitlines()
    return [json.loads(line)["id"] if line.startswith("{") else line.split("\t")[0] for line in lines]


def test_rows_of_a_sample_are_known_by_its_id_and_rows_without_one_stay(tmp_path: Path) -> None:
    path, lines, erasure = tmp_path / "one.parquet", tmp_path / "one.jsonl", Erasure((TEXT,), frozenset({"s1"}))
    pl.DataFrame({"sample": [None, "s1", "s2"], "n": [1, 2, 3]}).write_parquet(path)
    write(lines, [{"id": "s1", "text": OTHER}])
    assert (erasure.has_rows_in(path), erasure.has_rows_in(lines)) == (True, False)
    assert erasure.erase(path) and pl.read_parquet(path)["n"].to_list() == [1, 3] and not erasure.has_rows_in(path)
    assert erasure.has_rows_in(write(lines, [{"id": "s2", "text": TEXT}]))


def test_what_cannot_be_looked_into_is_neither_found_nor_free_of_it(tmp_path: Path) -> None:
    for name in ("a.7z", "b.zst", "c.parquet", "d.zip", "e.jsonl.gz"):
        (tmp_path / name).write_bytes(b"PK nonsense")
        assert Erasure((TEXT,)).is_held_by(tmp_path / name) is None
    assert not Erasure((TEXT,)).erase(tmp_path / "a.7z")


def test_a_text_across_two_pieces_of_a_large_file_is_found(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("hellofresh.releases.erasure._CHUNK", 64)
    for shift in range(0, 128, 7):
        path = tmp_path / "large.txt"
        path.write_bytes(b"." * shift + json.dumps(TEXT).encode() + b"." * 300)
        assert Erasure((TEXT,)).is_held_by(path)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
def test_emptying_rows_says_whether_anything_changed(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, [{"id": "s-1", "text": TEXT}, {"id": "s-2", "text": OTHER}])
    assert not Erasure((TEXT,), frozenset({"s-3"})).blank(path)
    erasure = Erasure((TEXT,), frozenset({"s-1"}))
    assert erasure.blank(path) and Erasure((OTHER,)).is_held_by(path)
    assert not erasure.blank(path)


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv", "tsv"])
def test_a_file_keeps_its_mode(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"one.{ending}", [{"id": "s-1", "text": TEXT}, {"id": "s-2", "text": OTHER}])
    path.chmod(0o640)
    erasure = Erasure((TEXT,), frozenset({"s-2"}))
    if ending in ("jsonl", "parquet"):
        assert erasure.blank(path) and path.stat().st_mode & 0o777 == 0o640
    assert erasure.erase(path) and path.stat().st_mode & 0o777 == 0o640


def test_rows_are_deleted_by_a_key_of_several_columns_in_its_own_order(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("CREATE TABLE c (text TEXT, b INT, a INT, id TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID")
    rows = [(OTHER, 1, 2, "s-1"), (TEXT, 2, 1, "s-2"), (OTHER, 2, 2, "s-3"), (OTHER, 1, 1, "s-4")]
    database.executemany("INSERT INTO c VALUES (?, ?, ?, ?)", rows)
    assert Erasure((TEXT,), frozenset({"s-1"})).erase(path)
    assert [row[3] for row in database.execute("SELECT * FROM c ORDER BY id")] == ["s-3", "s-4"]
    database.close()


def test_what_a_file_has_of_a_sample_is_told_apart(tmp_path: Path) -> None:
    path = write(tmp_path / "one.jsonl", [{"id": "s-1", "text": ""}, {"id": "s-2", "text": OTHER}, {"note": "s-3"}])
    found = [(Erasure((), frozenset({key}))) for key in ("s-1", "s-2", "s-3", "s-4")]
    assert [erasure.is_named_in(path) for erasure in found] == [True, True, True, False]
    assert [erasure.has_words_in(path) for erasure in found] == [False, True, False, False]
    table = tmp_path / "responses.parquet"
    pl.DataFrame({"response": ["r1", "r2", "r3"], "sample": ["s-1", "s-2", "s-1"]}).write_parquet(table)
    assert found[0].about_responses(table).ids == {"s-1", "r1", "r3"} and found[3].about_responses(table).ids == {"s-4"}


def test_only_content_of_the_named_rows_is_emptied(tmp_path: Path) -> None:
    rows = [
        {"id": "s-1", "parts": [{"text": TEXT, "kind": "a"}], "text": TEXT, "label": 1, "note": {"text": TEXT, "n": 2}},
        {"response": "s-1", "comment": TEXT, "other": OTHER},
        {"other": "s-1", "text": OTHER},
    ]
    path = tmp_path / "one.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert Erasure((), frozenset({"s-1"})).blank(path)
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"id": "s-1", "parts": [], "text": "", "label": 1, "note": {"text": "", "n": 2}},
        {"response": "s-1", "comment": "", "other": OTHER},
        rows[2],
    ]
    table = tmp_path / "one.parquet"
    frame = pl.DataFrame({"sample": ["s-1", "s-2"], "text": ["a", "b"], "sources": [["c"], ["d"]], "n": [1, 2]})
    frame.write_parquet(table)
    assert Erasure((), frozenset({"s-1"})).blank(table)
    assert pl.read_parquet(table).rows() == [("s-1", "", [], 1), ("s-2", "b", ["d"], 2)]
    frame.drop("sample").write_parquet(table)
    assert not Erasure((), frozenset({"s-1"})).blank(table)


@pytest.mark.parametrize("ending", [".xml", ".xml.bz2", ".xml.gz", ".xml.xz"])
def test_an_export_of_a_wiki_loses_the_texts_that_hold_it_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr("hellofresh.releases.erasure._CHUNK", 64)
    revision = (
        "<revision><id>{}</id><comment>{}</comment><text bytes='9' />\n<text xml:space='preserve'>{}</text></revision>"
    )
    held = f"Before.\n{html.escape(TEXT)} After."
    texts = [OTHER, held, "", OTHER]
    rows = [revision.format(number, "&lt;text&gt;", text) for number, text in enumerate(texts)]
    path = tmp_path / f"dump{ending}"
    opened = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opened(path, "wb") as file:
        file.write(f"<page>{''.join(rows)}</page>\n".encode())
    erasure = Erasure((TEXT,))
    assert erasure.is_held_by(path) and erasure.erase(path) and not erasure.is_held_by(path)
    with opened(path, "rb") as file:
        assert file.read().decode() == f"<page>{''.join(rows).replace(held, '')}</page>\n"
