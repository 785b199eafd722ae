"""Tuning by rewards and by preferences, where torch is installed: the reward rises, and a kill costs nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hellofresh.cli import main
from hellofresh.core.errors import UsageError
from hellofresh.rewards.base import RewardCase
from tests.training.tuning.conftest import killed_at, polite_rewards
from training.recipe import PreferenceRecipe, RewardedRecipe, load_recipe
from training.tuning import rewards
from training.tuning.card import read_card
from training.tuning.curves import read_log
from training.tuning.rewards import RuleJudge, open_rewards

MODULES = 'modules = ["q_proj", "v_proj", "o_proj", "up_proj", "down_proj"]'
REWARDED = f"""
name = "tiny"
epochs = 10
steps = 30
rate = 5e-3
{MODULES}
dropout = 0.0
batch = 16
accumulation = 2
responses = 4
response_tokens = 8
kl = 0.05
kl_bound = 8.0
save_every = 4
"""
PREFERENCE = f"""
name = "tiny"
epochs = 3
rate = 2e-3
{MODULES}
dropout = 0.0
batch = 4
accumulation = 1
responses = 16
response_tokens = 8
held_out = 0.2
save_every = 5
"""


@pytest.fixture(autouse=True)
def toy_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewards, "open_rewards", polite_rewards)


def arguments(method: str, recipe: str, folder: Path, data: Path, model: Path) -> list[str]:
    path = folder / "tiny.toml"
    path.write_text(recipe)
    return ["train", method, "--recipe", str(path), "--data", str(data), "--model", str(model), "--device", "cpu"]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # the libraries' own, of their next versions
@pytest.mark.parametrize(("method", "rate"), [("rloo", "5e-3"), ("grpo", "2e-3")])  # GRPO's steps are longer
def test_thirty_steps_raise_the_reward_under_the_bound_of_kl(
    method: str, rate: str, workspace: Path, tmp_path: Path, replies: Path, tiny_model: Path
) -> None:
    command = arguments(method, REWARDED, tmp_path, replies, tiny_model)
    assert main([*command, "--rate", rate, "--name", method]) == 0
    card = read_card(workspace / "training" / method)
    assert card.steps == 30
    assert card.trends["reward"].rises
    assert card.trends["reward"].last > card.trends["reward"].first + 0.05
    assert all(row.kl is not None and row.kl < 8 for row in card.log)
    assert all(row.entropy and row.length and row.judge is not None for row in card.log)
    assert not any("KL" in flag for flag in card.flags)
    assert (workspace / "training" / method / "model" / "model.safetensors").is_file()


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # the libraries' own, of their next versions
def test_a_killed_tuning_by_rewards_goes_on_with_the_same_curve(
    workspace: Path, tmp_path: Path, replies: Path, tiny_model: Path
) -> None:
    short = REWARDED.replace("steps = 30", "steps = 9").replace("batch = 16", "batch = 8")
    command = arguments("rloo", short, tmp_path, replies, tiny_model)
    assert main([*command, "--name", "whole"]) == 0
    killed_at(6, [*command, "--name", "cut"])
    assert main([*command, "--name", "cut"]) == 0
    whole, cut = (workspace / "training" / name for name in ("whole", "cut"))
    assert read_log(cut / "log.jsonl") == read_log(whole / "log.jsonl")
    weights = [(folder / "model" / "model.safetensors").read_bytes() for folder in (whole, cut)]
    assert weights[0] == weights[1]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # the libraries' own, of their next versions
def test_a_policy_that_goes_too_far_is_stopped(
    workspace: Path, tmp_path: Path, replies: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    far = REWARDED.replace("kl_bound = 8.0", "kl_bound = 1e-4")
    assert main([*arguments("ppo", far, tmp_path, replies, tiny_model), "--name", "far"]) == 0
    card = read_card(workspace / "training" / "far")
    assert card.method == "rloo"
    assert card.steps < 30
    assert "KL" in card.flags[0]
    told = capsys.readouterr()
    assert "RLOO" in told.err
    assert "stopped" in told.out


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # the libraries' own, of their next versions
def test_preferences_lower_the_loss_of_held_out_pairs(
    workspace: Path, tmp_path: Path, replies: Path, tiny_model: Path
) -> None:
    command = arguments("dpo", PREFERENCE, tmp_path, replies, tiny_model)
    assert main([*command, "--name", "whole"]) == 0
    killed_at(7, [*command, "--name", "cut"])
    assert main([*command, "--name", "cut"]) == 0
    whole, cut = (read_card(workspace / "training" / name) for name in ("whole", "cut"))
    assert cut.log == whole.log
    assert whole.losses is not None
    assert whole.losses[0] == pytest.approx(np.log(2), abs=1e-3)
    assert whole.losses[1] < whole.losses[0] - 0.02
    margins = [row.margin for row in whole.log if row.margin is not None]
    assert np.mean(margins[-3:]) > np.mean(margins[:3])


def test_the_judge_by_rules_prefers_a_grounded_response_to_exploits() -> None:
    evidence = ("A trial found that garlic does not shorten colds.",)
    good = "Thank you for asking. A trial found that garlic does not shorten colds."
    others = (
        "thank you thank you thank you thank you thank you",
        "",
        "Wonderful splendid marvellous friends everywhere",
    )
    cases = [RewardCase("Garlic cures colds.", evidence, text) for text in (good, *others)]
    scores = RuleJudge().score(cases)
    assert scores[0] > scores[1:].max() + 0.2
    assert ((scores >= 0) & (scores <= 1)).all()


def test_recipes_of_the_project_are_whole() -> None:
    for name in ("rarg", "smoke"):
        assert load_recipe(name, RewardedRecipe).name == name
        assert load_recipe(name, PreferenceRecipe).name == name
    rarg = load_recipe("rarg", RewardedRecipe)
    assert (rarg.kl, rarg.rate, rarg.accumulation, rarg.rank) == (0.2, 1e-5, 4, 16)


def test_nothing_rewarded_is_an_error() -> None:
    with pytest.raises(UsageError) as caught:
        open_rewards([], "rules", RewardedRecipe(name="none", alpha_relevance=0.0))
    assert caught.value.code == "no-reward"
