"""Time and peak memory of collecting one quarter of Community Notes, with votes, from a dump of the real size class.

    python benchmarks/notes_dump.py [--scale 0.05] [--folder DIR] [--rounds 3] [--cold]

Makes a dump in the real columns (at scale 1: 2 M notes, 2 M status rows, 20 M ratings, about 5.4 GB of TSV) and reads
it in turn as bytes only, by the leanest polars query with the same answer (which checks and hashes nothing and reads no
posts), and by the collector. Every reading is a process of its own; with --cold, the files are first removed from the
system's cache. A dump made in a given folder is kept and reused; otherwise it goes to the temporary folder and is
deleted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from collectors.notes import NotesSettings, NotesSource, collect
from collectors.notes.labels import LABELS
from collectors.notes.snapshot import MANIFEST, write_manifest
from collectors.notes.tables import ENROLLMENT, HISTORY, NOTES, RATINGS, DumpTable
from hellofresh.core.files import sha256_file
from hellofresh.core.quarters import Quarter

QUARTER = Quarter(2025, 2)
NOTE_COUNT, RATING_COUNT, RATER_COUNT = 2_000_000, 20_000_000, 200_000
ROWS_AT_ONCE = 200_000
FIRST_MS, LAST_MS = 1_640_995_200_000, 1_782_864_000_000  # 2022-01-01 to 2026-07-01
SNOWFLAKE_MS = 1_288_834_974_657
WORDS = (
    "the",
    "post",
    "says",
    "&quot;so&quot;",
    "but",
    "records",
    "of",
    "2024",
    "&amp;",
    "\u2014",
    "https://example.org/a?b=1",
)


def participants(rng: np.random.Generator, count: int) -> pl.Series:
    """Ids of 64 hexadecimal digits."""
    numbers = rng.integers(0, 2**63, (count, 4))
    return pl.Series(["".join(f"{part:016X}" for part in row) for row in numbers.tolist()])


def write(path: Path, table: DumpTable, columns: dict[str, Any], rows: int) -> None:
    """One shard; missing columns are empty, or 0 where the real ones are flags."""
    flags = {
        name for name in table.columns if name.startswith(("helpful", "notHelpful", "misleading", "notMisleading"))
    }
    filled = {name: columns.get(name, 0 if name in flags else "") for name in table.columns}
    frame = pl.select(
        [
            pl.repeat(value, rows).alias(name) if np.isscalar(value) else pl.lit(value).alias(name)
            for name, value in filled.items()
        ]
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.write_csv(path, separator="\t", quote_style="never")


def shards(table: DumpTable, folder: Path, rows: int) -> list[tuple[Path, int, int]]:
    """Path, first row and number of rows of each shard; a real shard has about a million."""
    size = 5 * ROWS_AT_ONCE
    return [
        (folder / table.subfolder / f"{table.stem}-{number:05d}.tsv", first, min(size, rows - first))
        for number, first in enumerate(range(0, rows, size))
    ]


def make(folder: Path, scale: float) -> None:
    """Write the dump and the posts of the quarter's decided notes."""
    rng = np.random.default_rng(7)
    notes, ratings = int(NOTE_COUNT * scale), int(RATING_COUNT * scale)
    created = np.sort(rng.integers(FIRST_MS, LAST_MS, notes))
    ids = ((created - SNOWFLAKE_MS) << 22) + np.arange(notes) % 4096
    posts = ids - (rng.integers(3_600_000, 80_000_000, notes) << 22)
    people = participants(rng, int(RATER_COUNT * max(scale, 0.01)))
    author = people.gather(rng.integers(0, len(people), notes))
    texts = pl.Series([" ".join(rng.choice(WORDS, size)) for size in rng.integers(15, 60, 5000)])
    statuses = pl.Series(["CURRENTLY_RATED_HELPFUL", "CURRENTLY_RATED_NOT_HELPFUL", "NEEDS_MORE_RATINGS"])
    status = statuses.gather(rng.choice(3, notes, p=(0.095, 0.045, 0.86)))
    for path, first, rows in shards(NOTES, folder, notes):
        part = slice(first, first + rows)
        write(path, NOTES, {
            "noteId": ids[part], "noteAuthorParticipantId": author[part], "createdAtMillis": created[part],
            "tweetId": posts[part], "classification": "MISINFORMED_OR_POTENTIALLY_MISLEADING",
            "trustworthySources": 1, "isMediaNote": 0, "isCollaborativeNote": 0,
            "summary": texts.gather(rng.integers(0, len(texts), rows)),
        }, rows)  # fmt: skip
    lock = created + 14 * 86_400_000
    for path, first, rows in shards(HISTORY, folder, notes):
        part = slice(first, first + rows)
        write(path, HISTORY, {
            "noteId": ids[part], "noteAuthorParticipantId": author[part], "createdAtMillis": created[part],
            "timestampMillisOfFirstNonNMRStatus": created[part], "firstNonNMRStatus": status[part],
            "timestampMillisOfCurrentStatus": lock[part], "currentStatus": status[part], "lockedStatus": status[part],
            "timestampMillisOfStatusLock": lock[part], "currentCoreStatus": status[part],
            "currentDecidedBy": "CoreModel (v1.1)", "currentModelingGroup": 13,
            "timestampMillisOfMostRecentStatusChange": -1, "timestampMinuteOfFinalScoringOutput": 29000000,
        }, rows)  # fmt: skip
    for path, _, rows in shards(RATINGS, folder, ratings):
        rated = rng.integers(0, notes, rows)
        write(path, RATINGS, {
            "noteId": ids[rated], "raterParticipantId": people.gather(rng.integers(0, len(people), rows)),
            "createdAtMillis": created[rated] + 1000, "version": 2, "agree": 0, "disagree": 0, "helpful": 0,
            "notHelpful": 0, "helpfulnessLevel": "SOMEWHAT_HELPFUL", "ratedOnTweetId": posts[rated],
            "ratingSourceBucketed": "DEFAULT",
        }, rows)  # fmt: skip
    for path, first, rows in shards(ENROLLMENT, folder, len(people)):
        write(path, ENROLLMENT, {"participantId": people[first : first + rows], "enrollmentState": "earnedIn"}, rows)
    start, end = (round(moment.timestamp() * 1000) for moment in (QUARTER.start, QUARTER.end))
    wanted = (created >= start) & (created < end) & status.is_in(list(LABELS)).to_numpy()
    with (folder / "posts.jsonl").open("w", encoding="utf-8") as file:
        for post in sorted(set(posts[wanted].tolist())):
            file.write(
                json.dumps(
                    {"id_str": str(post), "lang": "en", "text": "A post.", "created_at": "2025-04-01T00:00:00.000Z"}
                )
                + "\n"
            )
    write_manifest(folder, QUARTER.end.date(), "http://localhost", lambda _: None)


