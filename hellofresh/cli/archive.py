"""`hellofresh archive`: keep what a source keeps only for days."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from collectors.notes.dump.download import PUBLIC_URL, DumpRequest, DumpSnapshot, download
from hellofresh.cli._output import CommandOutput
from hellofresh.config import Settings
from hellofresh.core.workspace import Workspace
from hellofresh.tasks.samples import to_json

__all__ = ["archive_notes", "fetch_snapshot"]


def archive_notes(options: argparse.Namespace, output: CommandOutput) -> int:
    snapshot = fetch_snapshot(options, output)
    output.result(to_json(snapshot) | {"day": str(snapshot.day), "folder": str(snapshot.folder)})
    state = " (all files already downloaded)" if snapshot.skipped else ""
    output.table(
        f"Community Notes of {snapshot.day}{state}",
        ("file", "bytes", "SHA-256"),
        [(item.name, item.size, item.sha256) for item in snapshot.files],
    )
    output.text(f"snapshot: {snapshot.folder}")
    return 0


def fetch_snapshot(options: argparse.Namespace, output: CommandOutput) -> DumpSnapshot:
    """Download the dump that the arguments name into the workspace."""
    configured = Settings.load().sources.x_notes
    request = DumpRequest(options.date, options.ratings, (configured.base_url if configured else None) or PUBLIC_URL)
    folder = Workspace.from_environment().snapshots("x-notes")
    with output.progress("download x-notes") as bar:
        return download(folder, request, today=datetime.now(UTC).date(), progress=bar.line)
