"""Retrievers side by side on the queries of a corpus: every metric with its interval, and every step with its own.

Samples are queries; those of a group (claims on one abstract) are a cluster, as everywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hellofresh.evidence.retrieval.base import Retriever
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.judgements import Query
from hellofresh.stats import Comparison, Interval, cluster_tables, compare, metric_interval
from hellofresh.stats.metrics import Metric
from hellofresh.stats.retrieval import METRICS, measures
from hellofresh.tasks.outputs import Ranking

__all__ = ["DEPTH", "ComparedRetriever", "RetrieverComparison", "compare_retrievers", "rank_queries"]

DEPTH = 100
"""Documents in a ranking."""


@dataclass(frozen=True, slots=True)
class ComparedRetriever:
    """One retriever on all queries.

    Attributes:
        name: the retriever's.
        rankings: by query, in their order.
        values: by metric, shape (queries,).
        intervals: by metric, of the mean.
    """

    name: str
    rankings: Sequence[Ranking]
    values: dict[str, NDArray[np.float64]]
    intervals: dict[str, Interval]

    def mean(self, metric: str) -> float:
        """A metric over all queries."""
        return float(self.values[metric].mean())


@dataclass(frozen=True, slots=True)
class RetrieverComparison:
    """Retrievers on the same queries.

    Attributes:
        corpus, split: the queries.
        queries: they themselves.
        groups: how many clusters they are of.
        retrievers: in the order in which they were named.
        steps: by metric, each retriever against the one before it.
    """

    corpus: str
    split: str
    queries: Sequence[Query]
    groups: int
    retrievers: Sequence[ComparedRetriever]
    steps: Mapping[str, Sequence[Comparison]]


def rank_queries(
    retriever: Retriever, queries: Sequence[Query], done: Callable[[int], None] = lambda number: None
) -> list[Ranking]:
    """The ranking of each query."""

    async def ranked() -> list[Ranking]:
        found = []
        for number, query in enumerate(queries, start=1):
            found.append(await retriever.retrieve(query.text, DEPTH))
            done(number)
        return found

    return asyncio.run(ranked())


def compare_retrievers(
    corpus: RetrievalCorpus,
    split: str,
    retrievers: Sequence[Retriever],
    progress: Callable[[str], None] = lambda line: None,
) -> RetrieverComparison:
    """Run retrievers on the queries of a split.

    Raises:
        UsageError: if the corpus has no such split.
    """
    queries = corpus.queries(split)
    groups = np.unique([query.group for query in queries], return_inverse=True)[1].astype(np.int64)
    compared, tables = [], []
    for retriever in retrievers:
        progress(f"{retriever.name}: {len(queries):,} queries")
        one = _measured(corpus, queries, rank_queries(retriever, queries), retriever.name)
        tables.append({metric.name: _table(one.values[metric.name], groups, metric) for metric in METRICS})
        one.intervals.update({metric.name: metric_interval(tables[-1][metric.name], metric) for metric in METRICS})
        compared.append(one)
    steps = {
        metric.name: [
            compare(later[metric.name], earlier[metric.name], metric, together=max(1, len(tables) - 1))
            for earlier, later in pairwise(tables)
        ]
        for metric in METRICS
    }
    return RetrieverComparison(corpus.name, split, queries, int(groups.max()) + 1, compared, steps)


def _measured(
    corpus: RetrievalCorpus, queries: Sequence[Query], rankings: Sequence[Ranking], name: str
) -> ComparedRetriever:
    qrels = corpus.qrels()
    found = [
        measures(ranking.documents, ranking.scores, qrels[query.id])
        for query, ranking in zip(queries, rankings, strict=True)
    ]
    values = {metric.name: np.array([one[metric.name] for one in found]) for metric in METRICS}
    return ComparedRetriever(name, rankings, values, {})


def _table(values: NDArray[np.float64], groups: NDArray[np.int64], metric: Metric) -> NDArray[np.float64]:
    return cluster_tables(metric.statistics(np.ones(len(values)), values), groups)