def by_hashing_collector(folder: Path) -> str:
    """The collector's result for a dump that it did not download: files are hashed too."""
    with tempfile.TemporaryDirectory() as name:
        bare = Path(name)
        for path in folder.iterdir():
            if path.name != MANIFEST:
                (bare / path.name).symlink_to(path.resolve())
        return by_collector(bare)


def by_collector(folder: Path) -> str:
    """The collector's result."""
    with tempfile.TemporaryDirectory() as work:
        found = collect(QUARTER, NotesSource(folder), NotesSettings(), workdir=Path(work)).candidates
    return digest((item.sample.id[3:], item.label.label, item.label.facts["ratings"]) for item in found)


def by_polars(folder: Path) -> str:
    """The same notes, labels and votes by streaming queries."""
    notes, history, ratings = (scan(folder, table) for table in (NOTES, HISTORY, RATINGS))
    start, end = (round(moment.timestamp() * 1000) for moment in (QUARTER.start, QUARTER.end))
    inside = notes.filter(pl.col("createdAtMillis").is_between(start, end, closed="left")).select(
        "noteId", "tweetId", "summary"
    )
    decided = inside.join(
        history.filter(pl.col("lockedStatus").is_in(list(LABELS))).select("noteId", "lockedStatus"), on="noteId"
    ).collect(engine="streaming")
    votes = (
        ratings.select("noteId", "raterParticipantId")
        .join(decided.lazy().select("noteId"), on="noteId", how="semi")
        .group_by("noteId").agg(pl.col("raterParticipantId").n_unique().alias("votes"))
        .collect(engine="streaming")
    )  # fmt: skip
    found = decided.join(votes, on="noteId", how="left").select("noteId", "lockedStatus", pl.col("votes").fill_null(0))
    return digest((str(note), LABELS[label], number) for note, label, number in found.iter_rows())


