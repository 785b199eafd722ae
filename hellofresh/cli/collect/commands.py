"""`hellofresh collect`: from source rows to candidates."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from collectors import notes
from collectors.jobs import edits_job, live_edits_job, notes_job
from hellofresh.candidates.collection import Collected, CollectionJob, collect_quarter, explain_quarter
from hellofresh.cli._arguments import Command, Subparsers, add_command, add_quarter
from hellofresh.cli._output import Output
from hellofresh.cli._show import show_collected
from hellofresh.cli.archive import add_snapshot_arguments, fetch_snapshot
from hellofresh.cli.collect.edits import add_rule, add_workers, rule
from hellofresh.cli.collect.posts import add_posts, notes_source
from hellofresh.cli.collect.wiki import live_source
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
    _edits_arguments(_command(verbs, "wikipedia-edits", "Collect paragraph edits from dumps or an API.", _edits))


def _command(verbs: Subparsers, name: str, about: str, run: Command) -> argparse.ArgumentParser:
    parser = add_command(verbs, name, about, run)
    add_quarter(parser)
    parser.add_argument("--force", action="store_true", help="collect again even if nothing has changed")
    parser.add_argument(
        "--pending", action="store_true", help="keep undecided samples too, for 'hellofresh release prospective'"
    )
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
        "--dump",
        type=Path,
        nargs="+",
        metavar="FILE|DIR",
        help="full-history XML (plain, gz, bz2, xz or 7z), or folders of it",
    )
    _live_arguments(parser.add_argument_group("the live API of a wiki (see the README on your duties)"))
    add_rule(parser)
    add_workers(parser)


class _Arguments(Protocol):
    def add_argument(self, *names: str, **options: Any) -> object: ...


def _live_arguments(group: _Arguments) -> None:
    group.add_argument("--api", metavar="URL", help="a wiki's api.php, such as https://en.wikipedia.org/w/api.php")
    group.add_argument("--contact", metavar="TEXT", help="your e-mail or web address, told to the wiki")
    group.add_argument(
        "--pages",
        nargs="+",
        default=(),
        metavar="FILE|TITLE",
        help="read the whole histories of these pages; a file has a title a line",
    )
    numbers = {
        "draw_pages": ("N", int, "draw edits of at most so many pages from the recent changes (2000)"),
        "window_minutes": ("M", int, "length of the windows they are drawn from (60)"),
        "per_window": ("N", int, "most pages from one window, reverted and not (20 each)"),
        "lookback": ("N", int, "see a drawn edit give the page the text of one of so many revisions before it (500)"),
        "per_minute": ("N", int, "most requests a minute (200)"),
        "deadline_hours": ("H", float, "give up after so many hours (12); what was fetched is kept"),
    }
    for name, (metavar, kind, what) in numbers.items():
        group.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar=metavar, help=what)
    group.add_argument("--draw-seed", metavar="TEXT", help="decides which edits are drawn (hellofresh)")


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
    if options.explain and source.online is not None:
        source = replace(source, online=replace(source.online, ask=False))
    with TemporaryDirectory() as unkept:
        aside = Path(unkept) if options.explain else None
        job = notes_job(workspace, options.quarter, source, settings, workdir=aside, pending=options.pending)
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
    workspace, settings = Workspace.from_environment(), rule(options)
    configured = Settings.load().sources.wikipedia_edits
    dumps = options.dump
    if dumps is None and options.api is None and configured is not None and configured.dump is not None:
        dumps = [Path(name) for name in configured.dump]
    if dumps is not None:
        _refuse_both(options)
        jobs, cluster, pending = options.jobs, options.cluster, options.pending
        job = edits_job(options.quarter, dumps, settings, jobs=jobs, cluster=cluster, pending=pending)
        return _run(workspace, job, options, output)
    source = live_source(configured, options)
    refresh, pending = options.force, options.pending
    job = live_edits_job(workspace, options.quarter, source, settings, refresh=refresh, pending=pending)
    return _run(workspace, job, options, output)


def _refuse_both(options: argparse.Namespace) -> None:
    if options.api is not None or options.pages:
        raise UsageError(
            "a dump and an API",
            expected="one of the two",
            fix="Leave out --dump, or --api and --pages.",
            code="two-sources",
        )


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
