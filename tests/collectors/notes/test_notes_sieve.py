"""Leaving lines out before parsing leaves out nothing that is wanted; hashing beside reading gives the same hashes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.notes import NotesSettings, NotesSource, collect
from collectors.notes.lines import SHORTEST_LINE, Sieve, check_lines
from collectors.notes.tables import HISTORY, RATINGS, TableReader, WantedColumns
from hellofresh.core.quarters import Quarter
from hellofresh.tasks.samples import to_json

USUAL = st.integers(10**18, 9 * 10**18 - 1)
UNUSUAL = st.integers(-(2**63), 2**63 - 1).filter(lambda number: not 10**18 <= number < 9 * 10**18)
ODD = st.one_of(UNUSUAL.map(str), st.sampled_from(["", "x", "+1", "0" * 19, "1" * 18 + "x"]))
TAIL = "\t" * (SHORTEST_LINE - 1)


def sifted(ids: list[int], cells: list[str]) -> list[bytes]:
    block = "".join(f"{cell}{TAIL}\n" for cell in cells).encode()
    lines = check_lines(block, SHORTEST_LINE)
    assert lines is not None
    every = block.splitlines(keepends=True)
    passed = Sieve(ids).passed(block, lines.ends).splitlines(keepends=True)
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


def test_other_notes_are_left_out() -> None:
    ids = np.random.default_rng(1).integers(10**18, 9 * 10**18, 4000).tolist()
    passed = sifted(ids[:20], [str(number) for number in ids])
    assert 20 <= len(passed) < 40


def test_where_most_is_wanted_the_block_stays_whole() -> None:
    ids = [10**18 + number for number in range(10)]
    assert len(sifted(ids[:5], [str(number) for number in ids])) == 10


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
    lines = path.read_bytes().splitlines(keepends=True)
    lines[700] = lines[700].replace(b"1000", b"1x00", 1)
    lines[1500] = lines[0]
    lines[2000] = b"short\n"
    lines[3900] = lines[3900].replace(b"1000", b"-1e0", 1)
    path.write_bytes(b"".join(lines))
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
