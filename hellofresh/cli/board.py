"""`hellofresh score` and `board`: scores, the tables of the site, and its static copy."""

from __future__ import annotations

import argparse

import polars as pl

from hellofresh.cli._console import ConsoleShow
from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import state_of
from hellofresh.core.errors import ReleaseError
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline import steps as pipeline
from hellofresh.pipeline.steps import Steps
from hellofresh.results.board.build import build_board
from hellofresh.results.split.entries import unscored_runs
from hellofresh.results.split.open import scan_scores
from hellofresh.runs.evaluation import Evaluation
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


def put_on_board(output: CommandOutput, workspace: Workspace, evaluation: Evaluation) -> None:
    """Score the split of an evaluation and build the board."""
    submissions = workspace.submissions()
    try:
        pipeline.score(Steps(workspace, submissions, ConsoleShow(output)), evaluation.edition, evaluation.split)
    except ReleaseError as error:
        if error.code != "published":
            raise
        raise ReleaseError(
            error.what,
            where=str(submissions),
            expected=f"the submissions that were published, in {submissions}",
            fix=f"The run is kept. Say where they are: hellofresh score --edition {evaluation.edition} --submissions "
            "DIR, then hellofresh board build",
            code=error.code,
        ) from None
    run_build(output, workspace)
    if workspace.analyses(evaluation.edition, evaluation.task.name).is_dir():
        output.say(
            f"note: the analyses of {evaluation.edition} do not have this run yet. Make them again: "
            f"hellofresh analyse all --edition {evaluation.edition}"
        )
    output.text("next: hellofresh board serve")


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
    with output.progress("board export") as bar:
        done = export_board(board, options.folder, space=options.space, instances=options.instances, progress=bar.line)
    output.result({**to_json(done), "folder": str(done.folder)})
    state = state_of(done.skipped)
    output.text(f"{done.folder}: {state}; {done.pages:,} pages, {done.files:,} files, {done.size / 2**20:.1f} MiB.")
    output.say(str(done.ledger))
    if options.serve is not None:
        _serve(ServedCopy(done.folder), options.serve, output)
    return 0
