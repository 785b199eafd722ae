"""`hellofresh train sft|rloo|grpo|dpo|ppo`: tuning a language model that responds to claims."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TypeVar

from hellofresh.cli._output import CommandOutput, duration
from hellofresh.core.net.lock import locked
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.encoders import HUB
from hellofresh.models.local import LOCAL_FOLDER
from training.recipe import (
    PreferenceRecipe,
    RewardedRecipe,
    SftRecipe,
    TuningRecipe,
    change_recipe,
    load_recipe,
)
from training.tuning.base_models import find_base
from training.tuning.curves import LogRow, known_values
from training.tuning.libraries import chosen_device, need_libraries
from training.tuning.runs import FinishedTuning, Tuning

_Recipe = TypeVar("_Recipe", bound=TuningRecipe)


def sft(options: argparse.Namespace, output: CommandOutput) -> int:
    recipe, tuning = _begin(options, "sft", SftRecipe, output)
    from training.tuning.supervised import tune_supervised

    return _run(tuning, lambda: tune_supervised(tuning, recipe), output)


def rloo(options: argparse.Namespace, output: CommandOutput) -> int:
    return _by_rewards(options, "rloo", output)


def grpo(options: argparse.Namespace, output: CommandOutput) -> int:
    return _by_rewards(options, "grpo", output)


def ppo(options: argparse.Namespace, output: CommandOutput) -> int:
    output.say(
        "note: trl has no PPO any more (removed after 1.12 as unmaintained); this tunes by RLOO, which has the same "
        "reward, penalty and clipping, and compares responses with one another instead of with a model of values"
    )
    return _by_rewards(options, "rloo", output)


def _by_rewards(options: argparse.Namespace, method: str, output: CommandOutput) -> int:
    recipe, tuning = _begin(options, method, RewardedRecipe, output)
    from training.tuning import rewards
    from training.tuning.rewarded import tune_by_rewards

    found = rewards.open_rewards(options.rewards, options.judge, recipe)
    tuning = replace(tuning, rewards=found.identity)
    return _run(tuning, lambda: tune_by_rewards(tuning, recipe, found), output)


def dpo(options: argparse.Namespace, output: CommandOutput) -> int:
    recipe, tuning = _begin(options, "dpo", PreferenceRecipe, output)
    from training.tuning import rewards
    from training.tuning.preferences import tune_by_preferences

    found = rewards.open_rewards(options.rewards, rewards.RULES, recipe)
    tuning = replace(tuning, rewards=found.identity)
    return _run(tuning, lambda: tune_by_preferences(tuning, recipe, found), output)


def _begin(
    options: argparse.Namespace, method: str, kind: type[_Recipe], output: CommandOutput
) -> tuple[_Recipe, Tuning]:
    recipe = load_recipe(options.recipe, kind)
    chosen = {name: getattr(options, name) for name in ("seed", "rate", "steps") if getattr(options, name) is not None}
    recipe = change_recipe(recipe, chosen)
    need_libraries(f"train {method}", online=options.model.startswith(HUB))
    _hush()
    workspace = Workspace.from_environment()
    base = find_base(options.model, workspace)
    name = options.name or f"{method}-{options.data.stem}-{base.short_name}-{recipe.name}-s{recipe.seed}"
    folder = workspace.root / "training" / re.sub(r"[^a-z0-9.@-]+", "-", name.lower()).strip("-.")[:120]
    return recipe, Tuning(
        method, base, options.data, recipe, chosen_device(options.device), folder, told=lambda row: _tell(row, output)
    )


def _hush() -> None:
    """Keep the libraries' own progress and advice from the terminal."""
    import logging
    import warnings

    import datasets
    import transformers

    warnings.filterwarnings("ignore", module=r"transformers|trl|peft|torch|accelerate")
    datasets.disable_progress_bars()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    logging.getLogger("trl").setLevel(logging.ERROR)


def _tell(row: LogRow, output: CommandOutput) -> None:
    known = [(name, value) for name, value in asdict(row).items() if name != "step" and value is not None]
    output.say(f"step {row.step}: " + ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in known))


def _run(tuning: Tuning, tune: Callable[[], FinishedTuning], output: CommandOutput) -> int:
    """Tune, with the folder to itself."""
    with locked(tuning.folder / ".lock", what=f"tuning {tuning.folder.name}"):
        return _finished(tune(), output)


def _finished(found: FinishedTuning, output: CommandOutput) -> int:
    card = found.card
    rows = [
        (name.replace("_", " "), values[0][1], values[-1][1])
        for name in ("held_out_loss", "reward", "judge", "kl", "length", "entropy")
        if (values := known_values(card.log, name))
    ]
    output.table(f"{card.method}: {card.steps} steps, {duration(card.seconds)}", ("", "first", "last"), rows)
    for flag in card.flags:
        output.text(f"note: {flag}")
    output.text(f"model: {LOCAL_FOLDER}{found.model}")
    output.text(f"card: {found.folder / 'card.md'}")
    output.result({"folder": str(found.folder), **asdict(card)})
    return 0
