"""Leaving lines out before parsing leaves out nothing that is wanted; hashing beside reading gives the same hashes."""

from __future__ import annotations

import io
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.notes import NotesSettings, NotesSource, collect, lines
from collectors.notes.lines import SHORTEST_LINE, LineLayout, Sieve, check_lines
from collectors.notes.tables import HISTORY, RATINGS, TableReader, WantedColumns
from hellofresh.core.quarters import Quarter
from hellofresh.tasks.samples import to_json
from tests.fakes import fails_with

USUAL = st.integers(10**18, 9 * 10**18 - 1)
UNUSUAL = st.integers(-(2**63), 2**63 - 1).filter(lambda number: not 10**18 <= number < 9 * 10**18)
ODD = st.one_of(UNUSUAL.map(str), st.sampled_from(["", "x", "+1", "0" * 19, "1" * 18 + "x"]))
TAIL = "\t" * (SHORTEST_LINE - 1)


def sifted(ids: list[int], cells: list[str]) -> list[bytes]:
    block = "".join(f"{cell}{TAIL}\n" for cell in cells).encode()
    checked = check_lines(block, SHORTEST_LINE)
    assert checked is not None
    every = block.splitlines(keepends=True)
    passed = Sieve(ids).passed(block, checked.ends).splitlines(keepends=True)
    rest = iter(every)
    assert all(line in rest for line in passed)
    return passed


@given(st.lists(USUAL, max_size=5), st.lists(USUAL, max_size=30), st.lists(ODD, max_size=3), st.randoms())
def test_what_is_wanted_or_odd_passes_in_its_order(
    wanted: list[int], others: list[int], odd: list[str], order: random.Random
) -> None:
    cells = [*map(str, wanted), *map(str, others), *odd]
    order.shuffle(cells)
    if not cells:
        return
    kept = [f"{cell}{TAIL}\n".encode() for cell in cells if cell in {*map(str, wanted), *odd}]
    passed = sifted(wanted, cells)
    assert [line for line in passed if line in kept] == kept


OTHERS = [str(10**18 + 7 * number) for number in range(40)]
WANTED = "8999999999999999999"


@pytest.mark.parametrize(
    ("odd", "passes"),
    [
        *((odd, False) for odd in (OTHERS[0], "1" * 19)),
        *(
            (odd, True)
            for odd in ("0" * 18 + "1", "9" + "0" * 18, "1" * 18, "1" * 20, "1" * 18 + ":", "/" + "1" * 18, "")
        ),
    ],
)
def test_other_notes_are_left_out_and_unusual_ids_never(odd: str, passes: bool) -> None:
    kept = [WANTED, odd] if passes else [WANTED]
    assert sifted([int(WANTED), 0, -1], [WANTED, odd, *OTHERS]) == [f"{cell}{TAIL}\n".encode() for cell in kept]


def test_where_more_than_a_quarter_is_wanted_the_block_stays_whole() -> None:
    for others, passed in ((2, 3), (3, 1), (4, 1)):
        assert len(sifted([int(WANTED)], [WANTED, *OTHERS[:others]])) == passed


@pytest.mark.parametrize("size", [1, 3, 2**18])
def test_lines_are_checked_as_one_by_one(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_CHECK_BYTES", size)
    signs = ["a", "\t", "\n", "\r", "é", "\0"]
    for parts in (parts for length in range(4) for parts in product(signs, repeat=length)):
        text = "".join(parts)
        block = f"{text}\n".encode()
        for columns in (1, 2, 3):
            fine = "\0" not in text and all(line.count("\t") == columns - 1 for line in text.split("\n"))
            found = check_lines(block, columns)
            assert (found is not None) == fine, text
            if found is not None:
                assert found.ends.tolist() == [place for place, byte in enumerate(block) if byte == 10]
                assert (found.ascii, found.returns) == (text.isascii(), "\r\n" in f"{text}\n"), text


@pytest.mark.parametrize(
    ("tabs", "columns", "fine"),
    [(257, 2, False), (258, 2, False), (257, 258, True), (1, 258, False), (256, 1, False), (255, 256, True)],
)
def test_a_number_of_columns_that_differs_by_256_is_seen(tabs: int, columns: int, fine: bool) -> None:
    assert (check_lines(b"\t" * tabs + b"\n", columns) is not None) is fine


LAYOUT = LineLayout("n.tsv", b"a\tb\tc\td", ("a", "b", "c", "d"), (0,), (1,), (2,))
MOST = 2**63


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        *((f"{number}\t\tx\ty", None) for number in (0, "+1", "-07", MOST - 1, -MOST)),
        *((f"{cell}\t\tx\ty", "a") for cell in ("", "NA", "1.0", " 1", MOST, -MOST - 1, "1" * 20)),
        *((f"1\t{cell}\tx\ty", None) for cell in ("", "NA", 5)),
        *((f"1\t{cell}\tx\ty", "b") for cell in ("x", "na", MOST)),
        ("1\t2\t3", ("3 columns", "4")), ("1\t2\t3\t4\t5", ("5 columns", "4")),
        ("1\t2\t3\t\0", ("a NUL byte", "text")), ("1\t2\t3\t\udcff", ("bytes that are not UTF-8", "UTF-8")),
    ],
)  # fmt: skip
def test_a_line_has_a_fault_or_is_read(line: str, fault: tuple[str, str] | str | None) -> None:
    expected = (f"no integer in {fault}", "a 64-bit integer") if isinstance(fault, str) else fault
    assert LAYOUT.fault(line.encode("utf-8", "surrogateescape")) == expected


