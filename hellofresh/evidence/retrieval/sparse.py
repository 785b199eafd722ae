"""Retrieval by words: BM25 and TF-IDF over an inverted index, exact.

BM25 as in Lucene: rarity log(1 + (N - n + 0.5) / (n + 0.5)), frequency f / (f + k1 (1 - b + b length / mean length)).
TF-IDF as in scikit-learn: count times (log((1 + N) / (1 + n)) + 1), documents to length 1.
Sources: Robertson and Zaragoza, Foundations and Trends in Information Retrieval 3 (2009), 333-389; Kamphuis et al.,
ECIR 2020, on the variants; Strohman et al., SIGIR 2005, on pruning documents.

The tests compare the scores with those of bm25s and scikit-learn. benchmarks/retrieval.py compares time and memory: on
300,000 documents this index takes 306 MB and 1.3 ms a query, tantivy 660 MB and 6.2 ms, bm25s 1,374 MB and 4.3 ms.

The index of a corpus is built in parts. A part is a range of documents, counted by a local process or a worker of a
cluster, which reads the documents itself and writes a file. Parts are merged in order, so the index does not depend on
where they were counted. The arrays are memory-mapped: opening only reads the terms, and memory holds the pages that
queries touch. The folder holds `terms.json` (in order of number), `starts.npy` (of each term's postings, shape
(terms + 1,)), `documents.npy` and `weights.npy` (shape (postings,)), `maxima.npy` (the highest weight of each term),
and `index.json`, written last. `SparseRetriever.of_texts` indexes a small set of texts in memory.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.errors import DataError, missing_extra
from hellofresh.core.executors import Pool, process_pool, run_tasks
from hellofresh.core.files import canonical_json, read_json, sha256_text, write_bytes, write_json
from hellofresh.evidence.retrieval.base import DocumentKeys, Parameters, best, lower_bound
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.documents import read_documents
from hellofresh.tasks.outputs import Ranking

_WORD = re.compile(r"\w+")
_FREQUENT = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this
    to was will with
    """.split()  # noqa: SIM905 - 33 quoted words are harder to read
)
_FORMAT = 2
_PART = 20_000  # documents of a part: its postings are held in memory, by each process
_Numbers = NDArray[np.int64]
_NEARLY = 1 - 1e-4  # bounds are multiplied by this, since sums in a different order differ slightly


@dataclass(frozen=True, slots=True)
class Analyzer:
    """How texts become terms.

    Attributes:
        stem: whether words with the same English stem are one term (Porter's second stemmer, `snowball`).
        drop_frequent: whether the 33 most frequent words of English are left out.
    """

    stem: bool = True
    drop_frequent: bool = True

    def words(self, text: str) -> list[str]:
        """The words of a text in order, each a key for `term`."""
        return _WORD.findall(text.lower())

    def term(self, word: str) -> str:
        """The term of a word, empty for a stop word.

        Raises:
            UsageError: if `stem` is set and the stemmer is not installed.
        """
        if self.drop_frequent and word in _FREQUENT:
            return ""
        return _stemmer()(word) if self.stem else word

    def terms(self, text: str) -> list[str]:
        """The terms of a text in order."""
        return [term for word in self.words(text) if (term := self.term(word))]


