"""Arguments of `hellofresh collect wikipedia-edits` that choose what an edit is, and where the work is done."""

from __future__ import annotations

import argparse

from collectors import wikipedia

__all__ = ["add_rule", "add_workers", "rule"]


def add_rule(parser: argparse.ArgumentParser) -> None:
    """Add the options of the rule; each is in the release's manifest."""
    group = parser.add_argument_group("what is asked about")
    group.add_argument(
        "--kinds",
        nargs="+",
        choices=[str(kind) for kind in wikipedia.Kind],
        default=[str(kind) for kind in wikipedia.Settings().kinds],
        metavar="KIND",
        help=f"kinds of paragraphs, of {', '.join(wikipedia.Kind)} (default: prose list)",
    )
    group.add_argument(
        "--whole-paragraphs",
        action="store_true",
        help="paragraphs put in or taken out whole too, not only changed ones",
    )
    group.add_argument("--keep-bots", action="store_true", help="edits of bots too (users whose names end in bot)")
    group.add_argument("--keep-restored", action="store_true", help="edits that put back an older text too")
    group.add_argument(
        "--collapse-runs", action="store_true", help="count an unbroken run of revisions by one user as one"
    )


def rule(options: argparse.Namespace) -> wikipedia.Settings:
    """The settings that were chosen."""
    return wikipedia.Settings(
        kinds=tuple(kind for kind in wikipedia.Kind if str(kind) in options.kinds),
        whole_paragraphs=options.whole_paragraphs,
        keep_bots=options.keep_bots,
        keep_restored=options.keep_restored,
        collapse_runs=options.collapse_runs,
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add where the work on dumps is done; it changes nothing of what comes out."""
    group = parser.add_argument_group("where dumps are read")
    group.add_argument("--jobs", type=int, metavar="N", help="files at once (default: as many as there are processors)")
    group.add_argument(
        "--cluster",
        default="",
        metavar="ADDRESS",
        help="a Dask scheduler, such as tcp://host:8786, whose workers see the same files under the same names",
    )
