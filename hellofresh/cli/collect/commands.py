"""`hellofresh collect`: from source rows to candidates."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from collectors import notes
from collectors.jobs import edits_job, live_edits_job, notes_job
from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import show_collected
from hellofresh.cli.archive import fetch_snapshot
from hellofresh.cli.collect.edits import rule
from hellofresh.cli.collect.posts import notes_source
from hellofresh.cli.collect.wiki import live_source
from hellofresh.config import Settings
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.web.pictures import open_pictures
from hellofresh.evidence.web.store import user_agent
from hellofresh.releases.candidates.collection import CollectionJob, CollectionReport, collect_quarter, explain_quarter

__all__ = ["collect_edits", "collect_illustrated_notes", "collect_noted_posts", "collect_notes", "finish", "run_job"]


def collect_notes(options: argparse.Namespace, output: CommandOutput) -> int:
    return _collect_notes(options, output, "x-notes")


def collect_illustrated_notes(options: argparse.Namespace, output: CommandOutput) -> int:
    return _collect_notes(options, output, "x-notes-media", pictures=options.pictures and not options.explain)


def collect_noted_posts(options: argparse.Namespace, output: CommandOutput) -> int:
    if options.pending:
        raise UsageError(
            "x-posts has no undecided samples", fix="Leave out --pending.", expected="--pending with other tasks",
            code="no-pending",
        )  # fmt: skip
    return _collect_notes(options, output, "x-posts", pictures=options.pictures and not options.explain)


def _collect_notes(options: argparse.Namespace, output: CommandOutput, task: str, *, pictures: bool = False) -> int:
    workspace = Workspace.from_environment()
    agent = user_agent(Settings.load().web.contact)
    fetched = open_pictures(workspace.pictures, user_agent=agent) if pictures else None
    settings = notes.NotesSettings(
        label_source=notes.LabelSource(options.label_source),
        min_age_days=options.min_age_days,
        allow_missing_columns=options.allow_missing_columns,
        human_only=options.human_only,
        keep_incomplete=options.keep_incomplete,
    )
    dump = _dump(options, output)
    source = notes_source(workspace, Settings.load().posts, dump, options.posts, options.posts_from)
    if options.explain and source.online is not None:
        source = replace(source, online=replace(source.online, ask=False))
    with TemporaryDirectory() as unkept:
        aside = Path(unkept) if options.explain else None
        job = notes_job(
            workspace, options.quarter, source, settings, workdir=aside, pending=options.pending, task=task,
            pictures=fetched,
        )  # fmt: skip
        return finish(workspace, job, options, output)


def _dump(options: argparse.Namespace, output: CommandOutput) -> Path:
    """The folder of the dump, downloaded if that was asked for."""
    if options.download:
        return fetch_snapshot(options, output).folder
    if options.date or options.ratings:
        raise UsageError(
            "--date and --ratings say what to download", fix="Use them with --download.", code="no-download"
        )
    folder: Path = options.dump
    return folder


def collect_edits(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, settings = Workspace.from_environment(), rule(options)
    configured = Settings.load().sources.wikipedia_edits
    dumps = options.dump
    if dumps is None and options.api is None and configured is not None and configured.dump is not None:
        dumps = [Path(name) for name in configured.dump]
    if dumps is not None:
        _refuse_both(options)
        jobs, cluster, pending = options.jobs, options.cluster, options.pending
        job = edits_job(options.quarter, dumps, settings, jobs=jobs, cluster=cluster, pending=pending)
        return finish(workspace, job, options, output)
    source = live_source(configured, options)
    refresh, pending = options.force, options.pending
    job = live_edits_job(workspace, options.quarter, source, settings, refresh=refresh, pending=pending)
    return finish(workspace, job, options, output)


def _refuse_both(options: argparse.Namespace) -> None:
    if options.api is not None or options.pages:
        raise UsageError(
            "a dump and an API",
            expected="one of the two",
            fix="Leave out --dump, or --api and --pages.",
            code="two-sources",
        )


def finish(workspace: Workspace, job: CollectionJob, options: argparse.Namespace, output: CommandOutput) -> int:
    """Run a job and show what became of the rows, or only explain it."""
    if options.explain:
        with output.progress(f"explain {job.task.name} {job.quarter}") as bar:
            show_collected(output, explain_quarter(job, progress=bar.line), written=False)
        return 0
    show_collected(output, run_job(workspace, job, output, force=options.force))
    output.text(f"candidates: {workspace.candidates(job.task.name, job.quarter)}")
    return 0


def run_job(
    workspace: Workspace, job: CollectionJob, output: CommandOutput, *, force: bool = False
) -> CollectionReport:
    """Run a collection with its progress shown."""
    with output.progress(f"collect {job.task.name} {job.quarter}") as bar:
        return collect_quarter(workspace, job, force=force, progress=bar.line)
