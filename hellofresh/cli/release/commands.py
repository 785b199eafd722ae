"""`hellofresh release`: build a quarter's frozen splits, or run the whole path from sources to board."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.cli._arguments import Subparsers, add_command, add_quarter, parse_quarter, ready_tasks
from hellofresh.cli._output import Output
from hellofresh.cli._show import show_built
from hellofresh.cli.collect.posts import add_posts
from hellofresh.cli.release import pipeline as _path
from hellofresh.cli.release import prospective as _prospective
from hellofresh.cli.release import publish as _publish
from hellofresh.cli.release.takedown import register_takedown
from hellofresh.cli.release.verify import register_verify
from hellofresh.cli.score import add_submissions
from hellofresh.config import Settings
from hellofresh.errors import ReleaseError
from hellofresh.releases import build_release
from hellofresh.workspace import Workspace

__all__ = ["register"]


def register(nouns: Subparsers) -> None:
    """Add the commands."""
    about = "Frozen quarterly splits."
    verbs = nouns.add_parser("release", help="frozen quarterly splits", description=about).add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    build = add_command(verbs, "build", "Build the releases of a quarter from its candidates.", _build)
    add_quarter(build)
    build.add_argument("--task", metavar="T", help="only this task (default: all that have candidates)")
    _publish.add(verbs)
    _prospective.add(verbs)
    run = add_command(verbs, "run", "Run the whole path: collect, build, evaluate, score, analyse, board.", _run)
    run.add_argument("--quarter", type=parse_quarter, nargs="+", metavar="Q", help="default: this and the last one")
    run.add_argument("--notes-dump", type=Path, metavar="DIR", help="folder of a Community Notes dump")
    add_posts(run, prefix="notes-")
    run.add_argument("--wiki-dump", type=Path, nargs="+", metavar="FILE", help="full-history XML dumps")
    run.add_argument("--models", nargs="+", metavar="M", help="whom to ask (default: as configured)")
    run.add_argument("--limit", type=int, metavar="N", help="samples a task and quarter (default: the model's own)")
    run.add_argument("--no-analyses", action="store_true", help="leave the board's analyses as they are")
    add_submissions(run)
    register_verify(verbs)
    register_takedown(verbs)


def _build(options: argparse.Namespace, output: Output) -> int:
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


def _run(options: argparse.Namespace, output: Output) -> int:
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
    )
    return _path.run_path(Workspace.from_environment(), Settings.load(), request, output)
