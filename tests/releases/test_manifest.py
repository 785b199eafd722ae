"""A manifest has one type: it is written as it was read, and one of another format is refused wherever it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.errors import HelloFreshError
from hellofresh.core.files import read_json, write_json
from hellofresh.core.quarters import Quarter
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life.load import Published, load_release
from hellofresh.releases.life.manifest import amend_manifest, read_manifest, write_manifest
from hellofresh.releases.life.state import reveal, state_of
from hellofresh.releases.life.takedown import take_down
from hellofresh.releases.publish.folder import publish_to_folder
from hellofresh.results.reveal import publish_results
from hellofresh.results.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.submissions.released import due_in

REVEALS = CalendarRule().of(Quarter(2023, 2)).reveals


@pytest.fixture
def folder(make, quarter, notes_task) -> Path:
    """The public folder of a release with a run."""
    make.release(make.notes(3, 3))
    evaluate(make.workspace(), Evaluation(quarter, notes_task, "coin"), lambda _: None)
    return make.workspace().release(quarter, "x-notes")


@pytest.mark.parametrize("more", [{}, {"note": {"of": [1, None, "a later version"]}}])
def test_every_version_is_written_as_it_was_read(make, quarter, notes_task, folder: Path, more: dict[str, Any]) -> None:
    write_json(folder / "manifest.json", read_json(folder / "manifest.json") | more)
    take_down(make.workspace(), quarter, notes_task, {"xn-4001": "asked"}, REVEALS)
    assert reveal(make.workspace(), quarter, notes_task, REVEALS)
    publish_results(make.workspace(), score_quarter(make.workspace(), quarter, make.folder / "none", REVEALS))
    before = (folder / "manifest.json").read_bytes()
    manifest = read_manifest(folder)
    assert manifest.version == 4
    write_manifest(folder, manifest)
    assert (folder / "manifest.json").read_bytes() == before
    said = read_json(folder / "manifest.json")
    assert {name: said[name] for name in more} == more
    assert not {"prospective", "resolved", "split"} & said.keys()


READERS: dict[str, Any] = {
    "loaded": load_release,
    "loaded as published": lambda work, quarter, task: Published.open(work, quarter, task.name).samples(task),
    "asked for its state": lambda work, quarter, task: state_of(work, quarter, task, REVEALS),
    "scored": lambda work, quarter, _: score_quarter(work, quarter, work.root / "none", REVEALS),
    "revealed": lambda work, quarter, task: reveal(work, quarter, task, REVEALS),
    "taken down from": lambda work, quarter, task: take_down(work, quarter, task, {"xn-4001": "asked"}, REVEALS),
    "published": lambda work, _, __: publish_to_folder(work, work.root / "published", REVEALS),
    "built again": lambda work, quarter, task: build_release(work, quarter, task, seed="s", cap=9, moment=REVEALS),
    "given predictions for": lambda work, quarter, _: due_in(work, quarter),
    "amended": lambda work, quarter, task: amend_manifest(
        work.release(quarter, task.name), read_manifest(work.release(quarter, task.name)), []
    ),
}


SAME_DAY = dict.fromkeys(("opens", "deadline", "reveals"), "2024-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("reader", "change", "code"),
    [
        *((reader, {"format": 99}, "unknown-format") for reader in READERS),
        ("loaded", {"format": "1"}, "unknown-format"),
        ("loaded", {"version": "1"}, "damaged-release"),
        ("loaded", {"calendar": SAME_DAY}, "damaged-release"),
    ],
)
def test_one_that_cannot_be_understood_is_refused_wherever_it_is_read(
    make, quarter, notes_task, folder: Path, reader: str, change: dict[str, Any], code: str
) -> None:
    write_json(folder / "manifest.json", read_json(folder / "manifest.json") | change)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(HelloFreshError, check=lambda error: error.code == code):
        READERS[reader](make.workspace(), quarter, notes_task)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "bad-json"), (b"\xef\xbb\xbf{}", "bad-json"), ("{}".encode("utf-16"), "bad-json"),
        (b"{}", "damaged-release"),
        (b'{"format": 1, "format": 1}', "bad-json"), (b'{"format": NaN}', "bad-json"), (b"[" * 900, "bad-json"),
        (b"[]", "damaged-release"),
    ],
)  # fmt: skip
def test_what_parsers_read_differently_is_no_manifest(folder: Path, content: bytes, code: str) -> None:
    (folder / "manifest.json").write_bytes(content)
    with pytest.raises(HelloFreshError) as caught:
        read_manifest(folder)
    assert caught.value.code == code
    assert str(folder) in str(caught.value)
