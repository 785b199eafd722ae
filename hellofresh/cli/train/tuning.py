"""`hellofresh train sft|rloo|grpo|ppo|dpo|rarg`: tuning a language model that responds to claims."""

from __future__ import annotations

import argparse
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from hellofresh.cli._output import CommandOutput, duration
from hellofresh.core.errors import UsageError
from hellofresh.core.net.lock import locked
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.encoders import HUB
from hellofresh.judging import reward_judges
from hellofresh.models.local import LOCAL_FOLDER
from hellofresh.training.libraries import chosen_device, find_base, need_libraries
from hellofresh.training.log import LogRow, known_values
from hellofresh.training.recipe import (
    PpoRecipe,
    PreferenceRecipe,
    RewardedRecipe,
    SampledRecipe,
    SftRecipe,
    TuningRecipe,
    changed_recipe,
    load_recipe,
)

if TYPE_CHECKING:
    from hellofresh.training.log import TuningCard

_RECIPES: dict[str, type[TuningRecipe]] = {
    "sft": SftRecipe,
    "rloo": RewardedRecipe,
    "grpo": RewardedRecipe,
    "ppo": PpoRecipe,
    "dpo": PreferenceRecipe,
}


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    """Tune by one method."""
    _print(*_tuned(options, options.method, output), output)
    return 0


def rarg(options: argparse.Namespace, output: CommandOutput) -> int:
    """Tune by written responses, then by rewards with PPO from there."""
    # Whatever PPO would refuse after hours is refused now.
    recipe = load_recipe(options.recipe, PpoRecipe)
    reward_judges.open_watched(options.rewards, options.judge, recipe.alpha_relevance)
    name = options.name
    for method in ("sft", "ppo"):
        options.name = f"{name}-{method}" if name else ""
        folder, card = _tuned(options, method, output)
        _print(folder, card, output)
        options.model = str(folder / "model")
    return 0


def _tuned(options: argparse.Namespace, method: str, output: CommandOutput) -> tuple[Path, TuningCard]:
    if len(options.data) != 1:
        raise UsageError("several --data", expected=f"one file with 'train {method}'", code="many-files")
    (data,) = options.data
    recipe = changed_recipe(load_recipe(options.recipe, _RECIPES[method]), options.set)
    need_libraries(f"train {method}", online=options.model.startswith(HUB))
    from hellofresh.training.run import Run
    from hellofresh.training.tuning import tune

    workspace = Workspace.from_environment()
    base = find_base(options.model, workspace)
    begun = base.name if base.name == "smollm2-135m" else Path(base.place).name.lower()
    name = options.name or f"{method}-{data.stem}-{begun}-{recipe.name}-s{recipe.seed}"
    folder = workspace.root / "training" / re.sub(r"[^a-z0-9.@-]+", "-", name.lower()).strip("-.")[:120]
    rewards = None
    if isinstance(recipe, SampledRecipe):
        judge = options.judge or reward_judges.RULES
        rewards = reward_judges.open_watched(options.rewards, judge, recipe.alpha_relevance)

    def on_row(row: LogRow, steps: int) -> None:
        known = [(key, value) for key, value in asdict(row).items() if key != "step" and value is not None]
        output.say(f"step {row.step}: " + ", ".join(f"{key.replace('_', ' ')} {value:.4g}" for key, value in known))

    with locked(folder / ".lock", what=f"tuning {folder.name}"):
        run = Run(method, recipe, {}, chosen_device(options.device), folder, on_row)
        return folder, tune(run, base, data, rewards)


def _print(folder: Path, card: TuningCard, output: CommandOutput) -> None:
    rows = [
        (name.replace("_", " "), values[0][1], values[-1][1])
        for name in ("held_out_loss", "reward", "judge", "kl", "length", "entropy")
        if (values := known_values(card.log, name))
    ]
    output.table(f"{card.method}: {card.steps} steps, {duration(card.seconds)}", ("", "first", "last"), rows)
    for flag in card.flags:
        output.text(f"note: {flag}")
    output.text(f"model: {LOCAL_FOLDER}{folder / 'model'}")
    output.text(f"card: {folder / 'card.md'}")
    output.result({"folder": str(folder), **asdict(card)})
