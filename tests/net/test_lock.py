"""One holder at a time, and a lock ends with its holder, however that ends."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hellofresh.core.errors import WorkspaceError
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
