"""Locks and databases that several processes use, on every system."""

from __future__ import annotations

import ast
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hellofresh.core.errors import WorkspaceError
from hellofresh.core.net.database import SchemaVersionError, open_database
from hellofresh.core.net.lock import locked

HOLDER = """
import sys
from pathlib import Path
from hellofresh.core.net.lock import locked
with locked(Path(sys.argv[1]), what="holding"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_is_refused_until_the_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        with pytest.raises(WorkspaceError) as caught, locked(path, what="working on it"):
            pass
        holder.kill()
        holder.wait()
    assert (caught.value.code, caught.value.where) == ("locked", str(path))
    assert caught.value.what == "another process is working on it"
    with locked(path, what="working on it"):
        pass


def test_threads_exclude_each_other_too(tmp_path: Path) -> None:
    refused: list[str] = []

    def try_it() -> None:
        try:
            with locked(tmp_path / "a", what="busy"):
                refused.append("no")
        except WorkspaceError as error:
            refused.append(error.code)

    with locked(tmp_path / "a", what="busy"):
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
    try_it()
    assert refused == ["locked", "no"]


def test_who_waits_gets_it_when_the_holder_is_done(tmp_path: Path) -> None:
    waiting, done = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(tmp_path / "a", what="busy"):
            waiting.set()
            assert done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert waiting.wait(60)
    done.set()
    with locked(tmp_path / "a", what="busy", wait_s=60):
        thread.join()


def test_an_error_inside_lets_go(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="inside"), locked(tmp_path / "a", what="busy"):
        raise ValueError("inside")
    with locked(tmp_path / "a", what="busy"):
        pass


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(WorkspaceError) as caught, locked(tmp_path / "file" / "a", what="busy"):
        pass
    assert (caught.value.code, caught.value.where) == ("unwritable", str(tmp_path / "file" / "a"))


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceError), locked(tmp_path / "a", what="busy"):
        pass
    assert not (tmp_path / "elsewhere").exists()


# --- A database is made whole, kept to one version, and its commits are on disk.


SCHEMA = "CREATE TABLE IF NOT EXISTS a (x INTEGER) STRICT"


def test_every_commit_is_flushed_and_seen_by_others(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.sqlite"
    first, second = open_database(path, SCHEMA), open_database(path, SCHEMA)
    assert first.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert first.execute("PRAGMA synchronous").fetchone() == (2,)
    first.execute("INSERT INTO a VALUES (7)")
    assert second.execute("SELECT x FROM a").fetchall() == [(7,)]
    first.close()
    second.close()


def test_a_file_of_another_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    open_database(path, SCHEMA, version=3).close()
    before = path.read_bytes()
    with pytest.raises(SchemaVersionError, match=r"3.*4"):
        open_database(path, SCHEMA, version=4)
    assert path.read_bytes() == before


def test_what_is_no_database_is_an_error_and_no_open_file(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"no database at all " * 100)
    with pytest.raises(sqlite3.DatabaseError):
        open_database(path, SCHEMA)


def test_a_private_file_and_its_side_files_are_only_the_owners(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    before = os.umask(0)
    try:
        database = open_database(path, SCHEMA, private=True)
        assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
        assert len(list(tmp_path.iterdir())) > 1
        database.close()
    finally:
        os.umask(before)


# --- The package imports on systems without POSIX: what only POSIX has is imported by one worker process alone.


POSIX_ONLY = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios"}
WORKER = "hellofresh/evidence/web/_worker.py"


def imported(path: Path) -> set[str]:
    """Top names of the modules that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def test_only_programs_of_their_own_import_what_posix_alone_has(root: Path) -> None:
    files = [path for package in ("hellofresh", "collectors", "leaderboard") for path in (root / package).rglob("*.py")]
    posix = {path.relative_to(root).as_posix() for path in files if imported(path) & POSIX_ONLY}
    assert posix == {WORKER, "leaderboard/data/checks.py"}  # the second within the worker alone


def test_locks_and_runs_import_where_fcntl_is_missing(root: Path) -> None:
    names = "hellofresh.core.net.lock, hellofresh.runs, hellofresh.evidence.web"
    program = f"import sys; sys.modules['fcntl'] = None; import {names}"
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
