"""Retrieval by words: BM25 and TF-IDF over an inverted index, exact.

BM25 as in Lucene: rarity log(1 + (N - n + 0.5) / (n + 0.5)), frequency f / (f + k1 (1 - b + b length / mean length)).
TF-IDF as in scikit-learn: count times (log((1 + N) / (1 + n)) + 1), documents to length 1.
Sources: Robertson and Zaragoza, Foundations and Trends in Information Retrieval 3 (2009), 333-389; Kamphuis et al.,
ECIR 2020, on the variants; Strohman et al., SIGIR 2005, on leaving out documents that cannot come in.

The tests compare the scores with those of bm25s and scikit-learn. benchmarks/retrieval.py compares time and memory: on
300,000 documents this index takes 306 MB and 1.3 ms a query, tantivy 660 MB and 6.2 ms, bm25s 1,374 MB and 4.3 ms.

The index of a corpus is built part by part. A part is a run of documents, counted by a process of this machine or a
worker of a cluster, which reads the documents itself and leaves a file. Parts are merged in their order, so the index
is the same wherever they were counted. The arrays are mapped: opening takes the time of reading the terms, and memory
holds the pages that queries touch. The folder holds `terms.json` (in order of number), `starts.npy` (of each term's
run, shape (terms + 1,)), `documents.npy` and `weights.npy` (shape (postings,)), `maxima.npy` (the highest weight of
each term), and `index.json`, written last. A small set of texts is indexed in memory: `SparseRetriever.of_texts`.
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


@dataclass(frozen=True, slots=True)
class Analyzer:
    """How texts become terms.

    Attributes:
        stem: whether words of one English stem are one term (Porter's second stemmer, `snowball`).
        drop_frequent: whether the 33 most frequent words of English are left out.
    """

    stem: bool = True
    drop_frequent: bool = True

    def words(self, text: str) -> list[str]:
        """The running words, each a key for `term`."""
        return _WORD.findall(text.lower())

    def term(self, word: str) -> str:
        """The term of a word, empty for one that is left out.

        Raises:
            UsageError: if stems are asked for and the stemmer is not installed.
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


_FORMAT = 2
_PART = 20_000


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

    def of(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.float32], float]:
        """The documents that have a term, in order, its weights in them, and the highest of these, 0 without any."""
        number = self.terms.get(term)
        if number is None:
            return self.documents[:0], self.weights[:0], 0.0
        run = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return self.documents[run], self.weights[run], float(self.maxima[number])


@dataclass(frozen=True, slots=True)
class _PartTask:
    """A run of documents to count; small to send."""

    documents: str
    start: int
    stop: int
    analyzer: Analyzer
    folder: str

    @property
    def file(self) -> Path:
        """Where the counts go."""
        return Path(self.folder) / f"part-{self.start:09}.npz"


@dataclass(frozen=True, slots=True)
class _Part:
    """A counted part: its file, and its first document."""

    path: str
    start: int


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
    """Every part of a corpus, its counts to go into a folder."""
    total, documents = corpus.manifest.documents, str(corpus.path.resolve())
    return [
        _PartTask(documents, start, min(start + _PART, total), analyzer, str(folder.resolve()))
        for start in range(0, total, _PART)
    ]


def _count(tasks: Sequence[_PartTask], pool: Pool | None, progress: Callable[[str], None]) -> list[_Part]:
    done: list[_Part] = []

    def counted(part: _Part) -> None:
        done.append(part)
        progress(f"counting words: {len(done):,} of {len(tasks):,} parts of {_PART:,} documents")

    if pool is None and len(tasks) <= 1:
        return [_count_part(task) for task in tasks]
    return run_tasks(pool or process_pool(1), _count_part, tasks, done=counted)


