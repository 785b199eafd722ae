"""Random and broken files for every reader of external files; any unexpected exception is a defect.

    python benchmarks/fuzz.py [--minutes 0.2] [--seed 1] [--only predictions ...] [--keep DIR]

Half of the files are valid ones and those of tests/corpus with bytes, lines and values exchanged, doubled or lost; half
are built by Hypothesis from the words of the format. Prints for each kind how many files were given,
accepted and refused, how many crashed (kept in DIR), and the longest time of one. Exit code 1 after any crash, or
if one took more than 2 seconds of processor time. The same seed gives the same files, up to the end of the time.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

CORPUS = Path(__file__).resolve().parent.parent / "tests" / "corpus"
sys.path[:0] = [str(CORPUS), str(CORPUS.parent.parent)]
from entry_points import ENTRY_POINTS, NAMES, VALID  # noqa: E402 - lies with the corpus

SLOWEST_S = 2
BATCH = 100
WORDS = [
    b"{", b"}", b"[", b"]", b'"', b",", b":", b"\n", b"\r\n", b"\t", b" ", b"\\", b"\\u0000", b"\\ud800", b"'", b'"""',
    b"=", b".", b"#", b"<", b">", b"</", b"&amp;", b"<!DOCTYPE x [", b"<![CDATA[", b"]]>", b"null", b"true", b"NaN",
    b"Infinity", b"-0", b"1e999", b"0", b"1", b"1_0", b"9" * 400, b"9223372036854775808", b"\x00", b"\xff",
    b"\xef\xbb\xbf", b"\xff\xfe", "\u202e\u200b\u0661\uff11é\U0001f600".encode(), b"xn-1", b"we-1-0", b"id", b"label",
    b"confidence",
    b"sources", b"rationale", b"name", b"team", b"models", b"2023-05-01", b"1e400", b"=HYPERLINK(", b"inf", b"nan",
]  # fmt: skip


@dataclass
class Tally:
    """Results for one kind of file."""

    kind: str
    runs: int = 0
    taken: int = 0
    refused: int = 0
    crashes: int = 0
    slowest_s: float = 0.0


class Target:
    """One kind of file: gives contents to its reader and counts."""

    def __init__(self, kind: str, folder: Path, keep: Path | None) -> None:
        self.tally = Tally(kind)
        point, self.valid = VALID[kind]
        self.name = NAMES[kind]
        self._hand_in = ENTRY_POINTS[point]
        self._folder, self._keep = folder / kind, keep
        self._folder.mkdir()
        ending = self.name.rpartition(".")[2]
        files = sorted((CORPUS / point).glob(f"*.{ending}"))
        self.seeds = [self.valid, *(path.read_bytes() for path in files if path.stat().st_size < 20_000)]

    def hand_in(self, content: bytes) -> None:
        """Give one content to the reader; a crash is counted, shown and kept."""
        tally, start = self.tally, time.process_time()
        tally.runs += 1
        try:
            codes = self._hand_in(self._folder, self.name, content)
        except Exception:
            tally.crashes += 1
            traceback.print_exc()
            if self._keep is not None:
                self._keep.mkdir(parents=True, exist_ok=True)
                (self._keep / f"{tally.kind}-{tally.crashes}").write_bytes(content)
        else:
            tally.taken += not codes
            tally.refused += bool(codes)
        tally.slowest_s = max(tally.slowest_s, time.process_time() - start)


def mutated(chance: random.Random, seeds: list[bytes]) -> bytes:
    """A seed after a few random changes."""
    content = bytearray(chance.choice(seeds))
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        chance.choice(CHANGES)(chance, content, seeds)
    return bytes(content[:60_000])


def _put(chance: random.Random, content: bytearray, _: list[bytes]) -> None:
    place = chance.randrange(len(content) + 1)
    content[place:place] = chance.choice(WORDS)


def _replace(chance: random.Random, content: bytearray, _: list[bytes]) -> None:
    place = chance.randrange(len(content) + 1)
    content[place : place + chance.choice((1, 1, 4, 20))] = chance.choice(WORDS)


def _flip(chance: random.Random, content: bytearray, _: list[bytes]) -> None:
    if content:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def _cut(chance: random.Random, content: bytearray, _: list[bytes]) -> None:
    begin = chance.randrange(len(content) + 1)
    del content[begin : begin + chance.choice((1, 2, 10, 100, len(content)))]


def _double(chance: random.Random, content: bytearray, _: list[bytes]) -> None:
    begin = chance.randrange(len(content) + 1)
    part = content[begin : begin + chance.choice((1, 10, 100))]
    content[begin:begin] = part * chance.choice((1, 2, 50))


def _splice(chance: random.Random, content: bytearray, seeds: list[bytes]) -> None:
    other = chance.choice(seeds)
    place = chance.randrange(len(content) + 1)
    content[place:] = other[chance.randrange(len(other) + 1) :]


CHANGES: list[Callable[[random.Random, bytearray, list[bytes]], None]] = [
    _put,
    _replace,
    _replace,
    _flip,
    _cut,
    _double,
    _splice,
]
BUILT = st.lists(st.sampled_from(WORDS) | st.binary(max_size=4), max_size=40).map(b"".join)


def built(target: Target, number: int) -> None:
    """Give the reader a batch of files that Hypothesis builds, some of them around the valid one."""

    @seed(number)
    @settings(max_examples=BATCH, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(BUILT, st.integers(0, len(target.valid)), st.booleans())
    def run(part: bytes, place: int, within: bool) -> None:
        target.hand_in(target.valid[:place] + part + target.valid[place:] if within else part)

    run()


def rounds(targets: list[Target], first: int, end: float) -> Iterator[int]:
    """Numbers of rounds until the time is over."""
    number = first
    while time.monotonic() < end:
        yield number
        number += 1


def main() -> int:
    """Fuzz for a while."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=sorted(VALID), default=sorted(VALID))
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where contents that crash are kept")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        targets = [Target(kind, Path(name), options.keep) for kind in options.only]
        for number in rounds(targets, options.seed * 1_000_000, start + 60 * options.minutes):
            for target in targets:
                chance = random.Random(f"{number} {target.tally.kind}")
                for _ in range(BATCH):
                    target.hand_in(mutated(chance, target.seeds))
                built(target, number)
    tallies = [target.tally for target in targets]
    print(f"{'kind':12}{'files':>10}{'taken':>10}{'refused':>10}{'crashes':>9}{'slowest s':>11}")
    for tally in tallies:
        print(
            f"{tally.kind:12}{tally.runs:>10,}{tally.taken:>10,}{tally.refused:>10,}{tally.crashes:>9}{tally.slowest_s:>11.2f}"
        )
    runs, crashes = sum(tally.runs for tally in tallies), sum(tally.crashes for tally in tallies)
    print(f"{runs:,} files in {(time.monotonic() - start) / 60:.1f} minutes, {crashes} crashes")
    return int(crashes > 0 or max(tally.slowest_s for tally in tallies) > SLOWEST_S)


if __name__ == "__main__":
    sys.exit(main())