@lru_cache
def _stemmer() -> Callable[[str], str]:
    try:
        from Stemmer import Stemmer
    except ImportError:
        raise missing_extra("an index of words", "PyStemmer", "retrieval") from None
    stem: Callable[[str], str] = Stemmer("english").stemWord
    return stem


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths of documents, in words.

    Attributes:
        part: lengths of the part's documents.
        mean: mean length of all documents of the corpus.
    """

    part: NDArray[np.int64]
    mean: float


@dataclass(frozen=True, slots=True)
class Postings:
    """A searchable index.

    Attributes:
        terms: number of each term.
        starts, documents, weights, maxima: see the module's docstring.
    """

    terms: Mapping[str, int]
    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    weights: NDArray[np.float32]
    maxima: NDArray[np.float32]

    def of(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.float32], float]:
        """The documents with a term, in order, its weights in them, and the highest weight (0 without any)."""
        number = self.terms.get(term)
        if number is None:
            return self.documents[:0], self.weights[:0], 0.0
        run = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return self.documents[run], self.weights[run], float(self.maxima[number])


@dataclass(frozen=True, slots=True)
class _PartTask:
    """A range of documents to count, small enough to send to a worker."""

    documents: str
    start: int
    stop: int
    analyzer: Analyzer
    folder: str

    @property
    def file(self) -> Path:
        """File of the counts."""
        return Path(self.folder) / f"part-{self.start:09}.npz"


def build_postings(
    corpus: RetrievalCorpus,
    weighting: TermWeighting,
    analyzer: Analyzer,
    *,
    pool: Pool | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Postings:
    """The index of a corpus, opened from its folder and built if missing.

    Args:
        corpus: the documents.
        weighting: weights of terms.
        analyzer: turns texts into terms.
        pool: where parts are counted; one local process by default.
        progress: called with a line about the current step.
    """
    facts = {"format": _FORMAT, "corpus": corpus.manifest.sha256, **asdict(analyzer), **weighting.parameters}
    folder = corpus.folder / "index" / f"{weighting.name}-{sha256_text(canonical_json(facts))[:12]}"
    if not (folder / "index.json").is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".index-", dir=folder.parent) as name:
            made = Path(name) / "made"
            made.mkdir()
            parts = _count(_part_tasks(corpus, analyzer, Path(name)), pool, progress)
            progress("merging parts")
            _merge(parts, weighting, made, corpus.manifest.documents)
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


def _part_tasks(corpus: RetrievalCorpus, analyzer: Analyzer, folder: Path) -> list[_PartTask]:
    """The parts of a corpus, with a folder for their counts."""
    total, documents = corpus.manifest.documents, str(corpus.path.resolve())
    return [
        _PartTask(documents, start, min(start + _PART, total), analyzer, str(folder.resolve()))
        for start in range(0, total, _PART)
    ]


def _count(tasks: Sequence[_PartTask], pool: Pool | None, progress: Callable[[str], None]) -> list[_PartTask]:
    done: list[_PartTask] = []

    def counted(part: _PartTask) -> None:
        done.append(part)
        progress(f"counting words: {len(done):,} of {len(tasks):,} parts of {_PART:,} documents")

    if pool is None and len(tasks) <= 1:
        return [_count_part(task) for task in tasks]
    return run_tasks(pool or process_pool(1), _count_part, tasks, done=counted)


@dataclass(frozen=True, slots=True)
class _Counted:
    """Counted texts: their terms, and postings by term, then by text.

    Attributes:
        terms: in order of first occurrence.
        found_in: number of texts with each term, shape (terms,).
        owners, counts: number of the text, and count of the term in it, for each posting.
        lengths: number of words of each text.
    """

    terms: Sequence[str]
    found_in: NDArray[np.int64]
    owners: NDArray[np.int32]
    counts: NDArray[np.uint16]
    lengths: NDArray[np.int64]


def _counted(texts: Iterable[str], analyzer: Analyzer) -> _Counted:
    numbers: dict[str, int] = {}
    term_numbers: dict[str, int] = {}
    running, lengths = array("i"), []
    for text in texts:
        before = len(running)
        for word in analyzer.words(text):
            number = numbers.get(word)
            if number is None:
                term = analyzer.term(word)
                number = term_numbers.setdefault(term, len(term_numbers)) if term else -1
                numbers[word] = number
            if number >= 0:
                running.append(number)
        lengths.append(len(running) - before)
    sizes = np.array(lengths, dtype=np.int64)
    keys = np.frombuffer(running, dtype=np.int32).astype(np.int64) * len(sizes)
    keys += np.repeat(np.arange(len(sizes)), sizes)
    pairs, counts = np.unique(keys, return_counts=True)
    size = max(1, len(sizes))
    return _Counted(
        terms=list(term_numbers),
        found_in=np.bincount(pairs // size, minlength=len(term_numbers)),
        owners=(pairs % size).astype(np.int32),
        counts=np.minimum(counts, 65_535).astype(np.uint16),
        lengths=sizes,
    )


def _count_part(task: _PartTask) -> _PartTask:
    """Count one part and write it to its file."""
    documents = read_documents(Path(task.documents), task.start, task.stop)
    found = _counted((document.content for document in documents), task.analyzer)
    terms = np.frombuffer("\n".join(found.terms).encode(), dtype=np.uint8)
    np.savez(
        task.file, terms=terms, found_in=found.found_in, owners=found.owners, counts=found.counts, lengths=found.lengths
    )
    return task


def _terms_of(parts: Sequence[_PartTask]) -> tuple[Sequence[str], Sequence[_Numbers], _Numbers, int]:
    """All terms, the numbers of each part's terms among them, document frequencies, and the total number of words."""
    terms: dict[str, int] = {}
    numbers: list[_Numbers] = []
    found_in, words = np.zeros(0, dtype=np.int64), 0
    for part in parts:
        with np.load(part.file) as stored:
            text = stored["terms"].tobytes().decode()
            own = [terms.setdefault(term, len(terms)) for term in text.split("\n") if term]
            numbers.append(np.array(own, dtype=np.int64))
            found_in = np.concatenate([found_in, np.zeros(len(terms) - len(found_in), dtype=np.int64)])
            found_in[numbers[-1]] += stored["found_in"]
            words += int(stored["lengths"].sum())
    return list(terms), numbers, found_in, words