@dataclass(frozen=True, slots=True)
class _Counted:
    """Counted texts: their terms, and postings by term, then by text.

    Attributes:
        terms: in the order in which they were met.
        found_in: texts that have each term, shape (terms,).
        owners, counts: of each posting, the text's number and how often it has the term.
        lengths: words of each text.
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


def _count_part(task: _PartTask) -> _Part:
    """Count one part, and leave it in a file."""
    documents = read_documents(Path(task.documents), task.start, task.stop)
    found = _counted((document.content for document in documents), task.analyzer)
    terms = np.frombuffer("\n".join(found.terms).encode(), dtype=np.uint8)
    np.savez(
        task.file, terms=terms, found_in=found.found_in, owners=found.owners, counts=found.counts, lengths=found.lengths
    )
    return _Part(str(task.file), task.start)


_Numbers = NDArray[np.int64]


def _terms_of(parts: Sequence[_Part]) -> tuple[Sequence[str], Sequence[_Numbers], _Numbers, int]:
    """All terms, the numbers of each part's own ones among them, in how many documents each is, and all words."""
    terms: dict[str, int] = {}
    numbers: list[_Numbers] = []
    found_in, words = np.zeros(0, dtype=np.int64), 0
    for part in parts:
        with np.load(part.path) as stored:
            text = stored["terms"].tobytes().decode()
            own = [terms.setdefault(term, len(terms)) for term in text.split("\n") if term]
            numbers.append(np.array(own, dtype=np.int64))
            found_in = np.concatenate([found_in, np.zeros(len(terms) - len(found_in), dtype=np.int64)])
            found_in[numbers[-1]] += stored["found_in"]
            words += int(stored["lengths"].sum())
    return list(terms), numbers, found_in, words


def _merge(parts: Sequence[_Part], weighting: TermWeighting, folder: Path, documents: int) -> None:
    terms, numbers, found_in, words = _terms_of(parts)
    starts = np.concatenate([[0], np.cumsum(found_in)])
    np.save(folder / "starts.npy", starts)
    write_bytes(folder / "terms.json", json.dumps(terms, ensure_ascii=False).encode())
    place = np.lib.format.open_memmap
    owners = place(folder / "documents.npy", mode="w+", dtype=np.int32, shape=(int(starts[-1]),))
    weights = place(folder / "weights.npy", mode="w+", dtype=np.float32, shape=(int(starts[-1]),))
    rarity, free = weighting.rarity(documents, found_in), starts[:-1].copy()
    for part, own_numbers in zip(parts, numbers, strict=True):
        with np.load(part.path) as stored:
            sizes, inside = stored["found_in"], stored["owners"].astype(np.int64)
            firsts = np.cumsum(sizes) - sizes
            # Each term's postings of this part go behind those of the parts before it.
            target = np.repeat(free[own_numbers] - firsts, sizes) + np.arange(int(sizes.sum()))
            owners[target] = inside + part.start
            lengths = Lengths(stored["lengths"], words / documents)
            counts = stored["counts"].astype(np.float64)
            weights[target] = weighting.weights(counts, np.repeat(rarity[own_numbers], sizes), inside, lengths)
            free[own_numbers] += sizes
    owners.flush()
    weights.flush()
    np.save(folder / "maxima.npy", np.maximum.reduceat(weights, starts[:-1]) if len(weights) else weights)


_NEARLY = 1 - 1e-4
"""Sums in another order differ by less than this share."""


@dataclass(frozen=True, slots=True)
class Bm25:
    """Okapi BM25 in Lucene's form.

    Attributes:
        k1: how soon further occurrences of a term stop to count.
        b: how much a document's length counts, 0 to 1.
    """

    k1: float = 1.2
    b: float = 0.75
    name: str = field(default="bm25", init=False)

    @property
    def parameters(self) -> Parameters:
        """k1 and b."""
        return {"weighting": self.name, "k1": self.k1, "b": self.b}

    def rarity(self, documents: int, found_in: NDArray[np.int64]) -> NDArray[np.float64]:
        """log(1 + (N - n + 0.5) / (n + 0.5))."""
        rarity: NDArray[np.float64] = np.log1p((documents - found_in + 0.5) / (found_in + 0.5))
        return rarity

    def weights(
        self, counts: NDArray[np.float64], rarity: NDArray[np.float64], owners: NDArray[np.int64], lengths: Lengths
    ) -> NDArray[np.float64]:
        """The weight of each posting of a part: rarity times the saturated frequency.

        Args:
            counts: how often the term is in the document.
            rarity: of the term.
            owners: the document's number within the part.
            lengths: of the documents.
        """
        norm = self.k1 * (1 - self.b + self.b * lengths.part / max(lengths.mean, 1e-9))
        weights: NDArray[np.float64] = rarity * counts / (counts + norm[owners])
        return weights


