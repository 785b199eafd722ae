"""`hellofresh release`: build, publish and export quarterly splits, or run the whole path from sources to board."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from hellofresh.api.harnesses.lm_eval_folder import write_folder
from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import show_built
from hellofresh.cli.release.steps import ShownSteps, show_published
from hellofresh.config import Settings, SourceSettings
from hellofresh.core.clock import now
from hellofresh.core.errors import ReleaseError
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline import release as pipeline
from hellofresh.pipeline.sources import SourceRequest
from hellofresh.releases.draw.prospective import prospective_splits
from hellofresh.releases.publish import Hub, publish_to_folder, publish_to_hub
from hellofresh.tasks import TASKS, Task, get_task
from hellofresh.tasks.samples import to_json

_HUB = "hub:"


def _ready_tasks(
    options: argparse.Namespace, place: Callable[[str, Quarter], Path], missing: ReleaseError
) -> list[Task]:
    """The task that `--task` names, or else all that have a file for the quarter; raises `missing` without any."""
    names = [options.task] if options.task else [name for name in TASKS if place(name, options.quarter).is_file()]
    if not names:
        raise missing
    return [get_task(name) for name in names]


def build(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, settings = Workspace.from_environment(), Settings.load().release
    missing = ReleaseError(
        f"no candidates for {options.quarter}",
        where=str(workspace.root),
        fix=f"Collect them first: hellofresh collect TASK --quarter {options.quarter} --dump ...",
        code="no-candidates",
    )
    ready = _ready_tasks(options, workspace.candidates, missing)
    show_built(output, [pipeline.build(workspace, settings, options.quarter, task) for task in ready])
    return 0


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    named: dict[str, object] = {}
    if options.notes_dump is not None:
        posts = None if options.notes_posts is None else str(options.notes_posts)
        named["x-notes"] = {"dump": str(options.notes_dump), "posts": posts, "posts_from": [*options.notes_posts_from]}
    if options.wiki_dump:
        named["wikipedia-edits"] = {"dump": [str(path) for path in options.wiki_dump]}
    sources = SourceRequest(
        tuple(sorted(set(options.quarter or ()))),
        SourceSettings.model_validate(named) if named else None,
        sample=options.sample or not options.datasets,
    )
    request = pipeline.ReleaseRequest(
        sources=sources,
        models=tuple(options.models or ()),
        limit=options.limit,
        analyses=not options.no_analyses,
        datasets=tuple(options.datasets or ()),
    )
    steps = ShownSteps(Workspace.from_environment(), options.submissions, output)
    pipeline.run_release(steps, Settings.load(), request)
    return 0


def prospective(options: argparse.Namespace, output: CommandOutput) -> int:
    """Draw prospective splits of a quarter, or label those that were drawn."""
    if options.resolve:
        return _resolve_split(options, output)
    workspace, settings = Workspace.from_environment(), Settings.load().release
    missing = ReleaseError(
        f"no undecided samples for {options.quarter}",
        where=str(workspace.root),
        fix=f"Collect them first: hellofresh collect TASK --quarter {options.quarter} --pending ...",
        code="no-pending",
    )
    ready = _ready_tasks(options, workspace.pending, missing)
    drawn = [pipeline.draw(workspace, settings, options.quarter, task, output.say) for task in ready]
    output.result([{**to_json(item), "quarter": str(item.quarter)} for item in drawn])
    return 0


def _resolve_split(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, quarter = Workspace.from_environment(), options.quarter
    names = [options.task] if options.task else [name for one, name in prospective_splits(workspace) if one == quarter]
    if not names:
        raise ReleaseError(
            f"no prospective split of {quarter}",
            where=str(workspace.root),
            fix=f"Draw one first: hellofresh release prospective --quarter {quarter}",
            code="no-release",
        )
    final = options.resolve == "final"
    found = [pipeline.resolve_split(workspace, quarter, get_task(name), output.say, final=final) for name in names]
    output.result([{**to_json(item), "quarter": str(item.quarter)} for item in found if item])
    return 0


def publish(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, quarters = Workspace.from_environment(), sorted(set(options.edition or ()))
    if options.to and options.to.startswith(_HUB):
        hub = Hub.from_environment(options.to.removeprefix(_HUB))
        published = publish_to_hub(workspace, hub, now(), quarters)
    else:
        target = Path(options.to) if options.to else workspace.published
        published = publish_to_folder(workspace, target, now(), quarters)
    output.result({**to_json(published), "quarters": [str(edition) for edition in published.quarters]})
    show_published(output, published)
    return 0


def export(options: argparse.Namespace, output: CommandOutput) -> int:

    names = write_folder(Workspace.from_environment(), options.edition, get_task(options.task), options.lm_eval)
    output.result({"folder": str(options.lm_eval), "tasks": list(names)})
    output.text(f"{options.lm_eval}: {', '.join(names)}")
    output.text(
        f"Next: lm_eval --include_path {options.lm_eval} --tasks {names[0]} --apply_chat_template "
        "--model local-chat-completions --model_args model=M,base_url=http://127.0.0.1:8000/v1/chat/completions"
    )
    return 0
