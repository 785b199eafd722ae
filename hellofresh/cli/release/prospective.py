"""`hellofresh release prospective|resolve`: asking about what nobody has decided yet, and what became of it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from hellofresh.cli._output import CommandOutput
from hellofresh.cli.evaluate import run_evaluation
from hellofresh.cli.score import run_score_prospective
from hellofresh.config import Settings
from hellofresh.core.clock import now
from hellofresh.core.errors import HelloFreshError, ReleaseError
from hellofresh.core.quarters import Quarter, utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.releases import (
    Prospective,
    ResolutionReport,
    build_prospective,
    load_prospective,
    prospective_splits,
    resolve,
)
from hellofresh.releases.settings import ReleaseSettings
from hellofresh.runs.evaluate import Evaluation
from hellofresh.tasks import TASKS, Task, get_task
from hellofresh.tasks.samples import to_json

__all__ = ["draw", "draw_split", "ready_tasks", "resolve_split", "run_lane"]


def ready_tasks(
    options: argparse.Namespace, place: Callable[[str, Quarter], Path], missing: ReleaseError
) -> list[Task]:
    """The task that `--task` names, or else all that have a file for the quarter.

    Args:
        options: with `task` and `quarter`.
        place: gives the file.
        missing: what to raise where no task has one.
    """
    names = [options.task] if options.task else [name for name in TASKS if place(name, options.quarter).is_file()]
    if not names:
        raise missing
    return [get_task(name) for name in names]


def draw_split(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, settings = Workspace.from_environment(), Settings.load().release
    missing = ReleaseError(
        f"no undecided samples for {options.quarter}",
        where=str(workspace.root),
        fix=f"Collect them first: hellofresh collect TASK --quarter {options.quarter} --pending ...",
        code="no-pending",
    )
    ready = ready_tasks(options, workspace.pending, missing)
    drawn = [draw(workspace, settings, options.quarter, task, output) for task in ready]
    output.result([{**to_json(item), "quarter": str(item.quarter)} for item in drawn])
    return 0


def draw(
    workspace: Workspace, settings: ReleaseSettings, quarter: Quarter, task: Task, output: CommandOutput
) -> Prospective:
    """Draw the split of a quarter and task, and say so.

    Raises:
        ReleaseError: if there is nothing to draw from.
    """
    drawn = build_prospective(
        workspace,
        quarter,
        task,
        seed=settings.seed,
        cap=settings.caps.get(task.name, task.cap),
        days=settings.prospective.days,
        moment=now(),
        texts=settings.texts(task.name),
    )
    state = "unchanged, skipped" if drawn.skipped else "published"
    output.say(
        f"{task.name} {quarter}, prospective: {drawn.samples} of {drawn.pending} undecided samples, {state}; "
        f"predictions are due before {utc_text(drawn.deadline)}"
    )
    return drawn


def resolve_split(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace = Workspace.from_environment()
    known = [name for quarter, name in prospective_splits(workspace) if quarter == options.quarter]
    names = [options.task] if options.task else known
    if not names:
        raise ReleaseError(
            f"no prospective split of {options.quarter}",
            where=str(workspace.root),
            fix=f"Draw one first: hellofresh release prospective --quarter {options.quarter}",
            code="no-release",
        )
    found = [_resolve_one(workspace, options.quarter, get_task(name), output, final=options.final) for name in names]
    output.result([{**to_json(item), "quarter": str(item.quarter)} for item in found if item])
    return 0


def _resolve_one(
    workspace: Workspace, quarter: Quarter, task: Task, output: CommandOutput, *, final: bool = False
) -> ResolutionReport | None:
    """Resolve one split, and say what came of it."""
    resolved = resolve(workspace, quarter, task, now(), final=final)
    what = f"{task.name} {quarter}, prospective"
    if resolved is None:
        output.say(f"{what}: not resolved; it takes a later collection with --pending, after the deadline")
    elif resolved.waiting:
        output.say(f"{what}: {resolved.labels} decided, {resolved.waiting} may still be: collect again later")
    else:
        dropped = ", ".join(f"{number} {reason}" for reason, number in resolved.dropped.items() if number)
        state = " (unchanged, skipped)" if resolved.skipped else ""
        output.say(f"{what}: {resolved.labels} labels{state}; dropped: {dropped or 'none'}")
    return resolved


def run_lane(workspace: Workspace, models: Sequence[str], submissions: Path, output: CommandOutput) -> None:
    """What `make release` does with prospective splits: asks models while it may, resolves and scores what is due."""
    for quarter, name in prospective_splits(workspace):
        task = get_task(name)
        if now() < load_prospective(workspace, quarter, task).days.deadline:
            for model in models:
                _ask(workspace, Evaluation(quarter, task, model, split="prospective"), output)
        else:
            _resolve_one(workspace, quarter, task, output)
    for quarter in sorted({quarter for quarter, _ in prospective_splits(workspace)}):
        try:
            run_score_prospective(output, workspace, quarter, submissions)
        except HelloFreshError as error:
            if error.code != "nothing-to-score":
                raise


def _ask(workspace: Workspace, evaluation: Evaluation, output: CommandOutput) -> None:
    try:
        run_evaluation(output, workspace, evaluation)
    except HelloFreshError as error:
        if error.code not in {"no-training-labels", "no-texts"}:
            raise
        output.say(f"note: {evaluation.model} is left out on the prospective split: {error.what}")
