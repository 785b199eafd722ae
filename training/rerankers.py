"""Training of rerankers by equation 1 of RARG: a head on frozen vectors.

    loss = max(0, max over positives of f(x, p) - f(x, e) + tau) - lambda * share
    share = exp f(x, e) / (exp f(x, e) + sum over negatives of exp f(x, n))

The evidence e should score above each document that BM25 finds (p) by tau, and have most of the mass among
those that BM25 ranks last (n). The paper's equation has no logarithm; with `logarithm` the share's logarithm is used,
as in the usual contrastive loss. Of equal positives, the first gets the gradient.

A head takes seconds and restarts after an interruption; `training.encoders` trains whole encoders by the same
loss. Both keep the epoch with the best NDCG@10 after two stages, which may be the untrained model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from transformers import get_cosine_schedule_with_warmup

from hellofresh.evidence.retrieval.comparison import rank_queries
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.documents import Query
from hellofresh.evidence.retrieval.rerank import FIRST_STAGE, DenseScorer, Head, lexical_scores, write_head
from hellofresh.evidence.retrieval.sparse import SparseRetriever
from hellofresh.stats.retrieval import measures
from hellofresh.tasks.outputs import Ranking
from training.data import Example, in_training_order, make_examples, split_for_selection
from training.log import LogRow, known_values
from training.recipe import Recipe
from training.run import OnRow


@dataclass(frozen=True, slots=True)
class RerankerTraining:
    """Data and recipe of a reranker's training.

    Attributes:
        corpus: with its queries.
        split: the queries to learn from; some of them select the epoch.
        first: the first stage.
        recipe: settings.
    """

    corpus: RetrievalCorpus
    split: str
    first: SparseRetriever
    recipe: Recipe

    @property
    def identity(self) -> dict[str, str | int | float | bool]:
        """All parameters that decide the result, besides the model."""
        return {
            "corpus": self.corpus.name,
            "corpus_sha256": self.corpus.manifest.sha256,
            "split": self.split,
            **{f"recipe.{name}": value for name, value in self.recipe.model_dump().items()},
        }

    def parts(self) -> tuple[list[Example], list[Query]]:
        """Examples to learn from, and the queries that select the epoch."""
        queries, chosen = split_for_selection(self.corpus.queries(self.split), self.recipe.selection, self.recipe.seed)
        return make_examples(self.corpus, queries, self.first, self.recipe), chosen

    def found(self, queries: Sequence[Query]) -> list[Ranking]:
        """The documents of each query for the second stage."""
        return [
            replace(one, documents=one.documents[:FIRST_STAGE], scores=one.scores[:FIRST_STAGE])
            for one in rank_queries(self.first, queries)
        ]


@dataclass(frozen=True, slots=True)
class TrainedReranker:
    """The outcome of a training.

    Attributes:
        folder: with the model.
        scores: NDCG@10 on the queries for selection, untrained and after each epoch.
        epoch: the selected one, 0 for the untrained model.
        losses: mean loss of each epoch.
    """

    folder: Path
    scores: tuple[float, ...]
    epoch: int
    losses: tuple[float, ...]

    @classmethod
    def of(cls, folder: Path, rows: Sequence[LogRow], in_epoch: int) -> TrainedReranker:
        """Read the result from the log."""
        scores = tuple(value for _, value in known_values(rows, "ndcg"))
        losses = [value for _, value in known_values(rows, "loss")]
        by_epoch = tuple(float(np.mean(losses[n : n + in_epoch])) for n in range(0, len(losses), in_epoch))
        return cls(folder, scores, int(np.argmax(scores)), by_epoch)


def equation_1(fits: Tensor, recipe: Recipe) -> Tensor:
    """The loss of n claims.

    Args:
        fits: f of the evidence, then the positives, then the negatives, shape (n, 1 + positives + negatives).
        recipe: tau, lambda, and whether to use the logarithm.
    """
    evidence, positives, negatives = fits[:, 0], fits[:, 1 : 1 + recipe.positives], fits[:, 1 + recipe.positives :]
    margin = torch.relu(positives.max(dim=1).values - evidence + recipe.tau)
    share = torch.log_softmax(torch.cat([evidence[:, None], negatives], dim=1), dim=1)[:, 0]
    return margin - recipe.weight * (share if recipe.logarithm else share.exp())


class HeadModule(nn.Module):  # type: ignore[misc]  # the library is not type-checked
    """A head in training; matrices are stored as their difference from the identity, where they start."""

    def __init__(self, dimensions: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.zeros(dimensions, dimensions, dtype=torch.float64))
        self.document = nn.Parameter(torch.zeros(dimensions, dimensions, dtype=torch.float64))
        self.lexical = nn.Parameter(torch.zeros((), dtype=torch.float64))

    def forward(self, queries: Tensor, documents: Tensor, lexical: Tensor) -> Tensor:
        """f of n queries, shape (n, d), and m documents of each, shape (n, m, d), with s of shape (n, m)."""
        asked = nn.functional.normalize(queries + queries @ self.query.T, dim=-1)
        read = nn.functional.normalize(documents + documents @ self.document.T, dim=-1)
        return (read @ asked[:, :, None])[..., 0] + self.lexical * lexical

    def head(self) -> Head:
        """The head with its present weights."""
        identity = np.eye(len(self.query))
        query, document = (identity + part.detach().numpy() for part in (self.query, self.document))
        return Head(query, document, float(self.lexical))


def train_head(training: RerankerTraining, dense: DenseScorer, folder: Path, on_row: OnRow) -> TrainedReranker:
    """Train a head and write the best epoch's to `head.npz` and `head.json`.

    Raises:
        DataError: if there are too few queries or documents.
    """
    recipe = training.recipe
    examples, chosen = training.parts()
    qrels, found = training.corpus.qrels(), training.found(chosen)
    vectors = dense.encoder.queries([query.text for query in chosen]).astype(np.float64)
    documents = [dense.vectors[[dense.rows[name] for name in one.documents]].astype(np.float64) for one in found]

    def score(head: Head) -> float:
        """NDCG@10 after the first stage, whose documents are found once."""
        total = 0.0
        for query, one, asked, read in zip(chosen, found, vectors, documents, strict=True):
            if one.documents:
                fits = head.fits(asked, read, lexical_scores(one)).tolist()
                total += measures(one.documents, fits, dict(qrels[query.id]))["ndcg@10"]
        return total / len(chosen)

    texts = list(dict.fromkeys(example.query.text for example in examples))
    queries = dict(zip(texts, dense.encoder.queries(texts).astype(np.float64), strict=True))
    model = HeadModule(dense.encoder.dimensions)
    in_epoch = -(-len(examples) // recipe.batch)
    optimizer = torch.optim.AdamW(
        [
            {"params": [model.query, model.document], "lr": recipe.rate},
            {"params": [model.lexical], "lr": recipe.lexical_rate},
        ],
        weight_decay=recipe.decay,
    )
    schedule = get_cosine_schedule_with_warmup(optimizer, recipe.warm_up, in_epoch * recipe.epochs)
    best, rows = model.head(), [LogRow(0, ndcg=score(model.head()))]
    order = in_training_order(examples, recipe.epochs, recipe.seed)
    for epoch in range(recipe.epochs):
        part = order[epoch * len(examples) : (epoch + 1) * len(examples)]
        for start in range(0, len(part), recipe.batch):
            batch = part[start : start + recipe.batch]
            asked = np.stack([queries[example.query.text] for example in batch])
            read = dense.vectors[np.array([example.documents for example in batch])].astype(np.float64)
            lexical = np.array([example.lexical for example in batch])
            fits = model(*map(torch.from_numpy, (asked, read, lexical)))
            loss = equation_1(recipe.scale * fits, recipe).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            rows.append(LogRow(len(rows), loss=float(loss.detach())))
            on_row(rows[-1], in_epoch * recipe.epochs)
        value = score(model.head())
        best = model.head() if value > max(row.ndcg or 0.0 for row in rows) else best
        rows[-1] = replace(rows[-1], ndcg=value)
    write_head(folder, best, dense.parameters, training.identity)
    return TrainedReranker.of(folder, rows, in_epoch)
