"""`hellofresh release`: build a quarter's frozen splits, or run the whole path from sources to board."""

from __future__ import annotations

import argparse

from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import show_built
from hellofresh.cli.release import pipeline as _path
from hellofresh.cli.release.prospective import ready_tasks
from hellofresh.config import Settings
from hellofresh.core.errors import ReleaseError
from hellofresh.core.workspace import Workspace
from hellofresh.releases import build_release

__all__ = ["build", "run"]


def build(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, settings = Workspace.from_environment(), Settings.load().release
    missing = ReleaseError(
        f"no candidates for {options.quarter}",
        where=str(workspace.root),
        fix=f"Collect them first: hellofresh collect TASK --quarter {options.quarter} --dump ...",
        code="no-candidates",
    )
    built = []
    for task in ready_tasks(options, workspace.candidates, missing):
        cap, texts = settings.caps.get(task.name, task.cap), settings.texts(task.name)
        calendar = settings.calendar.of(options.quarter)
        built.append(
            build_release(workspace, options.quarter, task, seed=settings.seed, cap=cap, texts=texts, calendar=calendar)
        )
    show_built(output, built)
    return 0


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    request = _path.PathRequest(
        quarters=tuple(sorted(set(options.quarter or ()))),
        notes_dump=options.notes_dump,
        notes_posts=options.notes_posts,
        notes_posts_from=options.notes_posts_from,
        wiki_dumps=tuple(options.wiki_dump or ()),
        models=tuple(options.models or ()),
        limit=options.limit,
        submissions=options.submissions,
        analyses=not options.no_analyses,
        datasets=tuple(options.datasets or ()),
    )
    return _path.run_path(Workspace.from_environment(), Settings.load(), request, output)
