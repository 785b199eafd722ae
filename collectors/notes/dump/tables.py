"""The tables of a dump as typed frames, read by column name.

Format: https://communitynotes.x.com/guide/en/under-the-hood/download-data. Tab-separated, never quoted, HTML entities
in texts; columns come and go over the years. Ids are 64-bit integers from the first byte on, never floats.
"""

from __future__ import annotations

import os
import tomllib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import BinaryIO, NamedTuple

import polars as pl

from collectors.notes.dump.files import Shard, find_shards, open_shard
from collectors.notes.dump.lines import (
    BLOCK_BYTES,
    BLOCKS_KEPT,
    NOTHING,
    SHORTEST_LINE,
    LineLayout,
    Rejects,
    Sieve,
    SiftedLines,
    check_lines,
    line_blocks,
    new_ring,
    split_good,
    without_returns,
)
from hellofresh.core.errors import SourceError, WorkspaceError

_FAULTY = "is faulty"
_THREADS = max(2, min(4, os.cpu_count() or 2))  # of which there must be fewer than BLOCKS_KEPT
_FIRST_ROW = 2
_WAITING_BYTES = 2**22
_LONGEST_HEADER = 2**16
_PRIVATE = frozenset({"noteAuthorParticipantId", "raterParticipantId", "participantId"})


@dataclass(frozen=True, slots=True)
class DumpTable:
    """A table of the dump.

    Attributes:
        title: for messages.
        stem: how its files' names begin.
        subfolder: where the published layout keeps them.
        columns: every column known today, in order.
        aliases: today's name of a column by its former name.
        new: columns that not every dump has yet.
    """

    title: str
    stem: str
    subfolder: str
    columns: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...] = ()
    new: frozenset[str] = frozenset()


_COLUMNS = tomllib.loads(Path(__file__).with_name("columns.toml").read_text("utf-8"))


def _table(title: str, stem: str, columns: str, subfolder: str = "", **aliases: str) -> DumpTable:
    listed = _COLUMNS[columns].split()
    new = frozenset(name.removesuffix("?") for name in listed if name.endswith("?"))
    names = tuple(name.removesuffix("?") for name in listed)
    return DumpTable(title, stem, subfolder or stem, names, tuple(aliases.items()), new)


NOTES = _table("notes", "notes", "notes", participantId="noteAuthorParticipantId")
HISTORY = _table(
    "note status history",
    "noteStatusHistory",
    "history",
    participantId="noteAuthorParticipantId",
    timestampMillisAbovePcrhThreshold="abovePcrhThresholdTime",
    latestNonNMRStatus="mostRecentNonNMRStatus",
    currentDecidedByKey="currentDecidedBy",
)
RATINGS = _table("ratings", "ratings", "ratings", subfolder="noteRatings", participantId="raterParticipantId")
ENROLLMENT = _table("user enrollment", "userEnrollment", "enrollment")
REQUESTS = _table("note requests", "batSignals", "requests")


