"""A file's hash is that of its bytes, however and however much of it was read before, and they are read once."""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.notes.dump.hashing import FileHashes
from hellofresh.core.errors import SourceError
from hellofresh.core.files import sha256_file

CONTENT = os.urandom(1_000_003)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hashed") / "file"
    path.write_bytes(CONTENT)
    return path


STEPS = st.one_of(
    st.tuples(st.just("read"), st.integers(0, 600_000)),
    st.tuples(st.just("readinto"), st.integers(0, 600_000)),
    st.tuples(st.just("seek"), st.integers(0, len(CONTENT) + 10)),
    st.tuples(st.just("end"), st.integers(0, 100_000)),
    st.tuples(st.just("line"), st.just(0)),
    st.tuples(st.just("all"), st.just(0)),
)


@settings(deadline=None)
@given(st.lists(STEPS, max_size=8))
def test_whatever_is_read_the_hash_and_the_bytes_are_the_files(file: Path, steps: list[tuple[str, int]]) -> None:
    hashes = FileHashes([file])
    with hashes.open(file) as reader, file.open("rb") as plain:
        for step, number in steps:
            if step == "read":
                assert reader.read(number) == plain.read(number)
            elif step == "readinto":
                mine, theirs = bytearray(number), bytearray(number)
                assert reader.readinto(mine) == plain.readinto(theirs)  # type: ignore[attr-defined]
                assert mine == theirs
            elif step == "line":
                assert reader.readline() == plain.readline()
            elif step == "all":
                assert reader.read() == plain.read()
            else:
                place = (-number, os.SEEK_END) if step == "end" else (number, os.SEEK_SET)
                assert reader.seek(*place) == plain.seek(*place)
            assert reader.tell() == plain.tell()
    (found,) = hashes.results()
    assert (found.name, found.size, found.sha256) == ("file", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


def test_results_come_by_name_and_of_files_that_nobody_opened_too(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("b", "a", "c")]
    for number, path in enumerate(paths):
        path.write_bytes(bytes([number]) * (number * 300_000))
    hashes = FileHashes(paths)
    with hashes.open(paths[2]) as reader:
        reader.read()
    assert [(item.name, item.size, item.sha256) for item in hashes.results()] == [
        (path.name, path.stat().st_size, sha256_file(path)) for path in sorted(paths)
    ]


def test_what_was_read_is_not_read_again(tmp_path: Path) -> None:
    """The hash is of the bytes that gave the rows, even if the file is another one by then."""
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    hashes = FileHashes([path])
    with hashes.open(path) as reader:
        reader.read()
        path.write_bytes(b"x" * len(CONTENT))
    assert hashes.results()[0].sha256 == hashlib.sha256(CONTENT).hexdigest()


def test_a_second_reading_changes_nothing(file: Path) -> None:
    hashes = FileHashes([file])
    for amount in (10, -1, 500_000):
        with hashes.open(file) as reader:
            reader.read(amount)
    assert hashes.results()[0].sha256 == hashlib.sha256(CONTENT).hexdigest()


def test_a_zip_is_hashed_while_its_member_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.tsv", CONTENT)
    hashes = FileHashes([path])
    with hashes.open(path) as reader, zipfile.ZipFile(reader) as archive:
        assert archive.read("a.tsv") == CONTENT
    assert hashes.results()[0].sha256 == sha256_file(path)


def test_a_file_that_cannot_be_hashed_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="none"):
        FileHashes([tmp_path / "none"]).results()
