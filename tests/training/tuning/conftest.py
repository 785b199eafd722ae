"""A tiny language model with random weights, and invented exchanges that it can learn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a language model of 40,000 parameters."""
    torch = pytest.importorskip("torch")
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
