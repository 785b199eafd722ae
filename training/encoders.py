"""Training whole encoders by sentence-transformers: rerankers by equation 1, and reward models as cross-encoders.

Any encoder that transformers can load is trained, such as E5, BERT-base or MiniLM. An interrupted training continues
from its last checkpoint. The best epoch's model is kept, which may be the untrained one.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import (
    CrossEncoder,
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.base.sampler import DefaultBatchSampler
from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
from sentence_transformers.sentence_transformer.evaluation import RerankingEvaluator
from torch import Tensor, nn
from torch.utils.data import SequentialSampler
from transformers import Trainer

from hellofresh.core.files import canonical_json, sha256_file, sha256_text, write_json
from hellofresh.evidence.retrieval.documents import Query
from hellofresh.evidence.retrieval.encoders import opened_model, prefixes_of
from hellofresh.rewards.base import read_card
from hellofresh.rewards.models import TOKENS, EncoderReward
from training.data import in_training_order
from training.log import known_values, read_log
from training.recipe import Recipe
from training.rerankers import RerankerTraining, TrainedReranker, equation_1
from training.reward_models import RewardTraining, TrainedReward, divide
from training.run import OnRow, Training

_TOKENS = 128  # a claim and a sentence; longer inputs cost with their square


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
    """Train an encoder, or continue, and keep the best epoch's in `model/`, whose path names a retriever.

    Args:
        training: data and recipe.
        model: a folder, or `hub:OWNER/NAME`.
        device: `cpu` or `cuda`.
        folder: gets the model.
        on_row: called with each row of the log.

    Raises:
        UsageError: if the model does not exist.
        DataError: if there are too few queries or documents.
    """
    recipe, (examples, chosen) = training.recipe, training.parts()
    run = Training("reranker", recipe, {"model": model, **training.identity}, device, folder, on_row)
    if not run.is_finished(folder / "training.json"):
        encoder = opened_model(SentenceTransformer, model, device=device)
        encoder.max_seq_length = _TOKENS
        asked, read = prefixes_of(model)
        encoder.prompts = {"query": asked, "document": read}
        texts = [document.content for document in training.corpus.documents()]
        prompts = {f"document {place}": read for place in range(1 + recipe.positives + recipe.negatives)}
        rows = [
            {"query": one.query.text, **{name: texts[row] for name, row in zip(prompts, one.documents, strict=True)}}
            for one in examples
        ]
        settings = partial(SentenceTransformerTrainingArguments, prompts={"query": asked, **prompts})
        evaluator = _evaluator(training, chosen, texts)
        trainer = partial(SentenceTransformerTrainer, encoder, loss=_Equation1(encoder, recipe), evaluator=evaluator)
        _trained_on(rows, run, trainer, settings, best="ndcg")
        write_json(folder / "training.json", {"model": model, **training.identity})
        shutil.rmtree(run.checkpoints)
    in_epoch = -(-len(examples) // recipe.batch)
    return TrainedReranker.of(folder / "model", read_log(folder / "log.jsonl"), in_epoch)


def train_reward_encoder(
    training: RewardTraining, model: str, device: str, folder: Path, on_row: OnRow
) -> TrainedReward:
    """Train an encoder that reads both texts together, or continue, and write the best epoch's with its card.

    The arguments are those of `train_encoder`. The loss is a cross-entropy with equal weights of both classes.

    Raises:
        UsageError: if the model does not exist.
        DataError: if there are too few responses.
    """
    recipe, parts = training.recipe, divide(training.examples, training.recipe)
    rows = {
        name: [
            dict(zip(("beside", "response"), training.pair(item), strict=True), label=item.label)
            for item in training.with_negatives(parts[name])
        ]
        for name in ("train", "selection")
    }
    content = sha256_text(canonical_json(rows))
    decided = {"model": model, "criterion": training.criterion, "beside": training.beside, "data_sha256": content}
    run = Training("reward", recipe, decided, device, folder, on_row)
    if not run.is_finished(folder / "reward.json"):
        torch.manual_seed(recipe.seed)  # the classifier on top has random initial weights
        encoder = opened_model(CrossEncoder, model, num_labels=1, max_length=TOKENS, device=device)
        ones = float(np.mean([row["label"] for row in rows["train"]]))
        loss = BinaryCrossEntropyLoss(encoder, pos_weight=torch.tensor((1 - ones) / ones, device=device))
        trainer = partial(CrossEncoderTrainer, encoder, eval_dataset=Dataset.from_list(rows["selection"]), loss=loss)
        _trained_on(rows["train"], run, trainer, CrossEncoderTrainingArguments, best="held_out_loss")
        versions = {name: version(name) for name in ("torch", "transformers", "sentence-transformers")}
        card = training.card(
            parts,
            form="encoder",
            encoder={"encoder": model},
            epoch=int(np.argmin(_losses(folder))),
            versions={"python": platform.python_version(), **versions},
            sha256=sha256_file(folder / "model" / "model.safetensors"),
        )
        training.measured(card, parts, EncoderReward.open(folder, card), folder)
        shutil.rmtree(run.checkpoints)
    return TrainedReward(folder, read_card(folder), _losses(folder))


def _losses(folder: Path) -> tuple[float, ...]:
    return tuple(value for _, value in known_values(read_log(folder / "log.jsonl"), "held_out_loss"))


def _trained_on(
    rows: Sequence[object],
    run: Training,
    trainer: Callable[..., Trainer],
    settings: Callable[..., object],
    *,
    best: str,
) -> None:
    """Train a model of sentence-transformers on rows, or continue; it is measured after each epoch."""
    recipe = run.recipe
    order, in_epoch = in_training_order(rows, recipe.epochs, recipe.seed), -(-len(rows) // recipe.batch)
    steps = -(-len(order) // recipe.batch)
    arguments = settings(**run.arguments(steps, measured_every=in_epoch), batch_sampler=_in_order)
    run.train(trainer(args=arguments, train_dataset=Dataset.from_list(order)), best=best)


def _in_order(dataset: Dataset, batch_size: int, drop_last: bool, **more: object) -> DefaultBatchSampler:
    """Batches in the order of the data set, in the form that sentence-transformers expects."""
    return DefaultBatchSampler(SequentialSampler(dataset), batch_size, drop_last)


def _evaluator(training: RerankerTraining, queries: Sequence[Query], texts: Sequence[str]) -> RerankingEvaluator:
    """Evaluates on documents found by the first stage; queries without relevant ones among them are left out."""
    qrels, rows, samples = training.corpus.qrels(), training.corpus.rows, []
    for query, one in zip(queries, training.found(queries), strict=True):
        parts: dict[bool, list[str]] = {True: [], False: []}
        for name in one.documents:
            parts[qrels[query.id].get(name, 0) > 0].append(texts[rows[name]])
        samples.append({"query": query.text, "positive": parts[True], "negative": parts[False]})
    return RerankingEvaluator(samples, write_csv=False)