def by_hashing_polars(folder: Path) -> str:
    """The same, while another thread hashes the files."""
    files = sorted(path for path in folder.rglob("*.*") if path.name != MANIFEST)
    with ThreadPoolExecutor(1) as pool:
        hashes = pool.submit(lambda: [sha256_file(path) for path in files])
        answer = by_polars(folder)
        hashes.result()
    return answer


def scan(folder: Path, table: DumpTable) -> pl.LazyFrame:
    """A table with the types of the queries' columns."""
    whole = {"noteId", "createdAtMillis", "tweetId"}
    schema = {name: pl.Int64 if name in whole else pl.String for name in table.columns}
    files = sorted((folder / table.subfolder).glob("*.tsv"))
    return pl.scan_csv(files, separator="\t", quote_char=None, schema=schema)


def by_reading(folder: Path) -> str:
    """Read the bytes only."""
    for table in (NOTES, HISTORY, RATINGS):
        for path in sorted((folder / table.subfolder).glob("*.tsv")):
            with path.open("rb", buffering=0) as file:
                while file.read(8 * 2**20):
                    pass
    return ""


def digest(rows: Any) -> str:
    """A short hash of an answer, and its size."""
    answer = sorted(rows)
    return f"{len(answer)} notes, {hashlib.sha256(repr(answer).encode()).hexdigest()[:12]}"


READERS: dict[str, Callable[[Path], str]] = {
    "plain reading": by_reading,
    "polars query": by_polars,
    "polars + hashes": by_hashing_polars,
    "collector": by_collector,
    "collector + hashes": by_hashing_collector,
}


def forget(folder: Path) -> None:
    """Take the dump out of the system's cache."""
    for path in folder.rglob("*.*"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Run one reader in a process of its own."""
    command = [sys.executable, __file__, "--reader", name, "--folder", str(folder)]
    measured: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return measured


def run_reader(name: str, folder: Path) -> None:
    """Print wall and processor seconds, peak MiB and the answer as JSON."""
    begin, busy = time.perf_counter(), time.process_time()
    answer = READERS[name](folder)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak, "answer": answer}))


def compare(folder: Path, rounds: int, *, cold: bool) -> None:
    """Run the readers in turn, and print the table of medians."""
    size = sum(path.stat().st_size for path in folder.rglob("*.tsv"))
    rated = len(list((folder / RATINGS.subfolder).glob("*")))
    print(
        f"{size / 1e9:.2f} GB of TSV, {rated} shards of ratings, medians of {rounds}, {'cold' if cold else 'warm'}, "
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in READERS}
    for _ in range(rounds):
        for name in READERS:
            if cold:
                forget(folder)
            runs[name].append(measure(name, folder))
    # Rounds are compared one by one, and by CPU time: other programs change the wall time of a busy machine.
    base = [run["cpu"] for run in runs["polars query"]]
    print(f"{'':18} {'wall s':>7} {'CPU s':>7} {'peak MiB':>9} {'to polars':>10}  answer")
    for name, measured in runs.items():
        wall, cpu = (statistics.median(run[key] for run in measured) for key in ("seconds", "cpu"))
        peak = max(run["peak"] for run in measured)
        ratio = statistics.median(run["cpu"] / one for run, one in zip(measured, base, strict=True))
        print(f"{name:18} {wall:7.2f} {cpu:7.2f} {peak:9.0f} {ratio:10.2f}  {measured[0]['answer']}")
    answers = {run["answer"] for name in READERS if name != "plain reading" for run in runs[name]}
    if len(answers) != 1:
        sys.exit("The answers differ.")


def main() -> None:
    """Make the dump if it is missing, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--scale", type=float, default=0.05, help="1 for the size of the real dump")
    parser.add_argument("--folder", type=Path, help="where the dump is kept")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cold", action="store_true", help="take the files out of the system's cache before each")
    parser.add_argument("--reader", choices=READERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reader:
        run_reader(options.reader, options.folder)
        return
    with nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not (folder / "posts.jsonl").is_file():
            make(folder, options.scale)
        compare(folder, options.rounds, cold=options.cold)


if __name__ == "__main__":
    main()