@dataclass(frozen=True, slots=True)
class WantedColumns:
    """The columns that a reading needs.

    Attributes:
        integers: must hold a 64-bit integer in every row.
        optional_integers: a 64-bit integer, or nothing (an empty cell or `NA`).
        texts: any text; an empty cell is an empty text.
        fillable: texts that may be filled with emptiness where the column is missing and the user allows it.
        extra: texts that are filled with emptiness where the column is missing.
    """

    integers: tuple[str, ...] = ()
    optional_integers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    fillable: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All columns."""
        return self.integers + self.optional_integers + self.texts + self.fillable + self.extra

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        """Types by column."""
        texts = dict.fromkeys(self.texts + self.fillable + self.extra, pl.String)
        return {**dict.fromkeys(self.integers + self.optional_integers, pl.Int64), **texts}


def _open_file(path: Path) -> BinaryIO:
    return path.open("rb")


@dataclass(slots=True)
class TableReader:
    """Reads the tables of one dump and remembers what a person should know of it.

    Attributes:
        dump: the folder.
        workdir: where rejected lines are written.
        workdir_name: what warnings call that folder; None for its path, empty if it is not kept.
        allow_missing_columns: fill a missing column where emptiness is a sensible value.
        progress: called with a sentence at every shard.
        block_bytes: how much of a shard is held at a time.
        open_file: opens a file for reading.
        warnings: sentences gathered on the way.
        files: every shard read.
        rows: rows of each table by title, rejected ones and repeated headers left out.
        rejected: lines rejected by title of the table.
    """

    dump: Path
    workdir: Path
    allow_missing_columns: bool = False
    progress: Callable[[str], None] | None = None
    workdir_name: str | None = None
    block_bytes: int = BLOCK_BYTES
    open_file: Callable[[Path], BinaryIO] = _open_file
    warnings: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)

    def has(self, table: DumpTable) -> bool:
        """True if the dump has at least one shard of the table."""
        return bool(find_shards(self.dump, table.stem, table.subfolder))

    def frames(
        self, table: DumpTable, wanted: WantedColumns, sieve: Sieve | None = None, only: int | None = None
    ) -> Iterator[pl.DataFrame]:
        """The table's wanted columns, a frame for every few thousand lines.

        Args:
            table: which table.
            wanted: its columns.
            sieve: may leave out, but still count, rows about notes that it does not want.
            only: number of the one shard that is read; None for all.

        Raises:
            SourceError: if the table, a shard or a column is missing, a file is broken, or more than 0.1% of the
                lines cannot be read; those that cannot are written to `rejects-<stem>.tsv` in the work folder.
        """
        shards = [shard for shard in self._shards(table) if only in (None, shard.number)]
        rejects, ring = Rejects(), new_ring(self.block_bytes)
        self._forget_rejects(table)
        try:
            for shard in shards:
                self.files.append(shard.path)
                self._say(f"reading {shard.name}")
                with open_shard(shard, self.open_file) as stream:
                    layout = self._layout(_read_header(stream, shard.name), shard.name, table, wanted)
                    reading = _ShardReading(layout, wanted, sieve, rejects)
                    frames = reading.frames(line_blocks(stream, shard.name, ring))
                    yield from (frame for frame in frames if frame.height)
                self._note_headers(reading)
            rejects.check(final=True)
        finally:
            if rejects.count:
                rejects.write(self._rejects_path(table))
        self.rows[table.title] = rejects.rows - rejects.count
        self.rejected[table.title] = rejects.count
        if rejects.count:
            self.warnings.append(
                f"{table.title}: {rejects.count} of {rejects.rows} lines cannot be read and were left out; "
                f"{self._where_they_are(table)}."
            )

    def _where_they_are(self, table: DumpTable) -> str:
        path = self._rejects_path(table)
        if self.workdir_name is None:
            return f"see {path}"
        return f"see {self.workdir_name}/{path.name}" if self.workdir_name else "collecting them writes them to a file"

    def _rejects_path(self, table: DumpTable) -> Path:
        return self.workdir / f"rejects-{table.stem}.tsv"

    def _forget_rejects(self, table: DumpTable) -> None:
        """Take the rejects of an earlier run away: they would be taken for this one's."""
        try:
            self._rejects_path(table).unlink(missing_ok=True)
        except NotADirectoryError:
            return
        except OSError as error:
            raise WorkspaceError(
                f"cannot be removed: {error.strerror or error}",
                where=str(self._rejects_path(table)),
                fix="Check the permissions of its folder.",
                code="unwritable",
            ) from error

    def _say(self, sentence: str) -> None:
        if self.progress is not None:
            self.progress(sentence)

    def _shards(self, table: DumpTable) -> list[Shard]:
        shards = find_shards(self.dump, table.stem, table.subfolder)
        if not shards:
            raise SourceError(
                f"no {table.title} in the dump",
                where=str(self.dump),
                expected=f"{table.stem}-00000.tsv or {table.stem}-00000.zip",
                code="missing-table",
            )
        return shards

    def _note_headers(self, reading: _ShardReading) -> None:
        if reading.headers:
            self.warnings.append(f"{reading.name}: the header is repeated {reading.headers} times inside; left out.")
        if reading.next_line == _FIRST_ROW:
            self.warnings.append(f"{reading.name}: a header and no rows.")

    def _layout(self, header: bytes, name: str, table: DumpTable, wanted: WantedColumns) -> LineLayout:
        columns = _columns(header, name, table)
        self._require(columns, name, table, wanted)
        self._compare(columns, name, table)
        return LineLayout(
            name=name,
            header=header,
            columns=columns,
            integers=tuple(columns.index(column) for column in wanted.integers),
            optional_integers=tuple(columns.index(column) for column in wanted.optional_integers),
            private=tuple(place for place, column in enumerate(columns) if column in _PRIVATE),
        )

    def _require(self, columns: tuple[str, ...], name: str, table: DumpTable, wanted: WantedColumns) -> None:
        missing = [column for column in wanted.names if column not in (*columns, *wanted.extra)]
        hard = [column for column in missing if column not in wanted.fillable]
        if not missing or (self.allow_missing_columns and not hard):
            return
        raise SourceError(
            f"{len(columns)} columns, {', '.join(hard or missing)} missing",
            where=name,
            expected=f"the columns of the {table.title}, such as {', '.join(table.columns[:3])}",
            fix=_missing_fix(hard),
            code="missing-columns",
        )

    def _compare(self, columns: tuple[str, ...], name: str, table: DumpTable) -> None:
        missing = [column for column in table.columns if column not in (*columns, *table.new)]
        extra = [column for column in columns if column not in table.columns]
        known = [column for column in columns if column in table.columns]
        if missing:
            self.warnings.append(f"{name}: without the columns {', '.join(missing)}.")
        if extra:
            self.warnings.append(f"{name}: {len(extra)} unknown columns ({_shown(extra)}).")
        if known != [column for column in table.columns if column in columns]:
            self.warnings.append(f"{name}: the columns are in another order.")