@dataclass(frozen=True, slots=True)
class TfIdf:
    """The cosine of counts weighted by rarity; a query's own length changes no order and is left out."""

    name: str = field(default="tf-idf", init=False)

    @property
    def parameters(self) -> Parameters:
        """None to choose."""
        return {"weighting": self.name}

    def rarity(self, documents: int, found_in: NDArray[np.int64]) -> NDArray[np.float64]:
        """log((1 + N) / (1 + n)) + 1."""
        rarity: NDArray[np.float64] = np.log((1 + documents) / (1 + found_in)) + 1
        return rarity

    def weights(
        self, counts: NDArray[np.float64], rarity: NDArray[np.float64], owners: NDArray[np.int64], lengths: Lengths
    ) -> NDArray[np.float64]:
        """Count times rarity over the document's length, times the rarity that the query's term brings."""
        plain = counts * rarity
        norms = np.sqrt(np.bincount(owners, weights=plain**2, minlength=len(lengths.part)))
        weights: NDArray[np.float64] = plain * rarity / np.maximum(norms, 1e-12)[owners]
        return weights


TermWeighting = Bm25 | TfIdf
"""What a term weighs in a document."""


@dataclass(frozen=True, slots=True)
class SparseRetriever:
    """Finds the documents whose terms, weighted, fit a query's.

    Attributes:
        weighting: what terms weigh.
        analyzer: what terms are.
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
        """Over a corpus, whose index is built if missing, as `build_postings` says."""
        chosen = analyzer or Analyzer()
        postings = build_postings(corpus, weighting, chosen, pool=pool, progress=progress)
        return cls(weighting, chosen, postings, corpus.keys, corpus.manifest.sha256)

    @classmethod
    def of_texts(cls, ids: Sequence[str], texts: Iterable[str], days: Sequence[date | None]) -> SparseRetriever:
        """BM25 over texts that are indexed now, in memory; for some ten thousand of them.

        `scores` gives the score of each text in their order; `retrieve` names texts by their ids.
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
        """Of the weighting."""
        return self.weighting.name

    @property
    def parameters(self) -> Parameters:
        """Weighting, analyzer and corpus."""
        return {**self.weighting.parameters, **asdict(self.analyzer), "corpus": self.corpus}

    def scores(self, query: str) -> NDArray[np.float32]:
        """The score of every document, 0 without a common term."""
        scores = np.zeros(len(self.keys.ids), dtype=np.float32)
        for run in self._runs(query):
            scores[run.documents] += run.weights
        return scores

    async def retrieve(self, query: str, k: int, *, before: date | None = None) -> Ranking:
        """The k documents with the highest score, none without a common term; those of `scores`, to the last bit."""
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
    """A term's documents and weights, how often a query has it, and the most that it adds to a score."""

    documents: NDArray[np.int32]
    stored: NDArray[np.float32]
    times: int
    most: float

    @property
    def weights(self) -> NDArray[np.float32]:
        """What it adds to each document's score."""
        return self.stored * np.float32(self.times)

    def within(self, documents: NDArray[np.int32]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Which of these documents, in order, have the term, and what it adds to each of those."""
        places = np.minimum(np.searchsorted(self.documents, documents), len(self.documents) - 1)
        there: NDArray[np.bool_] = self.documents[places] == documents
        return there, self.stored[places[there]] * np.float32(self.times)


def _candidates(runs: Sequence[_TermRun], documents: int, k: int, early: NDArray[np.bool_] | None) -> NDArray[np.int32]:
    """Documents among which the best k are, in order: terms that add much come first.

    Once all terms that are left add less than the k-th highest score so far, no document without the terms before them
    can come in; of the others, those that cannot reach it any more are left out after each term (MaxScore).
    """
    ordered = sorted(runs, key=lambda run: run.most, reverse=True)
    left = [*np.cumsum([run.most for run in reversed(ordered)])[::-1].tolist(), 0.0]
    scores = np.zeros(documents, dtype=np.float32)
    done, least = 0, 0.0
    for done, run in enumerate(ordered, start=1):
        scores[run.documents] += run.weights
        if early is not None:
            scores[~early] = 0.0
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
