"""The command `submission`, for predictions of systems of one's own."""

from __future__ import annotations

import argparse
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

__all__ = ["add_submission"]

SPLITS = ("main", "prospective")
REGIMES = ("zero-shot", "web-search", "agent", "other")
INBOX_VARIABLE = "HELLOFRESH_INBOX"
"""As in `hellofresh.submissions`, which help must not wait for; a test compares them."""


def add_submission(nouns: Subparsers) -> None:
    """Add `submission`."""
    commands = add_group(nouns, "submission", "Submit predictions of your own system.")

    def command(name: str, about: str, handler: str, *, timed: bool = False) -> argparse.ArgumentParser:
        return add_command(commands, name, about, f"submission.commands:{handler}", timed=timed)

    new = command("new", "Start a submission: write its two files, with every sample to predict.", "new")
    _new_arguments(new)
    about = "Make a submission of a log of inspect_ai on one of our tasks (extra inspect)."
    inspected = command("from-inspect", about, "from_inspect")
    inspected.add_argument("log", type=Path, metavar="LOG", help="such as logs/2026-10-02T10-00-00_x-notes.eval")
    _info_arguments(inspected)
    check = command("check", "Check a submission and report every fault.", "check")
    check.add_argument("path", type=Path, metavar="FILE|DIR", help="a submission's folder, or a file of predictions")
    add = command("add", "Accept a submission: check it, copy it, and write its receipt.", "add", timed=True)
    score = command("score", "Score a submission, once the labels are revealed.", "score")
    add_private(score)
    for parser in (add, score):
        parser.add_argument("folder", type=Path, metavar="TEAM/SYSTEM", help="folder with predictions and system.toml")
    add.add_argument(
        "--from-git",
        action="store_true",
        help="for a folder already in place: use the time of the merge as its time of receipt",
    )
    for parser in (check, add, score):
        edition_option(parser, "edition (default: read from the folder above the team's)")
    listing = command(
        "list", "List the submissions of an edition: receipts, flags, and which ones count.", "list_entries"
    )
    withdraw = command("withdraw", "Withdraw a submission before the deadline.", "withdraw", timed=True)
    withdraw.add_argument("team", help="the team's folder")
    withdraw.add_argument("system", help="the system's folder")
    for parser in (listing, withdraw):
        add_edition(parser)
    review = command("review", "Review a pull request that changes submissions.", "review")
    _review_arguments(review)
    collect = command("collect", "Accept submissions uploaded on the site.", "collect", timed=True)
    _collect_arguments(collect)
    folder = command("folder", "Show or set the workspace's folder of submissions.", "folder")
    folder.add_argument(
        "folder", nargs="?", type=Path, metavar="DIR", help="record this folder for all commands of the workspace"
    )
    for parser in (check, add, listing, withdraw):
        about = "prospective: samples that were undecided when released (default: main, or the folder's split)"
        parser.add_argument("--split", choices=SPLITS, help=about)
    for parser in (new, inspected, check, add, listing, withdraw, review, collect):
        about = "where the public samples are: a folder of releases, or an address (default: the workspace)"
        parser.add_argument("--samples", metavar="PATH|URL", help=about)
    for parser in (new, inspected, check, add, listing, withdraw, collect):
        add_submissions(parser, belong=False)


def _new_arguments(parser: argparse.ArgumentParser) -> None:
    """An option for everything that is asked for."""
    add_edition(parser)
    parser.add_argument("--task", action="append", metavar="T", help="only this task (repeat it for each)")
    _info_arguments(parser)


def _info_arguments(parser: argparse.ArgumentParser) -> None:
    """An option for everything that a submission says of itself."""
    parser.add_argument("--name", help="name of the system")
    parser.add_argument("--team", help="name of the team")
    parser.add_argument("--contact", help="where the maintainers can reach you")
    parser.add_argument("--regime", help=", ".join(REGIMES))
    parser.add_argument(
        "--model", action="append", metavar="M", help="a model that the system uses (repeat it for each)"
    )
    parser.add_argument("--knowledge-cutoff", metavar="DATE", help="such as 2026-01-31, or unknown")
    parser.add_argument("--url", help="page about it (http or https)")
    parser.add_argument("--notes", help="shown on the board")
    parser.add_argument("--team-folder", metavar="F", help="default: derived from the team's name")
    parser.add_argument("--system-folder", metavar="F", help="default: derived from the system's name")
    parser.add_argument("--yes", action="store_true", help="do not prompt; use defaults for options not given")


def _review_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--base", required=True, metavar="REF", help="commit that the request would be merged into")
    parser.add_argument("--head", default="HEAD", metavar="REF", help="last commit of the request (default: HEAD)")
    parser.add_argument("--repository", type=Path, default=Path(), metavar="DIR", help="default: the current folder")
    parser.add_argument(
        "--author", default="", metavar="A", help="account that sent the request, checked against TEAMS.toml"
    )
    parser.add_argument("--summary", type=Path, metavar="FILE", help="append a preview in Markdown to this file")


def _collect_arguments(parser: argparse.ArgumentParser) -> None:
    about = f"the site's inbox (default: what {INBOX_VARIABLE} names)"
    parser.add_argument("inbox", nargs="?", type=Path, help=about)
    edition_option(parser, "only arrivals for this edition")
    parser.add_argument(
        "--list", action="store_true", help="show what would happen to each arrival, and change nothing"
    )
    about = "accept the arrival with this hash (see --list) although the team already exists (repeat it for each)"
    parser.add_argument("--accept", action="append", default=[], metavar="HASH", help=about)
    parser.add_argument("--clear", action="store_true", help="delete arrivals that have been accepted")
