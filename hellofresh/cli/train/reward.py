"""`hellofresh train reward`: one reward model from judged responses."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from hellofresh.cli._output import CommandOutput
from hellofresh.collectors.labelled import IMPORTERS, JudgedFile, read_judged
from hellofresh.core.errors import UnknownNameError, UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.encoders import HUB, MINILM, open_encoder
from hellofresh.rewards.base import Beside
from hellofresh.training.libraries import chosen_device, need_libraries
from hellofresh.training.log import LogRow
from hellofresh.training.recipe import RewardRecipe, changed_recipe, load_recipe
from hellofresh.training.reward_models import RewardTraining, TrainedReward, train_head

_NAME = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    files = _files(options)
    recipe = load_recipe(options.recipe or ("head" if options.model == MINILM else "encoder"), RewardRecipe)
    recipe = changed_recipe(recipe, options.set)
    training = RewardTraining(
        options.criterion,
        _beside(options.criterion, files),
        [item for file in files for item in file.examples],
        tuple(file.data for file in files),
        recipe,
    )
    root = Workspace.from_environment().root / "training"
    folder = root / _name(options, files, recipe)
    with output.progress(f"train a reward model for {options.criterion}") as bar:
        if options.model == MINILM:
            found = train_head(training, open_encoder(MINILM), folder, vectors=root / "vectors", line=bar.line)
        else:
            need_libraries("train reward", online=options.model.startswith(HUB), encoders=True)
            from hellofresh.training.encoders import train_reward_encoder

            def on_row(row: LogRow, steps: int) -> None:
                loss = f"loss {row.loss:.4f}" if row.loss is not None else f"held-out loss {row.held_out_loss:.4f}"
                bar.line(f"step {row.step:,} of {steps:,}, {loss}")

            found = train_reward_encoder(training, options.model, chosen_device("auto"), folder, on_row)
    _print(found, output)
    return 0


def _files(options: argparse.Namespace) -> list[JudgedFile]:
    sources = []
    for text in options.sources:
        name, _, path = text.partition("=")
        if not name or not path:
            raise UsageError(f"--from {text}", expected="IMPORTER=FILE", code="bad-pair")
        if name not in IMPORTERS:
            raise UnknownNameError("importer", name, IMPORTERS)
        sources.append((name, path))
    if not sources and not options.data:
        raise UsageError("nothing to learn from", expected="--data FILE or --from IMPORTER=FILE", code="no-data")
    tables = [read_judged("table", path, options.criterion, options.columns) for path in options.data]
    return [*tables, *(read_judged(name, Path(path), options.criterion) for name, path in sources)]


def _beside(criterion: str, files: Sequence[JudgedFile]) -> Beside:
    """Politeness is a matter of the response alone; factuality one of the evidence, where there is some everywhere."""
    if criterion == "politeness":
        return Beside.NOTHING
    cases = [example.case for file in files for example in file.examples]
    if criterion == "factuality" and all(case.evidence for case in cases):
        return Beside.EVIDENCE
    return Beside.CLAIM


def _name(options: argparse.Namespace, files: Sequence[JudgedFile], recipe: RewardRecipe) -> str:
    importers = "-".join(dict.fromkeys(file.data.importer for file in files))
    model = Path(options.model).name.lower()
    name: str = options.name or f"reward-{options.criterion}-{importers}-{model}-s{recipe.seed}"
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name {name}", expected="small letters, digits, - and .", code="bad-name")
    return name


def _print(found: TrainedReward, output: CommandOutput) -> None:
    card = found.card
    for data in card.data:
        share = f"{data.positives:,} of {data.rows:,} responses meet {card.criterion}"
        output.text(f"{data.name}: {share}" + (f"; {data.note}" if data.note else ""))
    rows = [
        (
            item.metric,
            item.value,
            f"[{item.low:.3f}, {item.high:.3f}]",
            item.usual,
            item.difference,
            f"[{item.difference_low:.3f}, {item.difference_high:.3f}]",
        )
        for item in card.measures
    ]
    columns = ("metric", "value", "95% interval", "usual class", "difference", "95% interval, paired")
    output.table(f"{card.criterion}: {card.rows['test']:,} held-out responses", columns, rows)
    if not card.epoch:
        output.say("note: the untrained model was the best on the part for selection: do not use this one")
    kept = "strength" if card.form == "head" else "epoch"
    output.text(f"{kept} {card.epoch} of {len(found.losses) - 1}: {found.folder}")
    output.result({**card.model_dump(mode="json"), "folder": str(found.folder)})
