"""Leaving out documents that cannot come in changes no ranking, not by a bit."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Any

import numpy as np
import pytest

from hellofresh.evidence.retrieval.base import DocumentKeys, best
from hellofresh.evidence.retrieval.postings import Postings
from hellofresh.evidence.retrieval.sparse import Bm25, SparseRetriever
from hellofresh.evidence.retrieval.words import Analyzer
from hellofresh.tasks.outputs import Ranking

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
