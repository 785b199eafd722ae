"""Commands about frozen data sets: `dataset`."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.cli.arguments.shared import Subparsers, add_command, add_group


def add_dataset(nouns: Subparsers) -> None:
    """Add `dataset`."""
    verbs = add_group(
        nouns, "dataset", "Import frozen data sets of statements and ratings of publishers, or show them."
    )
    about = "List the data sets that can be imported; or show one: files, licence, tasks and imported versions."
    shown = add_command(verbs, "show", about, "dataset:show")
    shown.add_argument("name", nargs="?", metavar="NAME", help="name of the data set, such as liar-new (default: list)")
    about = (
        "Import a data set from a copy of its files, or download it where a public copy with a known hash exists. "
        "muse: a study that others have rated (232 posts, four systems, ten experts), then: hellofresh rate report. "
        "publishers: ratings of publishers by domain, in place of those imported before."
    )
    _import_arguments(add_command(verbs, "import", about, "dataset:import_one"))


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the data set, such as liar-new; muse; or publishers")
    about = "a file or folder of the authors' files, or packed (muse); for publishers, a CSV file or JSON lines"
    parser.add_argument("path", type=Path, nargs="?", metavar="PATH", help=about)
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
    group = parser.add_argument_group("publishers")
    about = "what the file calls domain, bias, factuality, quality or category, as in quality=pc1 (repeat it for each)"
    group.add_argument("--column", action="append", default=[], metavar="NAME=COLUMN", help=about)
    for name in ("high", "medium", "low"):
        group.add_argument(f"--{name}", type=Path, metavar="FILE", help=f"domains of {name} priority, one a line")
