"""Speed of the Wikipedia collector on one core, by processor time: reading; with the rule; also with clean texts.

The rival is a bare `xml.etree.ElementTree.iterparse` that drops each revision after it; the last column is the time of
all steps, in times of that.

    python benchmarks/stability.py [DUMP...] [--rounds 3] [--json]

Revisions a second for each dump (best of the rounds; by default, the real histories in ../shared/data/wikipedia
if they exist), and for made histories, short and long, of articles of 5 kB and 68 kB. Reading alone is the lower bound.
Then, for the made ones, the ratio of the long one's time per revision (1.0 if time is linear), and the peak memory
of Python objects (the same for both if it is bounded).
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import json
import lzma
import random
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from collectors.wikipedia.clean import readable, spans
from collectors.wikipedia.export import read_pages
from collectors.wikipedia.stability import EditsSettings, Fate, Follower


def parsed(path: Path) -> int:
    """Parse a dump with `iterparse` alone; returns the number of its revisions."""
    opened = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(path.suffix, open)
    count = 0
    with opened(path, "rb") as file:
        for _, element in ElementTree.iterparse(file):
            if element.tag.rpartition("}")[2] == "revision":
                count += 1
                element.clear()
    return count


def read(path: Path) -> int:
    """Read all revisions of a dump; returns their number."""
    return sum(1 for page in read_pages(path) for _ in page.revisions)


def decided(path: Path) -> int:
    """Read, split and decide all edits; returns their number."""
    return sum(1 for page in read_pages(path) for _ in Follower(EditsSettings()).decisions(page.revisions))


def whole(path: Path) -> int:
    """The same, and clean the kept ones; returns the number of candidates."""
    kept = 0
    for page in read_pages(path):
        for decision in Follower(EditsSettings()).decisions(page.revisions):
            if decision.fate in {Fate.ACCEPTED, Fate.REJECTED} and decision.change is not None:
                spans(readable(decision.change.before), readable(decision.change.after))
                kept += 1
    return kept


def best(work: Callable[[Path], int], path: Path, rounds: int) -> tuple[int, float]:
    """The work's result, and the least processor time of the rounds in seconds."""
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        result = work(path)
        times.append(time.process_time() - begin)
    return result, min(times)


def made_history(revisions: int, kilobytes: int, seed: int = 7) -> Iterator[str]:
    """Texts of an article of that size: mostly one sentence changes, every fourth revision is a revert."""
    rng = random.Random(seed)
    words = [f"w{number}" for number in range(3000)]
    count = max(3, kilobytes * 1000 // 450)
    paragraphs = [" ".join(rng.choices(words, k=75)) for _ in range(count)]
    before = list(paragraphs)
    for number in range(revisions):
        if number % 4 == 3:
            paragraphs = list(before)
        else:
            before = list(paragraphs)
            place = rng.randrange(count)
            paragraphs[place] = " ".join([*paragraphs[place].split()[:60], *rng.choices(words, k=15)])
        yield "\n\n".join(f"== S{n // 5} ==\n{p}" if n % 5 == 0 else p for n, p in enumerate(paragraphs))


def write_made(path: Path, revisions: int, kilobytes: int) -> None:
    """An export of one made article."""
    begin = datetime(2010, 1, 1, tzinfo=UTC)
    with path.open("w", encoding="utf-8") as file:
        file.write('<mediawiki version="0.11"><page><title>Made</title><ns>0</ns><id>1</id>\n')
        for number, text in enumerate(made_history(revisions, kilobytes), start=1):
            file.write(
                f"<revision><id>{number}</id><timestamp>{begin + timedelta(hours=number):%Y-%m-%dT%H:%M:%SZ}"
                f"</timestamp><contributor><username>U{number % 9}</username></contributor>"
                f"<text>{escape(text)}</text></revision>\n"
            )
        file.write("</page></mediawiki>\n")


def peak_mib(path: Path) -> float:
    """Peak memory of Python objects during all steps."""
    tracemalloc.start()
    whole(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


@dataclass(frozen=True)
class Row:
    """Measurements of one dump: sizes, and revisions a second."""

    dump: str
    revisions: int
    read: float
    rule: float
    clean: float
    kept: int
    to_iterparse: float


def measured(path: Path, rounds: int) -> Row:
    """One row of the table."""
    _, bare = best(parsed, path, rounds)
    count, reading = best(read, path, rounds)
    _, ruled = best(decided, path, rounds)
    kept, cleaned = best(whole, path, rounds)
    count = max(count, 1)
    return Row(path.name, count, count / reading, count / ruled, count / cleaned, kept, cleaned / bare)


MADE = ((5, 1000), (5, 15000), (68, 500), (68, 2500))


def compared(dumps: Sequence[Path], rounds: int) -> dict[str, list[dict[str, object]]]:
    """All tables."""
    with tempfile.TemporaryDirectory() as folder:
        made = [Path(folder) / f"made {kilobytes} kB x {revisions}" for kilobytes, revisions in MADE]
        for path, (kilobytes, revisions) in zip(made, MADE, strict=True):
            write_made(path, revisions, kilobytes)
        rows = [measured(path, rounds) for path in [*dumps, *made]]
        peaks = [peak_mib(path) for path in made]
    long_ones = zip(rows[-4::2], rows[-3::2], peaks[::2], peaks[1::2], strict=True)
    growth = [
        {"made": many.dump, "time": few.rule / many.rule, "peak_mib": most, "peak_mib_of_short": least}
        for few, many, least, most in long_ones
    ]
    return {"speed": [asdict(row) for row in rows], "growth": growth}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("dumps", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    real = Path(__file__).resolve().parents[2] / "shared" / "data" / "wikipedia"
    found = compared(options.dumps or sorted(real.glob("*revs.xml*")), options.rounds)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{'dump':38} {'revisions':>9} {'read/s':>9} {'rule/s':>9} {'clean/s':>9} {'kept':>6} {'to bare':>7}")
    for row in found["speed"]:
        print(
            "{dump:38} {revisions:9,} {read:9,.0f} {rule:9,.0f} {clean:9,.0f} {kept:6,} {to_iterparse:7.2f}".format_map(
                row
            )
        )
    print()
    for row in found["growth"]:
        print(
            "{made}: {time:.2f} times the time a revision of the short one, peak {peak_mib:.1f} MiB "
            "(short one {peak_mib_of_short:.1f})".format_map(row)
        )


if __name__ == "__main__":
    main()
