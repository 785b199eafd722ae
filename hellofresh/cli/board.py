"""`hellofresh board`: the tables that the site reads."""

from __future__ import annotations

import argparse

from hellofresh.board import build_board
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


def _build(_: argparse.Namespace, output: Output) -> int:
    built = build_board(Workspace.from_environment())
    output.result({**to_json(built), "folder": str(built.folder)})
    state = "unchanged, skipped" if built.skipped else "written"
    output.text(f"Board of {', '.join(built.quarters)} in {built.folder}: {state}.")
    output.table("Tables", ("table", "rows"), list(built.rows.items()))
    return 0
