"""Preparation of a command: find the folder of submissions, and check the clock against the records."""

from __future__ import annotations

import argparse
from itertools import chain
from pathlib import Path

from hellofresh.core.clock import check_clock, now
from hellofresh.core.errors import UsageError
from hellofresh.core.files import write_bytes
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.phases import release_events
from hellofresh.runs.plan import run_events
from hellofresh.submissions.receipts import receipt_events


def prepare(options: argparse.Namespace) -> None:
    """Fill in the folder of submissions, and check the clock against the records.

    Raises:
        UsageError: if the folder is not the workspace's, or the clock is behind.
    """
    if (summary := getattr(options, "summary", None)) is not None:  # whoever reads it must not see another day's
        write_bytes(summary, f"HelloFresh, {utc_text(now())}: started, but not finished. See the log.\n".encode())
    workspace = Workspace.from_environment()
    # A command that records a folder may run although the existing record is damaged.
    takes = hasattr(options, "submissions_belong") and getattr(options, "record", None) is None
    if takes:
        options.submissions = _folder(workspace, options, record=options.timed)
    if options.timed:
        folder: Path = options.submissions if takes else workspace.submissions()
        check_clock(now(), chain(receipt_events(folder), release_events(workspace), run_events(workspace.runs)))


def _folder(workspace: Workspace, options: argparse.Namespace, *, record: bool) -> Path:
    """The folder to use; the first existing one is recorded."""
    named: Path | None = options.submissions
    own, belong, recorded = workspace.submissions(), options.submissions_belong, workspace.has_recorded_submissions
    if belong and recorded and named is not None and named.resolve() != own.resolve():
        raise UsageError(
            f"the submissions of this workspace are in {own}, not in {named}",
            where=str(workspace.root),
            fix=f"Leave --submissions out. If they have moved: hellofresh submission list --folder {named}",
            code="other-submissions",
        )
    if belong and recorded and not own.is_dir():
        raise UsageError(
            "the folder of this workspace's submissions is missing",
            where=str(own),
            expected="the folder that was recorded: without it, every submission would count as withdrawn",
            fix="Restore it. If it has moved: hellofresh submission list --folder DIR",
            code="no-submissions",
        )
    folder = named or own
    due = record and not recorded and folder.is_dir()
    if due and (belong or (named is None and workspace.released())):
        workspace.record_submissions(folder)
    return folder
