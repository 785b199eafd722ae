"""Retrieval by words: the scores of other libraries, the same index wherever it is built, and little memory."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import date
from typing import Any

import bm25s
import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from hellofresh.core.executors import process_pool
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval import sparse
from hellofresh.evidence.retrieval.base import DocumentKeys, best
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.sparse import Analyzer, Bm25, Postings, SparseRetriever, TfIdf
from hellofresh.tasks.outputs import Ranking
from tests.fakes import refused
from tests.retrieval.conftest import small_documents, small_queries, write_small

PLAIN = Analyzer(stem=False, drop_frequent=False)
QUERIES = [query.text for query in small_queries()] + ["the the river", "nothing of it", "", "OTTERS, otters; otter"]


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.9, 0.4), (2.0, 0.0)])
@pytest.mark.parametrize("analyzer", [PLAIN, Analyzer()])
def test_bm25_equals_bm25s(small: RetrievalCorpus, analyzer: Analyzer, k1: float, b: float) -> None:
    rival = bm25s.BM25(k1=k1, b=b, method="lucene", backend="numpy")
    rival.index([analyzer.terms(item.content) for item in small.documents()], show_progress=False)
    retriever = SparseRetriever.open(small, Bm25(k1, b), analyzer)
    for query in QUERIES:
        known = [term for term in analyzer.terms(query) if term in rival.vocab_dict]
        expected = rival.get_scores(known) if known else np.zeros(len(small.ids))
        assert np.allclose(retriever.scores(query), expected, atol=1e-5), query


def test_tf_idf_is_the_cosine_of_scikit_learn(small: RetrievalCorpus) -> None:
    vectorizer = TfidfVectorizer(analyzer=PLAIN.terms)
    matrix = vectorizer.fit_transform([item.content for item in small.documents()])
    retriever = SparseRetriever.open(small, TfIdf(), PLAIN)
    for query in QUERIES:
        expected = (matrix @ vectorizer.transform([query]).T).toarray()[:, 0]
        scores = retriever.scores(query).astype(float)
        if expected.any():  # a query's length is left out
            scores *= np.linalg.norm(expected) / np.linalg.norm(scores)
        assert np.allclose(scores, expected, atol=1e-5), query


@pytest.mark.parametrize("weighting", [Bm25(), TfIdf()])
def test_the_index_is_the_same_in_parts_and_wherever_they_are_counted(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, weighting: Bm25 | TfIdf
) -> None:
    whole = SparseRetriever.open(write_small(workspace), weighting)
    other = write_small(Workspace(workspace.root / "other"))
    monkeypatch.setattr(sparse, "_PART", 7)
    parts = SparseRetriever.open(other, weighting, pool=process_pool(2))
    for query in QUERIES:
        assert np.array_equal(parts.scores(query), whole.scores(query))
    assert not list(other.folder.rglob("part-*"))


def test_texts_in_memory_are_indexed_as_a_corpus_is(small: RetrievalCorpus) -> None:
    stored = SparseRetriever.open(small, Bm25())
    documents = list(small.documents())
    texts = (item.content for item in documents)
    made = SparseRetriever.of_texts(small.ids, texts, [item.date for item in documents])
    for query in QUERIES:
        assert np.array_equal(made.scores(query), stored.scores(query))
    assert not SparseRetriever.of_texts([], [], []).scores("river").size


def test_an_index_is_built_once(small: RetrievalCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    SparseRetriever.open(small, Bm25())
    monkeypatch.setattr(sparse, "_merge", lambda *_, **__: pytest.fail("built again"))
    SparseRetriever.open(small, Bm25())


def test_a_build_that_fails_leaves_nothing_behind(small: RetrievalCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "_merge", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        SparseRetriever.open(small, Bm25())
    assert list((small.folder / "index").iterdir()) == []


def test_no_document_from_too_late_is_found(workspace: Workspace) -> None:
    days = [date(2020, 1, 1 + number % 20) for number in range(48)]
    dated = [replace(item, date=day) for item, day in zip(small_documents(), days, strict=True)]
    dated[5] = replace(dated[5], date=None)
    retriever = SparseRetriever.open(write_small(workspace, dated, "dated"), Bm25())
    query = "the people of the river hill valley market island forest"
    found = asyncio.run(retriever.retrieve(query, 48))
    early = asyncio.run(retriever.retrieve(query, 48, before=date(2020, 1, 5)))
    allowed = {item.id for item in dated if item.date is None or item.date < date(2020, 1, 5)}
    assert set(early.documents) == allowed
    assert list(early.documents) == [name for name in found.documents if name in allowed]


def test_without_the_stemmer_there_is_a_plain_error(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse._stemmer.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "Stemmer", None)
    refused("missing-extra", Analyzer().terms, "word")
    sparse._stemmer.cache_clear()


# --- Leaving out documents that cannot come in changes no ranking, not by a bit.


TERMS = [f"t{number}" for number in range(12)]


def made_index(generator: np.random.Generator, documents: int) -> SparseRetriever:
    """An index of terms of all frequencies, whose weights often tie."""
    starts, owners, weights = [0], [], []
    for _ in TERMS:
        share = generator.choice([0.001, 0.01, 0.1, 0.6, 1.0])
        found = np.flatnonzero(generator.random(documents) < share).astype(np.int32)
        rarity = np.float32(-np.log(share) + 0.1)
        weights.append((rarity * generator.choice([0.5, 0.75, 1.0], len(found))).astype(np.float32))
        owners.append(found)
        starts.append(starts[-1] + len(found))
    maxima = np.array([max(own, default=0) for own in weights], dtype=np.float32)
    numbers = {term: number for number, term in enumerate(TERMS)}
    postings = Postings(numbers, np.array(starts), np.concatenate(owners), np.concatenate(weights), maxima)
    days = generator.integers(738_000, 738_100, documents).astype(np.int32)
    keys = DocumentKeys([f"d{number}" for number in range(documents)], days)
    return SparseRetriever(Bm25(), Analyzer(stem=False), postings, keys, "made")


@pytest.mark.parametrize("seed", range(60))
def test_the_ranking_is_that_of_all_scores(seed: int) -> None:
    generator = np.random.default_rng(seed)
    retriever = made_index(generator, int(generator.choice([5, 700, 20_000])))
    query: Any = " ".join(generator.choice(TERMS, generator.integers(1, 15)))
    before = date.fromordinal(738_050) if seed % 3 == 0 else None
    k = int(generator.choice([1, 20, 300]))
    expected: Ranking = best(retriever.scores(query), retriever.keys, k, before, above=0.0)
    assert asyncio.run(retriever.retrieve(query, k, before=before)) == expected