def _merge(parts: Sequence[_PartTask], weighting: TermWeighting, folder: Path, documents: int) -> None:
    terms, numbers, found_in, words = _terms_of(parts)
    starts = np.concatenate([[0], np.cumsum(found_in)])
    np.save(folder / "starts.npy", starts)
    write_bytes(folder / "terms.json", json.dumps(terms, ensure_ascii=False).encode())
    place = np.lib.format.open_memmap
    owners = place(folder / "documents.npy", mode="w+", dtype=np.int32, shape=(int(starts[-1]),))
    weights = place(folder / "weights.npy", mode="w+", dtype=np.float32, shape=(int(starts[-1]),))
    rarity, free = weighting.rarity(documents, found_in), starts[:-1].copy()
    for part, own_numbers in zip(parts, numbers, strict=True):
        with np.load(part.file) as stored:
            sizes, inside = stored["found_in"], stored["owners"].astype(np.int64)
            firsts = np.cumsum(sizes) - sizes
            # A term's postings in this part follow those of earlier parts.
            target = np.repeat(free[own_numbers] - firsts, sizes) + np.arange(int(sizes.sum()))
            owners[target] = inside + part.start
            lengths = Lengths(stored["lengths"], words / documents)
            counts = stored["counts"].astype(np.float64)
            weights[target] = weighting.weights(counts, np.repeat(rarity[own_numbers], sizes), inside, lengths)
            free[own_numbers] += sizes
    owners.flush()
    weights.flush()
    np.save(folder / "maxima.npy", np.maximum.reduceat(weights, starts[:-1]) if len(weights) else weights)


