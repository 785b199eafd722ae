"""Training what puts documents in order, by equation 1 of RARG: a head on frozen vectors, or a whole encoder.

    loss = max(0, max over positives of f(x, p) - f(x, e) + tau) - lambda * share
    share = exp f(x, e) / (exp f(x, e) + sum over negatives of exp f(x, n))

The evidence e is to stand above each document that BM25 finds (p) by tau, and to have the larger part of the mass among
those that BM25 puts last (n). The paper's equation has no logarithm; with `logarithm` the share's logarithm is taken,
which is the usual contrastive loss. Of several equal positives the first has the gradient.

A head takes seconds and starts again after a kill; an encoder is trained by sentence-transformers and goes on. Either
way the epoch with the best NDCG@10 after two stages is kept, the untrained model among them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.sampler import DefaultBatchSampler
from sentence_transformers.sentence_transformer.evaluation import RerankingEvaluator
from torch import Tensor, nn
from torch.utils.data import SequentialSampler
from transformers import Trainer, get_cosine_schedule_with_warmup

from hellofresh.core.files import write_json
from hellofresh.evidence.retrieval.comparison import rank_queries
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.documents import Query
from hellofresh.evidence.retrieval.encoders import loading_of, not_at_hand, prefixes_of
from hellofresh.evidence.retrieval.rerank import FIRST_STAGE, DenseScorer, Head, lexical_scores, write_head
from hellofresh.evidence.retrieval.sparse import SparseRetriever
from hellofresh.stats.retrieval import measures
from hellofresh.tasks.outputs import Ranking
from hellofresh.training.data import Example, in_training_order, make_examples, split_for_selection
from hellofresh.training.log import LogRow, known_values, read_log
from hellofresh.training.recipe import Recipe
from hellofresh.training.run import OnRow, Run, Watcher

_TOKENS = 128
_Encoder = TypeVar("_Encoder")


@dataclass(frozen=True, slots=True)
class RerankerTraining:
    """What to train, and on what.

    Attributes:
        corpus: with the queries.
        split: the queries to learn from; a part of them chooses among epochs.
        first: the first stage.
        recipe: how.
    """

    corpus: RetrievalCorpus
    split: str
    first: SparseRetriever
    recipe: Recipe

    @property
    def identity(self) -> dict[str, str | int | float | bool]:
        """All that decides the outcome, besides the model."""
        return {
            "corpus": self.corpus.name,
            "corpus_sha256": self.corpus.manifest.sha256,
            "split": self.split,
            **{f"recipe.{name}": value for name, value in self.recipe.model_dump().items()},
        }

    def parts(self) -> tuple[list[Example], list[Query]]:
        """Examples to learn from, and the queries that choose among epochs."""
        queries, chosen = split_for_selection(self.corpus.queries(self.split), self.recipe.selection, self.recipe.seed)
        return make_examples(self.corpus, queries, self.first, self.recipe), chosen

    def found(self, queries: Sequence[Query]) -> list[Ranking]:
        """The documents that the second stage reads for each query."""
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
        epoch: the one that was kept, 0 for the untrained model.
        losses: mean loss of each epoch.
    """

    folder: Path
    scores: tuple[float, ...]
    epoch: int
    losses: tuple[float, ...]

    @classmethod
    def of(cls, folder: Path, rows: Sequence[LogRow], in_epoch: int) -> TrainedReranker:
        """From the log."""
        scores = tuple(value for _, value in known_values(rows, "ndcg"))
        losses = [value for _, value in known_values(rows, "loss")]
        by_epoch = tuple(float(np.mean(losses[n : n + in_epoch])) for n in range(0, len(losses), in_epoch))
        return cls(folder, scores, int(np.argmax(scores)), by_epoch)


def equation_1(fits: Tensor, recipe: Recipe) -> Tensor:
    """The loss of n claims.

    Args:
        fits: f of the evidence, then the positives, then the negatives, shape (n, 1 + positives + negatives).
        recipe: tau, lambda, and whether the logarithm is taken.
    """
    evidence, positives, negatives = fits[:, 0], fits[:, 1 : 1 + recipe.positives], fits[:, 1 + recipe.positives :]
    margin = torch.relu(positives.max(dim=1).values - evidence + recipe.tau)
    share = torch.log_softmax(torch.cat([evidence[:, None], negatives], dim=1), dim=1)[:, 0]
    loss: Tensor = margin - recipe.weight * (share if recipe.logarithm else share.exp())
    return loss


class HeadModule(nn.Module):  # type: ignore[misc]  # the library is not type-checked
    """A head while it is trained; the matrices are kept as their distance from the identity, where they start."""

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
        """As it is applied."""
        identity = np.eye(len(self.query))
        query, document = (identity + part.detach().numpy() for part in (self.query, self.document))
        return Head(query, document, float(self.lexical))


