"""Find texts in all kinds of files of a workspace, and erase the rows that hold them.

Takedowns use it for files beside the release: candidates, runs with journals and stored pages, exports. A text is found
in JSON, in JSON within JSON, in HTML, with other line breaks, and in compressed cells of a database.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import html
import io
import json
import lzma
import re
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import polars as pl

from hellofresh.core.errors import WorkspaceError
from hellofresh.core.files import atomic_path, canonical_json, write_bytes
from hellofresh.core.parquet import write_parquet
from hellofresh.core.texts import clean

LEAST = 16
"""Shortest text, in characters, that is searched for; shorter ones also occur in unrelated texts."""
_CHUNK = 1 << 23
# Pattern of what may separate two words in any way of wrapping or escaping.
_BETWEEN = (
    rb"(?:[\s\x1c-\x1f>]|&nbsp;|\\+(?:[nrtfv]|u[0-9a-fA-F]{4})|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]"
    rb"|\xe2\x81\x9f|\xe3\x80\x80)+"
)
_DATABASES = {".sqlite", ".db"}
_PACKERS: Mapping[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_TEXT, _TEXT_ENDS = re.compile(rb"(<text\b[^>]*(?<!/)>)(.*)", re.DOTALL), b"</text>"
_KEYS = {"id", "sample"}  # columns that name a sample
_NAMING = {*_KEYS, "response"}  # columns that name a sample or a response
# Columns with a person's words or their source.
_CONTENT = {"text", "parts", "rationale", "comment", "sources", "address", "media"}


@dataclass(frozen=True)
class Erasure:
    """The texts and samples to erase.

    Attributes:
        texts: texts that no file may hold; those shorter than `LEAST` are ignored.
        ids: samples whose rows are erased too, in files that are erased row by row.
    """

    texts: tuple[str, ...]
    ids: frozenset[str] = frozenset()

    @cached_property
    def _patterns(self) -> list[tuple[bytes, re.Pattern[bytes]]]:
        """For each text, a word that is the same in every form, and the pattern of the whole text."""
        found = []
        for text in dict.fromkeys(item.strip() for item in self.texts):
            if len(text) >= LEAST:
                word = max(re.findall(r"[A-Za-z0-9]+", text), key=len, default="")
                found.append((word.encode(), re.compile(b"|".join(sorted(_forms(text))))))
        return found

    @property
    def _overlap(self) -> int:
        """Upper bound of the length, in bytes, of any of the texts in any form."""
        return 14 * max((len(text) for text in self.texts), default=0) + 64

    def is_in(self, content: bytes) -> bool:
        """Whether one of the texts is in these bytes."""
        return any(word in content and pattern.search(content) for word, pattern in self._patterns)

    def is_held_by(self, path: Path) -> bool | None:
        """Whether a file holds one of the texts; None if its kind cannot be searched.

        Raises:
            WorkspaceError: if it cannot be read.
        """
        try:
            return self._look_into(path)
        except (OSError, EOFError, lzma.LZMAError, zipfile.BadZipFile, pl.exceptions.PolarsError, sqlite3.Error):
            return None

    def _look_into(self, path: Path) -> bool | None:
        if path.suffix in {".7z", ".zst"}:
            return None
        if path.suffix == ".parquet":
            return any(self._hits(pl.read_parquet(path), by_id=False))
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                return any(self._is_in_stream(archive.open(name)) for name in archive.namelist())
        if path.suffix in _DATABASES and next(self._rows_of_database(path), None) is not None:
            return True
        return self._is_in_stream(_PACKERS.get(path.suffix, open)(path, "rb"))

    def _is_in_stream(self, stream: IO[bytes]) -> bool:
        """Whether a text is in a stream that is read in pieces, also across two pieces."""
        before = b""
        with stream:
            while piece := stream.read(_CHUNK):
                if self.is_in(before + piece):
                    return True
                before = (before + piece)[-self._overlap :]
        return False

    def has_rows_in(self, path: Path) -> bool:
        """Whether a file holds one of the texts, or is a table with a row of one of the samples."""
        if path.suffix != ".parquet":
            return bool(self.is_held_by(path))
        return any(self._hits(pl.read_parquet(path), by_id=True))

    def about_responses(self, path: Path) -> Erasure:
        """This erasure extended by the ids of responses to the samples, which are read from a table."""
        rows = pl.read_parquet(path, columns=["response", "sample"])
        found = rows.filter(pl.col("sample").is_in(list(self.ids)))["response"]
        return replace(self, ids=self.ids.union(found))

    def blank(self, path: Path) -> bool:
        """Blank the texts in rows of these samples, keeping the rows; return whether any row changed.

        Ratings and predictions stay, like labels: results depend on these numbers, which hold no content.
        """
        if path.suffix == ".parquet":
            table = pl.read_parquet(path)
            mine = (
                pl.any_horizontal(pl.col(name).is_in(list(self.ids)) for name in table.columns if name in _NAMING)
                if _NAMING & set(table.columns)
                else pl.lit(value=False)
            )
            emptied = [
                pl.when(mine)
                .then(pl.lit([], dtype) if isinstance(dtype, pl.List) else pl.lit(""))
                .otherwise(pl.col(name))
                .alias(name)
                for name, dtype in table.schema.items()
                if name in _CONTENT
            ]
            after = table.with_columns(emptied)
            if not after.equals(table):
                write_parquet(path, after, mode=path.stat().st_mode & 0o777)
            return not after.equals(table)
        lines = path.read_bytes().splitlines(keepends=True)
        found = False
        for number, line in enumerate(lines):
            row = json.loads(line) if any(key.encode() in line for key in self.ids) else None
            if isinstance(row, dict) and any(row.get(name) in self.ids for name in _NAMING) and _blanked(row) != row:
                lines[number], found = f"{canonical_json(_blanked(row))}\n".encode(), True
        if found:
            write_bytes(path, b"".join(lines), mode=path.stat().st_mode & 0o777)
        return found

    def has_words_in(self, path: Path) -> bool:
        """Whether a JSONL file has texts in a row of one of the samples."""
        rows = (
            json.loads(line) for line in path.read_bytes().split(b"\n") if any(key.encode() in line for key in self.ids)
        )
        return any(isinstance(row, dict) and row.get("id") in self.ids and _blanked(row) != row for row in rows)

    def is_named_in(self, path: Path) -> bool:
        """Whether a file contains the id of one of the samples."""
        with path.open("rb") as file:
            return any(key.encode() in line for line in file for key in self.ids)

    def erase(self, path: Path) -> bool:
        """Erase rows of a file that hold a text or are of these samples; return whether the kind of file allows it.

        Raises:
            WorkspaceError: if the file cannot be read or written.
        """
        workers: dict[str, Callable[[Path], None]] = {
            ".jsonl": self._erase_lines,
            ".tsv": self._erase_lines,
            ".csv": self._erase_cells,
            ".parquet": self._erase_table,
            ".zip": self._erase_members,
            **dict.fromkeys({".xml", *_PACKERS} if ".xml" in path.suffixes else (), self._erase_revisions),
            **dict.fromkeys(_DATABASES, self._erase_database),
        }
        worker = workers.get(path.suffix)
        if worker is None:
            return False
        try:
            worker(path)
        except (OSError, pl.exceptions.PolarsError, sqlite3.Error, csv.Error, zipfile.BadZipFile) as error:
            fix = "Check whether a run is still in progress, then run the command again."
            raise WorkspaceError(f"cannot be cleared ({error})", where=str(path), fix=fix, code="unwritable") from error
        return True

    def _erase_lines(self, path: Path) -> None:
        kept = [line for line in path.read_bytes().splitlines(keepends=True) if not self._is_wanted(line, path)]
        write_bytes(path, b"".join(kept), mode=path.stat().st_mode & 0o777)

    def _erase_members(self, path: Path) -> None:
        """Erase lines of an archive's tables, such as a shard of a dump; other members stay as they are."""
        with (
            atomic_path(path, mode=path.stat().st_mode & 0o777) as new,
            zipfile.ZipFile(path) as old,
            zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as target,
        ):
            for member in old.namelist():
                is_table = Path(member).suffix in (".tsv", ".jsonl")
                with old.open(member) as source, target.open(member, "w", force_zip64=True) as copy:
                    copy.writelines(line for line in source if not (is_table and self._is_wanted(line, Path(member))))

    def _erase_revisions(self, path: Path) -> None:
        """Blank the texts of revisions in an export of a wiki, packed or not; pages and revisions stay."""
        with (
            atomic_path(path, mode=path.stat().st_mode & 0o777) as new,
            _PACKERS.get(path.suffix, open)(path, "rb") as source,
            _PACKERS.get(path.suffix, open)(new, "wb") as target,
        ):
            rest = b""
            while piece := source.read(_CHUNK):
                *revisions, rest = (rest + piece).split(_TEXT_ENDS)
                target.writelines(_TEXT.sub(lambda one: one[1] if self.is_in(one[2]) else one[0], revision) + _TEXT_ENDS
                                  for revision in revisions)  # fmt: skip
            target.write(rest)

    def _is_wanted(self, line: bytes, path: Path) -> bool:
        if self.is_in(line):
            return True
        if path.suffix != ".jsonl" or not any(key.encode() in line for key in self.ids):
            return False
        row = json.loads(line)
        return isinstance(row, dict) and any(row.get(name) in self.ids for name in _KEYS)

    def _erase_cells(self, path: Path) -> None:
        """Erase rows of a CSV file; a row may span several lines."""
        text = path.read_text(encoding="utf-8")
        rows = csv.reader(io.StringIO(text, newline=""))
        kept = [row for row in rows if not any(cell in self.ids or self.is_in(cell.encode()) for cell in row)]
        target = io.StringIO(newline="")
        csv.writer(target, lineterminator="\n").writerows(kept)
        write_bytes(path, target.getvalue().encode(), mode=path.stat().st_mode & 0o777)

    def _erase_table(self, path: Path) -> None:
        table = pl.read_parquet(path)
        write_parquet(path, table.filter(~self._hits(table, by_id=True)), mode=path.stat().st_mode & 0o777)

    def _hits(self, table: pl.DataFrame, *, by_id: bool) -> pl.Series:
        """Mask of the rows that hold a text or, with `by_id`, are of one of the samples."""
        found = pl.Series("hit", [False] * table.height, dtype=pl.Boolean)
        for name, dtype in table.schema.items():
            cells = _as_text(table, name, dtype)
            if cells is not None:
                found |= pl.Series([cell is not None and self.is_in(cell.encode()) for cell in cells], dtype=pl.Boolean)
            if by_id and name in _KEYS and dtype == pl.String:
                found |= table[name].is_in(list(self.ids)).fill_null(False)
        return found

    def _rows_of_database(self, path: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
        """Table and primary key (or row number) of each row that holds a text or is of one of the samples."""
        # Without a log no process writes to the database, and reading it as immutable makes SQLite create no files.
        how = "mode=ro" if path.with_name(f"{path.name}-wal").is_file() else "immutable=1"
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True)) as database:
            for table, key in _tables(database):
                cursor = database.execute(f'SELECT {key}, * FROM "{table}"')  # noqa: S608 - names of its own schema
                names = [column[0] for column in cursor.description]
                width = key.count(",") + 1
                for row in cursor:
                    named = (cell for name, cell in zip(names[width:], row[width:], strict=True) if name in _KEYS)
                    if any(cell in self.ids for cell in named) or any(map(self._is_in_cell, row[width:])):
                        yield table, row[:width]

    def _is_in_cell(self, cell: object) -> bool:
        if isinstance(cell, str):
            return self.is_in(cell.encode("utf-8", "surrogatepass"))
        if not isinstance(cell, bytes):
            return False
        try:
            return self.is_in(zlib.decompress(cell))
        except zlib.error:
            return self.is_in(cell)

    def _erase_database(self, path: Path) -> None:
        """Delete rows so that no trace is left in free pages or in the log."""
        rows = list(self._rows_of_database(path))
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("PRAGMA secure_delete = ON")
            keys = dict(_tables(database))
            for table, values in rows:
                same = " AND ".join(f"{name} = ?" for name in keys[table].split(", "))
                database.execute(f'DELETE FROM "{table}" WHERE {same}', values)  # noqa: S608 - names of its own schema
            database.execute("VACUUM")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _blanked(value: object) -> object:
    """The value with all texts and lists in content fields emptied."""
    if not isinstance(value, dict):
        return value
    empty = {name: type(item)() for name, item in value.items() if name in _CONTENT and isinstance(item, str | list)}
    return {name: _blanked(item) for name, item in value.items()} | empty


