"""Training a whole encoder, where torch is installed: it learns, and a kill costs nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hellofresh.core.errors import UsageError
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.sparse import Bm25, SparseRetriever
from tests.retrieval.conftest import ACTS, PLACES, SUBJECTS
from training import encoders
from training.encoders import EncoderTraining, train_encoder
from training.heads import TrainingProgress
from training.recipe import Recipe

RECIPE = Recipe(name="tiny", epochs=2, batch=8, rate=3e-3, warm_up=2, selection=0.3, scale=5.0)


@pytest.fixture
def training(small: RetrievalCorpus, tmp_path: Path) -> EncoderTraining:
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *SUBJECTS, *PLACES, *ACTS, "do", "come", "to", "the", "of"]
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    transformers.BertModel(transformers.BertConfig(vocab_size=len(words), **sizes)).save_pretrained(folder)
    return EncoderTraining(str(folder), small, "train", SparseRetriever.open(small, Bm25()), RECIPE)


def weights(folder: Path) -> bytes:
    return (folder / "model" / "model.safetensors").read_bytes()


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # torch's own, of its next versions
def test_a_killed_training_goes_on_to_the_same_bytes(
    training: EncoderTraining, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "_EVERY", 2)
    whole = train_encoder(training, tmp_path / "whole")
    assert np.isfinite(whole.losses).all()
    assert whole.scores[whole.epoch] == max(whole.scores)

    def killed(state: TrainingProgress) -> None:
        if state.step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_encoder(training, tmp_path / "cut", killed)
    steps: list[int] = []
    again = train_encoder(training, tmp_path / "cut", lambda state: steps.append(state.step))
    assert steps[0] == 3
    assert again.scores == whole.scores
    assert weights(tmp_path / "cut") == weights(tmp_path / "whole")


def test_without_torch_there_is_a_plain_error(
    small: RetrievalCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    training = EncoderTraining("intfloat/e5-base-v2", small, "train", SparseRetriever.open(small, Bm25()), RECIPE)
    with pytest.raises(UsageError) as caught:
        train_encoder(training, tmp_path)
    assert caught.value.code == "missing-extra"
