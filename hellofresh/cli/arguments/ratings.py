"""Commands about ratings of responses: `rate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.cli.arguments.shared import Subparsers, add_command, add_group
from hellofresh.editions import Edition, parse_edition
from hellofresh.errors import UsageError

__all__ = ["add_rate"]

_EDITION = "muse-study@94662cc"


def add_rate(nouns: Subparsers) -> None:
    """Add `rate`."""
    verbs = add_group(nouns, "rate", "Rate responses by a rubric, and compare systems and judges by the ratings.")
    _add_import(verbs)
    _add_agreement(verbs)
    _add_report(verbs)


def _add_import(verbs: Subparsers) -> None:
    sources = add_group(verbs, "import", "Import a study that others have rated.", kind="study")
    about = "Import the released study of MUSE: 232 posts, four systems, ten experts, correction-13."
    muse = add_command(sources, "muse", about, "rate.studies:run_import_muse")
    muse.add_argument("path", metavar="PATH", type=Path, help="folder of the authors' repository, or its packed data")
    muse.epilog = "Example: hellofresh rate import muse muse-data.tar.xz, then: hellofresh rate report"


def _add_agreement(verbs: Subparsers) -> None:
    about = "Show how far raters agree: weighted kappa, Krippendorff's alpha and observed agreement, with intervals."
    parser = add_command(verbs, "agreement", about, "rate.report:run_agreement")
    add_study(parser)
    parser.add_argument(
        "--weights",
        choices=("quadratic", "linear", "none"),
        default="quadratic",
        help="how much two answers disagree by their distance (default: quadratic)",
    )


def _add_report(verbs: Subparsers) -> None:
    about = (
        "Show a study's results: systems by overall quality, with every two of them compared, by part of the samples, "
        "by criterion with shares of options, and how far raters agree."
    )
    parser = add_command(verbs, "report", about, "rate.report:run_report")
    add_study(parser)
    parser.add_argument(
        "--p-values",
        choices=("honest", "published"),
        default="honest",
        help="published: as the released study made them, from rows that stand twice; far too small",
    )
    parser.add_argument(
        "--shared", action="store_true", help="count a response also for other systems that have the very same one"
    )


def add_study(parser: argparse.ArgumentParser) -> None:
    """Add `--edition E` and `--task T`."""
    parser.add_argument(
        "--edition",
        type=_edition,
        default=_edition(_EDITION),
        metavar="E",
        help=f"edition of the study (default: {_EDITION})",
    )
    parser.add_argument("--task", default="corrections", metavar="T", help="task of the study (default: corrections)")


def _edition(text: str) -> Edition:
    try:
        return parse_edition(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