def _missing_fix(hard: list[str]) -> str:
    if not hard:
        return "Pass --allow-missing-columns to fill it with nothing."
    if "lockedStatus" in hard:
        return "For a dump from before statuses were locked, pass --label-source current."
    return "It cannot be filled: take the file from the dump's source."


def _shown(names: list[str]) -> str:
    return ", ".join(ascii(name[:40])[1:-1] for name in names[:5]) + (", ..." if len(names) > 5 else "")


def _read_header(stream: BinaryIO, name: str) -> bytes:
    line = stream.readline(_LONGEST_HEADER)
    if not line:
        raise SourceError(
            "the file is empty", where=name, expected="a header and rows", code="empty-file", fix="Download it again."
        )
    if line.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in line:
        raise SourceError(
            "not UTF-8 text (it looks like UTF-16 or binary data)",
            where=name,
            expected="a TSV in UTF-8",
            code="not-utf-8",
        )
    return line.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").removesuffix(b"\r")


def _columns(header: bytes, name: str, table: DumpTable) -> tuple[str, ...]:
    former = dict(table.aliases)
    columns = tuple(former.get(column, column) for column in header.decode(errors="replace").split("\t"))
    if not set(columns) & set(table.columns):
        raise SourceError(
            "the first line holds no names of columns",
            where=name,
            expected="names between tabs, such as noteId",
            code="no-header",
            fix="Check that this is a file of the dump.",
        )
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        raise SourceError(f"the column {_shown(twice[:1])} is there twice", where=name, code="duplicate-column")
    return columns


class _ShardReading:
    """A shard on its way to frames: lines that passed the sieve wait until there are enough to be worth parsing."""

    def __init__(self, layout: LineLayout, wanted: WantedColumns, sieve: Sieve | None, rejects: Rejects) -> None:
        self._layout, self._wanted, self._rejects = layout, wanted, rejects
        first_is_note = layout.columns[0] == "noteId" and len(layout.columns) >= SHORTEST_LINE
        self._sieve = sieve if first_is_note else None
        self._waiting: list[tuple[int, SiftedLines]] = []
        self._waiting_bytes = 0
        self.name, self.headers, self.next_line = layout.name, 0, _FIRST_ROW

    def frames(self, blocks: Iterator[memoryview]) -> Iterator[pl.DataFrame]:
        """The wanted columns of all lines that can be read."""
        for block, read in _ahead(self._read, blocks):
            if read is None:
                yield self._parse_waiting()
                content = without_returns(block)
                yield self._by_line(content, count(self.next_line))
                self.next_line += content.count(b"\n")
            else:
                yield self._accept(read)
            self._rejects.check(final=False)
        yield self._parse_waiting()
        self._rejects.check(final=False)

    def _read(self, block: memoryview) -> _Read | None:
        """What a block holds, in a thread; None if a line of it is at fault."""
        lines = check_lines(block, len(self._layout.columns))
        if lines is not None and lines.returns:
            block = memoryview(without_returns(block))
            lines = check_lines(block, len(self._layout.columns))
        if lines is None:
            return None
        if self._sieve is not None and lines.ascii:
            sifted = self._sieve.passed(block, lines.ends)
            if sifted is not None:
                return _Read(len(lines.ends), sifted)
        frame = _parsed(bytes(block), self._layout, self._wanted)
        return None if frame is None else _Read(len(lines.ends), frame)

    def _accept(self, read: _Read) -> pl.DataFrame:
        first_line, self.next_line = self.next_line, self.next_line + read.lines
        if isinstance(read.found, pl.DataFrame):
            self._rejects.good += read.lines
            return read.found
        self._rejects.good += read.lines - len(read.found.places)
        self._waiting.append((first_line, read.found))
        self._waiting_bytes += len(read.found.content)
        if self._waiting_bytes < _WAITING_BYTES:
            return pl.DataFrame(schema=self._wanted.schema)
        return self._parse_waiting()

    def _parse_waiting(self) -> pl.DataFrame:
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        content = b"".join(sifted.content for _, sifted in waiting)
        frame = _parsed(content, self._layout, self._wanted)
        if frame is None:
            numbers = (first + place for first, sifted in waiting for place in sifted.places.tolist())
            return self._by_line(content, numbers)
        self._rejects.good += frame.height
        return frame

    def _by_line(self, content: bytes, numbers: Iterable[int]) -> pl.DataFrame:
        """The good ones of some lines, looked at one by one."""
        good, headers = split_good(content, numbers, self._layout, self._rejects)
        frame = _parsed(good, self._layout, self._wanted)
        if frame is None:
            raise SourceError(
                "lines cannot be read",
                where=self._layout.name,
                expected="rows as the header promises",
                code="unreadable-lines",
            )
        self.headers += headers
        self._rejects.good += frame.height
        return frame


