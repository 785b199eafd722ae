"""`hellofresh train`: rerankers, reward models, and language models for responses."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.labelled import IMPORTERS, JudgedFile, read_judged
from collectors.settings import settings_from
from hellofresh.cli._output import CommandOutput, duration, interval
from hellofresh.cli.arguments.training import RerankerSettings, RewardedSettings, RewardSettings, TuningSettings
from hellofresh.core.errors import UnknownNameError, UsageError
from hellofresh.core.net.lock import locked
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.comparison import RetrieverComparison, compare_retrievers
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus, open_corpus
from hellofresh.evidence.retrieval.encoders import HUB, MINILM, open_encoder
from hellofresh.evidence.retrieval.retrievers import IndexBuild, dense_scorer, open_retriever
from hellofresh.evidence.retrieval.sparse import Bm25, SparseRetriever
from hellofresh.judging import reward_judges
from hellofresh.models.local import LOCAL_FOLDER
from hellofresh.rewards.base import LEAST, Beside, Probed
from hellofresh.rewards.probes import refuse_weak, refutation_of
from training.data import read_exchanges
from training.libraries import chosen_device, find_base, need_libraries
from training.log import LogRow, known_values
from training.recipe import (
    PpoRecipe,
    Recipe,
    RewardedRecipe,
    RewardRecipe,
    SftRecipe,
    TuningRecipe,
    changed_recipe,
    load_recipe,
)
from training.reward_models import RewardTraining, TrainedReward, train_head

if TYPE_CHECKING:
    from training.log import TuningCard
    from training.rerankers import TrainedReranker


_METRIC = "ndcg@10"
_NAME = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")
_RECIPES: dict[str, type[TuningRecipe]] = {
    "sft": SftRecipe,
    "rloo": RewardedRecipe,
    "ppo": PpoRecipe,
}


def train_reranker(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, asked = Workspace.from_environment(), settings_from(RerankerSettings, options)
    corpus, model = open_corpus(workspace, asked.corpus), _model_name(asked.model)
    for split in filter(None, (asked.split, asked.test)):
        corpus.queries(split)
    if asked.test == asked.split:
        raise UsageError(
            "the same queries cannot be both learnt from and tested on", where=asked.split, code="same-split"
        )
    recipe = changed_recipe(load_recipe(asked.recipe, Recipe), asked.changes)
    chosen, tested = f"{recipe.name}-l{recipe.weight:g}-t{recipe.tau:g}-s{recipe.seed}", None
    folder = workspace.root / "training" / f"{corpus.name}-{model}-{chosen}"
    with output.progress(f"train on {corpus.name}") as bar:
        found = _train_one(asked, corpus, recipe, folder, bar.line)
        if asked.test:  # two-stage retrieval without and with the trained model
            second = f"trained:{found.folder}" if asked.model == MINILM else str(found.folder)
            retrievers = [open_retriever(f"bm25+{name}", corpus) for name in (asked.model, second)]
            tested = compare_retrievers(corpus, asked.test, retrievers)
    _print_reranker(recipe, found, tested, output)
    return 0


def _model_name(model: str) -> str:
    return Path(model).name.lower()


def _train_one(
    asked: RerankerSettings,
    corpus: RetrievalCorpus,
    recipe: Recipe,
    folder: Path,
    line: Callable[[str], None],
) -> TrainedReranker:
    need_libraries("train reranker", online=asked.model.startswith(HUB), encoders=True)
    from training import encoders, rerankers

    def on_row(row: LogRow, steps: int) -> None:
        known = ", ".join(f"{name} {value:.4f}" for name, value in (("loss", row.loss), ("NDCG@10", row.ndcg)) if value)
        line(f"lambda {recipe.weight:g}, tau {recipe.tau:g}: step {row.step:,} of {steps:,}, {known}")

    training = rerankers.RerankerTraining(
        corpus, asked.split, SparseRetriever.open(corpus, Bm25(), progress=line), recipe
    )
    if asked.model != MINILM:
        return encoders.train_encoder(training, asked.model, chosen_device("auto"), folder, on_row)
    return rerankers.train_head(training, dense_scorer(MINILM, corpus, IndexBuild(progress=line)), folder, on_row)


def _print_reranker(
    recipe: Recipe, found: TrainedReranker, tested: RetrieverComparison | None, output: CommandOutput
) -> None:
    row: dict[str, object] = {"lambda": recipe.weight, "tau": recipe.tau, "epoch": found.epoch}
    row |= {"selection untrained": found.scores[0], "selection trained": max(found.scores)}
    if tested is not None:
        before, after = tested.retrievers
        step = tested.steps[_METRIC][0]
        row |= {"test untrained": before.mean(_METRIC), "test trained": after.mean(_METRIC)}
        row |= {"difference": step.difference, "95% interval": interval(step.interval.low, step.interval.high)}
    output.table(f"{_METRIC} after two stages", tuple(row), [tuple(row.values())])
    output.text(f"{found.folder}")
    more = {"folder": str(found.folder), "losses": list(found.losses), "scores": list(found.scores)}
    output.result({**row, **more})


def train_reward(options: argparse.Namespace, output: CommandOutput) -> int:
    asked = settings_from(RewardSettings, options)
    files = _judged_files(asked)
    recipe = load_recipe(asked.recipe or ("head" if asked.model == MINILM else "encoder"), RewardRecipe)
    recipe = changed_recipe(recipe, asked.changes)
    training = RewardTraining(
        asked.criterion,
        _beside(asked.criterion, files),
        [item for file in files for item in file.examples],
        tuple(file.data for file in files),
        recipe,
    )
    root = Workspace.from_environment().root / "training"
    importers = "-".join(dict.fromkeys(file.data.importer for file in files))
    name = asked.name or f"reward-{asked.criterion}-{importers}-{_model_name(asked.model)}-s{recipe.seed}"
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name {name}", expected="small letters, digits, - and .", code="bad-name")
    folder = root / name
    with output.progress(f"train a reward model for {asked.criterion}") as bar:
        if asked.model == MINILM:
            found = train_head(training, open_encoder(MINILM), folder, vectors=root / "vectors", line=bar.line)
        else:
            need_libraries("train reward", online=asked.model.startswith(HUB), encoders=True)
            from training.encoders import train_reward_encoder

            def on_row(row: LogRow, steps: int) -> None:
                loss = f"loss {row.loss:.4f}" if row.loss is not None else f"held-out loss {row.held_out_loss:.4f}"
                bar.line(f"step {row.step:,} of {steps:,}, {loss}")

            found = train_reward_encoder(training, asked.model, chosen_device("auto"), folder, on_row)
    _print_reward(found, output)
    return 0


def _judged_files(asked: RewardSettings) -> list[JudgedFile]:
    sources = []
    for text in asked.sources:
        name, _, path = text.partition("=")
        if not name or not path:
            raise UsageError(f"--from {text}", expected="IMPORTER=FILE", code="bad-pair")
        if name not in IMPORTERS:
            raise UnknownNameError("importer", name, IMPORTERS)
        sources.append((name, path))
    if not sources and not asked.data:
        raise UsageError("nothing to learn from", expected="--data FILE or --from IMPORTER=FILE", code="no-data")
    tables = [read_judged("table", path, asked.criterion, asked.columns) for path in asked.data]
    return [*tables, *(read_judged(name, Path(path), asked.criterion) for name, path in sources)]


def _beside(criterion: str, files: Sequence[JudgedFile]) -> Beside:
    """The text beside a response: none for politeness, evidence for factuality if all have some, else the claim."""
    if criterion == "politeness":
        return Beside.NOTHING
    cases = [example.case for file in files for example in file.examples]
    if criterion == "factuality" and all(case.evidence for case in cases):
        return Beside.EVIDENCE
    return Beside.CLAIM


def _print_reward(found: TrainedReward, output: CommandOutput) -> None:
    card = found.card
    for data in card.data:
        share = f"{data.positives:,} of {data.rows:,} responses meet {card.criterion}"
        output.text(f"{data.name}: {share}" + (f"; {data.note}" if data.note else ""))
    rows = [
        (item.metric, item.value, interval(item.low, item.high), item.usual, item.difference, limits)
        for item in card.measures
        for limits in [interval(item.difference_low, item.difference_high)]
    ]
    columns = ("metric", "value", "95% interval", "usual class", "difference", "95% interval, paired")
    output.table(f"{card.criterion}: {card.rows['test']:,} held-out responses", columns, rows)
    if not card.epoch:
        output.say("note: the untrained model was the best on the part for selection: do not use this one")
    _say_probes(card.probes, output)
    kept = "strength" if card.form == "head" else "epoch"
    output.text(f"{kept} {card.epoch} of {len(found.losses) - 1}: {found.folder}")
    output.result({**card.model_dump(mode="json"), "folder": str(found.folder)})


def tune_by(options: argparse.Namespace, output: CommandOutput) -> int:
    """Tune by one method."""
    kind = TuningSettings if options.method == "sft" else RewardedSettings
    _tune(settings_from(kind, options), options.method, f"train {options.method}", output)
    return 0


def tune_rarg(options: argparse.Namespace, output: CommandOutput) -> int:
    """Tune by written responses, then continue by rewards with PPO."""
    asked = settings_from(RewardedSettings, options)
    need_libraries("train rarg", online=asked.model.startswith(HUB))
    _watched(asked, load_recipe(asked.recipe, PpoRecipe), output)  # reports now what PPO would refuse after hours
    for method in ("sft", "ppo"):
        named = replace(asked, name=asked.name and f"{asked.name}-{method}")
        asked = replace(asked, model=str(_tune(named, method, "train rarg", output) / "model"))
    return 0


def _tune(asked: TuningSettings, method: str, command: str, output: CommandOutput) -> Path:
    """Tune by one method, print the result, and return its folder."""
    recipe = changed_recipe(load_recipe(asked.recipe, _RECIPES[method]), asked.changes)
    need_libraries(command, online=asked.model.startswith(HUB))
    rewards = None
    if isinstance(asked, RewardedSettings) and isinstance(recipe, RewardedRecipe):
        rewards = _watched(asked, recipe, output)
    workspace = Workspace.from_environment()
    base = find_base(asked.model, workspace)
    begun = base.name if base.name == "smollm2-135m" else Path(base.place).name.lower()
    name = asked.name or f"{method}-{asked.data.stem}-{begun}-{recipe.name}-s{recipe.seed}"
    folder = workspace.root / "training" / re.sub(r"[^a-z0-9.@-]+", "-", name.lower()).strip("-.")[:120]

    from training import run, tuning  # imports torch, which takes seconds

    def on_row(row: LogRow, steps: int) -> None:
        known = [(key, value) for key, value in asdict(row).items() if key != "step" and value is not None]
        output.say(f"step {row.step}: " + ", ".join(f"{key.replace('_', ' ')} {value:.4g}" for key, value in known))

    with locked(folder / ".lock", what=f"tuning {folder.name}"):
        made = run.Training(method, recipe, {}, chosen_device(asked.device), folder, on_row)
        card = tuning.tune(made, base, asked.data, rewards)
    _print_tuned(folder, card, output)
    return folder


def _watched(asked: RewardedSettings, recipe: RewardedRecipe, output: CommandOutput) -> reward_judges.WatchedReward:
    """The reward and its judge; the reward is first probed with the claims of the data."""
    opened = reward_judges.open_watched(asked.rewards, asked.judge, recipe.alpha_relevance)
    exchanges = read_exchanges(asked.data, responses=False)
    refutations = [refutation_of(one.claim, one.evidence[: recipe.evidence], one.response) for one in exchanges]
    _say_probes(refuse_weak(opened.reward, refutations, allowed=asked.allow_weak_reward), output)
    return opened


def _say_probes(found: Probed | None, output: CommandOutput) -> None:
    if found is not None:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in found.shares.items())
        output.text(f"refutations of {found.claims} claims rank above: {shares} (required of each: {LEAST:.0%})")


def _print_tuned(folder: Path, card: TuningCard, output: CommandOutput) -> None:
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
