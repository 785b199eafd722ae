"""Tuning of a language model that responds to claims, by trainers of trl and `training.ppo`.

`sft` learns responses written by people. `rloo` and `ppo` draw the model's own responses in training. RLOO weights
each response by its reward minus the mean of the others', with the reward of equation 3: the divergence of a whole
response from the initial model is subtracted.

The folder gets `log.jsonl` during training, and at the end `model/` (whole, adapter merged in), `adapter/` if the
initial model was whole, `card.json` and `card.md`. The state is kept in `checkpoints/`, from which
an interrupted tuning continues on the same curve; they are removed at the end.
"""

from __future__ import annotations

import math
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training
from transformers import GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase, Trainer, TrainingArguments
from trl import RLOOConfig, RLOOTrainer, SFTConfig, SFTTrainer

from hellofresh.core.errors import DataError
from hellofresh.core.files import sha256_file
from hellofresh.judging.reward_judges import WatchedReward
from hellofresh.models.local.folders import StoredModel, rendered
from hellofresh.rewards.base import RewardCase, RewardModel
from hellofresh.runs.prompts import PromptSet, load_prompt_set
from hellofresh.runs.regimes._outside import cut_words
from hellofresh.runs.regimes.evidence_response import response_question
from training.data import Exchange, in_training_order, read_exchanges, split_exchanges
from training.libraries import LIBRARIES
from training.log import TuningCard, is_over_optimised, read_card, trend_of, write_card
from training.ppo import PpoTrainer
from training.recipe import PpoRecipe, RewardedRecipe, SftRecipe, TuningRecipe
from training.run import Training

_MIB = 1 << 20
_TRENDS = ("reward", "judge", "kl", "length", "entropy")


@lru_cache(maxsize=1)
def prompt_set() -> PromptSet:
    """The wordings of the regime evidence-response, equal in training and use."""
    return load_prompt_set("claim-responses", "evidence-response")


