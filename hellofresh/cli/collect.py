"""`hellofresh collect`: from source rows to candidates."""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from collectors.jobs import asked_job
from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import show_collected
from hellofresh.cli.archive import fetch_snapshot
from hellofresh.config import Settings
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates.collection import CollectionJob, CollectionReport, collect_quarter, explain_quarter


def collect(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace = Workspace.from_environment()
    if getattr(options, "download", False):
        options.dump = fetch_snapshot(options, output).folder
    elif getattr(options, "date", None) or getattr(options, "ratings", False):
        raise UsageError(
            "--date and --ratings say what to download", fix="Use them with --download.", code="no-download"
        )
    with TemporaryDirectory() as unkept:
        with output.progress(f"prepare {options.task} {options.quarter}") as bar:
            aside = Path(unkept) if options.explain else None
            job = asked_job(workspace, Settings.load(), options, aside, bar.line)
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
