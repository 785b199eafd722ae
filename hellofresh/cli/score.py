"""`hellofresh score`: judge what models and submissions said about a quarter."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.cli._arguments import Subparsers, add_command, add_quarter
from hellofresh.cli._output import Output
from hellofresh.cli._show import show_scored
from hellofresh.forecasts import score_prospective
from hellofresh.quarters import Quarter
from hellofresh.results.reveal import publish_results
from hellofresh.results.scores import Scored, score_quarter
from hellofresh.workspace import Workspace

__all__ = ["add_submissions", "register", "run_score", "run_score_prospective"]


def register(nouns: Subparsers) -> None:
    """Add the command."""
    about = (
        "Score every run and submission of a quarter: precision, recall, F1, accuracy with 95% intervals; "
        "of a revealed quarter, publish scores and predictions in its release."
    )
    parser = add_command(nouns, "score", about, _run)
    add_quarter(parser)
    parser.add_argument(
        "--split", choices=("main", "prospective"), default="main", help="prospective: samples nobody had decided"
    )
    add_submissions(parser)


def add_submissions(parser: argparse.ArgumentParser) -> None:
    """Add `--submissions DIR`."""
    parser.add_argument(
        "--submissions", type=Path, default=Path("submissions"), metavar="DIR", help="folder of what others handed in"
    )


def _run(options: argparse.Namespace, output: Output) -> int:
    workspace = Workspace.from_environment()
    if options.split == "prospective":
        run_score_prospective(output, workspace, options.quarter, options.submissions)
        return 0
    run_score(output, workspace, options.quarter, options.submissions)
    return 0


def run_score(output: Output, workspace: Workspace, quarter: Quarter, submissions: Path) -> None:
    """Score a quarter, show the scores and, once it is revealed, publish them with the predictions."""
    _show_and_publish(output, workspace, score_quarter(workspace, quarter, submissions))


def run_score_prospective(output: Output, workspace: Workspace, quarter: Quarter, submissions: Path) -> None:
    """The same for the prospective splits of a quarter that are resolved."""
    _show_and_publish(output, workspace, score_prospective(workspace, quarter, submissions))


def _show_and_publish(output: Output, workspace: Workspace, scored: Scored) -> None:
    show_scored(output, scored)
    for done in publish_results(workspace, scored):
        which = "" if done.split == "main" else f", {done.split}"
        output.say(
            f"{done.task} {done.quarter}{which}: {done.predictions:,} predictions and {done.scores:,} scores are "
            f"public now (version {done.version} of the manifest)."
        )