@dataclass(frozen=True, slots=True)
class Bm25:
    """Okapi BM25 in Lucene's form.

    Attributes:
        k1: saturation of term frequency.
        b: strength of the normalization by length, 0 to 1.
    """

    k1: float = 1.2
    b: float = 0.75
    name: str = field(default="bm25", init=False)

    @property
    def parameters(self) -> Parameters:
        """The values of k1 and b."""
        return {"weighting": self.name, "k1": self.k1, "b": self.b}

    def rarity(self, documents: int, found_in: NDArray[np.int64]) -> NDArray[np.float64]:
        """log(1 + (N - n + 0.5) / (n + 0.5))."""
        return np.log1p((documents - found_in + 0.5) / (found_in + 0.5))

    def weights(
        self, counts: NDArray[np.float64], rarity: NDArray[np.float64], owners: NDArray[np.int64], lengths: Lengths
    ) -> NDArray[np.float64]:
        """The weight of each posting of a part: rarity times the saturated frequency.

        Args:
            counts: count of the term in the document.
            rarity: rarity of the term.
            owners: the document's number within the part.
            lengths: lengths of the documents.
        """
        norm = self.k1 * (1 - self.b + self.b * lengths.part / max(lengths.mean, 1e-9))
        return rarity * counts / (counts + norm[owners])


@dataclass(frozen=True, slots=True)
class TfIdf:
    """Cosine similarity of counts weighted by rarity; the query's length does not affect the order and is left out."""

    name: str = field(default="tf-idf", init=False)

    @property
    def parameters(self) -> Parameters:
        """Empty, as there are no settings."""
        return {"weighting": self.name}

    def rarity(self, documents: int, found_in: NDArray[np.int64]) -> NDArray[np.float64]:
        """log((1 + N) / (1 + n)) + 1."""
        return np.log((1 + documents) / (1 + found_in)) + 1

    def weights(
        self, counts: NDArray[np.float64], rarity: NDArray[np.float64], owners: NDArray[np.int64], lengths: Lengths
    ) -> NDArray[np.float64]:
        """Count times rarity divided by the document's length, times the rarity of the query's term."""
        plain = counts * rarity
        norms = np.sqrt(np.bincount(owners, weights=plain**2, minlength=len(lengths.part)))
        return plain * rarity / np.maximum(norms, 1e-12)[owners]


TermWeighting = Bm25 | TfIdf
"""Weighting of terms in a document."""


@dataclass(frozen=True, slots=True)
class SparseRetriever:
    """Finds documents by the weighted terms that they share with a query.

    Attributes:
        weighting: weights of terms.
        analyzer: turns texts into terms.
        postings: the index.
        keys: ids and days of the documents.
        corpus: hash of the documents' content.
    """

    weighting: TermWeighting
    analyzer: Analyzer
    postings: Postings
    keys: DocumentKeys
    corpus: str

    @classmethod
    def open(
        cls,
        corpus: RetrievalCorpus,
        weighting: TermWeighting,
        analyzer: Analyzer | None = None,
        *,
        pool: Pool | None = None,
        progress: Callable[[str], None] = lambda line: None,
    ) -> SparseRetriever:
        """Open a retriever over a corpus; a missing index is built, see `build_postings`."""
        chosen = analyzer or Analyzer()
        postings = build_postings(corpus, weighting, chosen, pool=pool, progress=progress)
        return cls(weighting, chosen, postings, corpus.keys, corpus.manifest.sha256)

    @classmethod
    def of_texts(cls, ids: Sequence[str], texts: Iterable[str], days: Sequence[date | None]) -> SparseRetriever:
        """BM25 over texts that are indexed in memory, suited to some ten thousand texts.

        `scores` returns scores in the order of the texts; `retrieve` names texts by id.
        """
        weighting, analyzer = Bm25(), Analyzer()
        found = _counted(texts, analyzer)
        starts = np.concatenate([[0], np.cumsum(found.found_in)])
        lengths = Lengths(found.lengths, float(found.lengths.mean()) if len(found.lengths) else 0.0)
        rarity = np.repeat(weighting.rarity(len(found.lengths), found.found_in), found.found_in)
        owners, counts = found.owners.astype(np.int64), found.counts.astype(np.float64)
        weights = weighting.weights(counts, rarity, owners, lengths).astype(np.float32)
        maxima = np.maximum.reduceat(weights, starts[:-1]) if len(weights) else weights
        terms = {term: number for number, term in enumerate(found.terms)}
        postings = Postings(terms, starts, found.owners, weights, maxima)
        return cls(weighting, analyzer, postings, DocumentKeys.of(ids, days), "")

    @property
    def name(self) -> str:
        """The weighting's name."""
        return self.weighting.name

    @property
    def parameters(self) -> Parameters:
        """Parameters of weighting, analyzer and corpus."""
        return {**self.weighting.parameters, **asdict(self.analyzer), "corpus": self.corpus}

    def scores(self, query: str) -> NDArray[np.float32]:
        """The score of every document, 0 without a common term, shape (documents,)."""
        scores = np.zeros(len(self.keys.ids), dtype=np.float32)
        for run in self._runs(query):
            scores[run.documents] += run.weights
        return scores

    async def retrieve(self, query: str, k: int, *, before: date | None = None) -> Ranking:
        """The k documents with the highest positive scores; scores equal those of `scores` to the last bit."""
        early = None if before is None else self.keys.early(before)
        runs = [run for run in self._runs(query) if len(run.documents)]
        found = _candidates(runs, len(self.keys.ids), k, early)
        scores = np.zeros(len(found), dtype=np.float32)
        for run in runs:
            there, weights = run.within(found)
            scores[there] += weights
        return best(scores, self.keys.some(found), k, None, above=0.0)

    def _runs(self, query: str) -> list[_TermRun]:
        """The query's terms in the order in which their weights are added."""
        counts = sorted(Counter(self.analyzer.terms(query)).items())
        found = ((*self.postings.of(term), times) for term, times in counts)
        return [_TermRun(documents, weights, times, most * times) for documents, weights, most, times in found]


