"""A stage is skipped where nothing has changed; its files are whole whatever happens, and a rerun mends the rest."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors import sample
from hellofresh.cli import main
from hellofresh.core.files import read_json, write_json
from hellofresh.core.stages import Stage
from hellofresh.core.workspace import Workspace

Q = ("--quarter", "2026Q2")
EARLIER = "2026-11-20T12:00:00Z"


@dataclass(frozen=True)
class Step:
    """A stage: its command, the files that it reads, and those that it makes, as patterns below the data folder."""

    command: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


STEPS = {
    "collect": Step(
        ("collect", "x-notes", *Q, "--dump", "raw", "--posts", "raw/posts.jsonl"),
        ("../raw/notes-00000.zip", "../raw/noteStatusHistory-00000.zip"),
        ("candidates/x-notes/*",),
    ),
    "release": Step(
        ("release", "build", *Q),
        ("candidates/x-notes/*.parquet",),
        ("releases/2026Q2/x-notes/*", "private/2026Q2/x-notes/*"),
    ),
    "evaluate": Step(
        ("evaluate", *Q, "--task", "x-notes", "--model", "always-yes"),
        ("releases/2026Q2/x-notes/manifest.json", "releases/2026Q2/x-notes/samples.jsonl"),
        ("runs/*/predictions.jsonl", "runs/*/responses.jsonl"),
    ),
    "score": Step(
        ("score", *Q),
        ("releases/2026Q2/x-notes/manifest.json", "private/2026Q2/x-notes/labels.jsonl", "runs/*/predictions.jsonl"),
        ("private/scores/*.parquet", "private/judgements/*.parquet"),
    ),
}
STAGES = list(STEPS)

PROGRAM = """
import os, sys
left, real = int(sys.argv[1]), os.replace
def replace(*paths, **named):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), 9)
    return real(*paths, **named)
