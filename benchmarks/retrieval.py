"""BM25 over a large corpus, compared with tantivy, bm25s and rank-bm25 on the same documents and queries.

    python benchmarks/retrieval.py [--documents 1100000] [--engines ours,tantivy,bm25s,rank-bm25] [--queries 200]
                                   [--most-rank-bm25 100000] [--most-bm25s 300000] [--folder DIR] [--jobs 1] [--json]

Documents are made: lengths log-normal, words by a distribution in three pieces, both fitted to 5,970 abstracts of
biomedical papers (mean 239 words; share of the word of rank r falling as r^-0.93 up to rank 100, r^-0.86 up to 1,000
and r^-1.40 beyond). Each engine runs in a process of its own, one after the other: seconds until the index is there,
the peak of that process's memory, seconds until a fresh process can answer, and its median time of a query of 12 words
for 20 documents; in brackets, processor time, which depends less on other work. rank-bm25 and bm25s hold all
running words in memory and are bounded by `--most-...`; their lines show their number of documents. There is
no limit to pass.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from hellofresh.core.executors import process_pool
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.corpora import (
    CorpusContent,
    FoundDocument,
    RetrievalCorpus,
    open_corpus,
    write_corpus,
)
from hellofresh.evidence.retrieval.documents import CorpusDocument
from hellofresh.evidence.retrieval.sparse import Analyzer, Bm25, SparseRetriever

VOCABULARY = 400_000
PIECES = ((1, 0.93), (100, 0.86), (1000, 1.40))
LOG_LENGTH = (5.39, 0.41)
CHUNK = 2_000
COUNT = 20


@dataclass(frozen=True, slots=True)
class Measured:
    """One engine: seconds (wall and processor) to build, peak MiB, seconds to open, and milliseconds a query."""

    engine: str
    documents: int
    build_s: float
    build_cpu_s: float
    build_mib: float
    open_s: float
    query_ms: float
    query_cpu_ms: float
    query_mib: float
    disk_mib: float


def shares() -> NDArray[np.float64]:
    """The share of each rank among running words."""
    ranks = np.arange(1, VOCABULARY + 1, dtype=np.float64)
    weights, level = np.empty(VOCABULARY), 1.0
    for place, (start, slope) in enumerate(PIECES):
        stop = PIECES[place + 1][0] if place + 1 < len(PIECES) else VOCABULARY + 1
        part = slice(start - 1, stop - 1)
        weights[part] = level * (ranks[part] / start) ** -slope
        level *= (stop / start) ** -slope
    return weights / weights.sum()


def word(rank: int) -> str:
    """A distinct word for each rank; frequent ones are short."""
    letters, syllables = rank + 20, []
    while letters:
        letters, place = divmod(letters, 80)
        syllables.append("bdfgklmnprstvzhj"[place % 16] + "aeiou"[place // 16])
    return "".join(syllables)


def made_texts(documents: int) -> Iterator[str]:
    """Texts of this many documents, reproducibly."""
    random, words = np.random.default_rng(1), np.array([word(rank) for rank in range(VOCABULARY)], dtype=object)
    ends = np.cumsum(shares())
    for start in range(0, documents, CHUNK):
        lengths = np.maximum(random.lognormal(*LOG_LENGTH, min(CHUNK, documents - start)).astype(int), 5)
        drawn = words[np.minimum(np.searchsorted(ends, random.random(lengths.sum())), VOCABULARY - 1)]
        for part in np.split(drawn, np.cumsum(lengths)[:-1]):
            yield " ".join(part)


def made_queries(number: int) -> list[str]:
    """Queries of 12 running words."""
    random, ends = np.random.default_rng(2), np.cumsum(shares())
    return [
        " ".join(word(int(rank)) for rank in np.minimum(np.searchsorted(ends, random.random(12)), VOCABULARY - 1))
        for _ in range(number)
    ]


def corpus_of(folder: Path, documents: int) -> RetrievalCorpus:
    """The made corpus, written if missing."""
    workspace = Workspace(folder)
    name = f"made-{documents}"
    if not (workspace.corpora / name / "manifest.json").is_file():
        found = (
            FoundDocument(CorpusDocument(f"d{number}", "", text), "")
            for number, text in enumerate(made_texts(documents))
        )
        write_corpus(workspace.corpora / name, CorpusContent(source="made", license="CC0-1.0", documents=found))
    return open_corpus(workspace, name)


class Ours:
    """This project's index."""

    def __init__(self, folder: Path, documents: int, jobs: int) -> None:
        self.corpus, self.jobs = corpus_of(folder, documents), jobs
        self.place = self.corpus.folder / "index"

    def build(self) -> None:
        SparseRetriever.open(self.corpus, Bm25(), pool=process_pool(self.jobs) if self.jobs > 1 else None)

    def open(self) -> Callable[[str], object]:
        retriever = SparseRetriever.open(self.corpus, Bm25())
        return lambda query: asyncio.run(retriever.retrieve(query, COUNT))


class Tantivy:
    """tantivy with its English stemmer, on disk."""

    def __init__(self, folder: Path, documents: int, jobs: int) -> None:
        self.corpus, self.place = corpus_of(folder, documents), folder / f"tantivy-{documents}"

    def build(self) -> None:
        import tantivy

        self.place.mkdir(parents=True)
        schema = tantivy.SchemaBuilder()
        schema.add_integer_field("n", stored=True)
        schema.add_text_field("text", tokenizer_name="en_stem")
        index = tantivy.Index(schema.build(), path=str(self.place))
        writer = index.writer(heap_size=500_000_000, num_threads=1)
        for number, document in enumerate(self.corpus.documents()):
            row = tantivy.Document()
            row.add_integer("n", number)
            row.add_text("text", document.content)
            writer.add_document(row)
        writer.commit()
        writer.wait_merging_threads()

    def open(self) -> Callable[[str], object]:
        import tantivy

        index = tantivy.Index.open(str(self.place))
        searcher = index.searcher()
        return lambda query: searcher.search(index.parse_query_lenient(query, ["text"])[0], COUNT)


