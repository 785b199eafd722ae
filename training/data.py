"""Training data: exchanges for tunings, and documents similar and dissimilar to a claim's evidence for rerankers.

Exchanges are read from JSON lines: `{"id": ..., "claim": ..., "evidence": [...], "response": ..., "group": ...}`.
Evidence may be empty, a response is optional if the model writes its own, and exchanges of one group are held out
together.

Positives of a claim are irrelevant documents among the first that BM25 finds for it, drawn if a
recipe has a larger pool than it takes; negatives are the last by BM25 (*inverse* BM25), drawn if many have no
word of the claim. All draws use the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from pydantic import Field

from hellofresh.core.errors import DataError
from hellofresh.core.files import as_model, sha256_text
from hellofresh.core.strict import Strict
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.documents import Query
from hellofresh.evidence.retrieval.sparse import SparseRetriever
from hellofresh.tasks._datasets import json_rows
from training.recipe import Recipe

_Sample = TypeVar("_Sample")


class Exchange(Strict):
    """A claim and a response to it.

    Attributes:
        id: of the exchange.
        claim: answered by the response.
        evidence: texts for the response to use, the best first.
        response: written by a person; empty if unknown.
        group: exchanges of one group are on the same subject; empty for the claim itself.
    """

    id: str = Field(min_length=1, max_length=200)
    claim: str = Field(min_length=1, max_length=20_000)
    evidence: list[str] = Field(default_factory=list, max_length=100)
    response: str = Field(default="", max_length=20_000)
    group: str = Field(default="", max_length=200)


def read_exchanges(path: Path, *, responses: bool) -> list[Exchange]:
    """All exchanges of a file.

    Args:
        path: JSON lines.
        responses: whether each exchange needs a response.

    Raises:
        DataError: if the file is missing or empty, or a line is malformed, repeats an id, or lacks a response.
    """
    found: dict[str, Exchange] = {}
    for row in json_rows(path):
        exchange, where = as_model(Exchange, row.fields, where=row.where, code="bad-exchange"), row.where
        if responses and not exchange.response.strip():
            raise DataError("no response", where=where, expected="one to learn from", code="no-response")
        if exchange.id in found:
            raise DataError(f"the id {exchange.id!r} appears twice", where=where, code="duplicate-id")
        found[exchange.id] = exchange
    if not found:
        raise DataError("no exchanges", where=str(path), expected="one JSON object per line", code="no-exchanges")
    return list(found.values())


def split_exchanges(exchanges: Sequence[Exchange], share: float, seed: int) -> tuple[list[Exchange], list[Exchange]]:
    """Split exchanges into training and held-out ones of other groups.

    Raises:
        DataError: if there are fewer than two groups.
    """
    groups = sorted({one.group or one.claim for one in exchanges}, key=lambda group: sha256_text(f"{seed}:{group}"))
    if len(groups) < 2:
        what, expected = f"{len(groups)} claim", "several: some are held out"
        raise DataError(what, where="training data", expected=expected, code="too-few-claims")
    kept_out = set(groups[: min(max(1, round(share * len(groups))), len(groups) - 1)])
    learnt = [one for one in exchanges if (one.group or one.claim) not in kept_out]
    return learnt, [one for one in exchanges if (one.group or one.claim) in kept_out]


@dataclass(frozen=True, slots=True)
class Example:
    """One pair of claim and evidence.

    Attributes:
        query: the claim.
        documents: rows of the evidence, then of the positives, then of the negatives.
        lexical: the first stage's score of each document divided by that of its best document.
    """

    query: Query
    documents: tuple[int, ...]
    lexical: tuple[float, ...]


def split_for_selection(queries: Sequence[Query], share: float, seed: int) -> tuple[list[Query], list[Query]]:
    """Queries to train on, and queries of other groups to select the epoch with.

    Raises:
        DataError: if either would be empty.
    """

    def place(group: str) -> float:
        return int(sha256_text(f"{seed}:{group}")[:12], 16) / 16**12

    kept = [query for query in queries if place(query.group) >= share]
    chosen = [query for query in queries if place(query.group) < share]
    if not kept or not chosen:
        what, expected = f"{len(queries)} queries cannot be divided", "queries of more groups, or another share"
        raise DataError(what, where="training", expected=expected, code="too-few-queries")
    return kept, chosen


def make_examples(
    corpus: RetrievalCorpus, queries: Sequence[Query], first: SparseRetriever, recipe: Recipe
) -> list[Example]:
    """An example for each claim and each of its relevant documents.

    Raises:
        DataError: if the corpus is smaller than an example.
    """
    least = recipe.drawn_from + recipe.negatives + 1
    if corpus.manifest.documents < least:
        what, where = f"{corpus.manifest.documents} documents", f"corpus {corpus.name}"
        raise DataError(what, where=where, expected=f"at least {least}", code="too-few-documents")
    qrels, examples = corpus.qrels(), []
    for query in queries:
        relevant = [corpus.rows[name] for name, value in qrels[query.id].items() if value > 0]
        scores = first.scores(query.text).astype(np.float64)
        random = np.random.default_rng(int(sha256_text(f"{recipe.seed}:{query.id}")[:8], 16))
        # A random order breaks ties, of which there are many at score 0.
        order = np.lexsort((random.permutation(len(scores)), scores))
        order = order[~np.isin(order, relevant)]
        drawn = random.choice(recipe.drawn_from, recipe.positives, replace=False)
        positives, negatives = order[::-1][np.sort(drawn)], order[: recipe.negatives]
        shares = scores / max(float(scores.max()), 1e-12)
        for evidence in relevant:
            documents = (evidence, *positives.tolist(), *negatives.tolist())
            examples.append(Example(query, documents, tuple(shares[list(documents)].tolist())))
    return examples


def in_training_order(samples: Sequence[_Sample], epochs: int, seed: int) -> list[_Sample]:
    """Samples over all epochs, each epoch in its own order, which depends on the seed only."""
    orders = [np.random.default_rng([seed, epoch]).permutation(len(samples)) for epoch in range(epochs)]
    return [samples[place] for order in orders for place in order]
