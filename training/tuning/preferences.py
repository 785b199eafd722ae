"""Tuning by preferences: of a model's own responses to a claim, the best by the reward is preferred to the worst.

The responses are drawn once from the model to begin with, each claim's from a seed of its own, and kept in
`pairs-KEY.jsonl`; then direct preference optimisation (DPO) learns from the pairs, without drawing or scoring anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from hellofresh.core.files import read_models, sha256_text, write_jsonl
from hellofresh.rewards.base import RewardCase
from training.recipe import PreferenceRecipe
from training.tuning.base_models import load_base, load_tokenizer
from training.tuning.exchanges import Exchange, in_training_order, read_exchanges, split_exchanges
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
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class PreferencePair:
    """The best and the worst response to a claim.

    Attributes:
        id: of the exchange.
        prompt: what the model was shown.
        chosen, rejected: the responses.
        better_by: the difference of their rewards.
    """

    id: str
    prompt: str
    chosen: str
    rejected: str
    better_by: float


def tune_by_preferences(tuning: Tuning, recipe: PreferenceRecipe, rewards: TuningRewards) -> FinishedTuning:
    """Tune, or go on with it.

    Raises:
        DataError: if the data are malformed, or too little is left to learn from.
        UsageError: if the recipe asks for what is not here.
    """
    if (known := tuning.begin()) is not None:
        return known
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import DPOConfig, DPOTrainer

    from training.tuning.callbacks import Watcher

    exchanges = read_exchanges(tuning.data, responses=False)
    tokenizer = load_tokenizer(tuning.base)
    model = load_base(tuning.base, recipe, tuning.device)
    pairs = _pairs(tuning, recipe, rewards, exchanges, model=model, tokenizer=tokenizer)
    learnt, held_out = ([pairs[one.id] for one in part if one.id in pairs] for part in _split(exchanges, recipe))
    steps = step_count(recipe, len(learnt) if held_out else 0)
    arguments = DPOConfig(
        **common_arguments(tuning, steps), per_device_eval_batch_size=recipe.batch, beta=recipe.kl,
        train_sampling_strategy="sequential", max_length=None,
    )  # fmt: skip
    order = in_training_order(len(learnt), recipe.epochs, recipe.seed)
    trainer = DPOTrainer(
        model, args=arguments, train_dataset=Dataset.from_list([_row(learnt[place], tokenizer) for place in order]),
        eval_dataset=Dataset.from_list([_row(pair, tokenizer) for pair in held_out]),
        processing_class=tokenizer, peft_config=lora(recipe),
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    before = tuning.measured_before(lambda: float(trainer.evaluate()["eval_loss"]))
    watcher = Watcher(tuning.log, before=[before], told=tuning.told)
    trainer.add_callback(watcher)
    data = TuningData(len(learnt), len(held_out), len(exchanges) - len(pairs))
    return finish(tuning, trainer, watcher, tokenizer, data, measure_after=trainer.evaluate)


def _split(exchanges: Sequence[Exchange], recipe: PreferenceRecipe) -> tuple[list[Exchange], list[Exchange]]:
    return split_exchanges(exchanges, recipe.held_out, recipe.seed)


def _row(pair: PreferencePair, tokenizer: PreTrainedTokenizerBase) -> dict[str, str]:
    end = str(tokenizer.eos_token)
    return {"prompt": pair.prompt, "chosen": pair.chosen + end, "rejected": pair.rejected + end}


def _pairs(
    tuning: Tuning,
    recipe: PreferenceRecipe,
    rewards: TuningRewards,
    exchanges: Sequence[Exchange],
    *,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
) -> dict[str, PreferencePair]:
    """A pair for each exchange, those that an interrupted tuning has drawn among them."""
    path = tuning.folder / f"pairs-{tuning.key[:12]}.jsonl"
    if not path.is_file():
        write_jsonl(path, (asdict(pair) for pair in _drawn(recipe, rewards, exchanges, model, tokenizer)))
    return {pair.id: pair for pair in read_models(path, PreferencePair)}


def _drawn(
    recipe: PreferenceRecipe,
    rewards: TuningRewards,
    exchanges: Sequence[Exchange],
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
) -> Iterator[PreferencePair]:
    """Pairs of those exchanges that are short enough and whose best response is better than the worst."""
    for one in exchanges:
        prompt = prompt_of(one, recipe, tokenizer)
        if token_count(prompt, tokenizer) > recipe.prompt_tokens:
            continue
        said = _responses(prompt, int(sha256_text(f"{recipe.seed}:{one.id}")[:8], 16), recipe, model, tokenizer)
        scores = rewards.reward.score([RewardCase(one.claim, shown_evidence(one, recipe), text) for text in said])
        best, worst = int(scores.argmax()), int(scores.argmin())
        if scores[best] > scores[worst]:
            yield PreferencePair(one.id, prompt, said[best], said[worst], float(scores[best] - scores[worst]))


def _responses(
    prompt: str, seed: int, recipe: PreferenceRecipe, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> list[str]:
    import torch

    torch.manual_seed(seed)
    asked = tokenizer(prompt, return_tensors="pt", add_special_tokens=False).to(model.device)
    with torch.no_grad():
        found = model.eval().generate(
            **asked, do_sample=True, temperature=recipe.temperature, top_k=0, num_return_sequences=recipe.responses,
            max_new_tokens=recipe.response_tokens, pad_token_id=tokenizer.pad_token_id,
        )  # fmt: skip
    length = asked["input_ids"].shape[1]
    return [str(tokenizer.decode(row[length:], skip_special_tokens=True)) for row in found]
