"""Supervised tuning: the model learns to write the responses that people wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from training.recipe import SftRecipe
from training.tuning.base_models import load_base, load_tokenizer
from training.tuning.exchanges import Exchange, in_training_order, read_exchanges, split_exchanges
from training.tuning.prompting import prompt_of, token_count
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
    from transformers import PreTrainedTokenizerBase


def tune_supervised(tuning: Tuning, recipe: SftRecipe) -> FinishedTuning:
    """Tune, or go on with it.

    Raises:
        DataError: if the data are malformed, or too little is left to learn from.
        UsageError: if the recipe asks for what is not here.
    """
    if (known := tuning.begin()) is not None:
        return known
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import SFTConfig, SFTTrainer

    from training.tuning.callbacks import Watcher

    exchanges = read_exchanges(tuning.data, responses=True)
    tokenizer = load_tokenizer(tuning.base)
    learnt, held_out = split_exchanges(exchanges, recipe.held_out, recipe.seed)
    rows, held_rows = _rows(learnt, recipe, tokenizer), _rows(held_out, recipe, tokenizer)
    steps = step_count(recipe, len(rows) if held_rows else 0)
    in_epoch = max(1, len(rows) // (recipe.batch * recipe.accumulation))
    arguments = SFTConfig(
        **common_arguments(tuning, steps), per_device_eval_batch_size=recipe.batch,
        eval_strategy="steps", eval_steps=in_epoch, train_sampling_strategy="sequential",
        completion_only_loss=True, max_length=None,
    )  # fmt: skip
    order = in_training_order(len(rows), recipe.epochs, recipe.seed)
    trainer = SFTTrainer(
        load_base(tuning.base, recipe, tuning.device), arguments,
        train_dataset=Dataset.from_list([rows[place] for place in order]),
        eval_dataset=Dataset.from_list(held_rows), processing_class=tokenizer, peft_config=lora(recipe),
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    before = tuning.measured_before(lambda: float(trainer.evaluate()["eval_loss"]))
    watcher = Watcher(tuning.log, before=[before], told=tuning.told)
    trainer.add_callback(watcher)

    def measure_after() -> None:
        if not any(row.held_out_loss is not None and row.step == trainer.state.global_step for row in watcher.rows):
            trainer.evaluate()

    data = TuningData(len(rows), len(held_rows), len(exchanges) - len(rows) - len(held_rows))
    return finish(tuning, trainer, watcher, tokenizer, data, measure_after=measure_after)


def _rows(exchanges: Sequence[Exchange], recipe: SftRecipe, tokenizer: PreTrainedTokenizerBase) -> list[dict[str, str]]:
    """Prompts and responses of those that are short enough."""
    rows = [
        {"prompt": prompt_of(one, recipe, tokenizer), "completion": one.response.strip() + str(tokenizer.eos_token)}
        for one in exchanges
    ]
    return [
        row
        for row in rows
        if token_count(row["prompt"], tokenizer) <= recipe.prompt_tokens
        and token_count(row["completion"], tokenizer) <= recipe.response_tokens
    ]