_REQUEST_TIMES = tuple(column for column in REQUESTS.columns if column.endswith("EligibleTimestamp"))
_LINK = r"https?://[^\s\"“”'\],]+"


def note_requests(reader: TableReader) -> pl.DataFrame:
    """The posts that people asked for notes on, a row each, sorted by post.

    Columns: `post` (id), `links` (list of addresses that the requests name), `suggestions` (text as published), and
    for each feed the time (ms) from which it showed the request, null where it never did: `shown` (to people),
    `api_small`, `api_large`, `api_xl`.

    Raises:
        SourceError: as of `TableReader.frames`.
    """
    wanted = WantedColumns(("tweetId",), extra=("sourceLinks", "suggestions", *_REQUEST_TIMES))
    names = ("shown", "api_small", "api_large", "api_xl")
    rows = pl.concat([pl.DataFrame(schema=wanted.schema), *reader.frames(REQUESTS, wanted)])
    times = [pl.col(column).cast(pl.Int64, strict=False) for column in _REQUEST_TIMES]
    return rows.select(
        pl.col("tweetId").alias("post"),
        pl.col("sourceLinks").str.extract_all(_LINK).alias("links"),
        "suggestions",
        *(pl.when(time > 0).then(time).alias(name) for name, time in zip(names, times, strict=True)),
    ).sort("post", "shown", maintain_order=True)


class _Read(NamedTuple):
    """How many lines a block has, and what they hold: all of them parsed, or those that passed the sieve."""

    lines: int
    found: pl.DataFrame | SiftedLines


def _ahead(
    read: Callable[[memoryview], _Read | None], blocks: Iterator[memoryview]
) -> Iterator[tuple[memoryview, _Read | None]]:
    """The blocks and what is read from them, in order; those that follow are read meanwhile."""
    waiting: deque[tuple[memoryview, Future[_Read | None]]] = deque()
    with ThreadPoolExecutor(_THREADS) as pool:
        for block in blocks:
            waiting.append((block, pool.submit(read, block)))
            if len(waiting) == BLOCKS_KEPT - 1:
                first, future = waiting.popleft()
                yield first, future.result()
        while waiting:
            first, future = waiting.popleft()
            yield first, future.result()


def _parsed(block: bytes, layout: LineLayout, wanted: WantedColumns) -> pl.DataFrame | None:
    """The block, whose lines have the right number of columns, as a frame; None if any line of it is at fault."""
    if not block:
        return pl.DataFrame(schema=wanted.schema)
    schema = dict.fromkeys(layout.columns, pl.String)
    scan = pl.scan_csv(block, has_header=False, separator="\t", quote_char=None, schema=schema)
    try:
        frame = scan.select(*_typed(layout, wanted), _faulty(wanted)).collect()
    except pl.exceptions.ComputeError:  # bytes that are not UTF-8
        return None
    return None if frame.drop_in_place(_FAULTY).any() else frame


def _typed(layout: LineLayout, wanted: WantedColumns) -> list[pl.Expr]:
    integers = [_integer(column) for column in wanted.integers + wanted.optional_integers]
    texts = [
        pl.col(column).fill_null("") if column in layout.columns else pl.lit("").alias(column)
        for column in wanted.texts + wanted.fillable + wanted.extra
    ]
    return integers + texts


def _integer(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.Int64, strict=False)


def _faulty(wanted: WantedColumns) -> pl.Expr:
    """True for rows where an integer column holds something else."""
    nothing = [cell.decode() for cell in NOTHING]
    needed = [_integer(column).is_null() for column in wanted.integers]
    optional = [
        _integer(column).is_null() & ~pl.col(column).fill_null("").is_in(nothing) for column in wanted.optional_integers
    ]
    return pl.any_horizontal(pl.lit(False), *needed, *optional).alias(_FAULTY)
