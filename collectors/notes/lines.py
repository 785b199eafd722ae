"""Blocks of whole TSV lines, and lines that do not match the header.

A block is checked as a whole, in bytes, which costs a fraction of parsing it. Only a block that fails is checked
line by line. The check takes a tenth of the time of parsing with polars, a nineteenth of `csv`, and a fifth of counting
tabs line by line (`benchmarks/replacements.py lines`).

A sieve drops lines on other notes before parsing: a quarter needs few of 20 million ratings. The ids at
the beginnings of lines are compared for all lines of a block at once (`benchmarks/replacements.py sieve`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from hellofresh.core.errors import SourceError
from hellofresh.core.files import write_bytes

Places = np.ndarray[tuple[int], np.dtype[np.int64]]
"""Places of bytes in a block."""

NOTHING = (b"", b"NA")
"""A cell without a value."""

BLOCK_BYTES = 4 * 2**20  # large enough that Python's cost per block does not count
_CHECK_BYTES = 2**18  # keeps the check's arrays in the processor's cache
_LONGEST_LINE = 16 * 2**20  # without line ends, a file would be read into memory whole
_MOST_WRITTEN = 10_000  # a wrong column makes every line unreadable, and would fill the disk
_TOLERATED = 0.001  # real dumps have a few broken lines; a wrong column makes nearly all unreadable
_HOPELESS = 1_000  # a file may begin badly: it is given up before its end only beyond this
_INTEGER = re.compile(rb"[+-]?[0-9]{1,19}")
_PARTICIPANT = re.compile(rb"[0-9A-Fa-f]{64}")
SHORTEST_LINE = 20
"""Minimal bytes of a line, including its newline."""

_DIGITS = 19  # the length of note ids today; none is longer
_TEN = np.uint64(10)  # a plain 10 would turn the unsigned numbers into floating-point ones
_BITS = 22  # 4 MiB of flags: they fit in the processor's cache, and few ids share one
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # multiply-shift hashing


@dataclass(frozen=True, slots=True)
class Reject:
    """An unreadable line: its place, the fault, and its bytes without participant ids."""

    file: str
    line: int
    reason: str
    expected: str
    content: bytes


@dataclass(slots=True)
class Rejects:
    """Counts readable and unreadable lines of a table, keeps the first unreadable ones; too many stop the run."""

    good: int = 0
    count: int = 0
    kept: list[Reject] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """All lines, good and bad."""
        return self.good + self.count

    def add(self, reject: Reject) -> None:
        """Count a line, and keep it unless there are too many."""
        self.count += 1
        if self.count <= _MOST_WRITTEN:
            self.kept.append(reject)

    def check(self, *, final: bool) -> None:
        """Stop if more than 0.1% of the lines are rejected; before the end, if more than half are.

        Raises:
            SourceError: naming the first rejected line.
        """
        limit = _TOLERATED * self.rows if final else max(_HOPELESS, self.rows / 2)
        if self.count <= limit:
            return
        first = self.kept[0]
        raise SourceError(
            first.reason,
            where=f"{first.file} line {first.line}",
            expected=first.expected,
            fix=f"{self.count} of {self.rows} lines are like this, more than 0.1%: download the file again.",
            code="ragged-lines",
        )

    def write(self, path: Path) -> None:
        """Write the kept lines as TSV (file, line, reason, expected, the line itself), readable by the owner only."""
        rows = [
            b"\t".join((f"{item.file}\t{item.line}\t{item.reason}\t{item.expected}".encode(), item.content))
            for item in self.kept
        ]
        write_bytes(path, b"\n".join([b"file\tline\treason\texpected\tcontent", *rows, b""]), mode=0o600)


def line_blocks(
    stream: BinaryIO, name: str, size: int, warn: Callable[[str], None] = lambda _: None
) -> Iterator[bytes]:
    """The stream in blocks of whole lines, each of about `size` bytes and each line ended by a newline.

    A last line without an end may be cut within its last column, which is otherwise undetectable; `warn` reports it.

    Raises:
        SourceError: if a line is longer than 16 MiB.
    """
    rest = b""
    while piece := stream.read(size):
        content = rest + piece
        cut = content.rfind(b"\n") + 1
        rest = content[cut:]
        if len(rest) > _LONGEST_LINE:
            raise SourceError(
                f"a line of more than {_LONGEST_LINE // 2**20} MiB",
                where=name,
                expected="a table, one row per line",
                code="endless-line",
            )
        if cut:
            yield content[:cut]
    if rest:
        warn(f"{name}: the last line has no end, so the file may be cut off: compare its size with the source's.")
        yield rest + b"\n"


class Lines(NamedTuple):
    """Ends of a block's lines, whether it is ASCII, and whether it has a carriage return before a newline."""

    ends: Places
    ascii: bool
    returns: bool


