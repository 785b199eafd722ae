"""Training a whole encoder by equation 1, such as E5-base or MiniLM: the paper's way, which wants a GPU.

Any encoder that transformers can load is trained: mean over tokens, to length 1. The best epoch is written as
a folder that sentence-transformers reads, so that it is a retriever and a second stage by its path. After each epoch
and every `_EVERY` steps the state is written, and an interrupted training goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hellofresh.core.files import atomic_path, canonical_json, remove_file, sha256_text, write_json
from hellofresh.evidence.retrieval.base import missing_extra
from hellofresh.evidence.retrieval.comparison import rank_queries
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.documents import Query
from hellofresh.evidence.retrieval.encoders import loading_of, not_at_hand, prefixes_of
from hellofresh.evidence.retrieval.rerank import FIRST_STAGE
from hellofresh.evidence.retrieval.sparse import SparseRetriever
from hellofresh.stats.retrieval import measures
from training.adam import rate_at
from training.examples import Example, make_examples, split_for_selection
from training.heads import TrainedHead, TrainingProgress
from training.recipe import Recipe

if TYPE_CHECKING:
    from torch import Tensor


_EVERY = 50
_TOKENS = 128
_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class EncoderTraining:
    """What to train, and on what.

    Attributes:
        model: name on the hub, or a folder.
        corpus, split, first, recipe: as for a head.
    """

    model: str
    corpus: RetrievalCorpus
    split: str
    first: SparseRetriever
    recipe: Recipe

    @property
    def identity(self) -> dict[str, str | int | float | bool]:
        """All that decides the outcome on one machine."""
        return {
            "model": self.model,
            "corpus": self.corpus.name,
            "corpus_sha256": self.corpus.manifest.sha256,
            "split": self.split,
            **{f"recipe.{name}": value for name, value in self.recipe.model_dump().items()},
        }


def torch_loss(
    evidence: Tensor, positives: Tensor, negatives: Tensor, *, tau: float, weight: float, logarithm: bool
) -> Tensor:
    """Equation 1 for n claims, as `reranker_loss`, for gradients by torch."""
    import torch

    margin = torch.relu(positives.max(dim=1).values - evidence + tau)
    scores = torch.cat([evidence[:, None], negatives], dim=1)
    share = torch.log_softmax(scores, dim=1)[:, 0]
    found: Tensor = margin - weight * (share if logarithm else share.exp())
    return found


def train_encoder(
    training: EncoderTraining, folder: Path, progress: Callable[[TrainingProgress], None] = lambda state: None
) -> TrainedHead:
    """Train an encoder, or go on with it, and write the best epoch's.

    Raises:
        UsageError: if torch or transformers are not installed.
        DataError: if there are too few queries or documents.
    """
    run = _Run.begin(training, folder)
    began, started = time.monotonic(), run.step
    if not run.scores:
        run.scores.append(run.selected())
        run.keep()
    while run.step < run.total:
        run.losses.append(run.take_step())
        if run.step % run.in_epoch == 0:
            run.close_epoch()
        if run.step % _EVERY == 0 or run.step % run.in_epoch == 0:
            run.write_state()
        left = (time.monotonic() - began) / (run.step - started) * (run.total - run.step)
        progress(TrainingProgress(run.step, run.total, float(np.mean(run.losses[-_EVERY:])), left))
    write_json(folder / "training.json", training.identity)
    remove_file(run.state_file)
    losses = tuple(
        float(np.mean(run.losses[n * run.in_epoch : (n + 1) * run.in_epoch])) for n in range(training.recipe.epochs)
    )
    kept = int(np.argmax(run.scores))
    return TrainedHead(folder / "model", tuple(run.scores), kept, losses, time.monotonic() - began)


@dataclass
class _Run:
    """A training under way; `Any` is what torch and transformers give."""

    training: EncoderTraining
    folder: Path
    tokenizer: Any
    model: Any
    optimizer: Any
    device: str
    examples: Sequence[Example]
    selection: Sequence[Query]
    step: int
    losses: list[float]
    scores: list[float]

    @classmethod
    def begin(cls, training: EncoderTraining, folder: Path) -> _Run:
        """Load the model, or the state that an interrupted training left."""
        try:
            import torch
            from transformers import AutoModel, AutoTokenizer
        except ImportError as error:
            raise missing_extra("training an encoder", error.name or "torch", "train") from None
        torch.manual_seed(training.recipe.seed)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        name, loading = loading_of(training.model)
        try:
            model = AutoModel.from_pretrained(name, **loading).to(device)
            tokenizer = AutoTokenizer.from_pretrained(name, **loading)
        except OSError:
            raise not_at_hand(training.model) from None
        recipe = training.recipe
        kept, chosen = split_for_selection(training.corpus.queries(training.split), recipe.selection, recipe.seed)
        run = cls(
            training, folder, tokenizer, model,
            torch.optim.AdamW(model.parameters(), lr=recipe.rate, weight_decay=recipe.decay),
            device, make_examples(training.corpus, kept, training.first, recipe), chosen, 0, [], [],
        )  # fmt: skip
        run.read_state()
        return run

    @property
    def in_epoch(self) -> int:
        """Steps of an epoch."""
        return -(-len(self.examples) // self.training.recipe.batch)

    @property
    def total(self) -> int:
        """Steps in all."""
        return self.in_epoch * self.training.recipe.epochs

    @property
    def state_file(self) -> Path:
        """Where the state is kept while it is under way."""
        return self.folder / "state.pt"

    @property
    def _key(self) -> str:
        return sha256_text(canonical_json(self.training.identity))

    def encoded(self, texts: Sequence[str], *, query: bool) -> Tensor:
        """Vectors of length 1, with the model's own prefix."""
        import torch

        prefix = prefixes_of(self.training.model)[0 if query else 1]
        batch = self.tokenizer(
            [prefix + text for text in texts], padding=True, truncation=True, max_length=_TOKENS, return_tensors="pt"
        ).to(self.device)
        states = self.model(**batch).last_hidden_state
        mask = batch["attention_mask"][..., None].to(states.dtype)
        return torch.nn.functional.normalize((states * mask).sum(dim=1) / mask.sum(dim=1), dim=1)

    def take_step(self) -> float:
        """One batch."""
        recipe = self.training.recipe
        epoch, place = divmod(self.step, self.in_epoch)
        order = np.random.default_rng([recipe.seed, epoch]).permutation(len(self.examples))
        batch = [self.examples[number] for number in order[place * recipe.batch : (place + 1) * recipe.batch]]
        self.model.train()
        asked = self.encoded([example.query.text for example in batch], query=True)
        texts = [self._text(row) for example in batch for row in example.documents]
        read = self.encoded(texts, query=False).view(len(batch), -1, asked.shape[-1])
        fits, k = recipe.scale * (read @ asked[:, :, None])[..., 0], recipe.positives
        loss = torch_loss(
            fits[:, 0], fits[:, 1 : 1 + k], fits[:, 1 + k :],
            tau=recipe.tau, weight=recipe.weight, logarithm=recipe.logarithm,
        ).mean()  # fmt: skip
        for group in self.optimizer.param_groups:
            group["lr"] = rate_at(self.step, self.total, rate=recipe.rate, warm_up=recipe.warm_up)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.step += 1
        return float(loss.detach())

    def _text(self, row: int) -> str:
        return next(self.training.corpus.documents(row, row + 1)).content

    def selected(self) -> float:
        """NDCG@10 of the two stages on the queries for selection."""
        import torch

        self.model.eval()
        corpus, values = self.training.corpus, []
        qrels = corpus.qrels()
        found = [one.documents[:FIRST_STAGE] for one in rank_queries(self.training.first, self.selection)]
        vectors = self._vectors({name: corpus.rows[name] for ids in found for name in ids})
        for query, ids in zip(self.selection, found, strict=True):
            if not ids:
                values.append(0.0)
                continue
            with torch.no_grad():
                asked = self.encoded([query.text], query=True)[0]
            fits = torch.stack([vectors[name] for name in ids]) @ asked
            values.append(measures(ids, fits.tolist(), qrels[query.id])["ndcg@10"])
        return float(np.mean(values))

    def _vectors(self, rows: Mapping[str, int]) -> dict[str, Tensor]:
        """A vector for each document, which several queries may have found."""
        import torch

        names = list(rows)
        found: dict[str, Tensor] = {}
        for start in range(0, len(names), _AT_ONCE):
            part = names[start : start + _AT_ONCE]
            with torch.no_grad():
                encoded = self.encoded([self._text(rows[name]) for name in part], query=False)
            found |= dict(zip(part, encoded, strict=True))
        return found

    def close_epoch(self) -> None:
        """Measure the epoch, and keep the model if it is the best yet."""
        score = self.selected()
        if score > max(self.scores):
            self.keep()
        self.scores.append(score)

    def keep(self) -> None:
        """Write the model as it is."""
        self.model.save_pretrained(self.folder / "model")
        self.tokenizer.save_pretrained(self.folder / "model")

    def write_state(self) -> None:
        """Write all that going on needs."""
        import torch

        state = {
            "key": self._key, "step": self.step, "losses": self.losses, "scores": self.scores,
            "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
            "random": torch.get_rng_state(),
        }  # fmt: skip
        with atomic_path(self.state_file) as temporary:
            torch.save(state, temporary)

    def read_state(self) -> None:
        """Take up what an interrupted training left, if it was this one."""
        import torch

        if not self.state_file.is_file():
            return
        state = torch.load(self.state_file, map_location=self.device, weights_only=True)
        if state["key"] != self._key:
            return
        self.step, self.losses, self.scores = state["step"], state["losses"], state["scores"]
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"].cpu())
