"""What must not change a collection: order, shards, zips, line ends, columns, other quarters."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.notes.lines import line_blocks
from collectors.notes.tables import HISTORY, NOTES, RATINGS, TableReader, WantedColumns
from hellofresh.releases.candidates import Collection
from hellofresh.tasks.samples import to_json
from tests.collectors.notes.conftest import run


def outcome(collection: Collection) -> Any:
    """Everything but the files' names and the warnings about their columns."""
    return to_json([collection.candidates, collection.funnel, collection.parameters])


def rewritten(dump: Any, **form: Any) -> Path:
    dump.folder = Path(tempfile.mkdtemp(dir=dump.folder.parent))
    return dump.write(**form)


TABLES = (NOTES.stem, HISTORY.stem, RATINGS.stem)


@pytest.mark.parametrize("shards", [2, 3, 20])
@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("published", [False, True])
def test_shards_zips_and_folders_change_nothing(twelve: Any, shards: int, zipped: bool, published: bool) -> None:
    before = outcome(run(twelve.write()))
    assert outcome(run(rewritten(twelve, shards=shards, zipped=zipped, published=published))) == before


def edit(path: Path, change: Any) -> None:
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.replace(b"\n", b"\r\n"),
        lambda content: b"\xef\xbb\xbf" + content,
        lambda content: content.rstrip(b"\n"),
        lambda content: content + b"\n\n",
    ],
    ids=["crlf", "byte-order-mark", "no-last-newline", "blank-lines"],
)
@pytest.mark.parametrize("stem", TABLES)
def test_harmless_differences_of_files_change_nothing(twelve: Any, stem: str, change: Any) -> None:
    before = outcome(run(twelve.write()))
    edit(twelve.folder / f"{stem}-00000.tsv", change)
    assert outcome(run(twelve.folder)) == before


@pytest.mark.parametrize("stem", TABLES)
def test_reordered_and_new_columns_change_warnings_only(twelve: Any, stem: str) -> None:
    before = outcome(run(twelve.write()))
    path = twelve.folder / f"{stem}-00000.tsv"
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    order = np.random.default_rng(3).permutation(len(rows[0]))
    lines = [
        "\t".join([*(row[place] for place in order), "brandNew" if not number else "=1+1"])
        for number, row in enumerate(rows)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    collection = run(twelve.folder)
    assert outcome(collection) == before
    assert any("1 unknown columns (brandNew)" in warning for warning in collection.warnings)
    assert any("another order" in warning for warning in collection.warnings)


def test_a_repeated_header_is_left_out_and_reported(twelve: Any) -> None:
    before = outcome(run(twelve.write()))
    path = twelve.folder / "notes-00000.tsv"
    header, *rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([header, *rows[:5], header, *rows[5:]]))
    collection = run(twelve.folder)
    assert outcome(collection) == before
    assert collection.warnings == ["notes-00000.tsv: the header is repeated 1 times inside; left out."]


def test_exact_repetitions_are_counted_once_and_reported(twelve: Any) -> None:
    before = run(twelve.write())
    for stem in TABLES:
        twelve.rows[stem] += twelve.rows[stem][:4]
    after = run(rewritten(twelve))
    assert list(after.candidates) == list(before.candidates)
    assert after.funnel.rows_in == before.funnel.rows_in
    assert after.funnel.context["repeated rows of the notes"] == 4
    assert sum("exact repetitions" in warning for warning in after.warnings) == 2


def test_small_blocks_give_the_same_rows(twelve: Any, tmp_path: Path) -> None:
    folder = twelve.write()
    wanted = WantedColumns(("noteId", "createdAtMillis"), ("tweetId",), ("summary",))

    def rows(size: int) -> list[Any]:
        reader = TableReader(folder, tmp_path, block_bytes=size)
        return [row for frame in reader.frames(NOTES, wanted) for row in frame.iter_rows()]

    assert rows(1) == rows(17) == rows(1000) == rows(2**20)
    assert len(rows(1)) == 12


def test_ids_stay_exact_at_both_ends_of_64_bits(dump: Any) -> None:
    for number in (1, 2**53 + 1, 2**63 - 1):
        dump.note(number, post=1_600_000_000_000_000_001)
    dump.post(1_600_000_000_000_000_001)
    assert [item.sample.id for item in run(dump.write()).candidates] == ["xn-1", f"xn-{2**53 + 1}", f"xn-{2**63 - 1}"]


@settings(max_examples=50)
@given(st.binary(max_size=200), st.integers(1, 50))
def test_blocks_together_are_the_stream_in_whole_lines(content: bytes, size: int) -> None:
    blocks = list(line_blocks(io.BytesIO(content), "x.tsv", size))
    assert all(block.endswith(b"\n") for block in blocks)
    ended = content + b"\n" if content and not content.endswith(b"\n") else content
    assert b"".join(blocks) == ended
