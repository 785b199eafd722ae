"""Parquet is written by one function, and where there is no room it says so, leaving what was there."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from hellofresh.core.errors import WorkspaceError
from hellofresh.core.parquet import BadTableError, Table, write_parquet

ROOT = Path(__file__).resolve().parent.parent
BIG = pl.DataFrame({"a": range(100_000)})
WORDS = "parquet: File out of specification: underlying IO error: No space left on device (os error 28)"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    mount = subprocess.run(command, check=False, capture_output=True)
    if mount.returncode:
        pytest.skip("no file system may be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def refused(path: Path) -> WorkspaceError:
    with pytest.raises(WorkspaceError) as caught:
        write_parquet(path, BIG)
    return caught.value


def test_a_full_disk_is_one_clear_error_and_leaves_the_old_table(small_disk: Path) -> None:
    path = small_disk / "table.parquet"
    write_parquet(path, BIG.head(10))
    error = refused(path)
    assert (error.code, error.where) == ("unwritable", str(path))
    assert os.strerror(errno.ENOSPC) in error.what
    assert list(small_disk.iterdir()) == [path]
    assert pl.read_parquet(path).height == 10


def test_what_polars_raises_on_a_full_disk_is_told_as_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise pl.exceptions.ComputeError(WORDS)

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    assert refused(tmp_path / "t.parquet").what == f"cannot write: {os.strerror(errno.ENOSPC)}"
    assert not list(tmp_path.iterdir())


def test_a_failure_that_is_not_the_disks_is_not_blamed_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise pl.exceptions.ComputeError("cannot write this type")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", broken)
    with pytest.raises(pl.exceptions.ComputeError):
        write_parquet(tmp_path / "t.parquet", BIG)
    assert not list(tmp_path.iterdir())


def test_no_other_code_writes_parquet_to_a_disk() -> None:
    """Analyses write theirs to memory, where there is no disk to fill."""
    found = {
        path.relative_to(ROOT).as_posix()
        for room in ("hellofresh", "collectors", "leaderboard")
        for path in (ROOT / room).rglob("*.py")
        if any(call in path.read_text(encoding="utf-8") for call in (".write_parquet(", ".sink_parquet("))
    }
    assert found == {"hellofresh/core/parquet.py", "hellofresh/results/analyses/writing.py"}


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_parquet(tmp_path / name, BIG)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@dataclass(frozen=True, slots=True)
class Reading:
    place: str
    count: int
    share: float
    known: bool
    remark: str | None


READINGS = Table(Reading, {"day": str})
ROWS = [Reading("a", 1, 0.5, True, None), Reading("b", 2, 1.0, False, "late")]


def written(path: Path, frame: pl.DataFrame) -> Path:
    write_parquet(path, frame)
    return path


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda frame: frame.drop("day", "count"), "columns are missing: count, day"),
        (lambda frame: frame.with_columns(place=pl.lit(None, pl.String)), "the column place does not hold text"),
        (lambda frame: frame.with_columns(day=pl.lit(None, pl.String)), "the column day does not hold text"),
        (lambda frame: frame.with_columns(count=pl.lit("1")), "the column count does not hold whole numbers"),
        (lambda frame: frame.with_columns(known=pl.lit(1)), "the column known does not hold true or false"),
    ],
)
def test_a_table_of_other_columns_is_refused(
    tmp_path: Path, change: Callable[[pl.DataFrame], pl.DataFrame], what: str
) -> None:
    path = written(tmp_path / "t.parquet", change(READINGS.frame(ROWS, day="monday")))
    with pytest.raises(BadTableError, match=what):
        READINGS.scan(path)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"{}"])
def test_what_is_no_parquet_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(content)
    with pytest.raises(BadTableError, match="cannot be read as Parquet"):
        READINGS.read(path)
    with pytest.raises(BadTableError, match="cannot be read as Parquet"):
        READINGS.read(tmp_path / "missing.parquet")
