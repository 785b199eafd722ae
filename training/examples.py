"""What a reranker learns from: for each claim its evidence, documents like it, and documents unlike it.

Positives are among the first documents that BM25 finds for the claim and that are not judged relevant, drawn where a
recipe draws from more than it takes; negatives are those that BM25 puts last (*inverse* BM25), drawn where many have no
word of the claim. All draws are by the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hellofresh.core.errors import DataError
from hellofresh.core.files import sha256_text
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.documents import Query
from hellofresh.evidence.retrieval.sparse import SparseRetriever
from training.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Example:
    """One pair of claim and evidence.

    Attributes:
        query: the claim.
        documents: rows of the evidence, then of the positives, then of the negatives.
        lexical: the first stage's score of each of them over that of its best document.
    """

    query: Query
    documents: tuple[int, ...]
    lexical: tuple[float, ...]


def split_for_selection(queries: Sequence[Query], share: float, seed: int) -> tuple[list[Query], list[Query]]:
    """Queries to train on, and queries of other groups to choose among epochs with.

    Raises:
        DataError: if one of the two would be empty.
    """

    def place(group: str) -> float:
        return int(sha256_text(f"{seed}:{group}")[:12], 16) / 16**12

    kept = [query for query in queries if place(query.group) >= share]
    chosen = [query for query in queries if place(query.group) < share]
    if not kept or not chosen:
        raise DataError(
            f"{len(queries)} queries cannot be divided",
            where="training",
            expected="queries of more groups, or another share for selection",
            code="too-few-queries",
        )
    return kept, chosen


def make_examples(
    corpus: RetrievalCorpus,
    queries: Sequence[Query],
    first: SparseRetriever,
    recipe: Recipe,
) -> list[Example]:
    """An example for each claim and each of its relevant documents.

    Raises:
        DataError: if the corpus is smaller than an example.
    """
    least = recipe.drawn_from + recipe.negatives + 1
    if corpus.manifest.documents < least:
        raise DataError(
            f"{corpus.manifest.documents} documents",
            where=f"corpus {corpus.name}",
            expected=f"at least {least}",
            code="too-few-documents",
        )
    qrels, found = corpus.qrels(), []
    for query in queries:
        relevant = [corpus.rows[name] for name, value in qrels[query.id].items() if value > 0]
        found += _of_query(query, relevant, first, recipe)
    return found


def _of_query(query: Query, relevant: Sequence[int], first: SparseRetriever, recipe: Recipe) -> list[Example]:
    scores = first.scores(query.text).astype(np.float64)
    random = np.random.default_rng(int(sha256_text(f"{recipe.seed}:{query.id}")[:8], 16))
    # A drawn order decides among equal scores, of which there are many at 0.
    order = np.lexsort((random.permutation(len(scores)), scores))
    order = order[~np.isin(order, relevant)]
    drawn = random.choice(recipe.drawn_from, recipe.positives, replace=False)
    positives, negatives = order[::-1][np.sort(drawn)], order[: recipe.negatives]
    shares = scores / max(float(scores.max()), 1e-12)
    examples = []
    for evidence in relevant:
        documents = (evidence, *positives.tolist(), *negatives.tolist())
        examples.append(Example(query, documents, tuple(shares[list(documents)].tolist())))
    return examples
