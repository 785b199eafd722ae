"""Commands about results: `score`, `analyse`, `report` and `board`."""

from __future__ import annotations

from pathlib import Path

from hellofresh.cli.arguments.shared import (
    Subparsers,
    add_command,
    add_edition,
    add_group,
    add_private,
    add_submissions,
)


def add_score(nouns: Subparsers) -> None:
    """Add `score`."""
    about = (
        "Score every run and submission of an edition: precision, recall, F1, accuracy with 95% intervals; "
        "for a revealed quarter, publish scores and predictions in its release. Before the reveal scores are kept in "
        "data/private, and no figure is shown."
    )
    parser = add_command(nouns, "score", about, "score:run", timed=True)
    add_edition(parser)
    parser.add_argument(
        "--split",
        choices=("main", "prospective"),
        default="main",
        help="prospective: samples that were undecided when released",
    )
    about = "allow the published predictions of this entry to be added, changed or removed (repeat it for each)"
    parser.add_argument("--change", action="append", default=[], metavar="ENTRY", help=about)
    add_submissions(parser)
    add_private(parser)


def add_analyse(nouns: Subparsers) -> None:
    """Add `analyse`."""
    about = "Analyse a scored edition: a table and a figure for one question, or for all."
    parser = add_command(nouns, "analyse", about, "analyse:run")
    parser.add_argument("name", metavar="NAME", help="an analysis, or all; 'list' names them")
    add_edition(parser)
    parser.add_argument("--task", metavar="T", help="only this task (default: all that are released)")
    parser.add_argument(
        "--system", metavar="S", action="append", default=[], help="only this system (repeat it for each)"
    )
    add_submissions(parser)
    add_private(parser)


def add_report(nouns: Subparsers) -> None:
    """Add `report`."""
    about = "Write one self-contained HTML page with all analyses of an edition."
    parser = add_command(nouns, "report", about, "report:run")
    add_edition(parser)
    parser.add_argument("--task", metavar="T", help="only this task (default: all that are released)")
    add_submissions(parser)
    add_private(parser)


def add_board(nouns: Subparsers) -> None:
    """Add `board`."""
    verbs = add_group(nouns, "board", "Build the leaderboard's tables, or export it as static pages.")
    about = "Build the board's tables from all scored editions."
    add_private(add_command(verbs, "build", about, "board:build", timed=True))
    about = "Write a static copy of the leaderboard, systems and analyses: HTML files that need no server."
    export = add_command(verbs, "export", about, "board:export")
    export.add_argument(
        "folder", metavar="DIR", type=Path, help="output folder: new, empty, or an earlier export, which is replaced"
    )
    export.add_argument("--space", action="store_true", help="add the README of a static Space of the Hugging Face hub")
    export.epilog = "Example: hellofresh board export public/ (then open public/index.html, or push it to GitHub Pages)"