@dataclass(frozen=True)
class Tuning:
    """A running tuning.

    Attributes:
        base: the initial model.
        run: settings and output.
        rewards: for the model's own responses; None if it learns written ones.
        tokenizer: the model's.
    """

    base: StoredModel
    run: Training
    rewards: WatchedReward | None
    tokenizer: PreTrainedTokenizerBase

    @property
    def recipe(self) -> TuningRecipe:
        """The recipe of the run."""
        assert isinstance(self.run.recipe, TuningRecipe)
        return self.run.recipe

    def shown_evidence(self, exchange: Exchange) -> tuple[str, ...]:
        """The first texts of the evidence, cut to the recipe's number of words."""
        recipe = self.recipe
        return tuple(cut_words(text, recipe.evidence_words).text for text in exchange.evidence[: recipe.evidence])

    def prompt(self, exchange: Exchange) -> str:
        """The prompt by the first wording; empty if it is too long."""
        texts, slots = self.shown_evidence(exchange), {"claim": exchange.claim}
        message = response_question(prompt_set(), prompt_set().prompts[0], slots, texts, words=self.recipe.words)
        prompt = rendered(self.tokenizer, [message])
        return prompt if self.tokens(prompt) <= self.recipe.prompt_tokens else ""

    def tokens(self, text: str) -> int:
        """Tokens of a rendered text."""
        return len(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def load(self) -> PreTrainedModel:
        """Load the initial weights."""
        return self.base.load(self.run.device, self.recipe.bits)

    def lora(self) -> LoraConfig:
        """The recipe's low-rank adapter."""
        recipe, modules = self.recipe, list(self.recipe.modules)
        sizes = {"r": recipe.rank, "lora_alpha": recipe.alpha, "lora_dropout": recipe.dropout}
        return LoraConfig(**sizes, target_modules=modules, task_type="CAUSAL_LM", bias="none")

    def steps(self, samples: int) -> int:
        """Total steps: whole epochs of the samples, or fewer if the recipe limits them.

        Raises:
            DataError: if the samples do not suffice for one step.
        """
        recipe = self.recipe
        if not samples:
            what = "nothing is left to learn from, or to measure with"
            fix = "Raise prompt_tokens or response_tokens in the recipe, or bring more claims."
            raise DataError(what, where="training data", fix=fix, code="no-exchanges")
        steps = math.ceil(samples * recipe.epochs / (recipe.batch * recipe.accumulation))
        return min(steps, recipe.steps) if recipe.steps else steps


def tune(run: Training, base: StoredModel, data: Path, rewards: WatchedReward | None) -> TuningCard:
    """Tune, or continue; the card of a finished tuning is only read.

    Args:
        run: the method `sft`, `rloo` or `ppo`, its recipe, and its output.
        base: the initial model.
        data: the file of exchanges.
        rewards: for the model's own responses; None for `sft`.

    Raises:
        DataError: if the data are malformed, or too few are left to learn from.
        UsageError: if the recipe needs something unavailable.
    """
    recipe, folder = run.recipe, run.folder
    files = {"model_sha256": base.sha256, "data_sha256": sha256_file(data), "prompt_sha256": prompt_set().sha256}
    identity = dict(rewards.identity) if rewards else {}
    run = replace(run, decided_by={**files, "rewards": identity})
    if run.is_finished(folder / "card.json"):
        return read_card(folder)
    began, exchanges = time.monotonic(), read_exchanges(data, responses=rewards is None)
    tuning = Tuning(base, run, rewards, base.tokenizer())
    if tuning.tokenizer.eos_token is None:
        raise DataError("no token for the end of a text in its tokenizer", where=base.name, code="bad-model")
    torch.manual_seed(recipe.seed)  # low-rank matrices have random initial values
    trainer, learnt, held_out = (_by_rewards if rewards else _supervised)(tuning, exchanges)
    watcher = run.train(trainer, kl_bound=getattr(recipe, "kl_bound", math.inf))
    flags = [watcher.stopped] if watcher.stopped else []
    if is_over_optimised(watcher.rows):
        flags.append("the reward rises while the untrained judge falls: read responses before using this model")
    parameters = sum(one.numel() for one in trainer.model.parameters() if one.requires_grad)
    _write_models(tuning, trainer)
    device, peak_mib = _device(run.device, tuning.recipe)
    card = TuningCard(
        method=run.method, model=base.name, data=data.name, model_sha256=base.sha256,
        data_sha256=files["data_sha256"], prompt_sha256=prompt_set().sha256, learnt_from=learnt, held_out=held_out,
        left_out=len(exchanges) - learnt - held_out, recipe=recipe.model_dump(), rewards=identity,
        versions={name: version(name) for name in LIBRARIES}, device=device, parameters=parameters,
        steps=int(trainer.state.global_step), seconds=time.monotonic() - began, peak_mib=peak_mib,
        flags=flags, log=list(watcher.rows),
        trends={name: trend for name in _TRENDS if (trend := trend_of(watcher.rows, name)) is not None},
    )  # fmt: skip
    write_card(folder, card)
    shutil.rmtree(run.checkpoints, ignore_errors=True)
    return card


def _write_models(tuning: Tuning, trainer: Trainer) -> None:
    """Write the adapter, and the exact initial model merged with it, in the format of transformers."""
    base, folder = tuning.base, tuning.run.folder
    adapter = folder / ("adapter" if base.adapted is None else "checkpoints/last")
    trainer.model.save_pretrained(adapter)
    tuning.tokenizer.save_pretrained(adapter)
    merged = PeftModel.from_pretrained(base.load("cpu"), str(adapter), local_files_only=True)
    merged.merge_and_unload().save_pretrained(folder / "model")
    tuning.tokenizer.save_pretrained(folder / "model")


def _supervised(tuning: Tuning, exchanges: Sequence[Exchange]) -> tuple[Trainer, int, int]:
    recipe = tuning.recipe
    assert isinstance(recipe, SftRecipe), recipe

    def row(one: Exchange) -> dict[str, str] | None:
        prompt, completion = tuning.prompt(one), one.response.strip() + str(tuning.tokenizer.eos_token)
        fits = prompt and tuning.tokens(completion) <= recipe.response_tokens
        return {"prompt": prompt, "completion": completion} if fits else None

    parts = split_exchanges(exchanges, recipe.held_out, recipe.seed)
    learnt, held_out = ([found for one in part if (found := row(one))] for part in parts)
    steps = tuning.steps(len(learnt) if held_out else 0)
    settings = tuning.run.arguments(steps, measured_every=max(1, len(learnt) // (recipe.batch * recipe.accumulation)))
    trainer = SFTTrainer(
        tuning.load(),
        args=SFTConfig(**settings, train_sampling_strategy="sequential", completion_only_loss=True, max_length=None),
        train_dataset=Dataset.from_list(in_training_order(learnt, recipe.epochs, recipe.seed)),
        eval_dataset=Dataset.from_list(held_out),
        processing_class=tuning.tokenizer,
        peft_config=tuning.lora(),
    )
    return trainer, len(learnt), len(held_out)


def _by_rewards(tuning: Tuning, exchanges: Sequence[Exchange]) -> tuple[Trainer, int, int]:
    recipe = tuning.recipe
    assert isinstance(recipe, RewardedRecipe) and tuning.rewards is not None, recipe
    rows = [
        {"prompt": prompt, "claim": one.claim, "evidence": list(tuning.shown_evidence(one))}
        for one in exchanges
        if (prompt := tuning.prompt(one))
    ]
    scores = [_called("reward", tuning.rewards.reward), _called("judge", tuning.rewards.judge)]
    updates = recipe.updates if isinstance(recipe, PpoRecipe) else 1
    steps = math.ceil(tuning.steps(len(rows) * recipe.responses * updates) / updates) * updates
    needed = steps // updates * (recipe.batch * recipe.accumulation // recipe.responses)
    order = in_training_order(rows, math.ceil(needed / len(rows)), recipe.seed)[:needed]
    model, tokens = tuning.load(), tuning.tokenizer
    # Trainers take unset options from the model's own settings, such as a repetition penalty: responses
    # would then be drawn from another distribution than the one whose probabilities are trained.
    model.generation_config = GenerationConfig(eos_token_id=tokens.eos_token_id, pad_token_id=tokens.pad_token_id)
    if isinstance(recipe, PpoRecipe):
        arguments = tuning.run.arguments(steps, save_every=math.ceil(recipe.save_every / updates) * updates)
        settings = TrainingArguments(**arguments, remove_unused_columns=False, train_sampling_strategy="sequential")
        if getattr(model, "is_quantized", False):
            model = prepare_model_for_kbit_training(model)
        policy, prompts = get_peft_model(model, tuning.lora()), [row for row in order for _ in range(recipe.responses)]
        return PpoTrainer(policy, settings, prompts, recipe=recipe, tokenizer=tokens, scores=scores), len(rows), 0
    config = RLOOConfig(
        **tuning.run.arguments(steps), num_generations=recipe.responses, beta=recipe.kl, epsilon=recipe.clip,
        temperature=recipe.temperature, max_completion_length=recipe.response_tokens, shuffle_dataset=False,
        reward_weights=[1.0, 0.0], disable_dropout=True,
    )  # fmt: skip
    data = Dataset.from_list(order)
    trainer = RLOOTrainer(model, scores, config, data, processing_class=tokens, peft_config=tuning.lora())
    return trainer, len(rows), 0


def _called(name: str, model: RewardModel) -> Callable[..., list[float]]:
    """A reward model in trl's form, with the name for its log."""

    def score(completions: list[str], claim: list[str], evidence: list[list[str]], **_: object) -> list[float]:
        parts = zip(claim, evidence, completions, strict=True)
        found: list[float] = model.score([RewardCase(one, tuple(texts), said) for one, texts, said in parts]).tolist()
        return found

    score.__name__ = name
    return score


def _device(name: str, recipe: TuningRecipe) -> tuple[str, int]:
    """The processor with its bits per weight, and the maximal memory in MiB; 0 if the system does not report it."""
    if name == "cuda":
        peak = int(torch.cuda.max_memory_allocated() / _MIB)
        return f"{torch.cuda.get_device_name(0)}, {recipe.bits} bits", peak
    about = f"{platform.machine()} processor, {torch.get_num_threads()} of {os.cpu_count()} threads, 32 bits"
    try:
        resource = import_module("resource")  # not on Windows
    except ImportError:
        return about, 0
    return about, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (_MIB if sys.platform == "darwin" else 1024)
