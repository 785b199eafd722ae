"""`hellofresh collect`: from source rows to candidates."""

from __future__ import annotations

import argparse
from pathlib import Path

from collectors import notes
from collectors.jobs import edits_job, notes_job
from hellofresh.cli._arguments import Command, Subparsers, add_command, add_quarter
from hellofresh.cli._edits import add_rule, add_workers, rule
from hellofresh.cli._output import Output
from hellofresh.cli._show import show_collected
from hellofresh.collecting import Collected, CollectionJob, collect_quarter
from hellofresh.workspace import Workspace

__all__ = ["register", "run_job"]


def register(nouns: Subparsers) -> None:
    """Add a command for each task."""
    about = "Collect the candidates of a quarter from a source."
    verbs = nouns.add_parser("collect", help="collect the candidates of a quarter", description=about).add_subparsers(
        title="tasks", metavar="TASK", required=True
    )
    _notes_arguments(_command(verbs, "x-notes", "Collect Community Notes from a public dump.", _notes))
    _edits_arguments(_command(verbs, "wikipedia-edits", "Collect paragraph edits from full-history dumps.", _edits))


def _command(verbs: Subparsers, name: str, about: str, run: Command) -> argparse.ArgumentParser:
    parser = add_command(verbs, name, about, run)
    add_quarter(parser)
    parser.add_argument("--force", action="store_true", help="collect again even if nothing has changed")
    return parser


def _notes_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dump", type=Path, required=True, metavar="DIR", help="folder of the dump's TSV files, plain or zipped"
    )
    parser.add_argument("--posts", type=Path, metavar="FILE", help="JSONL of posts (default: posts.jsonl in DIR)")
    parser.add_argument(
        "--label-source",
        choices=[str(item) for item in notes.LabelSource],
        default=str(notes.LabelSource.LOCKED),
        help="which status is the label: the locked one (default), or the current one of notes old enough",
    )
    parser.add_argument(
        "--min-age-days", type=int, default=14, metavar="D", help="with current statuses: least age of a note (14)"
    )
    parser.add_argument(
        "--allow-missing-columns", action="store_true", help="fill missing columns where emptiness makes sense"
    )


def _edits_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dump",
        type=Path,
        nargs="+",
        required=True,
        metavar="FILE|DIR",
        help="full-history XML (plain, gz, bz2, xz or 7z), or folders of it",
    )
    add_rule(parser)
    add_workers(parser)


def _notes(options: argparse.Namespace, output: Output) -> int:
    workspace = Workspace.from_environment()
    settings = notes.Settings(
        label_source=notes.LabelSource(options.label_source),
        min_age_days=options.min_age_days,
        allow_missing_columns=options.allow_missing_columns,
    )
    source = notes.NotesSource(options.dump, options.posts)
    return _run(workspace, notes_job(workspace, options.quarter, source, settings), options, output)


def _edits(options: argparse.Namespace, output: Output) -> int:
    job = edits_job(options.quarter, options.dump, rule(options), jobs=options.jobs, cluster=options.cluster)
    return _run(Workspace.from_environment(), job, options, output)


def _run(workspace: Workspace, job: CollectionJob, options: argparse.Namespace, output: Output) -> int:
    show_collected(output, run_job(workspace, job, output, force=options.force))
    output.text(f"candidates: {workspace.candidates(job.task.name, job.quarter)}")
    return 0


def run_job(workspace: Workspace, job: CollectionJob, output: Output, *, force: bool = False) -> Collected:
    """Run a collection with its progress shown."""
    with output.progress(f"collect {job.task.name} {job.quarter}") as bar:
        return collect_quarter(workspace, job, force=force, progress=bar.line)