def test_faulty_lines_are_kept_with_their_numbers_and_without_participants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_MOST_WRITTEN", 2)
    rejects = lines.Rejects()
    someone = b"0aF9" * 16
    block = b"\n".join([b"1\t\tme\tx", b"a\tb\tc\td", b"", b"x\t\tme\t" + someone, b"1\tx", b"1", b"2\t3\t\t", b""])
    assert lines.split_good(block, 7, LAYOUT, rejects) == (b"1\t\tme\tx\n2\t3\t\t\n", 1)
    assert (rejects.count, rejects.good, rejects.rows) == (3, 0, 3)
    assert [item.line for item in rejects.kept] == [10, 11]
    rejects.write(tmp_path / "r.tsv")
    assert (tmp_path / "r.tsv").read_bytes() == (
        b"file\tline\treason\texpected\tcontent\n"
        b"n.tsv\t10\tno integer in a\ta 64-bit integer\tx\t\t\t\nn.tsv\t11\t2 columns\t4\t1\tx\n"
    )
    assert (tmp_path / "r.tsv").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("good", "bad", "final", "stops"),
    [
        (999, 1, True, False), (998, 1, True, True), (1998, 2, True, False), (1997, 2, True, True),
        (0, 1000, False, False), (0, 1001, False, True), (1001, 1001, False, False), (1001, 1002, False, True),
        (1999, 1, False, False),
    ],
)  # fmt: skip
def test_too_many_faulty_lines_stop_a_reading(good: int, bad: int, final: bool, stops: bool) -> None:
    reject = lines.Reject("n.tsv", 7, "2 columns", "4", b"")
    rejects = lines.Rejects(good, bad, [reject])
    if not stops:
        rejects.check(final=final)
        return
    with fails_with("ragged-lines", f"{bad} of {good + bad} lines are like this") as caught:
        rejects.check(final=final)
    assert (caught.value.what, caught.value.where, caught.value.expected) == ("2 columns", "n.tsv line 7", "4")


def test_blocks_are_whole_lines_and_a_last_one_without_an_end_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_LONGEST_LINE", 4)

    def blocks(content: bytes, size: int) -> tuple[list[bytes], list[str]]:
        said: list[str] = []
        return list(lines.line_blocks(io.BytesIO(content), "n.tsv", size, said.append)), said

    assert blocks(b"ab\ncd\n\nefg\n", 4) == ([b"ab\n", b"cd\n\n", b"efg\n"], [])
    cut = "n.tsv: the last line has no end, so the file may be cut off: compare its size with the source's."
    assert blocks(b"ab\ncdef", 3) == ([b"ab\n", b"cdef\n"], [cut])
    assert blocks(b"", 3) == ([], [])
    with fails_with("endless-line"):
        blocks(b"abcde", 3)


@pytest.mark.parametrize("odd", ["", "é"])
def test_votes_and_labels_are_the_same_with_long_ids_and_without_the_sieve(
    dump: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    for number in range(60):
        month = 5 if number % 10 == 0 else 8
        dump.note(
            10**18 + number, at=f"2023-{month:02d}-10T00:00:00", raters=[f"{odd}{rater}" for rater in range(number % 4)]
        )
    folder = dump.write(shards=2)
    found = []
    for usual in (True, False):
        if not usual:
            monkeypatch.setattr(Sieve, "passed", lambda self, block, ends: block)
        collection = collect(Quarter(2023, 2), NotesSource(folder), NotesSettings(), workdir=tmp_path)
        found.append(to_json(collection))
    assert found[0] == found[1]
    assert len(found[0]["candidates"]) == 6
    assert found[0]["funnel"]["context"][f"rows of the {RATINGS.title}"] == 90
    assert found[0]["funnel"]["context"][f"rows of the {HISTORY.title}"] == 60


@pytest.mark.parametrize("size", [1_000, 20_000, 2**20])
def test_faulty_lines_keep_their_numbers_and_order_through_the_sieve(dump: Any, tmp_path: Path, size: int) -> None:
    dump.note(10**18, raters=["one"])
    for number in range(1, 4000):
        dump.rows[RATINGS.stem].append({"noteId": 10**18 + number, "raterParticipantId": "two"})
    path = dump.write() / "ratings-00000.tsv"
    rows = path.read_bytes().splitlines(keepends=True)
    rows[700] = rows[700].replace(b"1000", b"1x00", 1)
    rows[1500] = rows[0]
    rows[2000] = b"short\n"
    rows[3900] = rows[3900].replace(b"1000", b"-1e0", 1)
    path.write_bytes(b"".join(rows))
    reader = TableReader(dump.folder, tmp_path, block_bytes=size)
    wanted = WantedColumns(("noteId",), texts=("raterParticipantId",))
    found = [row for frame in reader.frames(RATINGS, wanted, Sieve([10**18])) for row in frame.iter_rows()]
    assert (10**18, "one") in found
    assert len(found) < (200 if size == 1_000 else 3997)  # a block with a torn line is kept whole
    assert (reader.rows[RATINGS.title], reader.rejected[RATINGS.title]) == (3996, 3)
    assert "the header is repeated 1 times inside" in reader.warnings[0]
    written = (tmp_path / "rejects-ratings.tsv").read_text(encoding="utf-8").splitlines()[1:]
    assert [row.split("\t")[1:3] for row in written] == [
        ["701", "no integer in noteId"],
        ["2001", "1 columns"],
        ["3901", "no integer in noteId"],
    ]
