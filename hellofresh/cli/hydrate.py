"""`hellofresh hydrate`: fill in the texts that a release from X may not publish."""

from __future__ import annotations

import argparse
from functools import partial

from collectors.jobs import notes_source
from hellofresh.cli._output import CommandOutput
from hellofresh.config import Settings
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.sources import fill_texts
from hellofresh.releases.life.hydrate import Hydration, hydrate
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import to_json


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, task = Workspace.from_environment(), get_task(options.task)
    source = notes_source(workspace, Settings.load().posts, options.dump, options.posts, options.posts_from)
    warnings: list[str] = []
    with output.progress(f"hydrate {task.name} {options.quarter}") as bar:
        fill = partial(fill_texts, workspace, task, source, progress=bar.line, warn=warnings.append)
        done = hydrate(workspace, options.quarter, task, fill)
    for warning in warnings:
        output.say(f"warning: {warning}")
    _show(output, done)
    return 1 if done.changed else 0


def _show(output: CommandOutput, done: Hydration) -> None:
    path = None if done.path is None else str(done.path)
    output.result(to_json(done) | {"edition": str(done.edition), "path": path})
    if path is None:
        output.text(f"The release of {done.task} for {done.edition} holds its texts: nothing to fill in.")
        return
    rows = [(item.id, "gone", item.why) for item in done.gone]
    rows += [(item.id, "changed", item.why) for item in done.changed]
    if rows:
        output.table("Samples that stay without texts", ("id", "", "what"), rows)
    output.text(
        f"{done.filled} of {done.samples} samples filled in, {len(done.gone)} gone, {len(done.changed)} changed: {path}"
    )
