"""Code written by hand in place of a library: how much faster it is than that library, on one core.

    python benchmarks/replacements.py [NAME...] [--rounds 5] [--json]

One line for each comparison: processor time of this project and of a rival (least of the rounds), and the ratio. Every
rival does the same work and its answer is compared first. Without the real histories in ../shared/data/wikipedia,
their lines are left out.

- `sieve`: selects the lines of a block on 2,000 of two million notes, against polars and a set of the ids.
- `lines`: checks that all lines of a block have 23 columns and no NUL byte, against polars, `csv` and counting tabs.
- `wikitext`: splits a history's revisions into paragraphs, against mwparserfromhell only parsing them.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import mwparserfromhell
import polars as pl

from collectors.notes.lines import Sieve, check_lines
from collectors.wikipedia.export import read_pages
from collectors.wikipedia.wikitext import Splitter

HISTORIES = Path(__file__).parents[2] / "shared/data/wikipedia"
COLUMNS, LINES = 23, 20_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """Seconds of this project and of a rival for the same work."""

    name: str
    rival: str
    ours: float
    theirs: float

    @property
    def factor(self) -> float:
        """How many times faster this project is."""
        return self.theirs / self.ours


def least(work: Callable[[], object], rounds: int) -> float:
    """The least processor time of the rounds."""
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def compared(
    name: str, ours: Callable[[], object], rivals: Mapping[str, Callable[[], object]], rounds: int, *, same: bool = True
) -> Iterator[Comparison]:
    """This project and each rival, after a comparison of their answers."""
    answer, seconds = ours(), least(ours, rounds)
    for rival, work in rivals.items():
        assert not same or work() == answer, f"{name}: {rival} gives another answer"
        yield Comparison(name, rival, seconds, least(work, rounds))


def block() -> tuple[bytes, list[int]]:
    """Twenty thousand lines in the form of ratings, and the wanted notes, which few lines are about."""
    draw = random.Random(1)
    wanted = [draw.randrange(10**18, 9 * 10**18) for _ in range(2_000)]
    first = [wanted[k % 2_000] if k % 1_000 == 0 else draw.randrange(10**18, 9 * 10**18) for k in range(LINES)]
    rest = "\t".join(["0", "1", "HELPFUL", "1672531200000", "A" * 64, *["0"] * (COLUMNS - 6)])
    return "".join(f"{number}\t{rest}\n" for number in first).encode(), wanted


def sieve(rounds: int) -> Iterator[Comparison]:
    """Lines on wanted notes."""
    content, wanted = block()
    found = check_lines(content, COLUMNS)
    assert found is not None
    sifter, ids = Sieve(wanted), set(wanted)
    names = pl.Series(wanted, dtype=pl.Int64)

    def ours() -> list[int]:
        return [int(line[:19]) for line in sifter.passed(content, found.ends).splitlines()]

    def polars() -> list[int]:
        table = pl.read_csv(content, separator="\t", has_header=False, quote_char=None, columns=[0])
        return table.filter(pl.col("column_0").is_in(names.implode()))["column_0"].to_list()

    def plain() -> list[int]:
        return [number for line in content.split(b"\n")[:-1] if (number := int(line[:19])) in ids]

    assert set(polars()) <= set(ours())  # some pass by chance, and are parsed and dropped later
    yield from compared("sieve", ours, {"polars": polars, "a set": plain}, rounds, same=False)


def lines(rounds: int) -> Iterator[Comparison]:
    """Whether a block is valid."""
    content, _ = block()

    def polars() -> bool:
        table = pl.read_csv(content, separator="\t", has_header=False, quote_char=None, infer_schema=False)
        return table.width == COLUMNS and b"\0" not in content

    def rows() -> bool:
        reader = csv.reader(io.StringIO(content.decode()), delimiter="\t", quoting=csv.QUOTE_NONE)
        return all(len(row) == COLUMNS for row in reader) and b"\0" not in content

    def tabs() -> bool:
        return all(line.count(b"\t") == COLUMNS - 1 for line in content.split(b"\n")[:-1]) and b"\0" not in content

    def ours() -> bool:
        return check_lines(content, COLUMNS) is not None

    yield from compared("lines", ours, {"polars": polars, "csv": rows, "counting": tabs}, rounds)


def wikitext(rounds: int) -> Iterator[Comparison]:
    """Paragraphs of revisions."""
    path = HISTORIES / "amen_49revs.xml.gz"
    if not path.is_file():
        return
    texts = [revision.text or "" for page in read_pages(path) for revision in page.revisions]

    def ours() -> int:
        splitter = Splitter()
        return sum(len(splitter.split(text).sections) for text in texts)

    def one_by_one() -> int:
        return sum(len(Splitter().split(text).sections) for text in texts)

    def theirs() -> int:
        return sum(len(mwparserfromhell.parse(text).get_sections(flat=True)) for text in texts)

    yield from compared("wikitext, a history", ours, {"mwparserfromhell": theirs}, rounds, same=False)
    yield from compared("wikitext, each alone", one_by_one, {"mwparserfromhell": theirs}, rounds, same=False)


COMPARISONS = {one.__name__: one for one in (sieve, lines, wikitext)}


def main() -> None:
    """Run the comparisons and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*COMPARISONS, []])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = [one for name in options.names or COMPARISONS for one in COMPARISONS[name](options.rounds)]
    if options.json:
        print(json.dumps([{**asdict(one), "factor": one.factor} for one in found]))
        return
    for one in found:
        print(f"{one.name:28}{one.rival:18}{1e3 * one.ours:10.2f} ms{1e3 * one.theirs:12.2f} ms{one.factor:9.1f} x")


if __name__ == "__main__":
    main()
