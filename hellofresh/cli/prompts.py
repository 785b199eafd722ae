"""`hellofresh prompts`: the prompts of models, and rephrasings of them."""

from __future__ import annotations

import argparse

from hellofresh.cli._output import CommandOutput
from hellofresh.core.errors import UsageError
from hellofresh.core.executors import completed
from hellofresh.core.files import write_bytes
from hellofresh.core.workspace import Workspace
from hellofresh.models import Message
from hellofresh.models.catalogue import ModelContext, models_at, open_model
from hellofresh.releases.life.load import Release, load_release
from hellofresh.runs.dry_run import OutsideCall, PlannedQuestion, preview
from hellofresh.runs.equipment import Equipment, equip, prompted
from hellofresh.runs.prompts import STANDARD, PromptSet, lacking, load_prompt_set, parse_prompt_set, prompt_set_toml
from hellofresh.runs.prompts.rephrase import Rephrasing, rephrase
from hellofresh.runs.regimes import MAIN, get_regime
from hellofresh.runs.regimes.registry import REGIMES, regimes_for
from hellofresh.tasks import TASKS, get_task
from hellofresh.tasks.samples import MAIN as MAIN_SPLIT
from hellofresh.tasks.samples import Sample

_ATTEMPTS, _NAME = 4, "rephrased"  # attempts for each rephrasing, and the name of the new prompt set


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    """List prompts, show those of a task and regime, or have them rephrased."""
    if options.rephrase is not None:
        return _write_rephrasings(options, output)
    if options.out is not None:
        raise UsageError("--out without --rephrase", fix="Name the models after --rephrase.", code="no-rephrasing")
    if (options.sample is None) != (options.edition is None):
        raise UsageError(
            "only one of --sample and --edition is given", expected="both or neither", code="half-a-sample"
        )
    if options.regime is None:
        return _list_prompts(options, output)
    task, regime = get_task(options.task), get_regime(options.regime)
    equipment = prompted(task, regime, named=options.prompt_set)
    if options.sample is None:
        _print_set(equipment.prompt_set, output)
    else:
        workspace = Workspace.from_environment()
        release = load_release(workspace, options.edition, task)
        equipment = equip(equipment, workspace, release, None, split=MAIN_SPLIT)
        _print_filled(equipment, _sample(release, options.sample), output)
    return 0


def _list_prompts(options: argparse.Namespace, output: CommandOutput) -> int:
    if options.sample is not None or options.prompt_set is not None:
        what, fix = "no regime", "Name it: hellofresh prompts TASK REGIME"
        raise UsageError(what, expected="a task and a regime", fix=fix, code="no-regime")
    tasks = TASKS if options.task is None else {options.task: get_task(options.task)}
    named = {(name, REGIMES[regime].prompts_from): None for name, task in tasks.items() for regime in regimes_for(task)}
    both = [load_prompt_set(name, regime, chosen) for name, regime in named for chosen in (None, STANDARD)]
    rows = [
        (
            item.task,
            item.regime,
            item.name,
            prompt.id,
            prompt.author,
            len(words.split()),
            ", ".join(lacking(item.criteria, words)),
        )
        for item in {item.sha256: item for item in both}.values()
        for prompt in item.prompts
        for words in [prompt.instruction]
        for lacks in [", ".join(lacking(item.criteria, words))]
    ]
    columns = ("task", "regime", "set", "prompt", "author", "words", "lacks")
    output.result([dict(zip(columns, row, strict=True)) for row in rows])
    output.table("Prompts", columns, rows)
    return 0


def _sample(release: Release, name: str) -> Sample:
    found = {sample.id: sample for sample in release.with_texts()}
    if name not in found:
        where = f"{release.task.name} {release.edition}"
        raise UsageError(
            f"no sample {name!r}", where=where, expected=f"an id such as {min(found)}", code="unknown-sample"
        )
    return found[name]


def _print_set(prompt_set: PromptSet, output: CommandOutput) -> None:
    output.result(
        {
            **{name: getattr(prompt_set, name) for name in ("name", "task", "regime", "sha256", "frame")},
            "steps": dict(prompt_set.steps),
            "prompts": [
                {"id": item.id, "author": item.author, "instruction": item.instruction} for item in prompt_set.prompts
            ],
        }
    )
    parts = [("frame", prompt_set.frame)]
    parts += [(f"step {name}", text) for name, text in prompt_set.steps.items()]
    parts += [(f"prompt {item.id} (by {item.author})", item.instruction) for item in prompt_set.prompts]
    for name, text in parts:
        output.text(f"---- {name} ----")
        output.text(f"{text.strip()}\n")


def _print_filled(equipment: Equipment, sample: Sample, output: CommandOutput) -> None:
    async def steps_of() -> list[PlannedQuestion | OutsideCall]:
        try:
            return await preview(equipment, sample)
        finally:
            await equipment.close()

    steps = completed(steps_of())
    output.result(
        [
            {step.kind: step.text}
            if isinstance(step, OutsideCall)
            else {
                "question": " ".join(filter(None, (step.step, step.prompt))),
                "role": step.role,
                "text": "\n".join(message.text for message in step.messages),
                "answer": step.answer,
            }
            for step in steps
        ]
    )
    shown: dict[str, tuple[Message, ...]] = {}
    for step in steps:
        if isinstance(step, OutsideCall):
            output.text(f"---- {step.kind}: {step.text} ----\n")
            continue
        # Show only the new part of a continued conversation.
        known = len(shown.get(step.prompt, ())) if step.messages[:-1] and step.role == MAIN else 0
        role = "" if step.role == MAIN else f"({step.role})"
        output.text(f"---- {' '.join(filter(None, (step.step, step.prompt, role)))} ----")
        for message in step.messages[known:]:
            turn = "" if len(step.messages) == 1 else f"[{message.role}] "
            output.text(f"{turn}{message.text.strip()}\n")
        output.text(f"---- answered, for example: {step.answer} ----\n")
        if step.role == MAIN:
            shown[step.prompt] = step.messages


def _write_rephrasings(options: argparse.Namespace, output: CommandOutput) -> int:
    if options.task is None or options.out is None:
        fix = "hellofresh prompts TASK [REGIME] --rephrase MODEL --out FILE"
        raise UsageError("no task or no file to write", fix=fix, code="half-a-rephrasing")
    if options.sample is not None or options.edition is not None:
        raise UsageError("--sample with --rephrase", fix="Leave --sample and --edition out.", code="half-a-sample")
    task, regime = get_task(options.task), get_regime(options.regime or "zero-shot")
    prompt_set = regime.prompt_set(task.name, options.prompt_set)
    if options.out.exists():
        raise UsageError("already exists", where=str(options.out), fix="Name another file.", code="file-exists")
    how = Rephrasing(1, _ATTEMPTS, _NAME, output.say)
    named = models_at(options.base_url, *map(str.strip, options.rephrase.split(",")))
    models = [open_model(name, ModelContext(task.name, tuple)) for name in named]

    async def ask() -> PromptSet:
        try:
            return await rephrase(prompt_set, models, how)
        finally:
            for model in models:
                await model.close()

    made = completed(ask())
    about = f"Instructions of {made.task}, {made.regime}, rephrased by {options.rephrase}; read before use."
    content = prompt_set_toml(made, about=about).encode()
    parse_prompt_set(content, made.task, made.regime, str(options.out))  # checks that the set is valid
    write_bytes(options.out, content)
    output.result({"file": str(options.out), "prompts": [prompt.id for prompt in made.prompts]})
    output.text(f"{len(made.prompts)} instructions in {options.out}. Read them, then: --prompt-set {options.out}")
    return 0
