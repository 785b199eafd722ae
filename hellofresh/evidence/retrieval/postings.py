"""An inverted index on disk: for each term its documents and what it weighs in them, built part by part.

A part is a run of documents, counted by any executor: a process of this machine or a worker of a cluster, which reads
the documents itself and leaves a file. Parts are merged in their order, so the index is the same wherever they were
counted. The arrays are mapped, not read: opening takes the time of reading the terms, and memory holds the pages that
queries touch.

The folder holds `terms.json` (in order of number), `starts.npy` (of each term's run, shape (terms + 1,)),
`documents.npy` and `weights.npy` (shape (postings,)), `maxima.npy` (the highest weight of each term), and `index.json`,
written last.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.errors import DataError
from hellofresh.core.executors import Pool, process_pool, run_tasks
from hellofresh.core.files import canonical_json, read_json, sha256_text, write_bytes, write_json
from hellofresh.evidence.retrieval.base import Parameters
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.documents import read_documents
from hellofresh.evidence.retrieval.words import Analyzer

__all__ = ["Postings", "TermWeighting", "build_postings"]

_FORMAT = 2
_PART = 20_000


class TermWeighting(Protocol):
    """What a term weighs in a document."""

    @property
    def name(self) -> str:
        """Of the retriever that uses it."""

    @property
    def parameters(self) -> Parameters:
        """All that decides the weights."""

    def rarity(self, documents: int, found_in: NDArray[np.int64]) -> NDArray[np.float64]:
        """What rarity is worth, by the number of documents that a term is in."""

    def weights(
        self, counts: NDArray[np.float64], rarity: NDArray[np.float64], owners: NDArray[np.int64], lengths: Lengths
    ) -> NDArray[np.float64]:
        """The weight of each posting of a part.

        Args:
            counts: how often the term is in the document.
            rarity: of the term.
            owners: the document's number within the part.
            lengths: of the documents.
        """


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long documents are, in words.

    Attributes:
        part: of the part's documents.
        mean: over all documents of the corpus.
    """

    part: NDArray[np.int64]
    mean: float


