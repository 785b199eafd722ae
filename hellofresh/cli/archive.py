"""`hellofresh archive`: keep what a source keeps only for days."""

from __future__ import annotations

import argparse
import re
from datetime import UTC, date, datetime

from collectors.notes.dump.download import PUBLIC_URL, Snapshot, SnapshotRequest, download
from hellofresh.cli._arguments import Subparsers, add_command
from hellofresh.cli._output import Output
from hellofresh.config import Settings
from hellofresh.samples import to_json
from hellofresh.workspace import Workspace

__all__ = ["add_snapshot_arguments", "fetch_snapshot", "register"]


def register(nouns: Subparsers) -> None:
    """Add a command for each source that forgets."""
    about = "Take a snapshot of a source that keeps its dumps for a few days only."
    verbs = nouns.add_parser("archive", help="take a snapshot of a source", description=about).add_subparsers(
        title="tasks", metavar="TASK", required=True
    )
    add_snapshot_arguments(add_command(verbs, "x-notes", "Download the Community Notes dump of a day.", _notes))


def add_snapshot_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what says which dump is fetched."""
    parser.add_argument(
        "--date", type=_day, metavar="D", help="day of the dump, such as 2026-07-23 (default: the newest of four days)"
    )
    parser.add_argument("--ratings", action="store_true", help="download the ratings too (11 GB), to count votes")


def _day(text: str) -> date:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no day such as 2026-07-23")
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from None


def _notes(options: argparse.Namespace, output: Output) -> int:
    snapshot = fetch_snapshot(options, output)
    output.result(to_json(snapshot) | {"day": str(snapshot.day), "folder": str(snapshot.folder)})
    state = " (all there already)" if snapshot.skipped else ""
    output.table(
        f"Community Notes of {snapshot.day}{state}",
        ("file", "bytes", "SHA-256"),
        [(item.name, item.size, item.sha256) for item in snapshot.files],
    )
    output.text(f"snapshot: {snapshot.folder}")
    return 0


def fetch_snapshot(options: argparse.Namespace, output: Output) -> Snapshot:
    """Download the dump that the arguments name into the workspace."""
    configured = Settings.load().sources.x_notes
    request = SnapshotRequest(
        options.date, options.ratings, (configured.base_url if configured else None) or PUBLIC_URL
    )
    folder = Workspace.from_environment().snapshots("x-notes")
    with output.progress("download x-notes") as bar:
        return download(folder, request, today=datetime.now(UTC).date(), progress=bar.line)
