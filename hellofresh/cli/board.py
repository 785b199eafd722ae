"""`hellofresh board`: the tables that the site reads, and a copy of the site that needs no server."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec

import polars as pl

from hellofresh.cli._output import CommandOutput
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.results.board.build import build_board
from hellofresh.results.board.splits import read_scores
from hellofresh.results.entries import unscored_runs
from hellofresh.tasks.samples import MAIN, to_json
from leaderboard.export import export_board


def build(options: argparse.Namespace, output: CommandOutput) -> int:
    run_build(output, Workspace.from_environment(), private=options.private)
    return 0


def run_build(output: CommandOutput, workspace: Workspace, *, private: bool = False) -> None:
    """Build the board, and name the runs that are not on it because they are not scored."""
    built = build_board(workspace, private=private)
    output.result({**to_json(built), "folder": str(built.folder)})
    state = "unchanged, skipped" if built.skipped else "written"
    output.text(f"Board of {', '.join(built.quarters)} in {built.folder}: {state}.")
    output.table("Tables", ("table", "rows"), list(built.rows.items()))
    scores = read_scores(workspace).filter(pl.col("split") == MAIN)
    for edition in dict.fromkeys(edition for edition, _ in workspace.released()):
        origins = scores.filter(pl.col("edition") == str(edition))["origin"].to_list()
        for name in unscored_runs(workspace, edition, origins):
            output.say(f"warning: the run {name} is not scored yet. Run: hellofresh score --edition {edition}")


def serve(options: argparse.Namespace, output: CommandOutput) -> int:
    """Become the site's server, until it is stopped."""
    app = find_spec("leaderboard.app")
    if find_spec("streamlit") is None or app is None or app.origin is None:
        raise UsageError("the site needs Streamlit", fix="Install hellofresh[site].", code="missing-extra")
    workspace = Workspace.from_environment()
    os.environ["HELLOFRESH_DATA"] = str(workspace.root.resolve())
    port = options.port or os.environ.get("STREAMLIT_SERVER_PORT", "8501")
    command = [sys.executable, "-m", "streamlit", "run", app.origin, f"--server.port={port}"]
    output.say(f"The site on {workspace.board} opens at http://localhost:{port}/ until you press Ctrl+C.")
    sys.stderr.flush()
    os.execv(sys.executable, command)  # noqa: S606 - our own site; a process between would leave it behind


def export(options: argparse.Namespace, output: CommandOutput) -> int:
    # Only this command needs the site's parts.

    board = Workspace.from_environment().board
    with output.progress("board export") as bar:
        done = export_board(board, options.folder, space=options.space, progress=bar.line)
    output.result({**to_json(done), "folder": str(done.folder)})
    state = "unchanged, skipped" if done.skipped else "written"
    output.text(f"{done.folder}: {state}; {done.pages:,} pages, {done.files:,} files, {done.size / 2**20:.1f} MiB.")
    return 0
