"""Training a head on frozen vectors: seconds on two processors, the same bytes from one seed, nothing lost by a kill.

The state is written every `_EVERY` steps, whole or not at all; what comes after a kill goes on from there and ends with
the same bytes as without one, since the order of examples follows from seed and epoch, and nothing else is drawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.files import canonical_json, remove_file, sha256_text
from hellofresh.evidence.retrieval.comparison import rank_queries
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.documents import Query
from hellofresh.evidence.retrieval.rerank import FIRST_STAGE, DenseScorer, Head, lexical_scores, write_head
from hellofresh.evidence.retrieval.sparse import SparseRetriever
from hellofresh.stats.retrieval import measures
from training.adam import rate_at
from training.examples import Example, make_examples, split_for_selection
from training.loss import reranker_loss
from training.recipe import Recipe
from training.state import TrainingState, begin, read_state, write_state

FloatArray = NDArray[np.float64]
_EVERY = 50


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """How far a training is.

    Attributes:
        step, steps: done, and in all.
        loss: mean of the last steps.
        seconds_left: at the pace since it was started or went on.
    """

    step: int
    steps: int
    loss: float
    seconds_left: float


@dataclass(frozen=True, slots=True)
class TrainedHead:
    """What a training came to.

    Attributes:
        folder: with the head.
        scores: NDCG@10 on the queries for selection after each epoch; the first is that of the untrained head.
        epoch: the one that was kept, 0 for the untrained head.
        losses: mean loss of each epoch.
        seconds: that it took, since it was started or went on.
    """

    folder: Path
    scores: tuple[float, ...]
    epoch: int
    losses: tuple[float, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class HeadTraining:
    """What to train, and on what.

    Attributes:
        corpus: with the queries.
        split: the queries to learn from; a part of them chooses among epochs.
        first: the first stage.
        dense: the encoder, and the documents' vectors.
        recipe: how.
    """

    corpus: RetrievalCorpus
    split: str
    first: SparseRetriever
    dense: DenseScorer
    recipe: Recipe

    @property
    def identity(self) -> dict[str, str | int | float | bool]:
        """All that decides the head, besides the encoder."""
        return {
            "corpus": self.corpus.name,
            "corpus_sha256": self.corpus.manifest.sha256,
            "split": self.split,
            **{f"recipe.{name}": value for name, value in self.recipe.model_dump().items()},
        }


def _begin(dimensions: int) -> TrainingState:
    """Parameters are kept as their distance from where they start."""
    square = (dimensions, dimensions)
    return begin({"query": np.zeros(square), "document": np.zeros(square), "lexical": np.zeros(1)})


def _head(values: dict[str, FloatArray]) -> Head:
    identity = np.eye(len(values["query"]))
    return Head(identity + values["query"], identity + values["document"], float(values["lexical"][0]))


def train_head(
    training: HeadTraining, folder: Path, progress: Callable[[TrainingProgress], None] = lambda state: None
) -> TrainedHead:
    """Train a head, or go on with it, and write the best epoch's.

    Args:
        training: what to train.
        folder: gets `head.npz` and `head.json`; `state.npz` while it is under way.
        progress: told after every step.

    Raises:
        DataError: if there are too few queries or documents.
    """
    recipe, began = training.recipe, time.monotonic()
    queries, chosen = split_for_selection(training.corpus.queries(training.split), recipe.selection, recipe.seed)
    examples = make_examples(training.corpus, queries, training.first, recipe)
    selection = _Selection.of(training, chosen)
    vectors = _QueryVectors.of(training, queries)
    path, key = folder / "state.npz", sha256_text(canonical_json([training.identity, dict(training.dense.parameters)]))
    state = read_state(path, key) or _begin(training.dense.encoder.dimensions)
    in_epoch = -(-len(examples) // recipe.batch)
    total, started = in_epoch * recipe.epochs, state.step
    if not state.scores:
        state.scores.append(selection.score(_head(state.values)))
    while state.step < total:
        epoch, place = divmod(state.step, in_epoch)
        order = np.random.default_rng([recipe.seed, epoch]).permutation(len(examples))
        batch = [examples[number] for number in order[place * recipe.batch : (place + 1) * recipe.batch]]
        state.losses.append(_step(state, batch, vectors, training, total))
        if state.step % in_epoch == 0:
            _close_epoch(state, selection)
        if state.step % _EVERY == 0 or state.step == total:
            write_state(path, key, state)
        progress(_progress(state, total, started, time.monotonic() - began))
    write_head(folder, _head(state.best), training.dense.parameters, training.identity)
    remove_file(path)
    losses = tuple(float(np.mean(state.losses[n * in_epoch : (n + 1) * in_epoch])) for n in range(recipe.epochs))
    kept = int(np.argmax(state.scores))
    return TrainedHead(folder, tuple(state.scores), kept, losses, time.monotonic() - began)


def _progress(state: TrainingState, total: int, started: int, seconds: float) -> TrainingProgress:
    left = seconds / (state.step - started) * (total - state.step)
    return TrainingProgress(state.step, total, float(np.mean(state.losses[-_EVERY:])), left)


def _close_epoch(state: TrainingState, selection: _Selection) -> None:
    score = selection.score(_head(state.values))
    if score > max(state.scores):
        state.best = dict(state.values)
    state.scores.append(score)


@dataclass(frozen=True, slots=True)
class _QueryVectors:
    """Vectors of the training queries, each made once."""

    rows: dict[str, int]
    vectors: FloatArray

    @classmethod
    def of(cls, training: HeadTraining, queries: Sequence[Query]) -> _QueryVectors:
        texts = list(dict.fromkeys(query.text for query in queries))
        vectors = training.dense.encoder.queries(texts).astype(np.float64)
        return cls({text: row for row, text in enumerate(texts)}, vectors)


def _step(
    state: TrainingState, batch: Sequence[Example], queries: _QueryVectors, training: HeadTraining, total: int
) -> float:
    recipe = training.recipe
    asked = queries.vectors[[queries.rows[example.query.text] for example in batch]]
    documents = training.dense.vectors[np.array([example.documents for example in batch])].astype(np.float64)
    lexical = np.array([example.lexical for example in batch])
    loss, gradient = head_gradient(_head(state.values), asked, documents, lexical, recipe)
    course = rate_at(state.step, total, rate=1.0, warm_up=recipe.warm_up)
    rates = {"query": recipe.rate, "document": recipe.rate, "lexical": recipe.lexical_rate}
    state.step += 1
    state.values = {
        name: state.moments[name].step(value, gradient[name], state.step, rate=course * rates[name], decay=recipe.decay)
        for name, value in state.values.items()
    }
    return loss


def head_gradient(
    head: Head, queries: FloatArray, documents: FloatArray, lexical: FloatArray, recipe: Recipe
) -> tuple[float, dict[str, FloatArray]]:
    """The mean loss of a batch, and its gradient by parameter.

    Args:
        head: the parameters.
        queries: vectors, shape (n, d).
        documents: vectors of evidence, positives and negatives, shape (n, m, d).
        lexical: first-stage scores of the documents, shape (n, m).
        recipe: the loss.
    """
    asked, read = queries @ head.query.T, documents @ head.document.T
    lengths_asked = np.maximum(np.linalg.norm(asked, axis=-1, keepdims=True), 1e-12)
    lengths_read = np.maximum(np.linalg.norm(read, axis=-1, keepdims=True), 1e-12)
    a, c = asked / lengths_asked, read / lengths_read
    cosines = np.einsum("nd,nmd->nm", a, c)
    fits, k = recipe.scale * (cosines + head.lexical * lexical), recipe.positives
    found = reranker_loss(
        fits[:, 0], fits[:, 1 : 1 + k], fits[:, 1 + k :],
        tau=recipe.tau, weight=recipe.weight, logarithm=recipe.logarithm,
    )  # fmt: skip
    parts = (found.evidence[:, None], found.positives, found.negatives)
    by_fit = np.concatenate(parts, axis=1) * recipe.scale / len(queries)
    by_asked = np.einsum("nm,nmd->nd", by_fit, c - cosines[..., None] * a[:, None]) / lengths_asked
    by_read = by_fit[..., None] * (a[:, None] - cosines[..., None] * c) / lengths_read
    dimensions = queries.shape[-1]
    return float(found.loss.mean()), {
        "query": by_asked.T @ queries,
        "document": by_read.reshape(-1, dimensions).T @ documents.reshape(-1, dimensions),
        "lexical": np.array([(by_fit * lexical).sum()]),
    }


@dataclass(frozen=True, slots=True)
class _Selection:
    """The queries that choose among epochs: what the first stage found for them is found once."""

    queries: FloatArray
    documents: list[FloatArray]
    lexical: list[FloatArray]
    ids: list[tuple[str, ...]]
    relevance: list[dict[str, int]]

    @classmethod
    def of(cls, training: HeadTraining, queries: Sequence[Query]) -> _Selection:
        qrels, dense = training.corpus.qrels(), training.dense
        found = [
            replace(one, documents=one.documents[:FIRST_STAGE], scores=one.scores[:FIRST_STAGE])
            for one in rank_queries(training.first, queries)
        ]
        return cls(
            queries=dense.encoder.queries([query.text for query in queries]).astype(np.float64),
            documents=[dense.vectors[[dense.rows[name] for name in one.documents]].astype(np.float64) for one in found],
            lexical=[lexical_scores(one) for one in found],
            ids=[one.documents for one in found],
            relevance=[dict(qrels[query.id]) for query in queries],
        )

    def score(self, head: Head) -> float:
        """NDCG@10 after the second stage."""
        parts = zip(self.queries, self.documents, self.lexical, self.ids, self.relevance, strict=True)
        return float(np.mean([
            measures(ids, head.fits(query, documents, lexical).tolist(), relevance)["ndcg@10"] if ids else 0.0
            for query, documents, lexical, ids, relevance in parts
        ]))  # fmt: skip
