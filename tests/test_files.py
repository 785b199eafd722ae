"""Files are canonical, and appear whole or not at all."""

from __future__ import annotations

import hashlib
import math
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.errors import DataError
from hellofresh.core.files import (
    atomic_path,
    canonical_json,
    read_ids,
    read_json,
    read_jsonl,
    read_models,
    sha256_text,
    write_bytes,
    write_jsonl,
)
from tests.fakes import fails_with, refused

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf]])
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(value)


@given(TEXTS)
def test_both_hashes_are_sha256_of_the_bytes(text: str) -> None:
    assert sha256_text(text) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("line", ["[]", "null", "1", '"a"'])
def test_a_line_that_is_no_object_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "rows.jsonl").write_text(f'{{"a": 1}}\n{line}\n')
    with pytest.raises(DataError) as caught:
        list(read_jsonl(tmp_path / "rows.jsonl"))
    assert "rows.jsonl line 2" in str(caught.value)


@dataclass(frozen=True)
class _Row:
    id: str
    count: int | None


def test_rows_are_read_as_the_type_that_they_hold(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"id": "a", "count": 1, "more": []}, {"id": "b", "count": None}]
    write_jsonl(path, rows)
    assert list(read_models(path, _Row)) == [_Row("a", 1), _Row("b", None)]
    assert list(read_ids(path)) == ["a", "b"]


def test_a_row_of_another_type_is_named(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "rows.jsonl", [{"id": "a", "count": 1}, {"id": "b", "count": "many"}, {"id": 3}])
    with pytest.raises(DataError) as caught:
        list(read_models(tmp_path / "rows.jsonl", _Row))
    assert "rows.jsonl line 2" in str(caught.value) and "count" in caught.value.what
    with pytest.raises(DataError) as caught:
        list(read_ids(tmp_path / "rows.jsonl"))
    assert "rows.jsonl line 3" in str(caught.value)


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_mode_is_the_one_asked_for_whatever_was_there(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o666)
    write_bytes(path, b"new", mode=mode)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_private_file_is_never_readable_by_others_while_it_is_written(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "secret", mode=0o600) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600


def broken_rows() -> Iterator[object]:
    yield {"id": 1}
    raise RuntimeError("the source broke")


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (broken_rows(), RuntimeError),
        ([1, math.nan], ValueError),
        ([1, "\ud800"], UnicodeEncodeError),
        ([{1, 2}], TypeError),
    ],
    ids=["source breaks", "not a number", "half a surrogate", "no JSON type"],
)
def test_a_failure_leaves_the_old_content_and_nothing_else(
    tmp_path: Path, rows: Iterator[object], error: type[Exception]
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("old")
    with pytest.raises(error):
        write_jsonl(path, rows)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_new_content_shows_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with atomic_path(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with fails_with("unwritable") as caught:
        write_bytes(tmp_path / "file" / "below", b"x")
    assert caught.value.where == str(tmp_path / "file" / "below")


def test_a_folder_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    refused("unwritable", write_bytes, tmp_path / "folder", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("content", [b"{", b"", b"\xff", b'{"a":1}{'])
def test_what_is_no_json_is_refused_with_its_place(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_json(path)
    assert (caught.value.code, caught.value.where) == ("bad-json", str(path))


def test_a_bad_line_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b'{}\n{"a": [1]}\n{"torn\n')
    rows = read_jsonl(path)
    assert [next(rows), next(rows)] == [{}, {"a": [1]}]
    with pytest.raises(DataError) as caught:
        next(rows)
    assert caught.value.where == f"{path} line 3"


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    for read in (read_json, lambda path: list(read_jsonl(path))):
        refused("missing-file", read, tmp_path / "none")