def find_files(folders: Iterable[Path]) -> list[Path]:
    """All plain files below folders, sorted; links are not followed."""
    found = {path for folder in folders for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}
    return sorted(found)


def _forms(text: str) -> set[bytes]:
    """Patterns of a text in each form in which it may be written."""
    writings: list[Callable[[str], str]] = [
        lambda word: word,
        lambda word: word.replace('"', '""'),
        _json,
        lambda word: _json(word, ascii_only=True),
        lambda word: _json(_json(word)),
        lambda word: _json(_json(word, ascii_only=True)),
        lambda word: _json(_json(word), ascii_only=True),
        html.escape,
        lambda word: html.escape(word, quote=False),
    ]
    # Prompts hold a text as changed by `clean`, with spaces in apparent control tokens.
    return {
        _BETWEEN.join(re.escape(write(word).encode("utf-8", "surrogatepass")) for word in words)
        for words in (text.split(), clean(text).split())
        for write in writings
    }


def _json(text: str, *, ascii_only: bool = False) -> str:
    return json.dumps(text, ensure_ascii=ascii_only)[1:-1]


def _as_text(table: pl.DataFrame, name: str, dtype: pl.DataType) -> pl.Series | None:
    """A column as texts, with nested values as JSON; None if it cannot hold texts."""
    if dtype == pl.String:
        return table[name]
    if isinstance(dtype, pl.Struct):
        return table.select(pl.col(name).struct.json_encode())[name]
    if isinstance(dtype, pl.List):
        return pl.Series(name, [json.dumps(cell, default=str) for cell in table[name].to_list()])
    return None


def _tables(database: sqlite3.Connection) -> list[tuple[str, str]]:
    """Each table with the columns that identify its rows."""
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    found = []
    for name in names:
        columns = database.execute(f'PRAGMA table_info("{name}")').fetchall()
        key = ", ".join(f'"{column[1]}"' for column in sorted(columns, key=lambda item: item[5]) if column[5])
        found.append((name, key or "rowid"))
    return found
