"""Every file of the corpus is refused at its entry point with its code, fast, in little memory, without a traceback."""

from __future__ import annotations

import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

CORPUS = Path(__file__).parent / "corpus"
sys.path.insert(0, str(CORPUS))
from entry_points import ENTRY_POINTS, NAMES, VALID  # noqa: E402 - lies with the corpus
from generate import GENERATED  # noqa: E402

EXPECTED: dict[str, dict[str, str]] = {
    folder: tomllib.loads((CORPUS / folder / "expected.toml").read_text(encoding="utf-8")) for folder in ENTRY_POINTS
}
CASES = [(folder, name) for folder, names in EXPECTED.items() for name in names]
WORST = [
    ("submissions", "07-depth-100000.jsonl"),
    ("submissions", "21-ten-megabytes-in-a-line.jsonl"),
    ("submissions", "68-key-of-10-megabytes.toml"),
    ("submissions", "70-gzip-bomb.jsonl"),
    ("tables", "21-rows-without-end.csv"),
    ("tables", "41-cell-of-200-kb.csv"),
    ("receipts", "07-depth-100000.json"),
    ("settings", "68-key-of-100000-parts.toml"),
    ("settings", "66-nested-a-million-times.toml"),
    ("prompts", "68-key-of-100000-parts.toml"),
    ("notes", "21-line-without-end.tsv"),
    ("notes", "70-bomb.zip"),
    ("posts", "21-line-without-end.jsonl"),
    ("histories", "70-gzip-bomb.xml.gz"),
    ("histories", "68-attribute-of-10-megabytes.xml"),
    ("histories", "86-depth-100000.xml"),
    ("histories", "94-entity-bomb.xml"),
    ("releases", "samples-07-depth-100000.jsonl"),
]
MOST_KB = 256 * 1024


def content_of(folder: str, name: str) -> bytes:
    made: Callable[[], bytes] | None = GENERATED.get(folder, {}).get(name)
    return made() if made is not None else (CORPUS / folder / name).read_bytes()


@pytest.mark.parametrize(("folder", "name"), CASES)
def test_every_file_is_refused_with_its_code_within_two_seconds(tmp_path, folder: str, name: str) -> None:
    content = content_of(folder, name)
    start = time.process_time()
    codes = ENTRY_POINTS[folder](tmp_path, name, content)
    assert time.process_time() - start < 2
    assert EXPECTED[folder][name] in codes


@pytest.mark.parametrize("kind", VALID)
def test_every_entry_point_takes_what_is_right(tmp_path, kind: str) -> None:
    folder, content = VALID[kind]
    assert ENTRY_POINTS[folder](tmp_path, NAMES[kind], content) == set()


def test_the_corpus_and_its_codes_name_the_same_files() -> None:
    for folder, expected in EXPECTED.items():
        stored = {path.name for path in (CORPUS / folder).iterdir()} - {"expected.toml"}
        generated = GENERATED.get(folder, {}).keys()
        assert not stored & generated
        assert expected.keys() == stored | generated
    assert len(CASES) >= 92


def test_the_worst_files_stay_within_256_megabytes(tmp_path) -> None:
    program = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[1:3]
from entry_points import ENTRY_POINTS
for number, (folder, name, path) in enumerate(zip(*[iter(sys.argv[3:])] * 3)):
    place = Path(path).parent / f"work{number}"
    place.mkdir()
    assert ENTRY_POINTS[folder](place, name, Path(path).read_bytes()), name
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
    print(folder, name, peak)
"""
    arguments: list[str] = []
    for number, (folder, name) in enumerate(WORST):
        path = tmp_path / str(number)
        path.write_bytes(content_of(folder, name))
        arguments += [folder, name, str(path)]
    command = [sys.executable, "-c", program, str(CORPUS), str(CORPUS.parent.parent), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    peaks = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in done.stdout.splitlines()}
    assert len(peaks) == len(WORST)
    assert max(peaks.values()) < MOST_KB, peaks