class Bm25s:
    """bm25s with the same terms."""

    def __init__(self, folder: Path, documents: int, jobs: int) -> None:
        self.corpus, self.place = corpus_of(folder, documents), folder / f"bm25s-{documents}"

    def build(self) -> None:
        import bm25s

        analyzer = Analyzer()
        index = bm25s.BM25(k1=1.2, b=0.75, method="lucene", backend="numpy")
        index.index([analyzer.terms(item.content) for item in self.corpus.documents()], show_progress=False)
        index.save(str(self.place))

    def open(self) -> Callable[[str], object]:
        import bm25s

        index, analyzer = bm25s.BM25.load(str(self.place), mmap=True), Analyzer()
        return lambda query: index.retrieve([analyzer.terms(query)], k=COUNT, show_progress=False)


class RankBm25:
    """rank-bm25 with the same terms; it stores nothing on disk, so opening is building."""

    def __init__(self, folder: Path, documents: int, jobs: int) -> None:
        self.corpus, self.place = corpus_of(folder, documents), folder / "none"

    def build(self) -> None:
        self.made()

    def made(self) -> object:
        from rank_bm25 import BM25Okapi

        analyzer = Analyzer()
        return BM25Okapi([analyzer.terms(item.content) for item in self.corpus.documents()], k1=1.2, b=0.75)

    def open(self) -> Callable[[str], object]:
        analyzer, index = Analyzer(), self.made()
        return lambda query: np.argsort(index.get_scores(analyzer.terms(query)))[-COUNT:]  # type: ignore[attr-defined]


ENGINES = {"ours": Ours, "tantivy": Tantivy, "bm25s": Bm25s, "rank-bm25": RankBm25}


def work(engine: str, step: str, folder: Path, documents: int, queries: int, jobs: int) -> dict[str, float]:
    """One step of one engine, in this process."""
    made = ENGINES[engine](folder, documents, jobs)
    start = time.monotonic()
    if step == "build":
        made.build()
        seconds = time.monotonic() - start
        return {"seconds": seconds, "cpu": _cpu_s(), "mib": _peak_mib(), "disk": _size_mib(made.place)}
    ask = made.open()
    ask("first")
    opened, times = time.monotonic() - start, []
    for query in made_queries(queries):
        begun, begun_cpu = time.perf_counter(), time.process_time()
        ask(query)
        times.append((1000 * (time.perf_counter() - begun), 1000 * (time.process_time() - begun_cpu)))
    wall, cpu = np.median(np.array(times), axis=0).tolist()
    return {"seconds": opened, "query_ms": wall, "query_cpu_ms": cpu, "mib": _peak_mib()}


def _cpu_s() -> float:
    found = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in found)


def _peak_mib() -> float:
    """Peak of this process since its start, or of its largest worker; a process inherits the peak of its parent."""
    status = Path("/proc/self/status")
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    if not status.is_file():
        return max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, workers) / 1024
    own = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return max(int(own.split()[1]), workers) / 1024


def _size_mib(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20 if folder.is_dir() else 0.0


def measured(engine: str, options: argparse.Namespace) -> Measured:
    """Both steps, each in a process of its own."""
    most = {"rank-bm25": options.most_rank_bm25, "bm25s": options.most_bm25s}.get(engine, options.documents)
    documents = min(most, options.documents)
    corpus_of(options.folder, documents)
    results = []
    for step in ("build", "ask"):
        command = [
            sys.executable, __file__, "--step", step, "--engines", engine, "--folder", str(options.folder),
            "--documents", str(documents), "--queries", str(options.queries), "--jobs", str(options.jobs),
        ]  # fmt: skip
        results.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    build, ask = results
    return Measured(
        engine,
        documents,
        build["seconds"],
        build["cpu"],
        build["mib"],
        ask["seconds"],
        ask["query_ms"],
        ask["query_cpu_ms"],
        ask["mib"],
        build["disk"],
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_100_000)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--most-rank-bm25", type=int, default=100_000)
    parser.add_argument("--most-bm25s", type=int, default=300_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--step", choices=("build", "ask"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.step:
        found = work(options.engines, options.step, options.folder, options.documents, options.queries, options.jobs)
        print(json.dumps(found))
        return
    kept = options.folder is not None
    options.folder = options.folder or Path(tempfile.mkdtemp(prefix="retrieval-"))
    try:
        for engine in options.engines.split(","):
            row = measured(engine, options)
            if options.json:
                print(json.dumps(asdict(row)), flush=True)
                continue
            build = f"build {row.build_s:7.1f} s ({row.build_cpu_s:.1f}), {row.build_mib:7.0f} MiB"
            query = f"query {row.query_ms:7.2f} ms ({row.query_cpu_ms:.2f}), {row.query_mib:6.0f} MiB"
            about = f"{row.engine:10} {row.documents:>9,} documents"
            print(f"{about}: {build}, {row.disk_mib:6.0f} MiB on disk; open {row.open_s:5.2f} s, {query}", flush=True)
    finally:
        if not kept:
            shutil.rmtree(options.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