os.replace = replace
from hellofresh.cli import main
sys.exit(main(sys.argv[2:]))
"""


def matching(data: Path, patterns: Sequence[str]) -> list[Path]:
    """The files below a data folder; a pattern may begin beside it."""
    places = [(data.parent, p[3:]) if p.startswith("../") else (data, p) for p in patterns]
    return [
        path
        for place, pattern in places
        for path in sorted(place.glob(pattern))
        if path.is_file() and path.name[0] != "."
    ]


def hashes(data: Path, patterns: Sequence[str]) -> dict[str, str]:
    return {
        path.relative_to(data).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in matching(data, patterns)
    }


def prepare(folder: Path) -> None:
    """A place before each stage, the dump beside its data, and one after the last."""
    place = folder / STAGES[0]
    plain = folder / "plain"
    sample.write_notes_dump(plain)
    (place / "raw").mkdir(parents=True)
    for path in plain.iterdir():
        if path.suffix == ".tsv":
            with ZipFile(place / "raw" / f"{path.stem}.zip", "w", ZIP_DEFLATED) as archive:
                archive.write(path, path.name)
    shutil.copy(plain / "posts.jsonl", place / "raw")
    (place / "data" / "private").mkdir(parents=True)
    (place / "data" / "private" / "escrow.key").write_text("ab" * 32)
    for stage, after in zip(STAGES, [*STAGES[1:], "done"], strict=True):
        shutil.copytree(folder / stage, folder / after)
        with pytest.MonkeyPatch.context() as patch:
            enter(patch, folder / after)
            assert main([*STEPS[stage].command]) == 0


def enter(patch: pytest.MonkeyPatch, place: Path) -> None:
    patch.chdir(place)
    patch.setenv("HELLOFRESH_DATA", str(place / "data"))
    patch.delenv("HELLOFRESH_CONFIG", raising=False)


@pytest.fixture(scope="module")
def places(built_once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """The places; tests must not change them."""
    return built_once("stage-faults", prepare)


@dataclass(frozen=True)
class Trial:
    """A stage that can be run in a copy of its place; `right` are the hashes of its outputs without any fault."""

    step: Step
    data: Path
    right: dict[str, str]
    root: Path

    def run(self) -> int:
        return main([*self.step.command])

    def start(self, killed_at: int = 0) -> subprocess.Popen[bytes]:
        """In a process of its own, which is killed before it puts that file (from 1) into its place."""
        command = [sys.executable, "-c", PROGRAM, str(killed_at), *self.step.command]
        environment = {**os.environ, "PYTHONPATH": str(self.root)}
        return subprocess.Popen(
            command, cwd=self.data.parent, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    @property
    def made(self) -> dict[str, str]:
        """Hashes of the outputs that are there."""
        return hashes(self.data, self.step.outputs)


@pytest.fixture
def trial(places: Path, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Trial]]:
    """Makes a copy of a stage's place, before it or, with `done`, after it, and enters it."""

    def begin(stage: str, *, done: bool = False) -> Trial:
        after = [*STAGES, "done"][STAGES.index(stage) + 1]
        place = shutil.copytree(places / (after if done else stage), tmp_path / "place")
        enter(monkeypatch, place)
        step = STEPS[stage]
        right = hashes(places / after / "data", step.outputs)
        assert len(right) >= len(step.outputs)
        return Trial(step, place / "data", right, root)

    yield begin


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_killed_between_two_files_leaves_whole_ones_and_is_mended_by_a_rerun(
    trial: Callable[..., Trial], stage: str
) -> None:
    attempt = trial(stage)
    for killed_at in (1, 2):
        with attempt.start(killed_at) as process:
            process.communicate()
        assert process.returncode == -9
        assert attempt.made.items() <= attempt.right.items()
    assert attempt.run() == 0
    assert attempt.made == attempt.right


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_that_is_interrupted_leaves_whole_files_and_is_mended_by_a_rerun(
    trial: Callable[..., Trial], stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = trial(stage)

    def interrupted(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        assert attempt.run() == 130
    assert attempt.made.items() <= attempt.right.items()
    assert attempt.run() == 0
    assert attempt.made == attempt.right


@pytest.mark.parametrize("stage", STAGES)
def test_two_of_a_stage_at_once_make_what_one_makes(trial: Callable[..., Trial], stage: str) -> None:
    attempt = trial(stage)
    with attempt.start() as first, attempt.start() as second:
        said = [process.communicate()[1] for process in (first, second)]
    for process, words in zip((first, second), said, strict=True):
        assert process.returncode == 0 or b"another process" in words
    assert 0 in (first.returncode, second.returncode)
    assert attempt.made == attempt.right


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(("function", "number"), [("os.fsync", errno.ENOSPC), ("tempfile.mkstemp", errno.EROFS)])
def test_a_disk_that_is_full_or_cannot_be_written_is_named_and_leaves_whole_files(
    trial: Callable[..., Trial],
    stage: str,
    function: str,
    number: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    attempt = trial(stage)

    def failing(*_: object, **__: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    module, name = {"os.fsync": (os, "fsync"), "tempfile.mkstemp": (tempfile, "mkstemp")}[function]
    with monkeypatch.context() as patch:
        patch.setattr(module, name, failing)
        assert attempt.run() != 0
    assert os.strerror(number) in " ".join(capsys.readouterr().err.split())
    assert attempt.made.items() <= attempt.right.items()
    assert attempt.run() == 0
    assert attempt.made == attempt.right


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "flipped": flipped,
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "empty": lambda path: path.write_bytes(b""),
    "rubbish": lambda path: path.write_bytes(b"\x00\xff\xfe{]" * 200),
}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_input_is_refused_and_a_sound_one_taken_again(
    trial: Callable[..., Trial], stage: str, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    attempt = trial(stage)
    refused = 0
    for path in matching(attempt.data, attempt.step.inputs):
        sound = path.read_bytes()
        DAMAGE[damage](path)
        code = attempt.run()
        said = capsys.readouterr().err
        # Of what is not needed (enrolment), or can be made again from the journal, the fault may not show.
        assert code == 0 or "error:" in said, path.name
        assert "Traceback" not in said
        made = attempt.made
        assert made.items() <= attempt.right.items(), path.name
        refused += code != 0
        path.write_bytes(sound)
    assert refused
    assert attempt.run() == 0
    assert attempt.made == attempt.right


@pytest.mark.parametrize("stage", ["evaluate", "score"])
def test_a_manifest_of_another_format_is_refused_by_every_stage_that_reads_it(
    trial: Callable[..., Trial], stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    attempt = trial(stage)
    path = attempt.data / "releases/2026Q2/x-notes/manifest.json"
    write_json(path, {**read_json(path), "format": 99})
    assert attempt.run() != 0
    assert "99" in capsys.readouterr().err
    assert attempt.made == {}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("damage", ["gone", "flipped", "cut"])
def test_an_output_that_was_damaged_afterwards_is_made_again(
    trial: Callable[..., Trial], stage: str, damage: str
) -> None:
    attempt = trial(stage, done=True)
    for path in matching(attempt.data, attempt.step.outputs):
        if path.name in {"draw.key", "labels.jsonl"}:  # secrets: what was committed to cannot be made anew
            continue
        DAMAGE[damage](path)
        if attempt.run() != 0:  # a manifest that is not JSON does not say whether its release has opened
            assert path.name == "manifest.json"
            path.unlink()
            assert attempt.run() == 0
        assert attempt.made == attempt.right


@pytest.mark.parametrize("stage", STAGES)
def test_a_second_run_of_a_stage_writes_nothing(trial: Callable[..., Trial], stage: str) -> None:
    attempt = trial(stage, done=True)
    before = {path: path.stat().st_mtime_ns for path in matching(attempt.data, attempt.step.outputs)}
    assert attempt.run() == 0
    after = {path: path.stat().st_mtime_ns for path in matching(attempt.data, attempt.step.outputs)}
    assert (after if stage != "evaluate" else after.keys()) == (before if stage != "evaluate" else before.keys())
    assert attempt.made == attempt.right


def test_a_clock_a_day_back_changes_nothing_of_a_collection(
    trial: Callable[..., Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = trial("collect", done=True)
    monkeypatch.setenv("HELLOFRESH_NOW", EARLIER)
    assert main([*attempt.step.command, "--force"]) == 0
    assert attempt.made == attempt.right


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_on_files_of_this_machine_asks_nobody(
    trial: Callable[..., Trial], stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = trial(stage)

    def refused(*_: object) -> NoReturn:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    assert attempt.run() == 0
    assert attempt.made == attempt.right


@pytest.fixture
def done(make):
    """A stage that has been done, and its output."""
    workspace = make.workspace()
    output = workspace.root / "out" / "file"
    output.parent.mkdir(parents=True)
    output.write_text("made")
    stage = Stage.of(workspace, "collect/x/2023Q2", {"a": 1}, {})
    stage.record([output])
    return stage, output


def test_what_was_done_is_current_until_an_input_changes(done) -> None:
    stage, _ = done
    assert stage.is_current()
    assert Stage.of(stage.workspace, stage.name, {"a": 1}, {}).is_current()
    assert not Stage.of(stage.workspace, stage.name, {"a": 2}, {}).is_current()
    assert not replace(stage, name="collect/x/2023Q3").is_current()


@pytest.mark.parametrize(
    "receipt", ["", "{", "[]", "null", "7", '{"key": 1}', '{"outputs": {}}', '{"key":"K","makers":{},"outputs":[]}']
)
def test_a_damaged_receipt_means_to_do_it_again(done, receipt: str) -> None:
    stage, _ = done
    (path,) = stage.workspace.root.glob("private/receipts/**/*.json")
    path.write_text(receipt.replace("K", stage.key))
    assert not stage.is_current()


@given(
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=3),
)
def test_keys_agree_exactly_when_inputs_do(a: dict[str, int], b: dict[str, int]) -> None:
    first, second = (Stage.of(Workspace(Path("data")), "one", inputs, {}) for inputs in (a, b))
    assert (first.key == second.key) == (a == b)