def check_lines(block: bytes, columns: int) -> Lines | None:
    """Ends of the block's lines, or None if a line has another number of tab-separated columns or a NUL byte."""
    whole = np.frombuffer(block, np.uint8)
    start, size, ascii_only, returns = 0, _CHECK_BYTES, True, False
    found = [np.empty(0, np.int64)]
    while start < len(whole):
        part = whole[start : start + size]
        ends = np.flatnonzero(part == ord("\n"))
        if not len(ends):
            size *= 2
            continue
        part = part[: ends[-1] + 1]
        lowest = int(part.view(np.int8).min())  # below 0 if not all is ASCII
        if (lowest if lowest >= 0 else part.min()) == 0 or not _part_holds(part, ends, columns - 1):
            return None
        ascii_only = ascii_only and lowest > 0
        returns = returns or bool((part[ends - 1] == ord("\r")).any())
        found.append(ends + start)
        start, size = start + len(part), _CHECK_BYTES
    return Lines(np.concatenate(found), ascii_only, returns)


def _part_holds(part: np.ndarray[tuple[int], np.dtype[np.uint8]], ends: Places, tabs: int) -> bool:
    is_tab = part == ord("\t")
    starts = np.concatenate((ends[:1] * 0, ends[:-1] + 1))
    per_line = np.add.reduceat(is_tab.view(np.uint8), starts, dtype=np.uint8)  # modulo 256
    if not (per_line == tabs % 256).all():
        return False
    if tabs < 256 and (ends - starts).max() < tabs + 256:  # no line has room for 256 tabs more
        return True
    return int(np.count_nonzero(is_tab)) == tabs * len(ends)


@dataclass(frozen=True, slots=True)
class LineLayout:
    """Expected layout of a shard's lines, with places of the columns of integers and of participant ids."""

    name: str
    header: bytes
    columns: tuple[str, ...]
    integers: tuple[int, ...]
    optional_integers: tuple[int, ...]
    private: tuple[int, ...]

    def fault(self, line: bytes) -> tuple[str, str] | None:
        """The line's fault and the expected form, or None."""
        cells = line.split(b"\t")
        if len(cells) != len(self.columns):
            return f"{len(cells)} columns", str(len(self.columns))
        if b"\0" in line:
            return "a NUL byte", "text"
        for place in self.integers + self.optional_integers:
            cell = cells[place]
            empty = place in self.optional_integers and cell in NOTHING
            if not empty and not (_INTEGER.fullmatch(cell) and -(2**63) <= int(cell) < 2**63):
                return f"no integer in {self.columns[place]}", "a 64-bit integer"
        try:
            line.decode()
        except UnicodeDecodeError:
            return "bytes that are not UTF-8", "UTF-8"
        return None

    def masked(self, line: bytes) -> bytes:
        """The line with participant ids taken out."""
        cells = line.split(b"\t")
        for place in self.private:
            if place < len(cells):
                cells[place] = b""
        return _PARTICIPANT.sub(b"", b"\t".join(cells))


def split_good(block: bytes, first: int, layout: LineLayout, rejects: Rejects) -> tuple[bytes, int]:
    """The block without faulty lines, blank lines and repeated headers, and the number of these headers.

    Args:
        block: whole lines.
        first: line number of the first one in the file.
        layout: the expected layout of lines.
        rejects: collects the faulty lines.
    """
    good: list[bytes] = []
    headers = 0
    for number, line in enumerate(block.split(b"\n")[:-1], start=first):
        if line == layout.header:
            headers += 1
        elif line and (fault := layout.fault(line)):
            rejects.add(Reject(layout.name, number, *fault, layout.masked(line)))
        elif line:
            good.append(line + b"\n")
    return b"".join(good), headers


def _places(numbers: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """The hash slots of numbers."""
    return numbers * _FACTOR >> np.uint64(64 - _BITS)


class Sieve:
    """Passes lines on selected notes, a few others by chance, and every line with an unusual id: not of 19
    digits, or beginning with a 9.
    """

    def __init__(self, ids: Iterable[int]) -> None:
        self._wanted = np.zeros(1 << _BITS, np.bool_)
        self._wanted[_places(np.array([number for number in ids if number > 0], np.uint64))] = True

    def passed(self, block: bytes, ends: Places) -> bytes:
        """The lines of the block that may be on the selected notes; the whole block if these are too many to separate.

        Args:
            block: ASCII, whole lines of at least `SHORTEST_LINE` bytes.
            ends: places of all newlines.
        """
        starts = np.concatenate((ends[:1] * 0, ends[:-1] + 1))
        every = np.ndarray((len(block) - _DIGITS,), f"V{_DIGITS + 1}", block, strides=(1,))
        cells = np.ascontiguousarray(every[starts].view(np.uint8).reshape(-1, _DIGITS + 1).T)
        digits = cells[:_DIGITS] - ord("0")  # wraps around for smaller bytes
        usual = (digits <= 9).all(axis=0) & (digits[0] > 0) & (digits[0] < 9) & (cells[_DIGITS] == ord("\t"))
        numbers = np.zeros(len(ends), np.uint64)
        for digit in digits:
            numbers = numbers * _TEN + digit
        chosen = np.flatnonzero(~usual | self._wanted[_places(numbers)])
        if len(chosen) * 4 > len(ends):
            return block
        lines = zip(starts[chosen].tolist(), (ends[chosen] + 1).tolist(), strict=True)
        return b"".join([block[start:end] for start, end in lines])
