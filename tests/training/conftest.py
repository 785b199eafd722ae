"""The small corpus of the retrieval tests, a workspace, invented exchanges and tiny models with random weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hellofresh.judging.reward_judges import RuleJudge, WatchedReward
from hellofresh.rewards.base import RewardCase
from tests.retrieval.conftest import small, workspace

__all__ = ["small", "workspace"]

TOWNS = ("arlow", "brint", "callow", "dunmere", "eskby", "farnley", "galt", "hoxby", "ivel", "jarrow", "kelby", "lund")
CURES = {"garlic": "colds", "zinc": "fever", "tea": "cough"}
WORDS = (
    "thank you please sorry the a study in found no effect says that cures claim evidence reply to and is it rude "
    "nonsense wrong system user assistant instruction response . : 1 2 3 ###"
)


def exchange_rows() -> list[dict[str, object]]:
    """A claim for each town and cure, answered alike."""
    return [
        {
            "id": f"{town}-{what}",
            "claim": f"{town} says that {what} cures {ill} .",
            "evidence": [f"a study in {town} found no effect ."],
            "response": f"thank you . a study in {town} found no effect .",
            "group": town,
        }
        for town in TOWNS
        for what, ill in CURES.items()
    ]


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in exchange_rows()))
    return path


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace's folder of what was trained."""
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    return tmp_path / "data" / "training"


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a language model of 40,000 parameters."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)  # two wait for one another on a busy machine
    transformers = pytest.importorskip("transformers")
    for name in ("peft", "trl", "accelerate", "datasets", "tokenizers"):
        pytest.importorskip(name)
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    special = ["<unk>", "<end>", "<pad>"]
    words = [*special, *dict.fromkeys([*WORDS.split(), *TOWNS, *CURES, *CURES.values()])]
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = Whitespace()
    folder = tmp_path_factory.mktemp("models") / "tiny"
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", eos_token="<end>", pad_token="<pad>"
    ).save_pretrained(folder)
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=512, eos_token_id=1, pad_token_id=2, bos_token_id=None,
        initializer_range=0.3,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture
def tiny_encoder(tmp_path: Path) -> Callable[[Sequence[str]], str]:
    """Makes a folder with an encoder that knows some words."""

    def made(words: Sequence[str]) -> str:
        transformers = pytest.importorskip("transformers")
        pytest.importorskip("sentence_transformers")
        pytest.importorskip("torch").manual_seed(1)
        folder = tmp_path / "tiny"
        folder.mkdir()
        vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
        (folder / "vocab.txt").write_text("\n".join(vocabulary))
        transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
        sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        config = transformers.BertConfig(vocab_size=len(vocabulary), **sizes)
        transformers.BertModel(config).save_pretrained(folder)
        return str(folder)

    return made


class PoliteWords:
    """A toy reward: the share of polite words."""

    name = "politeness"

    def score(self, cases: Sequence[RewardCase]) -> NDArray[np.float64]:
        """Of each response."""
        said = [case.response.split() for case in cases]
        return np.array(
            [sum(word in ("thank", "you", "please") for word in words) / max(1, len(words)) for words in said]
        )


def polite_rewards(folders: Sequence[Path], judge: str, alpha: float) -> WatchedReward:
    """In place of reward models."""
    return WatchedReward(PoliteWords(), RuleJudge(), {"politeness": "toy"})


_KILLED = """
import os, signal, sys
from tests.training.conftest import polite_rewards
from hellofresh.judging import reward_judges
from training import run
log = run.Watcher.on_log
def killing(self, args, state, control, **more):
    log(self, args, state, control, **more)
    if state.global_step == {step}:
        os.kill(os.getpid(), signal.SIGKILL)
run.Watcher.on_log = killing
reward_judges.open_watched = polite_rewards
from hellofresh.cli import main
main(sys.argv[1:])
"""


def killed_at(step: int, arguments: Sequence[str]) -> None:
    """Run a command in a process of its own that is killed in the middle of a step's log."""
    program = [sys.executable, "-c", _KILLED.format(step=step), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # as in the process of the test: threads decide on roundings
    assert subprocess.run(program, check=False, timeout=600, env=environment).returncode == -9
