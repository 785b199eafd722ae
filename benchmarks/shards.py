"""What two workers, and two shards, gain over one: `collect wikipedia-edits` and the index of a corpus.

    python benchmarks/shards.py [--files 8] [--revisions 2000] [--documents 160000] [--rounds 3] [--json]

Made exports (one article of 5 kB a file, bzip2) and a made corpus. Each round runs the whole command with one process,
with two, as shards 1/2 and 2/2, and the merge. By the clock: one process over two. By processor time, which other work
on the machine changes less: one process over the slower shard and the merge, what two idle cores would gain.
"""

from __future__ import annotations

import argparse
import bz2
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from retrieval import corpus_of
from stability import write_made


@dataclass(frozen=True)
class Cost:
    """Seconds of one command: by the clock, of processors, with those of its processes; and the largest one's MiB."""

    wall_s: float
    cpu_s: float
    peak_mib: float


def cost(workspace: Path, command: str) -> Cost:
    """Run one command to its end."""
    begin = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "hellofresh", *command.split()],
        env={**os.environ, "HELLOFRESH_DATA": str(workspace)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command}: status {status}")
    return Cost(time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@dataclass(frozen=True)
class Work:
    """A command that can be sharded, and what it leaves, which goes before the next run."""

    name: str
    alone: str
    merge: str
    made: Sequence[Path]

    def round(self, workspace: Path) -> dict[str, Cost]:
        """One of each."""
        shards = {f"shard {number}/2": f"{self.alone} --jobs 1 --shard {number}/2" for number in (1, 2)}
        commands = {"one": f"{self.alone} --jobs 1", "two": f"{self.alone} --jobs 2", **shards, "merge": self.merge}
        found = {}
        for name, command in commands.items():
            if name in ("one", "two", "shard 1/2"):
                for path in self.made:
                    shutil.rmtree(path, ignore_errors=True)
            said = command.replace(" --index-only", "") if "--shard" in command else command
            found[name] = cost(workspace, said)
        return found


def made_works(workspace: Path, files: int, revisions: int, documents: int) -> Iterator[Work]:
    """Both works, with what they read."""
    dumps = workspace / "dumps"
    dumps.mkdir()
    for number in range(1, files + 1):
        path = dumps / "plain"
        write_made(path, revisions, 5)
        text = path.read_text().replace("<id>1</id>\n", f"<id>{number}</id>\n", 1)
        text = text.replace("<revision><id>", f"<revision><id>{number}000")  # ids of their own
        (dumps / f"made-2026-07-01-p{number}p{number}.xml.bz2").write_bytes(bz2.compress(text.encode()))
        path.unlink()
    base = "collect wikipedia-edits --quarter 2010Q1"
    made = [workspace / "candidates", workspace / "raw"]
    yield Work("collect wikipedia-edits", f"{base} --force --dump {dumps}", f"{base} --force --merge", made)
    corpus = corpus_of(workspace, documents)
    base = f"corpus compare {corpus.name} --retrievers bm25"
    yield Work("index of a corpus", f"{base} --index-only", f"{base} --merge", [corpus.folder / "index"])


def main() -> None:
    """Print the medians of the rounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--revisions", type=int, default=2000)
    parser.add_argument("--documents", type=int, default=160_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for work in made_works(Path(folder), options.files, options.revisions, options.documents):
            rounds = [work.round(Path(folder)) for _ in range(options.rounds)]
            clock = [each["one"].wall_s / each["two"].wall_s for each in rounds]
            slower = [max(each["shard 1/2"].cpu_s, each["shard 2/2"].cpu_s) for each in rounds]
            cores = [
                each["one"].cpu_s / (most + each["merge"].cpu_s) for each, most in zip(rounds, slower, strict=True)
            ]
            parts = [each["one"].cpu_s / most for each, most in zip(rounds, slower, strict=True)]
            costs = {
                name: {
                    field: round(statistics.median(getattr(each[name], field) for each in rounds), 2)
                    for field in ("wall_s", "cpu_s", "peak_mib")
                }
                for name in rounds[0]
            }
            found[work.name] = {
                "two processes, by the clock": round(statistics.median(clock), 2),
                "two shards, by processor time": round(statistics.median(parts), 2),
                "two shards and the merge": round(statistics.median(cores), 2),
                "load of the machine": os.getloadavg()[0],
                **costs,
            }
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for name, figures in found.items():
        print(name)
        for what, value in figures.items():
            print(f"  {what:32} {value}")


if __name__ == "__main__":
    main()
