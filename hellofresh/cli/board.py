"""`hellofresh score` and `board`: scores, the tables of the site, and its static copy."""

from __future__ import annotations

import argparse
import gc

import polars as pl

from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import ConsoleShow, state_of
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline import steps as pipeline
from hellofresh.pipeline.steps import Steps
from hellofresh.results.board.build import build_board
from hellofresh.results.split.entries import unscored_runs
from hellofresh.results.split.open import scan_scores
from hellofresh.tasks.samples import MAIN, Split, to_json
from leaderboard.export import export_board
from leaderboard.serving import ServedCopy, board_folder, site_of


def score(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, split = Workspace.from_environment(), Split(options.split)
    steps = Steps(workspace, options.submissions, ConsoleShow(output, private=options.private))
    pipeline.score(steps, options.edition, split, options.change)
    return 0


def build(options: argparse.Namespace, output: CommandOutput) -> int:
    run_build(output, Workspace.from_environment(), private=options.private)
    if not options.private:
        output.text("next: hellofresh board serve")
    return 0


def run_build(output: CommandOutput, workspace: Workspace, *, private: bool = False) -> None:
    """Build the board, and list the runs that are missing from it because they are not scored."""
    built = build_board(workspace, private=private)
    output.result({**to_json(built), "folder": str(built.folder)})
    state = state_of(built.skipped, built.why)
    output.text(f"Board of {', '.join(built.quarters)} in {built.folder}: {state}.")
    for ledger in built.ledgers:
        output.say(str(ledger))
    for note in built.notes:
        output.say(f"note: {note}")
    found = scan_scores(workspace).filter(pl.col("split") == MAIN).select("edition", "origin").unique()
    scores = found.collect(engine="streaming")
    for edition in dict.fromkeys(edition for edition, _ in workspace.released()):
        origins = scores.filter(pl.col("edition") == str(edition))["origin"].to_list()
        for name in unscored_runs(workspace, edition, origins):
            output.say(f"warning: the run {name} is not scored yet. Run: hellofresh score --edition {edition}")


def serve(options: argparse.Namespace, output: CommandOutput) -> int:
    """Serve the static copy on this machine until stopped."""
    copy = ServedCopy.of_board(board_folder())
    try:
        _serve(copy, options.port, output)
    finally:
        copy.close()
    return 0


def _serve(copy: ServedCopy, port: int, output: CommandOutput) -> None:
    site = site_of(copy, port)
    site.run(lambda: output.say(f"The site in {copy.folder} opens at {site.origin}/ until you press Ctrl+C."))


def export(options: argparse.Namespace, output: CommandOutput) -> int:
    board = Workspace.from_environment().board
    gc.set_threshold(20_000)  # millions of answers and few reference cycles: by default the collector runs too often
    with output.progress("board export") as bar:
        done = export_board(board, options.folder, space=options.space, instances=options.instances, progress=bar.line)
    output.result({**to_json(done), "folder": str(done.folder)})
    state = state_of(done.skipped)
    output.text(f"{done.folder}: {state}; {done.pages:,} pages, {done.files:,} files, {done.size / 2**20:.1f} MiB.")
    output.say(str(done.ledger))
    if options.serve is not None:
        _serve(ServedCopy(done.folder), options.serve, output)
    return 0
