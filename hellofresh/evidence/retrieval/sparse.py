"""Retrieval by words: BM25 and TF-IDF over an inverted index, exact.

BM25 as in Lucene: rarity log(1 + (N - n + 0.5) / (n + 0.5)), frequency f / (f + k1 (1 - b + b length / mean length)).
TF-IDF as in scikit-learn: count times (log((1 + N) / (1 + n)) + 1), documents to length 1.
Sources: Robertson and Zaragoza, Foundations and Trends in Information Retrieval 3 (2009), 333-389; Kamphuis et al.,
ECIR 2020, on the variants; Strohman et al., SIGIR 2005, on leaving out documents that cannot come in.

The tests compare the scores with those of bm25s and scikit-learn. bm25s itself holds all running words of a corpus in
memory while it builds an index: on 100,000 abstracts it took 2.9 times the processor time and 3.2 times the memory, and
answered three times as fast (benchmarks/retrieval.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.executors import Pool
from hellofresh.evidence.retrieval.base import DocumentKeys, Parameters, best, lower_bound
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.postings import Lengths, Postings, TermWeighting, build_postings
from hellofresh.evidence.retrieval.words import Analyzer
from hellofresh.tasks.outputs import Ranking

__all__ = ["Bm25", "SparseRetriever", "TfIdf"]

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
        """Rarity times the saturated frequency."""
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
        """Over a corpus, whose index is built if missing."""
        chosen = analyzer or Analyzer()
        postings = build_postings(corpus, weighting, chosen, pool=pool, progress=progress)
        return cls(weighting, chosen, postings, corpus.keys, corpus.manifest.sha256)

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
        return [_TermRun(*self.postings.of(term), times, self.postings.most(term) * times) for term, times in counts]


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
