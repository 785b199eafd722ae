"""`hellofresh board`: the tables that the site reads, and a copy of the site that needs no server."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.board.build import build_board
from hellofresh.cli._arguments import Subparsers, add_command
from hellofresh.cli._output import Output
from hellofresh.samples import to_json
from hellofresh.workspace import Workspace

__all__ = ["register"]


def register(nouns: Subparsers) -> None:
    """Add the commands."""
    about = "Tables for the leaderboard site."
    verbs = nouns.add_parser("board", help="tables for the leaderboard site", description=about).add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    add_command(verbs, "build", "Build the board's tables from all scored quarters.", _build)
    about = "Write a static copy of the leaderboard, systems and analyses: HTML files that need no server."
    export = add_command(verbs, "export", about, _export)
    export.add_argument("folder", metavar="DIR", type=Path, help="new, empty, or an earlier export, which is replaced")
    export.add_argument("--space", action="store_true", help="add the README of a static Space of the Hugging Face hub")
    export.epilog = "Example: hellofresh board export public/ (then open public/index.html, or push it to GitHub Pages)"


def _build(_: argparse.Namespace, output: Output) -> int:
    built = build_board(Workspace.from_environment())
    output.result({**to_json(built), "folder": str(built.folder)})
    state = "unchanged, skipped" if built.skipped else "written"
    output.text(f"Board of {', '.join(built.quarters)} in {built.folder}: {state}.")
    output.table("Tables", ("table", "rows"), list(built.rows.items()))
    return 0


def _export(options: argparse.Namespace, output: Output) -> int:
    # Only this command needs the site's parts.
    from leaderboard.export import export_board

    board = Workspace.from_environment().board
    with output.progress("board export") as bar:
        done = export_board(board, options.folder, space=options.space, progress=bar.line)
    output.result({**to_json(done), "folder": str(done.folder)})
    state = "unchanged, skipped" if done.skipped else "written"
    output.text(f"{done.folder}: {state}; {done.pages:,} pages, {done.files:,} files, {done.size / 2**20:.1f} MiB.")
    return 0
