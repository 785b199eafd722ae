"""The site while its copy is being made: a page that somebody waits for comes next, and only a whole copy stays."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Semaphore
from typing import Any

import pytest

from hellofresh.core.errors import DataError
from hellofresh.core.files import temporary_prefix
from hellofresh.core.workspace import Workspace
from hellofresh.results.board.build import build_board
from leaderboard import serving
from leaderboard.export import copy as pages
from leaderboard.export import export_board, is_exported
from leaderboard.serving import ServedCopy

FIRST, LAST = "index.html", "x-notes/2023Q2/data.html"


@pytest.fixture
def workspace(make_board: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Of a small board, which the command line finds."""
    made: Workspace = make_board(bundled=None)
    monkeypatch.setenv("HELLOFRESH_DATA", str(made.root))
    return made


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Semaphore]:
    """How many more pages are drawn; nobody waits long for the others."""
    gate, draw = Semaphore(0), pages.drawn_page

    def drawn_page(*asked: Any) -> Any:
        gate.acquire()
        return draw(*asked)

    monkeypatch.setattr(pages, "drawn_page", drawn_page)
    monkeypatch.setattr(serving, "_PATIENCE_S", 0.2)
    yield gate
    gate.release(10_000)


def wait(copy: ServedCopy, path: str, status: int = 200) -> Path | bytes:
    for _ in range(1000):
        found, answer = copy.find(path)
        if found == status:
            return answer
    pytest.fail(f"{path} is not answered with {status}")


def test_a_page_is_served_as_soon_as_it_is_made_and_a_wanted_one_is_made_next(
    workspace: Workspace, allowed: Semaphore
) -> None:
    copy = ServedCopy.of_board(workspace.board)
    assert wait(copy, "x-notes/none", 404)
    status, page = copy.find(LAST)
    said = re.search(rb"([0-9]+) of ([0-9]+) pages are there", page if isinstance(page, bytes) else b"")
    assert status == 503 and b'http-equiv="refresh"' in page and b'href="../../index.html"' in page  # type: ignore[operator]
    assert said and int(said[1]) == 0 and int(said[2]) > 10
    allowed.release(2)
    for path in (FIRST, LAST):
        file = wait(copy, path)
        assert isinstance(file, Path) and copy.folder not in file.parents
        assert b"</html>" in file.read_bytes()
    assert copy.find("style.css")[0] == 200
    assert copy.find("x-notes/2023Q2/analyses.csv")[0] == copy.find("about.html")[0] == 503
    assert copy.find("../board/manifest.json")[0] == 503 and copy.find("../board/")[0] == 404
    assert not copy.folder.exists()
    allowed.release(10_000)
    wait(copy, "no-such.csv", 404)
    assert is_exported(workspace.board, copy.folder)
    assert copy.find(LAST) == (200, copy.folder / LAST)
    assert copy.find("hellofresh-export.json")[0] == copy.find("../board/manifest.json")[0] == 404


def test_a_copy_that_is_stopped_leaves_nothing_and_one_that_was_killed_is_swept(
    workspace: Workspace, allowed: Semaphore
) -> None:
    copy = ServedCopy.of_board(workspace.board)
    allowed.release(1)
    wait(copy, FIRST)
    half = next(workspace.root.glob(".site.*"))
    copy.close()
    allowed.release(10_000)
    assert copy._maker is not None
    copy._maker.join()
    assert not half.exists() and not copy.folder.exists()
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    name = re.sub(r"-\d+-$", f"-{int(dead.stdout)}-abcd1234", temporary_prefix("site"))
    (workspace.root / name).mkdir()
    (workspace.root / name / FIRST).write_text("half")
    export_board(workspace.board, copy.folder)
    assert not (workspace.root / name).exists()


def test_a_board_that_changes_meanwhile_is_shown_instead_and_never_the_one_before(
    workspace: Workspace, allowed: Semaphore, tmp_path: Path
) -> None:
    copy = ServedCopy.of_board(workspace.board)
    allowed.release(1)
    wait(copy, FIRST)
    manifest = (workspace.board / "manifest.json").read_bytes()
    build_board(workspace, private=False)
    (workspace.board / "manifest.json").write_bytes(manifest + b"\n")
    allowed.release(10_000)
    wait(copy, "no-such.csv", 404)
    assert is_exported(workspace.board, copy.folder)


def test_what_keeps_a_copy_from_being_made_is_said_and_the_next_visit_tries_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = pages.drawn_page

    def fail(*_: object) -> None:
        raise DataError("broken", code="damaged-board")

    monkeypatch.setattr(pages, "drawn_page", fail)
    copy = ServedCopy.of_board(workspace.board)
    with pytest.raises(DataError, match="broken"):
        copy.find(FIRST)
    monkeypatch.setattr(pages, "drawn_page", draw)
    wait(copy, FIRST)
    copy.close()
