"""`hellofresh board`: the tables that the site reads, and a copy of the site that needs no server."""

from __future__ import annotations

import argparse

from hellofresh.board.build import build_board
from hellofresh.cli._output import CommandOutput
from hellofresh.samples import to_json
from hellofresh.workspace import Workspace

__all__ = ["build", "export"]


def build(options: argparse.Namespace, output: CommandOutput) -> int:
    built = build_board(Workspace.from_environment(), private=options.private)
    output.result({**to_json(built), "folder": str(built.folder)})
    state = "unchanged, skipped" if built.skipped else "written"
    output.text(f"Board of {', '.join(built.quarters)} in {built.folder}: {state}.")
    output.table("Tables", ("table", "rows"), list(built.rows.items()))
    return 0


def export(options: argparse.Namespace, output: CommandOutput) -> int:
    # Only this command needs the site's parts.
    from leaderboard.export import export_board

    board = Workspace.from_environment().board
    with output.progress("board export") as bar:
        done = export_board(board, options.folder, space=options.space, progress=bar.line)
    output.result({**to_json(done), "folder": str(done.folder)})
    state = "unchanged, skipped" if done.skipped else "written"
    output.text(f"{done.folder}: {state}; {done.pages:,} pages, {done.files:,} files, {done.size / 2**20:.1f} MiB.")
    return 0
