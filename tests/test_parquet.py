"""Parquet is written by one function, and where there is no room it says so, leaving what was there."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from hellofresh.errors import WorkspaceError
from hellofresh.parquet import write_parquet

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


LIMITED = """
import resource, sys
from pathlib import Path
import polars as pl
from hellofresh.errors import WorkspaceError
from hellofresh.parquet import write_parquet
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    write_parquet(Path(sys.argv[1]), pl.DataFrame({"a": range(100_000)}))
except WorkspaceError as error:
    print(error.code, error.what)
"""


def test_a_limit_of_the_system_is_the_same_error(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "table.parquet")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == f"unwritable cannot write: {os.strerror(errno.EFBIG)}\n"
    assert not list(tmp_path.iterdir())


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
    assert found == {"hellofresh/parquet.py", "hellofresh/analyses/writing.py"}


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_parquet(tmp_path / name, BIG)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