@dataclass(frozen=True, slots=True)
class _TermRun:
    """A term's documents and weights, its count in the query, and its largest contribution to a score."""

    documents: NDArray[np.int32]
    stored: NDArray[np.float32]
    times: int
    most: float

    @property
    def weights(self) -> NDArray[np.float32]:
        """Its contribution to each document's score."""
        return self.stored * np.float32(self.times)

    def within(self, documents: NDArray[np.int32]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Mask of these sorted documents that have the term, and its contribution to each of them."""
        places = np.minimum(np.searchsorted(self.documents, documents), len(self.documents) - 1)
        there: NDArray[np.bool_] = self.documents[places] == documents
        return there, self.stored[places[there]] * np.float32(self.times)


def _candidates(runs: Sequence[_TermRun], documents: int, k: int, early: NDArray[np.bool_] | None) -> NDArray[np.int32]:
    """Sorted candidates that include the best k documents; terms with large contributions are added first.

    Once the remaining terms together add less than the k-th highest score so far, only documents with earlier terms
    can qualify; after each term, documents that can no longer reach that score are dropped (MaxScore).
    """
    ordered = sorted(runs, key=lambda run: run.most, reverse=True)
    left = [*np.cumsum([run.most for run in reversed(ordered)])[::-1].tolist(), 0.0]
    scores = np.zeros(documents, dtype=np.float32)
    done, least = 0, 0.0
    for done, run in enumerate(ordered, start=1):
        scores[run.documents] += run.weights
        if early is not None:
            scores[~early] = 0.0
        # scores of the others have not changed, so the bound needs only these
        here = scores if len(run.documents) * 4 > documents else scores[run.documents]
        least = max(least, lower_bound(here, k))
        if left[done] < least * _NEARLY:
            break
    found = np.flatnonzero((scores > 0) & (scores >= (least * _NEARLY - left[done]))).astype(np.int32)
    partial = scores[found]
    for place, run in enumerate(ordered[done:], start=done + 1):
        there, weights = run.within(found)
        partial[there] += weights
        least = max(least, lower_bound(partial, k))
        kept = partial >= least * _NEARLY - left[place]
        found, partial = found[kept], partial[kept]
    return found