def train_head(training: RerankerTraining, dense: DenseScorer, folder: Path, on_row: OnRow) -> TrainedReranker:
    """Train a head and write the best epoch's as `head.npz` and `head.json`.

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


class _Equation1(nn.Module):  # type: ignore[misc]  # the library is not type-checked
    """Equation 1 as a loss of sentence-transformers; f is the cosine of two vectors."""

    def __init__(self, model: SentenceTransformer, recipe: Recipe) -> None:
        super().__init__()
        self.model, self.recipe = model, recipe

    def forward(self, features: Sequence[Mapping[str, Tensor]], labels: Tensor | None) -> Tensor:
        asked, *read = [
            nn.functional.normalize(self.model(dict(one))["sentence_embedding"], dim=-1) for one in features
        ]
        fits = (torch.stack(read, dim=1) * asked[:, None]).sum(dim=-1)
        return equation_1(self.recipe.scale * fits, self.recipe).mean()


def train_encoder(training: RerankerTraining, model: str, device: str, folder: Path, on_row: OnRow) -> TrainedReranker:
    """Train an encoder, or go on with it, and keep the best epoch's in `model/`, which is a retriever by its path.

    Args:
        training: what to train.
        model: a folder, or `hub:OWNER/NAME`.
        device: `cpu` or `cuda`.
        folder: gets the model.
        on_row: called with each row of the log.

    Raises:
        UsageError: if the model does not exist.
        DataError: if there are too few queries or documents.
    """
    recipe, (examples, chosen) = training.recipe, training.parts()
    run = Run("reranker", recipe, {"model": model, **training.identity}, device, folder, on_row)
    in_epoch = -(-len(examples) // recipe.batch)
    if run.is_finished(folder / "training.json"):
        return TrainedReranker.of(folder / "model", read_log(folder / "log.jsonl"), in_epoch)
    encoder = opened(SentenceTransformer, model, device=device)
    encoder.max_seq_length = _TOKENS
    encoder.prompts = dict(zip(("query", "document"), prefixes_of(model), strict=True))
    texts = {row: document.content for row, document in enumerate(training.corpus.documents())}
    columns = ["query", *(f"document {place}" for place in range(1 + recipe.positives + recipe.negatives))]
    rows = [
        dict(zip(columns, (example.query.text, *(texts[row] for row in example.documents)), strict=True))
        for example in examples
    ]
    prompts = {name: encoder.prompts["query" if name == "query" else "document"] for name in columns}
    settings = partial(SentenceTransformerTrainingArguments, prompts=prompts)
    evaluator = _evaluator(training, chosen, texts)
    trainer = partial(SentenceTransformerTrainer, encoder, loss=_Equation1(encoder, recipe), evaluator=evaluator)
    watcher = trained_on(rows, run, trainer, settings, best="ndcg")
    write_json(folder / "training.json", {"model": model, **training.identity})
    shutil.rmtree(run.checkpoints)
    return TrainedReranker.of(folder / "model", watcher.rows, in_epoch)


def opened(kind: Callable[..., _Encoder], model: str, **more: object) -> _Encoder:
    """A model of sentence-transformers to train.

    Raises:
        UsageError: if the model does not exist.
    """
    name, loading = loading_of(model)
    try:
        return kind(name, **more, **loading)
    except OSError:
        raise not_at_hand(model) from None


def trained_on(
    rows: Sequence[object], run: Run, trainer: Callable[..., Trainer], settings: Callable[..., object], *, best: str
) -> Watcher:
    """Train a model of sentence-transformers on rows, or go on with it; measured after each epoch."""
    recipe = run.recipe
    order, in_epoch = in_training_order(rows, recipe.epochs, recipe.seed), -(-len(rows) // recipe.batch)
    steps = -(-len(order) // recipe.batch)
    arguments = settings(**run.arguments(steps, measured_every=in_epoch), batch_sampler=_in_order)
    return run.train(trainer(args=arguments, train_dataset=Dataset.from_list(order)), best=best)


def _in_order(dataset: Dataset, batch_size: int, drop_last: bool, **more: object) -> DefaultBatchSampler:
    """Batches in the order of the data set, as sentence-transformers asks for them."""
    return DefaultBatchSampler(SequentialSampler(dataset), batch_size, drop_last)


def _evaluator(training: RerankerTraining, queries: Sequence[Query], texts: Mapping[int, str]) -> RerankingEvaluator:
    """Of the documents that the first stage finds; queries for which it finds nothing relevant tell nothing."""
    qrels, rows, samples = training.corpus.qrels(), training.corpus.rows, []
    for query, one in zip(queries, training.found(queries), strict=True):
        parts: dict[bool, list[str]] = {True: [], False: []}
        for name in one.documents:
            parts[qrels[query.id].get(name, 0) > 0].append(texts[rows[name]])
        samples.append({"query": query.text, "positive": parts[True], "negative": parts[False]})
    return RerankingEvaluator(samples, write_csv=False)
