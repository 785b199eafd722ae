"""`hellofresh collect`: from source rows to candidates."""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from collectors import notes, wikipedia
from collectors.jobs import edits_job, notes_job
from hellofresh.cli._arguments import Command, Subparsers, add_command, add_quarter
from hellofresh.cli._output import Output
from hellofresh.cli._posts import add_posts, notes_source
from hellofresh.cli._show import show_collected
from hellofresh.cli.archive import add_snapshot_arguments, fetch_snapshot
from hellofresh.collecting import Collected, CollectionJob, collect_quarter, explain_quarter
from hellofresh.config import Settings
from hellofresh.errors import UsageError
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
    parser.add_argument("--explain", action="store_true", help="show what would be kept and dropped, and write nothing")
    return parser


def _notes_arguments(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--dump", type=Path, metavar="DIR", help="folder of the dump's TSV files, plain or zipped")
    source.add_argument("--download", action="store_true", help="download a dump first, as 'hellofresh archive' does")
    add_snapshot_arguments(parser)
    add_posts(parser)
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
    parser.add_argument(
        "--human-only", action="store_true", help="leave out notes by AI writers and collaborative ones"
    )


def _edits_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dump", type=Path, nargs="+", required=True, metavar="FILE", help="full-history XML: plain, gz, bz2 or xz"
    )
    parser.add_argument(
        "--collapse-runs", action="store_true", help="count an unbroken run of revisions by one user as one"
    )


def _notes(options: argparse.Namespace, output: Output) -> int:
    workspace = Workspace.from_environment()
    settings = notes.Settings(
        label_source=notes.LabelSource(options.label_source),
        min_age_days=options.min_age_days,
        allow_missing_columns=options.allow_missing_columns,
        human_only=options.human_only,
    )
    dump = _dump(options, output)
    source = notes_source(workspace, Settings.load().posts, dump, options.posts, options.posts_from)
    with TemporaryDirectory() as unkept:
        aside = Path(unkept) if options.explain else None
        job = notes_job(workspace, options.quarter, source, settings, workdir=aside)
        return _run(workspace, job, options, output)


def _dump(options: argparse.Namespace, output: Output) -> Path:
    """The folder of the dump, downloaded if that was asked for."""
    if options.download:
        return fetch_snapshot(options, output).folder
    if options.date or options.ratings:
        raise UsageError(
            "--date and --ratings say what to download", fix="Use them with --download.", code="no-download"
        )
    folder: Path = options.dump
    return folder


def _edits(options: argparse.Namespace, output: Output) -> int:
    settings = wikipedia.Settings(collapse_runs=options.collapse_runs)
    job = edits_job(options.quarter, options.dump, settings)
    return _run(Workspace.from_environment(), job, options, output)


def _run(workspace: Workspace, job: CollectionJob, options: argparse.Namespace, output: Output) -> int:
    if options.explain:
        with output.progress(f"explain {job.task.name} {job.quarter}") as bar:
            show_collected(output, explain_quarter(job, progress=bar.line), written=False)
        return 0
    show_collected(output, run_job(workspace, job, output, force=options.force))
    output.text(f"candidates: {workspace.candidates(job.task.name, job.quarter)}")
    return 0


def run_job(workspace: Workspace, job: CollectionJob, output: Output, *, force: bool = False) -> Collected:
    """Run a collection with its progress shown."""
    with output.progress(f"collect {job.task.name} {job.quarter}") as bar:
        return collect_quarter(workspace, job, force=force, progress=bar.line)
