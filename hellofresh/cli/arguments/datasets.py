"""Commands about frozen data sets: `dataset`."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.cli.arguments.shared import Subparsers, add_command, add_group


def add_dataset(nouns: Subparsers) -> None:
    """Add `dataset`."""
    verbs = add_group(nouns, "dataset", "Import frozen data sets of statements, and list them.")
    add_command(
        verbs, "list", "List the data sets that can be imported, and the imported versions.", "dataset:show_all"
    )
    shown = add_command(verbs, "show", "Show a data set: files, licence, tasks and imported versions.", "dataset:show")
    shown.add_argument("name", metavar="NAME", help="name of the data set, such as liar-new")
    about = "Import a data set from a copy of its files, or download it where a public copy with a known hash exists."
    _import_arguments(add_command(verbs, "import", about, "dataset:import_one"))


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the data set, such as liar-new")
    parser.add_argument("path", type=Path, nargs="?", metavar="PATH", help="a file or folder of the authors' files")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="labels=binary",
        help="two classes instead of all (some data sets)",
    )
    parser.add_argument(
        "--language", default="", metavar="CODE", help="language of the statements, such as fr for liar-new"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="draw N samples instead of taking all rows")
    parser.add_argument("--seed", default="hellofresh", metavar="TEXT", help="seed of the draw (hellofresh)")
    parser.add_argument("--part", action="store_true", help="accept files whose rows differ from the original's")
    parser.add_argument(
        "--version", default="", metavar="TEXT", help="name of the version (default: the number of samples)"
    )