@dataclass(frozen=True, slots=True)
class Postings:
    """An index that can be searched.

    Attributes:
        terms: number of each term.
        starts, documents, weights, maxima: see the module.
    """

    terms: Mapping[str, int]
    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    weights: NDArray[np.float32]
    maxima: NDArray[np.float32]

    def of(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The documents that have a term, in order, and its weights in them."""
        number = self.terms.get(term)
        if number is None:
            return self.documents[:0], self.weights[:0]
        run = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return self.documents[run], self.weights[run]

    def most(self, term: str) -> float:
        """The highest weight of a term, 0 for one that no document has."""
        number = self.terms.get(term)
        return 0.0 if number is None else float(self.maxima[number])


@dataclass(frozen=True, slots=True)
class _PartTask:
    """A run of documents to count; small to send."""

    documents: str
    start: int
    stop: int
    analyzer: Analyzer
    folder: str


@dataclass(frozen=True, slots=True)
class _Part:
    """A counted part: its file, and how many words its documents have."""

    path: str
    start: int
    words: int


def build_postings(
    corpus: RetrievalCorpus,
    weighting: TermWeighting,
    analyzer: Analyzer,
    *,
    pool: Pool | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Postings:
    """The index of a corpus, opened from its folder, where it is built if missing.

    Args:
        corpus: the documents.
        weighting: what terms weigh.
        analyzer: what terms are.
        pool: where parts are counted; in one process of this machine if left out.
        progress: called with what is being done.
    """
    facts = {"format": _FORMAT, "corpus": corpus.manifest.sha256, **asdict(analyzer), **weighting.parameters}
    folder = corpus.folder / "index" / f"{weighting.name}-{sha256_text(canonical_json(facts))[:12]}"
    if not (folder / "index.json").is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".index-", dir=folder.parent) as name:
            made = Path(name) / "made"
            made.mkdir()
            _build(corpus, weighting, analyzer, made, pool=pool, progress=progress)
            write_json(made / "index.json", facts)
            shutil.rmtree(folder, ignore_errors=True)
            made.replace(folder)
    return _opened(folder)


def _opened(folder: Path) -> Postings:
    if read_json(folder / "index.json").get("format") != _FORMAT:
        raise DataError("an index of another version", where=str(folder), fix="Delete the folder.", code="bad-index")
    terms = json.loads((folder / "terms.json").read_bytes())
    arrays = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("starts", "documents", "weights", "maxima"))
    return Postings({term: number for number, term in enumerate(terms)}, *arrays)


def _build(
    corpus: RetrievalCorpus,
    weighting: TermWeighting,
    analyzer: Analyzer,
    folder: Path,
    *,
    pool: Pool | None,
    progress: Callable[[str], None],
) -> None:
    total = corpus.manifest.documents
    runs = [(start, min(start + _PART, total)) for start in range(0, total, _PART)]
    tasks = [_PartTask(str(corpus.path), start, stop, analyzer, str(folder)) for start, stop in runs]
    done: list[_Part] = []

    def counted(part: _Part) -> None:
        done.append(part)
        progress(f"counting words: {min(len(done) * _PART, total):,} of {total:,} documents")

    if pool is None and len(tasks) == 1:
        parts = [_count_part(tasks[0])]
    else:
        parts = run_tasks(pool or process_pool(1), _count_part, tasks, done=counted)
    progress("merging parts")
    _merge(parts, weighting, folder, total)
    for part in parts:
        Path(part.path).unlink()


def _count_part(task: _PartTask) -> _Part:
    """Count one part; its file has terms, and postings by term, then by document."""
    numbers: dict[str, int] = {}
    term_numbers: dict[str, int] = {}
    running, lengths = array("i"), []
    for document in read_documents(Path(task.documents), task.start, task.stop):
        before = len(running)
        for word in task.analyzer.words(document.content):
            number = numbers.get(word)
            if number is None:
                term = task.analyzer.term(word)
                number = term_numbers.setdefault(term, len(term_numbers)) if term else -1
                numbers[word] = number
            if number >= 0:
                running.append(number)
        lengths.append(len(running) - before)
    sizes = np.array(lengths, dtype=np.int64)
    keys = np.frombuffer(running, dtype=np.int32).astype(np.int64) * len(sizes)
    keys += np.repeat(np.arange(len(sizes)), sizes)
    pairs, counts = np.unique(keys, return_counts=True)
    path = Path(task.folder) / f"part-{task.start:09}.npz"
    terms = "\n".join(term_numbers).encode()
    np.savez(
        path,
        terms=np.frombuffer(terms, dtype=np.uint8),
        found_in=np.bincount(pairs // len(sizes), minlength=len(term_numbers)),
        owners=(pairs % len(sizes)).astype(np.int32),
        counts=np.minimum(counts, 65_535).astype(np.uint16),
        lengths=sizes,
    )
    return _Part(str(path), task.start, len(running))


def _part_terms(stored: Mapping[str, NDArray[np.uint8]]) -> list[str]:
    text = stored["terms"].tobytes().decode()
    return text.split("\n") if text else []


def _merge(parts: Sequence[_Part], weighting: TermWeighting, folder: Path, documents: int) -> None:
    terms: dict[str, int] = {}
    numbers: list[NDArray[np.int64]] = []
    found_in = np.zeros(0, dtype=np.int64)
    for part in parts:
        with np.load(part.path) as stored:
            own = [terms.setdefault(term, len(terms)) for term in _part_terms(stored)]
            numbers.append(np.array(own, dtype=np.int64))
            found_in = np.concatenate([found_in, np.zeros(len(terms) - len(found_in), dtype=np.int64)])
            found_in[numbers[-1]] += stored["found_in"]
    starts = np.concatenate([[0], np.cumsum(found_in)])
    np.save(folder / "starts.npy", starts)
    write_bytes(folder / "terms.json", json.dumps(list(terms), ensure_ascii=False).encode())
    place = np.lib.format.open_memmap
    owners = place(folder / "documents.npy", mode="w+", dtype=np.int32, shape=(int(starts[-1]),))
    weights = place(folder / "weights.npy", mode="w+", dtype=np.float32, shape=(int(starts[-1]),))
    mean = sum(part.words for part in parts) / documents
    rarity, free = weighting.rarity(documents, found_in), starts[:-1].copy()
    for part, own_numbers in zip(parts, numbers, strict=True):
        with np.load(part.path) as stored:
            sizes, inside = stored["found_in"], stored["owners"].astype(np.int64)
            firsts = np.cumsum(sizes) - sizes
            # Each term's postings of this part go behind those of the parts before it.
            target = np.repeat(free[own_numbers] - firsts, sizes) + np.arange(int(sizes.sum()))
            owners[target] = inside + part.start
            lengths = Lengths(stored["lengths"], mean)
            counts = stored["counts"].astype(np.float64)
            weights[target] = weighting.weights(counts, np.repeat(rarity[own_numbers], sizes), inside, lengths)
            free[own_numbers] += sizes
    owners.flush()
    weights.flush()
    np.save(folder / "maxima.npy", np.maximum.reduceat(weights, starts[:-1]) if len(weights) else weights)
