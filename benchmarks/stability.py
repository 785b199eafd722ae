"""Speed of the Wikipedia collector on one core, by processor time: reading; with the rule; with clean texts too.

    python benchmarks/stability.py DUMP... [--rounds 3]

Prints revisions a second for each dump (best of the rounds), and for histories made here, short and long, of articles
of 5 kB and 68 kB: the rates of a short and a long one are the same where time is linear, the peaks where memory is
bounded.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import escape

from collectors.wikipedia.clean import readable, spans
from collectors.wikipedia.dumps import read_pages
from collectors.wikipedia.settings import Settings
from collectors.wikipedia.stability import Fate, decide


def read(path: Path) -> int:
    """Read all revisions of a dump; their number."""
    return sum(1 for page in read_pages(path) for _ in page.revisions)


def decided(path: Path) -> int:
    """Read, split and decide every edit of every time; the number of edits."""
    return sum(1 for page in read_pages(path) for _ in decide(page.revisions, Settings()))


def whole(path: Path) -> int:
    """The same, and clean what is kept; the number of candidates."""
    kept = 0
    for page in read_pages(path):
        for decision in decide(page.revisions, Settings()):
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
    """Texts of an article of that size: mostly one sentence changes, every fourth revision is put back."""
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
    """Most memory of Python objects during the whole path."""
    tracemalloc.start()
    whole(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("dumps", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'dump':38} {'revisions':>9} {'read/s':>9} {'rule/s':>9} {'clean/s':>9} {'kept':>6}")
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for kilobytes, revisions in ((5, 1000), (5, 15000), (68, 500), (68, 2500)):
            path = Path(folder) / f"made {kilobytes} kB x {revisions}"
            write_made(path, revisions, kilobytes)
            made.append(path)
        for path in [*options.dumps, *made]:
            count, reading = best(read, path, options.rounds)
            _, ruled = best(decided, path, options.rounds)
            kept, cleaned = best(whole, path, options.rounds)
            rates = " ".join(f"{count / seconds:9,.0f}" for seconds in (reading, ruled, cleaned))
            print(f"{path.name:38} {count:9,} {rates} {kept:6,}")
        print("\npeak MiB of Python objects: " + ", ".join(f"{path.name}: {peak_mib(path):.1f}" for path in made))


if __name__ == "__main__":
    main()
