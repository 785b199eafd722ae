"""Children started in a folder with somebody else's modules: none of them runs, and no key is handed on."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from hellofresh.core.children import plain_environment, python_command, shadowing
from hellofresh.core.executors import process_pool
from hellofresh.core.plugins import plugins
from hellofresh.evidence.web._workers import Job, Workers


@pytest.fixture
def planted(tmp_path: Path, monkeypatch) -> Path:
    """The current folder, with modules that leave a mark when they run; returns the mark."""
    mark = tmp_path / "ran"
    for name in ("json.py", "random.py", "lxml/__init__.py", "PIL/__init__.py", "trafilatura.py"):
        path = tmp_path / "here" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"import os\nopen({str(mark)!r}, 'a').write(__name__ + str(os.environ.get('OPENAI_API_KEY')))\n"
        )
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    return mark


def test_readers_of_pages_and_pictures_take_no_module_from_the_current_folder(planted: Path, monkeypatch) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (8, 8)).save(picture, "PNG")
    asked: list[tuple[Job, bytes]] = [("trafilatura", b"<html><p>Text</p></html>"), ("picture", picture.getvalue())]

    async def read(job: Job, body: bytes) -> dict[str, object]:
        workers = Workers(job)
        try:
            return await workers.ask(body, "text/html")
        finally:
            await workers.close()

    # Places that are empty or relative mean the current folder, too.
    monkeypatch.setenv("PYTHONPATH", f"{os.pathsep}relative")
    for job, body in asked:
        assert "problem" not in asyncio.run(read(job, body))
    assert not planted.exists()


def _imported(_: int) -> str:
    import random

    return str(random.__file__)


def test_other_children_take_none_either_and_hold_no_key(planted: Path) -> None:
    with process_pool(1)() as pool:
        assert str(planted.parent) not in next(iter(pool.map(_imported, [0])))
    shown = "import json, os, random, sys; sys.stdout.write(' '.join(os.environ) + json.__file__ + random.__file__)"
    command = [*python_command("timeit")[:2], "-c", shown]
    said = subprocess.run(command, env=plain_environment("HELLOFRESH_"), capture_output=True, text=True, check=True)
    assert "KEY" not in said.stdout and str(planted.parent) not in said.stdout and not planted.exists()


@pytest.mark.parametrize("place", ["", "here"])
def test_modules_of_the_current_folder_that_would_run_for_installed_ones_are_named(
    tmp_path: Path, monkeypatch, place: str
) -> None:
    # Harmless ones, as a user may have: the command names them (`cli.main`) and goes on.
    for name in ("turtle.py", "lxml/__init__.py", "notes.py", "email/letter.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    assert shadowing() == []
    monkeypatch.setattr(sys, "path", [place and str(tmp_path), *sys.path])
    assert shadowing() == ["lxml", "turtle"]


def test_metadata_in_the_current_folder_is_no_package(planted: Path, monkeypatch) -> None:
    metadata = planted.parent / "here" / "planted-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: planted\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[hellofresh.regimes]\nmine = trafilatura:fetch_url\n")
    monkeypatch.setattr(sys, "path", [str(metadata.parent), *sys.path])
    monkeypatch.delitem(sys.modules, "trafilatura", raising=False)
    assert plugins("hellofresh.regimes") == {} and not planted.exists()
