"""The same sources and settings give the same public bytes on any machine, on any day, and none of a contributor."""

from __future__ import annotations

import bz2
import os
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

SCRIPT = """
import os, random, sys

class Shuffled:
    '''A listing of a folder in another order.'''
    def __init__(self, entries):
        self.entries = iter(sorted(entries, key=lambda entry: random.random()))
    def __iter__(self): return self
    def __next__(self): return next(self.entries)
    def __enter__(self): return self
    def __exit__(self, *_): return None
    def close(self): return None

scandir, listdir = os.scandir, os.listdir
def shuffled(*arguments):
    with scandir(*arguments) as found:
        return Shuffled(found)
random.seed(int(sys.argv[1]))
os.scandir = shuffled
os.listdir = lambda *arguments: sorted(listdir(*arguments), key=lambda name: random.random())

from hellofresh.cli import main

quarter, source = ["--quarter", "2026Q2"], sys.argv[2]
dumps = [f"{source}/wikipedia-edits/{name}" for name in sys.argv[3:]]
for command in (
    ["collect", "x-notes", *quarter, "--dump", f"{source}/x-notes"],
    ["collect", "wikipedia-edits", *quarter, "--dump", *dumps],
    ["release", "build", *quarter],
):
    assert main(command) == 0
"""

HISTORIES = ("first.xml.bz2", "second.xml.bz2")
MACHINES = {
    "one": {
        "TZ": "Pacific/Kiritimati", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1",
        "HELLOFRESH_NOW": "2026-07-22T00:00:00Z",
    },
    "two": {
        "TZ": "America/St_Johns", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0",
        "PYTHONHASHSEED": "2026", "HELLOFRESH_NOW": "2031-02-28T23:59:59Z",
    },
}  # fmt: skip


PLANTS = (b"PLANTED", b"2001:DB8:", b"77770077")
"""What is planted in histories, and comes out in nothing that is public."""


def plant(history: Path) -> None:
    """Plant names, addresses, numbers and comments of contributors; each stays one contributor."""

    def other(match: re.Match[str]) -> str:
        number = int(sha256(match[2].encode()).hexdigest()[:4], 16)
        said = f"2001:DB8:0:0:0:0:{number:X}:7" if match[1] == "ip" else f"PLANTED {number}"
        return f"<{match[1]}>{said}</{match[1]}>"

    text = re.sub(r"<(username|ip|comment)>(.*?)</\1>", other, bz2.decompress(history.read_bytes()).decode())
    text = re.sub(r"(</username>\s*<id>)(\d+)</id>", r"\g<1>77770077\2</id>", text)
    history.write_bytes(bz2.compress(text.encode()))


@pytest.fixture(scope="module")
def source(sample_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sources of both tasks in the real formats; the histories in two files."""
    folder = tmp_path_factory.mktemp("source") / "source"
    shutil.copytree(sample_sources, folder)
    history = folder / "wikipedia-edits" / "history.xml.bz2"
    plant(history)
    text = bz2.decompress(history.read_bytes()).decode()
    start, end = text.index("<page>"), text.rindex("</page>") + len("</page>")
    pages = text[start:end].split("</page>")[:-1]
    for name, part in zip(HISTORIES, (pages[: len(pages) // 2], pages[len(pages) // 2 :]), strict=True):
        whole = text[:start] + "".join(f"{page}</page>" for page in part) + text[end:]
        history.with_name(name).write_bytes(bz2.compress(whole.encode()))
    return folder


def build(folder: Path, source: Path, name: str, number: int) -> dict[str, bytes]:
    """Public and private bytes of a release that was built under such circumstances."""
    data = folder / name / "data"
    key = data / "private" / "escrow.key"
    key.parent.mkdir(parents=True)
    key.write_text("5a" * 32 + "\n")
    root = Path(__file__).resolve().parent.parent.parent
    known = {name: value for name, value in os.environ.items() if not name.startswith(("HELLOFRESH", "LC_", "LANG"))}
    circumstances = {**known, **MACHINES[name], "HELLOFRESH_DATA": str(data), "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(number), str(source), *HISTORIES[:: 1 - 2 * number]],
        env=circumstances, cwd=folder, capture_output=True, timeout=800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    parts = [data / "releases", data / "private", data / "candidates"]
    files = [path for part in parts for path in sorted(part.rglob("*")) if path.is_file()]
    return {path.relative_to(data).as_posix(): path.read_bytes() for path in files}


def test_time_zone_locale_hash_seed_day_and_order_of_files_change_no_byte(source: Path, tmp_path: Path) -> None:
    one, two = (build(tmp_path, source, name, number) for number, name in enumerate(MACHINES))
    public = {name: content.upper() for name, content in one.items() if name.startswith("releases/")}
    assert len(public) == 6 and not [name for name, content in public.items() for it in PLANTS if it in content]
    assert [name for name in one if one[name] != two.get(name)] == []
    assert one.keys() == two.keys()
