"""`hellofresh score`: judge what models and submissions said about a quarter."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.cli._arguments import Subparsers, add_command, add_quarter
from hellofresh.cli._output import Output
from hellofresh.cli._show import show_scored
from hellofresh.forecasts import score_prospective
from hellofresh.scoring import score_quarter
from hellofresh.workspace import Workspace

__all__ = ["register"]


def register(nouns: Subparsers) -> None:
    """Add the command."""
    about = "Score every run and submission of a quarter: precision, recall, F1, accuracy with 95% intervals."
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
    if options.split == "prospective":
        show_scored(output, score_prospective(Workspace.from_environment(), options.quarter))
        return 0
    show_scored(output, score_quarter(Workspace.from_environment(), options.quarter, options.submissions))
    return 0
