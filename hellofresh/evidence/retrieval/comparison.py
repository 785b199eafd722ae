"""Comparison of retrievers on a corpus's queries: metrics and stepwise differences, each with an interval.

Samples are queries; those of a group (claims on one abstract) form a cluster. Two rules are BEIR's: if queries are
among the documents, a query never finds itself; and if a query has more than k relevant documents, recall is also
given relative to the most that can be found (`recall_cap@k`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.executors import completed
from hellofresh.evidence.retrieval.base import Retriever, made_ranking
from hellofresh.evidence.retrieval.corpora import IGNORE_IDENTICAL, RetrievalCorpus
from hellofresh.evidence.retrieval.documents import Query
from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.intervals import Interval, metric_interval
from hellofresh.stats.metrics import Metric, mean
from hellofresh.stats.paired import Comparison, compare
from hellofresh.stats.retrieval import METRICS, measures
from hellofresh.tasks.outputs import Ranking

DEPTH = 100
"""Number of documents in a ranking."""
_CAPS = (10, 20, 100)  # what a reranker reads, a search page shows, and BEIR reports
CAPPED = tuple(mean(f"recall_cap@{cut}", (0, 1), title=f"Capped recall@{cut}") for cut in _CAPS)


@dataclass(frozen=True, slots=True)
class ComparedRetriever:
    """One retriever on all queries.

    Attributes:
        name: the retriever's name.
        rankings: one per query, in their order.
        values: by metric, shape (queries,).
        intervals: interval of the mean, by metric.
    """

    name: str
    rankings: Sequence[Ranking]
    values: dict[str, NDArray[np.float64]]
    intervals: dict[str, Interval]

    def mean(self, metric: str) -> float:
        """The mean of a metric over all queries."""
        return float(self.values[metric].mean())


@dataclass(frozen=True, slots=True)
class RetrieverComparison:
    """Results of several retrievers on the same queries.

    Attributes:
        corpus, split: the queries.
        queries: the queries themselves.
        groups: number of clusters of queries.
        metrics: those of trec_eval, and capped recall if a query has more than 20 relevant documents.
        retrievers: in the given order.
        steps: difference of each retriever from the one before it, by metric.
    """

    corpus: str
    split: str
    queries: Sequence[Query]
    groups: int
    metrics: Sequence[Metric]
    retrievers: Sequence[ComparedRetriever]
    steps: Mapping[str, Sequence[Comparison]]


def rank_queries(
    retriever: Retriever, queries: Sequence[Query], *, ignore_identical_ids: bool = False
) -> list[Ranking]:
    """The ranking of each query; `ignore_identical_ids` excludes the document with the query's own id."""

    async def ranked() -> list[Ranking]:
        rankings = []
        for query in queries:
            found = await retriever.retrieve(query.text, DEPTH + ignore_identical_ids)
            pairs = zip(found.documents, found.scores, strict=True)
            left = [pair for pair in pairs if not (ignore_identical_ids and pair[0] == query.id)]
            rankings.append(made_ranking(left[:DEPTH]))
        return rankings

    return completed(ranked())


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
    qrels = corpus.qrels()
    most = max(sum(value > 0 for value in qrels[query.id].values()) for query in queries)
    metrics = (*METRICS, *(CAPPED if most > min(_CAPS[1:]) else ()))
    own = bool(corpus.manifest.parameters.get(IGNORE_IDENTICAL))
    compared, tables = [], []
    for retriever in retrievers:
        progress(f"{retriever.name}: {len(queries):,} queries")
        rankings = rank_queries(retriever, queries, ignore_identical_ids=own)
        found = [_measures(ranking, qrels[query.id]) for query, ranking in zip(queries, rankings, strict=True)]
        values = {metric.name: np.array([one[metric.name] for one in found]) for metric in metrics}
        one = np.ones(len(queries))
        tables.append(
            {metric.name: cluster_tables(metric.statistics(one, values[metric.name]), groups) for metric in metrics}
        )
        intervals = {metric.name: metric_interval(tables[-1][metric.name], metric) for metric in metrics}
        compared.append(ComparedRetriever(retriever.name, rankings, values, intervals))
    steps = {
        metric.name: [
            compare(later[metric.name], earlier[metric.name], metric, together=max(1, len(tables) - 1))
            for earlier, later in pairwise(tables)
        ]
        for metric in metrics
    }
    return RetrieverComparison(corpus.name, split, queries, int(groups.max()) + 1, metrics, compared, steps)


def _measures(ranking: Ranking, relevance: Mapping[str, int]) -> dict[str, float]:
    """All measures of a ranking, including capped recall."""
    relevant = sum(value > 0 for value in relevance.values())
    hits = np.cumsum([int(relevance.get(document, 0) > 0) for document in ranking.documents] or [0])
    capped = {f"recall_cap@{cut}": float(hits[:cut][-1]) / max(1, min(cut, relevant)) for cut in _CAPS}
    return {**measures(ranking.documents, ranking.scores, relevance), **capped}
