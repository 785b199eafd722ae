"""Measures of one ranking by relevance judgements, as trec_eval computes them.

A ranking is an array of gains: the relevance of its documents in order, 0 where a document is not judged. `relevant`
is the relevance of every document that was judged relevant, in any order. `trec_order` puts documents into the order
in which trec_eval reads them.

Source: trec_eval 9.0 (m_ndcg_cut.c, m_recall.c, m_recip_rank.c, m_map.c, form_res_rels.c). The tests compare with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hellofresh.stats.arrays import Floats
from hellofresh.stats.metrics import Metric, mean

_NDCG_CUTS, _RECALL_CUTS = (10, 1, 3, 5), (1, 3, 5, 10, 20)

METRICS: tuple[Metric, ...] = (
    *(mean(f"ndcg@{cut}", (0, 1), title=f"NDCG@{cut}") for cut in _NDCG_CUTS),
    *(mean(f"recall@{cut}", (0, 1), title=f"Recall@{cut}") for cut in _RECALL_CUTS),
    mean("mrr", (0, 1), title="MRR"),
    mean("map", (0, 1), title="MAP"),
)
"""Means of `measures` over queries; NDCG@10 is the headline, as in BEIR."""


def measures(documents: Sequence[str], scores: Sequence[float], relevance: Mapping[str, int]) -> dict[str, float]:
    """Every measure of one ranking, by the metric's name.

    >>> found = measures(["a", "b", "c"], [0.9, 0.5, 0.1], {"a": 1, "c": 1})
    >>> round(found["ndcg@3"], 3), found["recall@1"]
    (0.92, 0.5)

    Args:
        documents: the ranking, the best first, without duplicates.
        scores: of the documents; their order counts if left out.
        relevance: of the judged documents.

    Raises:
        ValueError: as `trec_order`.
    """
    order = trec_order(documents, scores) if scores else range(len(documents))
    gains = np.array([relevance.get(documents[place], 0) for place in order], dtype=np.float64)
    relevant = np.array([value for value in relevance.values() if value > 0], dtype=np.float64)
    return {
        **{f"ndcg@{cut}": ndcg(gains, relevant, cut) for cut in _NDCG_CUTS},
        **{f"recall@{cut}": recall(gains, relevant, cut) for cut in _RECALL_CUTS},
        "mrr": reciprocal_rank(gains),
        "map": average_precision(gains, relevant),
    }


def trec_order(documents: Sequence[str], scores: Sequence[float]) -> list[int]:
    """Indices of the documents, the best first: by score in single precision, ties by id in descending order.

    Raises:
        ValueError: if the numbers of scores and documents differ, or a score is nan.
    """
    single = np.asarray(scores, dtype=np.float32)
    if single.shape != (len(documents),) or np.isnan(single).any():
        raise ValueError(f"{len(documents)} documents need as many scores, all of them numbers")
    # Two stable sorts: ids from the last to the first, then scores from the highest.
    by_id = sorted(range(len(documents)), key=documents.__getitem__, reverse=True)
    return sorted(by_id, key=lambda place: -float(single[place]))


def ndcg(gains: Floats, relevant: Floats, cut: int) -> float:
    """Discounted gain of the first `cut` documents over that of the best ranking; gains are linear, as in trec_eval."""
    ideal = _discounted(np.sort(relevant)[::-1], cut)
    return _discounted(gains, cut) / ideal if ideal else 0.0


def _discounted(gains: Floats, cut: int) -> float:
    first = np.maximum(gains[:cut], 0)  # a negative judgement is not relevant
    return float((first / np.log2(np.arange(2, first.size + 2))).sum())


def recall(gains: Floats, relevant: Floats, cut: int) -> float:
    """Share of the relevant documents that are among the first `cut`."""
    return float((gains[:cut] > 0).sum() / relevant.size) if relevant.size else 0.0


def reciprocal_rank(gains: Floats) -> float:
    """One over the rank of the first relevant document, 0 without one."""
    found = np.flatnonzero(gains > 0)
    return 1.0 / float(found[0] + 1) if found.size else 0.0


def average_precision(gains: Floats, relevant: Floats) -> float:
    """Mean over the relevant documents of precision at their rank, 0 for those not ranked."""
    places = np.flatnonzero(gains > 0)
    return float((np.arange(1, places.size + 1) / (places + 1)).sum() / relevant.size) if relevant.size else 0.0
