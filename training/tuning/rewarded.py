"""Tuning by rewards: the model writes several responses to a claim and learns from how they compare.

trl 1.16 has two such methods. RLOO weighs each response by its reward less the mean of the others', with the reward of
equation 3: the divergence of a whole response from the model to begin with is taken off. GRPO divides by their spread
as well and adds the divergence of each token to the loss. PPO, the paper's, is not in trl any more: it was moved out of
the supported trainers and removed after 1.12. RLOO clips as PPO does and needs no model of values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hellofresh.rewards.base import RewardCase, RewardModel
from training.recipe import RewardedRecipe
from training.tuning.base_models import load_base, load_tokenizer
from training.tuning.exchanges import Exchange, in_training_order, read_exchanges
from training.tuning.prompting import prompt_of, shown_evidence, token_count
from training.tuning.rewards import TuningRewards
from training.tuning.runs import (
    FinishedTuning,
    Tuning,
    TuningData,
    common_arguments,
    finish,
    lora,
    step_count,
)

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedTokenizerBase, Trainer


METHODS = ("rloo", "grpo")
_JUDGE = "judge"


def tune_by_rewards(tuning: Tuning, recipe: RewardedRecipe, rewards: TuningRewards) -> FinishedTuning:
    """Tune, or go on with it.

    Raises:
        DataError: if the data are malformed, or too little is left to learn from.
        UsageError: if the recipe asks for what is not here.
    """
    if (known := tuning.begin()) is not None:
        return known
    from datasets import Dataset
    from transformers import PrinterCallback

    from training.tuning.callbacks import Watcher

    exchanges = read_exchanges(tuning.data, responses=False)
    tokenizer = load_tokenizer(tuning.base)
    rows = _rows(exchanges, recipe, tokenizer)
    steps = step_count(recipe, len(rows) * recipe.responses)
    needed = steps * recipe.batch * recipe.accumulation // recipe.responses
    order = in_training_order(len(rows), math.ceil(needed / len(rows)), recipe.seed)[:needed]
    data = Dataset.from_list([rows[place] for place in order])
    trainer = _trainer(tuning, recipe, rewards, steps=steps, data=data, tokenizer=tokenizer)
    trainer.remove_callback(PrinterCallback)
    watcher = Watcher(tuning.log, judge=_JUDGE, kl_bound=recipe.kl_bound, told=tuning.told)
    trainer.add_callback(watcher)
    return finish(tuning, trainer, watcher, tokenizer, TuningData(len(rows), 0, len(exchanges) - len(rows)))


def _rows(
    exchanges: Sequence[Exchange], recipe: RewardedRecipe, tokenizer: PreTrainedTokenizerBase
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for one in exchanges:
        prompt = prompt_of(one, recipe, tokenizer)
        if token_count(prompt, tokenizer) <= recipe.prompt_tokens:
            rows.append({"prompt": prompt, "claim": one.claim, "evidence": list(shown_evidence(one, recipe))})
    return rows


def _trainer(
    tuning: Tuning,
    recipe: RewardedRecipe,
    rewards: TuningRewards,
    *,
    steps: int,
    data: Dataset,
    tokenizer: PreTrainedTokenizerBase,
) -> Trainer:
    from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

    config, kind = (GRPOConfig, GRPOTrainer) if tuning.method == "grpo" else (RLOOConfig, RLOOTrainer)
    arguments = config(
        **common_arguments(tuning, steps), num_generations=recipe.responses, beta=recipe.kl, epsilon=recipe.clip,
        temperature=recipe.temperature, max_completion_length=recipe.response_tokens, shuffle_dataset=False,
        reward_weights=[1.0, 0.0], disable_dropout=True,
    )  # fmt: skip
    return kind(
        load_base(tuning.base, recipe, tuning.device),
        [_called("reward", rewards.reward), _called(_JUDGE, rewards.judge)],
        args=arguments, train_dataset=data, processing_class=tokenizer, peft_config=lora(recipe),
    )  # fmt: skip


def _called(name: str, model: RewardModel) -> Callable[..., list[float]]:
    """A reward model as the library calls one, by a name that its log then has."""

    def score(completions: list[str], claim: list[str], evidence: list[list[str]], **_: object) -> list[float]:
        parts = zip(claim, evidence, completions, strict=True)
        found: list[float] = model.score([RewardCase(one, tuple(texts), said) for one, texts, said in parts]).tolist()
        return found

    score.__name__ = name
    return score
