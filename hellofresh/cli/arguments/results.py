"""Commands about results: `score`, `analyse` and `board`."""

from __future__ import annotations

from pathlib import Path

from hellofresh.cli.arguments.shared import (
    Subparsers,
    add_command,
    add_edition,
    add_group,
    add_private,
    add_submissions,
    edition_option,
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
    about = (
        "an analysis; 'list' names them; all; or agents: print tables of what agents did, their sources, searches and "
        "certainty"
    )
    parser.add_argument("name", metavar="NAME", help=about)
    edition_option(parser, "a quarter such as 2023Q2, or a data set such as liar-new@588")
    parser.add_argument("--task", metavar="T", help="only this task (default: all that are released)")
    about = "only this system (repeat it for each)"
    parser.add_argument("--system", metavar="S", action="append", default=[], help=about)
    about = "with all: write one self-contained page (default: report.html beside the edition's analyses)"
    parser.add_argument("--html", nargs="?", const=True, type=Path, metavar="FILE", help=about)
    about = "with agents: ratings of publishers, instead of imported ones"
    parser.add_argument("--ratings", type=Path, metavar="FILE", help=about)
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
