"""The tables of a dump as typed frames, read by column name.

Format: https://communitynotes.x.com/guide/en/under-the-hood/download-data. Tab-separated, never quoted, HTML entities
in texts; columns are added and removed over the years. Ids are always 64-bit integers, never floats.
"""

from __future__ import annotations

import os
import tomllib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import polars as pl

from collectors.notes.dump_files import find_shards, open_shard
from collectors.notes.lines import (
    BLOCK_BYTES,
    NOTHING,
    SHORTEST_LINE,
    LineLayout,
    Rejects,
    Sieve,
    check_lines,
    line_blocks,
    split_good,
)
from hellofresh.core.errors import SourceError
from hellofresh.core.files import remove_file

_FAULTY = "is faulty"
# polars parses without Python's lock; each thread holds a block in memory
_THREADS = max(2, min(4, os.cpu_count() or 2))
_BLOCKS_AHEAD = 5  # more than threads, so that none waits; each is kept in memory
_FIRST_ROW = 2
_LONGEST_HEADER = 2**16  # a file of another kind may have no line end
_ROWS_AT_ONCE = 50_000  # fewer make many small row groups, more need memory
_PRIVATE = frozenset({"noteAuthorParticipantId", "raterParticipantId", "participantId"})
_COLUMNS = tomllib.loads(Path(__file__).with_name("columns.toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class DumpTable:
    """A table of the dump.

    Attributes:
        title: for messages.
        stem: prefix of its files' names.
        subfolder: its folder in the published layout.
        columns: every column known today, in order.
        aliases: current names of columns by their former names.
        new: columns that are missing in some dumps.
    """

    title: str
    stem: str
    subfolder: str
    columns: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...] = ()
    new: frozenset[str] = frozenset()


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
    """The columns required for a reading.

    Attributes:
        integers: must hold a 64-bit integer in every row.
        optional_integers: a 64-bit integer, or nothing (an empty cell or `NA`).
        texts: any text; an empty cell is an empty text.
        fillable: texts that become empty if the column is missing and the user allows it.
        extra: texts that become empty if the column is missing.
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


@dataclass(slots=True)
class TableReader:
    """Reads the tables of one dump and collects warnings for the user.

    Attributes:
        dump: the folder.
        workdir: where rejected lines are written.
        workdir_name: the folder's name in warnings; None for its path, empty if it is temporary.
        allow_missing_columns: fill a missing column where empty values are meaningful.
        progress: called with a sentence for every shard.
        aliases: the usual names of columns by other ones, besides those of the tables.
        block_bytes: bytes of a shard held at a time.
        warnings: sentences gathered on the way.
        rows: rows of each table by title, rejected ones and repeated headers left out.
        rejected: lines rejected by title of the table.
    """

    dump: Path
    workdir: Path
    allow_missing_columns: bool = False
    progress: Callable[[str], None] | None = None
    workdir_name: str | None = None
    block_bytes: int = BLOCK_BYTES
    aliases: Mapping[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)

    def has(self, table: DumpTable) -> bool:
        """True if the dump has at least one shard of the table."""
        return bool(find_shards(self.dump, table.stem, table.subfolder))

    def check(self, table: DumpTable, wanted: WantedColumns) -> None:
        """Read the header of a table's first shard; raises SourceError as `frames`."""
        for shard in find_shards(self.dump, table.stem, table.subfolder)[:1]:
            with open_shard(shard) as stream:
                self._layout(_read_header(stream, shard.path.name), shard.path.name, table, wanted)

    def frames(
        self, table: DumpTable, wanted: WantedColumns, sieve: Sieve | None = None, only: int | None = None
    ) -> Iterator[pl.DataFrame]:
        """The table's wanted columns, in frames of a few thousand lines.

        Args:
            wanted: its columns.
            sieve: may drop rows on unwanted notes, which are still counted.
            only: number of the single shard to read; None for all.

        Raises:
            SourceError: if the table, a shard or a column is missing, a file is broken, or more than 0.1% of the
                lines cannot be read; those that cannot are written to `rejects-<stem>.tsv` in the work folder.
        """
        shards = [s for s in find_shards(self.dump, table.stem, table.subfolder) if only in (None, s.number)]
        if not shards:
            raise SourceError(
                f"no {table.title} in the dump",
                where=str(self.dump),
                expected=f"{table.stem}-00000.tsv or {table.stem}-00000.zip",
                code="missing-table",
            )
        rejects = Rejects()
        aside = self.workdir / f"rejects-{table.stem}.tsv"
        if self.workdir.is_dir():
            remove_file(aside)  # otherwise those of an earlier run would be taken for this run's
        try:
            for shard in shards:
                if self.progress is not None:
                    self.progress(f"reading {shard.path.name}")
                with open_shard(shard) as stream:
                    layout = self._layout(_read_header(stream, shard.path.name), shard.path.name, table, wanted)
                    reading = _ShardReading(layout, wanted, sieve, rejects)
                    blocks = line_blocks(stream, shard.path.name, self.block_bytes, self.warnings.append)
                    frames = reading.frames(blocks)
                    yield from (frame for frame in frames if frame.height)
                if reading.headers:
                    what = f"the header is repeated {reading.headers} times inside; left out."
                    self.warnings.append(f"{shard.path.name}: {what}")
                if reading.next_line == _FIRST_ROW:
                    self.warnings.append(f"{shard.path.name}: a header and no rows.")
            rejects.check(final=True)
        finally:
            if rejects.count:
                rejects.write(aside)
        self.rows[table.title] = rejects.rows - rejects.count
        self.rejected[table.title] = rejects.count
        if rejects.count:
            place = f"see {aside if self.workdir_name is None else f'{self.workdir_name}/{aside.name}'}"
            if self.workdir_name == "":
                place = "collecting them writes them to a file"
            self.warnings.append(
                f"{table.title}: {rejects.count} of {rejects.rows} lines cannot be read and were left out; {place}."
            )

    def _layout(self, header: bytes, name: str, table: DumpTable, wanted: WantedColumns) -> LineLayout:
        columns = _columns(header, name, table, self.aliases)
        missing = [column for column in wanted.names if column not in (*columns, *wanted.extra)]
        hard = [column for column in missing if column not in wanted.fillable]
        if hard or (missing and not self.allow_missing_columns):
            fix = "Pass --allow-missing-columns to leave it empty."
            if hard:
                fix = f'If it has another name now: [sources.x-notes] columns = {{ {hard[0]} = "NEW NAME" }}'
            raise SourceError(
                f"{len(columns)} columns, {', '.join(hard or missing)} missing",
                where=name,
                expected=f"the columns of the {table.title}, such as {', '.join(table.columns[:3])}",
                fix=fix,
                code="missing-columns",
            )
        self._compare(columns, name, table)
        return LineLayout(
            name=name,
            header=header,
            columns=columns,
            integers=tuple(columns.index(column) for column in wanted.integers),
            optional_integers=tuple(columns.index(column) for column in wanted.optional_integers),
            private=tuple(place for place, column in enumerate(columns) if column in _PRIVATE),
        )

    def _compare(self, columns: tuple[str, ...], name: str, table: DumpTable) -> None:
        absent = [column for column in table.columns if column not in (*columns, *table.new)]
        extra = [column for column in columns if column not in table.columns]
        known = [column for column in columns if column in table.columns]
        if absent:
            self.warnings.append(f"{name}: without the columns {', '.join(absent)}.")
        if extra:
            self.warnings.append(f"{name}: {len(extra)} unknown columns ({_shown(extra)}).")
        if known != [column for column in table.columns if column in columns]:
            self.warnings.append(f"{name}: the columns are in another order.")


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


def _columns(header: bytes, name: str, table: DumpTable, aliases: Mapping[str, str]) -> tuple[str, ...]:
    former = {**dict(table.aliases), **aliases}
    columns = tuple(former.get(column, column) for column in header.decode(errors="replace").split("\t"))
    if not set(columns) & set(table.columns):
        raise SourceError(
            "the first line has no column names",
            where=name,
            expected="names between tabs, such as noteId",
            code="no-header",
            fix="Check that this is a file of the dump.",
        )
    twice = sorted(column for column, times in Counter(columns).items() if times > 1)
    if twice:
        raise SourceError(f"the column {_shown(twice[:1])} appears twice", where=name, code="duplicate-column")
    return columns


class _ShardReading:
    """Converts a shard to frames."""

    def __init__(self, layout: LineLayout, wanted: WantedColumns, sieve: Sieve | None, rejects: Rejects) -> None:
        self._layout, self._wanted, self._rejects = layout, wanted, rejects
        first_is_note = layout.columns[0] == "noteId" and len(layout.columns) >= SHORTEST_LINE
        self._sieve = sieve if first_is_note else None
        self.headers, self.next_line = 0, _FIRST_ROW

    def frames(self, blocks: Iterator[bytes]) -> Iterator[pl.DataFrame]:
        """The wanted columns of all readable lines."""
        for block, frame in _ahead(self._read, blocks):
            lines = block.count(b"\n")
            if frame is None:
                yield self._by_line(block.replace(b"\r\n", b"\n"))
            else:
                self._rejects.good += lines
                yield frame
            self.next_line += lines
            self._rejects.check(final=False)

    def _read(self, block: bytes) -> pl.DataFrame | None:
        """Parse a block in a thread, without lines that the sieve drops; None if a line is faulty."""
        lines = check_lines(block, len(self._layout.columns))
        if lines is not None and lines.returns:
            block = block.replace(b"\r\n", b"\n")
            lines = check_lines(block, len(self._layout.columns))
        if lines is None:
            return None
        if self._sieve is not None and lines.ascii:
            block = self._sieve.passed(block, lines.ends)
        return _parsed(block, self._layout, self._wanted)

    def _by_line(self, content: bytes) -> pl.DataFrame:
        """The valid lines of a block, checked one by one."""
        good, headers = split_good(content, self.next_line, self._layout, self._rejects)
        frame = _parsed(good, self._layout, self._wanted)
        if frame is None:
            raise SourceError(
                "lines cannot be read",
                where=self._layout.name,
                expected="rows with the header's columns",
                code="unreadable-lines",
            )
        self.headers += headers
        self._rejects.good += frame.height
        return frame


def _ahead(
    read: Callable[[bytes], pl.DataFrame | None], blocks: Iterator[bytes]
) -> Iterator[tuple[bytes, pl.DataFrame | None]]:
    """Blocks and their results, in order; later blocks are read in the meantime."""
    waiting: deque[tuple[bytes, Future[pl.DataFrame | None]]] = deque()
    with ThreadPoolExecutor(_THREADS) as pool:
        for block in blocks:
            waiting.append((block, pool.submit(read, block)))
            if len(waiting) == _BLOCKS_AHEAD:
                first, future = waiting.popleft()
                yield first, future.result()
        while waiting:
            first, future = waiting.popleft()
            yield first, future.result()


def _parsed(block: bytes, layout: LineLayout, wanted: WantedColumns) -> pl.DataFrame | None:
    """The block, whose lines have the right number of columns, as a frame; None if any line is malformed."""
    if not block:
        return pl.DataFrame(schema=wanted.schema)
    schema = dict.fromkeys(layout.columns, pl.String)
    scan = pl.scan_csv(block, has_header=False, separator="\t", quote_char=None, schema=schema)
    numbers = {name: pl.col(name).cast(pl.Int64, strict=False) for name in wanted.integers + wanted.optional_integers}
    texts = [
        pl.col(name).fill_null("") if name in layout.columns else pl.lit("").alias(name)
        for name in wanted.texts + wanted.fillable + wanted.extra
    ]
    nothing = [cell.decode() for cell in NOTHING]
    faulty = [numbers[name].is_null() for name in wanted.integers]
    faulty += [
        numbers[name].is_null() & ~pl.col(name).fill_null("").is_in(nothing) for name in wanted.optional_integers
    ]
    try:
        frame = scan.select(
            *numbers.values(), *texts, pl.any_horizontal(pl.lit(False), *faulty).alias(_FAULTY)
        ).collect()
    except pl.exceptions.ComputeError:  # bytes that are not UTF-8
        return None
    return None if frame.drop_in_place(_FAULTY).any() else frame


def refuse_conflicts(rows: pl.DataFrame, title: str) -> None:
    """Raise SourceError if two different rows are on one note; exact repetitions are removed before."""
    conflicts = rows.filter(pl.col("noteId").is_duplicated())["noteId"].sort()
    if conflicts.len():
        raise SourceError(
            f"note {conflicts[0]} has different rows",
            where=title,
            expected="one row per note",
            code="conflicting-rows",
            fix="Do not mix files of different days in one folder.",
        )


def gathered(frames: Iterable[pl.DataFrame], rows: int = _ROWS_AT_ONCE) -> Iterator[pl.DataFrame]:
    """Merge frames to `rows` rows or more: a join costs a millisecond, however few rows there are."""
    waiting: list[pl.DataFrame] = []
    for frame in frames:
        waiting.append(frame)
        if sum(part.height for part in waiting) >= rows:
            yield pl.concat(waiting)
            waiting = []
    if waiting:
        yield pl.concat(waiting)
